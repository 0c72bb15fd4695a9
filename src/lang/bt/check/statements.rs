//! Statements.

mod loops;

use crate::lang::bt::ast;
use crate::lang::codes::check::{
    DISCARDED_VALUE, DUPLICATE, NO_VALUE, NOT_ASSIGNABLE, OUTSIDE_LOOP, TYPE_MISMATCH, UNREACHABLE,
};
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::lang::typed::{Block, Expr, ExprKind, Statement, StatementKind};
use crate::lang::types::Type;

use crate::lang::bt::check::calls::map;
use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::expr::decided;
use crate::lang::bt::check::frame::variables;
use crate::lang::bt::check::literal::{constant, convert_scalar, effect, element_types};
use crate::lang::bt::check::{coerce, expr, frame, join, maps, operators, place, strict, type_text, typename};

/// Does nothing run that stands behind this statement in its block?
fn ends(statement: &ast::Statement) -> bool {
    let block_ends = |block: &ast::Block| block.value.is_none() && block.statements.last().is_some_and(ends);
    match &statement.kind {
        ast::StatementKind::Return(_) | ast::StatementKind::Break | ast::StatementKind::Continue => true,
        ast::StatementKind::Expr(ast::Expr { kind: ast::ExprKind::Call(name, _), .. }) => &*name.text == "exit",
        ast::StatementKind::If(_, then, Some(other)) => block_ends(then) && block_ends(other),
        ast::StatementKind::Block(block) => block_ends(block),
        _ => false,
    }
}

impl Checker<'_> {
    /// A block's statements in the present scope.
    pub fn block_body(&mut self, block: &ast::Block) -> Block {
        let mut statements = self.statements(&block.statements);
        if let Some(value) = &block.value {
            if let [.., last] = &*block.statements
                && ends(last)
            {
                warn_unreachable(self, value.span);
            }
            expression_statement(self, value, value.span, &mut statements);
        }
        Block::new(statements)
    }

    pub fn statements(&mut self, list: &[ast::Statement]) -> Vec<Statement> {
        let mut out = Vec::with_capacity(list.len());
        let mut reached = true;
        for statement in list {
            if !std::mem::replace(&mut reached, true) {
                warn_unreachable(self, strict::whole_statement(self, statement.span));
            }
            check_statement(self, statement, &mut out);
            reached = !ends(statement);
        }
        out
    }
}

/// A block in a scope of its own; a trailing value is evaluated for its effect.
pub fn block(c: &mut Checker<'_>, block: &ast::Block) -> Block {
    c.scoped(|c| c.block_body(block))
}

fn warn_unreachable(c: &mut Checker<'_>, span: Span) {
    c.warn(UNREACHABLE, span, "Unreachable statement.", None);
}

fn check_statement(c: &mut Checker<'_>, statement: &ast::Statement, out: &mut Vec<Statement>) {
    let span = statement.span;
    let kind = match &statement.kind {
        ast::StatementKind::Expr(e) => return expression_statement(c, e, span, out),
        ast::StatementKind::Assign { target, op, value } => return assign(c, target, *op, value, span, out),
        ast::StatementKind::Let { name, ty, value } => {
            return let_statement(c, name, ty.as_ref(), value.as_ref(), statement, out);
        }
        ast::StatementKind::Discard(e) => {
            let typed = c.expr(e);
            out.extend(effect(typed).statements);
            return;
        }
        ast::StatementKind::If(asked, then, other) => {
            let condition = c.value(asked);
            let condition = c.condition(condition);
            if let Some(taken) = decided(asked, &condition) {
                let taken = if taken { Some(then) } else { other.as_ref() };
                let block = taken.map(|b| block(c, b)).unwrap_or_default();
                out.push(Statement { kind: StatementKind::Block(block), span });
                return;
            }
            let then = block(c, then);
            let other = other.as_ref().map(|b| block(c, b)).unwrap_or_default();
            StatementKind::If(condition, then, other)
        }
        ast::StatementKind::While(condition, body) => {
            strict::warn_while(c, span);
            let condition = c.value(condition);
            let condition = c.condition(condition);
            StatementKind::While(condition, loops::program_loop_body(c, body))
        }
        ast::StatementKind::For { name, over, body } => loops::for_statement(c, name, over, body),
        ast::StatementKind::Unroll(count, body) => {
            let count = loops::unroll_count(c, count, span);
            StatementKind::Unroll(count, loops::loop_body(c, body))
        }
        ast::StatementKind::Break => loop_exit(c, "break", StatementKind::Break, span),
        ast::StatementKind::Continue => loop_exit(c, "continue", StatementKind::Continue, span),
        ast::StatementKind::Return(value) => return_statement(c, value.as_ref(), span),
        ast::StatementKind::Block(inner) => {
            StatementKind::Block(expr::expanding(c, inner.span, span, |c| block(c, inner)))
        }
    };
    out.push(Statement { kind, span });
}

