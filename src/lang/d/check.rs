//! The checker: syntax tree in, typed program and diagnostics out, in one walk, as variables get their types by their
//! first assignment.
//!
//! All clauses of one probe become one program, in the order of the text, so that clause-local variables live from
//! one to the next. A clause is a block that a fault leaves; what it records is sent as one report when it ends, so
//! that a clause that is aborted records nothing.

#![allow(clippy::single_match_else, reason = "`match` reads as a table of what is accepted and what is reported")]

mod actions;
mod addresses;
mod aggregations;
mod begun;
pub(super) mod builtins;
pub(super) mod calls;
mod cleanpath;
mod declarations;
mod descriptions;
mod expressions;
mod files;
mod functions;
mod indexing;
mod library;
mod members;
mod operators;
mod options;
mod other_systems;
mod paths;
mod pragmas;
mod probes;
mod registers;
mod scratch;
mod semantic;
mod site;
mod strings;
mod tracepoints;
mod translators;
mod value;
mod variables;

use std::collections::HashMap;
use std::sync::Arc;

use super::ast::{self, ItemKind};
use crate::lang::codes::d as tags;
use crate::lang::diagnostic::{Code, Diagnostic};
use crate::lang::facts::Facts;
use crate::lang::facts::table::TypeTable;
use crate::lang::source::Span;
use crate::lang::typed::{
    Action, ActionId, ActionKind, Config, Expr, Local, LocalId, Map, MapId, MapStorage, Program, Statement,
    StatementKind,
};
use crate::lang::types::Type;
pub use options::{Kept, Options};
use variables::table::{Inline, Variables};

/// What stands before the values of a record, in the reference's buffers, bytes.
const RECORD_HEAD: u64 = 56;

/// What a program is checked with.
#[derive(Clone)]
pub struct Env<'a> {
    /// The kernel.
    pub facts: &'a dyn Facts,
    /// Options of the command line; the program's pragmas come on top.
    pub options: Options,
    /// Wall time minus the monotonic clock.
    pub wall_minus_monotonic_ns: i64,
    /// Where the text's lines begin, bytes.
    pub lines: Arc<[u32]>,
}

/// Checks a program; the options are those that hold in the end.
#[must_use]
pub fn check(script: &ast::Script, env: Env<'_>) -> (Program, Vec<Diagnostic>, Options) {
    let mut checker = Checker::new(env.clone());
    items(&mut checker, script);
    if checker.names_meet_texts {
        checker = Checker { names_are_texts: true, ..Checker::new(env) };
        items(&mut checker, script);
    }
    checker.finish()
}

fn items(checker: &mut Checker<'_>, script: &ast::Script) {
    checker.pragmas(script);
    for item in &script.items {
        match &item.kind {
            ItemKind::Declaration(declaration) => checker.declaration(declaration),
            ItemKind::Inline(declaration, value) => checker.inline(declaration, value),
            ItemKind::Translator(translator) => checker.translator(translator),
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
        checker.error(tags::D_EMPTY, Span { start: end, end: end + 1 }, "empty D program translation unit");
    }
    checker.clauses(&clauses, script.probe_arguments);
    checker.unused_arguments(script);
    checker.room();
}

/// Where the code at hand stands.
#[derive(Clone, Debug, Default)]
struct Frame {
    locals: Vec<Local>,
    /// What the clause has recorded so far.
    items: Vec<crate::model::d::Item>,
    values: Vec<Expr>,
    exit: Option<Expr>,
    /// Set once a clause has called `exit`: later ones of the firing do not run.
    exited: Option<LocalId>,
    /// The time of the firing, once it was asked for; 0 before.
    now: Option<LocalId>,
    /// Bytes that recorded values wait in, those that are in use, and the most that were.
    recorded: Option<LocalId>,
    recorded_bytes: (u32, u32),
    /// The clause's number.
    clause: u32,
    /// Set by a fault: its kind, and the address that could not be read.
    fault: Option<(LocalId, LocalId)>,
    /// Scratch memory, once something has asked for it.
    scratch: Option<scratch::Scratch>,
    /// What `strtok` goes on with.
    words: Option<paths::Words>,
    /// Clause-local variables by name.
    this: HashMap<Arc<str>, LocalId>,
    speculates: bool,
    commits: bool,
    records: bool,
    /// The clause is told of at its end although it may print nothing.
    reports: bool,
    /// What the firing probe is, for its arguments.
    site: site::Site,
    /// The code at hand is of a row of the semantic probes.
    in_row: bool,
}

struct Checker<'a> {
    facts: &'a dyn Facts,
    types: TypeTable<'a>,
    options: Options,
    wall_minus_monotonic_ns: i64,
    lines: Arc<[u32]>,
    program: Program,
    diagnostics: Vec<Diagnostic>,
    variables: Variables,
    /// Structs and unions of the program by tag, and whether they are defined.
    tags: HashMap<Arc<str>, (crate::lang::types::StructId, bool)>,
    inlines: HashMap<Arc<str>, Inline>,
    translators: Vec<translators::Translator>,
    /// Which speculations are in use, once the program has any.
    speculations: Option<MapId>,
    /// Where each probe's name is in the program's list.
    names: HashMap<Arc<str>, u32>,
    frame: Frame,
    /// The program has scratch memory: what is read may lie there.
    uses_scratch: bool,
    /// Nothing is read here: only the address of what is named is asked for.
    only_address: bool,
    /// Number of inlines that are being put in.
    depth: u32,
    /// A key that functions' names are by their numbers is another text elsewhere: the program is checked once more, with
    /// `names_are_texts`.
    names_meet_texts: bool,
    names_are_texts: bool,
}

