//! The latency meter as a tracer: its samples and episodes are entries of the history.
//!
//! A thread of its own measures, as libbpf's objects stay where they were made; what it finds needs nobody to say what
//! it means, so the running half only ends it and passes orders on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use super::bpf::BpfMeasurement;
use super::tracefs::{TracefsMeasurement, Workload, available};
use super::{Item, LatencyError, Measurement, Mode, Options, badges};
use crate::engine::monotonic_ns;
use crate::engine::names::time::Clocks;
use crate::kernel::Kernel;
use crate::lang::codes::run::NOT_DONE;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::model::latency::{MeterInfo, Thresholds};
use crate::store::{Payload, TraceInfo, TraceKind};
use crate::tracer::threaded::{self, Inside};
use crate::tracer::{Begun, Control, Finding, Outlet, Refusal, Tracer, TracerError};

/// How often a measurement is asked for what is new.
const POLL: Duration = Duration::from_millis(20);

/// A latency meter that has not begun.
pub struct LatencyTracer {
    kernel: Arc<Kernel>,
    options: Options,
}

impl std::fmt::Debug for LatencyTracer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LatencyTracer").field("options", &self.options).finish_non_exhaustive()
    }
}

impl LatencyTracer {
    /// A meter with these options on this kernel.
    #[must_use]
    pub fn new(kernel: &Arc<Kernel>, options: Options) -> Self {
        Self { kernel: Arc::clone(kernel), options }
    }
}

/// What the measuring thread is told.
enum Order {
    Thresholds(Thresholds),
}

fn order(control: &Control) -> Option<Order> {
    if let Control::Thresholds(thresholds) = control { Some(Order::Thresholds(*thresholds)) } else { None }
}

impl Tracer for LatencyTracer {
    fn start(self: Box<Self>, outlet: Outlet) -> Result<Begun, Box<Refusal>> {
        let Self { kernel, options } = *self;
        threaded::start("latency", order, move |inside| {
            let Inside { tell, orders, over } = inside;
            Measuring { kernel, outlet, inbox: orders, over }.run(options, &tell);
        })
    }
}

/// What a meter is, for the history.
#[must_use]
pub fn info(kernel: &Kernel, options: &Options, backend: &str, described: &[String]) -> TraceInfo {
    let clocks = Clocks::now();
    let text = |path| kernel.proc_text(path).unwrap_or_default().trim().into();
    let passive = options.mode == Mode::Passive;
    let cpus = if passive { kernel.online_cpus().as_slice().to_vec() } else { options.cpus.clone() };
    let meter = MeterInfo {
        mode: options.mode,
        backend: backend.to_owned(),
        cpus,
        policy: if passive { String::new() } else { options.policy.to_string() },
        period_ns: options.period_ns,
        runtime_ns: options.runtime_ns,
        gap_ns: options.gap_ns,
        interval_ns: options.interval.as_nanos() as u64,
        thresholds: options.thresholds,
        badges: badges::badges(kernel, options, described),
        places: badges::places(kernel),
    };
    TraceInfo {
        kind: TraceKind::Latency,
        name: options.mode.name().into(),
        began_ns: monotonic_ns(),
        wall_minus_monotonic_ns: clocks.wall(0, 1),
        utc_offset_s: clocks.chart().utc_offset_s,
        kernel: text("sys/kernel/osrelease"),
        host: text("sys/kernel/hostname"),
        meter: Some(Arc::new(meter)),
        ..TraceInfo::default()
    }
}

/// Measures by our own programs, or by the kernel's tracer where only that is there.
fn begin(kernel: &Arc<Kernel>, options: &Options) -> Result<(Box<dyn Measurement>, &'static str), LatencyError> {
    let error = match BpfMeasurement::start(kernel, options.clone()) {
        Ok(measurement) => return Ok((Box::new(measurement), "BPF")),
        Err(error) => error,
    };
    let no_programs = matches!(error, LatencyError::Engine(_) | LatencyError::Absent { .. });
    if !no_programs || options.mode == Mode::Passive || available(kernel, options.mode.name()).is_err() {
        return Err(error);
    }
    let measurement = TracefsMeasurement::start(kernel, options.clone(), Workload::Kernel)?;
    Ok((Box::new(measurement), "tracefs"))
}

/// What was measured as an entry.
#[must_use]
pub fn finding(item: Item) -> Finding {
    match item {
        Item::Sample(sample) => Finding {
            at_ns: sample.began_ns.saturating_add(sample.period_ns),
            cpu: u16::try_from(sample.cpu).ok(),
            payload: Payload::CpuSample(Arc::from(sample)),
        },
        Item::Episode(episode) => Finding {
            at_ns: episode.ended_ns,
            cpu: u16::try_from(episode.cpu).ok(),
            payload: Payload::Episode(Arc::from(episode)),
        },
        Item::Note(text) => note(Diagnostic::warning(NOT_DONE, Span::default(), text)),
    }
}

fn note(said: Diagnostic) -> Finding {
    Finding { at_ns: monotonic_ns(), cpu: None, payload: Payload::Diagnostic(Arc::new(said)) }
}

/// The measuring thread.
struct Measuring {
    kernel: Arc<Kernel>,
    outlet: Outlet,
    inbox: Receiver<Order>,
    /// It has ended by itself.
    over: Arc<AtomicBool>,
}

impl Measuring {
    fn run(self, options: Options, tell: &SyncSender<Result<Box<TraceInfo>, TracerError>>) {
        let (mut measurement, backend) = match begin(&self.kernel, &options) {
            Ok(begun) => begun,
            Err(error) => {
                let _ = tell.send(Err(Box::new(error).into()));
                return;
            }
        };
        let info = info(&self.kernel, &options, backend, &measurement.describe());
        if tell.send(Ok(Box::new(info))).is_err() {
            return;
        }
        let measured = self.measure(measurement.as_mut());
        let failed = measured.is_err();
        let rest = measured.and_then(|()| measurement.finish());
        let last = match rest {
            Ok(items) => items.into_iter().map(finding).collect(),
            Err(error) => vec![note(Diagnostic::error(NOT_DONE, Span::default(), error.to_string()))],
        };
        self.over.store(failed, Ordering::Release);
        let _ = self.outlet.findings(last);
        self.outlet.drained();
    }

    /// Until the running half lets go of its orders.
    fn measure(&self, measurement: &mut dyn Measurement) -> Result<(), LatencyError> {
        loop {
            match self.inbox.recv_timeout(POLL) {
                Ok(Order::Thresholds(thresholds)) => {
                    if !measurement.set_thresholds(&thresholds) {
                        let text = "the kernel's tracer takes thresholds at its start only";
                        let _ = self.outlet.findings(vec![finding(Item::Note(text.to_owned()))]);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let found = measurement.poll()?.into_iter().map(finding).collect();
            if !self.outlet.findings(found) {
                return Ok(());
            }
        }
    }
}
