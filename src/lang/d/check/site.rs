//! The firing probe: its arguments, its name and what its call returned.

use std::collections::HashMap;
use std::sync::Arc;

use super::Checker;
use super::value::{Value, cast, int, is_int};
use crate::lang::codes::d as tags;
use crate::lang::d::ast;
use crate::lang::facts::{Facts, TraceField};
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Builtin, Expr, ExprKind, LocalId};
use crate::lang::types::Type;
use crate::probe::providers;

/// Arguments of system calls, at most.
pub const MOST_ARGUMENTS: u8 = 6;

/// What a program tells of itself: its arguments depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteKind {
    #[default]
    Nothing,
    /// A timer's program.
    Timer,
    Entry,
    Return,
    Semantic,
    /// A function of the kernel.
    KernelEntry,
    KernelReturn,
    /// A function of a process, or an instruction in it.
    UserEntry,
    UserReturn,
    /// A static probe of a process.
    Static,
    /// A tracepoint of the kernel, and the call of one.
    Tracepoint,
    RawTracepoint,
    /// A probe that this kernel lacks: its clauses are checked for what they make known, and left out.
    Absent,
}

impl SiteKind {
    /// Many probes of this kind are one program.
    pub const fn is_of_many(self) -> bool {
        use SiteKind::{Entry, KernelEntry, KernelReturn, Return, UserEntry, UserReturn};
        matches!(self, Entry | Return | KernelEntry | KernelReturn | UserEntry | UserReturn)
    }

    const fn is_entry(self) -> bool {
        matches!(self, Self::Entry | Self::KernelEntry | Self::UserEntry)
    }
}

/// The firing probe, as the code at hand knows it.
#[derive(Clone, Debug, Default)]
pub struct Site {
    pub kind: SiteKind,
    /// The probe's own name when there is one alone.
    pub name: Option<Arc<str>>,
    pub id: u32,
    /// How many arguments the records of all its system calls hold; what is beyond is 0.
    pub arguments: u8,
    /// Provider and module, where all probes of the program have the same.
    pub common: [Option<Arc<str>>; 2],
    /// `arg1` to `arg5` of ERROR clauses.
    pub error_arguments: Option<[Expr; 6]>,
    /// The place where a semantic probe fires.
    pub place: Option<Arc<providers::Found>>,
    /// How long ago what the place ends has begun.
    pub since: Option<LocalId>,
    /// Arguments of the inline that is being put in.
    pub inline_arguments: HashMap<Arc<str>, Expr>,
}

