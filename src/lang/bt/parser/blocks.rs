//! Blocks, and where their last expression is a value.

use crate::lang::bt::ast::{Block, Expr, ExprKind, Statement, StatementKind};
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::Diagnostic;

use crate::lang::bt::parser::Parser;

impl Parser<'_> {
    /// A block as written: only a plain expression at its end is its value so far, and blocks of
    /// `if` statements inside are as written too. Braces must follow.
    pub fn raw_block(&mut self) -> Block {
        let outer = std::mem::replace(&mut self.predicate, false);
        let block = self.nested(Self::block_inside).unwrap_or_default();
        self.predicate = outer;
        block
    }

    fn block_inside(&mut self) -> Block {
        let open = self.bump();
        let mut statements: Vec<Statement> = Vec::new();
        let mut value = None;
        let mut height = 0;
        while !self.at_end() && !self.at_kind(T::RBrace) {
            let before = self.at;
            self.height = 0;
            if self.accept(T::Semicolon).is_some() {
                continue;
            }
            if let Some(last) = statements.last_mut() {
                settle(last);
            }
            match self.statement() {
                Some(Statement { kind: StatementKind::Expr(e), span: _ })
                    if self.at_kind(T::RBrace) && !ended(self) =>
                {
                    value = Some(Box::new(e));
                }
                Some(statement) => statements.push(statement),
                None => {}
            }
            height = height.max(self.height);
            if self.at == before {
                self.bump();
            }
        }
        if self.accept(T::RBrace).is_none() {
            let span = self.previous_end();
            self.report_always(
                Diagnostic::error(codes::UNCLOSED_BLOCK, span, format!("expected `}}`, found {}", self.found()))
                    .label(open.span, "this `{` is open")
                    .help("close the block with `}`"),
            );
            self.last_error = Some(self.at);
        }
        self.grow(height);
        Block { statements, value, span: self.since(open.span) }
    }
}

/// A body: run for its effect, so a last expression without `;` is a statement.
pub fn effect_block(p: &mut Parser<'_>) -> Block {
    let mut block = p.raw_block();
    make_effect(&mut block);
    block
}

/// A block whose last expression without `;` is its value.
pub fn value_block(p: &mut Parser<'_>) -> Block {
    let mut block = p.raw_block();
    make_value(&mut block);
    block
}

/// True when the token before this one is a `;`.
pub fn ended(p: &Parser<'_>) -> bool {
    p.taken(1).is_some_and(|t| t.kind == T::Semicolon)
}

/// A statement that others follow is run for its effect, and so are its blocks.
fn settle(statement: &mut Statement) {
    match &mut statement.kind {
        StatementKind::If(_, yes, no) => {
            make_effect(yes);
            if let Some(no) = no {
                make_effect(no);
            }
        }
        StatementKind::Block(block) => make_effect(block),
        _ => {}
    }
}

/// Turns a last value into a statement, here and in the blocks at the end.
pub fn make_effect(block: &mut Block) {
    if let Some(value) = block.value.take() {
        let span = value.span;
        block.statements.push(Statement { kind: StatementKind::Expr(*value), span });
    } else if let Some(last) = block.statements.last_mut() {
        settle(last);
    }
}

/// True when the block ends in a value, perhaps by an `if` whose branches both do.
fn ends_in_value(block: &Block) -> bool {
    block.value.is_some()
        || block.statements.last().is_some_and(|last| match &last.kind {
            StatementKind::If(_, yes, Some(no)) => ends_in_value(yes) && ends_in_value(no),
            StatementKind::Block(inner) => ends_in_value(inner),
            _ => false,
        })
}

/// Turns a last `if ... else ...` or block that has a value into the block's value.
pub fn make_value(block: &mut Block) {
    if block.value.is_some() {
        return;
    }
    if !ends_in_value(block) {
        return make_effect(block);
    }
    let Some(last) = block.statements.pop() else { return };
    let kind = match last.kind {
        StatementKind::If(condition, mut yes, Some(mut no)) => {
            make_value(&mut yes);
            make_value(&mut no);
            ExprKind::If(Box::new(condition), Box::new(yes), Box::new(no))
        }
        StatementKind::Block(mut inner) => {
            make_value(&mut inner);
            ExprKind::Block(Box::new(inner))
        }
        _ => return,
    };
    block.value = Some(Box::new(Expr { kind, span: last.span }));
}
