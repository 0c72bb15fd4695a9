//! Statements.

use crate::lang::bt::ast::{BinaryOp, Block, Expr, ExprKind, ForOver, Statement, StatementKind};
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;

use crate::lang::bt::parser::{Parser, blocks, foreign};

impl Parser<'_> {
    /// One statement with its `;`; `None` when nothing could be made of it.
    pub fn statement(&mut self) -> Option<Statement> {
        let start = self.token().span;
        let kind = match self.kind() {
            T::Word => match self.text_of(self.token()) {
                "if" => Some(if_statement(self)),
                "while" => Some(while_statement(self)),
                "for" => for_statement(self),
                "unroll" => unroll_statement(self),
                "let" => let_statement(self),
                "break" => Some(jump(self, StatementKind::Break)),
                "continue" => Some(jump(self, StatementKind::Continue)),
                "return" => Some(return_statement(self)),
                "else" => {
                    self.error_here(
                        codes::EXPECTED,
                        "`else` without an `if` before it",
                        "`else` follows the `}` of an `if`",
                    );
                    self.bump();
                    None
                }
                _ if foreign::foreign_statement(self) => None,
                _ => match foreign::declared_length(self) {
                    Some(length) => foreign::typed_declaration(self, length),
                    None => plain_statement(self),
                },
            },
            T::LBrace => Some(StatementKind::Block(self.raw_block())),
            _ => plain_statement(self),
        }?;
        // The `;` only separates.
        let span = self.since(start);
        let before = self.taken(2).filter(|_| blocks::ended(self));
        let span = before.map_or(span, |t| Span::new(span.start, t.span.end.max(span.start)));
        Some(Statement { kind, span })
    }

    pub fn condition(&mut self) -> Expr {
        let condition = self.expression();
        if self.at_kind(T::Assign) {
            self.single_equals();
        }
        condition
    }

    /// A block as written; a single statement without braces is reported and taken all the same.
    pub fn body(&mut self, keyword: &str) -> Block {
        if self.at_kind(T::LBrace) {
            return self.raw_block();
        }
        let start = self.token().span;
        let mut diagnostic = Diagnostic::error(
            codes::MISSING_BRACES,
            if self.at_end() { self.previous_end() } else { start },
            format!("expected `{{` after `{keyword}`, found {}", self.found()),
        )
        .help("bodies stand in braces, also single statements");
        if begins_statement(self) {
            diagnostic = diagnostic.fix(Span::new(start.start, start.start), "{ ");
        }
        self.report(diagnostic);
        let mut block = Block { span: start, ..Block::default() };
        if begins_statement(self) {
            block.statements.extend(self.nested(Self::statement).flatten());
            block.span = self.since(start);
        }
        block
    }
}

/// An expression or an assignment.
pub fn plain_statement(p: &mut Parser<'_>) -> Option<StatementKind> {
    let target = p.expression();
    let Some(op) = assignment(p.kind()) else {
        if matches!(target.kind, ExprKind::Error) {
            skip_statement(p);
            return None;
        }
        statement_end(p);
        return Some(StatementKind::Expr(target));
    };
    let equals = p.bump().span;
    let height = p.height;
    let value = p.expression();
    p.height = p.height.max(height);
    statement_end(p);
    Some(assign(p, target, op, value, equals))
}

fn assign(p: &mut Parser<'_>, target: Expr, op: Option<BinaryOp>, value: Expr, equals: Span) -> StatementKind {
    match &target.kind {
        ExprKind::Ident(name) if &**name == "_" && op.is_none() => return StatementKind::Discard(value),
        ExprKind::Variable(_)
        | ExprKind::Map(..)
        | ExprKind::Error
        | ExprKind::Field(..)
        | ExprKind::Index(..)
        | ExprKind::TupleField(..)
        | ExprKind::Unary(crate::lang::bt::ast::UnaryOp::Deref, _) => {}
        _ => p.report_always(
            Diagnostic::error(codes::NOT_ASSIGNABLE, target.span, "this can't be assigned to")
                .label(equals, "assigned here")
                .help("assign to a scratch variable `$x` or to a map `@x`; to compare write `==`"),
        ),
    }
    StatementKind::Assign { target, op, value }
}

