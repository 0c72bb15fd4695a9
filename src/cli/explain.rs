//! `probescope explain`.

use std::io::Write as _;
use std::process::ExitCode;

use super::CliError;
use crate::lang::codes;
use crate::stdio;

/// Explain a diagnostic's code, or a word that leads nowhere today.
///
/// Every error and warning carries a stable code such as P0201; this prints what it means, why it
/// matters and what to do. Of tools and interfaces of other times (ktap, objtrace, `$$args`, debugfs)
/// it says what they were, and what to use here.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The code: P0201, p201 or 201, a tag of D (D_PROTO_ARG), or a word.
    #[arg(value_name = "CODE|WORD", required = true, num_args = 1.., allow_hyphen_values = true)]
    code: Vec<String>,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<ExitCode, CliError> {
    let asked = args.code.join(" ");
    if let Some(word) = codes::words::find(&asked) {
        let name = word.names.first().copied().unwrap_or_default();
        writeln!(stdio::out(), "{name}: {}\n\n{}", word.title, word.text).map_err(CliError::stdout)?;
        return Ok(ExitCode::SUCCESS);
    }
    let entry = codes::parse_code(&asked).and_then(codes::explain);
    let Some(entry) = entry else {
        let words: Vec<&str> = codes::words::TABLE.iter().filter_map(|word| word.names.first().copied()).collect();
        let known = words.join(", ");
        return Err(CliError::Refused(format!(
            "there is no diagnostic with the code {asked}; words that are explained: {known}"
        )));
    };
    let text = entry.text.trim_end();
    writeln!(stdio::out(), "{}: {}\n\n{text}", entry.code, entry.title).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}
