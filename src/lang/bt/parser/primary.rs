//! Values by themselves: literals, names, calls, maps, parentheses, blocks.

use super::Parser;
use crate::lang::bt::ast::{Block, Expr, ExprKind, Name, TypeOrExpr};
use crate::lang::bt::lexer::{Token, TokenKind as T};
use crate::lang::codes::parse as codes;

/// Words that can't be values.
const RESERVED: &[&str] =
    &["else", "for", "while", "unroll", "let", "return", "break", "continue", "macro", "fn", "import"];

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Expr {
        self.height = 1;
        let token = self.token();
        let kind = match token.kind {
            T::Int => {
                self.bump();
                ExprKind::Int(self.int_value(token))
            }
            T::Str => self.string(),
            T::Variable => {
                self.bump();
                ExprKind::Variable(self.text_of(token).into())
            }
            T::Positional => self.positional(),
            T::PositionalCount => {
                self.bump();
                ExprKind::PositionalCount
            }
            T::Map => return self.map(),
            T::LParen => return self.parenthesised(),
            T::LBrace => {
                let block = self.value_block();
                ExprKind::Block(Box::new(block))
            }
            T::Word => return self.word(),
            _ => {
                let message = format!("expected a value, found {}", self.found());
                self.error_here(
                    codes::EXPECTED_EXPRESSION,
                    message,
                    "values are literals, `$x`, `@x`, builtins like `pid`, calls and `( ... )`",
                );
                return self.missing_expr();
            }
        };
        Expr { kind, span: self.since(token.span) }
    }

    /// A string; strings side by side are one.
    fn string(&mut self) -> ExprKind {
        let mut value = String::new();
        while let Some(token) = self.accept(T::Str) {
            value.push_str(&self.string_value(token));
        }
        ExprKind::Str(value.into())
    }

    fn positional(&mut self) -> ExprKind {
        let token = self.bump();
        match self.text_of(token).trim_start_matches('$').parse() {
            Ok(0) | Err(_) => {
                self.report_always(
                    crate::lang::diagnostic::Diagnostic::error(
                        codes::BAD_INTEGER,
                        token.span,
                        "positional parameters count from `$1`",
                    )
                    .help("`$#` is how many there are"),
                );
                ExprKind::Error
            }
            Ok(number) => ExprKind::Positional(number),
        }
    }

    /// `@m` and `@m[k1, k2]`
    fn map(&mut self) -> Expr {
        let token = self.bump();
        let name = self.text_of(token).into();
        let mut keys = None;
        if self.at_kind(T::LBracket) {
            let open = self.bump();
            let list = self.list(T::RBracket);
            if list.is_empty() && self.at_kind(T::RBracket) {
                self.error_here(
                    codes::EXPECTED_EXPRESSION,
                    "expected a key",
                    "write `@map[key]`, or `@map` for a map without keys",
                );
            }
            self.close(T::RBracket, "]", open);
            keys = Some(list);
        }
        Expr { kind: ExprKind::Map(name, keys), span: self.since(token.span) }
    }

    /// Expressions and commas up to, not including, `end`. Leaves `height` at the highest plus 1.
    pub(super) fn list(&mut self, end: T) -> Vec<Expr> {
        let outer = std::mem::replace(&mut self.predicate, false);
        let mut list = Vec::new();
        let mut height = 0;
        while !self.at_end() && !self.at_kind(end) {
            let before = self.at;
            list.push(self.argument());
            height = height.max(self.height);
            if self.accept(T::Comma).is_none() || self.at == before {
                break;
            }
        }
        self.predicate = outer;
        self.grow(height);
        list
    }

    /// An expression, or a type where only a type can be meant.
    fn argument(&mut self) -> Expr {
        if self.at_type() {
            let start = self.token().span;
            if let Some(ty) = self.type_name() {
                return Expr { kind: ExprKind::Type(ty), span: self.since(start) };
            }
        }
        self.expression()
    }

    /// `(e)`, `(a, b)`, `(x = 1, y = 2)`
    fn parenthesised(&mut self) -> Expr {
        let outer = std::mem::replace(&mut self.predicate, false);
        let open = self.bump();
        let result =
            if self.at_kind(T::Word) && self.peek(1).kind == T::Assign { self.record(open) } else { self.tuple(open) };
        self.predicate = outer;
        result
    }

    fn tuple(&mut self, open: Token) -> Expr {
        let mut parts = Vec::new();
        let mut height = 0;
        let mut comma = false;
        while !self.at_end() && !self.at_kind(T::RParen) {
            parts.push(self.expression());
            height = height.max(self.height);
            comma = self.accept(T::Comma).is_some();
            if !comma {
                break;
            }
        }
        if parts.is_empty() && self.at_kind(T::RParen) {
            self.error_here(
                codes::EXPECTED_EXPRESSION,
                "expected a value between the parentheses",
                "write a value, or remove the parentheses",
            );
        }
        self.close(T::RParen, ")", open);
        let span = self.since(open.span);
        self.height = height;
        if parts.len() == 1 && !comma {
            // The parentheses are no part of the value's place, as in bpftrace: messages point at what is in them.
            return parts.pop().unwrap_or(Expr { kind: ExprKind::Error, span });
        }
        self.grow(height);
        let kind = if parts.is_empty() { ExprKind::Error } else { ExprKind::Tuple(parts) };
        Expr { kind, span }
    }

    fn record(&mut self, open: Token) -> Expr {
        let mut parts: Vec<(Name, Expr)> = Vec::new();
        let mut height = 0;
        while self.at_kind(T::Word) && self.peek(1).kind == T::Assign {
            let token = self.bump();
            self.bump();
            let name = self.name(token);
            let value = self.expression();
            height = height.max(self.height);
            parts.push((name, value));
            if self.accept(T::Comma).is_none() {
                break;
            }
        }
        self.close(T::RParen, ")", open);
        self.grow(height);
        Expr { kind: ExprKind::Record(parts), span: self.since(open.span) }
    }

    fn word(&mut self) -> Expr {
        let token = self.token();
        let text = self.text_of(token);
        let call = self.peek(1).kind == T::LParen;
        let kind = match text {
            "true" | "false" => {
                self.bump();
                ExprKind::Bool(text == "true")
            }
            "if" => self.if_expression(),
            "sizeof" if call => ExprKind::SizeOf(Box::new(self.type_or_expr())),
            "typeinfo" if call => ExprKind::TypeInfo(Box::new(self.type_or_expr())),
            "offsetof" if call => self.offset_of(),
            "struct" | "union" | "enum" | "typeof" => return self.argument_type(token),
            _ if RESERVED.contains(&text) => {
                let message = format!("expected a value, found the keyword `{text}`");
                self.error_here(
                    codes::EXPECTED_EXPRESSION,
                    message,
                    "values are literals, `$x`, `@x`, builtins like `pid`, calls and `( ... )`",
                );
                return self.missing_expr();
            }
            _ if call => self.call(),
            _ => {
                self.bump();
                ExprKind::Ident(text.into())
            }
        };
        Expr { kind, span: self.since(token.span) }
    }

    fn argument_type(&mut self, token: Token) -> Expr {
        match self.type_name() {
            Some(ty) => Expr { kind: ExprKind::Type(ty), span: self.since(token.span) },
            None => self.missing_expr(),
        }
    }

    fn call(&mut self) -> ExprKind {
        let token = self.bump();
        let name = self.name(token);
        let open = self.bump();
        let arguments = self.list(T::RParen);
        let height = self.height;
        if !self.close(T::RParen, ")", open) {
            self.skip_to_close();
        }
        self.height = height;
        ExprKind::Call(name, arguments)
    }

    /// After a broken argument: past the `)` of this call when it is near.
    fn skip_to_close(&mut self) {
        let mut depth = 0_u32;
        let mut ahead = 0;
        loop {
            match self.peek(ahead).kind {
                T::Eof | T::Unclosed | T::Semicolon | T::LBrace | T::RBrace => return,
                T::LParen => depth += 1,
                T::RParen if depth == 0 => {
                    self.at += ahead + 1;
                    return;
                }
                T::RParen => depth -= 1,
                _ => {}
            }
            ahead += 1;
        }
    }

    /// `if c { a } else { b }` as a value.
    fn if_expression(&mut self) -> ExprKind {
        self.bump();
        let condition = self.condition();
        let mut height = self.height;
        let yes = self.value_body("if");
        height = height.max(self.height);
        let no = if self.accept_word("else").is_some() {
            if self.at_word("if") {
                let start = self.token().span;
                let inner = self.expression();
                Block { statements: Vec::new(), value: Some(Box::new(inner)), span: self.since(start) }
            } else {
                self.value_body("else")
            }
        } else {
            self.error_here(
                codes::EXPECTED,
                "an `if` that gives a value needs an `else`",
                "write `if condition { value } else { other }`",
            );
            Block { span: self.previous_end(), ..Block::default() }
        };
        self.grow(height.max(self.height));
        ExprKind::If(Box::new(condition), Box::new(yes), Box::new(no))
    }

    fn value_body(&mut self, keyword: &str) -> Block {
        let mut block = self.body(keyword);
        super::blocks::make_value(&mut block);
        block
    }

    /// The `(type)` or `(expression)` of `sizeof` and `typeinfo`.
    fn type_or_expr(&mut self) -> TypeOrExpr {
        self.bump();
        let open = self.bump();
        let inner = self.type_or_expr_inner();
        self.close(T::RParen, ")", open);
        inner
    }

    fn type_or_expr_inner(&mut self) -> TypeOrExpr {
        let ty = if self.at_type() { self.type_name() } else { None };
        ty.map_or_else(|| TypeOrExpr::Expr(self.expression()), TypeOrExpr::Type)
    }

    /// `offsetof(type, a.b)`
    fn offset_of(&mut self) -> ExprKind {
        self.bump();
        let open = self.bump();
        let base = self.type_or_expr_inner();
        let height = self.height;
        let mut path = Vec::new();
        if self.expect(T::Comma, "`,` and a member", "write `offsetof(struct x, member)`").is_some() {
            while let Some(token) = self.expect(T::Word, "a member's name", "write `offsetof(struct x, a.b)`") {
                path.push(self.name(token));
                if self.accept(T::Dot).is_none() {
                    break;
                }
            }
        }
        self.close(T::RParen, ")", open);
        self.grow(height);
        ExprKind::OffsetOf(Box::new(base), path)
    }
}
