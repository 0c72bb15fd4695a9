//! `probescope doctor`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use super::{CliError, World};
use crate::kernel::{Feature, Kernel};

/// Tell what this kernel can do, and why it can't do the rest.
///
/// Exit code 1 when nothing can be traced at all.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How to print it.
    #[arg(short, long, value_enum, default_value = "text")]
    format: Format,
}

/// The forms of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A table.
    Text,
    /// One JSON object.
    Json,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let kernel = super::kernel::running(world);
    let text = match args.format {
        Format::Text => table(&kernel),
        Format::Json => json(&kernel),
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(CliError::stdout)?;
    let usable = kernel.features().has(Feature::Rights) && kernel.features().has(Feature::Tracefs);
    Ok(if usable { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Facts that are no features: (name, value).
fn facts(kernel: &Kernel) -> Vec<(&'static str, String)> {
    let release = kernel.proc_text("sys/kernel/osrelease").unwrap_or_else(|| "unknown".into());
    let sysctl = |name: &str| kernel.proc_text(format!("sys/kernel/{name}")).unwrap_or_else(|| "unknown".into());
    let lockdown = kernel.sys_text("kernel/security/lockdown");
    let lockdown = lockdown.as_deref().and_then(|t| Some(t.split_once('[')?.1.split_once(']')?.0.to_owned()));
    let functions = kernel.functions().map_or_else(|_| "unknown".to_owned(), |f| f.len().to_string());
    let tracepoints = kernel.tracepoints().map_or_else(|_| "unknown".to_owned(), |t| t.len().to_string());
    vec![
        ("kernel", release),
        ("machine", std::env::consts::ARCH.to_owned()),
        ("cpus", format!("{} online, {} possible", kernel.online_cpus().len(), kernel.possible_cpus().len())),
        ("tracefs", kernel.tracefs().map_or_else(|_| "none".to_owned(), |p| p.display().to_string())),
        ("tracepoints", tracepoints),
        ("traceable functions", functions),
        ("lockdown", lockdown.unwrap_or_else(|| "none".to_owned())),
        ("kernel.kptr_restrict", sysctl("kptr_restrict")),
        ("kernel.perf_event_paranoid", sysctl("perf_event_paranoid")),
        ("kernel.unprivileged_bpf_disabled", sysctl("unprivileged_bpf_disabled")),
        ("kernel.bpf_stats_enabled", sysctl("bpf_stats_enabled")),
    ]
}

fn table(kernel: &Kernel) -> String {
    let mut text = String::new();
    for (name, value) in facts(kernel) {
        let _ = writeln!(text, "{name:<34}{value}");
    }
    text.push('\n');
    for (feature, absence) in kernel.features().iter() {
        let Some(absence) = absence else {
            let _ = writeln!(text, "{:<22}yes", feature.name());
            continue;
        };
        let _ = writeln!(text, "{:<22}no   {}", feature.name(), absence.reason);
        let _ = writeln!(text, "{:<27}{}", "", absence.remedy);
    }
    text
}

fn json(kernel: &Kernel) -> String {
    let facts: serde_json::Map<String, serde_json::Value> =
        facts(kernel).into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let features: Vec<_> = kernel
        .features()
        .iter()
        .map(|(feature, absence)| {
            serde_json::json!({
                "name": feature.name(),
                "present": absence.is_none(),
                "reason": absence.map(|a| &*a.reason),
                "remedy": absence.map(|a| &*a.remedy),
            })
        })
        .collect();
    let mut text = serde_json::json!({ "facts": facts, "features": features }).to_string();
    text.push('\n');
    text
}
