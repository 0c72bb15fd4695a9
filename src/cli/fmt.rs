//! `probescope fmt FILE...`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use super::{CliError, World};
use crate::disk::{self, Readers};
use crate::lang::front_end;
use crate::output::diagnostics;
use crate::stdio;

/// Format scripts in place.
///
/// Scripts with errors are left as they are. `-` reads standard input and writes standard output.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Scripts, or `-`.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Change nothing: name the files that are not formatted and exit with 1.
    #[arg(long)]
    check: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let mut clean = true;
    for file in &args.files {
        clean &= one(file, args.check, world)?;
    }
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Formats one file; false when it has errors, or is not formatted and only checked.
fn one(file: &PathBuf, check: bool, world: &World) -> Result<bool, CliError> {
    let name = file.display().to_string();
    let stdin = name == "-";
    let source = super::script::read_file(&name)?;
    if !stdin && std::fs::read(file).is_ok_and(|bytes| std::str::from_utf8(&bytes).is_err()) {
        return Err(CliError::Refused(format!("{name} is not UTF-8 text: formatting it would change its bytes")));
    }
    let text = &*source.text;
    let Some(formatted) = front_end(&source).format(&source) else {
        let found = front_end(&source).syntax(&source);
        let _ = stdio::err().styled().write_all(diagnostics::render_all(&source, &found, world.colour()).as_bytes());
        return Ok(false);
    };
    if check {
        if formatted != text {
            writeln!(stdio::out(), "{name}").map_err(CliError::stdout)?;
        }
        return Ok(formatted == text);
    }
    if stdin {
        stdio::out().write_all(formatted.as_bytes()).map_err(CliError::stdout)?;
    } else if formatted != text {
        disk::write(file, formatted.as_bytes(), Readers::Everyone).map_err(|e| CliError::write(file, e))?;
    }
    Ok(true)
}
