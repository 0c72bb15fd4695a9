//! Functions that make or compare text and bytes.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::codes::check::{ARGUMENT_TYPE, OUT_OF_RANGE};
use crate::lang::typed::{Builtin, Clock, Expr, ExprKind, Intrinsic, WORDS_BYTES};
use crate::lang::types::Type;
use crate::model::bytes::{bytes_of, hold};

use crate::lang::bt::check::calls::intrinsic;
use crate::lang::bt::check::calls::intrinsic::Call;
use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::literal::{as_text, boolean, constant, convert_scalar, pointer, string};
use crate::lang::bt::check::place::space;
use crate::lang::bt::check::place::space::{is_place, space_of};
use crate::lang::bt::check::{absent, calls, type_text};

/// Longest string or buffer that a script may ask for, bytes.
const MAX_BYTES: u64 = 1 << 20;

/// `str(p[, n])`.
pub fn str_(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    if let Some(number) = literal_number(&call.args[0]) {
        // A number that the script names, as a parameter may be one: its digits.
        return string(&number.to_string().into(), call.span);
    }
    let value = as_text(c.value(&call.args[0]));
    let (size, length) = length(c, call, true);
    match &value.ty {
        Type::Error => value,
        Type::Str { .. } => beginning(value, size, length, call),
        Type::Array { of, len } if c.size_of(of) == 1 => {
            let size = (*len).min(if call.args.len() > 1 { size } else { *len });
            Expr::new(ExprKind::Cast(Box::new(value)), Type::Str { size }, call.span)
        }
        t if t.is_scalar() => {
            let space = space::of_address(c, t);
            let address = convert_scalar(value, &pointer(Type::Int { size: 1, signed: true }, space));
            let args = std::iter::once(address).chain(length).collect();
            intrinsic::intrinsic(Intrinsic::Str, args, Type::Str { size }, call)
        }
        other => {
            let text = type_text::text(&c.types, other);
            intrinsic::bad_argument(c, call, call.args[0].span, "an address", &text)
        }
    }
}

/// `cmdline(address, length)`.
pub fn cmdline(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let address = calls::integer_argument(c, call, 0);
    let length = calls::integer_argument(c, call, 1);
    let args = vec![convert_scalar(address, &Type::U64), convert_scalar(length, &Type::U64)];
    intrinsic::intrinsic(Intrinsic::Words, args, Type::Str { size: WORDS_BYTES }, call)
}

/// The number of an integer literal, a negative one included.
fn literal_number(e: &ast::Expr) -> Option<i128> {
    match &e.kind {
        ast::ExprKind::Int(n) => Some(i128::from(*n)),
        ast::ExprKind::Unary(ast::UnaryOp::Neg, inner) => literal_number(inner).map(|n| -n),
        _ => None,
    }
}

/// The size that a second argument asks for, and the argument itself: for text always, since it
/// counts the terminator and the size has room for one more; for bytes when it is not constant.
fn length(c: &mut Checker<'_>, call: Call<'_>, text: bool) -> (u32, Option<Expr>) {
    let default = c.config.max_strlen + u32::from(text);
    if call.args.len() < 2 {
        return (default, None);
    }
    let length = calls::integer_argument(c, call, 1);
    match length.as_int().filter(|_| !matches!(length.ty, Type::Error)) {
        Some(n) if n > MAX_BYTES => {
            c.error(OUT_OF_RANGE, length.span, format!("the length must be from 0 to {MAX_BYTES}"));
            (default, None)
        }
        Some(n) if text => {
            if n > u64::from(c.config.max_strlen) {
                let most = c.config.max_strlen;
                let message = format!("the length {n} is over the longest text, {most} bytes: what is longer is cut");
                let help = format!("write `config = {{ max_strlen = {n} }}` for longer ones");
                c.warn(OUT_OF_RANGE, length.span, message, Some(help));
            }
            ((n as u32 + 1).min(default), Some(convert_scalar(length, &Type::U64)))
        }
        Some(n) => (n as u32, None),
        None => (default, Some(convert_scalar(length, &Type::U64))),
    }
}

