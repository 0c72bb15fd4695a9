//! Texts looked at byte by byte: parts of paths, words, numbers as text, where a part is last, and which text comes first.

use std::sync::Arc;

use super::checker::Checker;
use super::code::{
    BYTE, add, address_of, and, binary, block, byte_at, byte_pointer, call, cast, choose, constant_text, copy_into,
    each, either, equal, int, int64, is, is_negative, leave, less, negated, not, or, plus, put, read, read_as, set,
    store, sub, when, within,
};
use super::frame::{Frame, Words};
use super::value::{Value, is_int, is_scalar, word};
use super::{scratch, strings};
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, Intrinsic, LocalId, Statement};
use crate::lang::types::Type;
use crate::model::d::options::Options;

/// A text with its bytes, of which each is had by its place.
pub(super) struct Bytes {
    pub text: Expr,
    pub bytes: LocalId,
}

/// Bytes of a text with its end: at most so many.
pub fn most_bytes(options: &Options) -> i64 {
    i64::from(options.strsize) + 1
}

pub fn counter(c: &mut Checker<'_>, name: &str, value: i64, span: Span, out: &mut Vec<Statement>) -> LocalId {
    let local = c.local(name, Type::I64);
    out.push(set(local, int64(value, span)));
    local
}

pub fn byte_array(c: &mut Checker<'_>, name: &str) -> LocalId {
    let half = (most_bytes(&c.options) as u32).next_power_of_two().max(64);
    c.local(name, Type::Array { of: Arc::new(BYTE), len: half * 2 })
}

/// A text in a variable of its own, with its bytes in another.
pub fn bytes_of(c: &mut Checker<'_>, text: Expr, out: &mut Vec<Statement>) -> Bytes {
    let both = beside_its_bytes(c, text, out);
    fill(c, both.bytes, &both.text, out);
    both
}

fn fill(c: &Checker<'_>, bytes: LocalId, text: &Expr, out: &mut Vec<Statement>) {
    let span = text.span;
    let size = c.size_of(&text.ty).min(most_bytes(&c.options) as u32);
    out.push(copy_into(bytes, int64(0, span), address_of(text.clone()), int64(size.into(), span), span));
}

fn word_at(bytes: LocalId, at: Expr) -> Expr {
    within(bytes, at, Type::U64)
}

/// The text that stands in an array, from its begin or from a place in it that a local has.
pub fn text_in(c: &Checker<'_>, bytes: LocalId, at: Option<LocalId>, span: Span) -> Expr {
    let array = c.frame.locals[bytes.0 as usize].ty.clone();
    let begin = address_of(read_as(bytes, array, span));
    let begin = match at {
        None => begin,
        Some(at) => cast(add(cast(cast(begin, &Type::U64), &Type::I64), read(at, span)), &byte_pointer()),
    };
    call(Intrinsic::Str, vec![begin], c.string(), span)
}

/// `basename(path)` and `dirname(path)`.
pub fn part_of_path(c: &mut Checker<'_>, directory: bool, path: Value, span: Span) -> Value {
    let mut out = Vec::new();
    let path = bytes_of(c, path.e, &mut out);
    let start = counter(c, "%start", 0, span, &mut out);
    let end = counter(c, "%end", 0, span, &mut out);
    let before = counter(c, "%before", 0, span, &mut out);
    let slash = counter(c, "%slash", 1, span, &mut out);
    let len = counter(c, "%length", 0, span, &mut out);
    let (at, byte) = (c.local("%at", Type::I64), c.local("%byte", Type::I64));
    let is_byte = |n| is(read(byte, span), n);
    let next = || plus(read(at, span), 1);
    let begins = vec![set(start, read(at, span)), set(before, read(end, span))];
    let body = vec![
        set(byte, byte_at(path.bytes, read(at, span))),
        when(is_byte(0), vec![leave(span)]),
        set(len, next()),
        either(
            is_byte(i64::from(b'/')),
            vec![set(slash, int64(1, span))],
            vec![
                when(binary(BinaryOp::Ne, read(slash, span), int64(0, span)), begins),
                set(slash, int64(0, span)),
                set(end, next()),
            ],
        ),
    ];
    out.push(each(at, most_bytes(&c.options), span, body));
    let none = |local| is(read(local, span), 0);
    let (root, here) = (constant_text("/", c.string(), span), constant_text(".", c.string(), span));
    let found = if directory {
        let absolute = is(byte_at(path.bytes, int64(0, span)), i64::from(b'/'));
        let alone = choose(absolute, root.clone(), here.clone());
        choose(none(before), alone, strings::between(c, &path.text, &int64(0, span), &read(before, span)))
    } else {
        strings::between(c, &path.text, &read(start, span), &read(end, span))
    };
    let found = choose(none(len), here, choose(none(end), root, found));
    Value::new(block(out, found))
}

