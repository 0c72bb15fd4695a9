//! The checker: syntax tree in, typed program and diagnostics out, in one walk, as variables get their types by their
//! first assignment.
//!
//! All clauses of one probe become one program, in the order of the text, so that clause-local variables live from
//! one to the next. A clause is a block that a fault leaves; what it records is sent as one report when it ends, so
//! that a clause that is aborted records nothing.

#![allow(clippy::single_match_else, reason = "`match` reads as a table of what is accepted and what is reported")]

mod actions;
mod address_keys;
mod addresses;
mod aggregations;
mod begun;
pub(super) mod builtins;
mod calls;
mod checker;
mod cleanpath;
mod code;
mod convert;
pub(super) mod declarations;
mod descriptions;
mod expressions;
mod files;
mod firing;
mod frame;
mod functions;
mod indexing;
mod library;
mod members;
mod operators;
pub(super) mod other_calls;
mod other_systems;
mod parameters;
mod pragmas;
mod probes;
mod processes;
pub(super) mod prototypes;
mod recording;
mod registers;
mod scratch;
mod semantic;
mod site;
mod strings;
mod text_bytes;
mod tracepoints;
mod translators;
mod value;
mod variables;

use super::ast::{self, ItemKind};
use crate::lang::codes::d as tags;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::lang::typed::{ActionKind, Program};
use crate::lang::types::Type;
use crate::model::d::options::Options;
use checker::Checker;
pub use checker::Env;

/// What stands before the values of a record, in the reference's buffers, bytes.
const RECORD_HEAD: u64 = 56;

/// Checks a program; the options are those that hold in the end, the number is of errors that were not kept.
#[must_use]
pub fn check(script: &ast::Script, env: Env<'_>) -> (Program, Vec<Diagnostic>, Options, usize) {
    let mut checker = Checker::new(env.clone());
    items(&mut checker, script);
    if checker.names_meet_texts {
        checker = Checker { names_are_texts: true, ..Checker::new(env) };
        items(&mut checker, script);
    }
    checker.finish()
}

fn items(checker: &mut Checker<'_>, script: &ast::Script) {
    pragmas::pragmas(checker, script);
    for item in &script.items {
        match &item.kind {
            ItemKind::Declaration(declaration) => declarations::declaration(checker, declaration),
            ItemKind::Inline(declaration, value) => declarations::inline(checker, declaration, value),
            ItemKind::Translator(translator) => translators::translator(checker, translator),
            ItemKind::Provider(_) | ItemKind::Pragma(_) | ItemKind::Clause(_) => {}
        }
    }
    let clauses: Vec<&ast::Clause> = script
        .items
        .iter()
        .filter_map(|i| if let ItemKind::Clause(clause) = &i.kind { Some(clause) } else { None })
        .collect();
    if clauses.is_empty() && checker.diagnostics.is_empty() && script.items.is_empty() && !checker.options.empty {
        let end = checker.lines.last().copied().unwrap_or(0);
        checker.error(tags::D_EMPTY, Span { start: end, end }, "empty D program translation unit");
    }
    checker.variables.address_keys = address_keys::AddressKeys::of(&clauses);
    probes::clauses(checker, &clauses, script.probe_arguments);
    pragmas::unused_arguments(checker, script);
    room(checker);
}

/// Whether buffers of the sizes that options give hold a record, an element and a variable.
fn room(c: &mut Checker<'_>) {
    let bytes = |ty: &Type| u64::from(crate::lang::typed::size_align(ty, &[]).0);
    let records = c.program.actions.iter().filter(|a| matches!(a.kind, ActionKind::Record(_)));
    // Each record has a head, and what the buffer itself keeps.
    let record = records.map(|a| RECORD_HEAD + a.values.iter().map(&bytes).sum::<u64>()).max().unwrap_or(0);
    let aggregates = c.program.maps.iter().any(|m| matches!(m.value, Type::Agg(_)));
    let arrays = c.variables.known.iter().any(|((scope, _), v)| *scope == variables::Scope::Global && v.indexed);
    let small = (c.options.bufsize > 0 && c.options.bufsize < record)
        || (aggregates && c.options.aggsize < 16)
        || (arrays && c.options.dynvarsize < 16);
    if small && c.diagnostics.is_empty() {
        c.error(tags::D_BUFFERS, Span::default(), "Enabling exceeds size of buffer");
    }
}