/// The `;` after a statement; none is needed before `}`.
pub fn statement_end(p: &mut Parser<'_>) {
    if p.accept(T::Semicolon).is_some() || p.at_kind(T::RBrace) || p.at_end() {
        return;
    }
    if follows_brace(p) {
        return;
    }
    let at = p.previous_end();
    if p.at_kind(T::Unknown) {
        p.last_error = Some(p.at);
    }
    let message = format!("expected `;`, found {}", p.found());
    p.report(Diagnostic::error(codes::MISSING_SEMICOLON, at, message).help("separate statements by `;`").fix(at, ";"));
    if !begins_statement(p) {
        skip_statement(p);
    }
}

/// True after `}`: blocks end statements by themselves.
fn follows_brace(p: &Parser<'_>) -> bool {
    p.taken(1).is_some_and(|t| t.kind == T::RBrace)
}

fn begins_statement(p: &Parser<'_>) -> bool {
    matches!(p.kind(), T::Word | T::Variable | T::Map | T::LBrace | T::PlusPlus | T::MinusMinus)
}

/// To the end of a broken statement: past its `;`, or before the `}` of the block it is in.
pub fn skip_statement(p: &mut Parser<'_>) {
    let mut depth = 0_u32;
    while !p.at_end() {
        match p.kind() {
            T::LBrace => depth += 1,
            T::RBrace if depth == 0 => return,
            T::RBrace => depth -= 1,
            T::Semicolon if depth == 0 => {
                p.bump();
                return;
            }
            _ => {}
        }
        p.bump();
    }
}

fn jump(p: &mut Parser<'_>, kind: StatementKind) -> StatementKind {
    p.bump();
    statement_end(p);
    kind
}

fn return_statement(p: &mut Parser<'_>) -> StatementKind {
    p.bump();
    let value = (!p.at_end() && !matches!(p.kind(), T::Semicolon | T::RBrace)).then(|| p.expression());
    statement_end(p);
    StatementKind::Return(value)
}

/// `let $x: type = value;`
fn let_statement(p: &mut Parser<'_>) -> Option<StatementKind> {
    p.bump();
    if p.at_kind(T::Map) {
        p.error_here(
            codes::EXPECTED,
            "maps are declared outside of probes",
            "move `let @name = kind(size);` to the top of the script",
        );
        skip_statement(p);
        return None;
    }
    let Some(name) = p.expect(T::Variable, "a variable", "declare scratch variables as `let $x = value;`") else {
        skip_statement(p);
        return None;
    };
    let name = p.name(name);
    let ty = if p.accept(T::Colon).is_some() {
        p.type_name()
    } else if p.at_kind(T::Word) {
        // `let $x uint64 = ...`: accepted before, harmless now.
        p.type_name()
    } else {
        None
    };
    let value = p.accept(T::Assign).map(|_| p.expression());
    statement_end(p);
    Some(StatementKind::Let { name, ty, value })
}

fn if_statement(p: &mut Parser<'_>) -> StatementKind {
    p.bump();
    let (condition, yes) = condition_and_body(p, "if");
    let height = p.height;
    let no = p.accept_word("else").map(|_| else_body(p));
    p.height = p.height.max(height);
    StatementKind::If(condition, yes, no)
}

/// A condition, parentheses optional, and its body.
fn condition_and_body(p: &mut Parser<'_>, keyword: &str) -> (Expr, Block) {
    let condition = p.condition();
    let height = p.height;
    let body = p.body(keyword);
    p.height = p.height.max(height);
    (condition, body)
}

/// What follows `else`: a block, or another `if` as a block of one statement.
fn else_body(p: &mut Parser<'_>) -> Block {
    if !p.at_word("if") {
        return p.body("else");
    }
    let start = p.token().span;
    let inner = p.nested(|p| {
        let statement = p.statement();
        let height = p.height;
        p.grow(height);
        statement
    });
    Block { statements: inner.flatten().into_iter().collect(), value: None, span: p.since(start) }
}

