//! Where a session's names come from.

use std::sync::Arc;

use crate::engine::decode::Names;
use crate::engine::names::{Cgroups, Users};
use crate::engine::processes::Watch;
use crate::engine::symbols::UserSymbols;
use crate::kernel::Kernel;
use crate::lang::typed::Program;

/// What a script's names are made from. It can go to the thread that uses them, which the names themselves can't.
#[derive(Debug)]
pub struct Sources {
    kernel: Arc<Kernel>,
    users: Users,
    demangle: bool,
    watch: Option<Watch>,
}

impl Sources {
    /// The machine that this kernel describes, for a program's values. Watches processes from now on when the program
    /// reports addresses of theirs. Reads the list of users, a small file; the rest when it is first asked for.
    #[must_use]
    pub fn of_kernel(kernel: &Arc<Kernel>, program: &Program) -> Self {
        let proc = &kernel.roots().proc;
        // Next to /proc: on the running machine, /etc/passwd.
        let passwd = proc.with_file_name("etc").join("passwd");
        let users = Users::parse(&std::fs::read_to_string(passwd).unwrap_or_default());
        // Where the kernel does not tell of processes, those that live when they are first seen are known.
        let watch = || Watch::start(kernel.online_cpus().as_slice(), proc).ok();
        let watch = program.has_user_addresses().then(watch).flatten();
        Self { kernel: Arc::clone(kernel), users, demangle: program.config.demangle, watch }
    }

    /// The names.
    #[must_use]
    pub fn names(self) -> Names {
        let proc = self.kernel.roots().proc.clone();
        let cgroups = Cgroups::new(proc.join("mounts"));
        let symbols = UserSymbols::new(proc, self.demangle).watching(self.watch);
        Names::new(self.kernel as _, symbols, self.users, cgroups)
    }
}
