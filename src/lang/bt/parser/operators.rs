//! Binary operators and their strength.

use crate::lang::bt::ast::BinaryOp;
use crate::lang::bt::lexer::TokenKind as T;

/// The operator of a token and its strength, C's: 1 (`||`) to 10 (`*`).
pub fn binary(kind: T) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        T::PipePipe => (BinaryOp::Or, 1),
        T::AmpAmp => (BinaryOp::And, 2),
        T::Pipe => (BinaryOp::BitOr, 3),
        T::Caret => (BinaryOp::BitXor, 4),
        T::Amp => (BinaryOp::BitAnd, 5),
        T::Eq => (BinaryOp::Eq, 6),
        T::Ne => (BinaryOp::Ne, 6),
        T::Le => (BinaryOp::Le, 7),
        T::Ge => (BinaryOp::Ge, 7),
        T::Lt => (BinaryOp::Lt, 7),
        T::Gt => (BinaryOp::Gt, 7),
        T::Shl => (BinaryOp::Shl, 8),
        T::Shr => (BinaryOp::Shr, 8),
        T::Plus => (BinaryOp::Add, 9),
        T::Minus => (BinaryOp::Sub, 9),
        T::Star => (BinaryOp::Mul, 10),
        T::Slash => (BinaryOp::Div, 10),
        T::Percent => (BinaryOp::Mod, 10),
        _ => return None,
    })
}

/// Operators that other languages write as words: the sign for it here, and what [`binary`] says of that.
pub fn worded(word: &str) -> Option<(&'static str, (BinaryOp, u8))> {
    let (sign, kind) = match word {
        "and" => ("&&", T::AmpAmp),
        "or" => ("||", T::PipePipe),
        _ => return None,
    };
    binary(kind).map(|op| (sign, op))
}
