//! Sessions on the running kernel: what they tell of traces, in which order, and of several at once.
//!
//! Needs root; without it every test says so and passes.
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use crate::engine::alone;
use probescope::kernel::{Kernel, Roots};
use probescope::lang::source::SourceText;
use probescope::model::budget::Budget;
use probescope::model::stats::LossCause;
use probescope::model::value::Value;
use probescope::session::front::{self, FrontSettings};
use probescope::session::update::{Ending, ScriptId, TraceId, Update};
use probescope::session::{Session, SessionHandle, SessionOptions};
use probescope::store::{Chunk, Entry, Payload};

/// Longer than anything here takes, so that only a hang ends here.
const PATIENCE: Duration = Duration::from_secs(30);

fn session() -> (SessionHandle, Receiver<Update>) {
    session_with(None)
}

fn session_with(budget: Option<Budget>) -> (SessionHandle, Receiver<Update>) {
    let kernel = Arc::new(Kernel::new(Roots::running()).mounting_tracefs());
    let settings = FrontSettings { budget: budget.is_some(), ..FrontSettings::new(Arc::clone(&kernel)) };
    let compiler = front::compiler(settings);
    let options =
        SessionOptions { kernel, compiler, pid: None, command: None, measure: false, budget, count_first: false };
    Session::spawn(options).expect("threads start")
}

fn source(name: &str, text: &str) -> SourceText {
    SourceText::new(name, text)
}

fn next(updates: &Receiver<Update>) -> Update {
    let update = updates.recv_timeout(PATIENCE).expect("something is told");
    match update {
        Update::Failed { diagnostic, .. } => panic!("not run: {}", diagnostic.message),
        update => update,
    }
}

/// What a trace says in a chunk: the action's string where there is one.
fn lines(chunk: &Chunk, of: TraceId) -> Vec<String> {
    let entries = (0..chunk.len()).filter_map(|index| chunk.entry(index)).filter(|entry| entry.trace == of);
    let text = |entry: Entry| match entry.payload {
        Payload::Event { values, .. } => match values.first() {
            Some(Value::Str(text)) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        },
        _ => None,
    };
    entries.filter_map(text).collect()
}

#[test]
fn a_short_script_is_attached_before_it_has_ended() {
    let Some(_alone) = alone() else { return };
    let (handle, updates) = session();
    for round in 1..=40 {
        let submitted = TraceId(round);
        handle.submit(ScriptId(1), submitted, source("a.bt", "BEGIN { printf(\"%s\\n\", \"hi\"); exit(3); }"));
        let mut steps = Vec::new();
        loop {
            match next(&updates) {
                Update::Compiled { trace, .. } if trace == submitted => steps.push("compiled"),
                Update::Attached { trace, .. } if trace == submitted => steps.push("attached"),
                Update::Append(chunk) => steps.extend(lines(&chunk, submitted).iter().map(|_| "line")),
                Update::Ended { trace, ending } if trace == submitted => {
                    assert_eq!(ending, Ending::Done(3));
                    break;
                }
                _ => {}
            }
        }
        assert_eq!(steps, ["compiled", "attached", "line"], "round {round}");
    }
}

#[test]
fn a_new_text_replaces_the_trace_of_its_own_script_only() {
    let Some(_alone) = alone() else { return };
    let (handle, updates) = session();
    let script = |tag: &str| {
        format!(
            "tracepoint:syscalls:sys_enter_getppid /pid == {}/ {{ printf(\"%s\\n\", \"{tag}\"); }}",
            std::process::id()
        )
    };
    let (left, right) = (ScriptId(1), ScriptId(2));
    let attached = |of| {
        loop {
            if matches!(next(&updates), Update::Attached { trace, .. } if trace == of) {
                return;
            }
        }
    };
    // What two traces print of one call.
    let printed = |traces: [TraceId; 2]| {
        let mut told = [String::new(), String::new()];
        let start = Instant::now();
        while told.iter().any(String::is_empty) {
            assert!(start.elapsed() < PATIENCE, "{told:?}");
            let _ = rustix::process::getppid();
            if let Update::Append(chunk) = next(&updates) {
                for (nth, trace) in traces.iter().enumerate() {
                    told[nth].extend(lines(&chunk, *trace).into_iter().take(usize::from(told[nth].is_empty())));
                }
            }
        }
        told
    };
    handle.submit(left, TraceId(1), source("a.bt", &script("one")));
    attached(TraceId(1));
    handle.submit(right, TraceId(2), source("a.bt", &script("two")));
    attached(TraceId(2));
    assert_eq!(printed([TraceId(1), TraceId(2)]), ["one", "two"]);

    handle.submit(left, TraceId(3), source("a.bt", &script("three")));
    attached(TraceId(3));
    let mut last_words = 0;
    loop {
        match next(&updates) {
            Update::Ended { trace: TraceId(1), ending } => {
                assert_eq!(ending, Ending::Replaced);
                break;
            }
            Update::Ended { trace, .. } => panic!("{trace:?} was not to end"),
            _ => last_words += 1,
        }
        assert!(last_words < 1000);
    }
    assert_eq!(printed([TraceId(3), TraceId(2)]), ["three", "two"]);

    // A text that is wrong disturbs neither.
    handle.submit(right, TraceId(4), source("a.bt", "tracepoint:syscalls:sys_enter_getppid { nonsense"));
    loop {
        if let Update::Compiled { trace: TraceId(4), figures, diagnostics } = next(&updates) {
            assert!(figures.is_none() && !diagnostics.is_empty());
            break;
        }
    }
    assert_eq!(printed([TraceId(3), TraceId(2)]), ["three", "two"]);
    handle.stop(TraceId(2));
    loop {
        match next(&updates) {
            Update::Ended { trace: TraceId(2), ending } => {
                assert_eq!(ending, Ending::Done(0));
                break;
            }
            Update::Ended { trace, .. } => panic!("{trace:?} was not to end"),
            _ => {}
        }
    }
    assert_eq!(printed([TraceId(3), TraceId(3)]), ["three", "three"]);
}

