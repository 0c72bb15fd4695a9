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

mod args;
mod builtins;
mod calls;
mod cast;
mod coerce;
mod config;
mod definitions;
mod expr;
mod frame;
mod hoisting;
mod hot;
mod join;
mod lint;
mod maps;
mod operators;
mod place;
mod probes;
mod programs;
mod statements;
mod strict;
mod suggest;
#[cfg(test)]
mod tests;
mod typeinfo;
mod typename;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::diagnostic::{Code, Diagnostic, Severity};
use crate::lang::facts::Facts;
use crate::lang::facts::table::TypeTable;
use crate::lang::front::{Checked, FrontOptions};
use crate::lang::source::{SourceText, Span};
use crate::lang::typed::{Action, ActionId, ActionKind, Config, Expr, ExprKind, Program};
use crate::lang::types::Type;

pub(crate) use crate::lang::codes::check::*;
use frame::state::{Frame, VariableKey};
use maps::table::Maps;

/// Walks after which types are taken as they are. Each walk that is not the last widens at least one
/// type; chains of reads before writes need one walk a link. Long scripts get fewer, so that time
/// stays bounded.
fn most_walks(source: &SourceText) -> usize {
    ((32 << 20) / source.text.len().max(1)).clamp(24, 256)
}

/// Diagnostics beyond this many are dropped: nobody reads on.
const MAX_DIAGNOSTICS: usize = 200;

/// Checks a script whose macros and positional parameters are expanded.
pub fn check(script: &ast::Script, source: &SourceText, facts: &dyn Facts, options: &FrontOptions<'_>) -> Checked {
    let mut checker = Checker::new(source, facts, options);
    checker.read_config(script);
    checker.read_definitions(script);
    checker.name_maps(script);
    checker.read_map_declarations(script);
    let groups = checker.expand_probes(script);
    checker.read_functions(script);
    checker.fixed = std::mem::take(&mut checker.diagnostics);
    let mut probes = Vec::new();
    let walks = most_walks(source);
    for walk in 0..walks {
        checker.start_pass();
        checker.check_functions(script);
        probes = checker.check_groups(&groups);
        if !checker.changed && !checker.guess_maps() {
            break;
        }
        if walk + 1 == walks {
            checker.error(UNSETTLED, Span::default(), "the types of this script's variables don't settle");
        }
    }
    checker.check_storage();
    checker.lint();
    checker.finish(probes)
}

/// The state of checking one script.
pub(crate) struct Checker<'a> {
    source: &'a SourceText,
    options: &'a FrontOptions<'a>,
    types: TypeTable<'a>,
    config: Config,
    /// Calls of macros that enclose what is being checked, outermost first.
    expansions: Vec<Span>,
    /// Settings as the script and its caller gave them, by name.
    settings: HashMap<String, String>,
    /// A map that time series take their time from in place of the clock.
    series_clock: Option<Arc<str>>,
    /// The assignment being checked: where its mismatches are reported.
    assigning: Option<Span>,
    maps: Maps,
    variables: HashMap<VariableKey, Type>,
    functions: Vec<definitions::Signature>,
    function_bodies: Vec<crate::lang::typed::Function>,
    frame: Frame,
    frames_done: Vec<lint::FrameReport>,
    changed: bool,
    /// Found before the walks.
    fixed: Vec<Diagnostic>,
    /// Found in the present walk.
    diagnostics: Vec<Diagnostic>,
    actions: Vec<Action>,
    time_formats: Vec<Arc<str>>,
    cgroup_filters: Vec<Arc<str>>,
    probe_names: Vec<Arc<str>>,
    name_ids: HashMap<Arc<str>, u32>,
    /// Places so far that bpftrace makes a program for each of.
    programs: usize,
}

impl<'a> Checker<'a> {
    fn new(source: &'a SourceText, facts: &'a dyn Facts, options: &'a FrontOptions<'a>) -> Self {
        Self {
            source,
            options,
            types: TypeTable::new(facts),
            config: Config { missing_probes: options.missing_probes, ..Config::default() },
            expansions: Vec::new(),
            settings: HashMap::new(),
            series_clock: None,
            assigning: None,
            maps: Maps::default(),
            variables: HashMap::new(),
            functions: Vec::new(),
            function_bodies: Vec::new(),
            frame: Frame::default(),
            frames_done: Vec::new(),
            changed: false,
            fixed: Vec::new(),
            diagnostics: Vec::new(),
            actions: Vec::new(),
            time_formats: Vec::new(),
            cgroup_filters: Vec::new(),
            probe_names: Vec::new(),
            name_ids: HashMap::new(),
            programs: 0,
        }
    }

