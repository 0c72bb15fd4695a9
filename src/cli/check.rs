//! `probescope check`.

use std::io::Write as _;
use std::process::ExitCode;

use super::script::ScriptArgs;
use super::{CliError, World};
use crate::lang::diagnostic::has_errors;
use crate::lang::typed::dump::dump;
use crate::output::diagnostics::render_all;
use crate::session::front;

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
    let compilation = front::compile(&script.source, None, &settings);
    let found = compilation.diagnostics;
    let text = render_all(&script.source, &found, world.colour());
    std::io::stderr().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    if let Some(compiled) = compilation.output.filter(|_| args.types) {
        std::io::stdout().write_all(dump(&compiled.program).as_bytes()).map_err(CliError::stdout)?;
    }
    Ok(if has_errors(&found) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