impl<'a> Checker<'a> {
    fn new(env: Env<'a>) -> Self {
        Self {
            facts: env.facts,
            types: TypeTable::new(env.facts),
            options: env.options,
            wall_minus_monotonic_ns: env.wall_minus_monotonic_ns,
            lines: env.lines,
            program: Program::default(),
            diagnostics: Vec::new(),
            variables: Variables::default(),
            tags: HashMap::new(),
            inlines: HashMap::new(),
            translators: Vec::new(),
            speculations: None,
            names: HashMap::new(),
            frame: Frame::default(),
            uses_scratch: false,
            only_address: false,
            depth: 0,
            names_meet_texts: false,
            names_are_texts: false,
        }
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        if self.diagnostics.len() < 100 {
            self.diagnostics.push(Diagnostic::error(code, span, message));
        }
    }

    fn unsupported(&mut self, span: Span, what: &str) {
        self.error(tags::D_UNSUPPORTED, span, format!("{what} can't be used yet"));
    }

    /// The type of text.
    const fn string(&self) -> Type {
        Type::Str { size: self.options.strsize + 1 }
    }

    fn local(&mut self, name: &str, ty: Type) -> LocalId {
        self.frame.locals.push(Local { name: name.into(), ty });
        LocalId((self.frame.locals.len() - 1) as u32)
    }

    fn map(&mut self, name: &str, key: Type, value: Type, span: Span) -> MapId {
        let max_entries = match (&key, &value) {
            (Type::Void, _) => 1,
            (_, Type::Agg(_)) => self.options.most_aggregated(),
            _ => self.options.most_variables(),
        };
        let storage = MapStorage::Auto;
        self.program.maps.push(Map { name: name.into(), key, value, max_entries, storage, span });
        MapId((self.program.maps.len() - 1) as u32)
    }

    fn action(&mut self, kind: ActionKind, values: Vec<Type>, span: Span) -> ActionId {
        self.program.actions.push(Action { kind, values, span, expanded: Vec::new() });
        ActionId((self.program.actions.len() - 1) as u32)
    }

    /// Whether buffers of the sizes that options give hold a record, an element and a variable.
    fn room(&mut self) {
        let bytes = |ty: &Type| u64::from(crate::lang::typed::size_align(ty, &[]).0);
        let records = self.program.actions.iter().filter(|a| matches!(a.kind, ActionKind::Record(_)));
        // Each record has a head, and what the buffer itself keeps.
        let record = records.map(|a| RECORD_HEAD + a.values.iter().map(&bytes).sum::<u64>()).max().unwrap_or(0);
        let aggregates = self.program.maps.iter().any(|m| matches!(m.value, Type::Agg(_)));
        let arrays = self.variables.known.iter().any(|((scope, _), v)| *scope == variables::Scope::Global && v.indexed);
        let small = (self.options.bufsize > 0 && self.options.bufsize < record)
            || (aggregates && self.options.aggsize < 16)
            || (arrays && self.options.dynvarsize < 16);
        if small && self.diagnostics.is_empty() {
            self.error(tags::D_BUFFERS, Span::default(), "Enabling exceeds size of buffer");
        }
    }

    fn finish(mut self) -> (Program, Vec<Diagnostic>, Options) {
        let types: Vec<Type> = self
            .program
            .maps
            .iter()
            .flat_map(|m| [m.key.clone(), m.value.clone()])
            .chain(self.program.actions.iter().flat_map(|a| a.values.clone()))
            .collect();
        for ty in &types {
            self.types.complete(ty);
        }
        self.program.structs = self.types.defs();
        self.program.enums = self.types.enum_defs().to_vec();
        self.program.config = Config {
            max_strlen: self.options.strsize.max(1) + 8,
            str_trunc_trailer: "".into(),
            print_maps_on_exit: false,
            exit_leaves_probe: false,
            ring_bytes: match self.options.bufsize {
                0 => 0,
                bytes => u32::try_from(bytes.next_power_of_two().clamp(1 << 16, 1 << 30)).unwrap_or(1 << 30),
            },
            missing_probes: crate::lang::typed::MissingProbes::Warn,
            ..Config::default()
        };
        self.program.number_scopes();
        self.diagnostics.sort_by_key(|d| d.span.start);
        (self.program, self.diagnostics, self.options)
    }
}

/// A statement.
fn statement(kind: StatementKind, span: Span) -> Statement {
    Statement { kind, span }
}
