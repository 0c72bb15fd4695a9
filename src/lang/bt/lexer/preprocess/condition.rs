//! The value of an `#if` condition.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

use super::super::cursor::Cursor;
use super::super::literal::decode_int;
use super::super::token::{Token, TokenKind};

type Value = Result<i64, &'static str>;

/// How deep conditions may nest.
const DEPTH_LIMIT: u32 = 64;
/// How many values one condition may look at, all its names resolved.
const STEP_LIMIT: u32 = 10_000;

/// Evaluates the condition in `range` of `text`; names that are not defined are 0.
pub(super) fn evaluate(text: &str, range: Range<usize>, defines: &HashMap<String, Vec<Token>>) -> Value {
    let tokens = super::line_tokens(Cursor::within(text, range.start, range.end));
    Evaluator { text, tokens: &tokens, defines, at: 0, depth: 0, steps: &Cell::new(0) }.all()
}

struct Evaluator<'a> {
    text: &'a str,
    tokens: &'a [Token],
    defines: &'a HashMap<String, Vec<Token>>,
    at: usize,
    depth: u32,
    steps: &'a Cell<u32>,
}

impl<'a> Evaluator<'a> {
    fn all(mut self) -> Value {
        let value = self.binary(0)?;
        if self.at < self.tokens.len() { Err("this condition has text after its end") } else { Ok(value) }
    }

    fn kind(&self) -> Option<TokenKind> {
        self.tokens.get(self.at).map(|t| t.kind)
    }

    fn take(&mut self) -> Option<(TokenKind, &'a str)> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        Some((token.kind, self.text.get(token.text.start as usize..token.text.end as usize).unwrap_or("")))
    }

    fn accept(&mut self, kind: TokenKind) -> bool {
        let there = self.kind() == Some(kind);
        self.at += usize::from(there);
        there
    }

    fn binary(&mut self, least: u8) -> Value {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err("this condition is nested too deep");
        }
        let mut left = self.unary()?;
        while let Some((kind, strength)) = self.kind().and_then(|k| strength(k).map(|s| (k, s))) {
            if strength < least {
                break;
            }
            self.at += 1;
            let right = self.binary(strength + 1)?;
            left = apply(kind, left, right)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn unary(&mut self) -> Value {
        let mut operators = Vec::new();
        while let Some(kind @ (TokenKind::Bang | TokenKind::Minus | TokenKind::Tilde | TokenKind::Plus)) = self.kind() {
            operators.push(kind);
            self.at += 1;
        }
        let mut value = self.primary()?;
        for operator in operators.into_iter().rev() {
            value = match operator {
                TokenKind::Bang => i64::from(value == 0),
                TokenKind::Minus => value.wrapping_neg(),
                TokenKind::Tilde => !value,
                _ => value,
            };
        }
        Ok(value)
    }

    fn primary(&mut self) -> Value {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > STEP_LIMIT {
            return Err("this condition's names stand for too much text");
        }
        match self.take() {
            Some((TokenKind::Int, text)) => {
                decode_int(text).map(|v| v as i64).map_err(|_| "this condition holds a malformed integer")
            }
            Some((TokenKind::Word, "defined")) => self.defined(),
            Some((TokenKind::Word, name)) => self.name(name),
            Some((TokenKind::LParen, _)) => {
                let value = self.binary(0)?;
                if self.accept(TokenKind::RParen) { Ok(value) } else { Err("a `)` is missing in this condition") }
            }
            _ => Err("this condition is incomplete"),
        }
    }

    fn defined(&mut self) -> Value {
        let parenthesised = self.accept(TokenKind::LParen);
        let Some((TokenKind::Word, name)) = self.take() else { return Err("`defined` needs a name") };
        let known = self.defines.contains_key(name);
        if parenthesised && !self.accept(TokenKind::RParen) {
            return Err("a `)` is missing in this condition");
        }
        Ok(i64::from(known))
    }

    fn name(&mut self, name: &str) -> Value {
        if self.kind() == Some(TokenKind::LParen) {
            return Err("functions are not known in conditions");
        }
        let Some(tokens) = self.defines.get(name) else { return Ok(0) };
        if tokens.is_empty() {
            return Ok(0);
        }
        if self.depth >= DEPTH_LIMIT {
            return Err("this condition's names refer to each other");
        }
        Evaluator { text: self.text, tokens, defines: self.defines, at: 0, depth: self.depth + 1, steps: self.steps }
            .all()
    }
}

fn strength(kind: TokenKind) -> Option<u8> {
    use TokenKind as T;
    Some(match kind {
        T::PipePipe => 1,
        T::AmpAmp => 2,
        T::Pipe => 3,
        T::Caret => 4,
        T::Amp => 5,
        T::Eq | T::Ne => 6,
        T::Lt | T::Le | T::Gt | T::Ge => 7,
        T::Shl | T::Shr => 8,
        T::Plus | T::Minus => 9,
        T::Star | T::Slash | T::Percent => 10,
        _ => return None,
    })
}

fn apply(kind: TokenKind, a: i64, b: i64) -> Value {
    use TokenKind as T;
    Ok(match kind {
        T::PipePipe => i64::from(a != 0 || b != 0),
        T::AmpAmp => i64::from(a != 0 && b != 0),
        T::Pipe => a | b,
        T::Caret => a ^ b,
        T::Amp => a & b,
        T::Eq => i64::from(a == b),
        T::Ne => i64::from(a != b),
        T::Lt => i64::from(a < b),
        T::Le => i64::from(a <= b),
        T::Gt => i64::from(a > b),
        T::Ge => i64::from(a >= b),
        T::Shl => a.wrapping_shl(b as u32),
        T::Shr => a.wrapping_shr(b as u32),
        T::Plus => a.wrapping_add(b),
        T::Minus => a.wrapping_sub(b),
        T::Star => a.wrapping_mul(b),
        T::Slash => a.checked_div(b).ok_or("this condition divides by zero")?,
        _ => a.checked_rem(b).ok_or("this condition divides by zero")?,
    })
}
