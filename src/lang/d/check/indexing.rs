//! What stands before brackets: arrays, associative arrays, `args[ ]`, `fds[ ]`.

use super::Checker;
use super::value::Value;
use super::variables::Scope;
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, ExprKind as Kind};
use crate::lang::source::Span;

impl Checker<'_> {
    pub(super) fn index(&mut self, base: &Ast, items: &[Ast], span: Span) -> Value {
        if let Kind::Index(inner, _) = &base.kind
            && matches!(inner.kind, Kind::Aggregation(_))
        {
            self.error(tags::D_AGG_MDIM, span, "improper use of an aggregation: it is indexed once");
            return Self::error_value(span);
        }
        if let Kind::Aggregation(name) = &base.kind {
            if self.variables.aggregates.contains_key(name) {
                self.error(tags::D_OP_INCOMPAT, span, format!("the aggregation {name} may not be used as a value"));
            } else {
                self.error(tags::D_IDENT_UNDEF, span, format!("failed to resolve {name}: unknown aggregation"));
            }
            return Self::error_value(span);
        }
        if let Kind::Ident(name) = &base.kind {
            match &**name {
                "args" => return self.typed_argument(items, span),
                "`hp_avenrun" if let Some(value) = self.average_of_load(items, span) => return value,
                "uregs" => return self.user_register(items, span),
                "fds" => {
                    for item in items {
                        self.expr(item);
                    }
                    self.unsupported(span, "fds[ ] without a member");
                    return Self::error_value(span);
                }
                _ => {}
            }
        }
        if let Some(value) = self.element(base, items, span) {
            return value;
        }
        if let Kind::Member { base: word, arrow: true, name } = &base.kind
            && matches!(&word.kind, Kind::Ident(w) if &**w == "self" || &**w == "this")
        {
            let scope =
                if matches!(&word.kind, Kind::Ident(w) if &**w == "this") { Scope::Clause } else { Scope::Thread };
            if scope == Scope::Thread && !self.variables.known.contains_key(&(scope, name.text.clone())) {
                self.error(
                    tags::D_VAR_UNDEF,
                    span,
                    format!("self->{} has not yet been declared or assigned", name.text),
                );
                return Self::error_value(span);
            }
        }
        let array = self.expr(base);
        let [item] = items else {
            if !array.is_error() {
                self.error(tags::D_ARR_BADREF, span, "only associative arrays have several keys");
            }
            return Self::error_value(span);
        };
        let index = self.expr(item);
        if array.is_error() || index.is_error() {
            return Self::error_value(span);
        }
        self.array_element(array, index, span)
    }
}
