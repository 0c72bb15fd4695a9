//! Loops.

use crate::lang::bt::ast;
use crate::lang::codes::check::{ARGUMENT_TYPE, NEEDS_LITERAL, OUT_OF_RANGE};
use crate::lang::source::Span;
use crate::lang::typed::{Block, Expr, LocalId, StatementKind};
use crate::lang::types::Type;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::literal::convert_scalar;
use crate::lang::bt::check::maps::table::reduction;
use crate::lang::bt::check::maps::undefined;
use crate::lang::bt::check::type_text::aggregation_text;
use crate::lang::bt::check::{coerce, join, statements, strict};

/// The body of a loop that is not unrolled.
pub fn program_loop_body(c: &mut Checker<'_>, body: &ast::Block) -> Block {
    c.frame.program_loops += 1;
    let block = loop_body(c, body);
    c.frame.program_loops -= 1;
    block
}

pub fn loop_body(c: &mut Checker<'_>, body: &ast::Block) -> Block {
    c.frame.loops += 1;
    let block = statements::block(c, body);
    c.frame.loops -= 1;
    block
}

pub fn for_statement(c: &mut Checker<'_>, name: &ast::Name, over: &ast::ForOver, body: &ast::Block) -> StatementKind {
    match over {
        ast::ForOver::Range(start, end) => {
            let (start, counts) = range_bound(c, start, "start");
            let (end, upto) = range_bound(c, end, "end");
            let counts = join::join(&counts, &upto);
            let (local, body) = for_body(c, (name, Type::I64, counts), body);
            StatementKind::ForRange { local, start, end, body }
        }
        ast::ForOver::Map(map) => {
            let id = c.maps.map_id(&map.text, map.span);
            let (key, value) = (c.maps.map_key_type(id), c.maps.map_value_type(id));
            let value = match value {
                Type::Agg(agg) => match reduction(agg) {
                    Some(ty) => ty,
                    None => {
                        let what = aggregation_text(agg);
                        let message =
                            format!("Loop expression does not support type: {what}_t, which has no single values");
                        c.error(crate::lang::codes::check::AGGREGATION, map.span, message);
                        Type::Error
                    }
                },
                Type::Error => {
                    undefined::report_undefined(c, id, map.span);
                    Type::Error
                }
                ty => ty,
            };
            if key == Type::Void {
                let message =
                    format!("{} has no explicit keys (scalar map), and cannot be used for iteration", map.text);
                c.error(crate::lang::codes::check::KEY_MISMATCH, map.span, message);
            }
            let pair = if join::unknown(&key) || join::unknown(&value) || key == Type::Void {
                Type::Error
            } else {
                Type::Tuple([key, value].into())
            };
            let own = c.maps.get(id).key.clone().map(|key| Type::Tuple([key, strict::inferred_map(c, id)].into()));
            let (local, body) = for_body(c, (name, pair, own), body);
            StatementKind::ForMap { local, map: id, body }
        }
    }
}

fn for_body(
    c: &mut Checker<'_>,
    (name, ty, counts): (&ast::Name, Type, Option<Type>),
    body: &ast::Block,
) -> (LocalId, Block) {
    if let Some(outer) = c.frame.shadowed(&name.text) {
        let message = format!("Loop declaration shadows existing variable: {}", name.text);
        statements::refuse_shadow(c, name.span, message, outer);
    }
    c.scoped(|c| {
        let local = c.frame.declare(&name.text, Some(ty), name.span);
        let state = &mut c.frame.locals[local.0 as usize];
        state.read = true;
        state.counts = counts;
        (local, program_loop_body(c, body))
    })
}

/// A bound as 8 bytes, and its own type with literals flexible.
fn range_bound(c: &mut Checker<'_>, e: &ast::Expr, which: &str) -> (Expr, Type) {
    let value = c.value(e);
    let own = strict::inferred(c, &value);
    let bound = match coerce::integer(value) {
        Some(value) => convert_scalar(value, &Type::I64),
        None => {
            let message = format!("Loop range requires an integer for the {which} value");
            c.error_expr(ARGUMENT_TYPE, e.span, message)
        }
    };
    (bound, own)
}

pub fn unroll_count(c: &mut Checker<'_>, e: &ast::Expr, span: Span) -> u32 {
    let value = c.value(e);
    match value.as_int() {
        Some(n @ 1..=100) => n as u32,
        Some(n) => {
            let bound = if n as i64 > 100 { "maximum value is 100" } else { "minimum value is 1" };
            c.error(OUT_OF_RANGE, span, format!("unroll {bound}"));
            1
        }
        None => {
            c.error(NEEDS_LITERAL, e.span, "invalid unroll value");
            1
        }
    }
}
