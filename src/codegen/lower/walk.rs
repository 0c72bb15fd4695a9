//! Questions about typed trees: effects, captured variables, which maps are written.

use std::collections::HashSet;

use crate::lang::typed::{Block, Expr, ExprKind, LocalId, Probe, Statement, StatementKind};

/// Calls `visit` on every expression of a block, statements inside expressions included.
pub fn each_expr<'a>(block: &'a Block, visit: &mut dyn FnMut(&'a Expr)) {
    each(block, &mut |_| (), visit);
}

/// Calls `on_statement` and `on_expr` on everything in a block.
pub fn each<'a>(block: &'a Block, on_statement: &mut dyn FnMut(&'a Statement), on_expr: &mut dyn FnMut(&'a Expr)) {
    for statement in &block.statements {
        on_statement(statement);
        let (exprs, blocks) = statement_parts(statement);
        for e in exprs {
            each_in(e, on_statement, on_expr);
        }
        for b in blocks {
            each(b, on_statement, on_expr);
        }
    }
}

/// Calls them on an expression and all below it.
pub fn each_in<'a>(e: &'a Expr, on_statement: &mut dyn FnMut(&'a Statement), on_expr: &mut dyn FnMut(&'a Expr)) {
    on_expr(e);
    for child in children(e) {
        each_in(child, on_statement, on_expr);
    }
    if let ExprKind::Block(block, _) = &e.kind {
        each(block, on_statement, on_expr);
    }
}

/// Calls them on everything in a probe, its predicate included.
pub fn each_of_probe<'a>(
    probe: &'a Probe,
    on_statement: &mut dyn FnMut(&'a Statement),
    on_expr: &mut dyn FnMut(&'a Expr),
) {
    each(&probe.body, on_statement, on_expr);
    if let Some(predicate) = &probe.predicate {
        each_in(predicate, on_statement, on_expr);
    }
}

/// Calls `visit` on every statement with those before it in its block, statements inside expressions included.
pub fn each_placed<'a>(block: &'a Block, visit: &mut dyn FnMut(&'a [Statement], &'a Statement)) {
    for (at, statement) in block.statements.iter().enumerate() {
        visit(&block.statements[..at], statement);
        let (exprs, blocks) = statement_parts(statement);
        for e in exprs {
            each_placed_in(e, visit);
        }
        for b in blocks {
            each_placed(b, visit);
        }
    }
}

/// Calls it on all statements inside an expression.
pub fn each_placed_in<'a>(e: &'a Expr, visit: &mut dyn FnMut(&'a [Statement], &'a Statement)) {
    if let ExprKind::Block(block, _) = &e.kind {
        each_placed(block, visit);
    }
    for child in children(e) {
        each_placed_in(child, visit);
    }
}

/// A statement's expressions and blocks.
pub fn statement_parts(statement: &Statement) -> (Vec<&Expr>, Vec<&Block>) {
    match &statement.kind {
        StatementKind::Expr(e) | StatementKind::SetLocal(_, e) => (vec![e], vec![]),
        StatementKind::SetMap { key, value, .. } => (key.iter().chain([value]).collect(), vec![]),
        StatementKind::Aggregate { key, value, weight, .. } => {
            (key.iter().chain(value).chain(weight).collect(), vec![])
        }
        StatementKind::Store { place, value } => (vec![place, value], vec![]),
        StatementKind::Report { values, .. } => (values.iter().collect(), vec![]),
        StatementKind::If(c, a, b) => (vec![c], vec![a, b]),
        StatementKind::While(c, a) => (vec![c], vec![a]),
        StatementKind::ForRange { start, end, body, .. } => (vec![start, end], vec![body]),
        StatementKind::ForMap { body, .. } | StatementKind::Unroll(_, body) | StatementKind::Block(body) => {
            (vec![], vec![body])
        }
        StatementKind::Return(e) => (e.iter().collect(), vec![]),
        StatementKind::Break | StatementKind::Continue | StatementKind::Fault(_) => (vec![], vec![]),
    }
}

/// The expressions right below one.
pub fn children(e: &Expr) -> Vec<&Expr> {
    e.children()
}

/// True when computing it changes nothing: no variable, no map, no process.
pub fn is_pure(e: &Expr) -> bool {
    let own = match &e.kind {
        ExprKind::MapDelete { .. }
        | ExprKind::MapFind { .. }
        | ExprKind::LocalStep { .. }
        | ExprKind::MapStep { .. }
        | ExprKind::CallUser(..)
        | ExprKind::Block(..) => false,
        ExprKind::Call(intrinsic, _) => !intrinsic.has_effect(),
        _ => true,
    };
    own && children(e).into_iter().all(is_pure)
}

