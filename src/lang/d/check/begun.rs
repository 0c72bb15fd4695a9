//! What a place of a semantic probe ends has begun at another, which has a program of its own: a map keeps the time, by
//! the thread and what the row calls the key.

use std::sync::Arc;

use super::checker::Checker;
use super::code::{builtin, effect, int, set, statement, when};
use super::frame::Frame;
use super::{semantic, variables};
use crate::lang::source::Span;
use crate::lang::typed::{
    BinaryOp, Block, Builtin, Clock, Expr, ExprKind, LocalId, MapId, Probe, Statement, StatementKind,
};
use crate::lang::types::Type;
use crate::probe::providers;

/// Where times of begins are kept, and what a firing makes of its own.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    map: MapId,
    since: LocalId,
}

/// Makes a map for the begins that the firing place ends, if it ends any.
pub fn of_place(c: &mut Checker<'_>, span: Span) -> Option<Begun> {
    c.frame.site.place.as_ref()?.begin.as_ref()?;
    let map = c.map("%begun", Type::Tuple([Type::U64, Type::U64].into()), Type::U64, span);
    let since = c.local("%since", Type::U64);
    c.frame.site.since = Some(since);
    Some(Begun { map, since })
}

/// What runs only where it has begun.
pub fn within(c: &mut Checker<'_>, begun: Begun, body: Vec<Statement>, span: Span) -> Vec<Statement> {
    let place = c.frame.site.place.clone();
    let Some((begin, _)) = place.as_ref().and_then(|place| place.begin.as_ref()) else { return body };
    let mut key = || Some(Box::new(key(c, begin, span)));
    let map = begun.map;
    let has = Expr::new(ExprKind::MapHas { map, key: key() }, Type::Bool, span);
    let began = Expr::new(ExprKind::MapGet { map, key: key() }, Type::U64, span);
    let gone = Expr::new(ExprKind::MapDelete { map, key: key() }, Type::Bool, span);
    let since = ExprKind::Binary(BinaryOp::Sub, Box::new(now(span)), Box::new(began));
    let since = set(begun.since, Expr::new(since, Type::U64, span));
    let whole = [since, effect(gone)].into_iter().chain(body).collect();
    vec![when(has, whole)]
}

/// The program that keeps the time of each begin; losses in it are those of the probe that it is for.
pub fn program(c: &mut Checker<'_>, begun: Begun, place: &providers::Found, name: u32, span: Span) -> Option<Probe> {
    let (begin, targets) = place.begin.as_ref()?;
    c.frame = Frame::default();
    c.frame.site.place = Some(Arc::new(place.at(targets.clone())));
    let condition = semantic::condition_of_row(c, begin.when, span);
    let key = Some(key(c, begin, span));
    let kept = statement(StatementKind::SetMap { map: begun.map, key, value: now(span) }, span);
    let body = vec![when(condition, vec![kept])];
    let locals = std::mem::take(&mut c.frame).locals;
    Some(Probe {
        targets: targets.iter().take(1).cloned().collect(),
        names: vec![name],
        predicate: None,
        body: Block::new(body),
        locals,
        needs_probe_id: false,
        alone: false,
        limited: false,
        traced: false,
        fault: None,
        span,
        head: span,
    })
}

fn key(c: &mut Checker<'_>, begin: &providers::Begin, span: Span) -> Expr {
    let own = c.of_row("uint64_t", begin.key, span).e;
    let thread = variables::thread_key(span);
    super::value::key(vec![thread, own], span).unwrap_or_else(|| int(0, Type::U64, span))
}

fn now(span: Span) -> Expr {
    builtin(Builtin::Nsecs(Clock::Monotonic), Type::U64, span)
}