/// The beginning of a text. The length counts the terminator, as it does where text is read, but not for
/// text that is known before the start.
fn beginning(value: Expr, size: u32, length: Option<Expr>, call: Call<'_>) -> Expr {
    let Type::Str { size: have } = value.ty else { return value };
    let size = size.min(have);
    match (length, &value.kind) {
        (Some(length), ExprKind::Str(text)) if length.as_int().is_some_and(|n| n < u64::from(have)) => {
            let bytes = &bytes_of(text)[..size as usize - 1];
            string(&hold(bytes, None).into(), call.span)
        }
        (Some(length), _) if length.as_int().is_none_or(|n| n < u64::from(have)) => {
            intrinsic::intrinsic(Intrinsic::Str, vec![value, length], Type::Str { size }, call)
        }
        _ if size < have => Expr::new(ExprKind::Cast(Box::new(value)), Type::Str { size }, call.span),
        _ => Expr { span: call.span, ..value },
    }
}

fn text_argument(c: &mut Checker<'_>, call: Call<'_>, n: usize) -> Expr {
    let value = as_text(c.value(&call.args[n]));
    match &value.ty {
        Type::Str { .. } | Type::Error => value,
        Type::Array { of, len } if c.size_of(of) == 1 => {
            let (span, size) = (value.span, *len);
            Expr::new(ExprKind::Cast(Box::new(value)), Type::Str { size }, span)
        }
        other => {
            let text = type_text::text(&c.types, other);
            c.error_help(
                ARGUMENT_TYPE,
                value.span,
                format!("`{}` takes a string here, this is {text}", call.name.text),
                other.is_scalar().then(|| "turn an address into text with `str(...)`".to_owned()),
            );
            Checker::error_value(value.span)
        }
    }
}

fn named_number(c: &mut Checker<'_>, call: Call<'_>, ty: &Type) -> Expr {
    let value = calls::integer_argument(c, call, 0);
    let span = call.span;
    if matches!(value.ty, Type::Error) {
        return value;
    }
    Expr::new(ExprKind::Cast(Box::new(convert_scalar(value, &Type::U64))), ty.clone(), span)
}

/// `buf(x[, n])`.
pub fn buf(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let value = match &call.args[0].kind {
        // Bytes do not end at the first zero, as text does.
        ast::ExprKind::Str(bytes) => string(bytes, call.args[0].span),
        _ => c.value(&call.args[0]),
    };
    let (size, length) = length(c, call, false);
    let size = match &value.ty {
        Type::Error => return value,
        Type::Array { .. } | Type::Str { .. } | Type::Struct(_) if call.args.len() < 2 => c.size_of(&value.ty),
        _ => size,
    };
    let value = match &value.ty {
        Type::Array { .. } | Type::Str { .. } | Type::Struct(_) => value,
        t if t.is_scalar() => {
            let space = space::of_address(c, t);
            convert_scalar(value, &pointer(Type::Int { size: 1, signed: false }, space))
        }
        other => {
            let text = type_text::text(&c.types, other);
            return intrinsic::bad_argument(c, call, call.args[0].span, "an address or an array", &text);
        }
    };
    let args = std::iter::once(value).chain(length).collect();
    intrinsic::intrinsic(Intrinsic::Buf, args, Type::Buf { size }, call)
}

/// `path(p[, n])`.
pub fn path(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    use crate::lang::bt::check::frame::Kind;
    let value = c.value(&call.args[0]);
    let (size, _) = length(c, call, false);
    if !matches!(c.frame.kind, Kind::Fentry | Kind::Fexit | Kind::Iter) {
        return absent::not_here(
            c,
            "path",
            call.span,
            Some("the kernel allows it in fentry, fexit and iter probes only"),
        );
    }
    let value = match &value.ty {
        Type::Error => return value,
        Type::Ptr { .. } => value,
        Type::Struct(_) if is_place(&value) => {
            let space = space_of(&value).unwrap_or(space::default_space(c));
            let (ty, span) = (pointer(value.ty.clone(), space), value.span);
            Expr::new(ExprKind::AddressOf(Box::new(value)), ty, span)
        }
        other => {
            let text = type_text::text(&c.types, other);
            return intrinsic::bad_argument(c, call, call.args[0].span, "a `struct path`", &text);
        }
    };
    intrinsic::intrinsic(Intrinsic::Path, vec![value], Type::Str { size }, call)
}

