//! Addresses of networks and links as text, and what is asked of processes and locks.

use std::sync::Arc;

use super::checker::Checker;
use super::code::{
    BYTE, CHAR, add, binary, block, byte_at, byte_pointer, call, cast, choose, copy_into, each, equal, int, int64, is,
    leave, less, not, or, plus, pointer, put, read, set, sub, when,
};
use super::value::{Value, decay, error_value, is_int, word};
use super::{paths, prototypes, scratch, strings};
use crate::lang::codes::d as tags;
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, Intrinsic, Statement};
use crate::lang::types::{AddressSpace, Type};

const AF_INET: u64 = 2;
const AF_INET6: u64 = 10;
/// Kinds of links with the lengths of their addresses, bytes (`ARPHRD_ETHER`, `ARPHRD_INFINIBAND`).
const LINKS: [(i64, i64); 2] = [(1, 6), (32, 20)];
/// Parents that are looked at before a process is said to descend from none.
const MOST_PARENTS: i64 = 256;

/// An address of version 6 that has one of version 4 in it.
const HAS_VERSION_4: &str = "((unsigned long *)__at)[0] == 0 && ((unsigned short *)__at)[4] == 0 \
     && (((unsigned short *)__at)[5] == 0xffff || (((unsigned short *)__at)[5] == 0 && ((unsigned short *)__at)[6] != 0))";

/// `inet_ntop(family, address)`.
pub fn inet_ntop(c: &mut Checker<'_>, mut arguments: Vec<Value>, span: Span) -> Value {
    let pointer = arguments.remove(1);
    let family = arguments.remove(0);
    match family.e.as_int() {
        Some(family @ (AF_INET | AF_INET6)) => return strings::network_address(c, family as i64, pointer),
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
    let (v4, v6) = (
        strings::network_address(c, AF_INET as i64, pointer.clone()),
        strings::network_address(c, AF_INET6 as i64, pointer),
    );
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
        other => matches!(other, Type::Array { .. }),
    };
    if !fits {
        prototypes::mismatch(c, "inet_ntoa6( )", 1, "struct in6_addr *", &pointer, span);
        return error_value(span);
    }
    if strict {
        return strings::network_address(c, AF_INET6 as i64, pointer);
    }
    let mut out = Vec::new();
    let pointer = kept_pointer(c, pointer, &mut out);
    let embedded = c.snippet("int", HAS_VERSION_4, &[("__at", pointer.e.clone())], span);
    let last = c.snippet("uint64_t", "(unsigned long)__at + 12", &[("__at", pointer.e.clone())], span);
    let last = Value::new(cast(last.e, &byte_pointer()));
    let (v4, v6) =
        (strings::network_address(c, AF_INET as i64, last), strings::network_address(c, AF_INET6 as i64, pointer));
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
    let shown = paths::text_in(c, text, None, span);
    Value::new(block(out, shown))
}

/// `progenyof(pid)`: whether the process that runs is that one or descends from it.
pub fn progenyof(c: &mut Checker<'_>, pid: Value, span: Span) -> Value {
    let mut out = Vec::new();
    let pid = c.kept(cast(cast(pid.e, &Type::I32), &Type::I64), &mut out);
    let found = c.local("%found", Type::I64);
    let (task, next, step) = (c.local("%task", Type::I64), c.local("%next", Type::I64), c.local("%step", Type::I64));
    out.push(set(found, int64(0, span)));
    let own = c.of_row("uint64_t", "(unsigned long)curthread", span).e;
    out.push(set(task, cast(own, &Type::I64)));
    let of_task = [("__task", cast(read(task, span), &Type::U64))];
    let id = c.snippet("int", "((struct task_struct *)__task)->tgid", &of_task, span).e;
    let parent = "(unsigned long)((struct task_struct *)__task)->real_parent";
    let parent = c.snippet("uint64_t", parent, &of_task, span).e;
    let same = equal(cast(id, &Type::I64), pid);
    let body = vec![
        when(same, vec![set(found, int64(1, span)), leave(span)]),
        set(next, cast(parent, &Type::I64)),
        when(equal(read(next, span), read(task, span)), vec![leave(span)]),
        set(task, read(next, span)),
    ];
    out.push(each(step, MOST_PARENTS, span, body));
    Value::new(cast(block(out, read(found, span)), &Type::I32))
}

