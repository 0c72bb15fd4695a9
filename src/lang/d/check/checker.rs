//! The state of checking one program, and what every part of the checker needs: diagnostics, names, maps, actions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::frame::Frame;
use super::value::{Value, error_value};
use super::variables::table::{Inline, Variables};
use crate::lang::bounds::MOST_TOLD;
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, Name};
use crate::lang::diagnostic::{Code, Diagnostic};
use crate::lang::facts::Facts;
use crate::lang::facts::table::TypeTable;
use crate::lang::source::Span;
use crate::lang::typed::{Action, ActionId, ActionKind, Config, Local, LocalId, Map, MapId, MapStorage, Program};
use crate::lang::types::{StructId, Type};
use crate::model::d::options::Options;

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

/// Text that inlines and translators may stand for in all.
const MOST_PUT_IN: u32 = 256 << 10;

#[derive(Clone, Debug)]
pub struct Translator {
    pub output: StructId,
    pub input: Type,
    pub parameter: Arc<str>,
    pub members: Vec<(Name, Ast)>,
}

/// The state of checking one program.
pub struct Checker<'a> {
    pub facts: &'a dyn Facts,
    pub types: TypeTable<'a>,
    pub options: Options,
    pub wall_minus_monotonic_ns: i64,
    pub lines: Arc<[u32]>,
    pub program: Program,
    pub diagnostics: Vec<Diagnostic>,
    /// Errors that were found and not kept.
    pub dropped: usize,
    pub variables: Variables,
    /// Structs and unions of the program by tag, and whether they are defined.
    pub tags: HashMap<Arc<str>, (StructId, bool)>,
    /// Those that are not defined.
    pub incomplete: HashSet<StructId>,
    pub inlines: HashMap<Arc<str>, Inline>,
    pub translators: Vec<Translator>,
    /// Which speculations are in use, once the program has any.
    pub speculations: Option<MapId>,
    /// Where each probe's name is in the program's list.
    pub names: HashMap<Arc<str>, u32>,
    pub frame: Frame,
    /// The program has scratch memory: what is read may lie there.
    pub uses_scratch: bool,
    /// Nothing is read here: only the address of what is named is asked for.
    pub only_address: bool,
    /// Number of inlines that are being put in.
    pub depth: u32,
    /// Bytes of the text of all inlines and translators that were put in so far.
    pub put_in: u32,
    /// A key that functions' names are by their numbers is another text elsewhere: the program is checked once more, with
    /// `names_are_texts`.
    pub names_meet_texts: bool,
    pub names_are_texts: bool,
}

impl<'a> Checker<'a> {
    pub fn new(env: Env<'a>) -> Self {
        Self {
            facts: env.facts,
            types: TypeTable::new(env.facts),
            options: env.options,
            wall_minus_monotonic_ns: env.wall_minus_monotonic_ns,
            lines: env.lines,
            program: Program::default(),
            diagnostics: Vec::new(),
            dropped: 0,
            variables: Variables::default(),
            tags: HashMap::new(),
            incomplete: HashSet::new(),
            inlines: HashMap::new(),
            translators: Vec::new(),
            speculations: None,
            names: HashMap::new(),
            frame: Frame::default(),
            uses_scratch: false,
            only_address: false,
            depth: 0,
            put_in: 0,
            names_meet_texts: false,
            names_are_texts: false,
        }
    }

    pub fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::error(code, span, message));
    }

    pub fn error_with_help(&mut self, code: Code, span: Span, message: impl Into<String>, help: &str) {
        self.push(Diagnostic::error(code, span, message).help(help));
    }

    pub fn warn(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::warning(code, span, message));
    }

    fn push(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MOST_TOLD {
            self.diagnostics.push(diagnostic);
        } else {
            self.dropped += 1;
        }
    }

    /// How much is told so far, for [`Self::forget`].
    pub const fn told(&self) -> (usize, usize) {
        (self.diagnostics.len(), self.dropped)
    }

    /// Takes back what was told since.
    pub fn forget(&mut self, (told, dropped): (usize, usize)) {
        self.diagnostics.truncate(told);
        self.dropped = dropped;
    }

    /// Reports an error where a value is expected: the value that stands for it is checked no further.
    pub fn wrong(&mut self, code: Code, span: Span, message: impl Into<String>) -> Value {
        self.error(code, span, message);
        error_value(span)
    }

    /// Counts a text that is put in where a name stands; what to say when that is more than the budget.
    pub fn beyond_budget(&mut self, text: Span) -> Option<String> {
        if self.depth > 32 {
            return Some("inlines and translators are nested too deep: the limit is 32 levels".to_owned());
        }
        self.put_in = self.put_in.saturating_add(text.end.saturating_sub(text.start).max(16));
        let beyond = self.put_in > MOST_PUT_IN;
        beyond
            .then(|| format!("inlines and translators expand to too much text here: the limit is {MOST_PUT_IN} bytes"))
    }

    pub fn unsupported(&mut self, span: Span, what: &str) {
        self.error(tags::D_UNSUPPORTED, span, format!("{what} can't be used yet"));
    }

    /// The type of text.
    pub const fn string(&self) -> Type {
        Type::Str { size: self.options.strsize + 1 }
    }

    pub fn local(&mut self, name: &str, ty: Type) -> LocalId {
        self.frame.locals.push(Local { name: name.into(), ty });
        LocalId((self.frame.locals.len() - 1) as u32)
    }

    pub fn map(&mut self, name: &str, key: Type, value: Type, span: Span) -> MapId {
        let max_entries = match (&key, &value) {
            (Type::Void, _) => 1,
            (_, Type::Agg(_)) => self.options.most_aggregated(),
            _ => self.options.most_variables(),
        };
        let storage = MapStorage::Auto;
        self.program.maps.push(Map { name: name.into(), key, value, max_entries, storage, span });
        MapId((self.program.maps.len() - 1) as u32)
    }

    pub fn action(&mut self, kind: ActionKind, values: Vec<Type>, span: Span) -> ActionId {
        self.program.actions.push(Action { kind, values, span, expanded: Vec::new() });
        ActionId((self.program.actions.len() - 1) as u32)
    }

    pub fn finish(mut self) -> (Program, Vec<Diagnostic>, Options, usize) {
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
        (self.program, self.diagnostics, self.options, self.dropped)
    }
}
