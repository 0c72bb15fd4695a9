//! The order in which a face is told of traces, with tracers that need no kernel.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use super::{Session, SessionHandle, SessionOptions};
use crate::engine::drain::Batch;
use crate::kernel::{Kernel, Roots};
use crate::model::stats::TraceStats;
use crate::session::update::Update;
use crate::store::{Chunk, PayloadKind, TraceInfo};
use crate::tracer::report::{Face, Report};
use crate::tracer::script::compilation::Compilation;
use crate::tracer::{Begun, Control, Left, Outlet, Refusal, Running, Sample, Started, TraceId, Tracer, TracerError};

/// Longer than anything here takes, so that only a hang ends here.
const PATIENCE: Duration = Duration::from_secs(20);

/// Prints what it is given; all its doings are told apart by its name.
#[derive(Default)]
struct Printer {
    /// Delivers this many records while it is still being started.
    early: usize,
    /// What it traces is over before it has started.
    over: bool,
    /// The kernel refuses it.
    refused: bool,
    /// Its code.
    code: i32,
}

impl Tracer for Printer {
    fn start(self: Box<Self>, outlet: Outlet) -> Result<Begun, Box<Refusal>> {
        if self.refused {
            let refusal = std::io::Error::other("refused");
            return Err(TracerError::Write(refusal).into());
        }
        for _ in 0..self.early {
            let mut batch = Batch::default();
            batch.push(b"early");
            let _ = outlet.records(batch, crate::tracer::Wait::Yes);
        }
        if self.over {
            outlet.over();
        }
        let running = move || Box::new(RunningPrinter { code: self.code, outlet }) as Box<dyn Running>;
        let started = Started { probes: 7, unattached: Vec::new() };
        Ok(Begun { started, info: TraceInfo::default(), running: Box::new(running) })
    }
}

struct RunningPrinter {
    code: i32,
    outlet: Outlet,
}

impl Running for RunningPrinter {
    fn take(&mut self, batch: &Batch, face: &mut dyn Face) -> Result<(), TracerError> {
        for _ in batch.records() {
            face.report(&Report::Failed { message: "record", span: crate::lang::source::Span::default() })?;
        }
        Ok(())
    }

    fn sample(&mut self, what: Sample, face: &mut dyn Face) -> Result<(), TracerError> {
        if what == Sample::Counters {
            face.report(&Report::Stats(&Arc::new(TraceStats::default())))?;
        }
        Ok(())
    }

    fn control(&mut self, control: &Control) -> Result<(), TracerError> {
        let mut batch = Batch::default();
        batch.push(format!("{control:?}").as_bytes());
        // From a thread of its own, as real deliveries come.
        let outlet = self.outlet.clone();
        std::thread::spawn(move || outlet.records(batch, crate::tracer::Wait::Yes));
        Ok(())
    }

    fn stop(&mut self, _: &mut dyn Face) -> Result<(), TracerError> {
        let outlet = self.outlet.clone();
        std::thread::spawn(move || {
            let mut last = Batch::default();
            last.push(b"last");
            let _ = outlet.records(last, crate::tracer::Wait::Yes);
            outlet.drained();
        });
        Ok(())
    }

    fn drains(&self) -> bool {
        true
    }

    fn finish(&mut self, _: &mut dyn Face) -> Result<i32, TracerError> {
        Ok(self.code)
    }

    fn leave(self: Box<Self>) -> Left {
        Left::default()
    }
}

fn session() -> (SessionHandle, Receiver<Update>) {
    let nowhere = PathBuf::from("/nonexistent");
    let roots = Roots { proc: nowhere.clone(), sys: nowhere.clone(), tracefs: nowhere.clone(), boot: nowhere };
    let options = SessionOptions {
        kernel: Arc::new(Kernel::new(roots)),
        compiler: Arc::new(|_, _, _| Compilation::default()),
        pid: None,
        command: None,
        measure: false,
        budget: None,
        count_first: false,
    };
    Session::spawn(options).expect("threads start")
}

