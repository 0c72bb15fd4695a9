//! Parts of texts, and addresses as text.

use std::sync::Arc;

use super::checker::Checker;
use super::value::{Value, block, cast, decay, int, statement};
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, ExprKind, Intrinsic, Statement, StatementKind};
use crate::lang::types::{AddressSpace, Type};

fn binary(op: BinaryOp, a: Expr, b: Expr, ty: Type) -> Expr {
    let span = a.span;
    Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
}

fn sum(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Add, a, b, Type::I64)
}

fn less(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Lt, a, b, Type::Bool)
}

fn pick(condition: Expr, a: Expr, b: Expr) -> Expr {
    let (ty, span) = (a.ty.clone(), a.span);
    Expr::new(ExprKind::Conditional(Box::new(condition), Box::new(a), Box::new(b)), ty, span)
}

/// Keeps a value in a variable of its own, even a constant: it has an address then.
fn placed(c: &mut Checker<'_>, e: Expr, out: &mut Vec<Statement>) -> Expr {
    let (span, ty) = (e.span, e.ty.clone());
    let local = c.local("%text", ty.clone());
    out.push(statement(StatementKind::SetLocal(local, e), span));
    Expr::new(ExprKind::Local(local), ty, span)
}

fn named(c: &mut Checker<'_>, e: Expr, out: &mut Vec<Statement>) -> Expr {
    let (statements, kept) = c.kept(e);
    out.extend(statements);
    kept
}

/// The text from a place on, for a length; `begin` and `end` are inside of it.
pub fn between(c: &Checker<'_>, text: &Expr, begin: &Expr, end: &Expr) -> Expr {
    let (span, string) = (text.span, c.string());
    let char_ = Arc::new(Type::Int { size: 1, signed: true });
    let pointer = Type::Ptr { to: Arc::clone(&char_), space: AddressSpace::Kernel };
    let address = Expr::new(ExprKind::AddressOf(Box::new(text.clone())), pointer.clone(), span);
    let address = binary(BinaryOp::Add, cast(address, &Type::U64), cast(begin.clone(), &Type::U64), Type::U64);
    let length = binary(BinaryOp::Sub, end.clone(), begin.clone(), Type::I64);
    let length = cast(sum(length, int(1, Type::I64, span)), &Type::U64);
    let part = Expr::new(ExprKind::Call(Intrinsic::Str, vec![cast(address, &pointer), length]), string.clone(), span);
    let nothing = Expr::new(ExprKind::Str("".into()), string, span);
    pick(less(begin.clone(), end.clone()), part, nothing)
}

/// `substr(text, from[, length])`: negative numbers count from the end.
pub fn substr(c: &mut Checker<'_>, mut arguments: Vec<Value>, span: Span) -> Value {
    let mut out = Vec::new();
    let length = (arguments.len() > 2).then(|| arguments.remove(2).e);
    let from = cast(arguments.remove(1).e, &Type::I64);
    let text = c.text(arguments.remove(0).e);
    let text = placed(c, text, &mut out);
    let from = named(c, from, &mut out);
    let zero = || int(0, Type::I64, span);
    let size = Expr::new(ExprKind::Call(Intrinsic::StrLen, vec![text.clone()]), Type::U64, span);
    let size = named(c, cast(size, &Type::I64), &mut out);
    let begin = pick(less(from.clone(), zero()), sum(size.clone(), from.clone()), from);
    let begin = named(c, begin, &mut out);
    let end = match length {
        None => size.clone(),
        Some(length) => {
            let length = named(c, cast(length, &Type::I64), &mut out);
            let from_end = sum(size.clone(), length.clone());
            let end = pick(less(length.clone(), zero()), from_end, sum(begin.clone(), length));
            let end = named(c, end, &mut out);
            pick(less(size.clone(), end.clone()), size.clone(), end)
        }
    };
    let end = named(c, end, &mut out);
    let begin = named(c, pick(less(begin.clone(), zero()), zero(), begin), &mut out);
    let part = between(c, &text, &begin, &end);
    Value::new(block(out, part))
}

