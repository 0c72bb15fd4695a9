//! Constant texts.

use std::borrow::Cow;

use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::Type;
use crate::model::bytes::bytes_of;

/// The constant string behind an expression, casts to other strings looked through.
pub fn constant_text(e: &Expr) -> Option<Cow<'_, [u8]>> {
    match (&e.kind, &e.ty) {
        (ExprKind::Str(text), _) => Some(bytes_of(text)),
        (ExprKind::Cast(a), Type::Str { size }) => {
            let text = constant_text(a)?;
            let room = size.saturating_sub(1) as usize;
            Some(if text.len() > room { Cow::Owned(text[..room].to_vec()) } else { text })
        }
        _ => None,
    }
}
