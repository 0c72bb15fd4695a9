//! `probescope replay`.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use super::destination::Destination;
use super::face::{Settings, StreamFace};
use super::record::open;
use super::run::Format;
use super::script::read_file;
use super::{CliError, World};
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::SourceText;
use crate::output::OutputFormat;
use crate::output::diagnostics::render_all;
use crate::stdio;
use crate::store::file::Recording;
use crate::store::{History as _, TraceId, TraceInfo, TraceKind};
use crate::tracer::replay::{Faces, replay};
use crate::tracer::report::Face;
use crate::tracer::rerun::Rerun;
use crate::tui::desk::replay::Opened;

/// Open a recording in the workbench, or print what it holds as `run` printed it.
///
/// In a terminal the workbench opens at the recording's first moment. With `-f`, with `-o`, or
/// where the output is no terminal, events are printed in the order of their kernel time. Nothing
/// is traced and no privilege is needed: formats, symbols and names of probes are in the recording.
///
/// With `--script` or `-e` another script runs on what was recorded: what if it had counted by
/// comm, or only what took longer than a millisecond? It can use what the recorded script printed,
/// each event's time and CPU.
///
/// Examples:
///
///   probescope replay slow-disk.psrec
///
///   probescope replay -f json slow-disk.psrec
///
///   probescope replay slow-disk.psrec -e 'tracepoint:block:block_rq_issue { @[comm] = count(); }'
#[derive(Debug, clap::Args)]
#[command(about = "Open a recording in the workbench, or print what it holds", verbatim_doc_comment)]
pub struct Args {
    /// The recording.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print, in this form.
    #[arg(short = 'f', long = "format", value_enum)]
    format: Option<Format>,

    /// Write to a file.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,

    /// Nothing but the script's own output.
    #[arg(short = 'q', long = "quiet")]
    quiet: bool,

    /// Run this script on what was recorded.
    #[arg(long, value_name = "FILE", conflicts_with = "program")]
    script: Option<String>,

    /// Run this program on what was recorded.
    #[arg(short = 'e', value_name = "PROGRAM")]
    program: Option<String>,

    /// Parameters of that script.
    #[arg(value_name = "PARAMETER", allow_negative_numbers = true)]
    params: Vec<String>,
}

/// A face for each trace: places in messages are those of its own script.
struct ByTrace<'a> {
    args: &'a Args,
    output: Destination,
    faces: BTreeMap<TraceId, StreamFace>,
    /// The trace that spoke last: what it said is written before another speaks.
    last: Option<TraceId>,
}

impl Faces for ByTrace<'_> {
    fn of(&mut self, trace: &TraceInfo) -> &mut dyn Face {
        if self.last != Some(trace.id) {
            if let Some(last) = self.last.and_then(|id| self.faces.get_mut(&id)) {
                // What it could not write it tells at its next report.
                let _ = last.flush();
            }
            self.last = Some(trace.id);
        }
        let (args, output) = (self.args, &self.output);
        self.faces.entry(trace.id).or_insert_with(|| face(args, output, trace))
    }
}

fn face(args: &Args, output: &Destination, trace: &TraceInfo) -> StreamFace {
    let source = SourceText::new(&trace.name, &trace.script);
    StreamFace::new(settings(args, output.is_terminal()), source, output.hand())
}

fn settings(args: &Args, terminal: bool) -> Settings {
    let format = match args.format {
        None | Some(Format::Text) => OutputFormat::Text,
        Some(Format::Json) => OutputFormat::Json,
    };
    Settings::plain(format, terminal, args.quiet)
}

/// The script that is to be run on the recording.
fn rerun_of(args: &Args) -> Result<Option<SourceText>, CliError> {
    Ok(match (&args.script, &args.program) {
        (Some(file), _) => Some(read_file(file)?),
        (None, Some(text)) => Some(SourceText::new("stdin", text)),
        (None, None) if !args.params.is_empty() => {
            return Err(CliError::Refused("parameters are for a script: name one with --script or -e".to_owned()));
        }
        (None, None) => None,
    })
}

/// Whether a script is the one that the recording is of.
fn is_own(recording: &Recording, source: &SourceText) -> bool {
    let mut scripts = recording.traces().iter().filter(|trace| trace.kind == TraceKind::Script);
    scripts.next().is_some_and(|trace| trace.script.trim() == source.text.trim()) && scripts.next().is_none()
}

/// Runs another script on a recording.
fn rerun(args: &Args, source: &SourceText, recording: &Recording, world: &World) -> Result<ExitCode, CliError> {
    let told = |found: &[Diagnostic]| {
        let text = render_all(source, found, world.colour());
        stdio::err().styled().write_all(text.as_bytes()).map_err(CliError::stdout)
    };
    let rerun = match Rerun::prepare(&super::kernel::running(world), recording.traces(), source, &args.params) {
        Ok(rerun) => rerun,
        // What it kept in maps alone can't be computed again, and need not be: it is in the recording.
        Err(_) if is_own(recording, source) => return print(args, recording),
        Err(found) => {
            told(&found)?;
            return Ok(ExitCode::FAILURE);
        }
    };
    told(&rerun.notes)?;
    let output = Destination::open(args.output.as_deref())?;
    let mut face = StreamFace::new(settings(args, output.is_terminal()), source.clone(), output.hand());
    let ran = rerun.run(recording, &mut face, &|| true).map_err(CliError::stdout)?;
    drop(face);
    output.finish()?;
    tell_damage(args, recording, 0);
    Ok(ExitCode::from(u8::try_from(ran.code).unwrap_or(1)))
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let recording = open(&args.file)?;
    if let Some(source) = rerun_of(args)? {
        return rerun(args, &source, &recording, world);
    }
    let prints = args.format.is_some() || args.output.is_some() || args.quiet;
    if !prints && world.stdout_is_terminal && std::io::stdin().is_terminal() {
        let damage = super::record::damage(&recording.damage()).join("; ");
        let opened = Opened { recording: recording.into(), damage, about: None, play: false };
        return super::workbench::run_on(&super::workbench::Args::default(), world, Some(opened));
    }
    print(args, &recording)
}

/// Says what is not whole in a recording, and what of it could not be printed.
fn tell_damage(args: &Args, recording: &Recording, left_out: u64) {
    let mut said: Vec<String> = super::record::damage(&recording.damage());
    if left_out > 0 {
        said.push(format!("{left_out} entries that this version cannot print"));
    }
    if !said.is_empty() {
        stdio::say(format_args!("probescope: {}: {}", args.file.display(), said.join("; ")));
    }
}

/// Prints a recording.
fn print(args: &Args, recording: &Recording) -> Result<ExitCode, CliError> {
    let output = Destination::open(args.output.as_deref())?;
    let mut faces = ByTrace { args, output: output.clone(), faces: BTreeMap::new(), last: None };
    let replayed = replay(recording, &mut faces).map_err(CliError::stdout)?;
    for face in faces.faces.values_mut() {
        face.flush().map_err(CliError::stdout)?;
    }
    drop(faces);
    output.finish()?;
    tell_damage(args, recording, replayed.left_out);
    Ok(ExitCode::from(u8::try_from(replayed.code).unwrap_or(1)))
}