fn expression_statement(c: &mut Checker<'_>, e: &ast::Expr, span: Span, out: &mut Vec<Statement>) {
    if let ast::ExprKind::Map(name, keys) = &e.kind {
        // A map alone is nothing to do; older scripts have such lines.
        let typed = maps::map_get(c, name, keys.as_deref(), e.span);
        if !matches!(typed.ty, Type::Error) {
            warn_discarded(c, span);
        }
        return;
    }
    let typed = c.expr(e);
    match (&typed.kind, &typed.ty) {
        (_, Type::Error) => {}
        (_, Type::Void) => out.extend(effect(typed).statements),
        (ExprKind::MapDelete { .. } | ExprKind::MapFind { .. }, _) if c.options.like_bpftrace => {
            warn_discarded(c, span);
            out.push(Statement { kind: StatementKind::Expr(typed), span });
        }
        (ExprKind::And(..) | ExprKind::Or(..) | ExprKind::Conditional(..), _) if c.options.like_bpftrace => {
            warn_discarded(c, span);
            out.push(Statement { kind: StatementKind::Expr(typed), span });
        }
        (
            ExprKind::LocalStep { .. }
            | ExprKind::MapStep { .. }
            | ExprKind::MapDelete { .. }
            | ExprKind::MapFind { .. }
            | ExprKind::CallUser(..),
            _,
        ) => out.push(Statement { kind: StatementKind::Expr(typed), span }),
        (ExprKind::Block(..) | ExprKind::And(..) | ExprKind::Or(..) | ExprKind::Conditional(..), _) => {
            out.push(Statement { kind: StatementKind::Expr(typed), span });
        }
        _ => warn_discarded(c, span),
    }
}

fn warn_discarded(c: &mut Checker<'_>, span: Span) {
    let help = (!c.options.like_bpftrace).then(|| "write `_ = ...;` to say that it is meant".to_owned());
    c.warn(DISCARDED_VALUE, strict::discarded_mark(c, span), "Return value discarded.", help);
}

fn let_statement(
    c: &mut Checker<'_>,
    name: &ast::Name,
    ty: Option<&ast::TypeName>,
    value: Option<&ast::Expr>,
    statement: &ast::Statement,
    out: &mut Vec<Statement>,
) {
    let span = statement.span;
    let fixed = ty.map(|t| typename::type_name(c, t));
    let whole = value.map_or(span, |v| Span::new(span.start, v.span.end));
    let value = value.map(|v| c.value(v));
    if let Some(outer) = c.frame.shadowed(&name.text) {
        let message = format!("Variable {} was already declared. Variable shadowing is not allowed.", name.text);
        refuse_shadow(c, name.span, message, outer);
    }
    let id = c.frame.declare(&name.text, fixed, name.span);
    match value {
        Some(value) => {
            c.assigning = Some(whole);
            let value = frame::assign_local(c, id, value);
            c.assigning = None;
            out.push(Statement { kind: StatementKind::SetLocal(id, value), span });
        }
        None => {
            let local = &mut c.frame.locals[id.0 as usize];
            local.empty = true;
            // The declaration as a whole is what lacks a value.
            local.span = if c.options.like_bpftrace { Span::new(span.start, name.span.end) } else { name.span };
            out.extend(variables::zero_statement(c, id, span));
        }
    }
}

pub fn refuse_shadow(c: &mut Checker<'_>, span: Span, message: String, outer: Span) {
    let diagnostic = Diagnostic::error(DUPLICATE, span, message).label(outer, "first declared here");
    c.push(diagnostic.help("two values need two names; to set the first one write no `let`"));
}

