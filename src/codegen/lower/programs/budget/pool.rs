//! The pool: what CPUs leave of a budget, for those that need more.
//!
//! A budget is of all CPUs together. A part of each CPU's share is its own; the rest of all shares is a pool, from which
//! a CPU that has used its own part draws what it took beyond it and a piece in advance. One CPU never gets more than the
//! engine's bound, however much others leave.

use crate::codegen::artifact::{
    BUDGET_LIMIT, BUDGET_MOST_DRAWN, BUDGET_PERIOD_NS, BUDGET_POOL, BUDGET_POOL_PERIOD, BUDGET_POOL_TAKEN,
};
use crate::codegen::builder::{FunctionBuilder, atomic};
use crate::codegen::ir::{Alu, Cond, SectionId, Size, Vreg};
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::programs::branchless::at_least;

/// Word of a CPU: what it drew in its period, ns.
pub const CPU_DRAWN: i16 = 16;

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// What the CPU has got, ns.
    pub granted: Vreg,
    /// 1 where that is all it asked for.
    pub is_all: Vreg,
}

/// Draws what an account has taken (at most `taken` ns of the period) beyond its CPU's part, and a piece in advance.
pub fn draw(b: &mut FunctionBuilder, section: SectionId, line: Vreg, taken: Vreg) -> Drawn {
    let head = b.address(section.at(0));
    let limit = b.load(head, BUDGET_LIMIT as i16, Size::B8);
    let missing = beyond(b, taken, limit);
    let piece = b.shr(limit, 2);
    let wanted = b.add(missing, piece);
    let wanted = b.add(wanted, 1);
    let drawn = b.load(line, CPU_DRAWN, Size::B8);
    let most = b.load(head, BUDGET_MOST_DRAWN as i16, Size::B8);
    let room = beyond(b, most, drawn);
    let excess = beyond(b, wanted, room);
    let allowed = b.sub(wanted, excess);
    renew(b, head);
    // CPUs that ask at once each see at least their own part added: never is more given than there is.
    atomic::add(b, head, BUDGET_POOL_TAKEN as i16, Size::B8, allowed);
    let taken = b.load(head, BUDGET_POOL_TAKEN as i16, Size::B8);
    let pool = b.load(head, BUDGET_POOL as i16, Size::B8);
    let over = beyond(b, taken, pool);
    let granted = beyond(b, allowed, over);
    let drawn = b.add(drawn, granted);
    b.store(line, CPU_DRAWN, Size::B8, drawn);
    let is_all = at_least(b, granted, wanted);
    Drawn { granted, is_all }
}

/// By how much `a` is more than `c`, 0 where it is not.
pub fn beyond(b: &mut FunctionBuilder, a: Vreg, c: Vreg) -> Vreg {
    let more = at_least(b, a, c);
    let difference = b.sub(a, c);
    b.mul(difference, more)
}

/// Fills the pool where another period has begun. CPUs that find this at once may lose count of what one of them drew meanwhile.
fn renew(b: &mut FunctionBuilder, head: Vreg) {
    let now = b.call(h::KTIME_GET_NS, &[]);
    let period = b.alu(Alu::Div, now, BUDGET_PERIOD_NS as i64);
    let seen = b.load(head, BUDGET_POOL_PERIOD as i16, Size::B8);
    let [other, same] = b.new_blocks();
    b.branch(Cond::Ne, period, seen, other, same);
    b.switch_to(other);
    b.store(head, BUDGET_POOL_PERIOD as i16, Size::B8, period);
    b.store(head, BUDGET_POOL_TAKEN as i16, Size::B8, 0);
    b.jump(same);
    b.switch_to(same);
}
