//! `-l`: the kernel's probes by pattern, or the probes of a script.

use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::ExitCode;

use super::super::script::Script;
use super::super::{CliError, World, kernel::running};
use super::options::Options;
use crate::kernel::{Absence, Feature, Kernel};
use crate::lang::bt::ast::Item;
use crate::lang::bt::{ExpandInputs, expand, parse};
use crate::lang::codes::check::NO_SUCH_PROBE as NOT_LISTED;
use crate::lang::diagnostic::{Diagnostic, Severity};
use crate::lang::front::AbsentParameters;
use crate::lang::source::SourceText;
use crate::probe::expand::functions::is_split_off;
use crate::probe::expand::{ExpandOptions, expand as probe_expand};
use crate::probe::point::{self, PointPattern};
use crate::probe::{describe, listing, name};
use crate::stdio;

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
        let _ = stdio::err().styled().write_all(text.as_bytes());
    }
    let kernel = running(world);
    let mut out = BufWriter::new(stdio::out());
    let (types, probes): (Vec<&str>, Vec<&str>) =
        listing::patterns(pattern).into_iter().partition(|one| listing::is_type(one));
    if !probes.is_empty() {
        write_probes(&mut out, &probes.join(","), options, &kernel)?;
    }
    let types = listing::types(&types.join(","), &kernel).unwrap_or_else(|| Ok(Vec::new()));
    for (name, definition) in types.map_err(|a| CliError::Refused(a.to_string()))? {
        let line = if options.verbose { format!("vmlinux: {definition}") } else { name };
        writeln!(out, "{line}").map_err(CliError::stdout)?;
    }
    out.flush().map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}