fn assign(
    c: &mut Checker<'_>,
    target: &ast::Expr,
    op: Option<ast::BinaryOp>,
    value: &ast::Expr,
    span: Span,
    out: &mut Vec<Statement>,
) {
    let kind = match (&target.kind, op) {
        (ast::ExprKind::Variable(name), None) => {
            let whole = target.span.to(value.span);
            let value = c.value(value);
            c.assigning = Some(whole);
            let kind = frame::set_variable(c, name, target.span, value);
            c.assigning = None;
            kind
        }
        (ast::ExprKind::Variable(name), Some(op)) => {
            let left = frame::variable(c, name, target.span);
            let right = c.value(value);
            let ExprKind::Local(id) = left.kind else { return };
            let combined = operators::operate(c, op, left, right, strict::compound_mark(c, target.span, value, span));
            let combined = frame::assign_local(c, id, combined);
            StatementKind::SetLocal(id, combined)
        }
        (ast::ExprKind::Map(name, keys), None) => {
            match assign_map(c, name, keys.as_deref(), target.span, value, span) {
                Some(kind) => kind,
                None => return,
            }
        }
        (ast::ExprKind::Map(name, keys), Some(op)) => {
            compound_map(c, name, keys.as_deref(), target.span, op, value, span)
        }
        (ast::ExprKind::Tuple(targets), None) => return assign_tuple(c, targets, value, span, out),
        (ast::ExprKind::Ident(name), None) if &**name == "_" => {
            let typed = c.expr(value);
            out.extend(effect(typed).statements);
            return;
        }
        (ast::ExprKind::Error, _) => {
            let _ = c.expr(value);
            return;
        }
        _ => {
            let _ = c.value(value);
            c.error_help(NOT_ASSIGNABLE, target.span, "this can't be assigned to", Some(not_assignable_help(target)));
            return;
        }
    };
    out.push(Statement { kind, span });
}

fn assign_map(
    c: &mut Checker<'_>,
    name: &std::sync::Arc<str>,
    keys: Option<&[ast::Expr]>,
    target: Span,
    value: &ast::Expr,
    span: Span,
) -> Option<StatementKind> {
    if let ast::ExprKind::Block(block) = &value.kind
        && let Some(last) = &block.value
        && is_aggregation(last)
    {
        // `@m = { let $a = ...; avg($a) }`: the block's last value is what is collected.
        let block = c.scoped(|c| {
            let mut statements = c.statements(&block.statements);
            let kind = assign_map(c, name, keys, target, last, span);
            statements.extend(kind.map(|kind| Statement { kind, span }));
            Block::new(statements)
        });
        return Some(StatementKind::Block(block));
    }
    if let ast::ExprKind::Call(function, args) = &value.kind
        && let Some((agg, argument, weight)) = map::aggregation(c, function, args, value.span)
    {
        return Some(maps::aggregate(c, (name, keys, target), agg?, argument, weight, value.span));
    }
    let whole = target.to(value.span);
    let value = c.value(value);
    c.assigning = Some(whole);
    let kind = maps::set_map(c, name, keys, target, value);
    c.assigning = None;
    Some(kind)
}

fn compound_map(
    c: &mut Checker<'_>,
    name: &std::sync::Arc<str>,
    keys: Option<&[ast::Expr]>,
    target: Span,
    op: ast::BinaryOp,
    value: &ast::Expr,
    span: Span,
) -> StatementKind {
    let mark = strict::compound_mark(c, target, value, span);
    let right = c.value(value);
    let id = c.maps.map_id(name, target);
    let in_place = matches!(op, ast::BinaryOp::Add | ast::BinaryOp::Sub)
        && matches!(c.maps.get(id).value, Type::Int { .. } | Type::Error)
        && (right.ty.is_scalar() && !matches!(right.ty, Type::Ptr { .. }));
    if in_place {
        let delta = match coerce::integer(right) {
            Some(delta) if op == ast::BinaryOp::Sub => maps::negate(delta),
            Some(delta) => delta,
            None => Checker::error_value(value.span),
        };
        let step = maps::map_step(c, name, keys, target, delta, false, span);
        return StatementKind::Expr(step);
    }
    if join::unknown(&c.maps.get(id).value) && matches!(right.ty, Type::Int { .. } | Type::Bool) {
        // `@m |= 4` of a map that nothing else writes: it holds numbers and begins with 0.
        let zero = constant(0, value.span);
        return maps::set_map(c, name, keys, target, zero);
    }
    let left = maps::map_get(c, name, keys, target);
    let left = maps::aggregate_as_value(c, left);
    let combined = operators::operate(c, op, left, right, mark);
    maps::set_map(c, name, keys, target, combined)
}