/// What is asked of a mutex or a lock of readers and writers.
pub fn lock(c: &mut Checker<'_>, name: &str, lock: Value, span: Span) -> Value {
    let (ty, text) = match name {
        "mutex_owned" => ("int", "(((struct mutex *)__lock)->owner.counter & ~7) == (long)curthread"),
        "mutex_owner" => ("uint64_t", "((struct mutex *)__lock)->owner.counter & ~7"),
        // All mutexes of Linux are adaptive.
        "mutex_type_adaptive" => ("int", "1"),
        "mutex_type_spin" => ("int", "0"),
        // Both kinds of such locks begin with one word: readers count from bit 9 on, a writer fills the lowest byte.
        "rw_read_held" => ("int", "(*(unsigned int *)__lock & ~0x1ff) != 0"),
        "rw_write_held" => ("int", "(*(unsigned int *)__lock & 0xff) == 0xff"),
        _ => ("int", "(*(unsigned int *)__lock & 0x1ff) != 0"),
    };
    let lock = cast(word(lock.e), &Type::U64);
    c.snippet(ty, text, &[("__lock", lock)], span)
}

/// The bytes that lie at an address, a number of them that is known.
pub fn bytes_at(c: &mut Checker<'_>, pointer: Expr, size: u32, length: Option<Expr>) -> Expr {
    let span = pointer.span;
    let at = c.checked_pointer(cast(cast(pointer, &Type::U64), &byte_pointer()));
    let mut arguments = vec![at];
    arguments.extend(length);
    call(Intrinsic::Buf, arguments, Type::Buf { size }, span)
}

/// `copyinstr(address[, size])`: text with its end.
pub fn copyinstr(c: &mut Checker<'_>, mut arguments: Vec<Value>) -> Value {
    let size = (arguments.len() > 1).then(|| arguments.remove(1));
    let value = arguments.remove(0);
    let span = value.span();
    let most = i64::from(c.options.strsize);
    let size = match size {
        Some(size) => {
            let word = cast(word(size.e), &Type::U64);
            match word.as_int() {
                Some(known) => int((known as i64).clamp(1, most), Type::U64, span),
                None => word,
            }
        }
        None => int(most, Type::U64, span),
    };
    let at = c.checked_pointer(cast(word(value.e), &pointer(CHAR, AddressSpace::User)));
    Value::new(call(Intrinsic::Str, vec![at, size], c.string(), span))
}

/// `rindex(text, part[, from])`: where a part of a text begins last.
pub fn last_index(c: &mut Checker<'_>, mut arguments: Vec<Value>, span: Span) -> Value {
    let mut out = Vec::new();
    let from = (arguments.len() > 2).then(|| arguments.remove(2));
    let part = paths::bytes_of(c, arguments.remove(1).e, &mut out);
    let text = paths::bytes_of(c, arguments.remove(0).e, &mut out);
    let length = |e: &Expr| cast(call(Intrinsic::StrLen, vec![e.clone()], Type::U64, span), &Type::I64);
    let last = c.local("%last", Type::I64);
    out.push(set(last, sub(length(&text.text), length(&part.text))));
    if let Some(from) = from.filter(|from| is_int(from.ty())) {
        let from = c.kept(cast(cast(from.e, &Type::I32), &Type::I64), &mut out);
        let earlier = less(from.clone(), read(last, span));
        out.push(set(last, choose(earlier, from, read(last, span))));
    }
    let found = c.local("%found", Type::I64);
    out.push(set(found, int64(-1, span)));
    let (at, inner, byte) = (c.local("%at", Type::I64), c.local("%inner", Type::I64), c.local("%byte", Type::I64));
    let other = byte_at(text.bytes, add(read(at, span), read(inner, span)));
    let compared = vec![
        set(byte, byte_at(part.bytes, read(inner, span))),
        when(is(read(byte, span), 0), vec![set(found, read(at, span)), leave(span)]),
        when(binary(BinaryOp::Ne, read(byte, span), other), vec![leave(span)]),
    ];
    let body = vec![
        when(binary(BinaryOp::Gt, read(at, span), read(last, span)), vec![leave(span)]),
        each(inner, paths::most_bytes(&c.options), span, compared),
    ];
    out.push(each(at, paths::most_bytes(&c.options), span, body));
    Value::new(cast(block(out, read(found, span)), &Type::I32))
}
