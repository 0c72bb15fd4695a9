//! Whether the verifier explores iterations of a loop in a probe.

use crate::lang::typed::{Block, ExprKind, StatementKind};

use super::choice::while_strategy;
use super::cost::CostContext;
use super::strategy::LoopStrategy;
use crate::codegen::lower::walk;

/// Whether the verifier follows iterations of a loop that a block has, or a function that it calls: those of unknown
/// number until it has seen all that one may begin with; known ones one by one, each from all that the one before
/// may have made of a number that matters; and before 6.5 a callback from all that its program may have made of any
/// number (`mark_all_scalars_precise`, kernel/bpf/verifier.c, until commit fde2a3882bd0). Nothing may be hidden,
/// though, where it has to find the end of a loop by itself.
pub fn has_explored_loop(scale: CostContext<'_>, block: &Block) -> bool {
    let mut loops = Loops::default();
    loops.add(scale, block);
    loops.any && !loops.unforeseen
}

/// The loops of a block, and of the functions that it calls.
#[derive(Default)]
struct Loops {
    any: bool,
    /// The kernel has nothing for one, whose iterations only the verifier counts.
    unforeseen: bool,
}

impl Loops {
    fn add(&mut self, scale: CostContext<'_>, block: &Block) {
        walk::each_placed(block, &mut |before, s| match &s.kind {
            StatementKind::While(condition, body) => {
                self.any = true;
                self.unforeseen |= while_strategy(scale, before, condition, body) == LoopStrategy::None;
            }
            StatementKind::ForRange { .. } | StatementKind::ForMap { .. } | StatementKind::Unroll(..) => {
                self.any = true;
            }
            _ => {}
        });
        let Some(depth) = scale.depth.checked_sub(1) else { return };
        let mut called = Vec::new();
        walk::each_expr(block, &mut |e| {
            if let ExprKind::CallUser(id, _) = &e.kind {
                called.push(id.0);
            }
        });
        for function in called.into_iter().filter_map(|id| scale.program.functions.get(id as usize)) {
            self.add(CostContext { depth, ..scale }, &function.body);
        }
    }
}
