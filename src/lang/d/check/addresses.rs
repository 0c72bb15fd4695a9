//! Addresses of networks and links as text.

use std::sync::Arc;

use super::checker::Checker;
use super::code::{
    BYTE, add, binary, block, byte_at, byte_pointer, call, cast, choose, copy_into, each, int64, is, leave, less, not,
    or, plus, put, read, set, sub, when,
};
use super::value::{Value, decay, error_value, word};
use super::{prototypes, scratch, text_bytes};
use crate::lang::codes::d as tags;
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, ExprKind, Intrinsic, Statement};
use crate::lang::types::{AddressSpace, Type};

const AF_INET: u64 = 2;
const AF_INET6: u64 = 10;
/// Kinds of links with the lengths of their addresses, bytes (`ARPHRD_ETHER`, `ARPHRD_INFINIBAND`).
const LINKS: [(i64, i64); 2] = [(1, 6), (32, 20)];

/// An address of version 6 that has one of version 4 in it.
const HAS_VERSION_4: &str = "((unsigned long *)__at)[0] == 0 && ((unsigned short *)__at)[4] == 0 \
     && (((unsigned short *)__at)[5] == 0xffff || (((unsigned short *)__at)[5] == 0 && ((unsigned short *)__at)[6] != 0))";

/// `inet_ntop(family, address)`.
pub fn inet_ntop(c: &mut Checker<'_>, mut arguments: Vec<Value>, span: Span) -> Value {
    let pointer = arguments.remove(1);
    let family = arguments.remove(0);
    match family.e.as_int() {
        Some(family @ (AF_INET | AF_INET6)) => return network_address(c, family as i64, pointer),
        Some(other) => {
            return c.wrong(tags::D_PROTO_ARG, span, format!("inet_ntop( ) of the address family {other}"));
        }
        None => {}
    }
    let mut out = Vec::new();
    let family = c.kept(cast(word(family.e), &Type::I64), &mut out);
    let is_family = |n: u64| is(family.clone(), n as i64);
    let known = or(is_family(AF_INET), is_family(AF_INET6));
    let unknown = not(known);
    out.push(scratch::fault_if(unknown, scratch::ILLEGAL, span));
    let pointer = kept_pointer(c, pointer, &mut out);
    let (v4, v6) = (network_address(c, AF_INET as i64, pointer.clone()), network_address(c, AF_INET6 as i64, pointer));
    Value::new(block(out, choose(is_family(AF_INET), v4.e, v6.e)))
}

/// A pointer as a value that can be used several times.
fn kept_pointer(c: &mut Checker<'_>, pointer: Value, out: &mut Vec<Statement>) -> Value {
    let word = match pointer.ty() {
        Type::Array { .. } => decay(pointer),
        _ => pointer.e,
    };
    let kept = c.kept(cast(cast(word, &Type::U64), &byte_pointer()), out);
    Value::new(kept)
}

/// `inet_ntoa6(address[, strict])`: what has an address of version 4 in it is shown as that, unless strictly read.
pub fn inet_ntoa6(c: &mut Checker<'_>, mut arguments: Vec<Value>, span: Span) -> Value {
    let strict = if arguments.len() > 1 { Some(arguments.remove(1)) } else { None };
    let strict = match strict.as_ref().map(|value| value.e.as_int()) {
        Some(None) => {
            let message = "inet_ntoa6( ) argument #2 is incompatible with prototype:\n\tprototype: integer constant";
            return c.wrong(tags::D_PROTO_ARG, span, message);
        }
        given => given.flatten().unwrap_or(0) != 0,
    };
    let pointer = arguments.remove(0);
    let fits = match pointer.ty() {
        Type::Ptr { to, .. } => matches!(**to, Type::Struct(_) | Type::Void | Type::Array { .. }),
        other => matches!(other, Type::Array { .. }) || pointer.e.as_int() == Some(0),
    };
    if !fits {
        prototypes::mismatch(c, "inet_ntoa6( )", 1, "struct in6_addr *", &pointer, span);
        return error_value(span);
    }
    if strict {
        return network_address(c, AF_INET6 as i64, pointer);
    }
    let mut out = Vec::new();
    let pointer = kept_pointer(c, pointer, &mut out);
    let embedded = c.snippet("int", HAS_VERSION_4, &[("__at", pointer.e.clone())], span);
    let last = c.snippet("uint64_t", "(unsigned long)__at + 12", &[("__at", pointer.e.clone())], span);
    let last = Value::new(cast(last.e, &byte_pointer()));
    let (v4, v6) = (network_address(c, AF_INET as i64, last), network_address(c, AF_INET6 as i64, pointer));
    Value::new(block(out, choose(embedded.e, v4.e, v6.e)))
}

