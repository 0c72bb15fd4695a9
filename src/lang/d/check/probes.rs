//! Clauses to programs: all clauses of one probe are one program.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::checker::Checker;
use super::code::{and, binary, builtin, cast, equal, int, int64, not, read, read_as, set, statement, when};
use super::descriptions::Found;
use super::frame::Frame;
use super::other_calls::Call;
use super::site::{MOST_ARGUMENTS, Site, SiteKind};
use super::value::as_condition;
use super::{begun, descriptions, recording, scratch, semantic, text_bytes};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{self, Clause};
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::lang::typed::{ActionKind, BinaryOp, Block, Builtin, Expr, LocalId, Probe, Statement, StatementKind};
use crate::lang::types::Type;

/// Probes that one program is for.
struct Group {
    /// The numbers of its clauses.
    clauses: Vec<usize>,
    kind: SiteKind,
    found: Vec<Found>,
}

/// What the descriptions of all clauses name.
#[derive(Default)]
struct Named {
    /// Each probe with the numbers of its clauses, in the order of the text.
    probes: Vec<(Found, Vec<usize>)>,
    /// Clauses that run when one fails.
    errors: Vec<usize>,
    /// Clauses without a probe.
    absent: Vec<usize>,
}

/// Clauses whose variables are known.
struct Known {
    clauses: Vec<bool>,
    /// All clauses before this number are, or have no probe.
    all_before: usize,
    /// The first group of each clause.
    group_of: Vec<Option<usize>>,
}

impl Known {
    fn of(clauses: usize, groups: &[Group]) -> Self {
        let mut group_of = vec![None; clauses];
        for (at, group) in groups.iter().enumerate() {
            for number in &group.clauses {
                group_of[*number].get_or_insert(at);
            }
        }
        Self { clauses: vec![false; clauses], all_before: 0, group_of }
    }
}

/// Descriptions of probes that one program may have, and probes that they may name in all.
const MOST_DESCRIPTIONS: u32 = 4096;
const MOST_PROBES: u32 = 250_000;

