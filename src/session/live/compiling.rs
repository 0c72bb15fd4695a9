//! The compiler thread: text to attached trace.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use super::running::{Mail, Started};
use super::{Desk, Order, SessionOptions, tell_compiled};
use crate::engine::{Trace, TraceOptions, drain};
use crate::session::child::Held;
use crate::session::compilation::Compiled;
use crate::session::failure;
use crate::session::update::{Generation, Update};

pub(super) fn run(options: &SessionOptions, desk: &Desk, mail: &SyncSender<Mail>, updates: &SyncSender<Update>) {
    let mut number = 0;
    loop {
        match desk.take() {
            Order::Quit => return,
            Order::Check(text, generation) => survived(updates, generation, || {
                tell_compiled(updates, generation, &(options.compiler)(&text, None));
            }),
            Order::Run(text, generation) => {
                number += 1;
                survived(updates, generation, || start(options, &text, generation, number, mail, updates));
            }
        }
    }
}

/// A script that makes the compiler panic is told of as any other that can't run; the next one is
/// compiled as usual.
fn survived(updates: &SyncSender<Update>, generation: Generation, work: impl FnOnce()) {
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err() {
        let _ = updates.send(Update::Failed { generation, diagnostic: failure::fault(), raw_log: Arc::from("") });
    }
}

/// Compiles, loads, attaches, and hands the trace to the session. On any failure the running trace
/// stays as it is.
fn start(
    options: &SessionOptions,
    text: &Arc<str>,
    generation: Generation,
    number: u64,
    mail: &SyncSender<Mail>,
    updates: &SyncSender<Update>,
) {
    let began = Instant::now();
    let child = match options.command.as_deref().map(Held::start).transpose() {
        Ok(child) => child,
        Err(error) => {
            let _ = updates.send(Update::Notice(error.to_string()));
            return;
        }
    };
    let compilation = (options.compiler)(text, child.as_ref().map(Held::pid));
    tell_compiled(updates, generation, &compilation);
    let Some(compiled) = compilation.output else { return };
    let began_ns = crate::engine::monotonic_ns();
    match attach(options, &compiled, number, mail) {
        Ok(trace) => {
            let attached = trace.attached();
            let missing: Vec<&str> = trace.refused().iter().map(|r| r.probe.as_str()).collect();
            if !missing.is_empty() {
                let _ = updates.send(Update::Notice(format!("going on without {}", missing.join(", "))));
            }
            let started = Started { trace, compiled, generation, number, child, began_ns };
            if mail.send(Mail::Started(Box::new(started))).is_err() {
                return;
            }
            let elapsed_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let _ = updates.send(Update::Attached { generation, probes: attached, elapsed_ns });
        }
        Err(error) => {
            let _ = mail.send(Mail::Forget(number));
            let (diagnostic, raw_log) = failure::explain(&error, &compiled);
            let _ = updates.send(Update::Failed { generation, diagnostic, raw_log });
        }
    }
}

fn attach(
    options: &SessionOptions,
    compiled: &Compiled,
    number: u64,
    mail: &SyncSender<Mail>,
) -> Result<Trace, crate::engine::EngineError> {
    let trace_options = TraceOptions { place: options.place(), measure: options.measure };
    let end = End { number, mail: mail.clone() };
    let sink = Box::new(move |batch, wait| {
        let wrap = |batch| Mail::Batch(end.number, batch);
        drain::send(&end.mail, batch, wait, wrap, |mail| match mail {
            Mail::Batch(_, batch) => Some(batch),
            _ => None,
        })
    });
    Trace::start(Arc::clone(&compiled.program), Arc::clone(&compiled.artifact), &trace_options, sink)
}

/// Tells the session that a trace's drain has ended, when its sink is dropped.
struct End {
    number: u64,
    mail: SyncSender<Mail>,
}

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.mail.send(Mail::Drained(self.number));
    }
}
