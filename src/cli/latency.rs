//! `probescope latency`: what keeps a CPU from a thread, in rtla's words.

mod actions;
mod advice;
mod advise;
mod arguments;
mod diff;
mod extra;
mod inject;
mod profile;
mod run;
mod selftest;
mod task;
mod values;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

use super::{CliError, World};
use crate::thread::{self, Rights};
use crate::tracer::latency::LatencyError;

/// Measure latency and noise: osnoise and timerlat on every kernel, in rtla's columns.
///
/// BPF programs and measuring threads do what the kernel's osnoise and timerlat tracers do; where the
/// kernel has those, `--backend tracefs` and `-k` use them, and `hwnoise` needs them.
///
/// Exit codes: 0 measured, 1 it could not be measured, 2 a threshold was passed.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Spin on each CPU and find what takes it away.
    Osnoise(Box<arguments::Osnoise>),
    /// Sleep on each CPU until set times and find how late timers and threads are.
    Timerlat(Box<arguments::Timerlat>),
    /// Spin with interrupts off, by the kernel's tracer: what is left is the hardware's noise.
    Hwnoise(Box<arguments::Osnoise>),
    Task(task::Args),
    Selftest(selftest::Args),
    Profile(profile::Args),
    Diff(diff::Args),
    Advise(advise::Args),
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let stop = stop_flag()?;
    match &args.what {
        What::Osnoise(args) => {
            run::run(&arguments::osnoise(args, false, &super::kernel::running(world))?, world, &stop)
        }
        What::Timerlat(args) => run::run(&arguments::timerlat(args, &super::kernel::running(world))?, world, &stop),
        What::Hwnoise(args) => run::run(&arguments::osnoise(args, true, &super::kernel::running(world))?, world, &stop),
        What::Task(args) => task::run(args, world, &stop),
        What::Selftest(args) => selftest::run(args, world, &stop),
        What::Profile(args) => profile::run(args, world, &stop),
        What::Diff(args) => diff::run(args),
        What::Advise(args) => advise::run(args, world),
    }
}

impl From<LatencyError> for CliError {
    fn from(error: LatencyError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Set by the first signal that asks to stop; a second one ends the process as it would without us.
pub(super) fn stop_flag() -> Result<Arc<AtomicBool>, CliError> {
    let failed = |e: std::io::Error| CliError::Refused(format!("cannot watch signals: {e}"));
    let stop = Arc::new(AtomicBool::new(false));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
    let told = Arc::clone(&stop);
    let mut signals = {
        let _inside = runtime.enter();
        [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal)
    };
    let watch = async move {
        let [Ok(interrupt), Ok(terminate), Ok(hangup)] = &mut signals else { return };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        told.store(true, Ordering::Release);
    };
    thread::spawn("psc-signals", Rights::Nothing, move || runtime.block_on(watch)).map_err(failed)?;
    Ok(stop)
}
