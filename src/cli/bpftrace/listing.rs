//! `-l`: the kernel's probes by pattern, or the probes of a script.

use std::collections::BTreeSet;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use super::super::script::Script;
use super::super::{CliError, World, kernel::running};
use super::options::Options;
use crate::kernel::Kernel;
use crate::lang::bt::{MissingProbes, compile_front};
use crate::lang::diagnostic::{Diagnostic, has_errors};
use crate::lang::source::SourceText;
use crate::lang::typed::Target;
use crate::probe::{describe, listing, name};

/// Most parameters of a raw tracepoint, the kernel's own first one among them, that a program can
/// have in registers.
const RAW_PARAMETERS: usize = 6;

/// Whether the word after `-l` is a search pattern; a file's name means the script in it.
pub fn is_pattern(options: &Options) -> bool {
    options.program.is_none() && options.rest.first().is_none_or(|word| word != "-" && !Path::new(word).is_file())
}

/// Lists what a pattern stands for, each provider's probes together.
pub fn pattern(options: &Options, world: &World) -> Result<ExitCode, CliError> {
    let pattern = options.rest.first().map_or("", String::as_str);
    if Path::new(pattern).extension().is_some_and(|e| e == "bt") && !options.no_warnings {
        let text = format!(
            "WARNING: It appears that '{pattern}' is a filename but the file does not exist. Treating '{pattern}' as a search pattern.\n"
        );
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
    let kernel = running(world);
    let mut out = BufWriter::new(std::io::stdout().lock());
    if let Some(types) = listing::types(pattern, &kernel) {
        for (_, definition) in types.map_err(|a| CliError::Refused(a.to_string()))? {
            writeln!(out, "{definition}").map_err(CliError::stdout)?;
        }
    } else {
        for line in names(pattern, &kernel)? {
            write_probe(&mut out, &line, options.verbose, &kernel)?;
        }
    }
    out.flush().map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}

/// Names that a pattern stands for, providers in the order of the alphabet.
fn names(pattern: &str, kernel: &Kernel) -> Result<Vec<String>, CliError> {
    let all = pattern.is_empty() || pattern == "*";
    let found = listing::list(pattern, kernel).map_err(|e| CliError::Refused(e.to_string()))?;
    let shown = |line: &listing::Line| {
        let timer = line.name.starts_with("interval:") || line.name.starts_with("profile:");
        // Counters are named even where the machine has none: what is missing is said at the attach.
        let attachable = line.absence.is_none() || line.name.starts_with("hardware:");
        attachable && !(all && timer) && fits_registers(&line.name, kernel)
    };
    let mut names: Vec<String> =
        found.lines.iter().filter(|l| shown(l)).map(|l| with_module(&l.name, kernel)).collect();
    names.sort_by(|a, b| provider(a).cmp(provider(b)));
    Ok(names)
}

fn provider(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

/// Raw tracepoints with more parameters than registers can't be listed: nothing could read them.
fn fits_registers(name: &str, kernel: &Kernel) -> bool {
    let Some(event) = name.strip_prefix("rawtracepoint:") else { return true };
    let Ok(btf) = kernel.btf() else { return true };
    btf.raw_tracepoint(event).is_none_or(|proto| proto.params.len() < RAW_PARAMETERS)
}

/// Raw tracepoints are named with the module that they are of.
fn with_module(name: &str, kernel: &Kernel) -> String {
    match name.strip_prefix("rawtracepoint:") {
        Some(event) if !event.contains(':') && kernel.btf().is_ok_and(|b| b.raw_tracepoint(event).is_some()) => {
            format!("rawtracepoint:vmlinux:{event}")
        }
        _ => name.to_owned(),
    }
}

fn write_probe(out: &mut impl std::io::Write, name: &str, verbose: bool, kernel: &Kernel) -> Result<(), CliError> {
    writeln!(out, "{name}").map_err(CliError::stdout)?;
    if verbose {
        for argument in describe::arguments(name, kernel) {
            writeln!(out, "    {argument}").map_err(CliError::stdout)?;
        }
    }
    Ok(())
}

/// Lists the probes of a script, by provider and name.
pub fn of_script(
    script: &Script,
    options: &Options,
    world: &World,
    shown: &dyn Fn(&[Diagnostic], &SourceText) -> String,
) -> Result<ExitCode, CliError> {
    let kernel = running(world);
    let front = script.settings(Arc::clone(&kernel));
    let load = |path: &str| Err(format!("`{path}` is not read for a listing"));
    let mut front_options = crate::lang::bt::FrontOptions::new(&kernel);
    front_options.pid = options.pid;
    front_options.unsafe_allowed = true;
    front_options.params = &front.params;
    front_options.named = &front.named;
    front_options.load = &load;
    front_options.missing_probes = MissingProbes::Error;
    let checked = compile_front(&script.source, &front_options);
    if has_errors(&checked.diagnostics) {
        let _ = std::io::stderr().write_all(shown(&checked.diagnostics, &script.source).as_bytes());
        return Ok(ExitCode::FAILURE);
    }
    let mut names: BTreeSet<String> = BTreeSet::new();
    for target in checked.program.probes.iter().flat_map(|p| &p.targets) {
        names.extend(listed_name(target));
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    for line in &names {
        write_probe(&mut out, line, options.verbose, &kernel)?;
    }
    out.flush().map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}

/// A target as `-l` names it: timers and counted events without their numbers; none for what has no
/// place to attach to.
fn listed_name(target: &Target) -> Option<String> {
    let full = name::target_name(target);
    match target {
        Target::Begin | Target::End | Target::SelfSignal(_) => None,
        Target::Interval { .. } | Target::Profile { .. } | Target::PerfEvent { .. } => {
            full.rsplit_once(':').map(|(kind, _)| format!("{kind}:"))
        }
        Target::RawTracepoint { event, module } if module.is_empty() => Some(format!("rawtracepoint:vmlinux:{event}")),
        _ => Some(full),
    }
}
