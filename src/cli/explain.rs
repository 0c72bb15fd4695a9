//! `probescope explain P0123`.

use std::io::Write as _;
use std::process::ExitCode;

use super::CliError;
use crate::lang::codes;

/// Explain a diagnostic's code.
///
/// Every error and warning carries a stable code such as P0123; this prints what it means, why it
/// matters and what to do.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The code: P0123, p123 or 123, or a tag of D (D_PROTO_ARG).
    code: String,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<ExitCode, CliError> {
    let entry = codes::parse_code(&args.code).and_then(codes::explain);
    let Some(entry) = entry else {
        return Err(CliError::Refused(format!("there is no diagnostic with the code {}", args.code)));
    };
    let text = entry.text.trim_end();
    writeln!(std::io::stdout(), "{}: {}\n\n{text}", entry.code, entry.title).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}
