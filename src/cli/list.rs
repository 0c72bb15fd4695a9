//! `probescope list [PATTERN]`.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use super::{CliError, World};
use crate::kernel::{Absence, Kernel};
use crate::probe::catalogue::Catalogue;
use crate::probe::search::{MOST, Search};
use crate::probe::{describe, listing, user};
use crate::stdio;

/// List probes, with their arguments when asked, and the kernel's types.
///
/// PATTERN is an attach point with `*` for any text (`tracepoint:sched:*`, `kprobe:vfs_*`,
/// `uprobe:libc:mallo*`), a provider's name, any part of a name, or a type: `struct task_struct`.
///
/// Probes that this kernel can't attach are left out and counted on standard error.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to list; everything when it is not given.
    pub(super) pattern: Option<String>,
    /// Print each probe's arguments below it.
    #[arg(short, long)]
    pub(super) verbose: bool,
    /// Search as the workbench does: letters in order, best first, 200 at most.
    #[arg(long)]
    pub(super) fuzzy: bool,
    /// List also what can't be attached here, with the reason after a tab.
    #[arg(short, long)]
    pub(super) all: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let kernel = super::kernel::running(world);
    let pattern = args.pattern.as_deref().unwrap_or("");
    let mut out = BufWriter::new(stdio::out());
    let printed = print(args, pattern, &kernel, &mut out)?;
    out.flush().map_err(CliError::stdout)?;
    Ok(if printed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(args: &Args, pattern: &str, kernel: &Kernel, out: &mut impl Write) -> Result<bool, CliError> {
    let (types, probes): (Vec<&str>, Vec<&str>) =
        listing::patterns(pattern).into_iter().partition(|one| listing::is_type(one));
    let mut any = false;
    for pattern in types {
        any |= print_types(pattern, kernel, out)?;
    }
    for pattern in probes {
        any |= print_probes(args, pattern, kernel, out)?;
    }
    Ok(any)
}

fn print_probes(args: &Args, pattern: &str, kernel: &Kernel, out: &mut impl Write) -> Result<bool, CliError> {
    let listing = if args.fuzzy { fuzzy(pattern, kernel) } else { exact(pattern, kernel)? };
    let mut shown = 0_usize;
    let mut hidden: Vec<(&Absence, usize)> = Vec::new();
    for line in &listing.lines {
        match &line.absence {
            Some(absence) if !args.all => {
                count(&mut hidden, absence);
                continue;
            }
            Some(absence) => writeln!(out, "{}\t{absence}", line.name),
            None => writeln!(out, "{}", line.name),
        }
        .map_err(CliError::stdout)?;
        shown += 1;
        if args.verbose {
            for argument in describe::arguments(&line.name, kernel) {
                writeln!(out, "    {argument}").map_err(CliError::stdout)?;
            }
        }
    }
    out.flush().map_err(CliError::stdout)?;
    for absence in &listing.absences {
        note(&format!("not listed: {absence}; {}", absence.remedy));
    }
    for (absence, times) in hidden {
        note(&format!("{times} more can't be attached here ({absence}); --all lists them"));
    }
    if listing.lines.is_empty() {
        note(&format!("nothing matches `{pattern}`{}", near(pattern, kernel)));
    }
    Ok(shown > 0)
}

/// The definitions that a type's name stands for.
fn print_types(pattern: &str, kernel: &Kernel, out: &mut impl Write) -> Result<bool, CliError> {
    let types = listing::types(pattern, kernel).unwrap_or_else(|| Ok(Vec::new()));
    let types = types.map_err(|a| CliError::Refused(format!("{a}; {}", a.remedy)))?;
    for (_, definition) in &types {
        writeln!(out, "{definition}").map_err(CliError::stdout)?;
    }
    if types.is_empty() {
        note(&format!("there is no {pattern}"));
    }
    Ok(!types.is_empty())
}

fn count<'a>(hidden: &mut Vec<(&'a Absence, usize)>, absence: &'a Absence) {
    match hidden.iter_mut().find(|(known, _)| (&known.what, &known.reason) == (&absence.what, &absence.reason)) {
        Some((_, times)) => *times += 1,
        None => hidden.push((absence, 1)),
    }
}

fn exact(pattern: &str, kernel: &Kernel) -> Result<listing::Listing, CliError> {
    listing::list(pattern, kernel).map_err(|e| {
        let hint = e.hint().map(|h| format!("; {h}")).unwrap_or_default();
        CliError::Refused(format!("{e}{hint}"))
    })
}

fn fuzzy(pattern: &str, kernel: &Kernel) -> listing::Listing {
    let typed = &*user::joined(pattern, kernel);
    if let Some(lines) = user::probes(typed, kernel) {
        return listing::Listing { lines, absences: Vec::new() };
    }
    let catalogue = Catalogue::build(kernel);
    let results = Search::default().search(&catalogue, typed, 0);
    let line = |hit: crate::probe::search::Hit| listing::Line { name: hit.name.to_string(), absence: hit.absence };
    let mut lines: Vec<listing::Line> = results.hits.into_iter().map(line).collect();
    let mut running = user::Running::default();
    let named = user::probes_of_named(typed, kernel, running.programs(kernel));
    lines.splice(0..0, named);
    let mut seen = std::collections::HashSet::new();
    lines.retain(|line| seen.insert(line.name.clone()));
    lines.truncate(MOST);
    listing::Listing { lines, absences: Vec::new() }
}

/// The best of a fuzzy search, as a hint.
fn near(pattern: &str, kernel: &Kernel) -> String {
    let plain = pattern.replace('*', "");
    let best = fuzzy(&plain, kernel).lines.into_iter().next();
    best.map(|line| format!("; did you mean `{}`?", line.name)).unwrap_or_default()
}

fn note(text: &str) {
    // Nothing can be done when standard error is gone.
    stdio::say(format_args!("probescope: {text}"));
}
