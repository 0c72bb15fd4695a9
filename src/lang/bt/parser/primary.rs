//! Values by themselves: literals, names, calls, maps, parentheses, blocks.

use crate::lang::bt::ast::{Block, Expr, ExprKind, Name, TypeOrExpr};
use crate::lang::bt::lexer::{Token, TokenKind as T};
use crate::lang::codes::parse as codes;

use crate::lang::bt::parser::{Parser, blocks, items, types};

/// Words that can't be values.
const RESERVED: &[&str] =
    &["else", "for", "while", "unroll", "let", "return", "break", "continue", "macro", "fn", "import"];

pub fn primary(p: &mut Parser<'_>) -> Expr {
    p.height = 1;
    let token = p.token();
    let kind = match token.kind {
        T::Int => {
            p.bump();
            ExprKind::Int(items::int_value(p, token))
        }
        T::Str => string(p),
        T::Variable => {
            p.bump();
            ExprKind::Variable(p.text_of(token).into())
        }
        T::Positional => positional(p),
        T::PositionalCount => {
            p.bump();
            ExprKind::PositionalCount
        }
        T::Map => return map(p),
        T::LParen => return parenthesised(p),
        T::LBrace => {
            let block = blocks::value_block(p);
            ExprKind::Block(Box::new(block))
        }
        T::Word => return word(p),
        _ => {
            let message = format!("expected a value, found {}", p.found());
            p.error_here(
                codes::EXPECTED_EXPRESSION,
                message,
                "values are literals, `$x`, `@x`, builtins like `pid`, calls and `( ... )`",
            );
            return items::missing_expr(p);
        }
    };
    Expr { kind, span: p.since(token.span) }
}

/// A string; strings side by side are one.
fn string(p: &mut Parser<'_>) -> ExprKind {
    let mut value = String::new();
    while let Some(token) = p.accept(T::Str) {
        value.push_str(&items::string_value(p, token));
    }
    ExprKind::Str(value.into())
}

