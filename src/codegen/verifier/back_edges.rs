//! Edges that go back.
//!
//! Before Linux 6.8 the verifier takes an edge back from a jump alone (`push_insn` in `check_cfg`, kernel/bpf/verifier.c), not
//! from a block that runs on into the one behind it: such a block gets a jump.

use crate::codegen::ir::{BlockId, Function};

/// Blocks that would run on into the one behind them where that closes a loop: an optimised loop may be entered
/// in its middle. Goes through the blocks as `check_cfg` does.
#[must_use]
pub fn runs_on_backwards(function: &Function, order: &[BlockId]) -> Vec<BlockId> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Never,
        Entered,
        Left,
    }
    let mut behind = vec![None; function.blocks.len()];
    for pair in order.windows(2) {
        behind[pair[0].0 as usize] = Some(pair[1]);
    }
    let mut seen = vec![Seen::Never; function.blocks.len()];
    let mut found = Vec::new();
    let mut stack = vec![(BlockId(0), 0_usize)];
    seen[0] = Seen::Entered;
    while let Some((block, followed)) = stack.last_mut() {
        let block = *block;
        let terminator = &function.blocks[block.0 as usize].terminator;
        let mut targets: Vec<BlockId> = terminator.successors().into_iter().flatten().collect();
        let next = behind[block.0 as usize];
        // The path that no jump takes comes first.
        if targets.first().copied() != next {
            targets.reverse();
        }
        let Some(target) = targets.get(*followed).copied() else {
            seen[block.0 as usize] = Seen::Left;
            stack.pop();
            continue;
        };
        *followed += 1;
        match seen[target.0 as usize] {
            Seen::Never => {
                seen[target.0 as usize] = Seen::Entered;
                stack.push((target, 0));
            }
            Seen::Entered if targets.len() == 1 && Some(target) == next => found.push(block),
            Seen::Entered | Seen::Left => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::builder::FunctionBuilder;
    use crate::codegen::cfg::reverse_postorder;
    use crate::codegen::ir::{Cond, Linkage, Vreg};

    #[test]
    fn a_loop_entered_in_its_middle_is_closed_by_a_jump() {
        let mut b = FunctionBuilder::new("f", Linkage::Subprogram, 1);
        let [other, head, middle, done] = b.new_blocks();
        b.branch(Cond::Lt, Vreg::parameter(0), 1, other, head);
        b.switch_to(other);
        b.jump(middle);
        b.switch_to(head);
        b.jump(middle);
        b.switch_to(middle);
        b.branch(Cond::Lt, Vreg::parameter(0), 5, head, done);
        b.switch_to(done);
        b.ret(0);
        let f = b.finish();
        let order = reverse_postorder(&f);
        assert_eq!(order, [BlockId(0), other, head, middle, done]);
        assert_eq!(runs_on_backwards(&f, &order), [head]);
    }
}
