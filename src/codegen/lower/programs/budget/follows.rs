//! Probes that end what another one began, such as a return that takes the time since its entry.
//!
//! Were both throttled, each for itself, a begin that was noted before a pause would be taken for that of a later end, and
//! the time between them be wrong. So only the one that begins is turned off: the other has nothing to do soon after, for
//! its body runs only where something was begun, and it ends that. What it takes counts on its CPU all the same.

use crate::lang::typed::{BinaryOp, Block, Builtin, Expr, ExprKind, MapId, Probe, Program, Statement, StatementKind};

/// The probe that begins what this one ends; none for one that is throttled for itself.
pub fn leader(program: &Program, probe: u32) -> Option<u32> {
    let ended = ends(program.probes.get(probe as usize)?)?;
    let mut setters = (0..).zip(&program.probes).filter(|(index, other)| *index != probe && sets(other, ended));
    let (first, _) = setters.next().filter(|(_, other)| ends(other).is_none())?;
    // One that follows itself would not be turned off, either.
    setters.all(|(_, other)| ends(other).is_none()).then_some(first)
}

/// The map of what was begun: the probe does nothing without an element of it, and takes the element out.
fn ends(probe: &Probe) -> Option<MapId> {
    let (condition, body) = match (&probe.predicate, probe.body.statements.as_slice()) {
        (Some(predicate), _) => (predicate, &probe.body),
        (None, [Statement { kind: StatementKind::If(condition, body, otherwise), .. }])
            if otherwise.statements.is_empty() =>
        {
            (condition, body)
        }
        _ => return None,
    };
    let mut needed = Vec::new();
    needs(condition, &mut needed);
    needed.into_iter().find(|map| takes_out(body, *map))
}

/// The maps without an element of which a condition does not hold.
fn needs(condition: &Expr, found: &mut Vec<MapId>) {
    match &condition.kind {
        ExprKind::MapGet { map, key: Some(_) } | ExprKind::MapHas { map, .. } => found.push(*map),
        ExprKind::And(a, b) => [a, b].into_iter().for_each(|side| needs(side, found)),
        // In a session the entry keeps something with the call itself, and the return does nothing without it.
        ExprKind::Or(in_session, apart) if is_of_session(in_session) => needs(apart, found),
        ExprKind::Cast(e) => needs(e, found),
        ExprKind::Binary(BinaryOp::Ne | BinaryOp::Gt, e, zero) if matches!(zero.kind, ExprKind::Int(0)) => {
            needs(e, found);
        }
        _ => {}
    }
}

/// Whether a block always takes an element out, or makes it 0.
fn takes_out(body: &Block, wanted: MapId) -> bool {
    body.statements.iter().any(|statement| match &statement.kind {
        StatementKind::Expr(Expr { kind: ExprKind::MapDelete { map, .. }, .. }) => *map == wanted,
        StatementKind::SetMap { map, value, .. } => *map == wanted && matches!(value.kind, ExprKind::Int(0)),
        StatementKind::Block(inner) => takes_out(inner, wanted),
        StatementKind::If(condition, _, apart) if is_of_session(condition) => takes_out(apart, wanted),
        _ => false,
    })
}

/// Whether a condition holds in sessions alone.
fn is_of_session(condition: &Expr) -> bool {
    match &condition.kind {
        ExprKind::Builtin(Builtin::InSession) => true,
        ExprKind::And(a, _) | ExprKind::Cast(a) => is_of_session(a),
        ExprKind::Binary(BinaryOp::Ne, a, zero) if matches!(zero.kind, ExprKind::Int(0)) => is_of_session(a),
        _ => false,
    }
}

/// Whether a probe gives elements of a map a value.
fn sets(probe: &Probe, wanted: MapId) -> bool {
    probe.all_statements().any(|s| {
        matches!(&s.kind, StatementKind::SetMap { map, value, .. }
            if *map == wanted && !matches!(value.kind, ExprKind::Int(0)))
    })
}
