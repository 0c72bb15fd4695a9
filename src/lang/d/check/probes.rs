//! Clauses to programs: all clauses of one probe are one program.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::descriptions::Found;
use super::site::{Site, SiteKind};
use super::value::{cast, int};
use super::{Checker, Frame, begun, statement};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{self, Clause};
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::lang::typed::{ActionKind, BinaryOp, Block, Builtin, Expr, ExprKind, Probe, Statement, StatementKind};
use crate::lang::types::Type;

/// Probes that one program is for, with the numbers of its clauses.
type Group = (Vec<usize>, SiteKind, Vec<Found>);

impl Checker<'_> {
    pub fn clauses(&mut self, clauses: &[&Clause], arguments: u8) {
        let mut order: Vec<(Found, Vec<usize>)> = Vec::new();
        let mut places: HashMap<(Arc<str>, &str, usize), usize> = HashMap::new();
        let mut errors = Vec::new();
        let (mut absent, mut matched, mut told_as) = (Vec::new(), 0_u32, 0_u32);
        for (number, clause) in clauses.iter().enumerate() {
            let mut any = false;
            for spec in &clause.probes {
                told_as += 1;
                for found in self.expand(spec) {
                    any = true;
                    matched += 1;
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
                        order[place].0.clauses.push(told_as - 1);
                    }
                }
            }
            if !any && self.options.zdefs {
                absent.push(number);
            }
        }
        errors.dedup();
        self.program.matched = matched;
        // A variable gets its type by the first clause of the text that assigns to it.
        let mut groups: BTreeMap<(Vec<usize>, SiteKind, u32), Vec<Found>> = BTreeMap::new();
        for (position, (found, list)) in order.into_iter().enumerate() {
            // A record can't be read beyond its end: calls with fewer arguments than are read have a program of their own.
            let alone = match found.kind {
                SiteKind::Entry => u32::from(found.arguments.min(arguments)),
                kind if kind.is_of_many() => 0,
                _ => position as u32 + 1,
            };
            groups.entry((list, found.kind, alone)).or_default().push(found);
        }
        for number in &absent {
            groups.entry((vec![*number], SiteKind::Absent, 0)).or_default();
        }
        let errors: Vec<(usize, &Clause)> = errors.into_iter().map(|n| (n, clauses[n])).collect();
        if !errors.is_empty() && groups.is_empty() {
            // They are checked, although nothing runs them.
            self.frame = Frame::default();
            self.error_clauses(&errors, 0, (int(0, Type::I64, Span::default()), int(0, Type::U64, Span::default())));
        }
        let groups: Vec<Group> = groups.into_iter().map(|((list, kind, _), found)| (list, kind, found)).collect();
        let mut known = vec![false; clauses.len()];
        for group in &groups {
            let last = group.0.last().copied().unwrap_or(0);
            if group.1 == SiteKind::Absent {
                self.before(last + 1, clauses, &groups, &mut known);
                continue;
            }
            self.before(last, clauses, &groups, &mut known);
            let bodies: Vec<(usize, &Clause)> = group.0.iter().map(|n| (*n, clauses[*n])).collect();
            self.probe(&bodies, group, &errors);
            for number in &group.0 {
                known[*number] = true;
            }
        }
    }

    /// What clauses above one make known may be named in it, those of other programs and of absent probes (`-Z`), too.
    /// They are checked for that alone: their mistakes are told when they are checked for themselves, and what can't be
    /// told of an absent probe is none.
    fn before(&mut self, end: usize, clauses: &[&Clause], groups: &[Group], known: &mut [bool]) {
        for (number, clause) in clauses.iter().enumerate().take(end) {
            let Some((_, kind, found)) = groups.iter().find(|(list, ..)| list.contains(&number)) else { continue };
            if std::mem::replace(&mut known[number], true) {
                continue;
            }
            let (told, actions) = (self.diagnostics.len(), self.program.actions.len());
            self.frame = Frame { site: site(*kind, found, 0), ..Frame::default() };
            if self.frame.site.place.as_ref().is_some_and(|place| place.begin.is_some()) {
                self.frame.site.since = Some(self.local("%since", Type::U64));
            }
            let _ = self.clause(number, clause);
            self.frame = Frame::default();
            self.diagnostics.truncate(told);
            self.program.actions.truncate(actions);
        }
    }

    fn probe(&mut self, clauses: &[(usize, &Clause)], (_, kind, found): &Group, errors: &[(usize, &Clause)]) {
        self.frame = Frame::default();
        let names: Vec<u32> = found.iter().map(|f| self.name(&f.name)).collect();
        self.frame.site = site(*kind, found, self.program.probe_ids[names[0] as usize]);
        let span = clauses.first().map_or(Span::default(), |(_, c)| head(c));
        let begun = begun::of_place(self, span);
        let told_as = found.first().map_or_else(Vec::new, |f| f.clauses.clone());
        let fault = self.local("%fault", Type::I64);
        let address = self.local("%address", Type::U64);
        let mut body = Vec::new();
        for (position, (number, clause)) in clauses.iter().enumerate() {
            let told_as = told_as.get(position).copied().unwrap_or(*number as u32);
            self.frame.fault = Some((fault, address));
            let at = head(clause);
            let (before, earlier) = (self.frame.exited, body.len());
            let statements = self.clause(*number, clause);
            let zero = |l, ty: Type| statement(StatementKind::SetLocal(l, int(0, ty, at)), at);
            body.extend(self.reset_scratch(at));
            body.push(zero(fault, Type::I64));
            body.push(zero(address, Type::U64));
            body.push(statement(StatementKind::Unroll(1, Block::new(statements)), at));
            self.frame.fault = None;
            let value = |l, ty: Type| Expr::new(ExprKind::Local(l), ty, at);
            let told = (value(fault, Type::I64), value(address, Type::U64));
            let kind = ActionKind::Fault { clause: told_as, lines: Arc::clone(&self.lines) };
            let action = self.action(kind, vec![Type::I64, Type::U64], at);
            let report = StatementKind::Report { action, values: vec![told.0.clone(), told.1.clone()] };
            let mut handler = vec![statement(report, at)];
            let site = self.frame.site.clone();
            let cause = Expr::new(
                ExprKind::Binary(BinaryOp::BitAnd, Box::new(told.0.clone()), Box::new(int(255, Type::I64, at))),
                Type::I64,
                at,
            );
            handler.extend(self.error_clauses(errors, told_as, (cause, told.1.clone())));
            self.frame.site = site;
            let failed = Expr::new(
                ExprKind::Binary(BinaryOp::Ne, Box::new(told.0), Box::new(int(0, Type::I64, at))),
                Type::Bool,
                at,
            );
            body.push(statement(StatementKind::If(failed, Block::new(handler), Block::default()), at));
            if let Some(exited) = before {
                let rest = Block::new(body.split_off(earlier));
                let over = Expr::new(ExprKind::Local(exited), Type::I64, at);
                body.push(statement(StatementKind::If(Self::not(over), rest, Block::default()), at));
            }
        }
        if let Some(exited) = self.frame.exited {
            body.insert(0, statement(StatementKind::SetLocal(exited, int(0, Type::I64, span)), span));
        }
        self.size_of_recorded();
        if let Some(now) = self.frame.now {
            body.insert(0, statement(StatementKind::SetLocal(now, int(0, Type::U64, span)), span));
        }
        if let Some(none) = self.no_words(span) {
            body.insert(0, none);
        }
        if let Some(begun) = begun {
            body = begun::within(self, begun, body, span);
        }
        if let Some(when) = self.frame.site.place.as_ref().and_then(|place| place.when()) {
            let condition = self.condition_of_row(when, span);
            let whole = Block::new(std::mem::take(&mut body));
            body.push(statement(StatementKind::If(condition, whole, Block::default()), span));
        }
        let frame = std::mem::take(&mut self.frame);
        let many = found.len() > 1;
        if let (Some(begun), Some(place)) = (begun, &frame.site.place) {
            let program = begun::program(self, begun, place, names[0], span);
            self.program.probes.extend(program);
        }
        self.program.probes.push(Probe {
            targets: found.iter().filter_map(|f| f.target.clone()).collect(),
            names,
            predicate: None,
            body: Block::new(body),
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

    /// What runs when a clause failed, of which the number is told.
    fn error_clauses(
        &mut self,
        clauses: &[(usize, &Clause)],
        failed: u32,
        (fault, address): (Expr, Expr),
    ) -> Vec<Statement> {
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
        self.frame.fault = None;
        for (number, clause) in clauses {
            let body = self.clause(*number, clause);
            statements.extend(self.reset_scratch(head(clause)));
            statements.push(statement(StatementKind::Unroll(1, Block::new(body)), head(clause)));
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
        self.frame.recorded_bytes.0 = 0;
        (self.frame.speculates, self.frame.commits, self.frame.records) = (false, false, false);
        self.frame.reports = false;
        let predicate = clause.predicate.as_ref().map(|e| self.predicate(e, clause));
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
            let record =
                crate::model::d::Record { clause: number as u32, items: std::mem::take(&mut self.frame.items) };
            let types = values.iter().map(|e| e.ty.clone()).collect();
            let action = self.action(ActionKind::Record(Arc::new(record)), types, at);
            statements.push(statement(StatementKind::Report { action, values }, at));
        }
        if let Some(code) = self.frame.exit.take() {
            let action = self.action(ActionKind::Exit, vec![Type::I64], at);
            statements.push(statement(StatementKind::Report { action, values: vec![code] }, at));
            let exited = self.frame.exited;
            let exited = exited.unwrap_or_else(|| self.local("%exited", Type::I64));
            self.frame.exited = Some(exited);
            statements.push(statement(StatementKind::SetLocal(exited, int(1, Type::I64, at)), at));
        }
        match predicate {
            None => statements,
            Some(condition) => {
                vec![statement(StatementKind::If(condition, Block::new(statements), Block::default()), at)]
            }
        }
    }

    /// A clause's predicate. It may name variables that the clause's own statements make known.
    fn predicate(&mut self, e: &ast::Expr, clause: &Clause) -> Expr {
        let told = self.diagnostics.len();
        let mut value = self.expr(e);
        let unknown = |d: &Diagnostic| matches!(d.code, tags::D_VAR_UNDEF | tags::D_IDENT_UNDEF);
        if self.diagnostics.get(told..).unwrap_or(&[]).iter().any(unknown) {
            self.diagnostics.truncate(told);
            self.made_known(clause);
            value = self.expr(e);
        }
        let scalar = super::value::is_scalar(value.ty()) || super::value::is_text(value.ty());
        if !scalar && !value.is_error() {
            let text = self.type_text(value.ty());
            let message = format!("predicate result must be of scalar type: it is of type {text}");
            self.error(tags::D_PRED_SCALAR, e.span, message);
        }
        self.condition(value)
    }

    /// Makes the variables known that a clause's statements assign to.
    fn made_known(&mut self, clause: &Clause) {
        let (told, frame, actions) = (self.diagnostics.len(), self.frame.clone(), self.program.actions.len());
        for e in clause.body.as_deref().unwrap_or_default() {
            if !matches!(e.kind, ast::ExprKind::Empty) {
                self.statement(e, &mut Vec::new());
            }
        }
        self.frame = frame;
        self.program.actions.truncate(actions);
        self.diagnostics.truncate(told);
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
