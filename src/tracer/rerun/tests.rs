//! What users of a recording rely on.

use std::io;

use super::*;
use crate::kernel::Roots;
use crate::model::value::Value;
use crate::store::{ChunkBuilder, Entry, Payload, Store};
use crate::tracer::report::{Face, Report};

/// One event: time, CPU, action, values.
type Event = (u64, u16, u32, Vec<Value>);

fn kernel() -> Kernel {
    Kernel::new(Roots::fixture("/nonexistent"))
}

fn text(text: &str) -> Value {
    Value::Str(text.as_bytes().into())
}

fn number(n: u64) -> Value {
    Value::Uint(n, 8)
}

/// A script as it was recorded on a machine that had these probes.
fn recorded(script: &str, probes: &[&str]) -> Arc<TraceInfo> {
    let source = SourceText::new("recorded.bt", script);
    let there = Arc::new(TraceInfo { probes: probes.iter().map(|p| (*p).into()).collect(), ..TraceInfo::default() });
    let checked = compiled(&[there], &source, &[], &kernel());
    assert!(!has_errors(&checked.diagnostics), "{:?}", checked.diagnostics);
    Arc::new(TraceInfo { id: TraceId(1), ..info::of_script(&checked.program, &source) })
}

fn store(info: &Arc<TraceInfo>, events: &[Event]) -> Store {
    let (mut builder, mut store) = (ChunkBuilder::new(), Store::default());
    builder.declare(info);
    store.declare(Arc::clone(info));
    for (at_ns, cpu, action, values) in events {
        let payload = Payload::Event { action: *action, values: values.clone() };
        builder.push(&Entry { trace: info.id, at_ns: *at_ns, cpu: Some(*cpu), payload });
    }
    builder.finish().into_iter().for_each(|chunk| store.append(chunk));
    store
}

/// Everything that a script prints, the maps at its end included.
#[derive(Default)]
struct Printed(String);

