//! The state of checking one script, and what every part of the checker needs: diagnostics, actions, names.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::lang::bounds::MOST_TOLD;
use crate::lang::codes::check::{NO_ARGUMENTS, NO_FIELD, NOT_IN_PROBE, UNDEFINED_MAP};
use crate::lang::diagnostic::{Code, Diagnostic, Severity};
use crate::lang::facts::Facts;
use crate::lang::facts::table::TypeTable;
use crate::lang::front::{Checked, FrontOptions};
use crate::lang::source::{SourceText, Span};
use crate::lang::typed::{Action, ActionId, ActionKind, Config, Expr, ExprKind, Program};
use crate::lang::types::Type;

use crate::lang::bt::check::frame::state::{Frame, VariableKey};
use crate::lang::bt::check::maps::table::Maps;
use crate::lang::bt::check::maps::undefined;
use crate::lang::bt::check::suggest;

/// Diagnostics beyond this many are counted: nobody reads on.
const MAX_DIAGNOSTICS: usize = 2 * MOST_TOLD;

/// The state of checking one script.
pub struct Checker<'a> {
    pub source: &'a SourceText,
    pub options: &'a FrontOptions<'a>,
    pub types: TypeTable<'a>,
    pub config: Config,
    /// Calls of macros that enclose what is being checked, outermost first.
    pub expansions: Vec<Span>,
    /// Settings as the script and its caller gave them, by name.
    pub settings: HashMap<String, String>,
    /// A map that time series take their time from in place of the clock.
    pub series_clock: Option<Arc<str>>,
    /// The assignment being checked: where its mismatches are reported.
    pub assigning: Option<Span>,
    pub maps: Maps,
    pub variables: HashMap<VariableKey, Type>,
    pub functions: Vec<Signature>,
    pub function_bodies: Vec<crate::lang::typed::Function>,
    pub frame: Frame,
    pub frames_done: Vec<FrameReport>,
    pub changed: bool,
    /// Found before probes and functions are checked.
    pub fixed: Vec<Diagnostic>,
    /// Found in the present pass over them.
    pub diagnostics: Vec<Diagnostic>,
    /// Errors of this pass that were not kept.
    pub dropped: usize,
    pub actions: Vec<Action>,
    pub time_formats: Vec<Arc<str>>,
    pub cgroup_filters: Vec<Arc<str>>,
    pub probe_names: Vec<Arc<str>>,
    pub name_ids: HashMap<Arc<str>, u32>,
    /// Places so far that bpftrace makes a program for each of.
    pub programs: usize,
}

impl<'a> Checker<'a> {
    pub fn new(source: &'a SourceText, facts: &'a dyn Facts, options: &'a FrontOptions<'a>) -> Self {
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
            dropped: 0,
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
    pub fn guess_maps(&mut self) -> bool {
        let other = |d: &Diagnostic| d.severity == Severity::Error && d.code != UNDEFINED_MAP;
        if self.diagnostics.iter().any(other) {
            return false;
        }
        if self.maps.guess_numbers() {
            return true;
        }
        for (id, span) in self.maps.unsettled() {
            undefined::report_undefined(self, id, span);
        }
        false
    }

    pub fn start_pass(&mut self) {
        self.changed = false;
        self.diagnostics.clear();
        self.dropped = 0;
        self.actions.clear();
        self.function_bodies.clear();
        self.frames_done.clear();
        self.maps.start_pass();
    }

    /// Reports an error and gives the expression that stands for it.
    pub fn error_expr(&mut self, code: Code, span: Span, message: impl Into<String>) -> Expr {
        self.error(code, span, message);
        Self::error_value(span)
    }

    pub fn error_value(span: Span) -> Expr {
        Expr::new(ExprKind::Int(0), Type::Error, span)
    }

    pub fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::error(code, span, message));
    }

    pub fn error_help(&mut self, code: Code, span: Span, message: impl Into<String>, help: Option<String>) {
        let mut diagnostic = Diagnostic::error(code, span, message);
        diagnostic.help = help;
        self.push(diagnostic);
    }

    pub fn warn(&mut self, code: Code, span: Span, message: impl Into<String>, help: Option<String>) {
        let mut diagnostic = Diagnostic::warning(code, span, message);
        diagnostic.help = help;
        self.push(diagnostic);
    }

    /// Whether more diagnostics would be dropped.
    pub const fn is_full(&self) -> bool {
        self.diagnostics.len() >= MAX_DIAGNOSTICS
    }

    pub fn push(&mut self, diagnostic: Diagnostic) {
        // Of a probe that is absent nothing is said that depends on its arguments.
        if self.frame.absent && matches!(diagnostic.code, NO_ARGUMENTS | NOT_IN_PROBE | NO_FIELD) {
            return;
        }
        if !self.is_full() {
            let diagnostic = suggest::with_fix(diagnostic, self.source);
            self.diagnostics.push(diagnostic);
        } else if diagnostic.severity == Severity::Error {
            self.dropped += 1;
        }
    }

    /// Help that takes a search; what is dropped needs none.
    pub fn help(&self, search: impl FnOnce(&Self) -> Option<String>) -> Option<String> {
        if self.is_full() { None } else { search(self) }
    }

    pub fn add_action(&mut self, kind: ActionKind, values: Vec<Type>, span: Span) -> ActionId {
        for ty in &values {
            self.types.complete(ty);
        }
        let expanded = self.expansions.iter().rev().copied().collect();
        self.actions.push(Action { kind, values, span, expanded });
        ActionId(self.actions.len() as u32 - 1)
    }

    pub fn name_id(&mut self, name: String) -> u32 {
        let name: Arc<str> = name.into();
        if let Some(id) = self.name_ids.get(&name) {
            return *id;
        }
        let id = self.probe_names.len() as u32;
        self.probe_names.push(name.clone());
        self.name_ids.insert(name, id);
        id
    }

    pub fn intern(list: &mut Vec<Arc<str>>, text: &str) -> u64 {
        let at = list.iter().position(|t| &**t == text).unwrap_or_else(|| {
            list.push(text.into());
            list.len() - 1
        });
        at as u64
    }

    /// Bytes of a value of a type.
    pub fn size_of(&self, ty: &Type) -> u32 {
        match ty {
            Type::Struct(id) => self.types.struct_size(*id),
            Type::Array { of, len } => self.size_of(of).saturating_mul(*len),
            Type::Tuple(_) | Type::Record(_) => crate::lang::typed::size_align(ty, &self.types.defs()).0,
            other => crate::lang::typed::size_align(other, &[]).0,
        }
    }

    pub fn finish(mut self, probes: Vec<crate::lang::typed::Probe>) -> Checked {
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
        Checked { program, diagnostics, dropped: self.dropped }
    }
}

/// In text order, errors first at one place, each said once.
fn tidy(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| (a.span.start, b.severity, a.code).cmp(&(b.span.start, a.severity, b.code)));
    let mut seen = HashSet::new();
    diagnostics.retain(|d| seen.insert((d.span, d.code, d.message.clone())));
    debug_assert!(diagnostics.iter().all(|d| d.severity >= Severity::Info));
}

/// A user-defined function's head.
pub struct Signature {
    pub name: Arc<str>,
    pub parameters: Vec<Type>,
    pub result: Type,
}

/// What a finished body tells of its variables.
pub struct FrameReport {
    pub unread: Vec<(Arc<str>, Span)>,
    pub read: Vec<Span>,
    /// Declared without a value and never given one.
    pub empty: Vec<(Arc<str>, Span)>,
}