pub fn strlen(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let value = text_argument(c, call, 0);
    if let ExprKind::Str(s) = &value.kind {
        return Expr::new(ExprKind::Int(bytes_of(s).len() as u64), Type::U64, call.span);
    }
    intrinsic::intrinsic(Intrinsic::StrLen, vec![value], Type::U64, call)
}

pub fn strcap(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let value = text_argument(c, call, 0);
    let size = c.size_of(&value.ty);
    Expr::new(ExprKind::Int(u64::from(size)), Type::U64, call.span)
}

pub fn strstr(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let (a, b) = (text_argument(c, call, 0), text_argument(c, call, 1));
    intrinsic::intrinsic(Intrinsic::StrStr, vec![a, b], Type::I64, call)
}

pub fn strcontains(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let (a, b) = (text_argument(c, call, 0), text_argument(c, call, 1));
    if let (ExprKind::Str(a), ExprKind::Str(b)) = (&a.kind, &b.kind) {
        let (a, b) = (bytes_of(a), bytes_of(b));
        let contains = b.is_empty() || a.windows(b.len()).any(|part| part == &*b);
        return boolean(contains, call.span);
    }
    intrinsic::intrinsic(Intrinsic::StrContains, vec![a, b], Type::Bool, call)
}

pub fn concat(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let (a, b) = (text_argument(c, call, 0), text_argument(c, call, 1));
    // As long as strings get: a variable that is made longer again and again has one type.
    let both = c.size_of(&a.ty).saturating_add(c.size_of(&b.ty)).saturating_sub(1).max(1);
    let literals = [&a, &b].iter().all(|e| matches!(e.kind, ExprKind::Str(_)));
    // What fills them has been cut, and is marked so where it is printed.
    let ty = Type::Str { size: if literals { both } else { c.config.max_strlen + 1 } };
    if [&a, &b].iter().any(|e| matches!(e.ty, Type::Error)) {
        // `@s = str_concat(@s, "x")` tells that the map holds text: the type does not wait for the operands'.
        let text = string(&"".into(), call.span);
        return Expr::new(ExprKind::Cast(Box::new(text)), ty, call.span);
    }
    intrinsic::intrinsic(Intrinsic::StrConcat, vec![a, b], ty, call)
}

/// `strncmp(a, b, n)`: 0 when the first `n` bytes are equal.
pub fn strncmp(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let (a, b) = (text_argument(c, call, 0), text_argument(c, call, 1));
    let Some(n) = calls::literal_argument(c, call, 2) else { return Checker::error_value(call.span) };
    if n < 0 {
        return c.error_expr(OUT_OF_RANGE, call.span, "Builtin strncmp requires a non-negative literal");
    }
    let n = Expr::new(ExprKind::Int(n as u64), Type::U64, call.args[2].span);
    intrinsic::intrinsic(Intrinsic::StrNCmp, vec![a, b, n], Type::U64, call)
}

pub fn memcmp(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let (a, b) = (c.value(&call.args[0]), c.value(&call.args[1]));
    let n = convert_scalar(calls::integer_argument(c, call, 2), &Type::U64);
    intrinsic::intrinsic(Intrinsic::MemCmp, vec![a, b, n], Type::I64, call)
}

pub fn strerror(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    named_number(c, call, &Type::Strerror)
}

pub fn signal_name(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    named_number(c, call, &Type::SignalName)
}

pub fn syscall_name(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    named_number(c, call, &Type::SyscallName)
}

