//! What stands before brackets: arrays, associative arrays, `args[ ]`, `fds[ ]`.

use super::checker::Checker;
use super::value::Value;
use super::value::error_value;
use super::variables::Scope;
use super::{firing, members, other_systems, registers, variables};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, ExprKind as Kind};
use crate::lang::source::Span;

pub fn index(c: &mut Checker<'_>, base: &Ast, items: &[Ast], span: Span) -> Value {
    if let Kind::Index(inner, _) = &base.kind
        && matches!(inner.kind, Kind::Aggregation(_))
    {
        return c.wrong(tags::D_AGG_MDIM, span, "improper use of an aggregation: it is indexed once");
    }
    if let Kind::Aggregation(name) = &base.kind {
        if c.variables.aggregates.contains_key(name) {
            c.error(tags::D_OP_INCOMPAT, span, format!("the aggregation {name} may not be used as a value"));
        } else {
            c.error(tags::D_IDENT_UNDEF, span, format!("failed to resolve {name}: unknown aggregation"));
        }
        return error_value(span);
    }
    if let Kind::Ident(name) = &base.kind {
        match &**name {
            "args" => return firing::typed_argument(c, items, span),
            "`hp_avenrun" if let Some(value) = other_systems::average_of_load(c, items, span) => return value,
            "uregs" => return registers::user_register(c, items, span),
            "fds" => {
                for item in items {
                    c.expr(item);
                }
                c.unsupported(span, "fds[ ] without a member");
                return error_value(span);
            }
            _ => {}
        }
    }
    if let Some(value) = variables::element(c, base, items, span) {
        return value;
    }
    if let Some((scope @ Scope::Thread, name)) = variables::named(base)
        && !c.variables.known.contains_key(&(scope, name.clone()))
    {
        return c.wrong(tags::D_VAR_UNDEF, span, format!("self->{name} has not yet been declared or assigned"));
    }
    let array = c.expr(base);
    let [item] = items else {
        if !array.is_error() {
            c.error(tags::D_ARR_BADREF, span, "only associative arrays have several keys");
        }
        return error_value(span);
    };
    let index = c.expr(item);
    if array.is_error() || index.is_error() {
        return error_value(span);
    }
    members::array_element(c, array, index, span)
}
