//! `probescope ftrace`: the kernel's own tracing.

mod boot;
mod chosen;
mod events;
mod graph;
mod hist;
mod list;
mod report;
mod sinks;

use std::process::ExitCode;
use std::time::Duration;

use super::{CliError, World};
use crate::tracer::ftrace::FtraceError;

/// Trace by the kernel's own tracer: events, filters, triggers, function graphs, histograms.
///
/// Nothing of it needs BPF. Everything is set up in an instance of tracefs that goes at the end,
/// also after `kill -9`, at the next start; what others have set up is shown and never touched.
///
/// Examples:
///
///   probescope ftrace events -e sched:sched_switch --filter 'prev_prio < 100' -d 5s
///
///   probescope ftrace events -e 'syscalls:sys_enter_open*' -- ls -l
///
///   probescope ftrace record -e sched -e block -o io.psrec -d 10s
///
///   probescope ftrace graph vfs_read --min 10us -d 5s
///
///   probescope ftrace hist kmem:kmalloc --keys call_site.sym --values bytes_req -d 2s
///
///   probescope ftrace report trace.dat
///
///   probescope ftrace events --list 'user_events:*'
///
/// Exit codes: 0 all is told, 1 it could not be traced, 3 events were lost.
#[derive(Debug, clap::Args)]
#[command(
    about = "Trace by the kernel's own tracer: events, filters, function graphs, histograms",
    verbatim_doc_comment
)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Events(events::Args),
    Record(events::Record),
    Graph(graph::Args),
    Hist(hist::Args),
    Report(report::Args),
    Boot(boot::Args),
}

/// Exit code where something was lost.
const PARTIAL: u8 = 3;

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    match &args.what {
        What::Events(args) => events::run(args, world),
        What::Record(args) => events::record(args, world),
        What::Graph(args) => graph::run(args, world),
        What::Hist(args) => hist::run(args, world),
        What::Report(args) => report::run(args, world),
        What::Boot(args) => boot::run(args, world),
    }
}

impl From<FtraceError> for CliError {
    fn from(error: FtraceError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Forms of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// Lines as in the kernel's `trace` file.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Longest time that is traced: ten years.
const LONGEST_MS: u64 = 10 * 365 * 86_400 * 1000;

/// A time: a number of seconds, or with ms, s, m, h.
fn time(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let unit_ms = match &text[split..] {
        "us" => 0.001,
        "ms" => 1.0,
        "" | "s" => 1000.0,
        "m" => 60_000.0,
        "h" => 3_600_000.0,
        _ => return Err("write a number with us, ms, s, m or h, as in 5s".to_owned()),
    };
    let ms = text[..split].parse::<f64>().ok().map(|number| number * unit_ms);
    match ms {
        Some(ms) if ms > 0.0 && ms <= LONGEST_MS as f64 => Ok(Duration::from_nanos((ms * 1e6) as u64)),
        _ => Err("write a number with us, ms, s, m or h, as in 5s".to_owned()),
    }
}
