//! BPF programs that are loaded: functions that the trampoline reaches as it does the kernel's own.

use std::sync::Arc;

use libbpf_rs::btf::types::Func;
use libbpf_rs::btf::{Btf, TypeId};
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};

/// What stands for the module of a function that is a loaded program's: `bpf:` and the program's id.
const MODULE_PREFIX: &str = "bpf:";

/// The function that a loaded program begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedProgram {
    /// The kernel's number of the program.
    pub id: u32,
    /// Name of its function, from the BTF that it was loaded with: the kernel's own name of the program is cut.
    pub function: Arc<str>,
    /// BTF id of the function, in the program's BTF.
    pub btf_id: u32,
}

impl LoadedProgram {
    /// What stands for its module in the names of probes.
    #[must_use]
    pub fn module(&self) -> String {
        format!("{MODULE_PREFIX}{}", self.id)
    }
}

/// The id of the program that a module stands for; `None` for modules of the kernel.
#[must_use]
pub fn id_of_module(module: &str) -> Option<u32> {
    module.strip_prefix(MODULE_PREFIX)?.parse().ok()
}

/// Every program that was loaded with types, in the order of their ids; none without the right to see them.
#[must_use]
pub fn programs() -> Vec<LoadedProgram> {
    let options = ProgInfoQueryOptions::default().include_func_info(true);
    ProgInfoIter::with_query_opts(options)
        .filter_map(|info| {
            let first = info.func_info.first()?.type_id;
            let btf = Btf::from_prog_id(info.id).ok()?;
            let function = btf.type_by_id::<Func<'_>>(TypeId::from(first))?.name()?.to_str()?.into();
            Some(LoadedProgram { id: info.id, function, btf_id: first })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_stand_for_programs() {
        let program = LoadedProgram { id: 17, function: "f".into(), btf_id: 3 };
        assert_eq!(id_of_module(&program.module()), Some(17));
        assert_eq!((id_of_module("vmlinux"), id_of_module("bpf:x"), id_of_module("bpf")), (None, None, None));
    }
}
