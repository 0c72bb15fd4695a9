//! Optimisation of IR before registers are given out.
//!
//! Nothing here removes a check that the verifier needs: an `And` stays unless its operands are
//! constants or its mask has every bit, and comparisons go only when both sides are constants.

use crate::codegen::ir::Function;

mod branches;
mod dead;
mod fold;
mod values;

/// Iterations of all passes; most functions need two.
const PASSES: u32 = 4;

/// Optimises a function whose registers are all written before they are read.
pub fn optimise(function: &mut Function) {
    for _ in 0..PASSES {
        let mut changed = values::propagate(function);
        changed |= branches::simplify(function);
        changed |= dead::narrow(function);
        changed |= dead::remove(function);
        if !changed {
            break;
        }
    }
}

#[cfg(test)]
mod tests;
