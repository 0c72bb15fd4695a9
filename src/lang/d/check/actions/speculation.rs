//! Speculation: records that are printed only when they are committed.
//!
//! Which speculations are in use is a map that all processors share; what they record waits with who prints it.

use super::super::calls::Function;
use super::super::value::{Value, block, cast, int, is_int};
use super::super::{Checker, statement};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::Expr as Ast;
use crate::lang::diagnostic::Code;
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Block, Expr, ExprKind, MapId, Statement, StatementKind};
use crate::lang::types::Type;
use crate::model::d::{FAILED_SPECULATIONS, Item};

impl Checker<'_> {
    /// The speculations in use, by number.
    fn speculations(&mut self, span: Span) -> MapId {
        if let Some(known) = self.speculations {
            return known;
        }
        let map = self.map("speculations", Type::U64, Type::I64, span);
        self.speculations = Some(map);
        map
    }

    /// How many calls of `speculation` found none free.
    fn failed_speculations(&mut self, span: Span) -> MapId {
        let known = self.program.maps.iter().position(|m| &*m.name == FAILED_SPECULATIONS);
        known.map_or_else(|| self.map(FAILED_SPECULATIONS, Type::Void, Type::I64, span), |at| MapId(at as u32))
    }

    /// `speculation()`: the first number that is not in use, or 0.
    pub fn new_speculation(&mut self, span: Span) -> Value {
        let map = self.speculations(span);
        let result = self.local("%speculation", Type::I64);
        let number = self.local("%number", Type::I64);
        let of = |local| Expr::new(ExprKind::Local(local), Type::I64, span);
        let key = || cast(of(number), &Type::U64);
        let none = Expr::new(
            ExprKind::Binary(BinaryOp::Eq, Box::new(of(result)), Box::new(int(0, Type::I64, span))),
            Type::Bool,
            span,
        );
        let used = Expr::new(ExprKind::MapHas { map, key: Some(Box::new(key())) }, Type::Bool, span);
        let free = Expr::new(ExprKind::And(Box::new(none), Box::new(Self::not(used))), Type::Bool, span);
        let take = vec![
            statement(StatementKind::SetMap { map, key: Some(key()), value: int(1, Type::I64, span) }, span),
            statement(StatementKind::SetLocal(result, of(number)), span),
        ];
        let body = vec![statement(StatementKind::If(free, Block::new(take), Block::default()), span)];
        let most = i64::from(self.options.nspec.min(1024));
        let look = StatementKind::ForRange {
            local: number,
            start: int(1, Type::I64, span),
            end: int(most + 1, Type::I64, span),
            body: Block::new(body),
        };
        let failed = self.failed_speculations(span);
        let count = Expr::new(ExprKind::MapGet { map: failed, key: None }, Type::I64, span);
        let more = ExprKind::Binary(BinaryOp::Add, Box::new(count), Box::new(int(1, Type::I64, span)));
        let more = Expr::new(more, Type::I64, span);
        let counted = statement(StatementKind::SetMap { map: failed, key: None, value: more }, span);
        let nothing = Block::new(vec![counted]);
        let statements = vec![
            statement(StatementKind::SetLocal(result, int(0, Type::I64, span)), span),
            statement(look, span),
            statement(StatementKind::If(Self::not(of(result)), nothing, Block::default()), span),
        ];
        Value::new(cast(block(statements, of(result)), &Type::I32))
    }

    /// `speculate(id)`, `commit(id)` and `discard(id)`.
    pub fn speculation(&mut self, f: &Function, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
        let (commits, speculates, records) = (self.frame.commits, self.frame.speculates, self.frame.records);
        let forbidden: &[(bool, Code, &str)] = match f.name {
            "speculate" => &[
                (commits, tags::D_SPEC_COMM, "commit( )"),
                (speculates, tags::D_SPEC_SPEC, "another speculate( )"),
                (records, tags::D_SPEC_DREC, "data-recording action(s)"),
            ],
            "commit" => &[(records && !commits, tags::D_COMM_DREC, "data-recording action(s)")],
            _ => &[],
        };
        if let Some((_, tag, before)) = forbidden.iter().find(|(is_there, ..)| *is_there) {
            self.error(*tag, span, format!("{}( ) may not follow {before}", f.name));
            return;
        }
        let Some(mut arguments) = self.arguments(f, items) else { return };
        let value = arguments.remove(0);
        if value.is_error() || !is_int(value.ty()) {
            return;
        }
        self.frame.speculates |= f.name == "speculate";
        self.frame.commits |= f.name == "commit";
        let map = self.speculations(span);
        let (statements, id) = self.kept(cast(value.e, &Type::I64));
        out.extend(statements);
        if f.name != "speculate" {
            let most = int(i64::from(self.options.nspec), Type::U64, span);
            let number = cast(id.clone(), &Type::U64);
            let none = Expr::new(ExprKind::Binary(BinaryOp::Gt, Box::new(number), Box::new(most)), Type::Bool, span);
            out.push(Self::fault_if(none, super::super::scratch::ILLEGAL));
        }
        let key = Some(Box::new(cast(id.clone(), &Type::U64)));
        if f.name == "speculate" {
            // With no speculation in use the clause is over.
            let used = Expr::new(ExprKind::MapHas { map, key: key.clone() }, Type::Bool, span);
            let over = Block::new(vec![statement(StatementKind::Break, span)]);
            out.push(statement(StatementKind::If(Self::not(used), over, Block::default()), span));
        }
        let there =
            if f.name == "speculate" { ExprKind::MapHas { map, key } } else { ExprKind::MapDelete { map, key } };
        let there = Expr::new(there, Type::Bool, span);
        let none = int(0, Type::I64, span);
        let own = Expr::new(ExprKind::Conditional(Box::new(there), Box::new(id), Box::new(none)), Type::I64, span);
        let index = self.keep(own, out);
        self.frame.items.push(match f.name {
            "speculate" => Item::Speculate(index),
            "commit" => Item::Commit(index),
            _ => Item::Discard(index),
        });
        self.frame.reports = true;
    }
}
