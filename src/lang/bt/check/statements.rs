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

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::expr::decided;
use crate::lang::bt::check::join;
use crate::lang::bt::check::literal::effect;

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
    /// A block in a scope of its own; a trailing value is evaluated for its effect.
    pub fn block(&mut self, block: &ast::Block) -> Block {
        self.scoped(|c| c.block_body(block))
    }

    /// A block's statements in the present scope.
    pub fn block_body(&mut self, block: &ast::Block) -> Block {
        let mut statements = self.statements(&block.statements);
        if let Some(value) = &block.value {
            if let [.., last] = &*block.statements
                && ends(last)
            {
                self.warn_unreachable(value.span);
            }
            self.expression_statement(value, value.span, &mut statements);
        }
        Block::new(statements)
    }

    pub fn statements(&mut self, list: &[ast::Statement]) -> Vec<Statement> {
        let mut out = Vec::with_capacity(list.len());
        let mut reached = true;
        for statement in list {
            if !std::mem::replace(&mut reached, true) {
                self.warn_unreachable(self.whole_statement(statement.span));
            }
            self.statement(statement, &mut out);
            reached = !ends(statement);
        }
        out
    }

    fn warn_unreachable(&mut self, span: Span) {
        self.warn(UNREACHABLE, span, "Unreachable statement.", None);
    }

    fn statement(&mut self, statement: &ast::Statement, out: &mut Vec<Statement>) {
        let span = statement.span;
        let kind = match &statement.kind {
            ast::StatementKind::Expr(e) => return self.expression_statement(e, span, out),
            ast::StatementKind::Assign { target, op, value } => return self.assign(target, *op, value, span, out),
            ast::StatementKind::Let { name, ty, value } => {
                return self.let_statement(name, ty.as_ref(), value.as_ref(), statement, out);
            }
            ast::StatementKind::Discard(e) => {
                let typed = self.expr(e);
                out.extend(effect(typed).statements);
                return;
            }
            ast::StatementKind::If(asked, then, other) => {
                let condition = self.value(asked);
                let condition = self.condition(condition);
                if let Some(taken) = decided(asked, &condition) {
                    let block = if taken { Some(then) } else { other.as_ref() };
                    let block = block.map(|b| self.block(b)).unwrap_or_default();
                    out.push(Statement { kind: StatementKind::Block(block), span });
                    return;
                }
                let then = self.block(then);
                let other = other.as_ref().map(|b| self.block(b)).unwrap_or_default();
                StatementKind::If(condition, then, other)
            }
            ast::StatementKind::While(condition, body) => {
                self.warn_while(span);
                let condition = self.value(condition);
                let condition = self.condition(condition);
                StatementKind::While(condition, self.program_loop_body(body))
            }
            ast::StatementKind::For { name, over, body } => self.for_statement(name, over, body),
            ast::StatementKind::Unroll(count, body) => {
                let count = self.unroll_count(count, span);
                StatementKind::Unroll(count, self.loop_body(body))
            }
            ast::StatementKind::Break => self.loop_exit("break", StatementKind::Break, span),
            ast::StatementKind::Continue => self.loop_exit("continue", StatementKind::Continue, span),
            ast::StatementKind::Return(value) => self.return_statement(value.as_ref(), span),
            ast::StatementKind::Block(block) => {
                StatementKind::Block(self.expanding(block.span, span, |c| c.block(block)))
            }
        };
        out.push(Statement { kind, span });
    }

    fn expression_statement(&mut self, e: &ast::Expr, span: Span, out: &mut Vec<Statement>) {
        if let ast::ExprKind::Map(name, keys) = &e.kind {
            // A map alone is nothing to do; older scripts have such lines.
            let typed = self.map_get(name, keys.as_deref(), e.span);
            if !matches!(typed.ty, Type::Error) {
                self.warn_discarded(span);
            }
            return;
        }
        let typed = self.expr(e);
        match (&typed.kind, &typed.ty) {
            (_, Type::Error) => {}
            (_, Type::Void) => out.extend(effect(typed).statements),
            (ExprKind::MapDelete { .. } | ExprKind::MapFind { .. }, _) if self.options.like_bpftrace => {
                self.warn_discarded(span);
                out.push(Statement { kind: StatementKind::Expr(typed), span });
            }
            (ExprKind::And(..) | ExprKind::Or(..) | ExprKind::Conditional(..), _) if self.options.like_bpftrace => {
                self.warn_discarded(span);
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
            _ => self.warn_discarded(span),
        }
    }

    fn warn_discarded(&mut self, span: Span) {
        let help = (!self.options.like_bpftrace).then(|| "write `_ = ...;` to say that it is meant".to_owned());
        self.warn(DISCARDED_VALUE, self.discarded_mark(span), "Return value discarded.", help);
    }

    fn let_statement(
        &mut self,
        name: &ast::Name,
        ty: Option<&ast::TypeName>,
        value: Option<&ast::Expr>,
        statement: &ast::Statement,
        out: &mut Vec<Statement>,
    ) {
        let span = statement.span;
        let fixed = ty.map(|t| self.type_name(t));
        let whole = value.map_or(span, |v| Span::new(span.start, v.span.end));
        let value = value.map(|v| self.value(v));
        if let Some(outer) = self.shadowed(&name.text) {
            let message = format!("Variable {} was already declared. Variable shadowing is not allowed.", name.text);
            self.refuse_shadow(name.span, message, outer);
        }
        let id = self.declare(&name.text, fixed, name.span);
        match value {
            Some(value) => {
                self.assigning = Some(whole);
                let value = self.assign_local(id, value);
                self.assigning = None;
                out.push(Statement { kind: StatementKind::SetLocal(id, value), span });
            }
            None => {
                let local = &mut self.frame.locals[id.0 as usize];
                local.empty = true;
                // The declaration as a whole is what lacks a value.
                local.span = if self.options.like_bpftrace { Span::new(span.start, name.span.end) } else { name.span };
                out.extend(self.zero_statement(id, span));
            }
        }
    }

    fn refuse_shadow(&mut self, span: Span, message: String, outer: Span) {
        let diagnostic = Diagnostic::error(DUPLICATE, span, message).label(outer, "first declared here");
        self.push(diagnostic.help("two values need two names; to set the first one write no `let`"));
    }

    fn assign(
        &mut self,
        target: &ast::Expr,
        op: Option<ast::BinaryOp>,
        value: &ast::Expr,
        span: Span,
        out: &mut Vec<Statement>,
    ) {
        let kind = match (&target.kind, op) {
            (ast::ExprKind::Variable(name), None) => {
                let whole = target.span.to(value.span);
                let value = self.value(value);
                self.assigning = Some(whole);
                let kind = self.set_variable(name, target.span, value);
                self.assigning = None;
                kind
            }
            (ast::ExprKind::Variable(name), Some(op)) => {
                let left = self.variable(name, target.span);
                let right = self.value(value);
                let ExprKind::Local(id) = left.kind else { return };
                let combined = self.operate(op, left, right, self.compound_mark(target.span, value, span));
                let combined = self.assign_local(id, combined);
                StatementKind::SetLocal(id, combined)
            }
            (ast::ExprKind::Map(name, keys), None) => {
                match self.assign_map(name, keys.as_deref(), target.span, value, span) {
                    Some(kind) => kind,
                    None => return,
                }
            }
            (ast::ExprKind::Map(name, keys), Some(op)) => {
                self.compound_map(name, keys.as_deref(), target.span, op, value, span)
            }
            (ast::ExprKind::Tuple(targets), None) => return self.assign_tuple(targets, value, span, out),
            (ast::ExprKind::Ident(name), None) if &**name == "_" => {
                let typed = self.expr(value);
                out.extend(effect(typed).statements);
                return;
            }
            (ast::ExprKind::Error, _) => {
                let _ = self.expr(value);
                return;
            }
            _ => {
                let _ = self.value(value);
                self.error_help(
                    NOT_ASSIGNABLE,
                    target.span,
                    "this can't be assigned to",
                    Some(not_assignable_help(target)),
                );
                return;
            }
        };
        out.push(Statement { kind, span });
    }

    fn assign_map(
        &mut self,
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
            let block = self.scoped(|c| {
                let mut statements = c.statements(&block.statements);
                let kind = c.assign_map(name, keys, target, last, span);
                statements.extend(kind.map(|kind| Statement { kind, span }));
                Block::new(statements)
            });
            return Some(StatementKind::Block(block));
        }
        if let ast::ExprKind::Call(function, args) = &value.kind
            && let Some((agg, argument, weight)) = self.aggregation(function, args, value.span)
        {
            return Some(self.aggregate((name, keys, target), agg?, argument, weight, value.span));
        }
        let whole = target.to(value.span);
        let value = self.value(value);
        self.assigning = Some(whole);
        let kind = self.set_map(name, keys, target, value);
        self.assigning = None;
        Some(kind)
    }

    fn compound_map(
        &mut self,
        name: &std::sync::Arc<str>,
        keys: Option<&[ast::Expr]>,
        target: Span,
        op: ast::BinaryOp,
        value: &ast::Expr,
        span: Span,
    ) -> StatementKind {
        let mark = self.compound_mark(target, value, span);
        let right = self.value(value);
        let id = self.map_id(name, target);
        let in_place = matches!(op, ast::BinaryOp::Add | ast::BinaryOp::Sub)
            && matches!(self.maps.get(id).value, Type::Int { .. } | Type::Error)
            && (right.ty.is_scalar() && !matches!(right.ty, Type::Ptr { .. }));
        if in_place {
            let delta = match self.integer(right) {
                Some(delta) if op == ast::BinaryOp::Sub => self.negate(delta),
                Some(delta) => delta,
                None => Self::error_value(value.span),
            };
            let step = self.map_step(name, keys, target, delta, false, span);
            return StatementKind::Expr(step);
        }
        if join::unknown(&self.maps.get(id).value) && matches!(right.ty, Type::Int { .. } | Type::Bool) {
            // `@m |= 4` of a map that nothing else writes: it holds numbers and begins with 0.
            let zero = crate::lang::bt::check::literal::constant(0, value.span);
            return self.set_map(name, keys, target, zero);
        }
        let left = self.map_get(name, keys, target);
        let left = self.aggregate_as_value(left);
        let combined = self.operate(op, left, right, mark);
        self.set_map(name, keys, target, combined)
    }

    /// `($a, $b) = tuple`.
    fn assign_tuple(&mut self, targets: &[ast::Expr], value: &ast::Expr, span: Span, out: &mut Vec<Statement>) {
        let typed = self.value(value);
        let count = crate::lang::bt::check::literal::element_types(&typed.ty).map_or(0, |t| t.len());
        if !join::unknown(&typed.ty) && count != targets.len() {
            let text = self.type_text(&typed.ty);
            let message = format!("{} variables for {text}", targets.len());
            self.error(TYPE_MISMATCH, span, message);
            return;
        }
        let whole = typed.ty.clone();
        let local = self.temporary(whole.clone(), span);
        out.push(Statement { kind: StatementKind::SetLocal(local, typed), span });
        for (i, target) in targets.iter().enumerate() {
            let base = Expr::new(ExprKind::Local(local), whole.clone(), span);
            let item = self.tuple_field(base, i as u64, target.span);
            let kind = match &target.kind {
                ast::ExprKind::Variable(name) => self.set_variable(name, target.span, item),
                ast::ExprKind::Map(name, keys) => self.set_map(name, keys.as_deref(), target.span, item),
                ast::ExprKind::Ident(name) if &**name == "_" => continue,
                _ => {
                    self.error(NOT_ASSIGNABLE, target.span, "this can't be assigned to");
                    continue;
                }
            };
            out.push(Statement { kind, span: target.span });
        }
    }

    fn loop_exit(&mut self, word: &str, kind: StatementKind, span: Span) -> StatementKind {
        if self.frame.loops == 0 {
            self.error(OUTSIDE_LOOP, span, format!("'{word}' statement is not allowed in a probe"));
        }
        kind
    }

    /// What a probe returns: an integer that nobody reads, except of tests.
    fn probe_result(&mut self, e: Expr, span: Span) -> StatementKind {
        let text = self.type_text(&e.ty);
        let bad = matches!(e.ty, Type::Error);
        match self.integer(e) {
            Some(value) if self.frame.kind == crate::lang::bt::check::frame::Kind::Test => {
                StatementKind::Return(Some(crate::lang::bt::check::literal::convert_scalar(value, &Type::I64)))
            }
            Some(_) => StatementKind::Return(None),
            None if bad => StatementKind::Return(None),
            None => {
                self.error(TYPE_MISMATCH, span, format!("Probe return values can only be integers. Found {text}"));
                StatementKind::Return(None)
            }
        }
    }

    fn return_statement(&mut self, value: Option<&ast::Expr>, span: Span) -> StatementKind {
        let typed = value.map(|v| self.value(v));
        match (self.frame.result.clone(), typed) {
            (None, None) => StatementKind::Return(None),
            (None, Some(e)) => self.probe_result(e, span),
            (Some(Type::Void), None) => StatementKind::Return(None),
            (Some(ty), Some(e)) => {
                let e = self.coerce_or_report(e, &ty, |from, to| format!("the function gives {to}, this is {from}"));
                StatementKind::Return(Some(e))
            }
            (Some(ty), None) => {
                let text = self.type_text(&ty);
                self.error(NO_VALUE, span, format!("the function gives {text}, so `return` needs a value"));
                StatementKind::Return(None)
            }
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