/// `($a, $b) = tuple`.
fn assign_tuple(c: &mut Checker<'_>, targets: &[ast::Expr], value: &ast::Expr, span: Span, out: &mut Vec<Statement>) {
    let typed = c.value(value);
    let count = element_types(&typed.ty).map_or(0, |t| t.len());
    if !join::unknown(&typed.ty) && count != targets.len() {
        let text = type_text::text(&c.types, &typed.ty);
        let message = format!("{} variables for {text}", targets.len());
        c.error(TYPE_MISMATCH, span, message);
        return;
    }
    let whole = typed.ty.clone();
    let local = c.frame.temporary(whole.clone(), span);
    out.push(Statement { kind: StatementKind::SetLocal(local, typed), span });
    for (i, target) in targets.iter().enumerate() {
        let base = Expr::new(ExprKind::Local(local), whole.clone(), span);
        let item = place::tuple_field(c, base, i as u64, target.span);
        let kind = match &target.kind {
            ast::ExprKind::Variable(name) => frame::set_variable(c, name, target.span, item),
            ast::ExprKind::Map(name, keys) => maps::set_map(c, name, keys.as_deref(), target.span, item),
            ast::ExprKind::Ident(name) if &**name == "_" => continue,
            _ => {
                c.error(NOT_ASSIGNABLE, target.span, "this can't be assigned to");
                continue;
            }
        };
        out.push(Statement { kind, span: target.span });
    }
}

fn loop_exit(c: &mut Checker<'_>, word: &str, kind: StatementKind, span: Span) -> StatementKind {
    if c.frame.loops == 0 {
        c.error(OUTSIDE_LOOP, span, format!("'{word}' statement is not allowed in a probe"));
    }
    kind
}

/// What a probe returns: an integer that nobody reads, except of tests.
fn probe_result(c: &mut Checker<'_>, e: Expr, span: Span) -> StatementKind {
    let text = type_text::text(&c.types, &e.ty);
    let bad = matches!(e.ty, Type::Error);
    match coerce::integer(e) {
        Some(value) if c.frame.kind == frame::Kind::Test => {
            StatementKind::Return(Some(convert_scalar(value, &Type::I64)))
        }
        Some(_) => StatementKind::Return(None),
        None if bad => StatementKind::Return(None),
        None => {
            c.error(TYPE_MISMATCH, span, format!("Probe return values can only be integers. Found {text}"));
            StatementKind::Return(None)
        }
    }
}

fn return_statement(c: &mut Checker<'_>, value: Option<&ast::Expr>, span: Span) -> StatementKind {
    let typed = value.map(|v| c.value(v));
    match (c.frame.result.clone(), typed) {
        (None, None) => StatementKind::Return(None),
        (None, Some(e)) => probe_result(c, e, span),
        (Some(Type::Void), None) => StatementKind::Return(None),
        (Some(ty), Some(e)) => {
            let e = coerce::coerce_or_report(c, e, &ty, |from, to| format!("the function gives {to}, this is {from}"));
            StatementKind::Return(Some(e))
        }
        (Some(ty), None) => {
            let text = type_text::text(&c.types, &ty);
            c.error(NO_VALUE, span, format!("the function gives {text}, so `return` needs a value"));
            StatementKind::Return(None)
        }
    }
}

/// A call that only a map can hold, or a block that ends in one.
fn is_aggregation(e: &ast::Expr) -> bool {
    match &e.kind {
        ast::ExprKind::Call(name, _) => crate::lang::bt::check::calls::AGGREGATIONS.iter().any(|a| a.0 == &*name.text),
        ast::ExprKind::Block(block) => block.value.as_ref().is_some_and(|last| is_aggregation(last)),
        _ => false,
    }
}

/// What to write in place of an assignment to something else. DTrace keeps values in `self->x` and `this->x`.
fn not_assignable_help(target: &ast::Expr) -> String {
    if let ast::ExprKind::Field(base, name) = &target.kind
        && let ast::ExprKind::Ident(word) = &base.kind
    {
        match &**word {
            "self" => return format!("a value of this thread is kept in a map: `@{}[tid] = ...`", name.text),
            "this" => return format!("a value of this firing is kept in a variable: `${} = ...`", name.text),
            _ => {}
        }
    }
    "only variables (`$x`) and maps (`@x`) can: traced memory is read-only".to_owned()
}
