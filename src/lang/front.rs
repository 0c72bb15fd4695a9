//! What a language is to the rest: one value that turns its texts into typed programs, formats them and answers an
//! editor. [`crate::lang::FRONT_ENDS`] lists the languages there are.

use std::sync::Arc;

use super::diagnostic::Diagnostic;
use super::facts::Facts;
use super::facts::kernel::KernelFacts;
use super::narrow::ClausePlace;
use super::service::{Completion, Hover, Pieces, RenameError, ServiceEnv, SignatureHelp, Symbol};
use super::source::{SourceText, Span};
use super::typed::{MissingProbes, Program};
use crate::kernel::Kernel;

/// A language that scripts are written in.
///
/// Nothing here fails: a half-typed script has a tree, diagnostics and answers.
pub trait FrontEnd: Sync + std::fmt::Debug {
    /// The language's name, for messages.
    fn name(&self) -> &'static str;

    /// Endings of the names of its files, without the dot.
    fn extensions(&self) -> &'static [&'static str];

    /// Text to typed program, with everything that is to be said about the text.
    fn compile_with(&self, source: &SourceText, facts: &dyn Facts, options: &FrontOptions<'_>) -> Checked;

    /// As [`Self::compile_with`], with the facts of the options' kernel.
    fn compile(&self, source: &SourceText, options: &FrontOptions<'_>) -> Checked {
        let held = options.child_pid.zip(options.child_program.map(str::to_owned));
        let facts = KernelFacts::new(options.kernel, options.pid, options.unsafe_allowed).with_held(held);
        self.compile_with(source, &facts, options)
    }

    /// What is wrong with the text alone, whatever the kernel.
    fn syntax(&self, source: &SourceText) -> Vec<Diagnostic>;

    /// The syntax tree as text, one line an item.
    fn tree(&self, source: &SourceText) -> String;

    /// The parameters and options that the text speaks of.
    fn wanted(&self, _: &SourceText) -> Wanted {
        Wanted::default()
    }

    /// Maps that the text clears when it ends: they help it on the way, and are no answer.
    fn helper_maps(&self, _: &SourceText) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// Clauses of the text that work together, to be taken into another script.
    fn groups(&self, _: &SourceText) -> Vec<ClauseGroup> {
        Vec::new()
    }

    /// The text in the language's usual layout; `None` when it has errors, because what is not understood is not
    /// touched.
    fn format(&self, source: &SourceText) -> Option<String>;

    /// What makes a comment of a line: what stands before it, and what behind it.
    fn comment(&self) -> (&'static str, &'static str);

    /// A clause to start from for a probe of the catalogue, whose clause in bpftrace's language is given; `None` when
    /// the language has no name for the probe.
    fn clause(&self, probe: &str, clause: &str) -> Option<String>;

    /// Whether a condition can name a control group.
    fn has_control_groups(&self) -> bool {
        false
    }

    /// Where the parts of the script's clauses are, in order.
    fn clauses(&self, source: &SourceText) -> Vec<ClausePlace>;

    /// The text taken apart, for colours.
    fn pieces(&self, text: &str) -> Arc<dyn Pieces>;

    /// Everything that could be typed at `offset`, the most specific kinds first.
    fn completions(&self, source: &SourceText, offset: u32, env: &ServiceEnv<'_>) -> Vec<Completion>;

    /// What is at `offset`.
    fn hover(&self, source: &SourceText, offset: u32, env: &ServiceEnv<'_>) -> Option<Hover>;

    /// The signature of the innermost call that is open at `offset`, and which parameter is typed.
    fn signature_help(&self, source: &SourceText, offset: u32) -> Option<SignatureHelp>;

    /// The place where the thing at `offset` is defined in this script.
    fn definition(&self, source: &SourceText, offset: u32) -> Option<Span>;

    /// The path of the script that is imported at `offset`.
    fn imported(&self, source: &SourceText, offset: u32) -> Option<String>;

    /// The script's items, in order.
    fn symbols(&self, source: &SourceText) -> Vec<Symbol>;

    /// The name at `offset` and every place that means the same thing, in order; empty where the script names
    /// nothing there.
    fn references(&self, source: &SourceText, offset: u32) -> Vec<Span>;

    /// The name at `offset`, for who wants to change it.
    fn renamable(&self, source: &SourceText, offset: u32) -> Option<Span>;

    /// What to put where, to give the thing at `offset` another name.
    ///
    /// # Errors
    /// When nothing is named there, or the new name is none or taken.
    fn rename(&self, source: &SourceText, offset: u32, new: &str) -> Result<Vec<(Span, String)>, RenameError>;
}

/// Clauses that work together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClauseGroup {
    /// Their probes.
    pub probes: String,
    /// Their text, with what else they need of their script.
    pub text: String,
}

/// The parameters and options that a script speaks of.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Wanted {
    /// The last positional parameter that it can't do without; 0 when there is none.
    pub positional: u32,
    /// Its named options, in the order of the text.
    pub options: Vec<WantedOption>,
    /// It reads positional parameters, or counts them.
    pub takes_words: bool,
    /// It counts them: any number may be given.
    pub takes_any_number: bool,
}

impl Wanted {
    /// Whether `-p PID` among its words limits the trace to a process: it has no option of this name itself, and no
    /// parameter that this could be.
    #[must_use]
    pub fn takes_limit(&self) -> bool {
        let has = |name: &str| self.options.iter().any(|option| &*option.name == name);
        self.positional == 0 && !self.takes_any_number && !has("p") && !has("pid")
    }
}

/// A named option of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedOption {
    /// Its name, without dashes.
    pub name: Arc<str>,
    /// What it does, where the script says so.
    pub about: Option<Arc<str>>,
    /// It takes a value; otherwise it is there or not.
    pub takes_value: bool,
}

/// What a script is compiled with.
pub struct FrontOptions<'a> {
    /// The kernel that will run it.
    pub kernel: &'a Kernel,
    /// Process that the trace is limited to (`-p`).
    pub pid: Option<u32>,
    /// The child started by `-c`.
    pub child_pid: Option<u32>,
    /// The file that the child will run: until it is let go it is a copy of this program.
    pub child_program: Option<&'a str>,
    /// Whether `system`, `signal` and their kind may be used (`--unsafe`).
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
    /// What to do about probes that this kernel lacks, unless the script says so itself.
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
            child_program: None,
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

/// What a script is run for, which decides the probes that belong to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Purpose {
    /// To trace: everything but `test:` and `bench:` probes.
    #[default]
    Trace,
    /// To run its tests: `test:` probes between `begin` and `end`.
    Test,
    /// To measure: `bench:` probes between `begin` and `end`.
    Bench,
}

/// Which positional parameters are warned of that a script uses as numbers and that were not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AbsentParameters {
    /// None: the script is being written.
    #[default]
    Quiet,
    /// Those that the script does not ask after: it neither compares them with 0 nor counts them by `$#`.
    Unasked,
    /// All, as bpftrace does.
    All,
}

/// What a front end gives.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The typed program; complete only when there are no errors.
    pub program: Program,
    /// What was found, in the order of the text: [`super::bounds::bounded`].
    pub diagnostics: Vec<Diagnostic>,
    /// Errors that were found and not kept.
    pub dropped: usize,
}
