//! What is known of a body while it is checked.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::lang::source::Span;
use crate::lang::typed::LocalId;
use crate::lang::types::{AddressSpace, Type};
use crate::model::target::Target;

/// A variable: the body that it belongs to, and what declares it there. It is the same in each pass over the script.
pub type VariableKey = (u32, Declaration);

/// What declares a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Declaration {
    /// The whole body, by the variable's place in [`Frame::hoisted`].
    Body(usize),
    /// This place of the text. Copies of a macro's text are many there: so many variables were declared before.
    Text(Span, usize),
    /// The checker.
    Temporary,
}

/// What kind of probe a body belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    /// A user-defined function: no probe.
    #[default]
    Function,
    Begin,
    End,
    SelfSignal,
    /// `test` and `bench`.
    Test,
    Interval,
    Profile,
    Tracepoint,
    /// `rawtracepoint`.
    RawTracepoint,
    Kprobe,
    Kretprobe,
    Fentry,
    Fexit,
    Uprobe,
    Uretprobe,
    Usdt,
    /// `software` and `hardware`.
    Perf,
    Watchpoint,
    Iter,
}

impl Kind {
    /// The kind of a target.
    pub const fn of(target: &Target) -> Self {
        match target {
            Target::Begin => Self::Begin,
            Target::End => Self::End,
            Target::SelfSignal(_) => Self::SelfSignal,
            Target::Test(_) | Target::Bench(_) => Self::Test,
            Target::Interval { .. } => Self::Interval,
            Target::Profile { .. } => Self::Profile,
            Target::Tracepoint { .. } => Self::Tracepoint,
            Target::RawTracepoint { .. } => Self::RawTracepoint,
            Target::Kprobe { ret: false, .. } => Self::Kprobe,
            Target::Kprobe { .. } => Self::Kretprobe,
            Target::Fentry { exit: false, .. } => Self::Fentry,
            Target::Fentry { .. } => Self::Fexit,
            Target::Uprobe { ret: false, .. } => Self::Uprobe,
            Target::Uprobe { .. } => Self::Uretprobe,
            Target::Usdt { .. } => Self::Usdt,
            Target::PerfEvent { .. } => Self::Perf,
            Target::Watchpoint { .. } => Self::Watchpoint,
            Target::Iter { .. } => Self::Iter,
        }
    }

    /// The name in scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Function => "fn",
            Self::Begin => "begin",
            Self::End => "end",
            Self::SelfSignal => "self",
            Self::Test => "test",
            Self::Interval => "interval",
            Self::Profile => "profile",
            Self::Tracepoint => "tracepoint",
            Self::RawTracepoint => "rawtracepoint",
            Self::Kprobe => "kprobe",
            Self::Kretprobe => "kretprobe",
            Self::Fentry => "fentry",
            Self::Fexit => "fexit",
            Self::Uprobe => "uprobe",
            Self::Uretprobe => "uretprobe",
            Self::Usdt => "usdt",
            Self::Perf => "software or hardware",
            Self::Watchpoint => "watchpoint",
            Self::Iter => "iter",
        }
    }

    /// Where integers point that such a probe takes for addresses.
    pub const fn space_of_integers(self) -> AddressSpace {
        match self {
            Self::Uprobe | Self::Uretprobe | Self::Usdt => AddressSpace::User,
            // No process is traced there, and the programs of tests have no other helper.
            Self::Function | Self::Test | Self::Iter => AddressSpace::Kernel,
            // A system call's arguments and a task's fields are integers alike, and what `begin` reads tells how
            // reading fails.
            _ => AddressSpace::Either,
        }
    }
}

/// The body being checked.
#[derive(Default)]
pub struct Frame {
    /// Which body: distinct for each group of targets and each function.
    pub id: u32,
    /// What kind of probe.
    pub kind: Kind,
    /// All targets of the body.
    pub targets: Vec<Target>,
    /// The probe is absent here: its body is checked for what it tells of maps, and dropped.
    pub absent: bool,
    /// Full name of the first target, for messages.
    pub name: String,
    /// Names of variables in scope, innermost scope last.
    pub scopes: Vec<BTreeMap<Arc<str>, LocalId>>,
    /// All variables so far.
    pub locals: Vec<LocalState>,
    /// How many of them each place of the text has declared.
    pub declared: HashMap<Span, usize>,
    /// How many loops enclose this place.
    pub loops: u32,
    /// How many of them are loops of the program, unlike those that are unrolled.
    pub program_loops: u32,
    /// Names that are used outside the block that first assigns them.
    pub hoisted: Vec<Arc<str>>,
    /// The body asked for the probe's name.
    pub needs_probe_id: bool,
    /// The body asks for `probe`.
    pub names_probe: bool,
    /// Result of a function.
    pub result: Option<Type>,
}

/// A variable of a frame.
pub struct LocalState {
    pub name: Arc<str>,
    /// Type when it is fixed by a declaration or made up.
    pub fixed: Option<Type>,
    /// Where its inferred type is kept.
    pub key: VariableKey,
    /// Where it is declared.
    pub span: Span,
    pub read: bool,
    /// What the bounds of its loop say of its type, of a loop's counter.
    pub counts: Option<Type>,
    /// Its declaration gives it no value, and nothing has done so since.
    pub empty: bool,
}

impl LocalState {
    pub const fn new(name: Arc<str>, fixed: Option<Type>, key: VariableKey, span: Span) -> Self {
        Self { name, fixed, key, span, read: false, counts: None, empty: false }
    }
}

impl Frame {
    pub fn find_local(&self, name: &str) -> Option<LocalId> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    /// Where a variable of this name is declared that a new one would hide. Those that belong to the whole body because
    /// old scripts use them outside their block hide nothing.
    pub fn shadowed(&self, name: &Arc<str>) -> Option<Span> {
        let innermost = self.scopes.last().is_some_and(|scope| scope.contains_key(name));
        let id = self.find_local(name).filter(|_| innermost || !self.hoisted.contains(name))?;
        self.locals.get(id.0 as usize).map(|local| local.span)
    }

    /// Declares a variable in the innermost scope.
    pub fn declare(&mut self, name: &Arc<str>, fixed: Option<Type>, span: Span) -> LocalId {
        let id = LocalId(self.locals.len() as u32);
        let declared = self.declared.entry(span).or_default();
        let key = (self.id, Declaration::Text(span, *declared));
        *declared += 1;
        self.locals.push(LocalState::new(name.clone(), fixed, key, span));
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.clone(), id);
        }
        id
    }

    /// A made-up variable for a value that is used more than once.
    pub fn temporary(&mut self, ty: Type, span: Span) -> LocalId {
        let id = LocalId(self.locals.len() as u32);
        let name = format!("%{}", id.0).into();
        let local = LocalState::new(name, Some(ty), (u32::MAX, Declaration::Temporary), span);
        self.locals.push(LocalState { read: true, ..local });
        id
    }
}