/// `link_ntop(kind, address)`: bytes in hexadecimal with colons between.
pub fn link_ntop(c: &mut Checker<'_>, mut arguments: Vec<Value>, span: Span) -> Value {
    let mut out = Vec::new();
    let pointer = arguments.remove(1);
    let kind = c.kept(cast(word(arguments.remove(0).e), &Type::I64), &mut out);
    let length = c.local("%length", Type::I64);
    let lengths = LINKS
        .iter()
        .fold(int64(0, span), |rest, (link, bytes)| choose(is(kind.clone(), *link), int64(*bytes, span), rest));
    out.push(set(length, lengths));
    out.push(scratch::fault_if(is(read(length, span), 0), scratch::ILLEGAL, span));
    let array = |len| Type::Array { of: Arc::new(BYTE), len };
    let (bytes, text) = (c.local("%link", array(64)), c.local("%address", array(256)));
    let pointer = kept_pointer(c, pointer, &mut out);
    let from = c.checked_pointer(pointer.e);
    out.push(copy_into(bytes, int64(0, span), from, read(length, span), span));
    let (at, byte) = (c.local("%at", Type::I64), c.local("%byte", Type::I64));
    let place_of = |more| plus(binary(BinaryOp::Mul, read(at, span), int64(3, span)), more);
    let digit = |shift| {
        let nibble = binary(BinaryOp::Shr, read(byte, span), int64(shift, span));
        let nibble = binary(BinaryOp::BitAnd, nibble, int64(15, span));
        let small = less(nibble.clone(), int64(10, span));
        let base = choose(small, int64(i64::from(b'0'), span), int64(i64::from(b'a') - 10, span));
        add(nibble, base)
    };
    let body = vec![
        when(binary(BinaryOp::Ge, read(at, span), read(length, span)), vec![leave(span)]),
        set(byte, byte_at(bytes, read(at, span))),
        put(text, place_of(0), digit(4)),
        put(text, place_of(1), digit(0)),
        put(text, place_of(2), int64(i64::from(b':'), span)),
    ];
    out.push(each(at, 20, span, body));
    let end = binary(BinaryOp::Mul, read(length, span), int64(3, span));
    out.push(put(text, sub(end, int64(1, span)), int64(0, span)));
    let shown = text_bytes::text_in(c, text, None, span);
    Value::new(block(out, shown))
}

/// An address as text by its family: 2 for IPv4, 10 for IPv6.
pub fn network_address(c: &mut Checker<'_>, family: i64, pointer: Value) -> Value {
    let span = pointer.span();
    let byte = Arc::new(Type::Int { size: 1, signed: false });
    let to = if family == 2 { Type::U32 } else { Type::Array { of: byte, len: 16 } };
    let space = AddressSpace::Kernel;
    let word = match pointer.ty() {
        Type::Array { .. } => decay(pointer),
        _ => pointer.e,
    };
    let at = c.checked_pointer(cast(cast(word, &Type::U64), &Type::Ptr { to: Arc::new(to.clone()), space }));
    let place = Expr::new(ExprKind::Deref(Box::new(at)), to, span);
    Value::new(address_text(family, place))
}

pub fn address_text(family: i64, bytes: Expr) -> Expr {
    let span = bytes.span;
    call(Intrinsic::Ntop, vec![int64(family, span), bytes], Type::Inet, span)
}
