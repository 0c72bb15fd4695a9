//! Statements.

use super::Parser;
use crate::lang::bt::ast::{BinaryOp, Block, Expr, ExprKind, ForOver, Statement, StatementKind};
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;

impl Parser<'_> {
    /// One statement with its `;`; `None` when nothing could be made of it.
    pub(super) fn statement(&mut self) -> Option<Statement> {
        let start = self.token().span;
        let kind = match self.kind() {
            T::Word => match self.text_of(self.token()) {
                "if" => Some(self.if_statement()),
                "while" => Some(self.while_statement()),
                "for" => self.for_statement(),
                "unroll" => self.unroll_statement(),
                "let" => self.let_statement(),
                "break" => Some(self.jump(StatementKind::Break)),
                "continue" => Some(self.jump(StatementKind::Continue)),
                "return" => Some(self.return_statement()),
                "else" => {
                    self.error_here(
                        codes::EXPECTED,
                        "`else` without an `if` before it",
                        "`else` follows the `}` of an `if`",
                    );
                    self.bump();
                    None
                }
                _ if self.foreign_statement() => None,
                _ => match self.declared_length() {
                    Some(length) => self.typed_declaration(length),
                    None => self.plain_statement(),
                },
            },
            T::LBrace => Some(StatementKind::Block(self.raw_block())),
            _ => self.plain_statement(),
        }?;
        // The `;` only separates.
        let span = self.since(start);
        let before = self.taken(2).filter(|_| self.ended());
        let span = before.map_or(span, |t| Span::new(span.start, t.span.end.max(span.start)));
        Some(Statement { kind, span })
    }

    /// An expression or an assignment.
    pub(super) fn plain_statement(&mut self) -> Option<StatementKind> {
        let target = self.expression();
        let Some(op) = assignment(self.kind()) else {
            if matches!(target.kind, ExprKind::Error) {
                self.skip_statement();
                return None;
            }
            self.statement_end();
            return Some(StatementKind::Expr(target));
        };
        let equals = self.bump().span;
        let height = self.height;
        let value = self.expression();
        self.height = self.height.max(height);
        self.statement_end();
        Some(self.assign(target, op, value, equals))
    }

    fn assign(&mut self, target: Expr, op: Option<BinaryOp>, value: Expr, equals: Span) -> StatementKind {
        match &target.kind {
            ExprKind::Ident(name) if &**name == "_" && op.is_none() => return StatementKind::Discard(value),
            ExprKind::Variable(_)
            | ExprKind::Map(..)
            | ExprKind::Error
            | ExprKind::Field(..)
            | ExprKind::Index(..)
            | ExprKind::TupleField(..)
            | ExprKind::Unary(crate::lang::bt::ast::UnaryOp::Deref, _) => {}
            _ => self.report_always(
                Diagnostic::error(codes::NOT_ASSIGNABLE, target.span, "this can't be assigned to")
                    .label(equals, "assigned here")
                    .help("assign to a scratch variable `$x` or to a map `@x`; to compare write `==`"),
            ),
        }
        StatementKind::Assign { target, op, value }
    }

    /// The `;` after a statement; none is needed before `}`.
    pub(super) fn statement_end(&mut self) {
        if self.accept(T::Semicolon).is_some() || self.at_kind(T::RBrace) || self.at_end() {
            return;
        }
        if self.follows_brace() {
            return;
        }
        let at = self.previous_end();
        if self.at_kind(T::Unknown) {
            self.last_error = Some(self.at);
        }
        let message = format!("expected `;`, found {}", self.found());
        self.report(
            Diagnostic::error(codes::MISSING_SEMICOLON, at, message).help("separate statements by `;`").fix(at, ";"),
        );
        if !self.begins_statement() {
            self.skip_statement();
        }
    }

    /// True after `}`: blocks end statements by themselves.
    fn follows_brace(&self) -> bool {
        self.taken(1).is_some_and(|t| t.kind == T::RBrace)
    }

    fn begins_statement(&self) -> bool {
        matches!(self.kind(), T::Word | T::Variable | T::Map | T::LBrace | T::PlusPlus | T::MinusMinus)
    }

    /// To the end of a broken statement: past its `;`, or before the `}` of the block it is in.
    pub(super) fn skip_statement(&mut self) {
        let mut depth = 0_u32;
        while !self.at_end() {
            match self.kind() {
                T::LBrace => depth += 1,
                T::RBrace if depth == 0 => return,
                T::RBrace => depth -= 1,
                T::Semicolon if depth == 0 => {
                    self.bump();
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    fn jump(&mut self, kind: StatementKind) -> StatementKind {
        self.bump();
        self.statement_end();
        kind
    }

    fn return_statement(&mut self) -> StatementKind {
        self.bump();
        let value = (!self.at_end() && !matches!(self.kind(), T::Semicolon | T::RBrace)).then(|| self.expression());
        self.statement_end();
        StatementKind::Return(value)
    }

    /// `let $x: type = value;`
    fn let_statement(&mut self) -> Option<StatementKind> {
        self.bump();
        if self.at_kind(T::Map) {
            self.error_here(
                codes::EXPECTED,
                "maps are declared outside of probes",
                "move `let @name = kind(size);` to the top of the script",
            );
            self.skip_statement();
            return None;
        }
        let Some(name) = self.expect(T::Variable, "a variable", "declare scratch variables as `let $x = value;`")
        else {
            self.skip_statement();
            return None;
        };
        let name = self.name(name);
        let ty = if self.accept(T::Colon).is_some() {
            self.type_name()
        } else if self.at_kind(T::Word) {
            // `let $x uint64 = ...`: accepted before, harmless now.
            self.type_name()
        } else {
            None
        };
        let value = self.accept(T::Assign).map(|_| self.expression());
        self.statement_end();
        Some(StatementKind::Let { name, ty, value })
    }

    fn if_statement(&mut self) -> StatementKind {
        self.bump();
        let (condition, yes) = self.condition_and_body("if");
        let height = self.height;
        let no = self.accept_word("else").map(|_| self.else_body());
        self.height = self.height.max(height);
        StatementKind::If(condition, yes, no)
    }

    /// A condition, parentheses optional, and its body.
    fn condition_and_body(&mut self, keyword: &str) -> (Expr, Block) {
        let condition = self.condition();
        let height = self.height;
        let body = self.body(keyword);
        self.height = self.height.max(height);
        (condition, body)
    }

    pub(super) fn condition(&mut self) -> Expr {
        let condition = self.expression();
        if self.at_kind(T::Assign) {
            self.single_equals();
        }
        condition
    }

    /// What follows `else`: a block, or another `if` as a block of one statement.
    fn else_body(&mut self) -> Block {
        if !self.at_word("if") {
            return self.body("else");
        }
        let start = self.token().span;
        let inner = self.nested(|p| {
            let statement = p.statement();
            let height = p.height;
            p.grow(height);
            statement
        });
        Block { statements: inner.flatten().into_iter().collect(), value: None, span: self.since(start) }
    }

    /// A block as written; a single statement without braces is reported and taken all the same.
    pub(super) fn body(&mut self, keyword: &str) -> Block {
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
        if self.begins_statement() {
            diagnostic = diagnostic.fix(Span::new(start.start, start.start), "{ ");
        }
        self.report(diagnostic);
        let mut block = Block { span: start, ..Block::default() };
        if self.begins_statement() {
            block.statements.extend(self.nested(Self::statement).flatten());
            block.span = self.since(start);
        }
        block
    }

    fn while_statement(&mut self) -> StatementKind {
        self.bump();
        let (condition, mut body) = self.condition_and_body("while");
        super::blocks::make_effect(&mut body);
        StatementKind::While(condition, body)
    }

    /// `unroll(n) { }` and `unroll n { }`
    fn unroll_statement(&mut self) -> Option<StatementKind> {
        self.bump();
        if self.at_kind(T::LBrace) {
            self.error_here(codes::BAD_UNROLL, "`unroll` needs to know how often", "write `unroll(5) { ... }`");
            self.raw_block();
            return None;
        }
        let (count, mut body) = self.condition_and_body("unroll");
        super::blocks::make_effect(&mut body);
        Some(StatementKind::Unroll(count, body))
    }

    /// `for ($x : @map) { }`, `for $i : a..b { }`
    fn for_statement(&mut self) -> Option<StatementKind> {
        self.bump();
        let open = self.accept(T::LParen);
        let help = "write `for ($kv : @map) { ... }` or `for ($i : 0..10) { ... }`";
        let Some(name) = self.accept(T::Variable) else {
            let message = format!("expected the loop's variable, found {}", self.found());
            self.error_here(codes::BAD_FOR, message, help);
            self.skip_head();
            self.body("for");
            return None;
        };
        let name = self.name(name);
        let over = if self.accept(T::Colon).is_some() {
            self.for_over()
        } else {
            let message = format!("expected `:` after the loop's variable, found {}", self.found());
            self.error_here(codes::BAD_FOR, message, help);
            self.skip_head();
            None
        };
        if over.is_none() {
            self.skip_to_body();
        } else if let Some(open) = open {
            self.close(T::RParen, ")", open);
        }
        let height = self.height;
        let mut body = self.body("for");
        self.height = self.height.max(height);
        super::blocks::make_effect(&mut body);
        over.map(|over| StatementKind::For { name, over, body })
    }

    fn for_over(&mut self) -> Option<ForOver> {
        let first = self.expression();
        let height = self.height;
        if self.accept(T::DotDot).is_some() {
            let last = self.expression();
            self.height = self.height.max(height);
            return Some(ForOver::Range(first, last));
        }
        if let ExprKind::Map(name, None) = &first.kind {
            return Some(ForOver::Map(crate::lang::bt::ast::Name { text: name.clone(), span: first.span }));
        }
        if !matches!(first.kind, ExprKind::Error) {
            self.report_always(
                Diagnostic::error(codes::BAD_FOR, first.span, "loops run over a map or a range")
                    .help("write `@map`, or `0..10` for 0 to 9"),
            );
        }
        None
    }

    /// To the `{` of a loop whose head is broken.
    /// Skips the rest of a loop's head: as in C, it may have semicolons.
    pub(super) fn skip_head(&mut self) {
        while !self.at_end() && !matches!(self.kind(), T::LBrace | T::RBrace) {
            self.bump();
        }
    }

    fn skip_to_body(&mut self) {
        while !self.at_end() && !matches!(self.kind(), T::LBrace | T::RBrace | T::Semicolon) {
            self.bump();
        }
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
