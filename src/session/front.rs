//! Text to compiled script: all the rooms of the compiler in a row.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::codegen;
use crate::kernel::Kernel;
use crate::kernel::target::{Sent, TargetFacts};
use crate::lang;
use crate::lang::codes::check::LEFT_OUT;
use crate::lang::diagnostic::has_errors;
use crate::lang::front::{AbsentParameters, Checked, FrontOptions, Purpose};
use crate::lang::source::SourceText;
use crate::lang::typed::MissingProbes;
use crate::regular;
use crate::tracer::script::compilation::{Compilation, CompileFigures, Compiled, Compiler};

/// Largest file that a script may import.
pub const LARGEST_IMPORT: u64 = 16 << 20;

/// What a script is compiled with besides its text.
#[derive(Clone, Debug)]
pub struct FrontSettings {
    /// The kernel that it will run on.
    pub kernel: Arc<Kernel>,
    /// Positional parameters.
    pub params: Vec<String>,
    /// Options given after the script.
    pub named: Vec<(String, Option<String>)>,
    /// Only this process (`-p`).
    pub pid: Option<u32>,
    /// The file that the command of `-c` runs.
    pub child_program: Option<String>,
    /// Whether what changes the traced system is allowed.
    pub unsafe_allowed: bool,
    /// Settings that hold where the script's config block says nothing else.
    pub defaults: Vec<(String, String)>,
    /// Settings that win over the script's config block.
    pub overrides: Vec<(String, String)>,
    /// What to do about probes that this kernel lacks.
    pub missing_probes: MissingProbes,
    /// What the script is run for.
    pub purpose: Purpose,
    /// Maps that are read at a key which they don't have are counted as losses.
    pub absent_keys: bool,
    /// The object is written to a file, for other loaders.
    pub for_other_loaders: bool,
    /// Programs whose loops take a CPU away turn themselves off.
    pub brake: bool,
    /// Programs throttle themselves to the budget that they are run with.
    pub budget: bool,
    /// Which failures are sent among the reports, and not only counted.
    pub sent: Sent,
    /// Whether all is warned of that bpftrace warns of, and not only what is probably a mistake.
    pub like_bpftrace: bool,
    /// Which positional parameters that were not given are warned of.
    pub absent_parameters: AbsentParameters,
    /// Only probes whose full name this matches.
    pub probe_filter: Option<regex::Regex>,
}

impl FrontSettings {
    /// No parameters, nothing allowed.
    #[must_use]
    pub fn new(kernel: Arc<Kernel>) -> Self {
        Self {
            kernel,
            params: Vec::new(),
            named: Vec::new(),
            pid: None,
            child_program: None,
            unsafe_allowed: false,
            defaults: Vec::new(),
            overrides: Vec::new(),
            missing_probes: MissingProbes::default(),
            purpose: Purpose::default(),
            absent_keys: false,
            for_other_loaders: false,
            brake: true,
            budget: false,
            sent: Sent::Nothing,
            like_bpftrace: false,
            absent_parameters: AbsentParameters::Quiet,
            probe_filter: None,
        }
    }
}

/// A compiler for a session.
#[must_use]
pub fn compiler(settings: FrontSettings) -> Compiler {
    Arc::new(move |source, child, given| {
        let Some(given) = given else { return compile(source, child, &settings) };
        let mut settings = settings.clone();
        settings.params.clone_from(&given.params);
        settings.named.clone_from(&given.named);
        settings.pid = given.pid.or(settings.pid);
        settings.unsafe_allowed |= given.unsafe_allowed;
        compile(source, child, &settings)
    })
}

/// Compiles a script: parse, expand, check, generate. Every mistake found is in the diagnostics. Imports are looked for
/// in the folder of the source's name.
#[must_use]
pub fn compile(source: &SourceText, child: Option<u32>, settings: &FrontSettings) -> Compilation {
    let began = Instant::now();
    let load = |path: &str| import(path, &source.name);
    let options = FrontOptions {
        kernel: &settings.kernel,
        pid: settings.pid,
        child_pid: child,
        child_program: settings.child_program.as_deref(),
        unsafe_allowed: settings.unsafe_allowed,
        params: &settings.params,
        named: &settings.named,
        load: &load,
        config_defaults: &settings.defaults,
        config_overrides: &settings.overrides,
        missing_probes: settings.missing_probes,
        purpose: settings.purpose,
        like_bpftrace: settings.like_bpftrace,
        absent_parameters: settings.absent_parameters,
        probe_filter: settings.probe_filter.as_ref(),
    };
    let checked = lang::compile(source, &options);
    let target = || {
        let mut target = settings.kernel.target_facts(settings.pid, child.unwrap_or(0));
        target.absent_keys = settings.absent_keys;
        target.for_other_loaders = settings.for_other_loaders;
        target.brake = settings.brake;
        target.budget = settings.budget;
        target.sent = settings.sent;
        target
    };
    generate_for(source, checked, target, began)
}

