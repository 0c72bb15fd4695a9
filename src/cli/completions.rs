//! `probescope completions SHELL`.

use std::process::ExitCode;

use clap::CommandFactory as _;

use super::{Cli, CliError};
use crate::stdio;

/// Print a shell's completion script.
///
/// For bash: `probescope completions bash > /etc/bash_completion.d/probescope`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which shell.
    shell: clap_complete::Shell,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<ExitCode, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "probescope", &mut script);
    std::io::Write::write_all(&mut stdio::out(), &script).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}
