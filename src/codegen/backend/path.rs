//! How many instructions a firing runs: a static estimate for the status line.

use super::insn::{Insn, OP_CALL, OP_EXIT, OP_JA, OP_LD_IMM64};

/// Instructions on the shortest and longest path through a function. Loops count as run once;
/// helpers and subprograms count as one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PathCost {
    /// On the shortest path.
    pub least: u32,
    /// On the longest path that goes through no loop twice.
    pub most: u32,
    /// Calls of helpers on the longest path.
    pub calls: u32,
}

/// Estimates a function's cost from its machine code.
#[must_use]
pub fn estimate(code: &[u8]) -> PathCost {
    let insns: Vec<Insn> = code.as_chunks::<8>().0.iter().map(|bytes| Insn::decode(*bytes)).collect();
    let mut costs = vec![PathCost::default(); insns.len() + 1];
    // Backwards: what follows is known, except behind jumps back, which end a path.
    for at in (0..insns.len()).rev() {
        let insn = insns[at];
        let next = if insn.code == OP_LD_IMM64 { at + 2 } else { at + 1 };
        let target = |off: i16| (at as i64 + 1 + i64::from(off)) as usize;
        let ahead = |to: usize| if to > at { costs.get(to).copied() } else { None };
        let mut cost = match insn.code {
            OP_EXIT => PathCost::default(),
            OP_JA => ahead(target(insn.off)).unwrap_or_default(),
            OP_CALL => ahead(next).unwrap_or_default(),
            code if matches!(code & 7, 5 | 6) => both(ahead(next), ahead(target(insn.off))),
            _ => ahead(next).unwrap_or_default(),
        };
        cost.least += 1;
        cost.most += 1;
        cost.calls += u32::from(insn.code == OP_CALL);
        costs[at] = cost;
    }
    costs[0]
}

fn both(a: Option<PathCost>, b: Option<PathCost>) -> PathCost {
    match (a, b) {
        (Some(a), Some(b)) => {
            let longer = if a.most >= b.most { a } else { b };
            PathCost { least: a.least.min(b.least), ..longer }
        }
        (a, b) => a.or(b).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::backend::insn::Reg;
    use crate::codegen::ir::{Cond, Width};

    #[test]
    fn the_longest_and_shortest_paths_are_told_apart() {
        let mut skip = Insn::jump_imm(Cond::Eq, Width::W64, Reg(1), 0);
        skip.off = 2;
        let code = [skip, Insn::call(0, 14), Insn::call(0, 15), Insn::mov_imm(Reg(0), 0), Insn::exit()];
        let bytes: Vec<u8> = code.iter().flat_map(|i| i.encode()).collect();
        assert_eq!(estimate(&bytes), PathCost { least: 3, most: 5, calls: 2 });
    }
}