impl Checker<'_> {
    /// `argN`.
    pub fn argument(&mut self, number: u8, span: Span) -> Value {
        if let Some(arguments) = &self.frame.site.error_arguments {
            let e = arguments.get(usize::from(number)).cloned().unwrap_or_else(|| int(0, Type::I64, span));
            return Value::new(cast(e, &Type::I64));
        }
        if let Some(place) = &self.frame.site.place {
            if usize::from(number) >= place.row.arguments.len() {
                return Value::new(int(0, Type::I64, span));
            }
            let value = self.semantic_argument(usize::from(number), span);
            let value = value.unwrap_or_else(|| Self::error_value(span));
            let word =
                if matches!(value.ty(), Type::Str { .. }) { int(0, Type::I64, span) } else { self.word(value.e) };
            return Value::new(cast(word, &Type::I64));
        }
        let field = |offset| cast(Expr::new(ExprKind::Builtin(Builtin::CtxField(offset)), Type::U64, span), &Type::I64);
        match self.frame.site.kind {
            // A system call's record: common fields, the number, then the arguments as words.
            SiteKind::Entry if number < self.frame.site.arguments => Value::new(field(16 + u32::from(number) * 8)),
            SiteKind::Return if number < 2 => Value::new(field(16)),
            SiteKind::Timer if number < 2 => self.interrupted(number == 1, span),
            SiteKind::KernelEntry | SiteKind::UserEntry if number < 6 => self.word_of(Builtin::Arg(number), span),
            SiteKind::Static => self.word_of(Builtin::Arg(number), span),
            SiteKind::Tracepoint | SiteKind::RawTracepoint => self.word_of_tracepoint(usize::from(number), span),
            SiteKind::KernelReturn | SiteKind::UserReturn if number == 1 => self.word_of(Builtin::Retval, span),
            _ => Value::new(int(0, Type::I64, span)),
        }
    }

    /// Where a timer found its processor: in the kernel or in a process.
    fn interrupted(&self, user: bool, span: Span) -> Value {
        /// The instruction pointer in the registers of a perf event's program.
        const INSTRUCTION: u16 = if cfg!(target_arch = "x86_64") { 128 } else { 256 };
        let in_user = Expr::new(ExprKind::Builtin(Builtin::UserMode), Type::Int { size: 1, signed: false }, span);
        let at = Expr::new(ExprKind::Builtin(Builtin::Register(INSTRUCTION)), Type::U64, span);
        let none = int(0, Type::U64, span);
        let (there, here) = if user { (at, none) } else { (none, at) };
        let found = ExprKind::Conditional(Box::new(in_user), Box::new(there), Box::new(here));
        Value::new(cast(Expr::new(found, Type::U64, span), &Type::I64))
    }

    fn word_of(&self, builtin: Builtin, span: Span) -> Value {
        Value::new(cast(Expr::new(ExprKind::Builtin(builtin), Type::U64, span), &Type::I64))
    }

    /// `args[n]` of a function of the kernel, by its prototype.
    fn typed_by_prototype(&mut self, number: u64, span: Span) -> Option<Value> {
        let kind = self.frame.site.kind;
        if !matches!(kind, SiteKind::KernelEntry | SiteKind::KernelReturn) {
            return None;
        }
        let name = self.frame.site.name.clone()?;
        let mut fields = name.split(':').skip(1);
        let prototype = self.facts.prototype(fields.next()?, fields.next()?)?;
        let (ty, builtin) = match (kind, number) {
            (SiteKind::KernelReturn, 1) => (prototype.result, Builtin::Retval),
            (SiteKind::KernelReturn, _) => return None,
            (_, n) => {
                (prototype.parameters.get(n as usize)?.ty, Builtin::Arg(u8::try_from(n).ok().filter(|n| *n < 6)?))
            }
        };
        let ty = self.parameter(ty);
        if !super::value::is_scalar(&ty) {
            return None;
        }
        Some(Value::new(cast(Expr::new(ExprKind::Builtin(builtin), Type::U64, span), &ty)))
    }

    /// `args[n]`.
    pub fn typed_argument(&mut self, items: &[ast::Expr], span: Span) -> Value {
        let [item] = items else {
            self.error(tags::D_PROTO_LEN, span, "args[ ] takes one index");
            return Self::error_value(span);
        };
        let value = self.expr(item);
        if value.is_error() {
            return value;
        }
        if !is_int(value.ty()) {
            let text = self.type_text(value.ty());
            let message = format!(
                "args[ ] argument #1 is incompatible with prototype:\n\tprototype: integer\n\t argument: {text}"
            );
            self.error(tags::D_PROTO_ARG, span, message);
            return Self::error_value(span);
        }
        let Some(number) = value.e.as_int().filter(|_| value.constant) else {
            self.error(tags::D_ARGS_TYPE, span, "args[ ] must be indexed by an integer constant");
            return Self::error_value(span);
        };
        if let Some(value) = self.semantic_argument(usize::try_from(number).unwrap_or(usize::MAX), span) {
            return value;
        }
        if self.frame.site.kind == SiteKind::Absent {
            return Value::new(int(0, Type::I64, span));
        }
        if matches!(self.frame.site.kind, SiteKind::Tracepoint | SiteKind::RawTracepoint)
            && let Some(value) = self.argument_of_tracepoint(usize::try_from(number).unwrap_or(usize::MAX), span)
        {
            return value;
        }
        if let Some(value) = self.typed_by_prototype(number, span) {
            return value;
        }
        let most = match self.frame.site.kind {
            SiteKind::Entry => self.system_call_arguments(),
            SiteKind::KernelEntry | SiteKind::UserEntry => 6,
            SiteKind::Static => 10,
            SiteKind::Tracepoint | SiteKind::RawTracepoint => self.arguments_of_tracepoint(),
            SiteKind::Return | SiteKind::KernelReturn | SiteKind::UserReturn => 2,
            _ => 0,
        };
        if number >= most {
            let name = self.frame.site.name.clone().unwrap_or_else(|| "the probe".into());
            self.error(tags::D_ARGS_IDX, span, format!("index {} is out of range for {name} args[ ]", number as i64));
            return Self::error_value(span);
        }
        self.argument(number as u8, span)
    }

    /// How many arguments the system call has whose entry this is.
    fn system_call_arguments(&self) -> u64 {
        let name = self.frame.site.name.as_deref().and_then(|name| name.split(':').nth(2));
        let event = name.map(|name| format!("sys_enter_{name}"));
        u64::from(event.map_or(self.frame.site.arguments, |event| arguments_of(self.facts, &event)))
    }

    pub fn errno(&mut self, span: Span) -> Value {
        if self.frame.site.kind != SiteKind::Return {
            return Value::new(int(0, Type::I32, span));
        }
        let result = self.argument(0, span).e;
        let (statements, kept) = self.kept(result);
        let compare = |op, n| {
            let right = Box::new(int(n, Type::I64, span));
            Expr::new(ExprKind::Binary(op, Box::new(kept.clone()), right), Type::Bool, span)
        };
        let failed = ExprKind::And(Box::new(compare(BinaryOp::Gt, -2048)), Box::new(compare(BinaryOp::Lt, 0)));
        let failed = Expr::new(failed, Type::Bool, span);
        let negated =
            Expr::new(ExprKind::Unary(crate::lang::typed::UnaryOp::Neg, Box::new(kept.clone())), Type::I64, span);
        let none = int(0, Type::I64, span);
        let e = Expr::new(ExprKind::Conditional(Box::new(failed), Box::new(negated), Box::new(none)), Type::I64, span);
        Value::new(cast(super::value::block(statements, e), &Type::I32))
    }

    /// `probefunc` and its kin.
    pub fn probe_part(&mut self, which: &str, span: Span) -> Value {
        let Some(name) = self.frame.site.name.clone() else {
            return self.many_probe_part(which, span);
        };
        if matches!(which, "id" | "epid") {
            return Value::new(int(i64::from(self.frame.site.id), Type::U32, span));
        }
        let number = ["probeprov", "probemod", "probefunc", "probename"].iter().position(|n| *n == which).unwrap_or(0);
        let text = name.split(':').nth(number).unwrap_or("");
        Value::new(Expr::new(ExprKind::Str(text.into()), self.string(), span))
    }

    fn many_probe_part(&mut self, which: &str, span: Span) -> Value {
        let kind = self.frame.site.kind;
        let common = self.frame.site.common.clone();
        let text = match which {
            "probeprov" if let Some(provider) = &common[0] => provider,
            "probemod" if let Some(module) = &common[1] => module,
            "probename" if kind.is_entry() => "entry",
            "probename" => "return",
            "probefunc" => {
                // Known by the probe's number when it is printed.
                let ty = Type::FuncName;
                let name = Expr::new(ExprKind::Builtin(Builtin::FuncId), ty, span);
                return Value::new(if self.names_are_texts { self.text(name) } else { name });
            }
            _ => {
                self.unsupported(span, &format!("{which} in a clause of many probes"));
                return Self::error_value(span);
            }
        };
        Value::new(Expr::new(ExprKind::Str(text.into()), self.string(), span))
    }
}

/// How many arguments the record of a system call holds.
pub fn arguments_of(facts: &dyn Facts, event: &str) -> u8 {
    // Before the arguments stand the call's number, and what all tracepoints have. Behind them stand texts that arguments
    // point to, in kernels that copy them into the record (Linux 7.2: `__buf_val` of write).
    let own = |fields: Vec<TraceField>| fields.iter().filter(|f| f.offset >= 16 && !f.data_loc).count() as u8;
    facts.tracepoint("syscalls", event).map_or(MOST_ARGUMENTS, own).min(MOST_ARGUMENTS)
}
