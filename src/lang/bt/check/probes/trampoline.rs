//! Targets whose arguments come by a trampoline.

use crate::lang::facts::Refusal;
use crate::lang::facts::table::TypeTable;
use crate::model::target::Target;

/// The trampoline of a function whose return is probed, or why there is none.
pub fn trampoline(types: &TypeTable<'_>, target: &Target) -> Option<Result<Target, Refusal>> {
    let Target::Kprobe { module, function, offset: 0, ret: true } = target else { return None };
    let module = if module.is_empty() { String::new() } else { format!("{module}:") };
    let found = types.facts.expand(&format!("fexit:{module}{function}"));
    found.map(|list| list.into_iter().next().map(|(target, _)| target)).transpose()
}
