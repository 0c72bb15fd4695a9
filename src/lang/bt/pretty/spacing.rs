//! What stands between one token and the next.

use super::{Brace, Gap, Header, Printer};
use crate::lang::bt::lexer::TokenKind as T;

/// Words that a parenthesis follows after a blank.
const SPACED_WORDS: &[&str] = &["if", "else", "for", "while", "unroll", "return", "comptime", "let", "import"];

impl Printer<'_> {
    pub(super) fn gap(&self, index: usize) -> Gap {
        let Some(previous) = index.checked_sub(1) else { return Gap::None };
        let lines = self.lines_before(index);
        match (self.kind(previous), self.kind(index)) {
            (T::Shebang | T::Directive | T::Inactive, _) | (_, T::Directive | T::Inactive) => return Gap::Line,
            (T::Comment, _) if self.spelled(previous).starts_with("//") => return Gap::Line,
            (T::Comment, _) | (_, T::Comment) if lines > 0 => return Gap::Line,
            (_, T::Comment) | (T::Comment, _) => return Gap::Space,
            _ => {}
        }
        let wanted = self.wanted(index);
        match wanted {
            Gap::Line if self.one_line() => Gap::Space,
            Gap::Line => Gap::Line,
            _ if lines > 0 && self.may_break(index) => Gap::Line,
            other => other,
        }
    }

    /// True where a line break of the author stays.
    fn may_break(&self, index: usize) -> bool {
        if self.one_line() || self.fresh {
            return false;
        }
        let kind = self.kind(index);
        match kind {
            T::LBrace => self.braces.is_empty(),
            T::Semicolon | T::Comma => false,
            T::Word if self.spelled(index) == "else" => false,
            T::RParen | T::RBracket => {
                self.before(index).is_none_or(|b| !matches!(self.kind(b), T::LParen | T::LBracket))
            }
            _ => true,
        }
    }

    /// The gap by the grammar alone.
    fn wanted(&self, index: usize) -> Gap {
        let Some(before) = self.before(index) else { return Gap::Line };
        let (left, right) = (self.kind(before), self.kind(index));
        if left == T::RBrace {
            return self.after_close(right, index);
        }
        match (left, right) {
            (_, T::Semicolon | T::Comma) => Gap::None,
            (T::LBrace, _) => Gap::Line,
            (T::Semicolon, _) if self.fresh => Gap::Line,
            (T::Point | T::Comma, _) | (_, T::Point) => Gap::Space,
            _ if self.predicate_edge(before, index) => Gap::None,
            _ => self.inside(before, index),
        }
    }

    /// After `}`: the next statement or item, or what belongs to the block.
    fn after_close(&self, right: T, index: usize) -> Gap {
        match right {
            T::Semicolon | T::Comma | T::RParen | T::RBracket | T::Dot => Gap::None,
            T::Word if self.spelled(index) == "else" => Gap::Space,
            T::Word | T::Star if self.closed_type && !self.begins_item(index) => Gap::Space,
            T::Question
            | T::Colon
            | T::Eq
            | T::Ne
            | T::Lt
            | T::Le
            | T::Gt
            | T::Ge
            | T::Plus
            | T::Slash
            | T::Percent
            | T::AmpAmp
            | T::PipePipe
            | T::Pipe
            | T::Caret
            | T::Shl
            | T::Shr => Gap::Space,
            _ => Gap::Line,
        }
    }

    /// After a definition without `;`: a word that begins the next item.
    fn begins_item(&self, index: usize) -> bool {
        self.braces.is_empty()
            && matches!(
                self.spelled(index),
                "struct" | "union" | "enum" | "typedef" | "config" | "import" | "macro" | "fn" | "let"
            )
    }

    /// Directly inside the slashes of a predicate.
    fn predicate_edge(&self, before: usize, index: usize) -> bool {
        if self.header != Header::Predicate || !self.braces.is_empty() {
            return false;
        }
        let opens = self.kind(before) == T::Slash && self.before(before).is_some_and(|b| self.kind(b) == T::Point);
        opens || self.facts.closes_predicate(index)
    }

    /// Between two tokens of an expression, declaration or statement.
    #[allow(clippy::match_same_arms, reason = "one line a rule, in the order they apply")]
    fn inside(&self, before: usize, index: usize) -> Gap {
        let (left, right) = (self.kind(before), self.kind(index));
        match (left, right) {
            (T::Dot | T::Arrow | T::DotDot | T::LParen | T::LBracket | T::Tilde | T::Bang, _)
            | (_, T::Dot | T::Arrow | T::DotDot | T::RParen | T::RBracket) => Gap::None,
            (T::Question, T::Colon) => Gap::None,
            (_, T::Colon) if self.declares(before) => Gap::None,
            (_, T::LBracket) => Gap::None,
            (T::RParen, T::LParen) => Gap::None,
            (T::Word, T::LParen) if self.kind(index + 1) == T::Star && self.in_type() => Gap::Space,
            (T::Word, T::LParen) => {
                if SPACED_WORDS.contains(&self.spelled(before)) {
                    Gap::Space
                } else {
                    Gap::None
                }
            }
            (T::RParen, _) if self.facts.closes_cast(before) => Gap::None,
            (T::PlusPlus | T::MinusMinus, _) if !self.postfix(before) => Gap::None,
            (_, T::PlusPlus | T::MinusMinus) if self.postfix(index) => Gap::None,
            (T::Star, _) if self.type_star(before) => {
                if matches!(right, T::Star | T::Word | T::LParen) {
                    Gap::None
                } else {
                    Gap::Space
                }
            }
            (_, T::Star) if self.type_star(index) => {
                if matches!(left, T::LParen) {
                    Gap::None
                } else {
                    Gap::Space
                }
            }
            // Two of these together would be another token.
            (T::Minus, T::Minus | T::MinusMinus) | (T::Plus, T::Plus | T::PlusPlus) | (T::Amp, T::Amp | T::AmpAmp) => {
                Gap::Space
            }
            (T::Minus | T::Star | T::Amp | T::Plus, _) if self.unary(before) => Gap::None,
            _ => Gap::Space,
        }
    }

    /// Inside C definitions and types every star makes a pointer.
    fn type_star(&self, index: usize) -> bool {
        self.facts.is_type_star(index) || self.in_type()
    }

    /// In a C definition.
    fn in_type(&self) -> bool {
        self.braces.last().is_some_and(|b| b.kind == Brace::Type)
            || self.braces.is_empty() && self.statement == Some("typedef")
    }

    /// `let $x`, `fn f($x` before a colon.
    fn declares(&self, before: usize) -> bool {
        self.kind(before) == T::Variable
            && (self.braces.is_empty() && self.statement == Some("fn")
                || self.before(before).is_some_and(|b| self.spelled(b) == "let"))
    }

    fn postfix(&self, index: usize) -> bool {
        self.before(index).is_some_and(|b| self.ends_value(b) && !self.fresh_at(index))
    }

    fn fresh_at(&self, index: usize) -> bool {
        self.before(index).is_none_or(|b| matches!(self.kind(b), T::Semicolon | T::LBrace | T::RBrace))
    }

    fn unary(&self, index: usize) -> bool {
        self.before(index).is_none_or(|b| !self.ends_value(b))
    }

    /// True for a token that can end a value.
    fn ends_value(&self, index: usize) -> bool {
        match self.kind(index) {
            T::Word => !SPACED_WORDS.contains(&self.spelled(index)),
            T::Int
            | T::Str
            | T::Variable
            | T::Positional
            | T::PositionalCount
            | T::Map
            | T::RBracket
            | T::PlusPlus
            | T::MinusMinus => true,
            T::RParen => !self.facts.closes_cast(index),
            _ => false,
        }
    }
}
