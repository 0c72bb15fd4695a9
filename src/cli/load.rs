//! `probescope load NAME`.

use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use super::CliError;
use crate::loads::{self, LOADS, Load, Plan};
use crate::{disk, stdio};

/// Do a known amount of something, to trace it, and tell what it was.
///
/// At its end a load prints the truth of what it has done: calls, bytes, errors, time. The same seed does the same. It ends
/// with the process that started it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which load.
    #[arg(required_unless_present_any = ["list", "child"])]
    name: Option<String>,
    /// Where its amounts come from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Over after this time at the latest, even if not all is done.
    #[arg(short = 'd', long = "duration", value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Begin when a line comes on standard input.
    #[arg(long)]
    wait: bool,
    /// Show all loads, and what each tells.
    #[arg(long, conflicts_with = "name")]
    list: bool,
    /// As JSON, one object.
    #[arg(long)]
    json: bool,
    /// Write the truth to this new file, as a thread of another name: what is traced of the load is the load alone.
    #[arg(long, hide = true, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Be a child of a load.
    #[arg(long, hide = true, num_args = 1.., conflicts_with = "name")]
    child: Vec<String>,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<ExitCode, CliError> {
    let refused = |error: loads::LoadError| CliError::Refused(error.to_string());
    loads::end_with_parent().map_err(refused)?;
    if !args.child.is_empty() {
        return Ok(ExitCode::from(loads::be_child(&args.child)));
    }
    let Some(name) = &args.name else { return list(args.json) };
    let load = loads::find(name).ok_or_else(|| unknown(name))?;
    let to = args.to.as_ref().map(|path| disk::exclusive(path).map_err(|e| CliError::write(path, e))).transpose()?;
    loads::name_thread(&format!("load-{name}"));
    if args.wait {
        let mut line = String::new();
        std::io::stdin()
            .lock()
            .read_line(&mut line)
            .map_err(|source| CliError::Read { path: "standard input".to_owned(), source })?;
    }
    let truth = (load.run)(&Plan::new(args.seed, Duration::from_secs(args.seconds))).map_err(refused)?;
    if let (Some(mut file), Some(path)) = (to, &args.to) {
        loads::name_thread("load-truth");
        file.write_all(truth.json().to_string().as_bytes()).map_err(|e| CliError::write(path, e))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&if args.json { format!("{}\n", truth.json()) } else { truth.text() })
}

fn unknown(name: &str) -> CliError {
    let names: Vec<&str> = LOADS.iter().map(|load| load.name).collect();
    let name = crate::model::render::neutralise(name);
    CliError::Refused(format!("there is no load `{name}`; there are {}", names.join(", ")))
}

fn list(as_json: bool) -> Result<ExitCode, CliError> {
    if as_json {
        let facts = |load: &Load| {
            load.truth.iter().map(|(name, about)| json!({"name": name, "about": about})).collect::<Vec<_>>()
        };
        let all = LOADS.iter().map(|load| json!({"name": load.name, "about": load.about, "truth": facts(load)}));
        return print(&format!("{}\n", json!(all.collect::<Vec<_>>())));
    }
    let of_load = |load: &Load| {
        let width = load.truth.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let facts: String = load.truth.iter().map(|(name, about)| format!("    {name:width$}  {about}\n")).collect();
        format!("{}: {}\n{facts}", load.name, load.about)
    };
    print(&LOADS.iter().map(of_load).collect::<Vec<_>>().join("\n"))
}

fn print(text: &str) -> Result<ExitCode, CliError> {
    stdio::out().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}
