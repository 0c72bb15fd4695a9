//! `while` loops that count: a variable set to a constant, compared with a constant, and stepped by a
//! constant once in every iteration. Such a loop's iterations are known, so that the verifier can follow them.

use crate::lang::typed::walk::{self, Node};
use crate::lang::typed::{BinaryOp, Block, Expr, ExprKind, LocalId, Statement, StatementKind};
use crate::lang::types::Type;

/// Iterations of the loop with this condition and body, when the statements before it and the loop itself
/// make them known.
pub fn iterations(before: &[Statement], condition: &Expr, body: &Block) -> Option<u64> {
    let ExprKind::Binary(op, left, right) = &condition.kind else { return None };
    let (ExprKind::Local(counter), Some(limit)) = (&left.kind, right.as_int()) else { return None };
    let wide = matches!(left.ty, Type::Int { size: 8, .. });
    let (first, limit) = (i128::from(first_value(before, *counter)? as i64), i128::from(limit as i64));
    // Beyond this the sign would matter, or the counter would wrap.
    let small = |n: i128| (0..1 << 32).contains(&n);
    // What has an address lies in memory, where the verifier does not follow it.
    let near = body.nodes().chain(condition.nodes()).chain(before.iter().flat_map(Statement::nodes));
    let addressed = walk::addressed(near).any(|local| local == *counter);
    if addressed || !wide || !small(first) || !small(limit) || writes(body, *counter) != 1 || continues(body) {
        return None;
    }
    let step = i128::from(body.statements.iter().find_map(|s| step(s, *counter))?);
    let (distance, step) = match op {
        BinaryOp::Lt => (limit - first, step),
        BinaryOp::Le => (limit + 1 - first, step),
        // Downwards an unsigned counter would wrap before it is less than nothing.
        BinaryOp::Gt => (first - limit, -step),
        _ => return None,
    };
    if step <= 0 {
        return None;
    }
    u64::try_from(distance.max(0).div_euclid(step) + i128::from(distance.max(0).rem_euclid(step) != 0)).ok()
}

/// The constant that the counter has before the loop.
fn first_value(before: &[Statement], counter: LocalId) -> Option<u64> {
    let last = before.iter().rev().find(|s| s.mentions(counter))?;
    match &last.kind {
        StatementKind::SetLocal(id, e) if *id == counter => e.as_int(),
        _ => None,
    }
}

/// What a statement adds to the counter, when that is all it does.
fn step(s: &Statement, counter: LocalId) -> Option<i64> {
    match &s.kind {
        StatementKind::Expr(Expr { kind: ExprKind::LocalStep { local, delta, .. }, .. }) if *local == counter => {
            Some(*delta)
        }
        StatementKind::SetLocal(id, Expr { kind: ExprKind::Binary(op, a, b), .. }) if *id == counter => {
            let own = matches!(a.kind, ExprKind::Local(local) if local == counter);
            let n = b.as_int().filter(|_| own)? as i64;
            match op {
                BinaryOp::Add => Some(n),
                BinaryOp::Sub => n.checked_neg(),
                _ => None,
            }
        }
        _ => None,
    }
}

/// How many places in a block write a local.
fn writes(block: &Block, id: LocalId) -> usize {
    let written = |node: Node<'_>| match node {
        Node::Statement(s) => s.assigned(),
        Node::Expr(e) => match &e.kind {
            ExprKind::LocalStep { local, .. } | ExprKind::MapFind { local, .. } => Some(*local),
            _ => None,
        },
    };
    block.nodes().filter_map(written).filter(|local| *local == id).count()
}

/// Whether anything in a block goes on to a loop's next iteration, and may leave out the step.
fn continues(block: &Block) -> bool {
    block.all_statements().any(|s| matches!(s.kind, StatementKind::Continue))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::source::Span;

    const I: LocalId = LocalId(0);

    fn e(kind: ExprKind) -> Expr {
        Expr { kind, ty: Type::I64, span: Span::default() }
    }

    fn s(kind: StatementKind) -> Statement {
        Statement { kind, span: Span::default() }
    }

    fn binary(op: BinaryOp, limit: i64) -> Expr {
        e(ExprKind::Binary(op, Box::new(e(ExprKind::Local(I))), Box::new(e(ExprKind::Int(limit as u64)))))
    }

    fn stepped(delta: i64) -> Statement {
        s(StatementKind::Expr(e(ExprKind::LocalStep { local: I, delta, postfix: true })))
    }

    fn counted(first: i64, op: BinaryOp, limit: i64, body: Vec<Statement>) -> Option<u64> {
        let before = [s(StatementKind::SetLocal(I, e(ExprKind::Int(first as u64))))];
        iterations(&before, &binary(op, limit), &Block::new(body))
    }

    #[test]
    fn trip_counts_of_counting_loops_are_known() {
        assert_eq!(counted(0, BinaryOp::Lt, 5, vec![stepped(1)]), Some(5));
        assert_eq!(counted(1, BinaryOp::Le, 9, vec![stepped(1), s(StatementKind::Break)]), Some(9));
        assert_eq!(counted(9, BinaryOp::Gt, 0, vec![stepped(-1)]), Some(9));
        assert_eq!(counted(7, BinaryOp::Lt, 5, vec![stepped(1)]), Some(0));
        let by_three = s(StatementKind::SetLocal(I, binary(BinaryOp::Add, 3)));
        assert_eq!(counted(0, BinaryOp::Lt, 10, vec![by_three]), Some(4));
    }

    #[test]
    fn others_are_not() {
        assert_eq!(counted(0, BinaryOp::Lt, 5, vec![]), None, "it never steps");
        assert_eq!(counted(0, BinaryOp::Lt, 5, vec![stepped(-1)]), None, "it steps away");
        assert_eq!(counted(0, BinaryOp::Lt, 5, vec![stepped(1), stepped(1)]), None);
        assert_eq!(counted(0, BinaryOp::Lt, 5, vec![s(StatementKind::Continue), stepped(1)]), None);
        assert_eq!(counted(0, BinaryOp::Ge, 0, vec![stepped(-1)]), None, "without an end when unsigned");
        assert_eq!(counted(-3, BinaryOp::Lt, 5, vec![stepped(1)]), None);
        let inner = Block::new(vec![stepped(1)]);
        let sometimes = s(StatementKind::If(e(ExprKind::Int(1)), inner, Block::default()));
        assert_eq!(counted(0, BinaryOp::Lt, 5, vec![sometimes]), None);
        assert_eq!(iterations(&[], &binary(BinaryOp::Lt, 5), &Block::new(vec![stepped(1)])), None);
    }
}
