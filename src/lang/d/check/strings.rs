//! Parts of texts, and what lies at an address as text or bytes.

use super::checker::Checker;
use super::code::{
    CHAR, add, address_of, block, byte_pointer, call, cast, choose, constant_text, int, int64, is_negative, less, plus,
    pointer, read_as, set, sub,
};
use super::value::{Value, word};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Intrinsic, Statement};
use crate::lang::types::{AddressSpace, Type};

/// Keeps a value in a variable of its own, even a constant: it has an address then.
fn placed(c: &mut Checker<'_>, e: Expr, out: &mut Vec<Statement>) -> Expr {
    let (span, ty) = (e.span, e.ty.clone());
    let local = c.local("%text", ty.clone());
    out.push(set(local, e));
    read_as(local, ty, span)
}

/// The text from a place on, for a length; `begin` and `end` are inside of it.
pub fn between(c: &Checker<'_>, text: &Expr, begin: &Expr, end: &Expr) -> Expr {
    let (span, string) = (text.span, c.string());
    let address = add(cast(address_of(text.clone()), &Type::U64), cast(begin.clone(), &Type::U64));
    let length = sub(end.clone(), begin.clone());
    let length = cast(plus(length, 1), &Type::U64);
    let part = call(Intrinsic::Str, vec![cast(address, &byte_pointer()), length], string.clone(), span);
    let nothing = constant_text("", string, span);
    choose(less(begin.clone(), end.clone()), part, nothing)
}

/// `substr(text, from[, length])`: negative numbers count from the end.
pub fn substr(c: &mut Checker<'_>, mut arguments: Vec<Value>, span: Span) -> Value {
    let mut out = Vec::new();
    let length = (arguments.len() > 2).then(|| arguments.remove(2).e);
    let from = cast(arguments.remove(1).e, &Type::I64);
    let text = c.text(arguments.remove(0).e);
    let text = placed(c, text, &mut out);
    let from = c.kept(from, &mut out);
    let zero = || int64(0, span);
    let size = call(Intrinsic::StrLen, vec![text.clone()], Type::U64, span);
    let size = c.kept(cast(size, &Type::I64), &mut out);
    let begin = choose(less(from.clone(), zero()), add(size.clone(), from.clone()), from);
    let begin = c.kept(begin, &mut out);
    let end = match length {
        None => size.clone(),
        Some(length) => {
            let length = c.kept(cast(length, &Type::I64), &mut out);
            let from_end = add(size.clone(), length.clone());
            let end = choose(less(length.clone(), zero()), from_end, add(begin.clone(), length));
            let end = c.kept(end, &mut out);
            choose(less(size.clone(), end.clone()), size.clone(), end)
        }
    };
    let end = c.kept(end, &mut out);
    let begin = c.kept(choose(less(begin.clone(), zero()), zero(), begin), &mut out);
    let part = between(c, &text, &begin, &end);
    Value::new(block(out, part))
}

/// `text + n`: the text from its character n on.
pub fn text_after(c: &mut Checker<'_>, text: Expr, number: Expr, span: Span) -> Value {
    let mut out = Vec::new();
    let text = c.text(text);
    let text = placed(c, text, &mut out);
    let number = c.kept(cast(number, &Type::I64), &mut out);
    let size = call(Intrinsic::StrLen, vec![text.clone()], Type::U64, span);
    let size = c.kept(cast(size, &Type::I64), &mut out);
    let outside = ExprKind::Or(Box::new(is_negative(number.clone())), Box::new(less(size.clone(), number.clone())));
    let begin = c.kept(choose(Expr::new(outside, Type::Bool, span), size.clone(), number), &mut out);
    let part = between(c, &text, &begin, &size);
    Value::new(block(out, part))
}

/// `strstr(text, part)` and `strchr(text, c)`: the text from there on, empty where it is not.
pub fn text_from(c: &mut Checker<'_>, text: Expr, part: Expr, span: Span) -> Value {
    let mut out = Vec::new();
    let text = c.text(text);
    let text = placed(c, text, &mut out);
    let at = call(Intrinsic::StrStr, vec![text.clone(), part], Type::I64, span);
    let at = c.kept(at, &mut out);
    let size = call(Intrinsic::StrLen, vec![text.clone()], Type::U64, span);
    let size = c.kept(cast(size, &Type::I64), &mut out);
    let nowhere = is_negative(at.clone());
    let begin = c.kept(choose(nowhere, size.clone(), at), &mut out);
    let part = between(c, &text, &begin, &size);
    Value::new(block(out, part))
}

/// A text of one character, where that is known before.
pub fn one_character(c: &Checker<'_>, value: &Value) -> Option<Expr> {
    let character = char::from_u32((value.e.as_int()? & 0x7f) as u32).filter(|character| *character != '\0')?;
    Some(constant_text(&character.to_string(), c.string(), value.span()))
}

/// `index(text, part)`.
pub fn index_of(c: &mut Checker<'_>, text: Expr, part: Expr, span: Span) -> Value {
    let mut out = Vec::new();
    let at = call(Intrinsic::StrStr, vec![text, part], Type::I64, span);
    let at = c.kept(at, &mut out);
    // Where it is not found, the kernel's own search gives the number of an error.
    let nowhere = is_negative(at.clone());
    let found = choose(nowhere, int64(-1, span), at);
    Value::new(cast(block(out, found), &Type::I32))
}

/// `index(text, part, from)`.
pub fn index_from(c: &mut Checker<'_>, mut arguments: Vec<Value>, span: Span) -> Value {
    let mut out = Vec::new();
    let from = cast(arguments.remove(2).e, &Type::I64);
    let part = c.text(arguments.remove(1).e);
    let text = c.text(arguments.remove(0).e);
    let text = placed(c, text, &mut out);
    let part = c.kept(part, &mut out);
    let zero = || int64(0, span);
    let size = call(Intrinsic::StrLen, vec![text.clone()], Type::U64, span);
    let size = c.kept(cast(size, &Type::I64), &mut out);
    let from = c.kept(from, &mut out);
    let from = c.kept(choose(less(from.clone(), zero()), zero(), from), &mut out);
    let begin = c.kept(choose(less(size.clone(), from.clone()), size.clone(), from), &mut out);
    let rest = between(c, &text, &begin, &size);
    let rest = placed(c, rest, &mut out);
    let at = call(Intrinsic::StrStr, vec![rest, part], Type::I64, span);
    let at = c.kept(at, &mut out);
    let found = choose(less(at.clone(), zero()), int64(-1, span), add(at, begin));
    Value::new(cast(block(out, found), &Type::I32))
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

/// The bytes that lie at an address, a number of them that is known.
pub fn bytes_at(c: &mut Checker<'_>, pointer: Expr, size: u32, length: Option<Expr>) -> Expr {
    let span = pointer.span;
    let at = c.checked_pointer(cast(cast(pointer, &Type::U64), &byte_pointer()));
    let mut arguments = vec![at];
    arguments.extend(length);
    call(Intrinsic::Buf, arguments, Type::Buf { size }, span)
}
