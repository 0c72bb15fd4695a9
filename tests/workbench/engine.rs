//! The engine on the running kernel: nothing is lost unseen, nothing stays behind.
//!
//! Needs root; without it every test says so and passes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::root;
use probescope::engine::attach::Place;
use probescope::engine::decode::Decoder;
use probescope::engine::drain::{self, Batch, Handed, Wait};
use probescope::engine::{EngineError, Trace, TraceOptions};
use probescope::kernel::{Kernel, Roots};
use probescope::lang::source::SourceText;
use probescope::lang::typed::MapId;
use probescope::model::target::Target;
use probescope::model::value::Value;
use probescope::session::front::{self, FrontSettings};
use probescope::tracer::report::{Face, Report};
use probescope::tracer::script::compilation::Compiled;
use probescope::tracer::script::names;
use probescope::tracer::script::reporter::Reporter;

/// Tests that count the process's programs must not overlap.
static ALONE: Mutex<()> = Mutex::new(());

pub fn alone() -> Option<MutexGuard<'static, ()>> {
    if root::missing() {
        return None;
    }
    Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

fn kernel() -> Arc<Kernel> {
    Arc::new(Kernel::new(Roots::running()).mounting_tracefs())
}

fn compile(text: &str, overrides: &[(&str, &str)]) -> Compiled {
    let mut settings = FrontSettings::new(kernel());
    settings.overrides = overrides.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let compilation = front::compile(&SourceText::new("test", text), None, &settings);
    compilation.output.unwrap_or_else(|| panic!("does not compile: {:?}", compilation.diagnostics))
}

fn options() -> TraceOptions {
    TraceOptions { place: Place::new(&kernel(), None), measure: false, budget: None }
}

/// BPF programs and links that this process holds open.
fn held() -> usize {
    let entries = std::fs::read_dir("/proc/self/fd").expect("own descriptors");
    let names = entries.flatten().filter_map(|e| std::fs::read_link(e.path()).ok());
    names.filter(|n| n.to_string_lossy().contains("bpf")).count()
}

fn getppid(times: u32) {
    for _ in 0..times {
        let _ = rustix::process::getppid();
    }
}

#[test]
fn what_is_delivered_and_what_is_lost_adds_up() {
    let Some(_alone) = alone() else { return };
    const BURST: u64 = 100_000;
    let script = format!(
        "config = {{ perf_rb_pages = 1 }} \
         tracepoint:syscalls:sys_enter_getppid /pid == {}/ {{ printf(\"%d %s\\n\", pid, comm); }}",
        std::process::id()
    );
    let compiled = compile(&script, &[]);
    let arrived = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&arrived);
    let sink = Box::new(move |batch: Batch, _: Wait| {
        count.fetch_add(batch.len() as u64, Ordering::Relaxed);
        Handed::Taken
    });
    let mut trace = Trace::start(compiled.program, compiled.artifact, &options(), sink).expect("starts");
    getppid(BURST as u32);
    drop(trace.finish().expect("ends"));
    trace.settle();
    let stats = trace.stats();
    let lost: u64 = stats.losses.iter().map(|l| l.count).sum();
    assert_eq!(arrived.load(Ordering::Relaxed), stats.delivered);
    assert!(lost > 0, "a ring of one page cannot hold the burst, so this test would show nothing");
    assert_eq!(stats.delivered + lost, BURST);
}

/// Counts the offsets of this process's seeks, which all fail.
const SEEKS: &str = "tracepoint:syscalls:sys_enter_lseek /pid == PID/ { @[args.offset] = count(); }";

fn seek(offsets: std::ops::Range<u64>) {
    for offset in offsets {
        #[allow(unsafe_code, reason = "lseek takes no memory")]
        // SAFETY: as said.
        let result = unsafe { libc::lseek(-1, offset as libc::off_t, libc::SEEK_SET) };
        assert_eq!(result, -1);
    }
}

fn seeks(keys: &str) -> (Trace, Decoder) {
    let text = SEEKS.replace("PID", &std::process::id().to_string());
    let compiled = compile(&text, &[("max_map_keys", keys)]);
    let program = Arc::clone(&compiled.program);
    let decoder = Decoder::new(Arc::clone(&program), names::Sources::of_kernel(&kernel(), &program).names());
    let trace = Trace::start(program, compiled.artifact, &options(), Box::new(|_, _| Handed::Taken)).expect("starts");
    (trace, decoder)
}

/// The counts by offset, ascending by offset.
fn counted(trace: &Trace, decoder: &mut Decoder) -> Vec<(i128, i128)> {
    let rows = trace.read_map(MapId(0), decoder).expect("reads").rows;
    let number = |v: &Value| v.as_number().expect("a number");
    let mut counts: Vec<_> = rows.iter().map(|row| (number(&row.key[0]), number(&row.value))).collect();
    counts.sort_unstable();
    counts
}

