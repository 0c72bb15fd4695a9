//! Typed programs by hand.
#![allow(dead_code, reason = "each test uses some")]

use std::sync::Arc;

use probescope::lang::source::Span;
use probescope::lang::typed::{
    Action, ActionId, ActionKind, BinaryOp, Block, Builtin, Expr, ExprKind, Local, LocalId, Map, MapId, MapStorage,
    PrintfSink, Probe, Program, Statement, StatementKind, UnaryOp,
};
use probescope::lang::types::{Aggregation, Type};
use probescope::model::format::Format;
use probescope::model::target::Target;

pub fn e(kind: ExprKind, ty: Type) -> Expr {
    Expr::new(kind, ty, Span::new(1, 2))
}

pub fn int(v: i64) -> Expr {
    e(ExprKind::Int(v as u64), Type::I64)
}

pub fn text(s: &str) -> Expr {
    e(ExprKind::Str(s.into()), Type::Str { size: s.len() as u32 + 1 })
}

pub fn arg(n: u8) -> Expr {
    e(ExprKind::Builtin(Builtin::Arg(n)), Type::I64)
}

pub fn builtin(b: Builtin, ty: Type) -> Expr {
    e(ExprKind::Builtin(b), ty)
}

pub fn comm() -> Expr {
    builtin(Builtin::Comm, Type::Str { size: 16 })
}

pub fn local(n: u32, ty: Type) -> Expr {
    e(ExprKind::Local(LocalId(n)), ty)
}

pub fn binary(op: BinaryOp, a: Expr, b: Expr, ty: Type) -> Expr {
    e(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty)
}

pub fn unary(op: UnaryOp, a: Expr, ty: Type) -> Expr {
    e(ExprKind::Unary(op, Box::new(a)), ty)
}

pub fn cast(a: Expr, ty: Type) -> Expr {
    e(ExprKind::Cast(Box::new(a)), ty)
}

pub fn get(map: u32, key: Option<Expr>, ty: Type) -> Expr {
    e(ExprKind::MapGet { map: MapId(map), key: key.map(Box::new) }, ty)
}

pub fn st(kind: StatementKind) -> Statement {
    Statement { kind, span: Span::new(1, 2) }
}

pub fn set(map: u32, key: Option<Expr>, value: Expr) -> Statement {
    st(StatementKind::SetMap { map: MapId(map), key, value })
}

pub fn set_local(n: u32, value: Expr) -> Statement {
    st(StatementKind::SetLocal(LocalId(n), value))
}

pub fn aggregate(map: u32, key: Option<Expr>, value: Option<Expr>) -> Statement {
    st(StatementKind::Aggregate { map: MapId(map), key, value, weight: None })
}

pub fn report(action: u32, values: Vec<Expr>) -> Statement {
    st(StatementKind::Report { action: ActionId(action), values })
}

pub fn block(statements: Vec<Statement>) -> Block {
    Block::new(statements)
}

pub fn scalar_map(name: &str, value: Type) -> Map {
    keyed_map(name, Type::Void, value)
}

pub fn keyed_map(name: &str, key: Type, value: Type) -> Map {
    let max_entries = if key == Type::Void { 1 } else { 64 };
    Map { name: name.into(), key, value, max_entries, storage: MapStorage::Auto, span: Span::default() }
}

pub fn agg(a: Aggregation) -> Type {
    Type::Agg(a)
}

pub fn printf(values: Vec<Type>) -> Action {
    Action {
        kind: ActionKind::Printf { format: Format::default(), sink: PrintfSink::Out },
        values,
        span: Span::default(),
        expanded: Vec::new(),
    }
}

pub fn locals(types: Vec<Type>) -> Vec<Local> {
    types.into_iter().enumerate().map(|(i, ty)| Local { name: Arc::from(format!("$v{i}")), ty }).collect()
}

pub fn probe(target: Target, statements: Vec<Statement>) -> Probe {
    Probe {
        targets: vec![target],
        names: vec![0],
        predicate: None,
        body: block(statements),
        locals: Vec::new(),
        needs_probe_id: false,
        alone: false,
        limited: false,
        traced: false,
        fault: None,
        span: Span::new(0, 5),
        head: Span::new(0, 5),
    }
}

/// As front ends hand a program over.
pub fn numbered(mut program: Program) -> Program {
    program.number_scopes();
    program
}

/// A program of one `BEGIN` probe.
pub fn begin(maps: Vec<Map>, actions: Vec<Action>, statements: Vec<Statement>) -> Program {
    numbered(Program {
        probes: vec![probe(Target::Begin, statements)],
        maps,
        actions,
        probe_names: vec!["begin".into()],
        ..Program::default()
    })
}
