//! What the back end relies on, checked: used in tests, so that a fault of a front end shows there
//! and not as a wrong program.

#![allow(clippy::needless_for_each, reason = "one visitor a line")]

use super::{ActionKind, BinaryOp, Block, Expr, ExprKind, Function, LocalId, MapId, Program, Statement, StatementKind};
use crate::lang::types::Type;

/// Everything that is wrong with a program that has no diagnostics; empty when it is sound.
#[must_use]
pub fn validate(program: &Program) -> Vec<String> {
    let mut v = Validator { program, locals: &[], problems: Vec::new(), place: String::new() };
    for (n, probe) in program.probes.iter().enumerate() {
        v.place = format!("probe {n}");
        v.require(!probe.targets.is_empty(), "has no targets");
        v.require(probe.targets.len() == probe.names.len(), "has not one name for each target");
        v.require(probe.names.iter().all(|n| (*n as usize) < program.probe_names.len()), "names out of range");
        let locals: Vec<Type> = probe.locals.iter().map(|l| l.ty.clone()).collect();
        let mut inner = Validator { program, locals: &locals, problems: Vec::new(), place: v.place.clone() };
        locals.iter().for_each(|t| inner.known(t, "a variable"));
        if let Some(e) = &probe.predicate {
            inner.condition(e);
        }
        inner.block(&probe.body);
        v.problems.append(&mut inner.problems);
    }
    v.require(program.has_scopes(), "blocks have no numbers");
    for function in &program.functions {
        v.function(function);
    }
    for map in &program.maps {
        v.place = format!("map {}", map.name);
        v.known(&map.key, "its key");
        v.known(&map.value, "its value");
        v.require(map.max_entries > 0, "has no room");
    }
    for (n, action) in program.actions.iter().enumerate() {
        v.place = format!("action {n}");
        action.values.iter().for_each(|t| v.known(t, "a value"));
        if let ActionKind::PrintMap { map, .. } | ActionKind::PrintMapEntry { map } = action.kind {
            v.map(map);
        }
    }
    v.problems
}

struct Validator<'a> {
    program: &'a Program,
    locals: &'a [Type],
    problems: Vec<String>,
    place: String,
}

