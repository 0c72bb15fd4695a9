//! Turning the function_graph tracer on: in an instance of ours where the kernel has it there, else in the top one where
//! nobody uses that.

use std::path::Path;
use std::sync::Arc;

use super::super::instance::Instance;
use super::super::session::{Session, USUAL_KB};
use super::super::{FtraceError, Shapes};
use crate::kernel::{Absence, Kernel};
use crate::probe::glob::Glob;

/// What is traced.
#[derive(Clone, Debug, Default)]
pub struct GraphOptions {
    /// Functions, by name with `*`.
    pub functions: Vec<String>,
    /// Functions that are left out.
    pub without: Vec<String>,
    /// Nothing but these functions; otherwise also what they call.
    pub only: bool,
    /// Only functions of these modules.
    pub modules: Vec<String>,
    /// Only these processes and what they start.
    pub pids: Vec<u32>,
    /// How deep calls are followed; 0 for all.
    pub depth: u32,
    /// With arguments and returned values, where the kernel gives them.
    pub arguments: bool,
    /// A CPU's ring, KiB; 0 for the usual.
    pub ring_kb: u64,
}

const TRACER: &str = "function_graph";

fn has_tracer(folder: &Path) -> bool {
    let text = std::fs::read_to_string(folder.join("available_tracers")).unwrap_or_default();
    text.split_whitespace().any(|name| name == TRACER)
}

fn absent(reason: &str) -> FtraceError {
    let remedy = "boot a kernel with CONFIG_FUNCTION_GRAPH_TRACER=y, or write a script on kprobes or fentry probes";
    Absence::new("function graphs", reason, remedy).into()
}

/// How many functions the patterns mean.
///
/// # Errors
/// When one means none.
fn count(kernel: &Kernel, patterns: &[String]) -> Result<usize, FtraceError> {
    let Ok(table) = kernel.functions() else { return Ok(patterns.len()) };
    let mut all = 0;
    for pattern in patterns {
        let glob = Glob::new(pattern);
        let found = table.iter().filter(|function| glob.matches(function.name)).count();
        if found == 0 {
            let text =
                format!("no function that can be traced is named {pattern}; `probescope list 'kprobe:*'` lists them");
            return Err(FtraceError::Options(text));
        }
        all += found;
    }
    Ok(all)
}

/// Turns it on. Gives the session and how many functions are traced by name.
///
/// # Errors
/// When the kernel has no such tracer, somebody uses the only place that it has for it, or a function is not known.
pub fn start(kernel: &Arc<Kernel>, options: &GraphOptions) -> Result<(Session, usize), FtraceError> {
    let tracefs = kernel.tracefs()?;
    if !has_tracer(&tracefs) {
        return Err(absent("this kernel has no function_graph tracer (available_tracers)"));
    }
    let functions = count(kernel, &options.functions)?;
    let own = Instance::make(kernel, &[])?;
    let mut instance = if has_tracer(own.folder()) {
        own
    } else {
        // It goes before the other is taken: an instance that nobody needs.
        drop(own);
        Instance::top(kernel, &[])?
    };
    choose(&mut instance, options)?;
    instance
        .prepare(if options.ring_kb == 0 { USUAL_KB } else { options.ring_kb }, kernel.possible_cpus().len().into())?;
    instance.leave_out_own_functions()?;
    if !options.pids.is_empty() {
        instance.only(&options.pids, true)?;
    }
    instance.set("current_tracer", TRACER)?;
    // They are there once the tracer is chosen.
    for option in ["options/funcgraph-args", "options/funcgraph-retval"] {
        instance.set_if_there(option, if options.arguments { "1" } else { "0" })?;
    }
    Ok((Session::over(kernel, instance, Shapes::running(kernel))?, functions))
}

/// Which functions: the filters of the instance, and the kernel's one list of functions whose calls are followed.
fn choose(instance: &mut Instance, options: &GraphOptions) -> Result<(), FtraceError> {
    let list = options.functions.join(" ");
    let without = options.without.join(" ");
    if options.only || !options.modules.is_empty() {
        let mut filtered = Vec::new();
        for pattern in &options.functions {
            filtered.extend(options.modules.iter().map(|module| format!("{pattern}:mod:{module}")));
        }
        let filtered = if filtered.is_empty() { list.clone() } else { filtered.join(" ") };
        instance.ask("set_ftrace_filter", &filtered, "these functions")?;
    }
    if !without.is_empty() {
        instance.ask("set_ftrace_notrace", &without, "these functions")?;
    }
    let all = options.functions.iter().any(|pattern| pattern == "*");
    if !options.only && !all && options.modules.is_empty() {
        instance.set_shared("set_graph_function", &list)?;
    }
    if options.depth > 0 {
        instance.set_shared("max_graph_depth", &options.depth.to_string())?;
    }
    Ok(())
}
