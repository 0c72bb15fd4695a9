//! Expressions, by precedence.

use super::super::ast::{Binary, Expr, ExprKind, Literal, Unary};
use super::super::lexer::Kind;
use super::super::words;
use super::{MAX_HEIGHT, Parser};
use crate::lang::codes::d as tags;

/// Binary operators from the loosest level to the tightest.
const LEVELS: &[&[(&str, Binary)]] = &[
    &[("||", Binary::LogicalOr)],
    &[("^^", Binary::LogicalXor)],
    &[("&&", Binary::LogicalAnd)],
    &[("|", Binary::BitOr)],
    &[("^", Binary::BitXor)],
    &[("&", Binary::BitAnd)],
    &[("==", Binary::Eq), ("!=", Binary::Ne)],
    &[("<", Binary::Lt), ("<=", Binary::Le), (">", Binary::Gt), (">=", Binary::Ge)],
    &[("<<", Binary::Shl), (">>", Binary::Shr)],
    &[("+", Binary::Add), ("-", Binary::Sub)],
    &[("*", Binary::Mul), ("/", Binary::Div), ("%", Binary::Mod)],
];

const ASSIGNMENTS: &[(&str, Option<Binary>)] = &[
    ("=", None),
    ("+=", Some(Binary::Add)),
    ("-=", Some(Binary::Sub)),
    ("*=", Some(Binary::Mul)),
    ("/=", Some(Binary::Div)),
    ("%=", Some(Binary::Mod)),
    ("&=", Some(Binary::BitAnd)),
    ("^=", Some(Binary::BitXor)),
    ("|=", Some(Binary::BitOr)),
    ("<<=", Some(Binary::Shl)),
    (">>=", Some(Binary::Shr)),
];

