//! Which values tell how long something took: differences of a clock and what it was before.

use super::keys::Keys;
use super::{BinaryOp, Builtin, Expr, ExprKind};

/// Expressions that are nested deeper are not looked into.
const DEEPEST: u32 = 16;

impl Keys<'_> {
    /// How many ns one unit of such a value is: 1 for `nsecs - @start[tid]`, 1000 where that is divided by 1000.
    #[must_use]
    pub fn duration_unit_ns(&self, e: &Expr) -> Option<u64> {
        self.unit(e, DEEPEST)
    }

    fn unit(&self, e: &Expr, depth: u32) -> Option<u64> {
        let depth = depth.checked_sub(1)?;
        match &e.kind {
            ExprKind::Local(local) => self.unit(self.set_once(*local)?, depth),
            ExprKind::Cast(inner) => self.unit(inner, depth),
            ExprKind::Binary(BinaryOp::Sub, now, before) => {
                (self.is_clock(now, depth) && before.as_int().is_none()).then_some(1)
            }
            ExprKind::Binary(BinaryOp::Div, a, by) => {
                self.unit(a, depth)?.checked_mul(by.as_int()?).filter(|ns| *ns > 0)
            }
            ExprKind::Conditional(_, yes, no) => self.unit(yes, depth).or_else(|| self.unit(no, depth)),
            _ => None,
        }
    }

    fn is_clock(&self, e: &Expr, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        match &e.kind {
            ExprKind::Local(local) => self.set_once(*local).is_some_and(|e| self.is_clock(e, depth)),
            ExprKind::Cast(inner) => self.is_clock(inner, depth),
            ExprKind::Builtin(Builtin::Nsecs(_) | Builtin::Elapsed) => true,
            _ => false,
        }
    }
}