fn while_statement(p: &mut Parser<'_>) -> StatementKind {
    p.bump();
    let (condition, mut body) = condition_and_body(p, "while");
    blocks::make_effect(&mut body);
    StatementKind::While(condition, body)
}

/// `unroll(n) { }` and `unroll n { }`
fn unroll_statement(p: &mut Parser<'_>) -> Option<StatementKind> {
    p.bump();
    if p.at_kind(T::LBrace) {
        p.error_here(codes::BAD_UNROLL, "`unroll` needs to know how often", "write `unroll(5) { ... }`");
        p.raw_block();
        return None;
    }
    let (count, mut body) = condition_and_body(p, "unroll");
    blocks::make_effect(&mut body);
    Some(StatementKind::Unroll(count, body))
}

/// `for ($x : @map) { }`, `for $i : a..b { }`
fn for_statement(p: &mut Parser<'_>) -> Option<StatementKind> {
    p.bump();
    let open = p.accept(T::LParen);
    let help = "write `for ($kv : @map) { ... }` or `for ($i : 0..10) { ... }`";
    let Some(name) = p.accept(T::Variable) else {
        let message = format!("expected the loop's variable, found {}", p.found());
        p.error_here(codes::BAD_FOR, message, help);
        skip_head(p);
        p.body("for");
        return None;
    };
    let name = p.name(name);
    let over = if p.accept(T::Colon).is_some() {
        for_over(p)
    } else {
        let message = format!("expected `:` after the loop's variable, found {}", p.found());
        p.error_here(codes::BAD_FOR, message, help);
        skip_head(p);
        None
    };
    if over.is_none() {
        skip_to_body(p);
    } else if let Some(open) = open {
        p.close(T::RParen, ")", open);
    }
    let height = p.height;
    let mut body = p.body("for");
    p.height = p.height.max(height);
    blocks::make_effect(&mut body);
    over.map(|over| StatementKind::For { name, over, body })
}

fn for_over(p: &mut Parser<'_>) -> Option<ForOver> {
    let first = p.expression();
    let height = p.height;
    if p.accept(T::DotDot).is_some() {
        let last = p.expression();
        p.height = p.height.max(height);
        return Some(ForOver::Range(first, last));
    }
    if let ExprKind::Map(name, None) = &first.kind {
        return Some(ForOver::Map(crate::lang::bt::ast::Name { text: name.clone(), span: first.span }));
    }
    if !matches!(first.kind, ExprKind::Error) {
        p.report_always(
            Diagnostic::error(codes::BAD_FOR, first.span, "loops run over a map or a range")
                .help("write `@map`, or `0..10` for 0 to 9"),
        );
    }
    None
}

/// To the `{` of a loop whose head is broken.
/// Skips the rest of a loop's head: as in C, it may have semicolons.
pub fn skip_head(p: &mut Parser<'_>) {
    while !p.at_end() && !matches!(p.kind(), T::LBrace | T::RBrace) {
        p.bump();
    }
}

fn skip_to_body(p: &mut Parser<'_>) {
    while !p.at_end() && !matches!(p.kind(), T::LBrace | T::RBrace | T::Semicolon) {
        p.bump();
    }
}

/// The operator of an assignment: `Some(None)` for `=`.
#[allow(clippy::option_option, reason = "no assignment, a plain one, one with an operator")]
fn assignment(kind: T) -> Option<Option<BinaryOp>> {
    Some(match kind {
        T::Assign => None,
        T::PlusAssign => Some(BinaryOp::Add),
        T::MinusAssign => Some(BinaryOp::Sub),
        T::StarAssign => Some(BinaryOp::Mul),
        T::SlashAssign => Some(BinaryOp::Div),
        T::PercentAssign => Some(BinaryOp::Mod),
        T::AmpAssign => Some(BinaryOp::BitAnd),
        T::PipeAssign => Some(BinaryOp::BitOr),
        T::CaretAssign => Some(BinaryOp::BitXor),
        T::ShlAssign => Some(BinaryOp::Shl),
        T::ShrAssign => Some(BinaryOp::Shr),
        _ => return None,
    })
}
