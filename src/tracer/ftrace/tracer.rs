//! Events of the kernel's tracing as a tracer: what happens is an entry of the history, as it comes.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::session::{Options, Session, Told};
use super::{FtraceError, Keeper};
use crate::engine::monotonic_ns;
use crate::kernel::Kernel;
use crate::tracer::threaded::{self, Inside};
use crate::tracer::{Begun, Finding, Outlet, Refusal, Tracer};

/// How long nothing is asked of rings that were empty.
const PAUSE: Duration = Duration::from_millis(10);
/// How often stacks are told.
const TELL: Duration = Duration::from_secs(1);
/// Entries that are delivered together.
const TOGETHER: usize = 4096;

/// Events that are not on yet.
#[derive(Debug)]
pub struct FtraceTracer {
    kernel: Arc<Kernel>,
    options: Options,
    name: String,
}

impl FtraceTracer {
    /// Traces so on this kernel; `name` is for people.
    #[must_use]
    pub fn new(kernel: &Arc<Kernel>, options: Options, name: &str) -> Self {
        Self { kernel: Arc::clone(kernel), options, name: name.to_owned() }
    }
}

impl Tracer for FtraceTracer {
    fn start(self: Box<Self>, outlet: Outlet) -> Result<Begun, Box<Refusal>> {
        let Self { kernel, options, name } = *self;
        threaded::start(
            "ftrace",
            |_| None::<()>,
            move |inside| {
                let (keeper, info) = Keeper::new(&kernel, &options, &name);
                match Session::start(&kernel, &options) {
                    Ok(session) => {
                        if inside.tell.send(Ok(Box::new(info))).is_ok() {
                            run(session, keeper, &outlet, &inside);
                        }
                        outlet.drained();
                    }
                    Err(error) => {
                        let _ = inside.tell.send(Err(Box::new(error).into()));
                    }
                }
            },
        )
    }
}

/// Nobody listens any more, or the rings can't be read.
struct Gone;

impl From<FtraceError> for Gone {
    fn from(_: FtraceError) -> Self {
        Self
    }
}

fn run(mut session: Session, mut keeper: Keeper, outlet: &Outlet, inside: &Inside<()>) {
    let mut told = Instant::now();
    let orders: &Receiver<()> = &inside.orders;
    let mut pause = PAUSE;
    while orders.recv_timeout(pause) != Err(RecvTimeoutError::Disconnected) {
        let mut found = Vec::new();
        let Ok((_, more)) = session.poll(&mut |item| take(item, &mut keeper, &mut found, outlet)) else { return };
        if told.elapsed() >= TELL {
            told = Instant::now();
            found.extend(keeper.maps(monotonic_ns()));
        }
        if !outlet.findings(found) {
            return;
        }
        pause = if more { Duration::ZERO } else { PAUSE };
    }
    let mut found = Vec::new();
    let _ = session.finish(&mut |item| take(item, &mut keeper, &mut found, outlet));
    found.extend(keeper.maps(monotonic_ns()));
    let _ = outlet.findings(found);
}

fn take(item: Told<'_>, keeper: &mut Keeper, found: &mut Vec<Finding>, outlet: &Outlet) -> Result<(), Gone> {
    match item {
        Told::Event(event) => found.extend(keeper.event(&event)),
        Told::Lost(loss) => found.push(Keeper::loss(&loss)),
    }
    if found.len() < TOGETHER || outlet.findings(std::mem::take(found)) { Ok(()) } else { Err(Gone) }
}
