//! How large code is once it is written out: unrolled, and with functions where they are called.

use super::{Block, Expr, ExprKind, FunctionId, Probe, Program, Statement, StatementKind};

/// The sizes of a program's functions, in statements and expressions.
#[derive(Debug)]
pub struct Sizes {
    functions: Vec<Option<u64>>,
}

impl Sizes {
    /// Nothing is counted beyond.
    pub const MOST: u64 = 1 << 40;

    /// Measures a program's functions, each once.
    #[must_use]
    pub fn of(program: &Program) -> Self {
        let mut sizes = Self { functions: vec![None; program.functions.len()] };
        for id in 0..program.functions.len() {
            sizes.function(program, id);
        }
        sizes
    }

    /// The functions that one calls are measured before it; one that calls itself counts once.
    fn function(&mut self, program: &Program, id: usize) {
        let mut open = vec![(id, false)];
        while let Some((id, are_below_known)) = open.pop() {
            let Some(function) = program.functions.get(id) else { continue };
            if are_below_known {
                self.functions[id] = Some(self.block(&function.body));
            } else if self.functions[id].is_none() {
                self.functions[id] = Some(0);
                open.push((id, true));
                open.extend(function.body.all_exprs().filter_map(|e| match &e.kind {
                    ExprKind::CallUser(FunctionId(id), _) => Some((*id as usize, false)),
                    _ => None,
                }));
            }
        }
    }

    /// The size of a probe's body and predicate.
    #[must_use]
    pub fn probe(&self, probe: &Probe) -> u64 {
        let predicate = probe.predicate.as_ref().map_or(0, |e| self.expr(e));
        predicate.saturating_add(self.block(&probe.body)).min(Self::MOST)
    }

    fn block(&self, block: &Block) -> u64 {
        sum(block.statements.iter().map(|s| self.statement(s)))
    }

    fn statement(&self, statement: &Statement) -> u64 {
        let (exprs, blocks) = statement.parts();
        let inside = sum(exprs.into_iter().map(|e| self.expr(e)).chain(blocks.into_iter().map(|b| self.block(b))));
        match statement.kind {
            StatementKind::Unroll(times, _) => inside.saturating_mul(u64::from(times)).min(Self::MOST),
            _ => inside + 1,
        }
    }

    fn expr(&self, e: &Expr) -> u64 {
        let called = match &e.kind {
            ExprKind::CallUser(FunctionId(id), _) => self.functions.get(*id as usize).copied().flatten().unwrap_or(0),
            _ => 0,
        };
        let own = e.own_block().map_or(0, |block| self.block(block));
        sum(e.children().into_iter().map(|e| self.expr(e)).chain([called, own, 1]))
    }
}

fn sum(sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.fold(0, u64::saturating_add).min(Sizes::MOST)
}
