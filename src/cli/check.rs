//! `probescope check`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use super::script::ScriptArgs;
use super::{CliError, World};
use crate::kernel::Kernel;
use crate::lang::diagnostic::has_errors;
use crate::lang::typed::Program;
use crate::lang::typed::dump::dump;
use crate::model::render;
use crate::model::target::Target;
use crate::output::diagnostics::render_all;
use crate::probe::expand::entries;
use crate::session::front;
use crate::stdio;

/// Check a script without running it.
///
/// Prints every error and warning with its place. The exit code is 1 when the script cannot run.
/// Nothing is loaded or attached, and no privileges are needed beyond reading tracefs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Allow what changes the traced system: system(), signal(), override().
    #[arg(long = "unsafe")]
    allow_unsafe: bool,

    /// Print the types of all maps and variables, as they were inferred.
    #[arg(long)]
    types: bool,

    /// Script and parameters.
    #[command(flatten)]
    script: ScriptArgs,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let script = args.script.read()?;
    let mut settings = script.settings(super::kernel::running(world));
    settings.unsafe_allowed = args.allow_unsafe || world.config.trace.allow_unsafe == Some(true);
    settings.defaults = world.config.settings();
    let kernel = Arc::clone(&settings.kernel);
    let compilation = front::compile(&script.source, None, &settings);
    let found = compilation.diagnostics;
    let text = render_all(&script.source, &found, world.colour());
    stdio::err().styled().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    if let Some(compiled) = compilation.output {
        let mut told = several_places(&compiled.program);
        told.push_str(&moved_places(&compiled.program, &kernel));
        if args.types {
            told.push_str(&dump(&compiled.program));
        }
        stdio::out().write_all(told.as_bytes()).map_err(CliError::stdout)?;
    }
    Ok(if has_errors(&found) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Functions of programs that are probed in several places: an indirect one in all of its implementations.
fn several_places(program: &Program) -> String {
    let mut places: BTreeMap<(&str, &str), BTreeSet<u64>> = BTreeMap::new();
    for target in program.probes.iter().flat_map(|probe| &probe.targets) {
        if let Target::Uprobe { path, symbol, file_offset, .. } = target {
            places.entry((path, symbol)).or_default().insert(*file_offset);
        }
    }
    let several = places.into_iter().filter(|(_, offsets)| offsets.len() > 1);
    let told = several.map(|((path, symbol), offsets)| {
        let (path, symbol) = (render::neutralise(path), render::neutralise(symbol));
        format!(
            "note: {symbol} of {path} is probed in {} places: the implementations of an indirect function, of which each \
             process runs one, or functions of one name\n",
            offsets.len()
        )
    });
    told.collect()
}

/// Functions that are probed behind their begin, where uprobes can't be at their first instruction.
fn moved_places(program: &Program, kernel: &Kernel) -> String {
    let mut told = BTreeSet::new();
    for target in program.probes.iter().flat_map(|probe| &probe.targets) {
        if let (Target::Uprobe { path, symbol, .. }, Some(note)) = (target, entries::note(target, kernel)) {
            told.insert(format!("note: {} of {} is {note}\n", render::neutralise(symbol), render::neutralise(path)));
        }
    }
    told.into_iter().collect()
}