#[test]
fn a_map_that_is_cleared_takes_as_many_keys_as_before() {
    let Some(_alone) = alone() else { return };
    let (trace, mut decoder) = seeks("300");
    for round in 0..6_u64 {
        let first = round * 200;
        seek(first..first + 300);
        seek(first..first + 300);
        let expected: Vec<_> = (first..first + 300).map(|key| (i128::from(key), 2)).collect();
        assert_eq!(counted(&trace, &mut decoder), expected, "round {round}");
        assert_eq!(trace.stats().losses.len(), 0, "round {round}");
        if round % 2 == 0 {
            trace.zero_map(MapId(0)).expect("zeroes");
            let zeros: Vec<_> = expected.iter().map(|(key, _)| (*key, 0)).collect();
            assert_eq!(counted(&trace, &mut decoder), zeros, "round {round}");
        }
        trace.clear_map(MapId(0)).expect("clears");
        assert_eq!(counted(&trace, &mut decoder), [], "round {round}");
    }
    seek(0..310);
    assert_eq!(counted(&trace, &mut decoder).len(), 300);
    assert_eq!(trace.stats().losses.iter().map(|l| l.count).sum::<u64>(), 10);
}

#[test]
fn clearing_while_keys_are_counted_mixes_no_keys() {
    let Some(_alone) = alone() else { return };
    let (trace, mut decoder) = seeks("400");
    let stop = Arc::new(AtomicU64::new(0));
    let busy = |first: u64| {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            while stop.load(Ordering::Relaxed) == 0 {
                seek(first..first + 100);
            }
        })
    };
    let threads = [busy(0), busy(0), busy(1000)];
    for _ in 0..20 {
        let keys = counted(&trace, &mut decoder);
        assert!(keys.iter().all(|(key, n)| (*key < 100 || (1000..1100).contains(key)) && *n >= 0), "{keys:?}");
        trace.clear_map(MapId(0)).expect("clears");
    }
    stop.store(1, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().expect("joins"));
    trace.clear_map(MapId(0)).expect("clears");
    seek(0..100);
    seek(50..400);
    let expected: Vec<_> = (0..400).map(|key| (key, if (50..100).contains(&key) { 2 } else { 1 })).collect();
    assert_eq!(counted(&trace, &mut decoder), expected);
    assert_eq!(trace.stats().losses.len(), 0);
}

/// How often this process's drain thread has gone to sleep.
/// Adds up the counts of printed maps.
#[derive(Default)]
struct Sum {
    total: i128,
    prints: u64,
}

impl Face for Sum {
    fn report(&mut self, report: &Report<'_>) -> std::io::Result<()> {
        if let Report::Map { snapshot, .. } = report {
            self.prints += 1;
            self.total += snapshot.rows.iter().filter_map(|row| row.value.as_number()).sum::<i128>();
        }
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_is_printed_and_cleared_while_it_is_counted_adds_up() {
    let Some(_alone) = alone() else { return };
    const PRINTS: u64 = 25;
    let script = format!(
        "tracepoint:syscalls:sys_enter_lseek /pid == {0} && args.offset >= 100 && args.offset < 1100/ {{ @[args.offset] = count(); }}
         tracepoint:syscalls:sys_enter_lseek /pid == {0} && args.offset == 5000/ {{ print(@); clear(@); }}",
        std::process::id()
    );
    let compiled = compile(&script, &[]);
    let program = Arc::clone(&compiled.program);
    let decoder = Decoder::new(Arc::clone(&program), names::Sources::of_kernel(&kernel(), &program).names());
    let mut reporter = Reporter::new(decoder);
    let (to, from) = std::sync::mpsc::sync_channel(1000);
    let sink = Box::new(move |batch, wait| drain::send(&to, batch, wait, |batch| batch, Some));
    let trace = Trace::start(program, compiled.artifact, &options(), sink).expect("starts");
    let stop = Arc::new(AtomicU64::new(0));
    let busy = |first: u64| {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            let mut sought = 0;
            while stop.load(Ordering::Relaxed) == 0 {
                seek(first..first + 10);
                sought += 10;
            }
            sought
        })
    };
    // Not from 0: other tests of this process read files.
    let threads = [busy(100), busy(105), busy(1000)];
    let mut sum = Sum::default();
    for _ in 0..PRINTS {
        seek(5000..5001);
        // The two records may come one by one.
        let mut both = Batch::default();
        while both.len() < 2 {
            let batch: Batch = from.recv().expect("a batch");
            batch.records().for_each(|record| assert!(both.push(record)));
        }
        reporter.batch(&both, &trace, &mut sum).expect("reports");
    }
    stop.store(1, Ordering::Relaxed);
    let sought: i128 = threads.into_iter().map(|thread| thread.join().expect("joins")).sum();
    assert_eq!(sum.prints, PRINTS);
    let rest = counted(&trace, reporter.decoder()).iter().map(|(_, count)| count).sum::<i128>();
    assert_eq!(sum.total + rest, sought);
}

