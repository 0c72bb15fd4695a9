//! `cleanpath`: a path without empty parts, `.` and what `..` takes back.

use std::sync::Arc;

use super::checker::Checker;
use super::code::{
    BYTE, add, address_of, and, binary, block, byte_at, choose, constant_text, copy_into, each, either, int64, is,
    leave, or, plus, put, read, set, sub, when, within,
};
use super::text_bytes;
use super::value::Value;
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, LocalId, Statement};
use crate::lang::types::Type;

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

/// `cleanpath(path)`.
pub fn clean_path(c: &mut Checker<'_>, path: Value, span: Span) -> Value {
    let mut out = Vec::new();
    let path = text_bytes::bytes_of(c, path.e, &mut out);
    let string = c.string();
    let parts = Parts {
        out: text_bytes::byte_array(c, "%clean"),
        to: text_bytes::counter(c, "%to", 0, span, &mut out),
        depth: text_bytes::counter(c, "%depth", 0, span, &mut out),
        starts: c.local("%starts", Type::Array { of: Arc::new(BYTE), len: 2048 }),
    };
    let absolute = c.local("%absolute", Type::I64);
    let slash = |e: Expr| is(e, i64::from(b'/'));
    out.push(set(absolute, choose(slash(byte_at(path.bytes, int64(0, span))), int64(1, span), int64(0, span))));
    let start = text_bytes::counter(c, "%start", 0, span, &mut out);
    let (at, byte, length) = (c.local("%at", Type::I64), c.local("%byte", Type::I64), c.local("%length", Type::I64));
    let holds = |local, n| is(read(local, span), n);
    let ends = or(holds(byte, 0), slash(read(byte, span)));
    let dot = |more| {
        let byte = byte_at(path.bytes, plus(read(start, span), more));
        is(byte, i64::from(b'.'))
    };
    let up = and(holds(length, 2), and(dot(0), dot(1)));
    let stays = and(holds(length, 1), dot(0));
    let append = |kept: bool| append(parts, (path.bytes, start, length), absolute, kept, span);
    let taken_back = take_back(parts, absolute, append(false), span);
    let some = binary(BinaryOp::Gt, read(length, span), int64(0, span));
    let part = either(up, taken_back, vec![either(stays, vec![], append(true))]);
    let body = vec![
        set(byte, byte_at(path.bytes, read(at, span))),
        when(
            ends,
            vec![
                set(length, sub(read(at, span), read(start, span))),
                when(some, vec![part]),
                set(start, plus(read(at, span), 1)),
                when(holds(byte, 0), vec![leave(span)]),
            ],
        ),
    ];
    out.push(each(at, text_bytes::most_bytes(&c.options), span, body));
    out.push(put(parts.out, read(parts.to, span), int64(0, span)));
    let clean = text_bytes::text_in(c, parts.out, None, span);
    let text = |text: &str| constant_text(text, string.clone(), span);
    let first = byte_at(path.bytes, int64(0, span));
    let nothing = is(first, 0);
    let alone = choose(holds(absolute, 1), text("/"), choose(nothing, text(""), text(".")));
    Value::new(block(out, choose(holds(parts.to, 0), alone, clean)))
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
        let place = binary(BinaryOp::Mul, read(parts.depth, span), int64(2, span));
        body.push(put(parts.starts, place.clone(), read(parts.to, span)));
        let high = binary(BinaryOp::Shr, read(parts.to, span), int64(8, span));
        body.push(put(parts.starts, plus(place, 1), high));
        body.push(set(parts.depth, plus(read(parts.depth, span), 1)));
    }
    let begun = binary(BinaryOp::Ne, read(parts.to, span), int64(0, span));
    let rooted = binary(BinaryOp::Ne, read(absolute, span), int64(0, span));
    let divided = or(begun, rooted);
    let slash = vec![
        put(parts.out, read(parts.to, span), int64(i64::from(b'/'), span)),
        set(parts.to, plus(read(parts.to, span), 1)),
    ];
    body.push(when(divided, slash));
    let from = address_of(within(bytes, read(start, span), BYTE));
    body.push(copy_into(parts.out, read(parts.to, span), from, read(length, span), span));
    body.push(set(parts.to, add(read(parts.to, span), read(length, span))));
    body
}

/// `..`: takes the last part back; at the root it stays there, and before all parts it is one itself.
fn take_back(parts: Parts, absolute: LocalId, itself: Vec<Statement>, span: Span) -> Vec<Statement> {
    let some = binary(BinaryOp::Gt, read(parts.depth, span), int64(0, span));
    let place = binary(BinaryOp::Mul, read(parts.depth, span), int64(2, span));
    let low = byte_at(parts.starts, place.clone());
    let high = binary(BinaryOp::Shl, byte_at(parts.starts, plus(place, 1)), int64(8, span));
    let back =
        vec![set(parts.depth, plus(read(parts.depth, span), -1)), set(parts.to, binary(BinaryOp::BitOr, low, high))];
    let rooted = binary(BinaryOp::Ne, read(absolute, span), int64(0, span));
    vec![either(some, back, vec![either(rooted, vec![], itself)])]
}