impl Parser<'_> {
    /// With commas.
    pub fn expression(&mut self) -> Expr {
        let mut left = self.assignment();
        let mut count = 0;
        while self.tokens.at(",") && count < MAX_HEIGHT {
            self.tokens.bump();
            let right = self.assignment();
            left = self.binary_node(Binary::Comma, left, right);
            count += 1;
        }
        left
    }

    /// Without commas.
    pub fn assignment(&mut self) -> Expr {
        let error = self.error_expr();
        self.nested(error, |p| {
            let left = p.conditional_inner();
            let Some((_, op)) = ASSIGNMENTS.iter().find(|(sign, _)| p.tokens.at(sign)) else { return left };
            p.tokens.bump();
            let right = p.assignment();
            let span = left.span.to(right.span);
            Expr { kind: ExprKind::Assign(*op, Box::new(left), Box::new(right)), span }
        })
    }

    pub fn conditional(&mut self) -> Expr {
        let error = self.error_expr();
        self.nested(error, Self::conditional_inner)
    }

    fn conditional_inner(&mut self) -> Expr {
        let condition = self.level(0);
        if !self.tokens.at("?") {
            return condition;
        }
        self.tokens.bump();
        self.parentheses += 1;
        let yes = self.expression();
        self.parentheses -= 1;
        if !self.tokens.expect(":") {
            return yes;
        }
        let no = self.conditional();
        let span = condition.span.to(no.span);
        Expr { kind: ExprKind::Conditional(Box::new(condition), Box::new(yes), Box::new(no)), span }
    }

    fn binary_node(&self, op: Binary, left: Expr, right: Expr) -> Expr {
        let span = left.span.to(right.span);
        Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
    }

    fn level(&mut self, level: usize) -> Expr {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1);
        let mut count = 0;
        while let Some((_, op)) = operators.iter().find(|(sign, _)| self.tokens.at(sign)) {
            if *op == Binary::Div && self.closes_predicate() {
                break;
            }
            count += 1;
            if count > MAX_HEIGHT {
                self.tokens.too_deep();
                break;
            }
            self.tokens.bump();
            let right = self.level(level + 1);
            left = self.binary_node(*op, left, right);
        }
        left
    }

    /// A slash closes the predicate where no operand can follow it.
    fn closes_predicate(&mut self) -> bool {
        let closes = self.predicate && matches!(self.tokens.next_kind(), Kind::Eof | Kind::Sign(";" | "{" | "/"));
        if closes && self.parentheses > 0 {
            self.tokens.error_here(tags::D_SYNTAX, "closing ) expected in predicate before /");
        }
        closes
    }

    fn unary(&mut self) -> Expr {
        let error = self.error_expr();
        self.nested(error, Self::unary_inner)
    }

    fn unary_inner(&mut self) -> Expr {
        let start = self.tokens.token.span;
        const SIGNS: &[(&str, Unary)] = &[
            ("&", Unary::AddressOf),
            ("*", Unary::Deref),
            ("+", Unary::Plus),
            ("-", Unary::Negate),
            ("~", Unary::BitNot),
            ("!", Unary::Not),
        ];
        if let Some((_, op)) = SIGNS.iter().find(|(sign, _)| self.tokens.at(sign)) {
            self.tokens.bump();
            let operand = self.unary();
            let span = start.to(operand.span);
            return Expr { kind: ExprKind::Unary(*op, Box::new(operand)), span };
        }
        if self.tokens.at("++") || self.tokens.at("--") {
            let increment = self.tokens.at("++");
            self.tokens.bump();
            let operand = self.unary();
            let span = start.to(operand.span);
            return Expr { kind: ExprKind::Step { operand: Box::new(operand), increment, postfix: false }, span };
        }
        if self.tokens.at_word("sizeof") {
            self.tokens.bump();
            return self.sizeof(start);
        }
        if self.tokens.at_word("stringof") {
            self.tokens.bump();
            let operand = self.unary();
            let span = start.to(operand.span);
            return Expr { kind: ExprKind::Unary(Unary::Stringof, Box::new(operand)), span };
        }
        if self.tokens.at("(") && (self.is_cast() || self.casts_to_unknown()) {
            self.tokens.bump();
            let ty = self.type_name();
            self.tokens.expect(")");
            let operand = self.unary();
            let span = start.to(operand.span);
            return Expr { kind: ExprKind::Cast(Box::new(ty), Box::new(operand)), span };
        }
        self.postfix()
    }

    /// Whether this `(` begins what can only be a cast to a type that nobody knows: `(name *)`, or `(name) x`.
    fn casts_to_unknown(&mut self) -> bool {
        self.tokens.ahead(|lexer| {
            if !matches!(lexer.next().kind, Kind::Ident(_)) {
                return false;
            }
            let mut stars = 0;
            let mut kind = lexer.next().kind;
            while kind == Kind::Sign("*") && stars < MAX_HEIGHT {
                stars += 1;
                kind = lexer.next().kind;
            }
            let closed = kind == Kind::Sign(")");
            closed && (stars > 0 || matches!(lexer.next().kind, Kind::Ident(_) | Kind::Int(_)))
        })
    }

    /// Whether the word behind this `(` begins a type's name.
    fn is_cast(&mut self) -> bool {
        let Kind::Ident(word) = self.tokens.next_kind() else { return false };
        self.is_type(&word) || (words::begins_declaration(&word) && !words::CLASSES.contains(&&*word))
    }

    fn sizeof(&mut self, start: crate::lang::source::Span) -> Expr {
        if self.tokens.at("(") && self.is_cast() {
            self.tokens.bump();
            let ty = self.type_name();
            self.tokens.expect(")");
            return Expr { kind: ExprKind::SizeofType(Box::new(ty)), span: self.tokens.since(start) };
        }
        let operand = self.unary();
        let span = start.to(operand.span);
        Expr { kind: ExprKind::SizeofExpr(Box::new(operand)), span }
    }

    fn postfix(&mut self) -> Expr {
        let mut base = self.primary();
        let mut count = 0;
        loop {
            count += 1;
            if count > MAX_HEIGHT {
                self.tokens.too_deep();
                return base;
            }
            let start = base.span;
            let kind = match self.tokens.token.kind {
                Kind::Sign("[") => {
                    self.tokens.bump();
                    let items = self.arguments("]");
                    ExprKind::Index(Box::new(base), items)
                }
                Kind::Sign("(") => {
                    if matches!(base.kind, ExprKind::Int(_) | ExprKind::Str(_)) {
                        self.tokens.error(tags::D_FUNC_IDENT, start, "function designator is not of function type");
                    }
                    self.tokens.bump();
                    let items = self.arguments(")");
                    ExprKind::Call(Box::new(base), items)
                }
                Kind::Sign(sign @ ("." | "->")) => {
                    self.tokens.bump();
                    let name = self.tokens.expect_name();
                    ExprKind::Member { base: Box::new(base), arrow: sign == "->", name }
                }
                Kind::Sign(sign @ ("++" | "--")) => {
                    self.tokens.bump();
                    ExprKind::Step { operand: Box::new(base), increment: sign == "++", postfix: true }
                }
                _ => return base,
            };
            base = Expr { kind, span: self.tokens.since(start) };
        }
    }

    fn arguments(&mut self, close: &str) -> Vec<Expr> {
        self.parentheses += 1;
        let mut items = Vec::new();
        if close == "]" && self.tokens.at("]") {
            self.tokens.unexpected();
        }
        while !self.tokens.at(close) && !self.tokens.at_eof() && !self.tokens.given_up {
            items.push(self.assignment());
            if !self.tokens.accept(",") {
                break;
            }
            if self.tokens.at(close) {
                self.tokens.unexpected();
            }
        }
        self.parentheses -= 1;
        self.tokens.expect(close);
        items
    }

    fn primary(&mut self) -> Expr {
        let start = self.tokens.token.span;
        let kind = match &self.tokens.token.kind {
            Kind::Int(literal) => {
                let literal: Literal = *literal;
                self.tokens.bump();
                ExprKind::Int(literal)
            }
            Kind::Str(text) => {
                let text = text.clone();
                self.tokens.bump();
                ExprKind::Str(text)
            }
            Kind::Aggregation(name) => {
                let name = name.clone();
                self.tokens.bump();
                ExprKind::Aggregation(name)
            }
            Kind::Sign("(") => {
                self.tokens.bump();
                self.parentheses += 1;
                let inner = self.expression();
                self.parentheses -= 1;
                self.tokens.expect(")");
                return Expr { kind: inner.kind, span: self.tokens.since(start) };
            }
            Kind::Ident(word) => {
                let word = word.clone();
                match &*word {
                    "offsetof" => return self.offsetof(start),
                    "xlate" => return self.xlate(start),
                    _ if words::is_reserved(&word) || self.is_type_only(&word) => {
                        self.tokens.unexpected();
                        self.tokens.bump();
                        ExprKind::Error
                    }
                    _ => {
                        self.tokens.bump();
                        let argument = word.strip_prefix("arg").and_then(|n| n.parse::<u8>().ok());
                        self.probe_arguments = self.probe_arguments.max(argument.map_or(0, |n| n.saturating_add(1)));
                        ExprKind::Ident(word)
                    }
                }
            }
            _ => {
                self.tokens.unexpected();
                if self.tokens.token.kind == Kind::Unknown {
                    self.tokens.bump();
                }
                ExprKind::Error
            }
        };
        Expr { kind, span: self.tokens.since(start) }
    }

    /// Whether a word that stands where a value does can only be the name of a type.
    fn is_type_only(&mut self, word: &str) -> bool {
        words::is_type_word(word) && !matches!(self.tokens.next_kind(), Kind::Sign("++" | "--" | "[" | "=" | ";"))
    }

    fn offsetof(&mut self, start: crate::lang::source::Span) -> Expr {
        self.tokens.bump();
        self.tokens.expect("(");
        let ty = self.type_name();
        self.tokens.expect(",");
        let name = self.tokens.expect_name();
        self.tokens.expect(")");
        Expr { kind: ExprKind::Offsetof(Box::new(ty), name), span: self.tokens.since(start) }
    }

    fn xlate(&mut self, start: crate::lang::source::Span) -> Expr {
        self.tokens.bump();
        self.tokens.expect("<");
        let ty = self.type_name();
        self.tokens.expect(">");
        self.tokens.expect("(");
        let value = self.expression();
        self.tokens.expect(")");
        Expr { kind: ExprKind::Xlate(Box::new(ty), Box::new(value)), span: self.tokens.since(start) }
    }
}
