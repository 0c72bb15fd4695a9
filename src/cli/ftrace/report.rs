//! `probescope ftrace report`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use super::graph::{GraphForm, Show, Shown};
use super::sinks::{EventFile, Lines, Recording, SinkError, Sinks};
use super::{Form, PARTIAL, time};
use crate::cli::{CliError, World};
use crate::output::ftrace as output;
use crate::stdio;
use crate::store::TraceInfo;
use crate::tracer::ftrace::dat::{Buffer, Dat};
use crate::tracer::ftrace::{Keeper, graph};

/// Print what a file of trace-cmd (trace.dat, versions 6 and 7) holds, or make a recording of it.
///
/// Examples:
///
///   probescope ftrace report trace.dat
///
///   probescope ftrace report trace.dat --graph --summary
///
///   probescope ftrace report trace.dat -f json > events.jsonl
///
///   probescope ftrace report trace.dat --quiet --record trace.psrec && probescope trace.psrec
#[derive(Debug, clap::Args)]
#[command(about = "Print what a file of trace-cmd holds, or make a recording of it", verbatim_doc_comment)]
pub struct Args {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Of this instance rather than of the top one.
    #[arg(short = 'B', long, value_name = "NAME", default_value = "", hide_default_value = true)]
    buffer: String,
    /// Put entries and returns of functions together, as `ftrace graph` does.
    #[arg(long)]
    graph: bool,
    /// With --graph: a table of functions rather than trees.
    #[arg(short, long, requires = "graph")]
    summary: bool,
    /// With --graph: only calls that took so long, with what they are in.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "graph")]
    min: Option<Duration>,
    /// Text or JSON.
    #[arg(short = 'f', long, value_enum, default_value_t)]
    format: Form,
    /// Print nothing of the events.
    #[arg(short, long)]
    quiet: bool,
    /// Also make a recording of them.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let dat = Dat::open(&args.file).map_err(|error| CliError::Refused(error.to_string()))?;
    let buffer = dat.buffers.iter().find(|buffer| buffer.name == args.buffer);
    let buffer = buffer.ok_or_else(|| {
        let names: Vec<&str> = dat.buffers.iter().map(|b| if b.name.is_empty() { "(top)" } else { &b.name }).collect();
        CliError::Refused(format!(
            "{} has no buffer {}; it has: {}",
            args.file.display(),
            args.buffer,
            names.join(", ")
        ))
    })?;
    let name = args.file.display().to_string();
    if args.graph { calls(args, world, &dat, buffer, &name) } else { events(args, world, &dat, buffer, &name) }
}

fn events(args: &Args, world: &World, dat: &Dat, buffer: &Buffer, name: &str) -> Result<ExitCode, CliError> {
    let (shapes, bad) = dat.shapes();
    if bad > 0 {
        stdio::say(format_args!("probescope: {name}: the formats of {bad} events make no sense"));
    }
    let (keeper, info) = Keeper::of(&shapes, name);
    let info = TraceInfo { began_ns: dat.begins(buffer), kernel: dat.uname.as_str().into(), ..info };
    let recording = args.record.as_ref().map(|path| EventFile::new(path, (keeper, info))).transpose()?;
    let mut sinks = Sinks { lines: (!args.quiet).then(|| Lines::new(args.format, world)), recording };
    let mut session = dat.session(buffer);
    while session.poll(&mut |told| sinks.take(told))?.1 {}
    let (books, _) = session.finish(&mut |told| sinks.take(told))?;
    let lost = session_lost(&books);
    sinks.finish(i32::from(if lost { PARTIAL } else { 0 }))?;
    Ok(if lost { ExitCode::from(PARTIAL) } else { ExitCode::SUCCESS })
}

fn session_lost(books: &[crate::tracer::ftrace::Books]) -> bool {
    let (all, lost) = output::books(books);
    match &lost {
        Some(lost) => stdio::say(format_args!("probescope: {all}; {lost}")),
        None => stdio::say(format_args!("probescope: {all}")),
    }
    lost.is_some()
}

fn calls(args: &Args, world: &World, dat: &Dat, buffer: &Buffer, name: &str) -> Result<ExitCode, CliError> {
    let names = dat.names();
    let info = TraceInfo { began_ns: dat.begins(buffer), kernel: dat.uname.as_str().into(), ..graph::info(None, name) };
    let recording = args.record.as_ref().map(|path| Recording::new(path, info)).transpose()?;
    let form = if args.format == Form::Json { GraphForm::Json } else { GraphForm::Text };
    let shown = Shown { form, summary: args.summary || args.quiet, min: args.min };
    let mut show = Show::new(&shown, world, &names, None, recording);
    let mut session = dat.session(buffer);
    while session.poll::<SinkError>(&mut |told| show.take(told))?.1 {}
    let (books, _) = session.finish::<SinkError>(&mut |told| show.take(told))?;
    show.finish(&books)
}
