//! BPF iterators.

use std::sync::Arc;

use super::{ExpandError, Expander, no_match};
use crate::kernel::Feature;
use crate::lang::typed::Target;

impl Expander<'_> {
    /// An iterator over kernel objects: the kernel declares `struct bpf_iter__KIND` for each kind.
    pub(super) fn iter(&self, kind: &Arc<str>, pin: Option<&Arc<str>>) -> Result<Vec<Target>, ExpandError> {
        self.kernel.features().require(Feature::Iter)?;
        let btf = self.kernel.btf()?;
        if btf.find_struct(&format!("bpf_iter__{kind}")).is_none() {
            let suggestions = ["task", "task_file", "task_vma"].map(|k| format!("iter:{k}")).to_vec();
            return Err(no_match("iterator", kind, suggestions));
        }
        Ok(vec![Target::Iter { kind: Arc::clone(kind), pin: pin.cloned() }])
    }
}
