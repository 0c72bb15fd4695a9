//! Where a session's names come from.

use std::sync::Arc;

use crate::engine::decode::Names;
use crate::engine::names::{Cgroups, Users};
use crate::engine::processes::Watch;
use crate::engine::symbols::UserSymbols;
use crate::kernel::Kernel;
use crate::lang::typed::Program;

/// Names of the machine that this kernel describes, for a program's values. Watches processes from now on
/// when the program reports addresses of theirs. Reads the list of users, a small file; the rest
/// when it is first asked for.
#[must_use]
pub fn of_kernel(kernel: &Arc<Kernel>, program: &Program) -> Names {
    let roots = kernel.roots();
    // Next to /proc: on the running machine, /etc/passwd.
    let passwd = roots.proc.with_file_name("etc").join("passwd");
    let users = Users::parse(&std::fs::read_to_string(passwd).unwrap_or_default());
    // Where the kernel does not tell of processes, those that live when they are first seen are known.
    let watch = || Watch::start(kernel.online_cpus().as_slice(), &roots.proc).ok();
    let watch = program.has_user_addresses().then(watch).flatten();
    let symbols = UserSymbols::new(roots.proc.clone(), program.config.demangle).watching(watch);
    Names::new(Arc::clone(kernel) as _, symbols, users, Cgroups::new(roots.proc.join("mounts")))
}
