//! What subcommands that trace have in common.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use crate::kernel::Kernel;
use crate::model::budget::Budget;
use crate::session::front::{self, FrontSettings};
use crate::session::update::Update;
use crate::session::{Session, SessionHandle, SessionOptions};

/// Starts a session, or tells why scripts can't run here.
pub fn session(kernel: &Arc<Kernel>) -> Result<(SessionHandle, Receiver<Update>), String> {
    may_trace(kernel)?;
    let options = SessionOptions {
        kernel: Arc::clone(kernel),
        compiler: front::compiler(FrontSettings { budget: true, ..FrontSettings::new(Arc::clone(kernel)) }),
        pid: None,
        command: None,
        measure: true,
        budget: Some(Budget::DEFAULT),
    };
    Session::spawn(options).map_err(|e| format!("cannot start a thread: {e}"))
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
