//! `latency task`: where the time of a thread, a process or a control group goes.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::arguments;
use crate::cli::{CliError, World};
use crate::model::task::TaskReport;
use crate::model::task::verdict::{Verdict, verdict};
use crate::output::task;
use crate::stdio;
use crate::tracer::task::{Options, Target, Watch};

/// How often what happened is taken in.
const POLL: Duration = Duration::from_millis(50);

/// Where the time of a thread, a process or a control group goes: running, interrupted, waiting for what, queued
/// behind whom. The parts add up to the wall time; the worst waits are told step by step, with a verdict in words.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("whose").required(true))]
pub struct Args {
    /// A process with all its threads, by its number or its name.
    #[arg(short, long, value_name = "PID|NAME", value_parser = crate::cli::process::process, group = "whose")]
    pid: Option<u32>,
    /// One thread.
    #[arg(short, long, value_name = "TID", group = "whose")]
    tid: Option<u32>,
    /// A control group (version 2) with those below it, by its folder.
    #[arg(long, value_name = "FOLDER", group = "whose")]
    cgroup: Option<PathBuf>,
    /// How long to watch: a number with s, m, h or d.
    #[arg(short, long, value_name = "TIME")]
    duration: Option<String>,
    /// Waits shorter than this (us) are in the sums only.
    #[arg(long, value_name = "US", default_value_t = 100, value_parser = arguments::times())]
    keep: u64,
    /// How many of the worst waits are told.
    #[arg(long, value_name = "N", default_value_t = 5)]
    worst: usize,
    /// Print one JSON object at the end.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    report: &'a TaskReport,
    verdict: Verdict,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World, stop: &AtomicBool) -> Result<ExitCode, CliError> {
    let kernel = crate::cli::kernel::running(world);
    let duration = args.duration.as_deref().map(arguments::duration).transpose()?;
    let target = match (args.pid, args.tid, &args.cgroup) {
        (Some(pid), ..) => Target::Process(pid),
        (_, Some(tid), _) => Target::Thread(tid),
        (.., Some(folder)) => Target::Cgroup(folder.clone()),
        _ => {
            return Err(CliError::Refused(
                "give a process (-p), a thread (-t) or a control group (--cgroup)".to_owned(),
            ));
        }
    };
    let own = match &target {
        Target::Process(pid) | Target::Thread(pid) => Some(Path::new("/proc").join(pid.to_string())),
        Target::Cgroup(_) => None,
    };
    let worst = args.worst.clamp(1, 1000);
    let mut watch = Watch::start(&kernel, Options { target, keep_ns: args.keep.max(1) * 1000, worst })?;
    if !args.json {
        let until = if duration.is_some() { "" } else { "; Ctrl-C ends it" };
        stdio::say(format_args!("probescope: watching{until}"));
    }
    let began = Instant::now();
    let over = |elapsed: Duration| duration.is_some_and(|duration| elapsed >= duration);
    while !stop.load(Ordering::Acquire) && !over(began.elapsed()) {
        std::thread::sleep(POLL);
        watch.poll();
        // A process that has ended has no more time.
        if own.as_ref().is_some_and(|path| !path.exists()) {
            break;
        }
    }
    let report = watch.report();
    let text = if args.json {
        let told = Told { verdict: verdict(&report), report: &report };
        serde_json::to_string(&told).map_err(|e| CliError::Refused(e.to_string()))? + "\n"
    } else {
        task::report(&report, args.worst)
    };
    stdio::out().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}