/// Whether a statement mentions a local.
pub fn statement_mentions(s: &Statement, id: LocalId) -> bool {
    let assigned = |s: &Statement| match &s.kind {
        StatementKind::SetLocal(local, _)
        | StatementKind::ForRange { local, .. }
        | StatementKind::ForMap { local, .. } => *local == id,
        _ => false,
    };
    let mut found = assigned(s);
    let (exprs, blocks) = statement_parts(s);
    found |= exprs.into_iter().any(|e| expr_mentions(e, id));
    found || blocks.into_iter().any(|b| b.statements.iter().any(|s| statement_mentions(s, id)))
}

/// Whether an expression mentions a local.
pub fn expr_mentions(e: &Expr, id: LocalId) -> bool {
    let own = match &e.kind {
        ExprKind::Local(local)
        | ExprKind::Within { local, .. }
        | ExprKind::LocalStep { local, .. }
        | ExprKind::MapFind { local, .. } => *local == id,
        ExprKind::Block(block, _) => block.statements.iter().any(|s| statement_mentions(s, id)),
        _ => false,
    };
    own || children(e).into_iter().any(|c| expr_mentions(c, id))
}

/// Calls `visit` for every local that a statement mentions, as often as it does.
pub fn each_mention(s: &Statement, visit: &mut dyn FnMut(LocalId)) {
    each_own_mention(s, visit);
    statement_parts(s).1.into_iter().flat_map(|b| &b.statements).for_each(|s| each_mention(s, visit));
}

/// The same, without the statements of its blocks.
pub fn each_own_mention(s: &Statement, visit: &mut dyn FnMut(LocalId)) {
    if let StatementKind::SetLocal(local, _)
    | StatementKind::ForRange { local, .. }
    | StatementKind::ForMap { local, .. } = &s.kind
    {
        visit(*local);
    }
    statement_parts(s).0.into_iter().for_each(|e| each_mention_in(e, visit));
}

fn each_mention_in(e: &Expr, visit: &mut dyn FnMut(LocalId)) {
    match &e.kind {
        ExprKind::Local(id)
        | ExprKind::Within { local: id, .. }
        | ExprKind::LocalStep { local: id, .. }
        | ExprKind::MapFind { local: id, .. } => visit(*id),
        ExprKind::Block(block, _) => block.statements.iter().for_each(|s| each_mention(s, visit)),
        _ => {}
    }
    children(e).into_iter().for_each(|child| each_mention_in(child, visit));
}

/// The locals whose address a body takes.
pub fn addressed<'a>(body: &'a Block, predicate: Option<&'a Expr>) -> Vec<LocalId> {
    let mut found = Vec::new();
    let mut visit = |e: &'a Expr| match &e.kind {
        ExprKind::AddressOf(inner) if let ExprKind::Local(id) = &inner.kind => found.push(*id),
        ExprKind::Within { local, .. } => found.push(*local),
        _ => {}
    };
    each_expr(body, &mut visit);
    if let Some(predicate) = predicate {
        each_in(predicate, &mut |_| (), &mut visit);
    }
    found
}

/// Whether a statement takes a local's address.
pub fn takes_address(statement: &Statement, id: LocalId) -> bool {
    let (exprs, blocks) = statement_parts(statement);
    let own = |e: &Expr| matches!(&e.kind, ExprKind::AddressOf(a) if matches!(a.kind, ExprKind::Local(l) if l == id));
    let mut found = blocks.into_iter().any(|b| addressed(b, None).contains(&id));
    for e in exprs {
        each_in(e, &mut |_| (), &mut |e| found |= own(e));
    }
    found
}

/// The locals that an expression mentions.
pub fn locals_in(e: &Expr) -> Vec<LocalId> {
    let mut found = Vec::new();
    let mut blocks = Vec::new();
    each_in(e, &mut |_| (), &mut |e| match &e.kind {
        ExprKind::Local(id)
        | ExprKind::Within { local: id, .. }
        | ExprKind::LocalStep { local: id, .. }
        | ExprKind::MapFind { local: id, .. } => {
            found.push(*id);
        }
        ExprKind::Block(block, _) => blocks.push(block),
        _ => {}
    });
    found.extend(blocks.into_iter().flat_map(locals_of));
    found
}

/// The locals that a block mentions.
pub fn locals_of(block: &Block) -> Vec<LocalId> {
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    let mut note = |id: LocalId| {
        if known.insert(id) {
            found.push(id);
        }
    };
    let mut statements = Vec::new();
    each(block, &mut |s| statements.push(s), &mut |e| match &e.kind {
        ExprKind::Local(id)
        | ExprKind::Within { local: id, .. }
        | ExprKind::LocalStep { local: id, .. }
        | ExprKind::MapFind { local: id, .. } => {
            note(*id);
        }
        _ => {}
    });
    for s in statements {
        match &s.kind {
            StatementKind::SetLocal(id, _)
            | StatementKind::ForRange { local: id, .. }
            | StatementKind::ForMap { local: id, .. } => note(*id),
            _ => {}
        }
    }
    found
}
