//! Expressions: conditionals, binary and unary operators, what follows a value.

use crate::lang::bt::ast::{BinaryOp, Expr, ExprKind, Name, UnaryOp};
use crate::lang::bt::lexer::{Token, TokenKind as T};
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::Diagnostic;

use crate::lang::bt::parser::operators::worded;
use crate::lang::bt::parser::{Parser, items, operators, primary, types};

impl Parser<'_> {
    /// A whole expression. Sets `height` to the height of its tree.
    pub fn expression(&mut self) -> Expr {
        self.nested(conditional).unwrap_or_else(|| self.error_expr())
    }
}

/// `c ? a : b`, `c ?: b`
fn conditional(p: &mut Parser<'_>) -> Expr {
    let condition = binary(p, 1);
    if p.accept(T::Question).is_none() {
        return condition;
    }
    let mut height = p.height;
    let yes = if p.at_kind(T::Colon) {
        None
    } else {
        let yes = p.expression();
        height = height.max(p.height);
        Some(Box::new(yes))
    };
    if p.expect(T::Colon, "`:`", "a conditional is written `condition ? value : other`").is_none() {
        return condition;
    }
    let no = p.expression();
    let span = p.since(condition.span);
    if !p.grow(height.max(p.height)) {
        return p.error_expr();
    }
    Expr { kind: ExprKind::Conditional(Box::new(condition), yes, Box::new(no)), span }
}

/// Operators at least as strong as `least`; left-associative.
fn binary(p: &mut Parser<'_>, least: u8) -> Expr {
    let mut left = unary(p);
    while let Some((op, strength)) = operator(p, least) {
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            left = logical_chain(p, left, op, strength);
            continue;
        }
        bump_operator(p);
        let height = p.height;
        let right = binary(p, strength + 1);
        let span = p.since(left.span);
        if !p.grow(height.max(p.height)) {
            return p.error_expr();
        }
        left = Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span };
    }
    left
}

/// The operator here, if it is strong enough and does not close the predicate.
fn operator(p: &Parser<'_>, least: u8) -> Option<(BinaryOp, u8)> {
    let kind = p.kind();
    if kind == T::Slash && p.predicate && matches!(p.peek(1).kind, T::LBrace | T::Eof | T::Unclosed | T::Point) {
        return None;
    }
    let found = match kind {
        // No word can follow a value: these are meant as operators.
        T::Word => worded(p.text_of(p.token())).map(|(_, op)| op),
        _ => operators::binary(kind),
    };
    found.filter(|(_, strength)| *strength >= least)
}

/// Takes the operator here; one that is a word is reported.
fn bump_operator(p: &mut Parser<'_>) {
    let token = p.bump();
    if token.kind == T::Word {
        let sign = worded(p.text_of(token)).map_or("", |(sign, _)| sign);
        report_word(p, token, sign, sign);
    }
}

fn report_word(p: &mut Parser<'_>, token: Token, sign: &str, replacement: &str) {
    let message = format!("`{}` is written `{sign}`", p.text_of(token));
    p.report_always(
        Diagnostic::error(codes::WORD_OPERATOR, token.span, message)
            .help(format!("write `{sign}`"))
            .fix(token.span, replacement),
    );
}

/// `not x`, as other languages write it. A call of something named so has a parenthesis.
fn at_not(p: &Parser<'_>) -> bool {
    p.at_word("not") && matches!(p.peek(1).kind, T::Word | T::Variable | T::Map)
}

/// `a && b && c ...` as a balanced tree: the order of evaluation is the same, and a chain of
/// thousands is no deeper than a dozen.
fn logical_chain(p: &mut Parser<'_>, first: Expr, op: BinaryOp, strength: u8) -> Expr {
    let mut parts = vec![first];
    let mut height = p.height;
    while operator(p, strength).is_some_and(|(next, _)| next == op) {
        bump_operator(p);
        parts.push(binary(p, strength + 1));
        height = height.max(p.height);
    }
    let levels = usize::BITS - parts.len().leading_zeros();
    if !p.grow(height + levels) {
        return p.error_expr();
    }
    balance(op, parts)
}

fn unary(p: &mut Parser<'_>) -> Expr {
    let token = p.token();
    match token.kind {
        T::Minus => prefixed(p, UnaryOp::Neg),
        T::Tilde => prefixed(p, UnaryOp::BitNot),
        T::Bang => prefixed(p, UnaryOp::Not),
        T::Star => prefixed(p, UnaryOp::Deref),
        T::Amp => prefixed(p, UnaryOp::AddressOf),
        T::PlusPlus | T::MinusMinus => prefix_step(p),
        T::LParen if types::at_cast(p) => cast(p),
        T::Word if p.at_word("comptime") => comptime(p),
        T::Word if at_not(p) => {
            report_word(p, token, "!", "!");
            prefixed(p, UnaryOp::Not)
        }
        _ => {
            let value = primary::primary(p);
            postfix(p, value)
        }
    }
}