impl Face for Printed {
    fn report(&mut self, report: &Report<'_>) -> io::Result<()> {
        use crate::model::render;
        let mut out = Vec::new();
        match *report {
            Report::Printf { format, values, .. } => render::printf_into(format, values, &mut out),
            Report::Value { value, .. } => {
                render::value_into(value, &mut out);
                out.push(b'\n');
            }
            Report::Map { snapshot, ref options } => render::map_into(snapshot, options, &mut out),
            Report::End { maps, ref options } => {
                let filled = maps.iter().filter(|map| !map.rows.is_empty());
                filled.for_each(|map| render::map_into(map, options, &mut out));
            }
            Report::Failed { message, .. } => out.extend_from_slice(message.as_bytes()),
            Report::Lost { cause, count, .. } => {
                out.extend_from_slice(format!("{count} {}\n", cause.words()).as_bytes());
            }
            _ => {}
        }
        self.0.push_str(&String::from_utf8_lossy(&out));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn prepare(info: &Arc<TraceInfo>, script: &str) -> Result<Rerun, Vec<Diagnostic>> {
    Rerun::prepare(&kernel(), std::slice::from_ref(info), &SourceText::new("new.bt", script), &[])
}

fn rerun(info: &Arc<TraceInfo>, events: &[Event], script: &str) -> (String, i32) {
    let rerun = prepare(info, script).unwrap_or_else(|found| panic!("{script}: {found:#?}"));
    let mut printed = Printed::default();
    let ran = rerun.run(&store(info, events), &mut printed, &|| true).unwrap();
    (printed.0, ran.code)
}

fn refused(info: &Arc<TraceInfo>, script: &str) -> Vec<String> {
    match prepare(info, script) {
        Ok(_) => panic!("{script} runs"),
        Err(found) => found.into_iter().map(|d| d.message).collect(),
    }
}

/// What `pid`, `comm` and `arg0` were.
fn calls() -> (Arc<TraceInfo>, Vec<Event>) {
    let info = recorded("kprobe:f { printf(\"%d %s %d\\n\", pid, comm, arg0); }", &["kprobe:f"]);
    let call = |at_ns, pid, comm, size| (at_ns, (pid % 2) as u16, 0, vec![number(pid), text(comm), number(size)]);
    (info, vec![call(10, 7, "cat", 100), call(20, 8, "ls", 5), call(30, 7, "cat", 40), call(40, 9, "cat", 1)])
}

#[test]
fn a_recording_answers_what_it_was_not_asked_first() {
    let (info, events) = calls();
    let run = |script| rerun(&info, &events, script).0;
    assert_eq!(run("kprobe:f { @[comm] = count(); }"), "@[ls]: 1\n@[cat]: 3\n");
    assert_eq!(run("kprobe:f { @[pid, comm] = sum(arg0); }"), "@[9, cat]: 1\n@[8, ls]: 5\n@[7, cat]: 140\n");
    assert_eq!(
        run("k:f /comm == \"cat\" && arg0 > 10/ { printf(\"%s=%d\\n\", comm, arg0 * 2); }"),
        "cat=200\ncat=80\n"
    );
    assert_eq!(
        run("kprobe:f { @ = max(arg0); @n++; } end { printf(\"%d calls\\n\", @n); }"),
        "4 calls\n@: 100\n@n: 4\n"
    );
    assert_eq!(run("kprobe:f { print((cpu, nsecs)); }"), "(1, 10)\n(0, 20)\n(1, 30)\n(1, 40)\n");
    let branches = "kprobe:f { if (!strncmp(comm, \"lsof\", 2)) { @l = count(); } else { @o = avg(arg0); } }";
    assert_eq!(run(branches), "@l: 1\n@o: 47\n");
}

#[test]
fn what_was_not_recorded_is_named_with_its_place() {
    let (info, _) = calls();
    let both = refused(&info, "kprobe:f { @[tid, arg1] = count(); }");
    assert_eq!(both, ["`tid` was not recorded", "`arg1` was not recorded"]);
    assert_eq!(refused(&info, "kprobe:f { $x = kstack; @[$x] = count(); }"), ["`kstack` was not recorded"]);
    let found = prepare(&info, "kprobe:f { @ = sum(arg0 + arg3); }").unwrap_err();
    assert_eq!((found[0].span.start, found[0].span.end), (26, 30));
    assert!(found[0].help.as_deref().is_some_and(|help| help.contains("pid, comm, arg0, nsecs, cpu")), "{found:?}");
    assert!(refused(&info, "kprobe:g { @ = count(); }")[0].contains("nothing of this script's probes"));
    assert!(refused(&info, "kprobe:f { system(\"reboot\"); }")[0].contains("system() needs the machine"));
}

#[test]
fn state_between_probes_is_known_by_what_was_printed_of_it() {
    let script = |predicate: &str, body: &str| {
        format!(
            "kprobe:f {{ @start[tid] = nsecs; }} \
             kretprobe:f /{predicate}/ {{ {body} delete(@start[tid]); }}"
        )
    };
    let probes = ["kprobe:f", "kretprobe:f"];
    let as_recorded = script("@start[tid]", "printf(\"%s %d\\n\", comm, nsecs - @start[tid]);");
    let info = recorded(&as_recorded, &probes);
    let events = [(5, 0, 0, vec![text("a"), number(300)]), (9, 0, 0, vec![text("b"), number(20)])];
    let run = |script: &str| rerun(&info, &events, script).0;
    assert_eq!(run(&as_recorded), "a 300\nb 20\n", "the script itself, unchanged");
    let slow = script("@start[tid]", "$d = nsecs - @start[tid]; if ($d > 100) { @slow[comm] = max($d); }");
    assert_eq!(run(&slow), "@slow[a]: 300\n", "the map that is gone is not shown");
    assert_eq!(
        run("kretprobe:f { @ = count(); }"),
        "@: 2\n",
        "the entries were not recorded, and nobody asks for them"
    );
    let messages = refused(&info, &script("@start[tid] > 5", "@ = count();"));
    assert!(messages.contains(&"@start is not known: what sets it was not recorded".to_owned()), "{messages:?}");
}

#[test]
fn a_map_whose_key_was_not_recorded_is_missed_only_where_it_is_read() {
    let script = |body: &str| {
        format!("kprobe:f {{ @start[tid] = nsecs; printf(\"%s\\n\", comm); }} kretprobe:f /@start[tid]/ {{ {body} }}")
    };
    let printing = script("printf(\"%d\\n\", nsecs - @start[tid]); delete(@start[tid]);");
    let info = recorded(&printing, &["kprobe:f", "kretprobe:f"]);
    let events = [(5, 0, 0, vec![text("a")]), (9, 0, 1, vec![number(4)])];
    assert_eq!(rerun(&info, &events, &printing).0, "a\n4\n");
    assert!(!refused(&info, &script("@ = max(@start[tid]);")).is_empty());
    assert_eq!(
        refused(&info, "kprobe:f { @n[tid] = count(); }"),
        ["`tid` was not recorded"],
        "a result is never left out"
    );
}

#[test]
fn several_events_of_one_firing_are_put_together() {
    let script =
        "kprobe:f { printf(\"%d\", pid); printf(\" %s\\n\", comm); if (arg0 > 5) { printf(\"%d\\n\", arg0); } }";
    let info = recorded(script, &["kprobe:f"]);
    let events = [
        (1, 0, 0, vec![number(1)]),
        // Another CPU in between.
        (2, 1, 0, vec![number(2)]),
        (3, 0, 1, vec![text("one")]),
        (4, 1, 1, vec![text("two")]),
        (5, 1, 2, vec![number(77)]),
        // The second event of this one was lost.
        (6, 0, 0, vec![number(3)]),
        (7, 0, 0, vec![number(4)]),
        (8, 0, 1, vec![text("four")]),
    ];
    let run = |script: &str| rerun(&info, &events, script).0;
    assert_eq!(run("kprobe:f { @[pid, comm] = count(); }"), "@[1, one]: 1\n@[2, two]: 1\n@[4, four]: 1\n");
    assert_eq!(run("kprobe:f { @[comm] = sum(arg0); }"), "@[two]: 77\n", "only where it was printed");
}

#[test]
fn conditions_that_the_recording_stood_under_hold() {
    let info = recorded("kprobe:f /pid == 5 && uid > 0/ { printf(\"%s\\n\", comm); }", &["kprobe:f"]);
    let events = [(1, 0, 0, vec![text("x")]), (2, 0, 0, vec![text("y")])];
    let run = |script: &str| rerun(&info, &events, script).0;
    assert_eq!(run("kprobe:f /pid == 5/ { @[pid, comm] = count(); }"), "@[5, x]: 1\n@[5, y]: 1\n");
    assert_eq!(run("kprobe:f /uid > 0 && comm == \"y\"/ { @ = count(); }"), "@: 1\n");
    assert_eq!(refused(&info, "kprobe:f /uid > 1/ { @ = count(); }"), ["`uid` was not recorded"]);
}

#[test]
fn an_event_of_many_probes_is_told_apart_by_the_printed_name() {
    let probes = ["kprobe:f", "kprobe:g"];
    let info = recorded("kprobe:f, kprobe:g { printf(\"%s %d\\n\", probe, arg0); }", &probes);
    let named = |at: usize| Value::Text(probes[at].into(), at as u64);
    let events = [(1, 0, 0, vec![named(0), number(1)]), (2, 0, 0, vec![named(1), number(2)])];
    assert_eq!(rerun(&info, &events, "kprobe:g { @ = sum(arg0); }").0, "@: 2\n");
    assert_eq!(rerun(&info, &events, "kprobe:* { @[probe] = count(); }").0, "@[kprobe:f]: 1\n@[kprobe:g]: 1\n");
    let without = recorded("kprobe:f, kprobe:g { printf(\"%d\\n\", arg0); }", &probes);
    assert!(refused(&without, "kprobe:g { @ = sum(arg0); }")[0].contains("which of its probes"));
}

#[test]
fn probes_of_programs_that_are_not_here_are_known_by_the_recording() {
    let there = ["uprobe:/opt/lib/libc.so.6:getaddrinfo", "uprobe:/opt/lib/libc.so.6:free", "usdt:/opt/a:p:q"];
    let text = "uprobe:/opt/lib/libc.so.6:getaddrinfo { printf(\"%d\\n\", arg0); } usdt:/opt/a:p:q { printf(\"%d %d\\n\", arg0, arg1); } \
                uprobe:/opt/lib/libc.so.6:free { printf(\"%d\\n\", arg0); }";
    let info = recorded(text, &there);
    let events = [(1, 0, 0, vec![number(3)]), (2, 0, 1, vec![number(4), number(5)]), (3, 0, 2, vec![number(6)])];
    let run = |script: &str| rerun(&info, &events, script).0;
    assert_eq!(run("uprobe:libc:getaddrinfo { @ = sum(arg0); }"), "@: 3\n");
    assert_eq!(run("usdt:/opt/a:p:q { @ = sum(arg1); }"), "@: 5\n");
    assert_eq!(run("uprobe:libc:getaddrinfo, uprobe:libc:free { @ = sum(arg0); }"), "@: 9\n", "each of a list");
    assert_eq!(refused(&info, "usdt:/opt/a:p:q { @ = sum(arg2); }"), ["`arg2` was not recorded"]);
}

#[test]
fn intervals_pass_in_recorded_time() {
    let (info, mut events) = calls();
    events.iter_mut().for_each(|event| event.0 = event.0 * 100_000_000 - 1);
    let script = "kprobe:f { @ = count(); @last = pid; } \
                  interval:s:2 { print(@); clear(@); clear(@last); print(@last); } \
                  interval:s:3 { exit(9); } end { printf(\"end\\n\"); }";
    let expected = "@: 2\n@last: 0\nend\n@: 1\n@last: 7\n";
    assert_eq!(rerun(&info, &events, script), (expected.to_owned(), 9));
}

#[test]
fn a_loop_without_an_end_ends_and_is_told_of() {
    let (info, events) = calls();
    let (printed, _) = rerun(&info, &events[..1], "kprobe:f { while (1) { @n++; } }");
    assert!(printed.contains("1 firings ran through a loop without an end"), "{printed}");
}

#[test]
fn a_full_map_counts_what_it_does_not_take() {
    let (info, events) = calls();
    let printed = rerun(&info, &events, "config = { max_map_keys = 2 } kprobe:f { @[pid] = count(); }").0;
    assert_eq!(printed, "1 map full\n@[8]: 1\n@[7]: 2\n");
}
