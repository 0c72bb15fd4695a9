//! Keys of aggregations that a format of `printa` prints as what lies at an address (`%a`, `%A`). The key is made a symbol where
//! the aggregation is written, as the format stands below: what prints it does not know symbols any more.

use std::collections::HashMap;
use std::sync::Arc;

use super::value::{is_scalar, symbol_of};
use crate::lang::d::ast::{Binary, Clause, Expr as Ast, ExprKind as Kind};
use crate::lang::typed::{Expr, SymbolForm};
use crate::model::bytes;
use crate::model::d::{Conversion, Count, Format};

/// By aggregation and key: the conversion that all its formats have there, or none where they differ.
#[derive(Clone, Debug, Default)]
pub struct AddressKeys(HashMap<(Arc<str>, usize), Option<char>>);

impl AddressKeys {
    pub fn of(clauses: &[&Clause]) -> Self {
        let mut found = Self::default();
        clauses.iter().filter_map(|clause| clause.body.as_ref()).flatten().for_each(|e| found.look_at(e));
        found
    }

    /// The keys of an aggregation, those that are printed as addresses as symbols.
    pub fn made_symbols(&self, name: &Arc<str>, keys: Vec<Expr>) -> Vec<Expr> {
        let kind = |number| self.0.get(&(Arc::clone(name), number)).copied().flatten();
        let made = |(number, key): (usize, Expr)| match kind(number) {
            Some(kind @ ('a' | 'A')) if is_scalar(&key.ty) => of_address(kind, key),
            _ => key,
        };
        keys.into_iter().enumerate().map(made).collect()
    }

    fn look_at(&mut self, e: &Ast) {
        match &e.kind {
            Kind::Conditional(_, a, b) | Kind::Binary(Binary::Comma, a, b) => {
                self.look_at(a);
                self.look_at(b);
            }
            Kind::Call(callee, items) if matches!(&callee.kind, Kind::Ident(name) if &**name == "printa") => {
                let Some((Kind::Str(text), printed)) = items.split_first().map(|(first, rest)| (&first.kind, rest))
                else {
                    return;
                };
                let Ok(format) = Format::parse(&bytes::hold(text, None)) else { return };
                for item in printed {
                    if let Kind::Aggregation(name) = &item.kind {
                        self.add(name, &format);
                    }
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, name: &Arc<str>, format: &Format) {
        let mut number = 0;
        for conversion in format.conversions().filter(|c| !c.aggregation) {
            number += counts(conversion);
            let known = self.0.entry((Arc::clone(name), number)).or_insert(Some(conversion.kind));
            if *known != Some(conversion.kind) {
                *known = None;
            }
            number += 1;
        }
    }
}

/// How many keys a conversion takes for its width and precision.
fn counts(conversion: &Conversion) -> usize {
    [conversion.width, conversion.precision].into_iter().filter(|count| *count == Some(Count::Value)).count()
}

/// An address as `%a` prints it, or `%A` one of the process that runs.
pub fn of_address(kind: char, address: Expr) -> Expr {
    symbol_of(address, kind == 'A', SymbolForm::WithOffset)
}