fn drain_rests() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("own threads");
    let drains = tasks.flatten().filter(|t| std::fs::read(t.path().join("comm")).is_ok_and(|c| c == b"psc-drain\n"));
    let status: String = drains.filter_map(|t| std::fs::read_to_string(t.path().join("status")).ok()).collect();
    let line = status.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:")).expect("a drain thread");
    line.trim().parse().expect("a number")
}

#[test]
fn a_trace_that_waits_rests_and_still_hears_each_report() {
    let Some(_alone) = alone() else { return };
    let script =
        format!("tracepoint:syscalls:sys_enter_getppid /pid == {}/ {{ printf(\"%d\\n\", pid); }}", std::process::id());
    let compiled = compile(&script, &[]);
    let arrived = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&arrived);
    let sink = Box::new(move |batch: Batch, _: Wait| {
        count.fetch_add(batch.len() as u64, Ordering::Relaxed);
        Handed::Taken
    });
    let _trace = Trace::start(compiled.program, compiled.artifact, &options(), sink).expect("starts");
    for round in 1..=3 {
        std::thread::sleep(Duration::from_millis(100));
        let before = drain_rests();
        std::thread::sleep(Duration::from_secs(1));
        let rests = drain_rests() - before;
        assert!(rests < 60, "the drain looked {rests} times in a second without reports");
        getppid(1);
        while arrived.load(Ordering::Relaxed) < round {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn nothing_stays_behind() {
    let Some(_alone) = alone() else { return };
    let before = held();
    let compiled = compile("BEGIN { @ = 1; } tracepoint:syscalls:sys_enter_getppid { @n = count(); }", &[]);
    let trace =
        Trace::start(compiled.program, compiled.artifact, &options(), Box::new(|_, _| Handed::Taken)).expect("starts");
    assert!(held() > before, "the trace holds its programs");
    drop(trace);
    assert_eq!(held(), before);
}

#[test]
fn begin_runs_before_the_rest_is_attached_and_end_after_it_is_quiet() {
    let Some(_alone) = alone() else { return };
    let script = format!(
        "BEGIN {{ @armed = 1; }} tracepoint:syscalls:sys_enter_getppid /pid == {}/ {{ @early += @armed == 0; @n += 1; }}
         END {{ @at_end = @n; }}",
        std::process::id()
    );
    let compiled = compile(&script, &[]);
    let program = Arc::clone(&compiled.program);
    let mut trace = Trace::start(Arc::clone(&program), compiled.artifact, &options(), Box::new(|_, _| Handed::Taken))
        .expect("starts");
    getppid(10);
    drop(trace.finish().expect("ends"));
    getppid(10);
    let mut decoder = Decoder::new(Arc::clone(&program), names::Sources::of_kernel(&kernel(), &program).names());
    let value = |name: &str, decoder: &mut Decoder| {
        let index = program.maps.iter().position(|m| &*m.name == name).expect("the map");
        let map = trace.read_map(MapId(index as u32), decoder).expect("reads");
        map.rows.first().map_or(Value::None, |r| r.value.clone())
    };
    assert_eq!(value("@early", &mut decoder).as_number().unwrap_or(0), 0);
    assert_eq!(value("@n", &mut decoder).as_number(), Some(10), "nothing fires after the end");
    assert_eq!(value("@at_end", &mut decoder).as_number(), Some(10));
}

#[test]
fn a_probe_that_cannot_be_attached_is_named_and_nothing_stays() {
    let Some(_alone) = alone() else { return };
    let before = held();
    let mut compiled = compile(
        "tracepoint:syscalls:sys_enter_getppid { @a = count(); } tracepoint:syscalls:sys_enter_getpgid { @b = count(); }",
        &[],
    );
    let mut program = (*compiled.program).clone();
    program.probes[1].targets =
        vec![Target::Tracepoint { category: "syscalls".into(), event: "sys_enter_nonexistent".into() }];
    compiled.program = Arc::new(program);
    let error = Trace::start(compiled.program, compiled.artifact, &options(), Box::new(|_, _| Handed::Taken))
        .expect_err("there is no such tracepoint");
    let EngineError::Attach { probe, reason, .. } = error else { panic!("another error: {error}") };
    assert_eq!(probe, "tracepoint:syscalls:sys_enter_getpgid", "named as the script does");
    assert!(reason.contains("no such attach point"), "{reason}");
    assert_eq!(held(), before);
}
