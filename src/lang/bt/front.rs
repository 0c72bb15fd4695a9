//! The whole front end in one call: text to typed program.

use super::ast;
use super::check::facts::Facts;
use super::check::kernel_facts::KernelFacts;
use super::check::{CheckEnv, Checked, MissingProbes, Purpose, check};
use super::{AbsentParameters, ExpandInputs, expand, parse};
use crate::kernel::Kernel;
use crate::lang::codes::parse::UNCLOSED_STRING;
use crate::lang::diagnostic::{Diagnostic, Severity};
use crate::lang::source::SourceText;

/// What a script is compiled with.
pub struct FrontOptions<'a> {
    /// The kernel that will run it.
    pub kernel: &'a Kernel,
    /// Process that the trace is limited to (`-p`).
    pub pid: Option<u32>,
    /// The child started by `-c`.
    pub child_pid: Option<u32>,
    /// `--unsafe`.
    pub unsafe_allowed: bool,
    /// Positional parameters.
    pub params: &'a [String],
    /// Options given after `--`.
    pub named: &'a [(String, Option<String>)],
    /// Reads an imported script by its path.
    pub load: &'a dyn Fn(&str) -> Result<String, String>,
    /// Settings that hold where the script says nothing else.
    pub config_defaults: &'a [(String, String)],
    /// Settings that win over the script's.
    pub config_overrides: &'a [(String, String)],
    /// What to do about probes that this kernel lacks.
    pub missing_probes: MissingProbes,
    /// What the script is run for.
    pub purpose: Purpose,
    /// Whether all is warned of that bpftrace warns of, and not only what is probably a mistake.
    pub like_bpftrace: bool,
    /// Which positional parameters that were not given are warned of.
    pub absent_parameters: AbsentParameters,
    /// Only probes whose full name this matches.
    pub probe_filter: Option<&'a regex::Regex>,
}

impl<'a> FrontOptions<'a> {
    /// Nothing but a kernel.
    #[must_use]
    pub fn new(kernel: &'a Kernel) -> Self {
        Self {
            kernel,
            pid: None,
            child_pid: None,
            unsafe_allowed: false,
            params: &[],
            named: &[],
            load: &|path| Err(format!("`{path}` can't be read here")),
            config_defaults: &[],
            config_overrides: &[],
            missing_probes: MissingProbes::Error,
            purpose: Purpose::Trace,
            like_bpftrace: false,
            absent_parameters: AbsentParameters::Quiet,
            probe_filter: None,
        }
    }
}

/// Parses, expands and checks a script.
#[must_use]
pub fn compile_front(source: &SourceText, options: &FrontOptions<'_>) -> Checked {
    let facts = KernelFacts::new(options.kernel, options.pid, options.unsafe_allowed);
    compile_with(source, &facts, options)
}

/// As [`compile_front`], with other facts in place of the kernel's.
#[must_use]
pub fn compile_with(source: &SourceText, facts: &dyn Facts, options: &FrontOptions<'_>) -> Checked {
    let parsed = parse(source);
    let inputs = ExpandInputs {
        params: options.params,
        named: options.named,
        load: options.load,
        absent: options.absent_parameters,
    };
    let (script, found): (ast::Script, _) = expand(parsed.script, &inputs);
    let env = CheckEnv {
        facts,
        pid: options.pid,
        child_pid: options.child_pid,
        unsafe_allowed: options.unsafe_allowed,
        config_defaults: options.config_defaults,
        config_overrides: options.config_overrides,
        missing_probes: options.missing_probes,
        purpose: options.purpose,
        like_bpftrace: options.like_bpftrace,
        probe_filter: options.probe_filter,
    };
    let mut checked = check(&script, source, &env);
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(found);
    leave_out_ends(&mut diagnostics);
    // Where the text makes no sense, what the checker makes of the same place is no news.
    let told: Vec<u32> = errors(&diagnostics).map(|d| d.span.start).collect();
    let is_news = |d: &Diagnostic| d.severity != Severity::Error || d.span.end == 0 || !told.contains(&d.span.start);
    diagnostics.extend(checked.diagnostics.drain(..).filter(is_news));
    diagnostics.sort_by_key(|d| d.span.start);
    checked.diagnostics = diagnostics;
    checked
}

fn errors(diagnostics: &[Diagnostic]) -> impl Iterator<Item = &Diagnostic> {
    diagnostics.iter().filter(|d| d.severity == Severity::Error)
}

/// A string that is not closed takes the brackets behind it in: that these are missing is no mistake of its own.
fn leave_out_ends(diagnostics: &mut Vec<Diagnostic>) {
    if errors(diagnostics).any(|d| d.code == UNCLOSED_STRING) {
        diagnostics.retain(|d| !(d.message.ends_with("found the end of the script") && d.code != UNCLOSED_STRING));
    }
}
