//! Texts looked at byte by byte: parts of paths, words, numbers as text, and which text comes first.

use super::frame::{Frame, Words};
use super::options::Options;
use super::{scratch, strings};
use std::sync::Arc;

use super::checker::Checker;
use super::value::{Value, block, cast, int, statement, word};
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Block, Expr, ExprKind, Intrinsic, LocalId, Statement, StatementKind};
use crate::lang::types::{AddressSpace, Type};

pub(super) const BYTE: Type = Type::Int { size: 1, signed: false };

/// A text with its bytes, of which each is had by its place.
pub(super) struct Bytes {
    pub text: Expr,
    pub bytes: LocalId,
}

pub(super) fn number(n: i64, span: Span) -> Expr {
    int(n, Type::I64, span)
}

pub(super) fn read(local: LocalId, span: Span) -> Expr {
    Expr::new(ExprKind::Local(local), Type::I64, span)
}

pub(super) fn pair(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let (span, ty) = (a.span, if is_comparison(op) { Type::Bool } else { Type::I64 });
    Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
}

const fn is_comparison(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
}

pub(super) fn set(local: LocalId, value: Expr) -> Statement {
    let span = value.span;
    statement(StatementKind::SetLocal(local, value), span)
}

pub(super) fn when(condition: Expr, then: Vec<Statement>, otherwise: Vec<Statement>) -> Statement {
    let span = condition.span;
    let (then, otherwise) = (Block::new(then), Block::new(otherwise));
    statement(StatementKind::If(condition, then, otherwise), span)
}

pub(super) fn choose(condition: Expr, a: Expr, b: Expr) -> Expr {
    let (ty, span) = (a.ty.clone(), a.span);
    Expr::new(ExprKind::Conditional(Box::new(condition), Box::new(a), Box::new(b)), ty, span)
}

pub(super) fn leave(span: Span) -> Statement {
    statement(StatementKind::Break, span)
}

pub(super) fn byte_at(bytes: LocalId, at: Expr) -> Expr {
    let span = at.span;
    let place = ExprKind::Within { local: bytes, offset: Box::new(cast(at, &Type::U64)) };
    cast(Expr::new(place, BYTE, span), &Type::I64)
}

fn word_at(bytes: LocalId, at: Expr) -> Expr {
    let span = at.span;
    let place = ExprKind::Within { local: bytes, offset: Box::new(cast(at, &Type::U64)) };
    Expr::new(place, Type::U64, span)
}

pub(super) fn each(local: LocalId, end: i64, span: Span, body: Vec<Statement>) -> Statement {
    let (start, end) = (number(0, span), number(end, span));
    statement(StatementKind::ForRange { local, start, end, body: Block::new(body) }, span)
}

/// Bytes of a text with its end: at most so many.
pub fn most_bytes(options: &Options) -> i64 {
    i64::from(options.strsize) + 1
}

fn constant_text(c: &Checker<'_>, text: &str, span: Span) -> Expr {
    Expr::new(ExprKind::Str(text.into()), c.string(), span)
}