impl Validator<'_> {
    fn require(&mut self, holds: bool, problem: &str) {
        if !holds {
            self.problems.push(format!("{}: {problem}", self.place));
        }
    }

    fn function(&mut self, function: &Function) {
        let locals: Vec<Type> = function.locals.iter().map(|l| l.ty.clone()).collect();
        let place = format!("fn {}", function.name);
        let mut inner = Validator { program: self.program, locals: &locals, problems: Vec::new(), place };
        inner.require(function.parameters as usize <= locals.len(), "has more parameters than variables");
        inner.block(&function.body);
        self.problems.append(&mut inner.problems);
    }

    fn known(&mut self, ty: &Type, what: &str) {
        let fine = match ty {
            Type::Error => false,
            Type::Int { size, .. } | Type::Enum { size, .. } => matches!(size, 1 | 2 | 4 | 8),
            Type::Struct(id) => (id.0 as usize) < self.program.structs.len(),
            Type::Array { of, .. } => return self.known(of, what),
            Type::Tuple(items) => return items.iter().for_each(|t| self.known(t, what)),
            Type::Record(items) => return items.iter().for_each(|(_, t)| self.known(t, what)),
            _ => true,
        };
        if !fine {
            self.problems.push(format!("{}: {what} has the type {ty:?}", self.place));
        }
    }

    fn same(&mut self, e: &Expr, ty: &Type, what: &str) {
        if e.ty != *ty {
            self.problems.push(format!("{}: {what} at {:?} is {:?}, not {ty:?}", self.place, e.span, e.ty));
        }
    }

    fn local(&mut self, id: LocalId) -> Type {
        let ty = self.locals.get(id.0 as usize).cloned();
        self.require(ty.is_some(), "uses a variable that does not exist");
        ty.unwrap_or(Type::Error)
    }

    fn map(&mut self, id: MapId) -> Option<(Type, Type)> {
        let map = self.program.maps.get(id.0 as usize).map(|m| (m.key.clone(), m.value.clone()));
        self.require(map.is_some(), "uses a map that does not exist");
        map
    }

    fn key(&mut self, id: MapId, key: Option<&Expr>) {
        let Some((ty, _)) = self.map(id) else { return };
        match key {
            None => self.require(ty == Type::Void, "a map's key is missing"),
            Some(key) => {
                self.same(key, &ty, "a map's key");
                self.expr(key);
            }
        }
    }

    fn condition(&mut self, e: &Expr) {
        self.require(e.ty.is_scalar(), "a condition is no scalar");
        self.expr(e);
    }

    fn block(&mut self, block: &Block) {
        block.statements.iter().for_each(|s| self.statement(s));
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Expr(e) => self.expr(e),
            StatementKind::SetLocal(id, e) => {
                let ty = self.local(*id);
                self.same(e, &ty, "an assigned value");
                self.expr(e);
            }
            StatementKind::SetMap { map, key, value } => {
                self.key(*map, key.as_ref());
                if let Some((_, ty)) = self.map(*map) {
                    self.same(value, &ty, "a map's value");
                }
                self.expr(value);
            }
            StatementKind::Store { place, value } => {
                let ty = place.ty.clone();
                self.same(value, &ty, "a stored value");
                self.expr(place);
                self.expr(value);
            }
            StatementKind::Aggregate { map, key, value, weight } => {
                self.key(*map, key.as_ref());
                if let Some((_, ty)) = self.map(*map) {
                    self.require(matches!(ty, Type::Agg(_)), "an aggregation in a plain map");
                }
                for e in value.iter().chain(weight) {
                    self.require(matches!(e.ty, Type::Int { size: 8, .. }), "an aggregated value is not of 8 bytes");
                    self.expr(e);
                }
            }
            StatementKind::Report { action, values } => self.report(action.0, values),
            StatementKind::If(c, a, b) => {
                self.condition(c);
                self.block(a);
                self.block(b);
            }
            StatementKind::While(c, body) => {
                self.condition(c);
                self.block(body);
            }
            StatementKind::ForRange { local, start, end, body } => {
                let ty = self.local(*local);
                self.require(ty == Type::I64, "a range's variable is not int64");
                self.same(start, &Type::I64, "a range's start");
                self.same(end, &Type::I64, "a range's end");
                self.expr(start);
                self.expr(end);
                self.block(body);
            }
            StatementKind::ForMap { local, map, body } => {
                let ty = self.local(*local);
                self.require(matches!(&ty, Type::Tuple(t) if t.len() == 2), "a map loop's variable is no pair");
                self.map(*map);
                self.block(body);
            }
            StatementKind::Unroll(_, body) | StatementKind::Block(body) => self.block(body),
            StatementKind::Break | StatementKind::Continue | StatementKind::Fault(_) => {}
            StatementKind::Return(e) => e.iter().for_each(|e| self.expr(e)),
        }
    }

    fn report(&mut self, action: u32, values: &[Expr]) {
        let types = self.program.actions.get(action as usize).map(|a| a.values.clone());
        self.require(types.as_ref().is_some_and(|t| t.len() == values.len()), "a report has not its action's values");
        for (value, ty) in values.iter().zip(types.unwrap_or_default()) {
            self.same(value, &ty, "a reported value");
            self.expr(value);
        }
    }

    fn expr(&mut self, e: &Expr) {
        self.known(&e.ty, "a value");
        match &e.kind {
            ExprKind::Int(_) | ExprKind::Str(_) | ExprKind::Builtin(_) => {}
            ExprKind::Local(id) | ExprKind::LocalStep { local: id, .. } => {
                let ty = self.local(*id);
                self.same(e, &ty, "a variable");
            }
            ExprKind::MapGet { map, key } | ExprKind::MapHas { map, key } | ExprKind::MapDelete { map, key } => {
                self.key(*map, key.as_deref());
            }
            ExprKind::MapFind { map, key, local } => {
                self.key(*map, Some(key));
                self.local(*local);
            }
            ExprKind::MapStep { map, key, delta, .. } => {
                self.key(*map, key.as_deref());
                self.require(matches!(delta.ty, Type::Int { size: 8, .. }), "a step is not of 8 bytes");
                self.expr(delta);
            }
            ExprKind::MapLen(map) | ExprKind::MapAddress(map) => {
                self.map(*map);
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, e, a, b),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::AddressOf(a) | ExprKind::TupleField(a, _) => {
                self.expr(a);
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                self.require(e.ty == Type::Bool, "a logical value is not bool");
                self.condition(a);
                self.condition(b);
            }
            ExprKind::Conditional(c, a, b) => {
                self.condition(c);
                self.same(a, &e.ty, "a branch");
                self.same(b, &e.ty, "a branch");
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Deref(a) => {
                let fits = matches!(&a.ty, Type::Ptr { to, .. } if **to == e.ty || matches!(e.ty, Type::Ptr { .. }));
                self.require(fits, "something is read through what is no pointer to it");
                self.expr(a);
            }
            ExprKind::Field { base, .. } => {
                self.require(matches!(base.ty, Type::Struct(_)), "a field of what is no struct");
                self.expr(base);
            }
            ExprKind::Within { local, offset } => {
                self.local(*local);
                self.require(matches!(offset.ty, Type::Int { size: 8, .. }), "an offset is not of 8 bytes");
                self.expr(offset);
            }
            ExprKind::Index { base, index } => {
                let fits = matches!(base.ty, Type::Array { .. } | Type::Ptr { .. } | Type::Str { .. });
                self.require(fits, "an element of what has none");
                self.require(matches!(index.ty, Type::Int { size: 8, .. }), "an index is not of 8 bytes");
                self.expr(base);
                self.expr(index);
            }
            ExprKind::Tuple(items) | ExprKind::Call(_, items) | ExprKind::CallUser(_, items) => {
                items.iter().for_each(|e| self.expr(e));
            }
            ExprKind::Block(block, value) => {
                self.block(block);
                self.same(value, &e.ty, "a block's value");
                self.expr(value);
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, e: &Expr, a: &Expr, b: &Expr) {
        self.same(b, &a.ty, "an operator's right side");
        let comparison =
            matches!(op, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
        if comparison {
            self.require(e.ty == Type::Bool, "a comparison is not bool");
        } else {
            self.same(e, &a.ty, "an operator's result");
        }
        self.expr(a);
        self.expr(b);
    }
}
