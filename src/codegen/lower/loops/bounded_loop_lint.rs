//! Loops on kernels that know none (before Linux 5.17): their verifier follows each iteration.

use crate::lang::codes::run::FOLLOWED;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::lang::typed::Block;

use crate::codegen::lower::loops::cost;
use crate::codegen::lower::loops::strategy::{IterationMechanism, UNROLLED_WEIGHT};
use crate::codegen::lower::object::ObjectBuilder;

const HELP: &str =
    "write few constant iterations, `for $i : 0..16`, and leave them by `break`; Linux 5.17 needs no such care";

/// Tells of a plain loop that the verifier of a kernel without other loops may give up on: one of unknown
/// iterations, or of many with much in each.
pub fn warn_of_iterations<'a>(object: &mut ObjectBuilder<'a>, iterations: Option<u64>, body: &'a Block, span: Span) {
    if IterationMechanism::of(object.facts) != IterationMechanism::Counting {
        return;
    }
    let weight = |iterations: u64| iterations.saturating_mul(cost::block(object.cost_context(), body));
    let message = match iterations {
        Some(iterations) if weight(iterations) <= UNROLLED_WEIGHT => return,
        Some(iterations) => {
            format!("this kernel follows all {iterations} iterations of this loop before it runs, and may give up")
        }
        None => {
            "this kernel follows this loop iteration by iteration before it runs, and refuses it when it sees no end"
                .into()
        }
    };
    object.warn(Diagnostic::warning(FOLLOWED, span, message).help(HELP));
}
