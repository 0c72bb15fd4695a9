//! `probescope man`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::CommandFactory as _;

use super::{Cli, CliError};
use crate::disk::{self, Readers};

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
    let mut program = Cli::command();
    program.build();
    page(&program, &args.folder)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a command's page, and those of its subcommands.
fn page(command: &clap::Command, folder: &Path) -> Result<(), CliError> {
    if command.is_hide_set() {
        return Ok(());
    }
    let man = clap_mangen::Man::new(command.clone());
    let path = folder.join(man.get_filename());
    let mut text = Vec::new();
    man.render(&mut text).map_err(|e| CliError::write(&path, e))?;
    disk::write(&path, &text, Readers::Everyone).map_err(|e| CliError::write(&path, e))?;
    command.get_subcommands().filter(|c| c.get_name() != "help").try_for_each(|c| page(c, folder))
}
