//! Probe descriptions to targets, and clauses to programs: all clauses of one probe are one program.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::value::{Value, cast, int};
use super::{Checker, Frame, statement};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{self, Clause, ProbeSpec};
use crate::lang::source::Span;
use crate::lang::typed::{ActionKind, BinaryOp, Block, Builtin, Expr, ExprKind, Probe, Statement, StatementKind};
use crate::lang::types::Type;
use crate::model::target::{Rate, Target};
use crate::probe::glob::Glob;
use crate::probe::providers;

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
    /// A probe that this kernel lacks: its clauses are checked for what they make known, and left out.
    Absent,
}

/// The firing probe, as the code at hand knows it.
#[derive(Clone, Debug, Default)]
pub struct Site {
    pub kind: SiteKind,
    /// The probe's own name when there is one alone.
    pub name: Option<Arc<str>>,
    pub id: u32,
    /// `arg1` to `arg5` of ERROR clauses.
    pub error_arguments: Option<[Expr; 6]>,
    /// The place where a semantic probe fires.
    pub place: Option<Arc<providers::Found>>,
    /// Arguments of the inline that is being put in.
    pub inline_arguments: HashMap<Arc<str>, Expr>,
}

/// A probe by its D name.
#[derive(Clone, Debug)]
struct Found {
    target: Option<Target>,
    name: Arc<str>,
    kind: SiteKind,
    place: Option<Arc<providers::Found>>,
}

impl Found {
    const fn new(target: Option<Target>, name: Arc<str>, kind: SiteKind) -> Self {
        Self { target, name, kind, place: None }
    }

    /// What tells it from others: a semantic probe may be at several places.
    fn key(&self) -> (Arc<str>, &'static str) {
        (Arc::clone(&self.name), self.place.as_ref().map_or("", |place| place.source.point))
    }
}

/// Shortest period of a timer, as the reference has it.
const SHORTEST_NS: u64 = 200_000;

/// The period in nanoseconds of the part behind `tick-` or `profile-`.
fn period(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text.get(..digits)?.parse().ok().filter(|n| *n > 0)?;
    let unit = match text.get(digits..)? {
        "" | "hz" => return Some(1_000_000_000 / number).filter(|ns| *ns >= SHORTEST_NS),
        word => super::options::unit_ns(word)?,
    };
    number.checked_mul(unit).filter(|ns| *ns >= SHORTEST_NS)
}

/// Whether a field of a description names something.
fn fits(pattern: &str, text: &str) -> bool {
    pattern == "*" || Glob::new(pattern).matches(text)
}

/// Providers that the language has and this program does not attach yet.
const OTHERS: &[&str] = &["fbt", "rawfbt", "sdt", "rawtp", "lockstat", "cpc"];