/// Generates a program that was checked, for the running kernel.
#[must_use]
pub fn generate(source: &SourceText, checked: Checked, child: Option<u32>, kernel: &Arc<Kernel>) -> Compilation {
    generate_for(source, checked, || kernel.target_facts(None, child.unwrap_or(0)), Instant::now())
}

/// The kernel is asked for its facts only where there is something to generate.
fn generate_for(
    source: &SourceText,
    checked: Checked,
    target: impl FnOnce() -> TargetFacts,
    began: Instant,
) -> Compilation {
    let mut diagnostics = checked.diagnostics;
    if has_errors(&diagnostics) {
        return Compilation { diagnostics, output: None };
    }
    match codegen::compile_with_source(&checked.program, &target(), source) {
        Ok(artifact) => {
            diagnostics.extend(artifact.warnings.iter().cloned());
            let figures = CompileFigures {
                compile_ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
                instructions: artifact.programs.iter().map(|p| p.instructions).sum(),
                programs: artifact.programs.len() as u32,
                maps: artifact.maps.len() as u32,
                left_out: diagnostics.iter().any(|d| d.code == LEFT_OUT),
            };
            let output = Compiled { program: Arc::new(checked.program), artifact: Arc::new(artifact), figures };
            Compilation { diagnostics, output: Some(output) }
        }
        Err(error) => {
            diagnostics.push(error.to_diagnostic());
            Compilation { diagnostics, output: None }
        }
    }
}

/// Reads an imported script, relative to the folder of the one that imports it.
fn import(name: &str, script: &str) -> Result<String, String> {
    let folder = PathBuf::from(script).parent().map(PathBuf::from).unwrap_or_default();
    let path = folder.join(name);
    regular::text(&path, LARGEST_IMPORT)
        .or_else(|e| library(name).ok_or(e))
        .map_err(|e| format!("cannot read {}: {e}", path.display()))
}

/// bpftrace's library by its parts: all of it is there without being asked for, so that an import of one brings nothing,
/// but for what only tells that imports work.
fn library(path: &str) -> Option<String> {
    const PARTS: &[&str] = &["map", "process", "stack", "strings", "system", "task", "usdt"];
    // It is not part of the whole.
    const TEST: &str = "macro __always_true() { 1 }";
    match path.strip_prefix("stdlib")? {
        "" => Some(String::new()),
        "/test" => Some(TEST.to_owned()),
        part => PARTS.contains(&part.strip_prefix('/')?).then(String::new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::attach::order;
    use crate::kernel::Roots;

    #[test]
    fn timers_are_attached_when_all_else_is() {
        let kernel =
            Arc::new(Kernel::new(Roots::fixture(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/kernel"))));
        let script = "interval:s:1 { exit(); } kprobe:vfs_read { @k = count(); } kretprobe:vfs_read { @r = count(); } \
                      interval:ms:5 { @i = count(); } profile:hz:99 { @p = count(); } kprobe:vfs_write { @w = count(); }";
        let compiled = compile(&SourceText::new("order.bt", script), None, &FrontSettings::new(kernel)).output.unwrap();
        let (program, artifact) = (&compiled.program, &compiled.artifact);
        let name = |index: usize| {
            let spec = &artifact.programs[index];
            program.probe_names[program.probes[spec.probe as usize].names[spec.targets[0] as usize] as usize]
                .to_string()
        };
        let names: Vec<String> = order(program, artifact).into_iter().map(name).collect();
        let wanted = [
            "kretprobe:vfs_read",
            "profile:hz:99",
            "kprobe:vfs_write",
            "kprobe:vfs_read",
            "interval:s:1",
            "interval:ms:5",
        ];
        assert_eq!(names, wanted);
    }
}
