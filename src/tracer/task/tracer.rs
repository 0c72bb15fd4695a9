//! Watching threads as a tracer: what is known of their time is an entry of the history, once a second.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::{Options, Watch};
use crate::engine::monotonic_ns;
use crate::engine::names::time::Clocks;
use crate::kernel::Kernel;
use crate::model::task::TaskReport;
use crate::store::{Payload, TraceInfo, TraceKind};
use crate::tracer::threaded::{self, Inside};
use crate::tracer::{Begun, Finding, Outlet, Refusal, Tracer};

/// How often what happened is taken in.
const POLL: Duration = Duration::from_millis(50);
/// How often it is told.
const TELL: Duration = Duration::from_secs(1);
/// Rows of each list that are told.
const ROWS: usize = 20;

/// Threads that are not watched yet.
#[derive(Debug)]
pub struct TaskTracer {
    kernel: Arc<Kernel>,
    options: Options,
}

impl TaskTracer {
    /// Watches so on this kernel.
    #[must_use]
    pub fn new(kernel: &Arc<Kernel>, options: Options) -> Self {
        Self { kernel: Arc::clone(kernel), options }
    }
}

impl Tracer for TaskTracer {
    fn start(self: Box<Self>, outlet: Outlet) -> Result<Begun, Box<Refusal>> {
        let Self { kernel, options } = *self;
        threaded::start("task", |_| None::<()>, move |inside| run(&kernel, options, &outlet, &inside))
    }
}

fn run(kernel: &Arc<Kernel>, options: Options, outlet: &Outlet, inside: &Inside<()>) {
    let name = options.target.words(kernel);
    let mut watch = match Watch::start(kernel, options) {
        Ok(watch) => watch,
        Err(error) => {
            let _ = inside.tell.send(Err(Box::new(error).into()));
            return;
        }
    };
    let clocks = Clocks::now();
    let text = |path| kernel.proc_text(path).unwrap_or_default().trim().into();
    let info = TraceInfo {
        kind: TraceKind::Task,
        name: name.as_str().into(),
        began_ns: monotonic_ns(),
        wall_minus_monotonic_ns: clocks.wall(0, 1),
        utc_offset_s: clocks.chart().utc_offset_s,
        kernel: text("sys/kernel/osrelease"),
        host: text("sys/kernel/hostname"),
        ..TraceInfo::default()
    };
    if inside.tell.send(Ok(Box::new(info))).is_ok() {
        tell(&mut watch, outlet, &inside.orders);
        let _ = outlet.findings(vec![finding(brief(watch.report()))]);
    }
    outlet.drained();
}

/// Tells until nobody listens, or the orders are closed.
fn tell(watch: &mut Watch, outlet: &Outlet, orders: &Receiver<()>) {
    let mut told = Instant::now();
    while orders.recv_timeout(POLL) != Err(RecvTimeoutError::Disconnected) {
        watch.poll();
        if told.elapsed() >= TELL {
            told = Instant::now();
            if !outlet.findings(vec![finding(brief(watch.report()))]) {
                return;
            }
        }
    }
}

/// What a screen has room for: the history keeps one each second.
fn brief(mut report: TaskReport) -> TaskReport {
    report.behind.truncate(ROWS);
    report.places.truncate(ROWS);
    // Stacks of the worst waits are enough.
    report.places.iter_mut().for_each(|place| place.stack.clear());
    report
}

fn finding(report: TaskReport) -> Finding {
    Finding { at_ns: monotonic_ns(), cpu: None, payload: Payload::Task(Arc::new(report)) }
}