/// `strftime(format, ns)`: a time that is formatted when it is printed.
pub fn strftime(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let format = calls::string_argument(c, call, 0);
    let ns = calls::integer_argument(c, call, 1);
    let Some(format) = format else { return Checker::error_value(call.span) };
    let clock = match &ns.kind {
        ExprKind::Builtin(Builtin::Nsecs(Clock::Monotonic)) => 1,
        ExprKind::Builtin(Builtin::Nsecs(Clock::Tai | Clock::SoftwareTai)) => 2,
        _ => 0,
    };
    let index = Checker::intern(&mut c.time_formats, &format);
    let index = Expr::new(ExprKind::Int(index), Type::U64, call.span);
    let clock = Expr::new(ExprKind::Int(clock), Type::U64, call.span);
    let ns = convert_scalar(ns, &Type::U64);
    intrinsic::intrinsic(Intrinsic::Strftime, vec![index, ns, clock], Type::Timestamp, call)
}

/// `ntop([family,] address)`: always with a family for the back end.
pub fn ntop(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let (family, address) = match call.args {
        [address] => (None, c.value(address)),
        [_, address] => (Some(calls::integer_argument(c, call, 0)), c.value(address)),
        _ => return Checker::error_value(call.span),
    };
    let bytes = match &address.ty {
        Type::Error => return address,
        Type::Int { .. } | Type::Enum { .. } => 4,
        Type::Array { .. } | Type::Buf { .. } => c.size_of(&address.ty),
        Type::Str { size } => *size,
        // A struct or a pointer to one, as `struct in6_addr`, is taken by its bytes.
        Type::Struct(_) if is_place(&address) => c.size_of(&address.ty),
        other => {
            let text = type_text::text(&c.types, other);
            return intrinsic::bad_argument(c, call, address.span, "an address as integer or array", &text);
        }
    };
    if bytes != 4 && bytes != 16 {
        let message = format!("ntop() argument must be 4 or 16 bytes in size, this has {bytes}");
        return c.error_expr(ARGUMENT_TYPE, call.span, message);
    }
    let address = if address.ty.is_scalar() { convert_scalar(address, &Type::U32) } else { address };
    let family =
        family.map_or_else(|| constant(if bytes == 4 { 2 } else { 10 }, call.span), |f| convert_scalar(f, &Type::I64));
    intrinsic::intrinsic(Intrinsic::Ntop, vec![family, address], Type::Inet, call)
}

/// `pton("address")`: its bytes.
pub fn pton(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let Some(text) = calls::string_argument(c, call, 0) else { return Checker::error_value(call.span) };
    let bytes: Vec<u8> = if let Ok(v4) = text.parse::<Ipv4Addr>() {
        v4.octets().to_vec()
    } else if let Ok(v6) = text.parse::<Ipv6Addr>() {
        v6.octets().to_vec()
    } else {
        let message = format!("pton() expects a valid IPv4/IPv6 address, got {text}");
        return c.error_expr(ARGUMENT_TYPE, call.span, message);
    };
    let byte = Type::Int { size: 1, signed: false };
    let len = bytes.len() as u32;
    let items = bytes.iter().map(|b| Expr::new(ExprKind::Int(u64::from(*b)), byte.clone(), call.span)).collect();
    Expr::new(ExprKind::Tuple(items), Type::Array { of: Arc::new(byte), len }, call.span)
}

/// `macaddr(p)`.
pub fn macaddr(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    if matches!(call.args[0].kind, ast::ExprKind::Str(_)) {
        return c.error_expr(ARGUMENT_TYPE, call.span, "macaddr() does not support literal string arguments");
    }
    let value = c.value(&call.args[0]);
    let value = match &value.ty {
        Type::Error => return value,
        Type::Array { .. } | Type::Str { .. } if c.size_of(&value.ty) >= 6 => value,
        t if t.is_scalar() => {
            let space = space::of_address(c, t);
            convert_scalar(value, &pointer(Type::Int { size: 1, signed: false }, space))
        }
        other => {
            let text = type_text::text(&c.types, other);
            return intrinsic::bad_argument(c, call, call.args[0].span, "6 bytes or their address", &text);
        }
    };
    intrinsic::intrinsic(Intrinsic::MacAddr, vec![value], Type::Mac, call)
}