fn prefixed(p: &mut Parser<'_>, op: UnaryOp) -> Expr {
    let start = p.bump().span;
    let Some(operand) = p.nested(unary) else { return p.error_expr() };
    let height = p.height;
    if !p.grow(height) {
        return p.error_expr();
    }
    Expr { span: p.since(start), kind: ExprKind::Unary(op, Box::new(operand)) }
}

fn prefix_step(p: &mut Parser<'_>) -> Expr {
    let token = p.bump();
    let Some(target) = p.nested(unary) else { return p.error_expr() };
    let span = p.since(token.span);
    step(p, target, token, false, span)
}

fn step(p: &mut Parser<'_>, target: Expr, token: Token, postfix: bool, span: crate::lang::source::Span) -> Expr {
    if !matches!(target.kind, ExprKind::Variable(_) | ExprKind::Map(..) | ExprKind::Error | ExprKind::Ident(_)) {
        let text = p.text_of(token).to_owned();
        p.report_always(
            Diagnostic::error(codes::BAD_STEP, target.span, format!("`{text}` can't change this"))
                .label(token.span, format!("`{text}` is here"))
                .help("only scratch variables `$x` and maps `@x` can be counted up and down"),
        );
    }
    let height = p.height;
    if !p.grow(height) {
        return p.error_expr();
    }
    let decrement = token.kind == T::MinusMinus;
    Expr { kind: ExprKind::Step { target: Box::new(target), decrement, postfix }, span }
}

fn comptime(p: &mut Parser<'_>) -> Expr {
    let start = p.bump().span;
    let inner = p.expression();
    let height = p.height;
    if !p.grow(height) {
        return p.error_expr();
    }
    Expr { span: start.to(inner.span), kind: ExprKind::Comptime(Box::new(inner)) }
}

/// `(type)e`
fn cast(p: &mut Parser<'_>) -> Expr {
    let open = p.bump();
    let ty = p.type_name();
    p.close(T::RParen, ")", open);
    let Some(operand) = p.nested(unary) else { return p.error_expr() };
    let Some(ty) = ty else { return operand };
    let height = p.height;
    if !p.grow(height) {
        return p.error_expr();
    }
    Expr { span: p.since(open.span), kind: ExprKind::Cast(ty, Box::new(operand)) }
}

/// Fields, indexes and `++` after a value.
fn postfix(p: &mut Parser<'_>, mut value: Expr) -> Expr {
    loop {
        let height = p.height;
        value = match p.kind() {
            T::Dot | T::Arrow => field(p, value),
            T::LBracket => index(p, value),
            T::PlusPlus | T::MinusMinus if !matches!(value.kind, ExprKind::Error) => {
                let token = p.bump();
                let span = value.span.to(token.span);
                step(p, value, token, true, span)
            }
            _ => return value,
        };
        if !p.grow(height.max(p.height)) {
            return p.error_expr();
        }
    }
}

fn field(p: &mut Parser<'_>, value: Expr) -> Expr {
    let dot = p.bump();
    if matches!(value.kind, ExprKind::Int(_)) && p.at_kind(T::Int) && p.token().span.start == dot.span.end {
        let span = value.span.to(p.bump().span);
        p.report_always(
            Diagnostic::error(codes::FLOAT, span, "there are no fractions in this language")
                .help("scale the value and use an integer"),
        );
        return Expr { kind: value.kind, span };
    }
    match p.kind() {
        T::Word => {
            let token = p.bump();
            let name = p.name(token);
            Expr { span: value.span.to(token.span), kind: ExprKind::Field(Box::new(value), name) }
        }
        T::Int => {
            let token = p.bump();
            let number = u32::try_from(items::int_value(p, token)).unwrap_or(u32::MAX);
            let span = value.span.to(token.span);
            Expr { kind: ExprKind::TupleField(Box::new(value), number, token.span), span }
        }
        _ => {
            let message = format!("expected a field's name, found {}", p.found());
            p.error_here(codes::EXPECTED, message, "write `value.field`, or `tuple.0`");
            // Kept, with an empty name: completion needs to know what the fields belong to.
            let name = Name { text: "".into(), span: crate::lang::source::Span::new(dot.span.end, dot.span.end) };
            Expr { span: value.span.to(dot.span), kind: ExprKind::Field(Box::new(value), name) }
        }
    }
}

fn index(p: &mut Parser<'_>, value: Expr) -> Expr {
    let open = p.bump();
    let outer = std::mem::replace(&mut p.predicate, false);
    let index = p.expression();
    p.predicate = outer;
    p.close(T::RBracket, "]", open);
    Expr { span: p.since(value.span), kind: ExprKind::Index(Box::new(value), Box::new(index)) }
}

/// Folds operands pairwise, which keeps their order.
fn balance(op: BinaryOp, mut parts: Vec<Expr>) -> Expr {
    while parts.len() > 1 {
        let mut next = Vec::with_capacity(parts.len().div_ceil(2));
        let mut pairs = parts.into_iter();
        while let Some(left) = pairs.next() {
            next.push(match pairs.next() {
                Some(right) => {
                    let span = left.span.to(right.span);
                    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
                }
                None => left,
            });
        }
        parts = next;
    }
    parts.pop().unwrap_or(Expr { kind: ExprKind::Error, span: crate::lang::source::Span::default() })
}
