//! What subcommands that trace have in common.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::CliError;
use crate::kernel::Kernel;
use crate::model::budget::Budget;
use crate::session::front::{self, FrontSettings};
use crate::session::update::Update;
use crate::session::{Session, SessionHandle, SessionOptions};
use crate::tracer::script::child;

/// How a session compiles and runs scripts.
#[derive(Debug)]
pub struct Tracing {
    /// What they are compiled with.
    pub settings: FrontSettings,
    /// The command of `-c`.
    pub command: Option<String>,
    /// What they may take of the CPUs' time; the workbench's key changes it.
    pub budget: Option<Budget>,
    /// Before a script is attached its probes are counted for a second.
    pub count_first: bool,
}

/// Starts a session, or tells why scripts can't run here.
pub fn session(kernel: &Arc<Kernel>, tracing: Tracing) -> Result<(SessionHandle, Receiver<Update>), String> {
    may_trace(kernel)?;
    let options = SessionOptions {
        kernel: Arc::clone(kernel),
        pid: tracing.settings.pid,
        compiler: front::compiler(FrontSettings {
            budget: true,
            child_program: tracing.command.as_deref().and_then(child::file),
            ..tracing.settings
        }),
        command: tracing.command,
        measure: true,
        budget: tracing.budget,
        count_first: tracing.count_first,
    };
    Session::spawn(options).map_err(|e| format!("cannot start a thread: {e}"))
}

/// Looks for the process of `-p` and the program of `-c` before anything is compiled or attached.
pub fn find_processes(pid: Option<u32>, command: Option<&str>) -> Result<(), CliError> {
    if let Some(pid) = pid.filter(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
        return Err(CliError::Refused(format!("cannot trace process {pid}: there is no such process")));
    }
    let Some(command) = command else { return Ok(()) };
    let name = child::program(command).map_err(|e| CliError::Refused(e.to_string()))?;
    if child::find(&name).is_some() {
        return Ok(());
    }
    Err(CliError::Refused(format!("cannot run `{name}`: it does not exist or is not executable")))
}

/// Whether this process may load and attach programs; otherwise what is missing.
pub fn may_trace(kernel: &Kernel) -> Result<(), String> {
    // Capability numbers of include/uapi/linux/capability.h.
    const NEEDED: [(u32, &str); 2] = [(38, "CAP_PERFMON"), (39, "CAP_BPF")];
    const SYS_ADMIN: u32 = 21;
    let status = kernel.proc_text("self/status").unwrap_or_default();
    let effective = status.lines().find_map(|l| u64::from_str_radix(l.strip_prefix("CapEff:")?.trim(), 16).ok());
    let Some(effective) = effective else { return Ok(()) };
    let has = |n: u32| effective >> n & 1 == 1;
    let missing: Vec<&str> = NEEDED.iter().filter(|(n, _)| !has(*n)).map(|(_, name)| *name).collect();
    if has(SYS_ADMIN) || missing.is_empty() {
        return Ok(());
    }
    // Without it tracefs may not be read: a capability, or root's file permissions.
    let tracefs = if kernel.tracefs().is_err() { " and CAP_DAC_READ_SEARCH (for tracefs)" } else { "" };
    Err(format!(
        "{}{tracefs} missing: start as root, or give the program cap_bpf,cap_perfmon,cap_dac_read_search=ep by setcap",
        missing.join(", ")
    ))
}
