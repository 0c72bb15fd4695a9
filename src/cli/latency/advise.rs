//! `latency advise`: what could be set differently about the sources of noise that matter here.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use super::{advice, arguments, profile};
use crate::cli::{CliError, World};
use crate::kernel::Kernel;
use crate::stdio;

/// Name the settings that bear on this machine's largest sources of noise: their values now, and what changing them
/// would do.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A profile of this machine; it is measured when none is given.
    profile: Option<String>,
    /// How long to measure: a number with s, m, h or d.
    #[arg(short, long, value_name = "TIME", default_value = "5s")]
    duration: String,
    /// Sources to look at.
    #[arg(short, long, value_name = "N", default_value_t = 10)]
    number: usize,
    /// List all settings, whatever is noisy here.
    #[arg(short, long)]
    all: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let kernel = crate::cli::kernel::running(world);
    let text = if args.all {
        all(&kernel)
    } else {
        let profile = match &args.profile {
            Some(path) => profile::read(path)?,
            None => profile::measure(&kernel, arguments::duration(&args.duration)?, &AtomicBool::new(false))?,
        };
        of_sources(&kernel, &profile, args.number)
    };
    std::io::Write::write_all(&mut stdio::out(), text.as_bytes()).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}

fn all(kernel: &Kernel) -> String {
    let mut text = String::new();
    for advice in &advice::ADVICE {
        let _ = writeln!(text, "{:<26} now: {}\n    {}", advice.setting, advice.value(kernel, None), advice.change);
    }
    text
}

fn of_sources(kernel: &Kernel, profile: &profile::Profile, number: usize) -> String {
    let mut text = String::new();
    let seconds = profile.all_lengths_ns().iter().sum::<u64>().max(1) as f64 / 1e9;
    for source in profile.sources.iter().take(number) {
        let time_us = source.net_ns.iter().sum::<u64>() as f64 / 1000.0 / seconds;
        let rate = source.counts.iter().sum::<u64>() as f64 / seconds;
        let name = source.class.name();
        let _ = writeln!(text, "{name} {}: {time_us:.1} us and {rate:.1} runs in each second", source.name);
        let mut none = true;
        for advice in advice::ADVICE.iter().filter(|a| a.concerns(source.class, &source.name)) {
            none = false;
            let value = advice.value(kernel, Some(&source.name));
            let _ = writeln!(text, "    {:<26} now: {value}\n        {}", advice.setting, advice.change);
        }
        if none {
            text.push_str("    no setting is known to bear on it\n");
        }
    }
    text
}
