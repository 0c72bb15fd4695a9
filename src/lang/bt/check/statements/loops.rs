//! Loops.

use crate::lang::bt::ast;
use crate::lang::codes::check::{ARGUMENT_TYPE, NEEDS_LITERAL, OUT_OF_RANGE};
use crate::lang::source::Span;
use crate::lang::typed::{Block, Expr, LocalId, StatementKind};
use crate::lang::types::Type;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::join;

impl Checker<'_> {
    /// The body of a loop that is not unrolled.
    pub fn program_loop_body(&mut self, body: &ast::Block) -> Block {
        self.frame.program_loops += 1;
        let block = self.loop_body(body);
        self.frame.program_loops -= 1;
        block
    }

    pub fn loop_body(&mut self, body: &ast::Block) -> Block {
        self.frame.loops += 1;
        let block = self.block(body);
        self.frame.loops -= 1;
        block
    }

    pub fn for_statement(&mut self, name: &ast::Name, over: &ast::ForOver, body: &ast::Block) -> StatementKind {
        match over {
            ast::ForOver::Range(start, end) => {
                let (start, counts) = self.range_bound(start, "start");
                let (end, upto) = self.range_bound(end, "end");
                let counts = join::join(&counts, &upto);
                let (local, body) = self.for_body((name, Type::I64, counts), body);
                StatementKind::ForRange { local, start, end, body }
            }
            ast::ForOver::Map(map) => {
                let id = self.map_id(&map.text, map.span);
                let (key, value) = (self.map_key_type(id), self.map_value_type(id));
                let value = match value {
                    Type::Agg(agg) => match crate::lang::bt::check::maps::table::reduction(agg) {
                        Some(ty) => ty,
                        None => {
                            let what = crate::lang::bt::check::text::aggregation_text(agg);
                            let message =
                                format!("Loop expression does not support type: {what}_t, which has no single values");
                            self.error(crate::lang::codes::check::AGGREGATION, map.span, message);
                            Type::Error
                        }
                    },
                    Type::Error => {
                        self.report_undefined(id, map.span);
                        Type::Error
                    }
                    ty => ty,
                };
                if key == Type::Void {
                    let message =
                        format!("{} has no explicit keys (scalar map), and cannot be used for iteration", map.text);
                    self.error(crate::lang::codes::check::KEY_MISMATCH, map.span, message);
                }
                let pair = if join::unknown(&key) || join::unknown(&value) || key == Type::Void {
                    Type::Error
                } else {
                    Type::Tuple([key, value].into())
                };
                let own = self.maps.get(id).key.clone().map(|key| Type::Tuple([key, self.inferred_map(id)].into()));
                let (local, body) = self.for_body((name, pair, own), body);
                StatementKind::ForMap { local, map: id, body }
            }
        }
    }

    fn for_body(
        &mut self,
        (name, ty, counts): (&ast::Name, Type, Option<Type>),
        body: &ast::Block,
    ) -> (LocalId, Block) {
        if let Some(outer) = self.shadowed(&name.text) {
            let message = format!("Loop declaration shadows existing variable: {}", name.text);
            self.refuse_shadow(name.span, message, outer);
        }
        self.scoped(|c| {
            let local = c.declare(&name.text, Some(ty), name.span);
            let state = &mut c.frame.locals[local.0 as usize];
            state.read = true;
            state.counts = counts;
            (local, c.program_loop_body(body))
        })
    }

    /// A bound as 8 bytes, and its own type with literals flexible.
    fn range_bound(&mut self, e: &ast::Expr, which: &str) -> (Expr, Type) {
        let value = self.value(e);
        let own = self.inferred(&value);
        let bound = match self.integer(value) {
            Some(value) => crate::lang::bt::check::literal::convert_scalar(value, &Type::I64),
            None => {
                let message = format!("Loop range requires an integer for the {which} value");
                self.error_expr(ARGUMENT_TYPE, e.span, message)
            }
        };
        (bound, own)
    }

    pub fn unroll_count(&mut self, e: &ast::Expr, span: Span) -> u32 {
        let value = self.value(e);
        match value.as_int() {
            Some(n @ 1..=100) => n as u32,
            Some(n) => {
                let bound = if n as i64 > 100 { "maximum value is 100" } else { "minimum value is 1" };
                self.error(OUT_OF_RANGE, span, format!("unroll {bound}"));
                1
            }
            None => {
                self.error(NEEDS_LITERAL, e.span, "invalid unroll value");
                1
            }
        }
    }
}