pub fn counter(c: &mut Checker<'_>, name: &str, value: i64, span: Span, out: &mut Vec<Statement>) -> LocalId {
    let local = c.local(name, Type::I64);
    out.push(set(local, number(value, span)));
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
    let space = AddressSpace::Kernel;
    let pointer = Type::Ptr { to: Arc::new(Type::Int { size: 1, signed: true }), space };
    let from = Expr::new(ExprKind::AddressOf(Box::new(text.clone())), pointer, span);
    let place = ExprKind::Within { local: bytes, offset: Box::new(int(0, Type::U64, span)) };
    let size = c.size_of(&text.ty).min(most_bytes(&c.options) as u32);
    let arguments = vec![Expr::new(place, BYTE, span), from, int(i64::from(size), Type::U64, span)];
    let copy = Expr::new(ExprKind::Call(Intrinsic::ReadInto, arguments), Type::I64, span);
    out.push(statement(StatementKind::Expr(copy), span));
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
    let is = |n| pair(BinaryOp::Eq, read(byte, span), number(n, span));
    let next = || pair(BinaryOp::Add, read(at, span), number(1, span));
    let begins = vec![set(start, read(at, span)), set(before, read(end, span))];
    let body = vec![
        set(byte, byte_at(path.bytes, read(at, span))),
        when(is(0), vec![leave(span)], vec![]),
        set(len, next()),
        when(
            is(i64::from(b'/')),
            vec![set(slash, number(1, span))],
            vec![
                when(pair(BinaryOp::Ne, read(slash, span), number(0, span)), begins, vec![]),
                set(slash, number(0, span)),
                set(end, next()),
            ],
        ),
    ];
    out.push(each(at, most_bytes(&c.options), span, body));
    let none = |local| pair(BinaryOp::Eq, read(local, span), number(0, span));
    let (root, here) = (constant_text(c, "/", span), constant_text(c, ".", span));
    let found = if directory {
        let absolute = pair(BinaryOp::Eq, byte_at(path.bytes, number(0, span)), number(i64::from(b'/'), span));
        let alone = choose(absolute, root.clone(), here.clone());
        choose(none(before), alone, strings::between(c, &path.text, &number(0, span), &read(before, span)))
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
    let (statements, wanted) = c.kept(wanted);
    out.extend(statements);
    let text = bytes_of(c, text.e, &mut out);
    let found = counter(c, "%found", -1, span, &mut out);
    let len = counter(c, "%length", 0, span, &mut out);
    let (at, byte) = (c.local("%at", Type::I64), c.local("%byte", Type::I64));
    let mut hit = pair(BinaryOp::Eq, read(byte, span), wanted);
    if !last {
        let first = pair(BinaryOp::Lt, read(found, span), number(0, span));
        hit = Expr::new(ExprKind::And(Box::new(hit), Box::new(first)), Type::Bool, span);
    }
    let body = vec![
        set(byte, byte_at(text.bytes, read(at, span))),
        when(pair(BinaryOp::Eq, read(byte, span), number(0, span)), vec![leave(span)], vec![]),
        set(len, pair(BinaryOp::Add, read(at, span), number(1, span))),
        when(hit, vec![set(found, read(at, span))], vec![]),
    ];
    out.push(each(at, most_bytes(&c.options), span, body));
    let nowhere = pair(BinaryOp::Lt, read(found, span), number(0, span));
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
    let (statements, value) = c.kept(cast(word(value.e), &Type::I64));
    out.extend(statements);
    let negative = || pair(BinaryOp::Lt, value.clone(), number(0, span));
    let less = Expr::new(ExprKind::Unary(crate::lang::typed::UnaryOp::Neg, Box::new(value.clone())), Type::I64, span);
    let rest = c.local("%rest", Type::U64);
    let at = counter(c, "%at", LAST, span, &mut out);
    let count = c.local("%count", Type::I64);
    let word = || Expr::new(ExprKind::Local(rest), Type::U64, span);
    let of = |op, n| {
        let right = Box::new(int(n, Type::U64, span));
        Expr::new(ExprKind::Binary(op, Box::new(word()), right), Type::U64, span)
    };
    let put = |value: Expr| {
        let offset = Box::new(cast(read(at, span), &Type::U64));
        let place = Expr::new(ExprKind::Within { local: bytes, offset }, BYTE, span);
        statement(StatementKind::Store { place, value: cast(value, &BYTE) }, span)
    };
    let back = || set(at, pair(BinaryOp::Sub, read(at, span), number(1, span)));
    out.push(set(rest, cast(choose(negative(), less, value.clone()), &Type::U64)));
    out.push(put(number(0, span)));
    let digit = pair(BinaryOp::Add, cast(of(BinaryOp::Mod, 10), &Type::I64), number(i64::from(b'0'), span));
    let done = Expr::new(
        ExprKind::Binary(BinaryOp::Eq, Box::new(word()), Box::new(int(0, Type::U64, span))),
        Type::Bool,
        span,
    );
    let body = vec![back(), put(digit), set(rest, of(BinaryOp::Div, 10)), when(done, vec![leave(span)], vec![])];
    out.push(each(count, 20, span, body));
    out.push(when(negative(), vec![back(), put(number(i64::from(b'-'), span))], vec![]));
    let array = Type::Array { of: Arc::new(BYTE), len: 64 };
    let space = AddressSpace::Kernel;
    let pointer = Type::Ptr { to: Arc::new(Type::Int { size: 1, signed: true }), space };
    let place = Expr::new(ExprKind::Local(bytes), array, span);
    let base = Expr::new(ExprKind::AddressOf(Box::new(place)), pointer.clone(), span);
    let from = pair(BinaryOp::Add, cast(cast(base, &Type::U64), &Type::I64), read(at, span));
    let text = Expr::new(ExprKind::Call(Intrinsic::Str, vec![cast(from, &pointer)]), c.string(), span);
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
    let unsigned = |local| Expr::new(ExprKind::Local(local), Type::U64, span);
    let place = || pair(BinaryOp::Mul, read(at, span), number(WORD, span));
    let from_the_first = |local| Expr::new(ExprKind::Call(Intrinsic::Bswap, vec![unsigned(local)]), Type::U64, span);
    let earlier = pair(BinaryOp::Lt, from_the_first(first), from_the_first(second));
    // Nothing but zeros follows the end of a text.
    let last = pair(BinaryOp::Lt, unsigned(first), int(1 << 56, Type::U64, span));
    let body = vec![
        set(first, word_at(a, place())),
        set(second, word_at(b, place())),
        when(
            pair(BinaryOp::Ne, unsigned(first), unsigned(second)),
            vec![set(order, choose(earlier, number(-1, span), number(1, span))), leave(span)],
            vec![],
        ),
        when(last, vec![leave(span)], vec![]),
    ];
    out.push(each(at, words, span, body));
    block(out, read(order, span))
}

/// `strtok(text, delimiters)`: the next word of a text, or of the last one for NULL; empty when there is none.
pub fn next_word(c: &mut Checker<'_>, text: Value, delimiters: Value, span: Span) -> Value {
    let mut out = Vec::new();
    let words = words(c);
    if text.e.as_int() == Some(0) && matches!(text.ty(), Type::Ptr { .. }) {
        let never = pair(BinaryOp::Lt, read(words.at, span), number(0, span));
        out.push(scratch::fault_if(never, scratch::INVALID_ADDRESS));
    } else {
        let text = c.text(text.e);
        out.push(statement(StatementKind::SetLocal(words.text, text), span));
        let whole = Expr::new(ExprKind::Local(words.text), c.string(), span);
        fill(c, words.bytes, &whole, &mut out);
        out.push(set(words.at, number(0, span)));
    }
    let delimiters = bytes_of(c, delimiters.e, &mut out);
    mark_delimiters(c, words, &delimiters, 1, span, &mut out);
    let start = counter(c, "%start", -1, span, &mut out);
    let end = counter(c, "%end", 0, span, &mut out);
    let (at, byte) = (c.local("%at", Type::I64), c.local("%byte", Type::I64));
    let last = || pair(BinaryOp::Eq, read(byte, span), number(0, span));
    let marked = pair(BinaryOp::Ne, byte_at(words.delimiters, read(byte, span)), number(0, span));
    let divides = Expr::new(ExprKind::Or(Box::new(last()), Box::new(marked)), Type::Bool, span);
    let searching = || pair(BinaryOp::Lt, read(start, span), number(0, span));
    let in_word = Expr::new(ExprKind::Unary(crate::lang::typed::UnaryOp::Not, Box::new(searching())), Type::Bool, span);
    let here = pair(BinaryOp::Ge, read(at, span), read(words.at, span));
    let looked_at = vec![
        set(byte, byte_at(words.bytes, read(at, span))),
        set(end, read(at, span)),
        when(
            divides,
            vec![when(in_word, vec![leave(span)], vec![])],
            vec![when(searching(), vec![set(start, read(at, span))], vec![])],
        ),
        when(last(), vec![leave(span)], vec![]),
    ];
    out.push(each(at, most_bytes(&c.options), span, vec![when(here, looked_at, vec![])]));
    out.push(set(words.at, read(end, span)));
    mark_delimiters(c, words, &delimiters, 0, span, &mut out);
    out.push(when(searching(), vec![set(start, read(end, span))], vec![]));
    let whole = Expr::new(ExprKind::Local(words.text), c.string(), span);
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
    Some(set(frame.words?.at, number(-1, span)))
}

/// Sets a mark for each of some characters.
fn mark_delimiters(c: &mut Checker<'_>, words: Words, list: &Bytes, mark: i64, span: Span, out: &mut Vec<Statement>) {
    let (at, byte) = (c.local("%at", Type::I64), c.local("%byte", Type::I64));
    let offset = Box::new(cast(read(byte, span), &Type::U64));
    let place = Expr::new(ExprKind::Within { local: words.delimiters, offset }, BYTE, span);
    let body = vec![
        set(byte, byte_at(list.bytes, read(at, span))),
        when(pair(BinaryOp::Eq, read(byte, span), number(0, span)), vec![leave(span)], vec![]),
        statement(StatementKind::Store { place, value: int(mark, BYTE, span) }, span),
    ];
    out.push(each(at, most_bytes(&c.options), span, body));
}

/// A text in a variable of its own, and an array for its bytes.
fn beside_its_bytes(c: &mut Checker<'_>, text: Expr, out: &mut Vec<Statement>) -> Bytes {
    let span = text.span;
    let text = c.text(text);
    let ty = text.ty.clone();
    let local = c.local("%text", ty.clone());
    out.push(statement(StatementKind::SetLocal(local, text), span));
    let bytes = byte_array(c, "%bytes");
    Bytes { text: Expr::new(ExprKind::Local(local), ty, span), bytes }
}

/// A text's bytes with zeros behind them, up to the end of a word.
fn words_of(c: &mut Checker<'_>, text: Expr, last: i64, out: &mut Vec<Statement>) -> LocalId {
    let span = text.span;
    let both = beside_its_bytes(c, text, out);
    let place = word_at(both.bytes, number(last * 8, span));
    out.push(statement(StatementKind::Store { place, value: int(0, Type::U64, span) }, span));
    fill(c, both.bytes, &both.text, out);
    both.bytes
}