/// `strchr(text, c)` and `strrchr(text, c)`: the text from there on, empty where it is not.
pub fn rest_at_character(c: &mut Checker<'_>, last: bool, text: Value, character: Value, span: Span) -> Value {
    let mut out = Vec::new();
    let wanted = cast(cast(character.e, &BYTE), &Type::I64);
    let wanted = c.kept(wanted, &mut out);
    let text = bytes_of(c, text.e, &mut out);
    let found = counter(c, "%found", -1, span, &mut out);
    let len = counter(c, "%length", 0, span, &mut out);
    let (at, byte) = (c.local("%at", Type::I64), c.local("%byte", Type::I64));
    let mut hit = equal(read(byte, span), wanted);
    if !last {
        let first = is_negative(read(found, span));
        hit = and(hit, first);
    }
    let body = vec![
        set(byte, byte_at(text.bytes, read(at, span))),
        when(is(read(byte, span), 0), vec![leave(span)]),
        set(len, plus(read(at, span), 1)),
        when(hit, vec![set(found, read(at, span))]),
    ];
    out.push(each(at, most_bytes(&c.options), span, body));
    let nowhere = is_negative(read(found, span));
    let begin = counter(c, "%begin", 0, span, &mut out);
    out.push(set(begin, choose(nowhere, read(len, span), read(found, span))));
    let rest = strings::between(c, &text.text, &read(begin, span), &read(len, span));
    Value::new(block(out, rest))
}

/// `lltostr(n)`.
pub fn number_as_text(c: &mut Checker<'_>, value: Value, span: Span) -> Value {
    /// Room for a sign, 19 digits and the end.
    const LAST: i64 = 30;
    let mut out = Vec::new();
    let bytes = byte_array(c, "%digits");
    let value = c.kept(cast(word(value.e), &Type::I64), &mut out);
    let negative = || is_negative(value.clone());
    let less = Expr { span, ..negated(value.clone()) };
    let rest = c.local("%rest", Type::U64);
    let at = counter(c, "%at", LAST, span, &mut out);
    let count = c.local("%count", Type::I64);
    let word = || read_as(rest, Type::U64, span);
    let of = |op, n| binary(op, word(), int(n, Type::U64, span));
    let put = |value: Expr| put(bytes, read(at, span), value);
    let back = || set(at, sub(read(at, span), int64(1, span)));
    out.push(set(rest, cast(choose(negative(), less, value.clone()), &Type::U64)));
    out.push(put(int64(0, span)));
    let digit = plus(cast(of(BinaryOp::Mod, 10), &Type::I64), i64::from(b'0'));
    let done = is(word(), 0);
    let body = vec![back(), put(digit), set(rest, of(BinaryOp::Div, 10)), when(done, vec![leave(span)])];
    out.push(each(count, 20, span, body));
    out.push(when(negative(), vec![back(), put(int64(i64::from(b'-'), span))]));
    let text = text_in(c, bytes, Some(at), span);
    Value::new(block(out, text))
}

/// Below 0, 0 or over 0: which of two texts comes first. Words are compared where they differ, as numbers that begin
/// with their first byte.
pub fn text_order(c: &mut Checker<'_>, a: Expr, b: Expr) -> Expr {
    const WORD: i64 = 8;
    let span = a.span.to(b.span);
    let mut out = Vec::new();
    let words = (most_bytes(&c.options) - 1 + WORD - 1) / WORD;
    let [a, b] = [a, b].map(|text| words_of(c, text, words - 1, &mut out));
    let order = counter(c, "%order", 0, span, &mut out);
    let (at, first, second) = (c.local("%at", Type::I64), c.local("%first", Type::U64), c.local("%second", Type::U64));
    let unsigned = |local| read_as(local, Type::U64, span);
    let place = || binary(BinaryOp::Mul, read(at, span), int64(WORD, span));
    let from_the_first = |local| call(Intrinsic::Bswap, vec![unsigned(local)], Type::U64, span);
    let earlier = less(from_the_first(first), from_the_first(second));
    // Nothing but zeros follows the end of a text.
    let last = less(unsigned(first), int(1 << 56, Type::U64, span));
    let body = vec![
        set(first, word_at(a, place())),
        set(second, word_at(b, place())),
        when(
            binary(BinaryOp::Ne, unsigned(first), unsigned(second)),
            vec![set(order, choose(earlier, int64(-1, span), int64(1, span))), leave(span)],
        ),
        when(last, vec![leave(span)]),
    ];
    out.push(each(at, words, span, body));
    block(out, read(order, span))
}