/// How many records a trace tells of in a chunk.
fn said(chunk: &Chunk, of: TraceId) -> usize {
    chunk.heads(0).filter(|head| head.trace == of && head.kind == PayloadKind::Diagnostic).count()
}

/// What is told of a trace, in short, until it has ended: `attached`, `3 lines`, `ended 0`.
fn told(updates: &Receiver<Update>, of: TraceId) -> Vec<String> {
    let mut told = Vec::new();
    let mut lines = 0;
    loop {
        let update = updates.recv_timeout(PATIENCE).expect("it ends");
        match update {
            Update::Append(chunk) => lines += said(&chunk, of),
            Update::Attached { trace, probes, .. } if trace == of => told.push(format!("attached {probes}")),
            Update::Failed { trace, .. } if trace == of => {
                told.push("failed".to_owned());
                return told;
            }
            Update::Ended { trace, ending } if trace == of => {
                told.push(format!("{lines} lines"));
                told.push(format!("ended {ending:?}"));
                return told;
            }
            _ => {}
        }
    }
}

#[test]
fn a_trace_that_ends_before_it_has_started_is_told_of_in_order() {
    let (handle, updates) = session();
    for round in 1..=50 {
        let trace = TraceId(round);
        handle.start(trace, Box::new(Printer { early: 3, over: true, code: 4, ..Printer::default() }));
        assert_eq!(told(&updates, trace), ["attached 7", "4 lines", "ended Done(4)"], "round {round}");
    }
}

#[test]
fn a_stop_that_comes_before_the_start_ends_the_trace_once_it_runs() {
    let (handle, updates) = session();
    handle.stop(TraceId(9));
    handle.start(TraceId(9), Box::new(Printer::default()));
    assert_eq!(told(&updates, TraceId(9)), ["attached 7", "1 lines", "ended Done(0)"]);
}

#[test]
fn traces_beside_each_other_are_stopped_and_asked_by_their_numbers() {
    let (handle, updates) = session();
    let (first, second) = (TraceId(1), TraceId(2));
    handle.start(first, Box::new(Printer { code: 1, ..Printer::default() }));
    handle.start(second, Box::new(Printer { code: 2, ..Printer::default() }));
    let mut running = 0;
    while running < 2 {
        let update = updates.recv_timeout(PATIENCE).expect("both start");
        running += usize::from(matches!(update, Update::Attached { .. }));
    }
    handle.clear_map(second, "@a");
    let of = loop {
        if let Update::Append(chunk) = updates.recv_timeout(PATIENCE).expect("a line")
            && let Some(trace) = [first, second].into_iter().find(|trace| said(&chunk, *trace) > 0)
        {
            break trace;
        }
    };
    assert_eq!(of, second, "the other one was asked nothing");
    handle.stop(first);
    assert_eq!(told(&updates, first), ["1 lines", "ended Done(1)"]);
    handle.stop(first);
    handle.stop(second);
    assert_eq!(told(&updates, second), ["1 lines", "ended Done(2)"]);
    drop(updates);
}

#[test]
fn one_that_does_not_start_has_failed_and_leaves_the_rest_alone() {
    let (handle, updates) = session();
    handle.start(TraceId(1), Box::new(Printer { refused: true, early: 1, ..Printer::default() }));
    handle.start(TraceId(2), Box::new(Printer { over: true, ..Printer::default() }));
    assert_eq!(told(&updates, TraceId(1)), ["failed"]);
    assert_eq!(told(&updates, TraceId(2)), ["attached 7", "1 lines", "ended Done(0)"]);
}

#[test]
fn a_session_ends_with_traces_that_run_and_with_a_face_that_is_gone() {
    let (handle, updates) = session();
    handle.start(TraceId(1), Box::new(Printer::default()));
    let attached = updates.recv_timeout(PATIENCE).expect("it starts");
    assert!(matches!(attached, Update::Trace(_)), "{attached:?}");
    drop(updates);
    drop(handle);
}