/// What probes have in common that are one program: their clauses, their kind, how many arguments may be read, and how
/// they are moved.
type GroupKey = (Vec<usize>, SiteKind, u32, Option<&'static Call>);

/// Makes programs of the clauses; `arguments` is how many arguments of system calls they read.
pub fn clauses(c: &mut Checker<'_>, clauses: &[&Clause], arguments: u8) {
    let named = named(c, clauses);
    let errors: Vec<(usize, &Clause)> = named.errors.iter().map(|n| (*n, clauses[*n])).collect();
    let groups = groups(named, arguments);
    if !errors.is_empty() && groups.is_empty() {
        // They are checked, although nothing runs them.
        c.frame = Frame::default();
        error_clauses(c, &errors, 0, (int64(0, Span::default()), int(0, Type::U64, Span::default())));
    }
    let mut known = Known::of(clauses.len(), &groups);
    for group in &groups {
        let last = group.clauses.last().copied().unwrap_or(0);
        if group.kind == SiteKind::Absent {
            before(c, last + 1, clauses, &groups, &mut known);
            continue;
        }
        before(c, last, clauses, &groups, &mut known);
        let bodies: Vec<(usize, &Clause)> = group.clauses.iter().map(|n| (*n, clauses[*n])).collect();
        probe(c, &bodies, group, &errors);
        group.clauses.iter().for_each(|number| known.clauses[*number] = true);
    }
}

fn named(c: &mut Checker<'_>, clauses: &[&Clause]) -> Named {
    let mut named = Named::default();
    let mut places: HashMap<descriptions::Key, usize> = HashMap::new();
    let (mut matched, mut descriptions_before) = (0, 0);
    let mut expanded: HashMap<&str, Vec<Found>> = HashMap::new();
    for (number, clause) in clauses.iter().enumerate() {
        let matched_before = matched;
        for spec in &clause.probes {
            if descriptions_before == MOST_DESCRIPTIONS || matched > MOST_PROBES {
                let (limit, what) = if matched > MOST_PROBES {
                    (MOST_PROBES, "probes")
                } else {
                    (MOST_DESCRIPTIONS, "probe descriptions")
                };
                c.error(
                    tags::D_PDESC_INVAL,
                    spec.span,
                    format!("the program has too many {what}: the limit is {limit}"),
                );
                return Named::default();
            }
            // What names nothing is told at each place.
            let of_spec = match expanded.get(&*spec.text).filter(|found| !found.is_empty()) {
                Some(found) => found.clone(),
                None => {
                    let found = descriptions::expand(c, spec);
                    expanded.insert(&spec.text, found.clone());
                    found
                }
            };
            for found in of_spec {
                matched += 1;
                if found.target.is_none() {
                    named.errors.push(number);
                    continue;
                }
                let place = *places.entry(found.key()).or_insert_with(|| {
                    named.probes.push((found.clone(), Vec::new()));
                    named.probes.len() - 1
                });
                let (probe, list) = &mut named.probes[place];
                if list.last() != Some(&number) {
                    list.push(number);
                    probe.clauses.push(descriptions_before);
                }
            }
            descriptions_before += 1;
        }
        if matched == matched_before && c.options.zdefs {
            named.absent.push(number);
        }
    }
    named.errors.dedup();
    c.program.matched = matched;
    named
}

/// Puts probes together that can be one program, in an order in which a variable gets its type by the first clause of the
/// text that assigns to it.
fn groups(named: Named, arguments: u8) -> Vec<Group> {
    let mut groups: BTreeMap<GroupKey, Vec<Found>> = BTreeMap::new();
    for (position, (found, list)) in named.probes.into_iter().enumerate() {
        // A record can't be read beyond its end: calls with fewer arguments than are read have a program of their own.
        let alone = match found.kind {
            SiteKind::Entry => u32::from(found.arguments.min(arguments)),
            kind if kind.is_of_many() => 0,
            _ => position as u32 + 1,
        };
        groups.entry((list, found.kind, alone, found.moved())).or_default().push(found);
    }
    for number in named.absent {
        groups.entry((vec![number], SiteKind::Absent, 0, None)).or_default();
    }
    groups.into_iter().map(|((clauses, kind, ..), found)| Group { clauses, kind, found }).collect()
}

/// What clauses above one make known may be named in it, those of other programs and of absent probes (`-Z`), too.
/// They are checked for that alone: their mistakes are told when they are checked for themselves, and what can't be
/// told of an absent probe is none.
fn before(c: &mut Checker<'_>, end: usize, clauses: &[&Clause], groups: &[Group], known: &mut Known) {
    let from = known.all_before;
    for (number, clause) in clauses.iter().enumerate().take(end).skip(from) {
        let Some(group) = known.group_of[number].and_then(|at| groups.get(at)) else { continue };
        if std::mem::replace(&mut known.clauses[number], true) {
            continue;
        }
        let (told, actions) = (c.told(), c.program.actions.len());
        c.frame = Frame { site: site(group.kind, &group.found, 0), ..Frame::default() };
        if c.frame.site.place.as_ref().is_some_and(|place| place.begin.is_some()) {
            c.frame.site.since = Some(c.local("%since", Type::U64));
        }
        let _ = check_clause(c, number, clause);
        c.frame = Frame::default();
        c.forget(told);
        c.program.actions.truncate(actions);
    }
    known.all_before = from.max(end);
}

/// The program of a group.
fn probe(c: &mut Checker<'_>, clauses: &[(usize, &Clause)], group: &Group, errors: &[(usize, &Clause)]) {
    let Group { kind, found, .. } = group;
    c.frame = Frame::default();
    let names: Vec<u32> = found.iter().map(|f| name(c, &f.name)).collect();
    c.frame.site = site(*kind, found, c.program.probe_ids[names[0] as usize]);
    let span = clauses.first().map_or(Span::default(), |(_, clause)| head(clause));
    let begun = begun::of_place(c, span);
    let fault = (c.local("%fault", Type::I64), c.local("%address", Type::U64));
    let mut body = Vec::new();
    for (position, (number, clause)) in clauses.iter().enumerate() {
        let told_as = found.first().and_then(|f| f.clauses.get(position)).copied().unwrap_or(*number as u32);
        let exited = c.frame.exited;
        let statements = clause_and_faults(c, (*number, clause), told_as, fault, errors);
        match exited {
            Some(exited) => body.push(when(not(read(exited, head(clause))), statements)),
            None => body.extend(statements),
        }
    }
    recording::size_of_recorded(&mut c.frame);
    let mut body: Vec<Statement> = first_values(&c.frame, span).chain(body).collect();
    if let Some(begun) = begun {
        body = begun::within(c, begun, body, span);
    }
    if let Some(when) = c.frame.site.place.as_ref().and_then(|place| place.when()) {
        body = only_where(c, when, body, span);
    }
    let returns = *kind == SiteKind::Return;
    if let Some(when) = c.frame.site.call.take().and_then(|call| call.condition(returns)) {
        c.frame.site.arguments = MOST_ARGUMENTS;
        body = only_where(c, &when, body, span);
    }
    let frame = std::mem::take(&mut c.frame);
    if let (Some(begun), Some(place)) = (begun, &frame.site.place) {
        let program = begun::program(c, begun, place, names[0], span);
        c.program.probes.extend(program);
    }
    c.program.probes.push(Probe {
        targets: found.iter().filter_map(|f| f.target.clone()).collect(),
        names,
        predicate: None,
        body: Block::new(body),
        locals: frame.locals,
        needs_probe_id: found.len() > 1,
        alone: false,
        limited: false,
        traced: false,
        fault: Some(fault.0),
        span,
        head: span,
    });
}

/// A clause, which a fault leaves, and what is done then: the fault is told by the number `told_as`, and clauses for errors
/// run.
fn clause_and_faults(
    c: &mut Checker<'_>,
    (number, clause): (usize, &Clause),
    told_as: u32,
    (fault, address): (LocalId, LocalId),
    errors: &[(usize, &Clause)],
) -> Vec<Statement> {
    let at = head(clause);
    c.frame.fault = Some((fault, address));
    let own = check_clause(c, number, clause);
    c.frame.fault = None;
    let kind = ActionKind::Fault { clause: told_as, lines: Arc::clone(&c.lines) };
    let action = c.action(kind, vec![Type::I64, Type::U64], at);
    let (cause, place) = (read(fault, at), read_as(address, Type::U64, at));
    let report = StatementKind::Report { action, values: vec![cause.clone(), place.clone()] };
    let mut handler = vec![statement(report, at)];
    let site = c.frame.site.clone();
    let reset = scratch::reset_scratch(&c.frame, at);
    let code = binary(BinaryOp::BitAnd, cause.clone(), int64(255, at));
    handler.extend(error_clauses(c, errors, told_as, (code, place)));
    c.frame.site = site;
    let failed = binary(BinaryOp::Ne, cause, int64(0, at));
    let begin = [set(fault, int64(0, at)), set(address, int(0, Type::U64, at))];
    let own = statement(StatementKind::Unroll(1, Block::new(own)), at);
    reset.into_iter().chain(begin).chain([own, when(failed, handler)]).collect()
}

/// Gives the firing's own variables their first values.
fn first_values(frame: &Frame, span: Span) -> impl Iterator<Item = Statement> {
    let now = frame.now.map(|now| set(now, int(0, Type::U64, span)));
    let exited = frame.exited.map(|exited| set(exited, int64(0, span)));
    [text_bytes::no_words(frame, span), now, exited].into_iter().flatten()
}

/// What runs only where a condition of a row holds.
fn only_where(c: &mut Checker<'_>, condition: &str, body: Vec<Statement>, span: Span) -> Vec<Statement> {
    let condition = semantic::condition_of_row(c, condition, span);
    vec![Statement { span, ..when(condition, body) }]
}

/// The index of a probe's name, with its number beside it.
fn name(c: &mut Checker<'_>, name: &Arc<str>) -> u32 {
    let at = c.program.probe_names.len() as u32;
    if let Some(known) = c.names.get(name) {
        return *known;
    }
    let id = match &**name {
        "dtrace:::BEGIN" => 1,
        "dtrace:::END" => 2,
        "dtrace:::ERROR" => 3,
        _ => 4 + at,
    };
    c.program.probe_names.push(name.clone());
    c.program.probe_ids.push(id);
    c.names.insert(name.clone(), at);
    at
}

/// What runs when a clause failed, of which the number is told.
fn error_clauses(
    c: &mut Checker<'_>,
    clauses: &[(usize, &Clause)],
    failed: u32,
    (fault, address): (Expr, Expr),
) -> Vec<Statement> {
    let mut statements = Vec::new();
    if clauses.is_empty() {
        return statements;
    }
    let name = name(c, &"dtrace:::ERROR".into());
    let probe = i64::from(c.frame.site.id);
    let none = |n| int64(n, fault.span);
    c.frame.site = Site {
        name: Some("dtrace:::ERROR".into()),
        id: c.program.probe_ids[name as usize],
        error_arguments: Some([
            none(0),
            none(probe),
            none(i64::from(failed)),
            none(-1),
            fault.clone(),
            cast(address, &Type::I64),
        ]),
        ..Site::default()
    };
    c.frame.fault = None;
    for (number, clause) in clauses {
        let body = check_clause(c, *number, clause);
        statements.extend(scratch::reset_scratch(&c.frame, head(clause)));
        statements.push(statement(StatementKind::Unroll(1, Block::new(body)), head(clause)));
    }
    statements
}

/// One clause's statements, its record at their end.
fn check_clause(c: &mut Checker<'_>, number: usize, clause: &Clause) -> Vec<Statement> {
    let at = head(clause);
    c.frame.clause = number as u32;
    c.frame.items.clear();
    c.frame.values.clear();
    c.frame.exit = None;
    c.frame.recorded_bytes.0 = 0;
    (c.frame.speculates, c.frame.commits, c.frame.records) = (false, false, false);
    c.frame.reports = false;
    let predicate = clause.predicate.as_ref().map(|e| predicate(c, e, clause));
    let predicate = on_the_processor(c, predicate, at);
    let mut statements = Vec::new();
    let body = clause.body.as_deref().unwrap_or_default();
    let empty = body.iter().all(|e| matches!(e.kind, ast::ExprKind::Empty));
    for e in body {
        if !matches!(e.kind, ast::ExprKind::Empty) {
            c.statement(e, &mut statements);
        }
    }
    if empty || c.frame.records || c.frame.reports {
        let name = c.frame.site.error_arguments.is_some().then_some(3_i64);
        let id = int(name.unwrap_or(0), Type::U32, at);
        let mut values = vec![id];
        values.append(&mut c.frame.values);
        let record = crate::model::d::Record { clause: number as u32, items: std::mem::take(&mut c.frame.items) };
        let types = values.iter().map(|e| e.ty.clone()).collect();
        let action = c.action(ActionKind::Record(Arc::new(record)), types, at);
        statements.push(statement(StatementKind::Report { action, values }, at));
    }
    if let Some(code) = c.frame.exit.take() {
        let action = c.action(ActionKind::Exit, vec![Type::I64], at);
        statements.push(statement(StatementKind::Report { action, values: vec![code] }, at));
        let exited = c.frame.exited;
        let exited = exited.unwrap_or_else(|| c.local("%exited", Type::I64));
        c.frame.exited = Some(exited);
        statements.push(set(exited, int64(1, at)));
    }
    match predicate {
        None => statements,
        Some(condition) => {
            vec![Statement { span: at, ..when(condition, statements) }]
        }
    }
}

/// A clause's predicate. It may name variables that the clause's own statements make known.
fn predicate(c: &mut Checker<'_>, e: &ast::Expr, clause: &Clause) -> Expr {
    let told = c.told();
    let mut value = c.expr(e);
    let unknown = |d: &Diagnostic| matches!(d.code, tags::D_VAR_UNDEF | tags::D_IDENT_UNDEF);
    if c.diagnostics.get(told.0..).unwrap_or(&[]).iter().any(unknown) {
        c.forget(told);
        made_known(c, clause);
        value = c.expr(e);
    }
    let scalar = super::value::is_scalar(value.ty()) || super::value::is_text(value.ty());
    if !scalar && !value.is_error() {
        let text = c.type_text(value.ty());
        let message = format!("predicate result must be of scalar type: it is of type {text}");
        c.error(tags::D_PRED_SCALAR, e.span, message);
    }
    as_condition(value)
}

/// Makes the variables known that a clause's statements assign to.
fn made_known(c: &mut Checker<'_>, clause: &Clause) {
    let (told, frame, actions) = (c.told(), c.frame.clone(), c.program.actions.len());
    for e in clause.body.as_deref().unwrap_or_default() {
        if !matches!(e.kind, ast::ExprKind::Empty) {
            c.statement(e, &mut Vec::new());
        }
    }
    c.frame = frame;
    c.program.actions.truncate(actions);
    c.forget(told);
}

/// The predicate, and that the processor is the one of the option `cpu`.
fn on_the_processor(c: &Checker<'_>, predicate: Option<Expr>, at: Span) -> Option<Expr> {
    let of_the_run = c.frame.site.kind == SiteKind::Nothing;
    let Some(cpu) = c.options.cpu.filter(|_| !of_the_run) else { return predicate };
    let own = builtin(Builtin::Cpu, Type::U32, at);
    let wanted = int(i64::from(cpu), Type::U32, at);
    let here = equal(own, wanted);
    Some(match predicate {
        Some(predicate) => and(here, predicate),
        None => here,
    })
}

/// What is known of the firing probe where it is one of these.
fn site(kind: SiteKind, found: &[Found], id: u32) -> Site {
    let [first, ..] = found else { return Site { kind, ..Site::default() } };
    Site {
        kind,
        name: (found.len() == 1).then(|| first.name.clone()),
        id,
        arguments: found.iter().map(|f| f.arguments).min().unwrap_or(0),
        common: common_fields(found),
        place: first.place.clone(),
        call: first.moved(),
        ..Site::default()
    }
}

/// Provider and module where all probes have the same.
fn common_fields(found: &[Found]) -> [Option<Arc<str>>; 2] {
    [0, 1].map(|n| {
        let mut fields = found.iter().map(|f| f.name.split(':').nth(n).unwrap_or(""));
        let first = fields.next()?;
        fields.all(|field| field == first).then(|| first.into())
    })
}

fn head(clause: &Clause) -> Span {
    let spans = clause.probes.iter().map(|p| p.span);
    spans.reduce(Span::to).unwrap_or_default()
}
