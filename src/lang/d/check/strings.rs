//! Parts of texts, and addresses as text.

use std::sync::Arc;

use super::value::{Value, block, cast, int};
use super::{Checker, statement};
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

impl Checker<'_> {
    /// Keeps a value in a variable of its own, even a constant: it has an address then.
    fn placed(&mut self, e: Expr, out: &mut Vec<Statement>) -> Expr {
        let (span, ty) = (e.span, e.ty.clone());
        let local = self.local("%text", ty.clone());
        out.push(statement(StatementKind::SetLocal(local, e), span));
        Expr::new(ExprKind::Local(local), ty, span)
    }

    fn named(&mut self, e: Expr, out: &mut Vec<Statement>) -> Expr {
        let (statements, kept) = self.kept(e);
        out.extend(statements);
        kept
    }

    /// The text from a place on, for a length; `begin` and `end` are inside of it.
    pub fn between(&self, text: &Expr, begin: &Expr, end: &Expr) -> Expr {
        let (span, string) = (text.span, self.string());
        let char_ = Arc::new(Type::Int { size: 1, signed: true });
        let pointer = Type::Ptr { to: Arc::clone(&char_), space: AddressSpace::Kernel };
        let address = Expr::new(ExprKind::AddressOf(Box::new(text.clone())), pointer.clone(), span);
        let address = binary(BinaryOp::Add, cast(address, &Type::U64), cast(begin.clone(), &Type::U64), Type::U64);
        let length = binary(BinaryOp::Sub, end.clone(), begin.clone(), Type::I64);
        let length = cast(sum(length, int(1, Type::I64, span)), &Type::U64);
        let part =
            Expr::new(ExprKind::Call(Intrinsic::Str, vec![cast(address, &pointer), length]), string.clone(), span);
        let nothing = Expr::new(ExprKind::Str("".into()), string, span);
        pick(less(begin.clone(), end.clone()), part, nothing)
    }

    /// `substr(text, from[, length])`: negative numbers count from the end.
    pub fn substr(&mut self, mut arguments: Vec<Value>, span: Span) -> Value {
        let mut out = Vec::new();
        let length = (arguments.len() > 2).then(|| arguments.remove(2).e);
        let from = cast(arguments.remove(1).e, &Type::I64);
        let text = self.text(arguments.remove(0).e);
        let text = self.placed(text, &mut out);
        let from = self.named(from, &mut out);
        let zero = || int(0, Type::I64, span);
        let size = Expr::new(ExprKind::Call(Intrinsic::StrLen, vec![text.clone()]), Type::U64, span);
        let size = self.named(cast(size, &Type::I64), &mut out);
        let begin = pick(less(from.clone(), zero()), sum(size.clone(), from.clone()), from);
        let begin = self.named(begin, &mut out);
        let end = match length {
            None => size.clone(),
            Some(length) => {
                let length = self.named(cast(length, &Type::I64), &mut out);
                let from_end = sum(size.clone(), length.clone());
                let end = pick(less(length.clone(), zero()), from_end, sum(begin.clone(), length));
                let end = self.named(end, &mut out);
                pick(less(size.clone(), end.clone()), size.clone(), end)
            }
        };
        let end = self.named(end, &mut out);
        let begin = self.named(pick(less(begin.clone(), zero()), zero(), begin), &mut out);
        let part = self.between(&text, &begin, &end);
        Value::new(block(out, part))
    }

    /// `text + n`: the text from its character n on.
    pub fn text_after(&mut self, text: Expr, number: Expr, span: Span) -> Value {
        let mut out = Vec::new();
        let text = self.text(text);
        let text = self.placed(text, &mut out);
        let number = self.named(cast(number, &Type::I64), &mut out);
        let size = Expr::new(ExprKind::Call(Intrinsic::StrLen, vec![text.clone()]), Type::U64, span);
        let size = self.named(cast(size, &Type::I64), &mut out);
        let outside = ExprKind::Or(
            Box::new(less(number.clone(), int(0, Type::I64, span))),
            Box::new(less(size.clone(), number.clone())),
        );
        let begin = self.named(pick(Expr::new(outside, Type::Bool, span), size.clone(), number), &mut out);
        let part = self.between(&text, &begin, &size);
        Value::new(block(out, part))
    }

    /// `strstr(text, part)` and `strchr(text, c)`: the text from there on, empty where it is not.
    pub fn text_from(&mut self, text: Expr, part: Expr, span: Span) -> Value {
        let mut out = Vec::new();
        let text = self.text(text);
        let text = self.placed(text, &mut out);
        let at = Expr::new(ExprKind::Call(Intrinsic::StrStr, vec![text.clone(), part]), Type::I64, span);
        let at = self.named(at, &mut out);
        let size = Expr::new(ExprKind::Call(Intrinsic::StrLen, vec![text.clone()]), Type::U64, span);
        let size = self.named(cast(size, &Type::I64), &mut out);
        let nowhere = less(at.clone(), int(0, Type::I64, span));
        let begin = self.named(pick(nowhere, size.clone(), at), &mut out);
        let part = self.between(&text, &begin, &size);
        Value::new(block(out, part))
    }

    /// A text of one character, where that is known before.
    pub fn one_character(&self, value: &Value) -> Option<Expr> {
        let c = char::from_u32((value.e.as_int()? & 0x7f) as u32).filter(|c| *c != '\0')?;
        Some(Expr::new(ExprKind::Str(c.to_string().into()), self.string(), value.span()))
    }

    /// `index(text, part)`.
    pub fn index_of(&mut self, text: Expr, part: Expr, span: Span) -> Value {
        let mut out = Vec::new();
        let at = Expr::new(ExprKind::Call(Intrinsic::StrStr, vec![text, part]), Type::I64, span);
        let at = self.named(at, &mut out);
        // Where it is not found, the kernel's own search gives the number of an error.
        let nowhere = less(at.clone(), int(0, Type::I64, span));
        let found = pick(nowhere, int(-1, Type::I64, span), at);
        Value::new(cast(block(out, found), &Type::I32))
    }

    /// `index(text, part, from)`.
    pub fn index_from(&mut self, mut arguments: Vec<Value>, span: Span) -> Value {
        let mut out = Vec::new();
        let from = cast(arguments.remove(2).e, &Type::I64);
        let part = self.text(arguments.remove(1).e);
        let text = self.text(arguments.remove(0).e);
        let text = self.placed(text, &mut out);
        let part = self.named(part, &mut out);
        let zero = || int(0, Type::I64, span);
        let size = Expr::new(ExprKind::Call(Intrinsic::StrLen, vec![text.clone()]), Type::U64, span);
        let size = self.named(cast(size, &Type::I64), &mut out);
        let from = self.named(from, &mut out);
        let from = self.named(pick(less(from.clone(), zero()), zero(), from), &mut out);
        let begin = self.named(pick(less(size.clone(), from.clone()), size.clone(), from), &mut out);
        let rest = self.between(&text, &begin, &size);
        let rest = self.placed(rest, &mut out);
        let at = Expr::new(ExprKind::Call(Intrinsic::StrStr, vec![rest, part]), Type::I64, span);
        let at = self.named(at, &mut out);
        let found = pick(less(at.clone(), zero()), int(-1, Type::I64, span), sum(at, begin));
        Value::new(cast(block(out, found), &Type::I32))
    }

    /// An address as text by its family: 2 for IPv4, 10 for IPv6.
    pub fn network_address(&mut self, family: i64, pointer: Value) -> Value {
        let span = pointer.span();
        let byte = Arc::new(Type::Int { size: 1, signed: false });
        let to = if family == 2 { Type::U32 } else { Type::Array { of: byte, len: 16 } };
        let space = AddressSpace::Kernel;
        let word = match pointer.ty() {
            Type::Array { .. } => self.decay(pointer),
            _ => pointer.e,
        };
        let at = self.checked_pointer(cast(cast(word, &Type::U64), &Type::Ptr { to: Arc::new(to.clone()), space }));
        let place = Expr::new(ExprKind::Deref(Box::new(at)), to, span);
        Value::new(Self::address_text(family, place))
    }

    /// Bytes of an address as text.
    pub fn address_text(family: i64, bytes: Expr) -> Expr {
        let span = bytes.span;
        Expr::new(ExprKind::Call(Intrinsic::Ntop, vec![int(family, Type::I64, span), bytes]), Type::Inet, span)
    }
}
