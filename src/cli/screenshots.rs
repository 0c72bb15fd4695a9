//! `probescope screenshots`.

use std::path::PathBuf;
use std::process::ExitCode;

use super::CliError;
use crate::disk::{self, Readers};
use crate::tui::demo::scenes;

/// Draw every view from demo data as SVG, without terminal or kernel.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of the pictures.
    #[arg(default_value = "screenshots")]
    folder: PathBuf,
    /// Write nothing; fail when a picture differs from what the program draws.
    #[arg(long)]
    check: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<ExitCode, CliError> {
    let mut odd = Vec::new();
    if !args.check {
        std::fs::create_dir_all(&args.folder)
            .map_err(|source| CliError::Write { path: args.folder.display().to_string(), source })?;
    }
    for scene in scenes() {
        let path = args.folder.join(format!("{}.svg", scene.name));
        let svg = scene.svg();
        if args.check {
            if std::fs::read_to_string(&path).ok().as_deref() != Some(&svg) {
                odd.push(path.display().to_string());
            }
        } else {
            disk::write(&path, svg.as_bytes(), Readers::Everyone).map_err(|e| CliError::write(&path, e))?;
        }
    }
    if odd.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(CliError::Refused(format!(
        "these pictures are not what the program draws: {}; `probescope screenshots` writes them anew",
        odd.join(", ")
    )))
}
