//! Numbers for the blocks of a program.

use super::{Block, Expr, ExprKind, Program, ScopeId, Statement};

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
        self.bodies().all(|body| body.id != ScopeId::NONE)
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
        let (exprs, blocks) = s.parts_mut();
        exprs.into_iter().for_each(|e| self.expr(e));
        blocks.into_iter().for_each(|block| self.block(block));
    }

    fn expr(&mut self, e: &mut Expr) {
        if let ExprKind::Block(block, _) = &mut e.kind {
            self.block(block);
        }
        e.children_mut().into_iter().for_each(|child| self.expr(child));
    }
}
