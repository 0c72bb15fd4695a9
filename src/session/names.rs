//! Where a session's names come from.

use std::sync::Arc;

use crate::engine::decode::Names;
use crate::engine::names::{Cgroups, Users};
use crate::engine::symbols::UserSymbols;
use crate::kernel::Kernel;

/// Names of the machine that this kernel describes. Reads the list of users, a small file; the rest
/// when it is first asked for.
#[must_use]
pub fn of_kernel(kernel: &Arc<Kernel>, demangle: bool) -> Names {
    let roots = kernel.roots();
    // Next to /proc: on the running machine, /etc/passwd.
    let passwd = roots.proc.with_file_name("etc").join("passwd");
    let users = Users::parse(&std::fs::read_to_string(passwd).unwrap_or_default());
    let symbols = UserSymbols::new(roots.proc.clone(), demangle);
    Names::new(Arc::clone(kernel) as _, symbols, users, Cgroups::new(roots.sys.join("fs/cgroup")))
}
