//! `probescope doctor`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use super::{CliError, World};
use crate::kernel::{Absence, Feature, Kernel};
use crate::session::trial::{self, Trial};
use crate::stdio;

/// Tell what this kernel can do, and why it can't do the rest.
///
/// What only a trial tells is tried: small programs are loaded and attached for a moment.
///
/// Exit code 1 when nothing can be traced at all.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How to print it.
    #[arg(short, long, value_enum, default_value = "text")]
    format: Format,

    /// Only read what the kernel says; load and attach nothing.
    #[arg(long)]
    no_trial: bool,
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
    let rows = features(&kernel, args.no_trial);
    let text = match args.format {
        Format::Text => table(&kernel, &rows),
        Format::Json => json(&kernel, &rows),
    };
    stdio::out().write_all(text.as_bytes()).map_err(CliError::stdout)?;
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
        ("secure boot", secure_boot(kernel).to_owned()),
        ("seccomp", seccomp(kernel).to_owned()),
        ("kernel.kptr_restrict", sysctl("kptr_restrict")),
        ("kernel.perf_event_paranoid", sysctl("perf_event_paranoid")),
        ("kernel.unprivileged_bpf_disabled", sysctl("unprivileged_bpf_disabled")),
        ("kernel.bpf_stats_enabled", sysctl("bpf_stats_enabled")),
    ]
}

/// What the firmware says; its variable's last byte is 1 where only signed kernels boot.
fn secure_boot(kernel: &Kernel) -> &'static str {
    const VARIABLE: &str = "firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    match std::fs::read(kernel.roots().sys.join(VARIABLE)).as_deref() {
        Ok([.., 1]) => "on",
        Ok(_) => "off",
        Err(_) => "unknown",
    }
}

/// Whether system calls of this process are filtered, as a container's are.
fn seccomp(kernel: &Kernel) -> &'static str {
    let status = kernel.proc_text("self/status").unwrap_or_default();
    match status.lines().find_map(|line| line.strip_prefix("Seccomp:")).map(str::trim) {
        Some("0") => "off",
        Some("1") => "strict",
        Some("2") => "system calls are filtered",
        _ => "unknown",
    }
}

/// A feature: absent for a reason, or present, and how its trial ended.
struct Row<'a> {
    feature: Feature,
    absence: Option<&'a Absence>,
    trial: Option<Trial>,
}

fn features(kernel: &Arc<Kernel>, no_trial: bool) -> Vec<Row<'_>> {
    let rights = kernel.features().has(Feature::Rights) && !no_trial;
    let row =
        |(feature, absence)| Row { feature, absence, trial: if rights { trial::of(feature, kernel) } else { None } };
    kernel.features().iter().map(row).collect()
}

/// What of this program answers all the same where a feature is absent.
const fn instead(feature: Feature) -> Option<&'static str> {
    match feature {
        Feature::Kprobe => Some("for `why-failed`: `probescope run syserrors`; for `xray`: uprobes, `run syslatency`"),
        Feature::PerfHardware => Some("for what CPUs are kept by: `probescope latency`"),
        _ => None,
    }
}

fn table(kernel: &Kernel, rows: &[Row<'_>]) -> String {
    let mut text = String::new();
    for (name, value) in facts(kernel) {
        let _ = writeln!(text, "{name:<34}{value}");
    }
    text.push('\n');
    for row in rows {
        let answer = match (row.absence, &row.trial) {
            (Some(absence), _) => {
                let instead = instead(row.feature).map_or_else(String::new, |i| format!("; {i}"));
                format!("no   {}\n{:<27}{}{instead}", absence.reason, "", absence.remedy)
            }
            (None, Some(Trial::Works)) => "works".to_owned(),
            (None, Some(Trial::Refused { reason })) => format!("listed but refused: {reason}"),
            (None, Some(Trial::Untried { reason })) => format!("yes  not tried: {reason}"),
            (None, None) => "yes".to_owned(),
        };
        let _ = writeln!(text, "{:<22}{answer}", row.feature.name());
    }
    text
}

fn json(kernel: &Kernel, rows: &[Row<'_>]) -> String {
    let facts: serde_json::Map<String, serde_json::Value> =
        facts(kernel).into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let features: Vec<_> = rows
        .iter()
        .map(|row| {
            let (trial, said) = match &row.trial {
                None => (None, None),
                Some(Trial::Works) => (Some("works"), None),
                Some(Trial::Refused { reason }) => (Some("refused"), Some(reason)),
                Some(Trial::Untried { reason }) => (Some("untried"), Some(reason)),
            };
            serde_json::json!({
                "name": row.feature.name(),
                "present": row.absence.is_none(),
                "reason": row.absence.map(|a| &*a.reason),
                "remedy": row.absence.map(|a| &*a.remedy),
                "trial": trial,
                "trial_reason": said,
            })
        })
        .collect();
    let mut text = serde_json::json!({ "facts": facts, "features": features }).to_string();
    text.push('\n');
    text
}