/// `text + n`: the text from its character n on.
pub fn text_after(c: &mut Checker<'_>, text: Expr, number: Expr, span: Span) -> Value {
    let mut out = Vec::new();
    let text = c.text(text);
    let text = placed(c, text, &mut out);
    let number = named(c, cast(number, &Type::I64), &mut out);
    let size = Expr::new(ExprKind::Call(Intrinsic::StrLen, vec![text.clone()]), Type::U64, span);
    let size = named(c, cast(size, &Type::I64), &mut out);
    let outside = ExprKind::Or(
        Box::new(less(number.clone(), int(0, Type::I64, span))),
        Box::new(less(size.clone(), number.clone())),
    );
    let begin = named(c, pick(Expr::new(outside, Type::Bool, span), size.clone(), number), &mut out);
    let part = between(c, &text, &begin, &size);
    Value::new(block(out, part))
}

/// `strstr(text, part)` and `strchr(text, c)`: the text from there on, empty where it is not.
pub fn text_from(c: &mut Checker<'_>, text: Expr, part: Expr, span: Span) -> Value {
    let mut out = Vec::new();
    let text = c.text(text);
    let text = placed(c, text, &mut out);
    let at = Expr::new(ExprKind::Call(Intrinsic::StrStr, vec![text.clone(), part]), Type::I64, span);
    let at = named(c, at, &mut out);
    let size = Expr::new(ExprKind::Call(Intrinsic::StrLen, vec![text.clone()]), Type::U64, span);
    let size = named(c, cast(size, &Type::I64), &mut out);
    let nowhere = less(at.clone(), int(0, Type::I64, span));
    let begin = named(c, pick(nowhere, size.clone(), at), &mut out);
    let part = between(c, &text, &begin, &size);
    Value::new(block(out, part))
}

/// A text of one character, where that is known before.
pub fn one_character(c: &Checker<'_>, value: &Value) -> Option<Expr> {
    let character = char::from_u32((value.e.as_int()? & 0x7f) as u32).filter(|character| *character != '\0')?;
    Some(Expr::new(ExprKind::Str(character.to_string().into()), c.string(), value.span()))
}

/// `index(text, part)`.
pub fn index_of(c: &mut Checker<'_>, text: Expr, part: Expr, span: Span) -> Value {
    let mut out = Vec::new();
    let at = Expr::new(ExprKind::Call(Intrinsic::StrStr, vec![text, part]), Type::I64, span);
    let at = named(c, at, &mut out);
    // Where it is not found, the kernel's own search gives the number of an error.
    let nowhere = less(at.clone(), int(0, Type::I64, span));
    let found = pick(nowhere, int(-1, Type::I64, span), at);
    Value::new(cast(block(out, found), &Type::I32))
}

/// `index(text, part, from)`.
pub fn index_from(c: &mut Checker<'_>, mut arguments: Vec<Value>, span: Span) -> Value {
    let mut out = Vec::new();
    let from = cast(arguments.remove(2).e, &Type::I64);
    let part = c.text(arguments.remove(1).e);
    let text = c.text(arguments.remove(0).e);
    let text = placed(c, text, &mut out);
    let part = named(c, part, &mut out);
    let zero = || int(0, Type::I64, span);
    let size = Expr::new(ExprKind::Call(Intrinsic::StrLen, vec![text.clone()]), Type::U64, span);
    let size = named(c, cast(size, &Type::I64), &mut out);
    let from = named(c, from, &mut out);
    let from = named(c, pick(less(from.clone(), zero()), zero(), from), &mut out);
    let begin = named(c, pick(less(size.clone(), from.clone()), size.clone(), from), &mut out);
    let rest = between(c, &text, &begin, &size);
    let rest = placed(c, rest, &mut out);
    let at = Expr::new(ExprKind::Call(Intrinsic::StrStr, vec![rest, part]), Type::I64, span);
    let at = named(c, at, &mut out);
    let found = pick(less(at.clone(), zero()), int(-1, Type::I64, span), sum(at, begin));
    Value::new(cast(block(out, found), &Type::I32))
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

/// Bytes of an address as text.
pub fn address_text(family: i64, bytes: Expr) -> Expr {
    let span = bytes.span;
    Expr::new(ExprKind::Call(Intrinsic::Ntop, vec![int(family, Type::I64, span), bytes]), Type::Inet, span)
}