impl Checker<'_> {
    /// Everything that a description names.
    fn expand(&mut self, spec: &ProbeSpec) -> Vec<Found> {
        let mut fields: Vec<&str> = spec.text.split(':').collect();
        if fields.len() > 4 {
            self.error(
                tags::D_PDESC_INVAL,
                spec.span,
                format!("invalid probe description {}: too many fields", spec.text),
            );
            return Vec::new();
        }
        fields.reverse();
        let field = |n: usize| fields.get(n).copied().filter(|f| !f.is_empty()).unwrap_or("*");
        let (name, function, module, provider) = (field(0), field(1), field(2), field(3));
        let mut found = Vec::new();

        if fits(provider, "dtrace") && fits(module, "") && fits(function, "") {
            for (own, target) in [("BEGIN", Some(Target::Begin)), ("END", Some(Target::End)), ("ERROR", None)] {
                if fits(name, own) {
                    let full = format!("dtrace:::{own}").into();
                    found.push(Found::new(target, full, SiteKind::Nothing));
                }
            }
        }
        if fits(provider, "profile") && fits(module, "") && fits(function, "") {
            let timer = |prefix: &str| name.strip_prefix(prefix).and_then(period);
            let full: Arc<str> = format!("profile:::{name}").into();
            if let Some(period_ns) = timer("tick-") {
                found.push(Found::new(Some(Target::Interval { period_ns }), full, SiteKind::Timer));
            } else if let Some(ns) = timer("profile-") {
                let target = Some(Target::Profile { rate: Rate::PeriodNs(ns) });
                found.push(Found::new(target, full, SiteKind::Timer));
            }
        }
        if fits(provider, "syscall") && (fits(module, "vmlinux") || module == "*") {
            self.system_calls(function, name, &mut found);
        }
        let absent = self.semantic_probes((provider, module, function, name), &mut found);
        if let Some(why) = absent.filter(|_| found.is_empty() && !self.options.zdefs) {
            self.error(tags::D_PDESC_ZERO, spec.span, why);
        } else if found.is_empty() && OTHERS.contains(&provider) && !self.options.zdefs {
            self.unsupported(spec.span, &format!("the provider {provider}"));
        } else if found.is_empty() && !self.options.zdefs {
            let message = format!("probe description {} does not match any probes", full_spec(&spec.text));
            self.error(tags::D_PDESC_ZERO, spec.span, message);
        }
        found
    }

    /// Adds the semantic probes that a description names; why there is none otherwise.
    fn semantic_probes(
        &mut self,
        (provider, module, function, name): (&str, &str, &str, &str),
        found: &mut Vec<Found>,
    ) -> Option<String> {
        if !fits(module, "vmlinux") || !fits(function, "") {
            return None;
        }
        let mut absent = None;
        for row in providers::rows().filter(|row| fits(provider, row.provider) && fits(name, row.name)) {
            match self.facts.semantic(&row.point())? {
                Ok(places) => {
                    let full: Arc<str> = format!("{}:vmlinux::{}", row.provider, row.name).into();
                    found.extend(places.into_iter().map(|place| Found {
                        target: place.targets.first().cloned(),
                        name: Arc::clone(&full),
                        kind: SiteKind::Semantic,
                        place: Some(Arc::new(place)),
                    }));
                }
                Err(refusal) => absent = Some(refusal.message),
            }
        }
        absent
    }

    fn system_calls(&mut self, function: &str, name: &str, found: &mut Vec<Found>) {
        for (own, prefix, kind) in [("entry", "sys_enter_", SiteKind::Entry), ("return", "sys_exit_", SiteKind::Return)]
        {
            if !fits(name, own) {
                continue;
            }
            let function = aliased(function);
            let point = format!("tracepoint:syscalls:{prefix}{function}");
            let Ok(targets) = self.facts.expand(&point) else { continue };
            for (target, _) in targets {
                let Target::Tracepoint { event, .. } = &target else { continue };
                let call = event.strip_prefix(prefix).unwrap_or(event);
                let full = format!("syscall:vmlinux:{call}:{own}").into();
                found.push(Found::new(Some(target), full, kind));
            }
        }
    }

    pub fn clauses(&mut self, clauses: &[&Clause]) {
        let mut order: Vec<(Found, Vec<usize>)> = Vec::new();
        let mut places: HashMap<(Arc<str>, &str), usize> = HashMap::new();
        let mut errors = Vec::new();
        let mut absent = Vec::new();
        for (number, clause) in clauses.iter().enumerate() {
            let mut any = false;
            for spec in &clause.probes {
                for found in self.expand(spec) {
                    any = true;
                    if found.target.is_none() {
                        errors.push(number);
                        continue;
                    }
                    let place = *places.entry(found.key()).or_insert_with(|| {
                        order.push((found.clone(), Vec::new()));
                        order.len() - 1
                    });
                    if order[place].1.last() != Some(&number) {
                        order[place].1.push(number);
                    }
                }
            }
            if !any && self.options.zdefs {
                absent.push(number);
            }
        }
        errors.dedup();
        self.program.matched = order.len() as u32 + u32::from(!errors.is_empty());
        // Clauses are checked in the order of the text as far as possible: a variable gets its type by the first.
        let mut groups: BTreeMap<(Vec<usize>, SiteKind, u32), Vec<Found>> = BTreeMap::new();
        for (position, (found, list)) in order.into_iter().enumerate() {
            let alone =
                if found.kind == SiteKind::Entry || found.kind == SiteKind::Return { 0 } else { position as u32 + 1 };
            groups.entry((list, found.kind, alone)).or_default().push(found);
        }
        for number in absent {
            groups.entry((vec![number], SiteKind::Absent, 0)).or_default();
        }
        let errors: Vec<(usize, &Clause)> = errors.into_iter().map(|n| (n, clauses[n])).collect();
        if !errors.is_empty() && groups.is_empty() {
            // They are checked, although nothing runs them.
            self.frame = Frame::default();
            self.error_clauses(&errors, (int(0, Type::I64, Span::default()), int(0, Type::U64, Span::default())));
        }
        for ((list, kind, _), found) in groups {
            let bodies: Vec<(usize, &Clause)> = list.iter().map(|n| (*n, clauses[*n])).collect();
            if kind == SiteKind::Absent {
                self.left_out(&bodies);
                continue;
            }
            self.probe(&bodies, kind, found, &errors);
        }
    }

    /// Clauses whose probes are not here (`-Z`): the variables and aggregations that they make are known to the others,
    /// and what can't be told of their probes is no mistake.
    fn left_out(&mut self, clauses: &[(usize, &Clause)]) {
        let told = self.diagnostics.len();
        self.frame = Frame { site: Site { kind: SiteKind::Absent, ..Site::default() }, ..Frame::default() };
        for (number, clause) in clauses {
            let _ = self.clause(*number, clause);
        }
        self.frame = Frame::default();
        self.diagnostics.truncate(told);
    }

    fn probe(&mut self, clauses: &[(usize, &Clause)], kind: SiteKind, found: Vec<Found>, errors: &[(usize, &Clause)]) {
        self.frame = Frame::default();
        let names: Vec<u32> = found.iter().map(|f| self.name(&f.name)).collect();
        self.frame.site = Site {
            kind,
            name: (found.len() == 1).then(|| found[0].name.clone()),
            id: self.program.probe_ids[names[0] as usize],
            place: found[0].place.clone(),
            ..Site::default()
        };
        let fault = self.local("%fault", Type::I64);
        let address = self.local("%address", Type::U64);
        let mut body = Vec::new();
        let span = clauses.first().map_or(Span::default(), |(_, c)| head(c));
        for (number, clause) in clauses {
            self.frame.fault = Some((fault, address));
            let at = head(clause);
            let statements = self.clause(*number, clause);
            let zero = |l, ty: Type| statement(StatementKind::SetLocal(l, int(0, ty, at)), at);
            body.push(zero(fault, Type::I64));
            body.push(zero(address, Type::U64));
            body.push(statement(StatementKind::Unroll(1, Block { statements }), at));
            self.frame.fault = None;
            let value = |l, ty: Type| Expr::new(ExprKind::Local(l), ty, at);
            let told = (value(fault, Type::I64), value(address, Type::U64));
            let kind = ActionKind::Fault { clause: *number as u32, lines: Arc::clone(&self.lines) };
            let action = self.action(kind, vec![Type::I64, Type::U64], at);
            let report = StatementKind::Report { action, values: vec![told.0.clone(), told.1.clone()] };
            let mut handler = vec![statement(report, at)];
            let site = self.frame.site.clone();
            let cause = Expr::new(
                ExprKind::Binary(BinaryOp::BitAnd, Box::new(told.0.clone()), Box::new(int(255, Type::I64, at))),
                Type::I64,
                at,
            );
            handler.extend(self.error_clauses(errors, (cause, told.1.clone())));
            self.frame.site = site;
            let failed = Expr::new(
                ExprKind::Binary(BinaryOp::Ne, Box::new(told.0), Box::new(int(0, Type::I64, at))),
                Type::Bool,
                at,
            );
            body.push(statement(StatementKind::If(failed, Block { statements: handler }, Block::default()), at));
        }
        if let Some(when) = self.frame.site.place.as_ref().and_then(|place| place.when()) {
            let condition = self.condition_of_row(when, span);
            let whole = Block { statements: std::mem::take(&mut body) };
            body.push(statement(StatementKind::If(condition, whole, Block::default()), span));
        }
        let frame = std::mem::take(&mut self.frame);
        let many = found.len() > 1;
        self.program.probes.push(Probe {
            targets: found.into_iter().filter_map(|f| f.target).collect(),
            names,
            predicate: None,
            body: Block { statements: body },
            locals: frame.locals,
            needs_probe_id: many,
            alone: false,
            traced: false,
            fault: Some(fault),
            span,
            head: span,
        });
    }

    /// The index of a probe's name, with its number beside it.
    fn name(&mut self, name: &Arc<str>) -> u32 {
        let at = self.program.probe_names.len() as u32;
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let id = match &**name {
            "dtrace:::BEGIN" => 1,
            "dtrace:::END" => 2,
            "dtrace:::ERROR" => 3,
            _ => 4 + at,
        };
        self.program.probe_names.push(name.clone());
        self.program.probe_ids.push(id);
        self.names.insert(name.clone(), at);
        at
    }

    /// What runs when a clause failed.
    fn error_clauses(&mut self, clauses: &[(usize, &Clause)], (fault, address): (Expr, Expr)) -> Vec<Statement> {
        let mut statements = Vec::new();
        if clauses.is_empty() {
            return statements;
        }
        let name = self.name(&"dtrace:::ERROR".into());
        let probe = i64::from(self.frame.site.id);
        let none = |n| int(n, Type::I64, fault.span);
        self.frame.site = Site {
            name: Some("dtrace:::ERROR".into()),
            id: self.program.probe_ids[name as usize],
            error_arguments: Some([none(0), none(probe), none(1), none(-1), fault.clone(), cast(address, &Type::I64)]),
            ..Site::default()
        };
        self.frame.fault = None;
        for (number, clause) in clauses {
            let body = self.clause(*number, clause);
            statements.push(statement(StatementKind::Unroll(1, Block { statements: body }), head(clause)));
        }
        statements
    }

    /// One clause's statements, its record at their end.
    fn clause(&mut self, number: usize, clause: &Clause) -> Vec<Statement> {
        let at = head(clause);
        self.frame.clause = number as u32;
        self.frame.items.clear();
        self.frame.values.clear();
        self.frame.exit = None;
        (self.frame.speculates, self.frame.commits, self.frame.records) = (false, false, false);
        self.frame.reports = false;
        let predicate = clause.predicate.as_ref().map(|e| {
            let value = self.expr(e);
            let scalar = super::value::is_scalar(value.ty()) || super::value::is_text(value.ty());
            if !scalar && !value.is_error() {
                let text = self.type_text(value.ty());
                let message = format!("predicate result must be of scalar type: it is of type {text}");
                self.error(tags::D_PRED_SCALAR, e.span, message);
            }
            self.condition(value)
        });
        let predicate = self.on_the_processor(predicate, at);
        let mut statements = Vec::new();
        let body = clause.body.as_deref().unwrap_or_default();
        let empty = body.iter().all(|e| matches!(e.kind, ast::ExprKind::Empty));
        for e in body {
            if !matches!(e.kind, ast::ExprKind::Empty) {
                self.statement(e, &mut statements);
            }
        }
        if empty || self.frame.records || self.frame.reports {
            let name = self.frame.site.error_arguments.is_some().then_some(3_i64);
            let id = int(name.unwrap_or(0), Type::U32, at);
            let mut values = vec![id];
            values.append(&mut self.frame.values);
            let record = crate::model::d::Record { items: std::mem::take(&mut self.frame.items) };
            let types = values.iter().map(|e| e.ty.clone()).collect();
            let action = self.action(ActionKind::Record(Arc::new(record)), types, at);
            statements.push(statement(StatementKind::Report { action, values }, at));
        }
        if let Some(code) = self.frame.exit.take() {
            let action = self.action(ActionKind::Exit, vec![Type::I64], at);
            statements.push(statement(StatementKind::Report { action, values: vec![code] }, at));
        }
        match predicate {
            None => statements,
            Some(condition) => {
                vec![statement(StatementKind::If(condition, Block { statements }, Block::default()), at)]
            }
        }
    }

    /// The predicate, and that the processor is the one of the option `cpu`.
    fn on_the_processor(&self, predicate: Option<Expr>, at: Span) -> Option<Expr> {
        let of_the_run = self.frame.site.kind == SiteKind::Nothing;
        let Some(cpu) = self.options.cpu.filter(|_| !of_the_run) else { return predicate };
        let own = Expr::new(ExprKind::Builtin(Builtin::Cpu), Type::U32, at);
        let wanted = int(i64::from(cpu), Type::U32, at);
        let here = Expr::new(ExprKind::Binary(BinaryOp::Eq, Box::new(own), Box::new(wanted)), Type::Bool, at);
        Some(match predicate {
            Some(predicate) => Expr::new(ExprKind::And(Box::new(here), Box::new(predicate)), Type::Bool, at),
            None => here,
        })
    }

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
            SiteKind::Entry if number < 6 => Value::new(field(16 + u32::from(number) * 8)),
            SiteKind::Return if number < 2 => Value::new(field(16)),
            _ => Value::new(int(0, Type::I64, span)),
        }
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
        let most = match self.frame.site.kind {
            SiteKind::Entry => 6,
            SiteKind::Return => 2,
            _ => 0,
        };
        if number >= most {
            let name = self.frame.site.name.clone().unwrap_or_else(|| "the probe".into());
            self.error(tags::D_ARGS_IDX, span, format!("index {} is out of range for {name} args[ ]", number as i64));
            return Self::error_value(span);
        }
        self.argument(number as u8, span)
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
        let text = match which {
            "probeprov" => "syscall",
            "probemod" => "vmlinux",
            "probename" if kind == SiteKind::Entry => "entry",
            "probename" => "return",
            "probefunc" => {
                // Known by the probe's number when it is printed.
                let ty = Type::FuncName;
                return Value::new(Expr::new(ExprKind::Builtin(Builtin::ProbeId), ty, span));
            }
            _ => {
                self.unsupported(span, &format!("{which} in a clause of many probes"));
                return Self::error_value(span);
            }
        };
        Value::new(Expr::new(ExprKind::Str(text.into()), self.string(), span))
    }
}

/// System calls by the names that other systems have for them.
fn aliased(name: &str) -> &str {
    match name {
        "stat" | "stat64" => "newstat",
        "fstat" | "fstat64" => "newfstat",
        "lstat" | "lstat64" => "newlstat",
        "fstatat" | "fstatat64" => "newfstatat",
        "uname" => "newuname",
        "pread" => "pread64",
        "pwrite" => "pwrite64",
        "open64" => "open",
        "exec" | "exece" => "execve",
        "recv" => "recvfrom",
        "send" => "sendto",
        "rexit" => "exit_group",
        "forksys" => "fork",
        other => other,
    }
}

fn head(clause: &Clause) -> Span {
    let spans = clause.probes.iter().map(|p| p.span);
    spans.reduce(Span::to).unwrap_or_default()
}

/// A description with all its four fields.
fn full_spec(text: &str) -> String {
    let given = text.matches(':').count();
    format!("{}{text}", ":".repeat(3_usize.saturating_sub(given)))
}
