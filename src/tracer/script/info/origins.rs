//! Where the values of a script's actions come from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::kernel::Kernel;
use crate::lang::facts::Facts as _;
use crate::lang::facts::kernel::KernelFacts;
use crate::lang::typed::keys::{Keys, conjuncts};
use crate::lang::typed::{BinaryOp, Block, Expr, ExprKind, Program, Statement, StatementKind};
use crate::lang::types::Type;
use crate::model::bytes::bytes_of;
use crate::model::target::Target;
use crate::model::value::Value;
use crate::store::{Column, ColumnKind, Given, Origin, TracepointFields};

/// The fields of so many tracepoints are kept; scripts on more rarely name any.
const MOST_TRACEPOINTS: usize = 32;
/// Conditions that are kept of one action.
const MOST_CONDITIONS: usize = 16;

/// By action: where it stands, and of which expressions its values are.
pub fn of(program: &Program) -> BTreeMap<u32, (Origin, Vec<Column>)> {
    let mut found = BTreeMap::new();
    for (clause, probe) in (0..).zip(&program.probes) {
        let keys = Keys::of(program, probe);
        let mut origin = Origin { clause, ..Origin::default() };
        if let Some(predicate) = &probe.predicate {
            hold(&keys, predicate, &mut origin);
        }
        Search { keys, found: &mut found }.block(&probe.body, &origin);
    }
    found
}

struct Search<'a, 'f> {
    keys: Keys<'a>,
    found: &'f mut BTreeMap<u32, (Origin, Vec<Column>)>,
}

impl Search<'_, '_> {
    fn block(&mut self, block: &Block, origin: &Origin) {
        block.statements.iter().for_each(|statement| self.statement(statement, origin));
    }

    fn statement(&mut self, statement: &Statement, origin: &Origin) {
        let looped = || Origin { repeated: true, ..origin.clone() };
        match &statement.kind {
            StatementKind::Report { action, values } => {
                let columns = values.iter().map(|value| self.column(value)).collect();
                // A macro's action may stand in several places, and then in none that can be told.
                self.found
                    .entry(action.0)
                    .and_modify(|(known, _)| known.repeated = true)
                    .or_insert_with(|| (origin.clone(), columns));
            }
            StatementKind::If(condition, yes, no) => {
                self.inside(condition, origin);
                let (mut then, mut otherwise) = (origin.clone(), origin.clone());
                hold(&self.keys, condition, &mut then);
                if let [one] = conjuncts(condition)[..]
                    && let Some(key) = self.keys.key(one)
                {
                    otherwise.given.push(Given { key: format!("!{key}").into(), fixed: None });
                } else {
                    // Nothing is known of this branch but that it is not always taken.
                    otherwise
                        .given
                        .push(Given { key: format!("else at {}", statement.span.start).into(), fixed: None });
                }
                self.block(yes, &then);
                self.block(no, &otherwise);
            }
            StatementKind::While(condition, body) => {
                self.inside(condition, &looped());
                self.block(body, &looped());
            }
            StatementKind::ForRange { body, .. }
            | StatementKind::ForMap { body, .. }
            | StatementKind::Unroll(_, body) => {
                self.block(body, &looped());
            }
            StatementKind::Block(body) => self.block(body, origin),
            StatementKind::Expr(e) | StatementKind::SetLocal(_, e) => self.inside(e, origin),
            StatementKind::SetMap { key, value, .. } => {
                key.iter().chain([value]).for_each(|e| self.inside(e, origin));
            }
            StatementKind::Aggregate { key, value, weight, .. } => {
                key.iter().chain(value).chain(weight).for_each(|e| self.inside(e, origin));
            }
            StatementKind::Store { place, value } => [place, value].into_iter().for_each(|e| self.inside(e, origin)),
            StatementKind::Return(value) => value.iter().for_each(|e| self.inside(e, origin)),
            StatementKind::Break | StatementKind::Continue | StatementKind::Fault(_) => {}
        }
    }

    /// Statements inside an expression: of a macro. Some of them run only if the expression comes to that.
    fn inside(&mut self, e: &Expr, origin: &Origin) {
        if let ExprKind::Block(block, _) = &e.kind {
            self.block(block, origin);
        }
        let unsure = matches!(e.kind, ExprKind::And(..) | ExprKind::Or(..) | ExprKind::Conditional(..));
        let below = Origin { repeated: origin.repeated || unsure, ..origin.clone() };
        e.children().into_iter().for_each(|child| self.inside(child, &below));
    }

    fn column(&self, value: &Expr) -> Column {
        let key = |e: &Expr| self.keys.key(e).unwrap_or_default().into();
        let parts = match &value.kind {
            ExprKind::Tuple(items) => items.iter().map(key).collect(),
            _ => Vec::new(),
        };
        let duration_unit_ns = self.keys.duration_unit_ns(value);
        Column { source: key(value), parts, duration_unit_ns, ..Column::new("", ColumnKind::of(&value.ty)) }
    }
}

/// Adds what holds where a condition does.
fn hold(keys: &Keys<'_>, condition: &Expr, origin: &mut Origin) {
    for part in conjuncts(condition) {
        if origin.given.len() >= MOST_CONDITIONS {
            origin.given.push(Given { key: "and more".into(), fixed: None });
            return;
        }
        // One that has no name narrows what is reported all the same.
        let key = keys.key(part).unwrap_or_else(|| format!("condition at {}", part.span.start));
        origin.given.push(Given { key: key.into(), fixed: fixed(keys, part) });
    }
}

/// What a comparison says of a value.
fn fixed(keys: &Keys<'_>, condition: &Expr) -> Option<(Arc<str>, Value)> {
    let ExprKind::Binary(BinaryOp::Eq, a, b) = &condition.kind else { return None };
    let (of, constant) = if constant(b).is_some() { (a, constant(b)?) } else { (b, constant(a)?) };
    Some((keys.key(of)?.into(), constant))
}

fn constant(e: &Expr) -> Option<Value> {
    match (&e.kind, &e.ty) {
        (ExprKind::Str(text), _) => Some(Value::Str(bytes_of(text).into_owned().into())),
        (ExprKind::Cast(inner), Type::Str { .. }) => constant(inner),
        (_, Type::Int { size, signed: true }) => e.as_int().map(|bits| Value::Int(bits as i64, *size)),
        (_, Type::Int { size, signed: false }) => e.as_int().map(|bits| Value::Uint(bits, *size)),
        _ => None,
    }
}

/// The fields of the tracepoints that a script reports from.
pub fn tracepoints(program: &Program, kernel: &Kernel) -> Vec<TracepointFields> {
    if program.actions.iter().all(|action| action.values.is_empty()) {
        return Vec::new();
    }
    let targets = program.probes.iter().flat_map(|probe| &probe.targets);
    let events: BTreeSet<_> = targets
        .filter_map(|target| match target {
            Target::Tracepoint { category, event } => Some((category, event)),
            _ => None,
        })
        .collect();
    if events.len() > MOST_TRACEPOINTS {
        return Vec::new();
    }
    let facts = KernelFacts::new(kernel, None, false);
    let fields = |(category, event): (&Arc<str>, &Arc<str>)| {
        let fields = facts.tracepoint(category, event).ok()?;
        Some(TracepointFields { category: Arc::clone(category), event: Arc::clone(event), fields })
    };
    events.into_iter().filter_map(fields).collect()
}
