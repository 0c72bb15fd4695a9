//! `probescope record`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::CliError;
use crate::model::render::{self, Clock};
use crate::stdio;
use crate::store::file::{Damage, Recording, RecordingInfo};
use crate::store::{History, PayloadKind, TraceKind};

/// Look at recordings.
#[derive(Debug, clap::Args)]
#[command(about = "Look at recordings")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

/// What can be done with recordings.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Say what a recording holds: where and when it was made, its traces, entries and losses.
    Info {
        /// The recording.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<ExitCode, CliError> {
    let Command::Info { file } = &args.command;
    let recording = open(file)?;
    stdio::out().write_all(info(&recording).as_bytes()).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}

/// Opens a recording.
pub(super) fn open(path: &Path) -> Result<Recording, CliError> {
    Recording::open(path).map_err(|error| CliError::Refused(error.to_string()))
}

/// What is not whole, in words.
pub(super) fn damage(damage: &Damage) -> Vec<String> {
    let mut said = Vec::new();
    if damage.no_index {
        said.push("the recording has no end: what is whole was found block by block".to_owned());
    }
    let counts = [
        (damage.holes, "damaged stretches"),
        (damage.traces, "traces whose description cannot be read"),
        (damage.chunks, "chunks that cannot be read"),
        (damage.unwritten, "entries that the recorder could not write"),
    ];
    said.extend(counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
    said
}

/// All that there is to say, a line a fact. Names come from the recording: control characters are written out.
fn info(recording: &Recording) -> String {
    let mut out = String::new();
    let mut line = |name: &str, text: &str| {
        out.push_str(&format!("{name:<12}{}\n", render::neutralise(text)));
    };
    let about = recording.info();
    let entries = recording.entries();
    let held = entries.end - entries.start;
    line("recorded by", &about.program);
    line("kernel", &about.kernel);
    line("host", &about.host);
    if let Some((first, last)) = recording.span() {
        line("from", &wall(about, first));
        line("to", &wall(about, last));
        line("length", &format!("{:.3} s", last.saturating_sub(first) as f64 / 1e9));
    }
    let bytes = recording.bytes();
    let each = if held > 0 { format!(", {:.1} an entry", bytes as f64 / held as f64) } else { String::new() };
    line("size", &format!("{bytes} bytes{each}"));
    line("entries", &format!("{held} in {} chunks", recording.index().segments().len()));
    for kind in PayloadKind::ALL {
        let count: u64 = recording.index().segments().iter().map(|s| u64::from(s.summary.count(kind))).sum();
        if count > 0 {
            line("", &format!("{count} {}", kind_name(kind)));
        }
    }
    let lost: u64 = recording.index().segments().iter().map(|s| s.summary.lost).fold(0, u64::saturating_add);
    line("lost", &lost.to_string());
    for trace in recording.traces() {
        let of = recording.index().segments().iter().filter_map(|s| s.summary.of_trace(trace.id));
        let count: u64 = of.map(|t| u64::from(t.entries)).sum();
        let kind = match trace.kind {
            TraceKind::Script => "script",
            TraceKind::Latency => "latency",
            TraceKind::Task => "task",
            TraceKind::Ftrace => "ftrace",
            TraceKind::Object => "object",
            TraceKind::Other => "other",
        };
        let (probes, actions) = (trace.probes.len(), trace.actions.len());
        line(
            &format!("trace {}", trace.id.0),
            &format!("{kind} {}: {count} entries, {probes} probes, {actions} actions", trace.name),
        );
    }
    damage(&recording.damage()).iter().for_each(|said| line("damage", said));
    out
}

const fn kind_name(kind: PayloadKind) -> &'static str {
    match kind {
        PayloadKind::Event => "events",
        PayloadKind::Text => "texts",
        PayloadKind::Print => "printed maps",
        PayloadKind::Maps => "readings of all maps",
        PayloadKind::Stats => "readings of counters",
        PayloadKind::Lost => "losses told",
        PayloadKind::Failure => "failures",
        PayloadKind::Diagnostic => "diagnostics",
        PayloadKind::Lifecycle => "begins and ends of traces",
        PayloadKind::Mark => "marks",
        PayloadKind::CpuSample => "samples of CPUs",
        PayloadKind::Task => "reports on threads",
        PayloadKind::Episode => "latencies over a threshold",
    }
}

/// A moment on the recorded machine's clock, in its local time.
fn wall(about: &RecordingInfo, at_ns: u64) -> String {
    let wall_ns = (at_ns as i64).wrapping_add(about.wall_minus_monotonic_ns).max(0) as u64;
    render::interval_start(wall_ns, &Clock { utc_offset_s: about.utc_offset_s })
}
