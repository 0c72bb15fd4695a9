//! BPF iterators.

use std::sync::Arc;

use super::{ExpandError, Expander};
use crate::kernel::Feature;
use crate::lang::typed::Target;

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
        Ok(vec![Target::Iter { kind: Arc::clone(kind), pin: pin.cloned() }])
    }
}