#[test]
fn a_brake_that_trips_while_its_trace_is_replaced_leaves_the_new_one_whole() {
    let Some(_alone) = alone() else { return };
    let (handle, updates) = session();
    // Long firings: each is over the bound of one firing.
    let endless = "interval:ms:10 { $i = 0; while ($i < 100000000) { @a = $i; $i++; } }";
    let script = ScriptId(1);
    for round in 0..4 {
        let (bad, good) = (TraceId(2 * round + 1), TraceId(2 * round + 2));
        handle.submit(script, bad, source("a.bt", endless));
        while !matches!(next(&updates), Update::Attached { trace, .. } if trace == bad) {}
        handle.submit(script, good, source("a.bt", "interval:ms:10 { printf(\"%s\\n\", \"whole\"); }"));
        let (start, mut printed) = (Instant::now(), 0);
        while printed < 10 {
            assert!(start.elapsed() < PATIENCE, "round {round}");
            let Update::Append(chunk) = next(&updates) else { continue };
            printed += lines(&chunk, good).len();
            let entries = (0..chunk.len()).filter_map(|index| chunk.entry(index));
            for entry in entries.filter(|entry| entry.trace == good) {
                assert!(!matches!(entry.payload, Payload::Diagnostic(_)), "round {round}: {entry:?}");
            }
        }
    }
}

/// What is known of a trace's firings.
#[derive(Debug, Default)]
struct Books {
    delivered: u64,
    counted: u64,
    lost: u64,
    throttled: u64,
}

impl Books {
    fn take(&mut self, chunk: &Chunk, of: TraceId) {
        for entry in (0..chunk.len()).filter_map(|index| chunk.entry(index)).filter(|entry| entry.trace == of) {
            match entry.payload {
                Payload::Event { .. } => self.delivered += 1,
                Payload::Maps(maps) => {
                    let number = |value: &Value| value.as_number().and_then(|n| u64::try_from(n).ok());
                    self.counted =
                        maps.first().and_then(|m| m.rows.first()).and_then(|r| number(&r.value)).unwrap_or(0);
                }
                Payload::Stats(stats) => {
                    let of = |cause| stats.losses.iter().filter(|l| l.cause == cause).map(|l| l.count).sum();
                    (self.lost, self.throttled) = (of(LossCause::RingFull), of(LossCause::Throttled));
                }
                _ => {}
            }
        }
    }
}

#[test]
fn the_books_of_traces_that_are_replaced_and_left_balance() {
    const CALLS: u64 = 150_000;
    let Some(_alone) = alone() else { return };
    let (handle, updates) = session_with(Some("0.5%".parse().expect("a percentage")));
    let script = format!(
        "tracepoint:syscalls:sys_enter_getppid /pid == {}/ {{ @n = count(); printf(\"%d %s\\n\", pid, comm); }}",
        std::process::id()
    );
    let traces = [TraceId(1), TraceId(2)];
    let mut books = [Books::default(), Books::default()];
    let mut take = |update: Update| {
        if let Update::Append(chunk) = update {
            traces.iter().zip(&mut books).for_each(|(trace, books)| books.take(&chunk, *trace));
        }
    };
    for trace in traces {
        handle.submit(ScriptId(1), trace, source("a.bt", &script));
        loop {
            match next(&updates) {
                Update::Attached { trace: of, .. } if of == trace => break,
                update => take(update),
            }
        }
        for _ in 0..CALLS {
            let _ = rustix::process::getppid();
        }
    }
    let leaving = std::thread::spawn(move || drop(handle));
    updates.iter().for_each(&mut take);
    leaving.join().expect("it ends");
    for Books { delivered, counted, lost, throttled } in books {
        let all = format!("{delivered} delivered, {counted} counted, {lost} lost, {throttled} throttled of {CALLS}");
        assert_eq!(counted + throttled, CALLS, "{all}");
        assert_eq!(delivered + lost, counted, "{all}");
    }
}
