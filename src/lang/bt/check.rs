//! The checker: syntax tree in, typed program and diagnostics out.
//!
//! Types are inferred over the whole script by repeating one walk: every walk types each
//! expression with what is known of variables and maps so far and joins what it assigns to them,
//! until a walk learns nothing new. That last walk's program and diagnostics are the result, so a
//! map may be read above the line that first writes it.

#![allow(
    clippy::many_single_char_names,
    clippy::similar_names,
    reason = "two operands are `a` and `b`, a checker is `c`; `typed` is the typed form of a syntax node"
)]
#![allow(clippy::single_match_else, reason = "`match` reads as a table of what is accepted and what is reported")]
#![allow(clippy::needless_for_each, reason = "one visitor a line")]
#![allow(clippy::match_same_arms, reason = "arms are ordered by meaning, not by result")]
#![allow(clippy::unused_self, reason = "handlers of one table have one shape")]
#![allow(clippy::redundant_closure_for_method_calls, reason = "methods of `Checker<'_>` do not coerce to handlers")]

mod absent;
mod args;
mod builtins;
mod calls;
mod cast;
mod checker;
mod coerce;
mod config;
mod definitions;
mod expr;
mod frame;
mod hoisting;
mod hot;
mod join;
mod lint;
mod literal;
mod maps;
mod operators;
mod place;
mod probes;
mod programs;
pub mod setting;
mod statements;
mod strict;
mod suggest;
#[cfg(test)]
mod tests;

mod type_text;
mod typeinfo;
mod typename;

use crate::lang::bt::ast;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::facts::Facts;
use crate::lang::front::{Checked, FrontOptions};
use crate::lang::source::{SourceText, Span};
use crate::lang::typed::Program;
use crate::lang::typed::sizes::Sizes;

pub(crate) use crate::lang::codes::check::*;
use checker::Checker;

/// Walks after which types are taken as they are. Each walk that is not the last widens at least one
/// type; chains of reads before writes need one walk a link. Long scripts get fewer, so that time
/// stays bounded.
fn most_walks(source: &SourceText) -> usize {
    ((4 << 20) / source.text.len().max(1)).clamp(8, 256)
}

/// Steps that a probe's code may have once loops are unrolled and functions stand where they are called: a program of
/// the kernel has a million instructions at most.
const MOST_STEPS: u64 = 500_000;

/// What is wrong with the size of the first probe that is too large.
fn written_out(program: &Program) -> Option<Diagnostic> {
    let sizes = Sizes::of(program);
    let (probe, size) = program.probes.iter().map(|p| (p, sizes.probe(p))).find(|(_, size)| *size > MOST_STEPS)?;
    let size = if size >= Sizes::MOST { format!("more than {}", Sizes::MOST) } else { size.to_string() };
    let message = format!("unrolled, this probe has {size} steps: the limit is {MOST_STEPS}");
    let help = "a `for` or `while` loop repeats without writing its body out";
    Some(Diagnostic::error(TOO_LARGE, probe.head, message).help(help))
}

/// Checks a script whose macros and positional parameters are expanded.
pub fn check(script: &ast::Script, source: &SourceText, facts: &dyn Facts, options: &FrontOptions<'_>) -> Checked {
    let mut checker = Checker::new(source, facts, options);
    config::read_config(&mut checker, script);
    definitions::read_definitions(&mut checker, script);
    maps::name_maps(&mut checker, script);
    maps::read_map_declarations(&mut checker, script);
    let groups = probes::expand_probes(&mut checker, script);
    definitions::read_functions(&mut checker, script);
    checker.fixed = std::mem::take(&mut checker.diagnostics);
    let mut probes = Vec::new();
    let walks = most_walks(source);
    for walk in 0..walks {
        checker.start_pass();
        definitions::check_functions(&mut checker, script);
        probes = probes::check_groups(&mut checker, &groups);
        if !checker.changed && !checker.guess_maps() {
            break;
        }
        if walk + 1 == walks {
            let message = format!("the types of this script's variables don't settle: the limit is {walks} walks");
            checker.error(UNSETTLED, Span::default(), message);
        }
    }
    maps::check_storage(&mut checker);
    lint::lint(&mut checker);
    let mut checked = checker.finish(probes);
    if let Some(error) = written_out(&checked.program) {
        checked.diagnostics.push(error);
    }
    checked
}
