//! `cleanpath`: a path without empty parts, `.` and what `..` takes back.

use std::sync::Arc;

use super::addresses::put;
use super::checker::Checker;
use super::paths;
use super::paths::{BYTE, byte_at, choose, each, leave, number, pair, read, set, when};
use super::value::{Value, block, cast, statement};
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, ExprKind, Intrinsic, LocalId, Statement, StatementKind};
use crate::lang::types::{AddressSpace, Type};

/// Where the parts of the result begin, as a stack of bytes.
#[derive(Clone, Copy)]
struct Parts {
    /// The result.
    out: LocalId,
    /// Its length.
    to: LocalId,
    /// How many parts `..` may take back.
    depth: LocalId,
    /// The length before each of them; two bytes each.
    starts: LocalId,
}

fn both(a: Expr, b: Expr) -> Expr {
    let span = a.span;
    Expr::new(ExprKind::And(Box::new(a), Box::new(b)), Type::Bool, span)
}

fn plus(a: Expr, n: i64) -> Expr {
    let span = a.span;
    pair(BinaryOp::Add, a, number(n, span))
}

/// `cleanpath(path)`.
pub fn clean_path(c: &mut Checker<'_>, path: Value, span: Span) -> Value {
    let mut out = Vec::new();
    let path = paths::bytes_of(c, path.e, &mut out);
    let string = c.string();
    let parts = Parts {
        out: paths::byte_array(c, "%clean"),
        to: paths::counter(c, "%to", 0, span, &mut out),
        depth: paths::counter(c, "%depth", 0, span, &mut out),
        starts: c.local("%starts", Type::Array { of: Arc::new(BYTE), len: 2048 }),
    };
    let absolute = c.local("%absolute", Type::I64);
    let slash = |e: Expr| pair(BinaryOp::Eq, e, number(i64::from(b'/'), span));
    out.push(set(absolute, choose(slash(byte_at(path.bytes, number(0, span))), number(1, span), number(0, span))));
    let start = paths::counter(c, "%start", 0, span, &mut out);
    let (at, byte, length) = (c.local("%at", Type::I64), c.local("%byte", Type::I64), c.local("%length", Type::I64));
    let is = |local, n| pair(BinaryOp::Eq, read(local, span), number(n, span));
    let ends = Expr::new(ExprKind::Or(Box::new(is(byte, 0)), Box::new(slash(read(byte, span)))), Type::Bool, span);
    let dot = |more| {
        let byte = byte_at(path.bytes, plus(read(start, span), more));
        pair(BinaryOp::Eq, byte, number(i64::from(b'.'), span))
    };
    let up = both(is(length, 2), both(dot(0), dot(1)));
    let stays = both(is(length, 1), dot(0));
    let append = |kept: bool| append(parts, (path.bytes, start, length), absolute, kept, span);
    let taken_back = take_back(parts, absolute, append(false), span);
    let some = pair(BinaryOp::Gt, read(length, span), number(0, span));
    let part = when(up, taken_back, vec![when(stays, vec![], append(true))]);
    let body = vec![
        set(byte, byte_at(path.bytes, read(at, span))),
        when(
            ends,
            vec![
                set(length, pair(BinaryOp::Sub, read(at, span), read(start, span))),
                when(some, vec![part], vec![]),
                set(start, plus(read(at, span), 1)),
                when(is(byte, 0), vec![leave(span)], vec![]),
            ],
            vec![],
        ),
    ];
    out.push(each(at, paths::most_bytes(&c.options), span, body));
    out.push(put(parts.out, read(parts.to, span), number(0, span)));
    let array = Type::Array { of: Arc::new(BYTE), len: 64 };
    let pointer = Type::Ptr { to: Arc::new(Type::Int { size: 1, signed: true }), space: AddressSpace::Kernel };
    let whole = Expr::new(ExprKind::Local(parts.out), array, span);
    let address = Expr::new(ExprKind::AddressOf(Box::new(whole)), pointer, span);
    let clean = Expr::new(ExprKind::Call(Intrinsic::Str, vec![address]), string.clone(), span);
    let text = |text: &str| Expr::new(ExprKind::Str(text.into()), string.clone(), span);
    let first = byte_at(path.bytes, number(0, span));
    let nothing = pair(BinaryOp::Eq, first, number(0, span));
    let alone = choose(is(absolute, 1), text("/"), choose(nothing, text(""), text(".")));
    Value::new(block(out, choose(is(parts.to, 0), alone, clean)))
}

/// Appends a part; what `..` may take back is noted.
fn append(
    parts: Parts,
    (bytes, start, length): (LocalId, LocalId, LocalId),
    absolute: LocalId,
    kept: bool,
    span: Span,
) -> Vec<Statement> {
    let mut body = Vec::new();
    if kept {
        let place = pair(BinaryOp::Mul, read(parts.depth, span), number(2, span));
        body.push(put(parts.starts, place.clone(), read(parts.to, span)));
        let high = pair(BinaryOp::Shr, read(parts.to, span), number(8, span));
        body.push(put(parts.starts, plus(place, 1), high));
        body.push(set(parts.depth, plus(read(parts.depth, span), 1)));
    }
    let begun = pair(BinaryOp::Ne, read(parts.to, span), number(0, span));
    let rooted = pair(BinaryOp::Ne, read(absolute, span), number(0, span));
    let divided = Expr::new(ExprKind::Or(Box::new(begun), Box::new(rooted)), Type::Bool, span);
    let slash = vec![
        put(parts.out, read(parts.to, span), number(i64::from(b'/'), span)),
        set(parts.to, plus(read(parts.to, span), 1)),
    ];
    body.push(when(divided, slash, vec![]));
    let from = ExprKind::Within { local: bytes, offset: Box::new(cast(read(start, span), &Type::U64)) };
    let pointer = Type::Ptr { to: Arc::new(Type::Int { size: 1, signed: true }), space: AddressSpace::Kernel };
    let from = ExprKind::AddressOf(Box::new(Expr::new(from, BYTE, span)));
    let place = ExprKind::Within { local: parts.out, offset: Box::new(cast(read(parts.to, span), &Type::U64)) };
    let size = cast(read(length, span), &Type::U64);
    let arguments = vec![Expr::new(place, BYTE, span), Expr::new(from, pointer, span), size];
    let copy = Expr::new(ExprKind::Call(Intrinsic::ReadInto, arguments), Type::I64, span);
    body.push(statement(StatementKind::Expr(copy), span));
    body.push(set(parts.to, pair(BinaryOp::Add, read(parts.to, span), read(length, span))));
    body
}

/// `..`: takes the last part back; at the root it stays there, and before all parts it is one itself.
fn take_back(parts: Parts, absolute: LocalId, itself: Vec<Statement>, span: Span) -> Vec<Statement> {
    let some = pair(BinaryOp::Gt, read(parts.depth, span), number(0, span));
    let place = pair(BinaryOp::Mul, read(parts.depth, span), number(2, span));
    let low = byte_at(parts.starts, place.clone());
    let high = pair(BinaryOp::Shl, byte_at(parts.starts, plus(place, 1)), number(8, span));
    let back =
        vec![set(parts.depth, plus(read(parts.depth, span), -1)), set(parts.to, pair(BinaryOp::BitOr, low, high))];
    let rooted = pair(BinaryOp::Ne, read(absolute, span), number(0, span));
    vec![when(some, back, vec![when(rooted, vec![], itself)])]
}
