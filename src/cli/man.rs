//! `probescope man`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::CommandFactory as _;

use super::{Cli, CliError};

/// Write the manual pages: one for the program, one for each subcommand.
///
/// For example: `probescope man /usr/local/share/man/man1`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder to write them to; it is made when it is missing.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<ExitCode, CliError> {
    let failed = |source| CliError::Write { path: args.folder.display().to_string(), source };
    std::fs::create_dir_all(&args.folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), &args.folder).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}
