//! Expressions: conditionals, binary and unary operators, what follows a value.

use super::Parser;
use super::operators::{binary, worded};
use crate::lang::bt::ast::{BinaryOp, Expr, ExprKind, Name, UnaryOp};
use crate::lang::bt::lexer::{Token, TokenKind as T};
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::Diagnostic;

impl Parser<'_> {
    /// A whole expression. Sets `height` to the height of its tree.
    pub(super) fn expression(&mut self) -> Expr {
        self.nested(Self::conditional).unwrap_or_else(|| self.error_expr())
    }

    /// `c ? a : b`, `c ?: b`
    fn conditional(&mut self) -> Expr {
        let condition = self.binary(1);
        if self.accept(T::Question).is_none() {
            return condition;
        }
        let mut height = self.height;
        let yes = if self.at_kind(T::Colon) {
            None
        } else {
            let yes = self.expression();
            height = height.max(self.height);
            Some(Box::new(yes))
        };
        if self.expect(T::Colon, "`:`", "a conditional is written `condition ? value : other`").is_none() {
            return condition;
        }
        let no = self.expression();
        let span = self.since(condition.span);
        if !self.grow(height.max(self.height)) {
            return self.error_expr();
        }
        Expr { kind: ExprKind::Conditional(Box::new(condition), yes, Box::new(no)), span }
    }

    /// Operators at least as strong as `least`; left-associative.
    fn binary(&mut self, least: u8) -> Expr {
        let mut left = self.unary();
        while let Some((op, strength)) = self.operator(least) {
            if matches!(op, BinaryOp::And | BinaryOp::Or) {
                left = self.logical_chain(left, op, strength);
                continue;
            }
            self.bump_operator();
            let height = self.height;
            let right = self.binary(strength + 1);
            let span = self.since(left.span);
            if !self.grow(height.max(self.height)) {
                return self.error_expr();
            }
            left = Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span };
        }
        left
    }

    /// The operator here, if it is strong enough and does not close the predicate.
    fn operator(&self, least: u8) -> Option<(BinaryOp, u8)> {
        let kind = self.kind();
        if kind == T::Slash
            && self.predicate
            && matches!(self.peek(1).kind, T::LBrace | T::Eof | T::Unclosed | T::Point)
        {
            return None;
        }
        let found = match kind {
            // No word can follow a value: these are meant as operators.
            T::Word => worded(self.text_of(self.token())).map(|(_, op)| op),
            _ => binary(kind),
        };
        found.filter(|(_, strength)| *strength >= least)
    }

    /// Takes the operator here; one that is a word is reported.
    fn bump_operator(&mut self) {
        let token = self.bump();
        if token.kind == T::Word {
            let sign = worded(self.text_of(token)).map_or("", |(sign, _)| sign);
            self.report_word(token, sign, sign);
        }
    }

    fn report_word(&mut self, token: Token, sign: &str, replacement: &str) {
        let message = format!("`{}` is written `{sign}`", self.text_of(token));
        self.report_always(
            Diagnostic::error(codes::WORD_OPERATOR, token.span, message)
                .help(format!("write `{sign}`"))
                .fix(token.span, replacement),
        );
    }

    /// `not x`, as other languages write it. A call of something named so has a parenthesis.
    fn at_not(&self) -> bool {
        self.at_word("not") && matches!(self.peek(1).kind, T::Word | T::Variable | T::Map)
    }

    /// `a && b && c ...` as a balanced tree: the order of evaluation is the same, and a chain of
    /// thousands is no deeper than a dozen.
    fn logical_chain(&mut self, first: Expr, op: BinaryOp, strength: u8) -> Expr {
        let mut parts = vec![first];
        let mut height = self.height;
        while self.operator(strength).is_some_and(|(next, _)| next == op) {
            self.bump_operator();
            parts.push(self.binary(strength + 1));
            height = height.max(self.height);
        }
        let levels = usize::BITS - parts.len().leading_zeros();
        if !self.grow(height + levels) {
            return self.error_expr();
        }
        balance(op, parts)
    }

    fn unary(&mut self) -> Expr {
        let token = self.token();
        match token.kind {
            T::Minus => self.prefixed(UnaryOp::Neg),
            T::Tilde => self.prefixed(UnaryOp::BitNot),
            T::Bang => self.prefixed(UnaryOp::Not),
            T::Star => self.prefixed(UnaryOp::Deref),
            T::Amp => self.prefixed(UnaryOp::AddressOf),
            T::PlusPlus | T::MinusMinus => self.prefix_step(),
            T::LParen if self.at_cast() => self.cast(),
            T::Word if self.at_word("comptime") => self.comptime(),
            T::Word if self.at_not() => {
                self.report_word(token, "!", "!");
                self.prefixed(UnaryOp::Not)
            }
            _ => {
                let value = self.primary();
                self.postfix(value)
            }
        }
    }

    fn prefixed(&mut self, op: UnaryOp) -> Expr {
        let start = self.bump().span;
        let Some(operand) = self.nested(Self::unary) else { return self.error_expr() };
        let height = self.height;
        if !self.grow(height) {
            return self.error_expr();
        }
        Expr { span: self.since(start), kind: ExprKind::Unary(op, Box::new(operand)) }
    }

    fn prefix_step(&mut self) -> Expr {
        let token = self.bump();
        let Some(target) = self.nested(Self::unary) else { return self.error_expr() };
        let span = self.since(token.span);
        self.step(target, token, false, span)
    }

    fn step(&mut self, target: Expr, token: Token, postfix: bool, span: crate::lang::source::Span) -> Expr {
        if !matches!(target.kind, ExprKind::Variable(_) | ExprKind::Map(..) | ExprKind::Error | ExprKind::Ident(_)) {
            let text = self.text_of(token).to_owned();
            self.report_always(
                Diagnostic::error(codes::BAD_STEP, target.span, format!("`{text}` can't change this"))
                    .label(token.span, format!("`{text}` is here"))
                    .help("only scratch variables `$x` and maps `@x` can be counted up and down"),
            );
        }
        let height = self.height;
        if !self.grow(height) {
            return self.error_expr();
        }
        let decrement = token.kind == T::MinusMinus;
        Expr { kind: ExprKind::Step { target: Box::new(target), decrement, postfix }, span }
    }

    fn comptime(&mut self) -> Expr {
        let start = self.bump().span;
        let inner = self.expression();
        let height = self.height;
        if !self.grow(height) {
            return self.error_expr();
        }
        Expr { span: start.to(inner.span), kind: ExprKind::Comptime(Box::new(inner)) }
    }

    /// `(type)e`
    fn cast(&mut self) -> Expr {
        let open = self.bump();
        let ty = self.type_name();
        self.close(T::RParen, ")", open);
        let Some(operand) = self.nested(Self::unary) else { return self.error_expr() };
        let Some(ty) = ty else { return operand };
        let height = self.height;
        if !self.grow(height) {
            return self.error_expr();
        }
        Expr { span: self.since(open.span), kind: ExprKind::Cast(ty, Box::new(operand)) }
    }

    /// Fields, indexes and `++` after a value.
    fn postfix(&mut self, mut value: Expr) -> Expr {
        loop {
            let height = self.height;
            value = match self.kind() {
                T::Dot | T::Arrow => self.field(value),
                T::LBracket => self.index(value),
                T::PlusPlus | T::MinusMinus if !matches!(value.kind, ExprKind::Error) => {
                    let token = self.bump();
                    let span = value.span.to(token.span);
                    self.step(value, token, true, span)
                }
                _ => return value,
            };
            if !self.grow(height.max(self.height)) {
                return self.error_expr();
            }
        }
    }

    fn field(&mut self, value: Expr) -> Expr {
        let dot = self.bump();
        if matches!(value.kind, ExprKind::Int(_)) && self.at_kind(T::Int) && self.token().span.start == dot.span.end {
            let span = value.span.to(self.bump().span);
            self.report_always(
                Diagnostic::error(codes::FLOAT, span, "there are no fractions in this language")
                    .help("scale the value and use an integer"),
            );
            return Expr { kind: value.kind, span };
        }
        match self.kind() {
            T::Word => {
                let token = self.bump();
                let name = self.name(token);
                Expr { span: value.span.to(token.span), kind: ExprKind::Field(Box::new(value), name) }
            }
            T::Int => {
                let token = self.bump();
                let number = u32::try_from(self.int_value(token)).unwrap_or(u32::MAX);
                let span = value.span.to(token.span);
                Expr { kind: ExprKind::TupleField(Box::new(value), number, token.span), span }
            }
            _ => {
                let message = format!("expected a field's name, found {}", self.found());
                self.error_here(codes::EXPECTED, message, "write `value.field`, or `tuple.0`");
                // Kept, with an empty name: completion needs to know what the fields belong to.
                let name = Name { text: "".into(), span: crate::lang::source::Span::new(dot.span.end, dot.span.end) };
                Expr { span: value.span.to(dot.span), kind: ExprKind::Field(Box::new(value), name) }
            }
        }
    }

    fn index(&mut self, value: Expr) -> Expr {
        let open = self.bump();
        let outer = std::mem::replace(&mut self.predicate, false);
        let index = self.expression();
        self.predicate = outer;
        self.close(T::RBracket, "]", open);
        Expr { span: self.since(value.span), kind: ExprKind::Index(Box::new(value), Box::new(index)) }
    }
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
