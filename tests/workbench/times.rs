//! `run --times`: each event has the time and the CPU of its program, however late it is read.

use crate::root;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// An offset that ends the trace.
const LAST: u64 = 1 << 20;

/// What a script does with a seek of this process.
struct Kind {
    name: &'static str,
    statement: String,
}

/// Reports of each form: in a slot of memory shared with the reader, and three that go through the kernel's ring buffer.
fn kinds() -> [Kind; 4] {
    let offsets = ", args.offset".repeat(20);
    let kind = |name, statement: String| Kind { name, statement };
    [
        kind("a short report", r#"printf("%d\n", args.offset);"#.into()),
        kind("a report in a loop", r#"for ($i : 0..1) { printf("%d\n", args.offset); }"#.into()),
        kind("a long report", format!("printf(\"{}\\n\"{offsets});", "%d ".repeat(20))),
        kind("a report that ends with a text", r#"printf("%d %s\n", args.offset, str(args.fd + 1, 1000));"#.into()),
    ]
}

/// A seek that fails, between two readings of the clock.
#[derive(Debug)]
struct Sought {
    offset: u64,
    before_ns: u64,
    after_ns: u64,
    cpu: usize,
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn seek(offset: u64) {
    #[allow(unsafe_code, reason = "lseek takes no memory")]
    // SAFETY: as said.
    let result = unsafe { libc::lseek(-1, offset as libc::off_t, libc::SEEK_SET) };
    assert_eq!(result, -1);
}

/// Seeks on one CPU.
fn seek_on(cpu: usize, offset: u64) -> Sought {
    let all = sched_getaffinity(None).unwrap();
    let mut one = CpuSet::new();
    one.set(cpu);
    sched_setaffinity(None, &one).unwrap();
    let before_ns = now_ns();
    seek(offset);
    let sought = Sought { offset, before_ns, after_ns: now_ns(), cpu };
    sched_setaffinity(None, &all).unwrap();
    sought
}

fn cpus() -> Vec<usize> {
    let allowed = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect()
}

/// A trace of this thread's seeks that is attached.
struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn start(flags: &[&str], statement: &str) -> Self {
        let thread = rustix::thread::gettid();
        let script = format!(
            "tracepoint:syscalls:sys_enter_lseek /tid == {thread}/ {{ if (args.offset == {LAST}) {{ exit(); }} {statement} }}"
        );
        let mut child = Command::new(env!("CARGO_BIN_EXE_probescope"))
            .env("TZ", "UTC")
            .args(["run", "--times"])
            .args(flags)
            .args(["-e", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn json(statement: &str) -> Self {
        let mut running = Self::start(&["-f", "json"], statement);
        let mut attached = String::new();
        running.output.read_line(&mut attached).unwrap();
        assert!(attached.contains("\"cpu\": null, \"type\": \"attached_probes\""), "{attached}");
        running
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends the trace; all that it printed.
    fn end(mut self) -> String {
        seek(LAST);
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        assert!(self.child.wait().unwrap().success(), "{text}");
        text
    }
}

/// Each event has the time and the CPU of its seek, and events stand in the order of their times.
fn check(name: &str, sought: &[Sought], text: &str) {
    let events: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let events: Vec<_> = events.iter().filter(|e| e["type"] == "printf").collect();
    assert_eq!(events.len(), sought.len(), "{name}: {text}");
    for (event, seek) in events.iter().zip(sought) {
        let at_ns = event["at_ns"].as_u64().unwrap();
        assert!((seek.before_ns..=seek.after_ns).contains(&at_ns), "{name}: {event} of {seek:?}");
        assert_eq!(event["cpu"], seek.cpu, "{name}: {event} of {seek:?}");
        let printed = event["data"].as_str().unwrap().split_whitespace().next().unwrap();
        assert_eq!(printed, seek.offset.to_string(), "{name}: {event} of {seek:?}");
    }
    assert!(events.is_sorted_by_key(|e| e["at_ns"].as_u64()), "{name}: {text}");
}

#[test]
fn events_have_the_time_and_the_cpu_of_their_program() {
    if root::missing() {
        return;
    }
    let cpus = cpus();
    for kind in kinds() {
        let running = Running::json(&kind.statement);
        let sought: Vec<Sought> = (0..50)
            .map(|n| {
                std::thread::sleep(Duration::from_millis(n % 4));
                seek_on(cpus[n as usize % cpus.len()], n)
            })
            .collect();
        check(kind.name, &sought, &running.end());
    }
}

#[test]
fn a_reader_that_was_stopped_finds_the_right_times() {
    if root::missing() {
        return;
    }
    let cpus = cpus();
    let running = kinds().map(|kind| (kind.name, Running::json(&kind.statement)));
    running.iter().for_each(|(_, r)| r.signal(Signal::STOP));
    let stopped_ns = now_ns();
    let mut sought = Vec::new();
    while now_ns() - stopped_ns < 4_000_000_000 {
        let offset = sought.len() as u64;
        sought.push(seek_on(cpus[sought.len() % cpus.len()], offset));
        std::thread::sleep(Duration::from_millis(20));
    }
    running.iter().for_each(|(_, r)| r.signal(Signal::CONT));
    // The first one ends all.
    let texts = running.map(|(name, running)| (name, running.end()));
    for (name, text) in texts {
        check(name, &sought, &text);
    }
}

#[test]
fn reports_of_one_firing_have_a_time_each() {
    if root::missing() {
        return;
    }
    let running = Running::json("$a = nsecs(monotonic); print($a); $b = nsecs(monotonic); print($b);");
    seek(5);
    let text = running.end();
    let events: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let numbers: Vec<u64> =
        events.iter().filter(|e| e["type"] == "value").flat_map(|e| [&e["data"], &e["at_ns"]]).map(number).collect();
    assert_eq!(numbers.len(), 4, "{text}");
    assert!(numbers.is_sorted(), "{text}");
}

/// A number, in quotes where a reader that keeps numbers as doubles would change it.
fn number(value: &serde_json::Value) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap()
}

#[test]
fn lines_begin_with_local_time_and_cpu() {
    if root::missing() {
        return;
    }
    let mut running = Running::start(&[], &kinds()[0].statement);
    let mut errors = BufReader::new(running.child.stderr.take().unwrap());
    errors.read_line(&mut String::new()).unwrap();
    let of_day = || {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        since.as_micros() as u64 % 86_400_000_000
    };
    let cpu = cpus()[0];
    let before = of_day();
    seek_on(cpu, 7);
    let after = of_day();
    let text = running.end();
    let (time, rest) = text.split_at("00:00:00.000000".len());
    assert_eq!(rest.trim_end(), format!(" [{cpu:03}] 7"));
    let parts: Vec<u64> = time.split([':', '.']).map(|part| part.parse().unwrap()).collect();
    let at = ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 1_000_000 + parts[3];
    // The wall clock is read at the trace's start and may be slewed since then.
    let slack = 5_000;
    let around_midnight = after < before || before < slack || after + slack > 86_400_000_000;
    assert!(around_midnight || (before - slack..=after + slack).contains(&at), "{before} {time} {after}");
}
