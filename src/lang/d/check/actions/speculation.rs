//! Speculation: records that are printed only when they are committed.
//!
//! Which speculations are in use is a map that all processors share; what they record waits with who prints it.

use super::super::checker::Checker;
use super::super::code::{and, binary, block, cast, choose, int, int64, is, leave, not, read, set, statement, when};
use super::super::prototypes::Function;
use super::super::value::{Value, is_int};
use super::super::{prototypes, recording, scratch};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::Expr as Ast;
use crate::lang::diagnostic::Code;
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Block, Expr, ExprKind, MapId, Statement, StatementKind};
use crate::lang::types::Type;
use crate::model::d::{FAILED_SPECULATIONS, Item};

/// The speculations in use, by number.
fn speculations(c: &mut Checker<'_>, span: Span) -> MapId {
    if let Some(known) = c.speculations {
        return known;
    }
    let map = c.map("speculations", Type::U64, Type::I64, span);
    c.speculations = Some(map);
    map
}

/// How many calls of `speculation` found none free.
fn failed_speculations(c: &mut Checker<'_>, span: Span) -> MapId {
    let known = c.program.maps.iter().position(|m| &*m.name == FAILED_SPECULATIONS);
    known.map_or_else(|| c.map(FAILED_SPECULATIONS, Type::Void, Type::I64, span), |at| MapId(at as u32))
}

/// `speculation()`: the first number that is not in use, or 0.
pub fn new_speculation(c: &mut Checker<'_>, span: Span) -> Value {
    let map = speculations(c, span);
    let result = c.local("%speculation", Type::I64);
    let number = c.local("%number", Type::I64);
    let of = |local| read(local, span);
    let key = || cast(of(number), &Type::U64);
    let none = is(of(result), 0);
    let used = Expr::new(ExprKind::MapHas { map, key: Some(Box::new(key())) }, Type::Bool, span);
    let free = and(none, not(used));
    let take = vec![
        statement(StatementKind::SetMap { map, key: Some(key()), value: int64(1, span) }, span),
        set(result, of(number)),
    ];
    let body = vec![when(free, take)];
    let most = i64::from(c.options.nspec.min(1024));
    let look = StatementKind::ForRange {
        local: number,
        start: int64(1, span),
        end: int64(most + 1, span),
        body: Block::new(body),
    };
    let failed = failed_speculations(c, span);
    let count = Expr::new(ExprKind::MapGet { map: failed, key: None }, Type::I64, span);
    let more = ExprKind::Binary(BinaryOp::Add, Box::new(count), Box::new(int64(1, span)));
    let more = Expr::new(more, Type::I64, span);
    let counted = statement(StatementKind::SetMap { map: failed, key: None, value: more }, span);
    let nothing = Block::new(vec![counted]);
    let statements = vec![
        set(result, int64(0, span)),
        statement(look, span),
        statement(StatementKind::If(not(of(result)), nothing, Block::default()), span),
    ];
    Value::new(cast(block(statements, of(result)), &Type::I32))
}

/// `speculate(id)`, `commit(id)` and `discard(id)`.
pub fn speculation(c: &mut Checker<'_>, f: &Function, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
    let (commits, speculates, records) = (c.frame.commits, c.frame.speculates, c.frame.records);
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
        c.error(*tag, span, format!("{}( ) may not follow {before}", f.name));
        return;
    }
    let Some(mut arguments) = prototypes::arguments(c, f, items) else { return };
    let value = arguments.remove(0);
    if value.is_error() || !is_int(value.ty()) {
        return;
    }
    c.frame.speculates |= f.name == "speculate";
    c.frame.commits |= f.name == "commit";
    let map = speculations(c, span);
    let id = c.kept(cast(value.e, &Type::I64), out);
    if f.name != "speculate" {
        let most = int(i64::from(c.options.nspec), Type::U64, span);
        let number = cast(id.clone(), &Type::U64);
        let none = Expr { span, ..binary(BinaryOp::Gt, number, most) };
        out.push(scratch::fault_if(none, scratch::ILLEGAL, span));
    }
    let key = Some(Box::new(cast(id.clone(), &Type::U64)));
    if f.name == "speculate" {
        // With no speculation in use the clause is over.
        let used = Expr::new(ExprKind::MapHas { map, key: key.clone() }, Type::Bool, span);
        let over = Block::new(vec![leave(span)]);
        out.push(statement(StatementKind::If(not(used), over, Block::default()), span));
    }
    let there = if f.name == "speculate" { ExprKind::MapHas { map, key } } else { ExprKind::MapDelete { map, key } };
    let there = Expr::new(there, Type::Bool, span);
    let none = int64(0, span);
    let own = Expr { span, ..choose(there, id, none) };
    let index = recording::keep(c, own, out);
    c.frame.items.push(match f.name {
        "speculate" => Item::Speculate(index),
        "commit" => Item::Commit(index),
        _ => Item::Discard(index),
    });
    c.frame.reports = true;
}
