//! `probescope export`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use super::record::open;
use super::{CliError, World};
use crate::disk::{self, Readers};
use crate::output::export::{Form, Source};
use crate::stdio;
use crate::store::{History as _, TraceInfo, TraceKind};
use crate::tui::base::theme::Theme;
use crate::tui::cast;
use crate::tui::data::document::File;
use crate::tui::desk::replay::Opened;
use crate::tui::desk::state::State;

/// Write what a recording holds in the form of another program.
///
/// Examples:
///
///   probescope export slow-disk.psrec -f perfetto -o slow-disk.pftrace
///
///   probescope export cpu.psrec -f flame-svg -o cpu.svg
///
///   probescope export cpu.psrec -f pprof -o cpu.pb.gz
///
///   probescope export cpu.psrec -f csv --map @opens --at 12.5
#[derive(Debug, clap::Args)]
#[command(
    about = "Write a recording for other programs: CSV, JSON, flame graphs, pprof, Perfetto",
    verbatim_doc_comment
)]
pub struct Args {
    /// The recording.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The form.
    #[arg(short = 'f', long = "format", value_enum)]
    format: Format,

    /// Write to this file rather than to standard output.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,

    /// Only this map; forms of stacks take the first map that has some.
    #[arg(short = 'm', long, value_name = "@MAP")]
    map: Option<String>,

    /// As it was so many seconds after the trace began, rather than at its end.
    #[arg(long, value_name = "SECONDS")]
    at: Option<f64>,

    /// Which of the recording's traces, by its number; the last script otherwise.
    #[arg(long, value_name = "N")]
    trace: Option<u32>,

    /// Columns and rows of the screen, for asciicast.
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "120x40", value_parser = size)]
    size: (u16, u16),
}

/// The forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Maps as comma-separated values.
    Csv,
    /// Events as comma-separated values, a column for each value.
    EventsCsv,
    /// Events as JSON, an object on a line each.
    EventsJson,
    /// Maps as JSON.
    Json,
    /// A report: script, results and machine.
    Markdown,
    /// Folded stacks, for flamegraph.pl, inferno and speedscope.
    Folded,
    /// A flame graph for browsers.
    FlameSvg,
    /// Stacks for the Firefox profiler.
    Firefox,
    /// Stacks for pprof.
    Pprof,
    /// Events and maps over time for Perfetto.
    Perfetto,
    /// The workbench as it plays the recording, for asciinema.
    Asciicast,
}

impl Format {
    const fn form(self) -> Option<Form> {
        Some(match self {
            Self::Csv => Form::Csv,
            Self::EventsCsv => Form::EventsCsv,
            Self::EventsJson => Form::EventsJson,
            Self::Json => Form::Json,
            Self::Markdown => Form::Report,
            Self::Folded => Form::Folded,
            Self::FlameSvg => Form::Flame,
            Self::Firefox => Form::Firefox,
            Self::Pprof => Form::Pprof,
            Self::Perfetto => Form::Perfetto,
            Self::Asciicast => return None,
        })
    }

    const fn is_binary(self) -> bool {
        matches!(self, Self::Pprof | Self::Perfetto)
    }
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let sizes = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    match sizes {
        Some((width @ 20..=500, height @ 6..=200)) => Ok((width, height)),
        _ => Err("columns and rows as in 120x40, from 20x6 to 500x200".to_owned()),
    }
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    if args.format.is_binary() && args.output.is_none() && world.stdout_is_terminal {
        return Err(CliError::Refused("this form is not for terminals: name a file with -o".to_owned()));
    }
    let recording = open(&args.file)?;
    let damage = super::record::damage(&recording.damage()).join("; ");
    let written = if let Some(form) = args.format.form() {
        let trace = chosen(args, recording.traces())?;
        let at_ns = match args.at {
            Some(seconds) if seconds >= 0.0 => trace.began_ns.saturating_add((seconds * 1e9) as u64),
            Some(_) => return Err(CliError::Refused("--at counts from the trace's beginning".to_owned())),
            None => u64::MAX,
        };
        let source = Source { history: &recording, trace: &trace, at_ns, map: args.map.as_deref() };
        source.write(form).map_err(|e| CliError::Refused(format!("{}: {e}", args.file.display())))?
    } else {
        let mut state = State::new("", File::default(), Theme::embedded(), args.size);
        let opened = Opened { recording: recording.into(), damage: damage.clone(), about: None, play: true };
        crate::tui::desk::replay::open(&mut state, opened);
        cast::played(state, &args.file.display().to_string()).into_bytes()
    };
    match &args.output {
        Some(path) => disk::write(path, &written, Readers::Everyone).map_err(|e| CliError::write(path, e))?,
        None => stdio::out().write_all(&written).map_err(CliError::stdout)?,
    }
    if written.is_empty() {
        stdio::say(format_args!("probescope: {}: the trace has no events", args.file.display()));
    }
    if !damage.is_empty() {
        stdio::say(format_args!("probescope: {}: {damage}", args.file.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The trace that was asked for, else the last script.
fn chosen(args: &Args, traces: &[Arc<TraceInfo>]) -> Result<Arc<TraceInfo>, CliError> {
    let found = match args.trace {
        Some(number) => traces.iter().find(|t| t.id.0 == number),
        None => traces.iter().rev().find(|t| t.kind == TraceKind::Script).or(traces.last()),
    };
    let there: Vec<String> = traces.iter().map(|t| format!("{} ({})", t.id.0, t.name)).collect();
    found.map(Arc::clone).ok_or_else(|| {
        let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
        CliError::Refused(format!("{}: no such trace; there are: {there}", args.file.display()))
    })
}