fn write_probes(
    out: &mut impl std::io::Write,
    pattern: &str,
    options: &Options,
    kernel: &Kernel,
) -> Result<(), CliError> {
    // A provider with nothing behind its colon means all that it has.
    let whole = if pattern.ends_with(':') { format!("{pattern}*") } else { pattern.to_owned() };
    match names(&whole, options.pid, kernel) {
        Ok(lines) if lines.is_empty() => {
            if let Some(absence) = absence(&whole, kernel) {
                stdio::say(format_args!("WARNING: {absence}"));
            }
        }
        Ok(lines) => lines.iter().try_for_each(|line| write_probe(out, line, options.verbose, kernel))?,
        // What is not there has no probes.
        Err(CliError::Refused(reason)) if options.pid.is_none() => {
            stdio::say(format_args!("WARNING: {reason}"));
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Why this kernel has no probes of the pattern's provider.
fn absence(pattern: &str, kernel: &Kernel) -> Option<Absence> {
    let feature = match provider(pattern).trim_end_matches('*') {
        "kprobe" | "kretprobe" | "k" | "kr" => Feature::Kprobe,
        "fentry" | "fexit" | "kfunc" | "kretfunc" | "f" | "fr" => Feature::Fentry,
        "rawtracepoint" | "rt" => Feature::RawTracepoint,
        "iter" | "it" => Feature::Iter,
        _ => return None,
    };
    kernel.features().require(feature).err()
}

/// Names that a pattern stands for, providers in the order of the alphabet.
fn names(pattern: &str, pid: Option<u32>, kernel: &Kernel) -> Result<Vec<String>, CliError> {
    if pattern.contains(',') {
        // Attach points of several probes, as a script writes them.
        let lists = pattern.split(',').map(|one| names(one.trim(), pid, kernel)).collect::<Result<Vec<_>, _>>()?;
        return Ok(lists.concat());
    }
    let all = pattern.is_empty() || pattern == "*";
    // The returns are those of the same functions: they are listed when they are asked for.
    let asked = provider(pattern);
    let returns = pattern.contains(':') && !asked.is_empty() && !asked.contains('*');
    let found = match pid {
        Some(pid) => listing::list_of_process(pattern, kernel, pid),
        None => listing::list(pattern, kernel),
    };
    let found = found.map_err(|e| CliError::Refused(e.to_string()))?;
    let shown = |line: &listing::Line| {
        let timer = line.name.starts_with("interval:") || line.name.starts_with("profile:");
        // Counters are named even where the machine has none: what is missing is said at the attach.
        let of_a_map = line.name.starts_with("iter:") && kernel.features().has(Feature::Iter);
        let attachable = line.absence.is_none() || line.name.starts_with("hardware:") || of_a_map;
        let wanted = returns || !matches!(provider(&line.name), "kretprobe" | "fexit");
        let wanted = wanted && !(pattern.contains('*') && line.name.contains("probe:") && is_split_off(&line.name));
        attachable && wanted && !(all && timer) && fits_registers(&line.name, kernel)
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
        for argument in arguments(name, kernel) {
            writeln!(out, "    {argument}").map_err(CliError::stdout)?;
        }
    }
    Ok(())
}

/// Arguments by the names that every bpftrace takes: numbers in a kprobe, the result in a kretprobe.
fn arguments(name: &str, kernel: &Kernel) -> Vec<String> {
    match provider(name) {
        "kprobe" => {
            let fields = describe::describe(name, kernel).fields;
            let typed = fields.iter().filter(|f| f.access.starts_with("args."));
            typed.enumerate().map(|(n, f)| format!("{} arg{n}", f.ty)).collect()
        }
        "kretprobe" => {
            let known = describe::arguments(name, kernel);
            known.into_iter().filter(|a| a.ends_with(" retval") || a.ends_with("*retval")).collect()
        }
        _ => describe::arguments(name, kernel),
    }
}

/// Lists the probes of a script, in its order.
pub fn of_script(
    script: &Script,
    options: &Options,
    world: &World,
    shown: &dyn Fn(&[Diagnostic], &SourceText) -> String,
) -> Result<ExitCode, CliError> {
    let kernel = running(world);
    let parsed = parse(&script.source);
    let load = |path: &str| Err(format!("`{path}` is not read for a listing"));
    let inputs =
        ExpandInputs { params: &script.params, named: &script.named, load: &load, absent: AbsentParameters::Quiet };
    let (expanded, found) = expand(parsed.script, &inputs);
    let mut diagnostics: Vec<Diagnostic> =
        parsed.diagnostics.into_iter().chain(found).filter(|d| d.severity == Severity::Error).collect();
    let expand_options = ExpandOptions { pid: options.pid, unsafe_allowed: true, ..ExpandOptions::default() };
    let mut names: Vec<String> = Vec::new();
    let probes = expanded.items.iter().filter_map(|item| match item {
        Item::Probe(probe) => Some(probe),
        _ => None,
    });
    for point in probes.flat_map(|probe| &probe.points) {
        match listed_names(&point.text, &kernel, &expand_options) {
            Ok(found) => names.extend(found),
            Err(message) => diagnostics.push(Diagnostic::error(NOT_LISTED, point.span, message)),
        }
    }
    if !diagnostics.is_empty() {
        let _ = stdio::err().styled().write_all(shown(&diagnostics, &script.source).as_bytes());
        return Ok(ExitCode::FAILURE);
    }
    let mut out = BufWriter::new(stdio::out());
    for line in &names {
        write_probe(&mut out, line, options.verbose, &kernel)?;
    }
    out.flush().map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}

/// Names of an attach point's targets as `-l` gives them: timers and counted events without their
/// numbers, and none for what has no place to attach to.
fn listed_names(point: &str, kernel: &Kernel, options: &ExpandOptions) -> Result<Vec<String>, String> {
    let unit = |provider: &str, written: &str| {
        let unit = written.split_once(':').map_or(written, |(unit, _)| unit);
        vec![format!("{provider}:{unit}:")]
    };
    match point::parse(point).map_err(|e| e.message)? {
        PointPattern::Begin | PointPattern::End | PointPattern::SelfSignal(_) => Ok(Vec::new()),
        PointPattern::Interval { written, .. } => Ok(unit("interval", &written)),
        PointPattern::Profile { written, .. } => Ok(unit("profile", &written)),
        PointPattern::Software { event, .. } => Ok(unit("software", event.as_str())),
        PointPattern::Hardware { event, .. } => Ok(unit("hardware", event.as_str())),
        pattern => {
            let targets = probe_expand(&pattern, kernel, options).map_err(|e| e.to_string())?;
            Ok(targets.iter().map(|t| with_module(&name::target_name(t), kernel)).collect())
        }
    }
}