fn positional(p: &mut Parser<'_>) -> ExprKind {
    let token = p.bump();
    match p.text_of(token).trim_start_matches('$').parse() {
        Ok(0) | Err(_) => {
            p.report_always(
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
fn map(p: &mut Parser<'_>) -> Expr {
    let token = p.bump();
    let name = p.text_of(token).into();
    let mut keys = None;
    if p.at_kind(T::LBracket) {
        let open = p.bump();
        let list = list(p, T::RBracket);
        if list.is_empty() && p.at_kind(T::RBracket) {
            p.error_here(
                codes::EXPECTED_EXPRESSION,
                "expected a key",
                "write `@map[key]`, or `@map` for a map without keys",
            );
        }
        p.close(T::RBracket, "]", open);
        keys = Some(list);
    }
    Expr { kind: ExprKind::Map(name, keys), span: p.since(token.span) }
}

/// Expressions and commas up to, not including, `end`. Leaves `height` at the highest plus 1.
fn list(p: &mut Parser<'_>, end: T) -> Vec<Expr> {
    let outer = std::mem::replace(&mut p.predicate, false);
    let mut list = Vec::new();
    let mut height = 0;
    while !p.at_end() && !p.at_kind(end) {
        let before = p.at;
        list.push(argument(p));
        height = height.max(p.height);
        if p.accept(T::Comma).is_none() || p.at == before {
            break;
        }
    }
    p.predicate = outer;
    p.grow(height);
    list
}

/// An expression, or a type where only a type can be meant.
fn argument(p: &mut Parser<'_>) -> Expr {
    if types::at_type(p) {
        let start = p.token().span;
        if let Some(ty) = p.type_name() {
            return Expr { kind: ExprKind::Type(ty), span: p.since(start) };
        }
    }
    p.expression()
}

/// `(e)`, `(a, b)`, `(x = 1, y = 2)`
fn parenthesised(p: &mut Parser<'_>) -> Expr {
    let outer = std::mem::replace(&mut p.predicate, false);
    let open = p.bump();
    let result = if p.at_kind(T::Word) && p.peek(1).kind == T::Assign { record(p, open) } else { tuple(p, open) };
    p.predicate = outer;
    result
}

fn tuple(p: &mut Parser<'_>, open: Token) -> Expr {
    let mut parts = Vec::new();
    let mut height = 0;
    let mut comma = false;
    while !p.at_end() && !p.at_kind(T::RParen) {
        parts.push(p.expression());
        height = height.max(p.height);
        comma = p.accept(T::Comma).is_some();
        if !comma {
            break;
        }
    }
    if parts.is_empty() && p.at_kind(T::RParen) {
        p.error_here(
            codes::EXPECTED_EXPRESSION,
            "expected a value between the parentheses",
            "write a value, or remove the parentheses",
        );
    }
    p.close(T::RParen, ")", open);
    let span = p.since(open.span);
    p.height = height;
    if parts.len() == 1 && !comma {
        // The parentheses are no part of the value's place, as in bpftrace: messages point at what is in them.
        return parts.pop().unwrap_or(Expr { kind: ExprKind::Error, span });
    }
    p.grow(height);
    let kind = if parts.is_empty() { ExprKind::Error } else { ExprKind::Tuple(parts) };
    Expr { kind, span }
}

fn record(p: &mut Parser<'_>, open: Token) -> Expr {
    let mut parts: Vec<(Name, Expr)> = Vec::new();
    let mut height = 0;
    while p.at_kind(T::Word) && p.peek(1).kind == T::Assign {
        let token = p.bump();
        p.bump();
        let name = p.name(token);
        let value = p.expression();
        height = height.max(p.height);
        parts.push((name, value));
        if p.accept(T::Comma).is_none() {
            break;
        }
    }
    p.close(T::RParen, ")", open);
    p.grow(height);
    Expr { kind: ExprKind::Record(parts), span: p.since(open.span) }
}

fn word(p: &mut Parser<'_>) -> Expr {
    let token = p.token();
    let text = p.text_of(token);
    let is_call = p.peek(1).kind == T::LParen;
    let kind = match text {
        "true" | "false" => {
            p.bump();
            ExprKind::Bool(text == "true")
        }
        "if" => if_expression(p),
        "sizeof" if is_call => ExprKind::SizeOf(Box::new(type_or_expr(p))),
        "typeinfo" if is_call => ExprKind::TypeInfo(Box::new(type_or_expr(p))),
        "offsetof" if is_call => offset_of(p),
        "struct" | "union" | "enum" | "typeof" => return argument_type(p, token),
        _ if RESERVED.contains(&text) => {
            let message = format!("expected a value, found the keyword `{text}`");
            p.error_here(
                codes::EXPECTED_EXPRESSION,
                message,
                "values are literals, `$x`, `@x`, builtins like `pid`, calls and `( ... )`",
            );
            return items::missing_expr(p);
        }
        _ if is_call => call(p),
        _ => {
            p.bump();
            ExprKind::Ident(text.into())
        }
    };
    Expr { kind, span: p.since(token.span) }
}

fn argument_type(p: &mut Parser<'_>, token: Token) -> Expr {
    match p.type_name() {
        Some(ty) => Expr { kind: ExprKind::Type(ty), span: p.since(token.span) },
        None => items::missing_expr(p),
    }
}

fn call(p: &mut Parser<'_>) -> ExprKind {
    let token = p.bump();
    let name = p.name(token);
    let open = p.bump();
    let arguments = list(p, T::RParen);
    let height = p.height;
    if !p.close(T::RParen, ")", open) {
        skip_to_close(p);
    }
    p.height = height;
    ExprKind::Call(name, arguments)
}

/// After a broken argument: past the `)` of this call when it is near.
fn skip_to_close(p: &mut Parser<'_>) {
    let mut depth = 0_u32;
    let mut ahead = 0;
    loop {
        match p.peek(ahead).kind {
            T::Eof | T::Unclosed | T::Semicolon | T::LBrace | T::RBrace => return,
            T::LParen => depth += 1,
            T::RParen if depth == 0 => {
                p.at += ahead + 1;
                return;
            }
            T::RParen => depth -= 1,
            _ => {}
        }
        ahead += 1;
    }
}

/// `if c { a } else { b }` as a value.
fn if_expression(p: &mut Parser<'_>) -> ExprKind {
    p.bump();
    let condition = p.condition();
    let mut height = p.height;
    let yes = value_body(p, "if");
    height = height.max(p.height);
    let no = if p.accept_word("else").is_some() {
        if p.at_word("if") {
            let start = p.token().span;
            let inner = p.expression();
            Block { statements: Vec::new(), value: Some(Box::new(inner)), span: p.since(start) }
        } else {
            value_body(p, "else")
        }
    } else {
        p.error_here(
            codes::EXPECTED,
            "an `if` that gives a value needs an `else`",
            "write `if condition { value } else { other }`",
        );
        Block { span: p.previous_end(), ..Block::default() }
    };
    p.grow(height.max(p.height));
    ExprKind::If(Box::new(condition), Box::new(yes), Box::new(no))
}

fn value_body(p: &mut Parser<'_>, keyword: &str) -> Block {
    let mut block = p.body(keyword);
    blocks::make_value(&mut block);
    block
}

/// The `(type)` or `(expression)` of `sizeof` and `typeinfo`.
fn type_or_expr(p: &mut Parser<'_>) -> TypeOrExpr {
    p.bump();
    let open = p.bump();
    let inner = type_or_expr_inner(p);
    p.close(T::RParen, ")", open);
    inner
}

fn type_or_expr_inner(p: &mut Parser<'_>) -> TypeOrExpr {
    let ty = if types::at_type(p) { p.type_name() } else { None };
    ty.map_or_else(|| TypeOrExpr::Expr(p.expression()), TypeOrExpr::Type)
}

/// `offsetof(type, a.b)`
fn offset_of(p: &mut Parser<'_>) -> ExprKind {
    p.bump();
    let open = p.bump();
    let base = type_or_expr_inner(p);
    let height = p.height;
    let mut path = Vec::new();
    if p.expect(T::Comma, "`,` and a member", "write `offsetof(struct x, member)`").is_some() {
        while let Some(token) = p.expect(T::Word, "a member's name", "write `offsetof(struct x, a.b)`") {
            path.push(p.name(token));
            if p.accept(T::Dot).is_none() {
                break;
            }
        }
    }
    p.close(T::RParen, ")", open);
    p.grow(height);
    ExprKind::OffsetOf(Box::new(base), path)
}
