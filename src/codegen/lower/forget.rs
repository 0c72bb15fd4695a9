//! What the verifier must not know of the variables that a loop changes.
//!
//! It follows a loop until a round begins as one before did. A number that it knows, and that is counted up, is
//! another one in every round; so is one that a round found to be a constant by comparing it. An unknown number
//! is like any other, but not when one of them was made by adding a constant to another register and the other
//! was not: their rounds differ for ever ("bpf: Track delta between "linked" registers.", commit 98d7ca374ba4 of
//! 6.11; `regsafe`, kernel/bpf/verifier.c).

use crate::codegen::ir::Operand;
use crate::lang::typed::{BinaryOp, Block, Expr, ExprKind, LocalId, StatementKind, UnaryOp};
use crate::lang::types::Type;

use super::func::{LocalHome, Lowerer};
use super::walk;

impl<'a> Lowerer<'_, 'a> {
    /// Hides from the verifier what it knows of the variables that a loop changes. A counter that it
    /// follows from a known start has another value in every round, so that no round is like the one
    /// before and it never comes to an end.
    pub fn forget_values(&mut self, body: &'a Block) {
        let changed = self.known_and_changed(body);
        self.forget_numbers(&changed);
    }

    /// The variables to forget at the begin of each round: those that the loop changes, where a round may find
    /// one of them to be a constant.
    pub fn forgotten_in_rounds(&self, condition: Option<&'a Expr>, body: &'a Block) -> Vec<LocalId> {
        let changed = self.known_and_changed(body);
        if meets_constants(&changed, condition, body) { changed } else { Vec::new() }
    }

    /// What to compare instead of a value, so that in a loop the verifier learns nothing from it. It walks a
    /// loop's body anew for every way that leaves a variable with other bounds, and they multiply with each
    /// further branch: while rounds are open, it takes a state for one it has seen only if all bounds are within
    /// those (`RANGE_WITHIN`, kernel/bpf/verifier.c), those of no consequence, too.
    pub fn compared(&mut self, e: &Expr, value: Operand) -> Operand {
        match value {
            Operand::Reg(v) if self.in_walked_loop() && lasts(e) => self.f.b.unlinked(v).into(),
            _ => value,
        }
    }

    /// Makes numbers of them that the verifier does not know.
    pub fn forget_numbers(&mut self, variables: &[LocalId]) {
        if variables.is_empty() {
            return;
        }
        let zero = self.unknown_zero();
        for id in variables {
            let value = self.read_local(*id);
            let value = self.f.b.in_register(value);
            let sum = self.f.b.add(value, zero);
            self.write_local(*id, sum.into());
        }
    }

    /// The numbers that a block changes and that are variables before it.
    fn known_and_changed(&self, body: &'a Block) -> Vec<LocalId> {
        let mut changed = changed(body);
        changed.retain(|id| {
            let known =
                matches!(self.homes[id.0 as usize], LocalHome::Reg(_) | LocalHome::Slot(_) | LocalHome::Frame(_));
            known && matches!(self.locals[id.0 as usize].ty, Type::Int { .. } | Type::Bool | Type::Enum { .. })
        });
        changed
    }
}

/// Whether a value is that of a variable, or of what is kept in one, or tells the verifier of that.
fn lasts(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Local(_) | ExprKind::LocalStep { .. } => true,
        ExprKind::Cast(inner) | ExprKind::TupleField(inner, _) => lasts(inner),
        ExprKind::Binary(op, a, b) => {
            b.as_int().is_some_and(|n| linked_by(*op, n)) && lasts(a)
                || commutes(*op) && a.as_int().is_some_and(|n| linked_by(*op, n)) && lasts(b)
        }
        _ => false,
    }
}

const fn commutes(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor)
}

/// Whether what the verifier learns of a result it learns of the number, too: that is the same one and stays in
/// its register, as `x << 0`, or is a constant away (see above).
const fn linked_by(op: BinaryOp, constant: u64) -> bool {
    match op {
        BinaryOp::Add | BinaryOp::Sub => true,
        BinaryOp::Shl | BinaryOp::Shr | BinaryOp::BitOr | BinaryOp::BitXor => constant == 0,
        BinaryOp::Mul | BinaryOp::Div => constant == 1,
        BinaryOp::BitAnd => constant == u64::MAX,
        _ => false,
    }
}

/// The variables that a block changes, each once.
fn changed(body: &Block) -> Vec<LocalId> {
    let mut steps: Vec<LocalId> = Vec::new();
    let mut changed: Vec<LocalId> = Vec::new();
    walk::each(
        body,
        &mut |s| {
            if let StatementKind::SetLocal(id, _) = &s.kind {
                changed.push(*id);
            }
        },
        &mut |e| {
            if let ExprKind::LocalStep { local, .. } = &e.kind {
                steps.push(*local);
            }
        },
    );
    changed.append(&mut steps);
    changed.sort_unstable_by_key(|id| id.0);
    changed.dedup();
    changed
}

/// Whether a round may leave a variable that it changes as a constant: it sets one to a constant, or goes by
/// whether one equals something.
fn meets_constants(changed: &[LocalId], condition: Option<&Expr>, body: &Block) -> bool {
    let of_changed = |e: &Expr| match &e.kind {
        ExprKind::Local(id) | ExprKind::LocalStep { local: id, .. } => changed.contains(id),
        _ => false,
    };
    let (mut set, mut met) = (false, false);
    let mut on_expr = |e: &Expr| {
        met |= match &e.kind {
            ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne, a, b) | ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                of_changed(a) || of_changed(b)
            }
            ExprKind::Unary(UnaryOp::Not, a) | ExprKind::Conditional(a, ..) => of_changed(a),
            _ => false,
        };
    };
    walk::each(
        body,
        &mut |s| match &s.kind {
            StatementKind::SetLocal(id, e) => set |= changed.contains(id) && (e.as_int().is_some() || chooses(e)),
            StatementKind::If(c, ..) | StatementKind::While(c, _) => set |= of_changed(c),
            _ => {}
        },
        &mut on_expr,
    );
    if let Some(c) = condition {
        walk::each_in(c, &mut |_| (), &mut on_expr);
    }
    set || met
}

/// Whether a value is one of several.
fn chooses(e: &Expr) -> bool {
    let mut found = false;
    walk::each_in(e, &mut |_| (), &mut |e| found |= matches!(e.kind, ExprKind::Conditional(..)));
    found
}
