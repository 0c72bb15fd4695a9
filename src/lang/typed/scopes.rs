//! Numbers for the blocks of a program.

use super::{Block, Expr, ExprKind, Program, ScopeId, Statement, StatementKind};

impl Program {
    /// Gives every block a number of its own. Front ends do it last: the code generator keeps facts by these numbers.
    pub fn number_scopes(&mut self) {
        let mut next = Numbers(0);
        for probe in &mut self.probes {
            if let Some(predicate) = &mut probe.predicate {
                next.expr(predicate);
            }
            next.block(&mut probe.body);
        }
        for function in &mut self.functions {
            next.block(&mut function.body);
        }
    }

    /// Whether the blocks have their numbers.
    #[must_use]
    pub fn has_scopes(&self) -> bool {
        let bodies = self.probes.iter().map(|p| &p.body).chain(self.functions.iter().map(|f| &f.body));
        bodies.into_iter().all(|body| body.id != ScopeId::NONE)
    }
}

/// The next number.
struct Numbers(u32);

impl Numbers {
    fn block(&mut self, block: &mut Block) {
        block.id = ScopeId::new(self.0);
        self.0 += 1;
        block.statements.iter_mut().for_each(|s| self.statement(s));
    }

    fn statement(&mut self, s: &mut Statement) {
        match &mut s.kind {
            StatementKind::Expr(e) | StatementKind::SetLocal(_, e) => self.expr(e),
            StatementKind::SetMap { key, value, .. } => key.iter_mut().chain([value]).for_each(|e| self.expr(e)),
            StatementKind::Aggregate { key, value, weight, .. } => {
                key.iter_mut().chain(value).chain(weight).for_each(|e| self.expr(e));
            }
            StatementKind::Store { place, value } => [place, value].into_iter().for_each(|e| self.expr(e)),
            StatementKind::Report { values, .. } => values.iter_mut().for_each(|e| self.expr(e)),
            StatementKind::If(c, a, b) => {
                self.expr(c);
                self.block(a);
                self.block(b);
            }
            StatementKind::While(c, body) => {
                self.expr(c);
                self.block(body);
            }
            StatementKind::ForRange { start, end, body, .. } => {
                self.expr(start);
                self.expr(end);
                self.block(body);
            }
            StatementKind::ForMap { body, .. } | StatementKind::Unroll(_, body) | StatementKind::Block(body) => {
                self.block(body);
            }
            StatementKind::Return(value) => value.iter_mut().for_each(|e| self.expr(e)),
            StatementKind::Break | StatementKind::Continue | StatementKind::Fault(_) => {}
        }
    }

    fn expr(&mut self, e: &mut Expr) {
        if let ExprKind::Block(block, _) = &mut e.kind {
            self.block(block);
        }
        e.children_mut().into_iter().for_each(|child| self.expr(child));
    }
}