/// `strtok(text, delimiters)`: the next word of a text, or of the last one for NULL; empty when there is none.
pub fn next_word(c: &mut Checker<'_>, text: Value, delimiters: Value, span: Span) -> Value {
    let mut out = Vec::new();
    let words = words(c);
    if text.e.as_int() == Some(0) && is_scalar(text.ty()) {
        let never = is_negative(read(words.at, span));
        out.push(scratch::fault_if(never, scratch::INVALID_ADDRESS, span));
    } else {
        let text = c.text(text.e);
        out.push(Statement { span, ..set(words.text, text) });
        let whole = read_as(words.text, c.string(), span);
        fill(c, words.bytes, &whole, &mut out);
        out.push(set(words.at, int64(0, span)));
    }
    let delimiters = bytes_of(c, delimiters.e, &mut out);
    mark_delimiters(c, words, &delimiters, 1, span, &mut out);
    let start = counter(c, "%start", -1, span, &mut out);
    let end = counter(c, "%end", 0, span, &mut out);
    let (at, byte) = (c.local("%at", Type::I64), c.local("%byte", Type::I64));
    let last = || is(read(byte, span), 0);
    let marked = binary(BinaryOp::Ne, byte_at(words.delimiters, read(byte, span)), int64(0, span));
    let divides = or(last(), marked);
    let searching = || is_negative(read(start, span));
    let in_word = not(searching());
    let here = binary(BinaryOp::Ge, read(at, span), read(words.at, span));
    let looked_at = vec![
        set(byte, byte_at(words.bytes, read(at, span))),
        set(end, read(at, span)),
        either(
            divides,
            vec![when(in_word, vec![leave(span)])],
            vec![when(searching(), vec![set(start, read(at, span))])],
        ),
        when(last(), vec![leave(span)]),
    ];
    out.push(each(at, most_bytes(&c.options), span, vec![when(here, looked_at)]));
    out.push(set(words.at, read(end, span)));
    mark_delimiters(c, words, &delimiters, 0, span, &mut out);
    out.push(when(searching(), vec![set(start, read(end, span))]));
    let whole = read_as(words.text, c.string(), span);
    let word = strings::between(c, &whole, &read(start, span), &read(end, span));
    Value::new(block(out, word))
}

fn words(c: &mut Checker<'_>) -> Words {
    if let Some(known) = c.frame.words {
        return known;
    }
    let string = c.string();
    let words = Words {
        bytes: byte_array(c, "%words"),
        text: c.local("%of words", string),
        at: c.local("%next word", Type::I64),
        delimiters: c.local("%delimiters", Type::Array { of: Arc::new(BYTE), len: 512 }),
    };
    c.frame.words = Some(words);
    words
}

/// No text is divided when a probe fires.
pub fn no_words(frame: &Frame, span: Span) -> Option<Statement> {
    Some(set(frame.words?.at, int64(-1, span)))
}

/// Sets a mark for each of some characters.
fn mark_delimiters(c: &mut Checker<'_>, words: Words, list: &Bytes, mark: i64, span: Span, out: &mut Vec<Statement>) {
    let (at, byte) = (c.local("%at", Type::I64), c.local("%byte", Type::I64));
    let body = vec![
        set(byte, byte_at(list.bytes, read(at, span))),
        when(is(read(byte, span), 0), vec![leave(span)]),
        put(words.delimiters, read(byte, span), int64(mark, span)),
    ];
    out.push(each(at, most_bytes(&c.options), span, body));
}

/// A text in a variable of its own, and an array for its bytes.
fn beside_its_bytes(c: &mut Checker<'_>, text: Expr, out: &mut Vec<Statement>) -> Bytes {
    let span = text.span;
    let text = c.text(text);
    let ty = text.ty.clone();
    let local = c.local("%text", ty.clone());
    out.push(set(local, text));
    let bytes = byte_array(c, "%bytes");
    Bytes { text: read_as(local, ty, span), bytes }
}

/// A text's bytes with zeros behind them, up to the end of a word.
fn words_of(c: &mut Checker<'_>, text: Expr, last: i64, out: &mut Vec<Statement>) -> LocalId {
    let span = text.span;
    let both = beside_its_bytes(c, text, out);
    out.push(store(word_at(both.bytes, int64(last * 8, span)), int(0, Type::U64, span)));
    fill(c, both.bytes, &both.text, out);
    both.bytes
}

/// `rindex(text, part[, from])`: where a part of a text begins last.
pub fn last_index(c: &mut Checker<'_>, mut arguments: Vec<Value>, span: Span) -> Value {
    let mut out = Vec::new();
    let from = (arguments.len() > 2).then(|| arguments.remove(2));
    let part = bytes_of(c, arguments.remove(1).e, &mut out);
    let text = bytes_of(c, arguments.remove(0).e, &mut out);
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
        each(inner, most_bytes(&c.options), span, compared),
    ];
    out.push(each(at, most_bytes(&c.options), span, body));
    Value::new(cast(block(out, read(found, span)), &Type::I32))
}