    /// Gives a type to maps that are read and of which nothing tells one, unless what is wrong elsewhere
    /// is the reason. True when that changed something.
    fn guess_maps(&mut self) -> bool {
        let other = |d: &Diagnostic| d.severity == Severity::Error && d.code != UNDEFINED_MAP;
        if self.diagnostics.iter().any(other) {
            return false;
        }
        if self.maps.guess_numbers() {
            return true;
        }
        for (id, span) in self.maps.unsettled() {
            self.report_undefined(id, span);
        }
        false
    }

    fn start_pass(&mut self) {
        self.changed = false;
        self.diagnostics.clear();
        self.actions.clear();
        self.function_bodies.clear();
        self.frames_done.clear();
        self.maps.start_pass();
    }

    /// Reports an error and gives the expression that stands for it.
    fn error_expr(&mut self, code: Code, span: Span, message: impl Into<String>) -> Expr {
        self.error(code, span, message);
        Self::error_value(span)
    }

    fn error_value(span: Span) -> Expr {
        Expr::new(ExprKind::Int(0), Type::Error, span)
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::error(code, span, message));
    }

    fn error_help(&mut self, code: Code, span: Span, message: impl Into<String>, help: Option<String>) {
        let mut diagnostic = Diagnostic::error(code, span, message);
        diagnostic.help = help;
        self.push(diagnostic);
    }

    fn warn(&mut self, code: Code, span: Span, message: impl Into<String>, help: Option<String>) {
        let mut diagnostic = Diagnostic::warning(code, span, message);
        diagnostic.help = help;
        self.push(diagnostic);
    }

    /// Whether more diagnostics would be dropped.
    const fn is_full(&self) -> bool {
        self.diagnostics.len() >= MAX_DIAGNOSTICS
    }

    fn push(&mut self, diagnostic: Diagnostic) {
        // Of a probe that is absent nothing is said that depends on its arguments.
        if self.frame.absent && matches!(diagnostic.code, NO_ARGUMENTS | NOT_IN_PROBE | NO_FIELD) {
            return;
        }
        if !self.is_full() {
            let diagnostic = suggest::with_fix(diagnostic, self.source);
            self.diagnostics.push(diagnostic);
        }
    }

    fn add_action(&mut self, kind: ActionKind, values: Vec<Type>, span: Span) -> ActionId {
        for ty in &values {
            self.types.complete(ty);
        }
        let expanded = self.expansions.iter().rev().copied().collect();
        self.actions.push(Action { kind, values, span, expanded });
        ActionId(self.actions.len() as u32 - 1)
    }

    fn name_id(&mut self, name: String) -> u32 {
        let name: Arc<str> = name.into();
        if let Some(id) = self.name_ids.get(&name) {
            return *id;
        }
        let id = self.probe_names.len() as u32;
        self.probe_names.push(name.clone());
        self.name_ids.insert(name, id);
        id
    }

    fn intern(list: &mut Vec<Arc<str>>, text: &str) -> u64 {
        let at = list.iter().position(|t| &**t == text).unwrap_or_else(|| {
            list.push(text.into());
            list.len() - 1
        });
        at as u64
    }

    /// Bytes of a value of a type.
    fn size_of(&self, ty: &Type) -> u32 {
        match ty {
            Type::Struct(id) => self.types.struct_size(*id),
            Type::Array { of, len } => self.size_of(of).saturating_mul(*len),
            Type::Tuple(_) | Type::Record(_) => crate::lang::typed::size_align(ty, &self.types.defs()).0,
            other => crate::lang::typed::size_align(other, &[]).0,
        }
    }

    fn finish(mut self, probes: Vec<crate::lang::typed::Probe>) -> Checked {
        let maps = self.maps.finish(&self.config);
        for map in &maps {
            self.types.complete(&map.key);
            self.types.complete(&map.value);
        }
        let mut diagnostics = self.fixed;
        diagnostics.append(&mut self.diagnostics);
        tidy(&mut diagnostics);
        let mut program = Program {
            probes,
            maps,
            actions: self.actions,
            structs: self.types.defs(),
            enums: self.types.enum_defs().to_vec(),
            time_formats: self.time_formats,
            cgroup_filters: self.cgroup_filters,
            probe_names: self.probe_names,
            probe_ids: Vec::new(),
            matched: 0,
            style: crate::model::d::Style::default(),
            functions: self.function_bodies,
            config: self.config,
        };
        program.number_scopes();
        Checked { program, diagnostics }
    }
}

/// In text order, errors first at one place, each said once.
fn tidy(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| (a.span.start, b.severity, a.code).cmp(&(b.span.start, a.severity, b.code)));
    let mut seen = HashSet::new();
    diagnostics.retain(|d| seen.insert((d.span, d.code, d.message.clone())));
    diagnostics.truncate(MAX_DIAGNOSTICS);
    debug_assert!(diagnostics.iter().all(|d| d.severity >= Severity::Info));
}
