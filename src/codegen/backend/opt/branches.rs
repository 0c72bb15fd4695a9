//! Branches and blocks: unreachable ones go, jumps to jumps are followed, a branch whose outcome is
//! known on the path to it is skipped, and blocks that always follow each other become one.

use crate::codegen::ir::{BlockId, Function, Inst, Operand, Terminator, Vreg};

use super::fold;
use crate::codegen::cfg::{predecessor_counts, reverse_postorder};

/// Simplifies; true when something changed.
pub fn simplify(function: &mut Function) -> bool {
    let mut changed = thread(function);
    changed |= merge(function);
    changed |= clear_unreachable(function);
    changed
}

/// Redirects every path that leads through a block without code.
fn thread(function: &mut Function) -> bool {
    let mut changed = false;
    for at in reverse_postorder(function) {
        let mut terminator = function.blocks[at.0 as usize].terminator.clone();
        terminator.for_each_successor_mut(|next| *next = destination(function, at, *next));
        if let Terminator::Branch { then, otherwise, .. } = terminator
            && then == otherwise
        {
            terminator = Terminator::Jump(then);
        }
        if let Terminator::Jump(to) = terminator {
            let target = &function.blocks[to.0 as usize];
            if target.instructions.is_empty() && matches!(target.terminator, Terminator::Return(_)) {
                terminator = target.terminator.clone();
            }
        }
        if terminator != function.blocks[at.0 as usize].terminator {
            function.blocks[at.0 as usize].terminator = terminator;
            changed = true;
        }
    }
    changed
}

/// Where a path from `from` to `to` ends up.
fn destination(function: &Function, from: BlockId, to: BlockId) -> BlockId {
    let mut at = to;
    for _ in 0..16 {
        let block = &function.blocks[at.0 as usize];
        if !block.instructions.is_empty() {
            break;
        }
        let next = match &block.terminator {
            Terminator::Jump(next) => *next,
            Terminator::Branch { cond, width, a, b: Operand::Imm(b), then, otherwise } => {
                match last_constant(function, from, *a) {
                    Some(a) if fold::holds(*cond, *width, a, *b) => *then,
                    Some(_) => *otherwise,
                    None => break,
                }
            }
            _ => break,
        };
        if next == at {
            break;
        }
        at = next;
    }
    at
}

/// The constant that a block leaves in a register.
fn last_constant(function: &Function, block: BlockId, v: Vreg) -> Option<i64> {
    let instructions = &function.blocks[block.0 as usize].instructions;
    let last = instructions.iter().rev().find(|(inst, _)| inst.dst() == Some(v))?;
    match last.0 {
        Inst::Copy { src: Operand::Imm(n), .. } => Some(n),
        _ => None,
    }
}

/// Joins each block that ends with a jump to one that nothing else leads to.
fn merge(function: &mut Function) -> bool {
    let order = reverse_postorder(function);
    let counts = predecessor_counts(function, &order);
    let mut changed = false;
    for at in order {
        while let Terminator::Jump(next) = function.blocks[at.0 as usize].terminator
            && next != at
            && counts[next.0 as usize] == 1
            && next != BlockId(0)
        {
            let block = &mut function.blocks[next.0 as usize];
            let code = std::mem::take(&mut block.instructions);
            let terminator = std::mem::replace(&mut block.terminator, Terminator::Return(Operand::Imm(0)));
            let span = block.span;
            let first = &mut function.blocks[at.0 as usize];
            first.instructions.extend(code);
            first.terminator = terminator;
            first.span = span;
            changed = true;
        }
    }
    changed
}

/// Empties blocks that nothing leads to, so that what they read counts no more.
fn clear_unreachable(function: &mut Function) -> bool {
    let mut reachable = vec![false; function.blocks.len()];
    for block in reverse_postorder(function) {
        reachable[block.0 as usize] = true;
    }
    let mut changed = false;
    for (block, _) in function.blocks.iter_mut().zip(&reachable).filter(|(_, reachable)| !**reachable) {
        changed |= !block.instructions.is_empty();
        block.instructions.clear();
        block.terminator = Terminator::Return(Operand::Imm(0));
    }
    changed
}
