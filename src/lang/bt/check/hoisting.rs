//! Variables that belong to a whole body, because old scripts use them outside the block that first assigns them.

use std::collections::HashSet;
use std::sync::Arc;

use crate::lang::bt::ast;

/// Names of variables that a body uses outside the block that first assigns them.
pub fn hoisted_names(predicate: Option<&ast::Expr>, body: &ast::Block) -> Vec<Arc<str>> {
    let mut finder = ScopeFinder::default();
    finder.enter(&[]);
    if let Some(e) = predicate {
        finder.expr(e);
    }
    finder.block(body);
    finder.hoisted
}

/// What is right below an expression.
pub enum Child<'a> {
    Expr(&'a ast::Expr),
    Block(&'a ast::Block),
}

/// Calls `f` with all that is right below an expression.
pub fn children<'a>(e: &'a ast::Expr, f: &mut dyn FnMut(Child<'a>)) {
    use ast::ExprKind as E;
    match &e.kind {
        E::Map(_, Some(items)) | E::Call(_, items) | E::Tuple(items) => items.iter().for_each(|e| f(Child::Expr(e))),
        E::Record(items) => items.iter().for_each(|(_, e)| f(Child::Expr(e))),
        E::SizeOf(what) | E::OffsetOf(what, _) | E::TypeInfo(what) => {
            if let ast::TypeOrExpr::Expr(e) = &**what {
                f(Child::Expr(e));
            }
        }
        E::Unary(_, e) | E::Cast(_, e) | E::Field(e, _) | E::TupleField(e, ..) | E::Comptime(e) => f(Child::Expr(e)),
        E::Step { target, .. } => f(Child::Expr(target)),
        E::Binary(_, a, b) | E::Index(a, b) => {
            f(Child::Expr(a));
            f(Child::Expr(b));
        }
        E::Conditional(c, a, b) => {
            f(Child::Expr(c));
            a.iter().for_each(|a| f(Child::Expr(a)));
            f(Child::Expr(b));
        }
        E::If(c, a, b) => {
            f(Child::Expr(c));
            f(Child::Block(a));
            f(Child::Block(b));
        }
        E::Block(block) => f(Child::Block(block)),
        _ => {}
    }
}

/// Finds variables that are used outside the block that first assigns them, as scripts written for
/// bpftrace before block scopes (0.22) do.
#[derive(Default)]
struct ScopeFinder {
    scopes: Vec<HashSet<Arc<str>>>,
    /// Assigned in a block that has ended.
    gone: HashSet<Arc<str>>,
    /// The answer.
    hoisted: Vec<Arc<str>>,
}

impl ScopeFinder {
    /// Opens a scope that has these names.
    fn enter(&mut self, names: &[Arc<str>]) {
        self.scopes.push(names.iter().cloned().collect());
    }

    fn leave(&mut self) {
        let ended = self.scopes.pop().unwrap_or_default();
        self.gone.extend(ended);
    }

    fn known(&self, name: &Arc<str>) -> bool {
        self.scopes.iter().any(|scope| scope.contains(name))
    }

    fn assign(&mut self, name: &Arc<str>) {
        if !self.known(name)
            && let Some(scope) = self.scopes.last_mut()
        {
            scope.insert(name.clone());
        }
    }

    fn read(&mut self, name: &Arc<str>) {
        if !self.known(name) && self.gone.contains(name) && !self.hoisted.contains(name) {
            self.hoisted.push(name.clone());
        }
    }

    /// Looks through an expression.
    fn expr(&mut self, e: &ast::Expr) {
        if let ast::ExprKind::Variable(name) = &e.kind {
            self.read(name);
        }
        let mut blocks = Vec::new();
        let mut inner = Vec::new();
        children(e, &mut |child| match child {
            Child::Expr(e) => inner.push(e),
            Child::Block(b) => blocks.push(b),
        });
        inner.into_iter().for_each(|e| self.expr(e));
        for block in blocks {
            self.enter(&[]);
            self.block(block);
            self.leave();
        }
    }

    /// Looks through a block, in the scope that is open.
    fn block(&mut self, block: &ast::Block) {
        for statement in &block.statements {
            self.statement(statement);
        }
        if let Some(value) = &block.value {
            self.expr(value);
        }
    }

    fn nested(&mut self, block: &ast::Block, names: &[Arc<str>]) {
        self.enter(names);
        self.block(block);
        self.leave();
    }

    fn statement(&mut self, statement: &ast::Statement) {
        use ast::StatementKind as S;
        match &statement.kind {
            S::Expr(e) | S::Discard(e) => self.expr(e),
            S::Assign { target, op, value } => {
                self.expr(value);
                match &target.kind {
                    ast::ExprKind::Variable(name) if op.is_none() => self.assign(name),
                    ast::ExprKind::Tuple(items) => items.iter().for_each(|e| {
                        if let ast::ExprKind::Variable(name) = &e.kind {
                            self.assign(name);
                        }
                    }),
                    _ => self.expr(target),
                }
            }
            S::Let { name, value, .. } => {
                value.iter().for_each(|e| self.expr(e));
                self.assign(&name.text);
            }
            S::If(c, a, b) => {
                self.expr(c);
                self.nested(a, &[]);
                b.iter().for_each(|b| self.nested(b, &[]));
            }
            S::While(e, block) | S::Unroll(e, block) => {
                self.expr(e);
                self.nested(block, &[]);
            }
            S::For { name, over, body } => {
                if let ast::ForOver::Range(a, b) = over {
                    self.expr(a);
                    self.expr(b);
                }
                self.nested(body, std::slice::from_ref(&name.text));
            }
            S::Return(value) => value.iter().for_each(|e| self.expr(e)),
            S::Block(block) => self.nested(block, &[]),
            S::Break | S::Continue => {}
        }
    }
}

/// Visits every expression of a block.
pub fn walk_block(block: &ast::Block, look: &mut dyn FnMut(&ast::Expr)) {
    for statement in &block.statements {
        walk_statement(statement, look);
    }
    if let Some(value) = &block.value {
        walk_expr(value, look);
    }
}

pub fn walk_statement(statement: &ast::Statement, look: &mut dyn FnMut(&ast::Expr)) {
    use ast::StatementKind as S;
    match &statement.kind {
        S::Expr(e) | S::Discard(e) => walk_expr(e, look),
        S::Assign { target, value, .. } => {
            walk_expr(target, look);
            walk_expr(value, look);
        }
        S::Let { value, .. } => value.iter().for_each(|e| walk_expr(e, look)),
        S::If(c, a, b) => {
            walk_expr(c, look);
            walk_block(a, look);
            b.iter().for_each(|b| walk_block(b, look));
        }
        S::While(e, block) | S::Unroll(e, block) => {
            walk_expr(e, look);
            walk_block(block, look);
        }
        S::For { over, body, .. } => {
            if let ast::ForOver::Range(a, b) = over {
                walk_expr(a, look);
                walk_expr(b, look);
            }
            walk_block(body, look);
        }
        S::Return(value) => value.iter().for_each(|e| walk_expr(e, look)),
        S::Block(block) => walk_block(block, look),
        S::Break | S::Continue => {}
    }
}

/// Visits an expression and every expression in it.
pub fn walk_expr(e: &ast::Expr, look: &mut dyn FnMut(&ast::Expr)) {
    look(e);
    children(e, &mut |child| match child {
        Child::Expr(e) => walk_expr(e, look),
        Child::Block(b) => walk_block(b, look),
    });
}
