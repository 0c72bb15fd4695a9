//! BPF iterators, and functions of loaded BPF programs.

use std::sync::Arc;

use super::{ExpandError, Expander};
use crate::kernel::{Absence, Feature};
use crate::model::target::Target;
use crate::probe::glob::Glob;
use crate::probe::{loaded, suggest};

/// Iterators over the elements of one map, which is named when they are attached (those with an `attach_target` that
/// wants a map: `bpf_map_elem_reg_info` in kernel/bpf/map_iter.c and its kin in net/core).
const MAP_ITERATORS: [&str; 3] = ["bpf_map_elem", "bpf_sk_storage_map", "sockmap"];

/// Why no script can use this kind of iterator, on any kernel.
pub fn unusable_iterator(kind: &str) -> Option<Absence> {
    MAP_ITERATORS.contains(&kind).then(|| {
        Absence::new(
            "iterators over the elements of one map",
            "which map that is, a script can't say",
            "iter:bpf_map walks the maps themselves",
        )
    })
}

impl Expander<'_> {
    /// An iterator over kernel objects: the kernel declares `struct bpf_iter__KIND` for each kind.
    pub(super) fn iter(&self, kind: &Arc<str>, pin: Option<&Arc<str>>) -> Result<Vec<Target>, ExpandError> {
        self.kernel.features().require(Feature::Iter)?;
        let btf = self.kernel.btf()?;
        if btf.find_struct(&format!("bpf_iter__{kind}")).is_none() {
            return Err(ExpandError::Refused {
                message: format!("iter {kind} not available for your kernel version."),
                hint: "`-l 'iter:*'` lists those of this kernel, such as `iter:task`".into(),
            });
        }
        if let Some(absence) = unusable_iterator(kind) {
            return Err(absence.into());
        }
        if let Some(pin) = pin {
            return Err(ExpandError::Refused {
                message: format!("iter:{kind}:{pin}: a pinned iterator outlives the trace and would report to nobody"),
                hint: format!("write `iter:{kind}`"),
            });
        }
        Ok(vec![Target::Iter { kind: Arc::clone(kind) }])
    }

    /// Loaded programs by the names of their functions.
    pub(super) fn bpf_programs(&self, id: Option<u32>, program: &Glob, exit: bool) -> Result<Vec<Target>, ExpandError> {
        self.kernel.features().require(Feature::Fentry)?;
        let all = loaded::programs();
        let wanted = |p: &&loaded::LoadedProgram| id.is_none_or(|id| id == p.id) && program.matches(&p.function);
        let target = |p: &loaded::LoadedProgram| Target::Fentry {
            module: p.module().into(),
            function: Arc::clone(&p.function),
            btf_id: p.btf_id,
            exit,
        };
        let found: Vec<Target> = all.iter().filter(wanted).map(target).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let provider = if exit { "fexit" } else { "fentry" };
        let near = suggest::nearest(program.as_str(), all.iter().map(|p| &*p.function), 3);
        Err(ExpandError::NoMatch {
            kind: provider.to_owned(),
            name: id.map_or_else(|| format!("bpf:{program}"), |id| format!("bpf:{id}:{program}")),
            suggestions: near.into_iter().map(|name| format!("{provider}:bpf:{name}")).collect(),
            reason: Some("no BPF program that is loaded with types has a function of that name".into()),
        })
    }
}
