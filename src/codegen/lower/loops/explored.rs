//! Whether the verifier explores iterations of a loop in a probe.

use crate::lang::typed::walk;
use crate::lang::typed::{Block, StatementKind};

use super::choice::while_strategy;
use super::cost::CostContext;
use super::strategy::LoopStrategy;

/// Whether the verifier follows iterations of a loop that a block has, or a function that it calls: those of unknown
/// number until it has seen all that one may begin with; known ones one by one, each from all that the one before
/// may have made of a number that matters; and before 6.5 a callback from all that its program may have made of any
/// number (`mark_all_scalars_precise`, kernel/bpf/verifier.c, until commit fde2a3882bd0). Nothing may be hidden,
/// though, where it has to find the end of a loop by itself.
pub fn has_explored_loop(context: CostContext<'_>, block: &Block) -> bool {
    let (mut any, mut unforeseen) = (false, false);
    for body in context.program.bodies_called(block) {
        walk::each_placed(body, &mut |before, s| {
            any |= s.loop_body().is_some();
            // The kernel has nothing for one whose iterations only the verifier counts.
            unforeseen |= matches!(&s.kind, StatementKind::While(condition, body)
                if while_strategy(context, before, condition, body) == LoopStrategy::None);
        });
    }
    any && !unforeseen
}
