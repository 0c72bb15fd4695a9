//! Calls that the code generator knows, and arguments that don't fit.

use crate::lang::bt::ast;
use crate::lang::codes::check::{ARGUMENT_TYPE, OUT_OF_RANGE};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Intrinsic};
use crate::lang::types::Type;

use crate::lang::bt::check::checker::Checker;

/// One call as written.
#[derive(Clone, Copy)]
pub struct Call<'s> {
    /// The function's name.
    pub name: &'s ast::Name,
    /// Arguments.
    pub args: &'s [ast::Expr],
    /// All of it.
    pub span: Span,
}

pub fn bad_argument(c: &mut Checker<'_>, call: Call<'_>, span: Span, wanted: &str, have: &str) -> Expr {
    let message = format!("`{}` takes {wanted} here, this is {have}", call.name.text);
    c.error_expr(ARGUMENT_TYPE, span, message)
}

pub fn intrinsic(which: Intrinsic, args: Vec<Expr>, ty: Type, call: Call<'_>) -> Expr {
    if args.iter().any(|a| matches!(a.ty, Type::Error)) {
        return Expr::new(ExprKind::Int(0), Type::Error, call.span);
    }
    Expr::new(ExprKind::Call(which, args), ty, call.span)
}

pub fn out_of_range<T>(c: &mut Checker<'_>, call: Call<'_>, problem: String) -> Option<T> {
    c.error(OUT_OF_RANGE, call.span, problem);
    None
}

/// Frames that the kernel gives of a stack (`kernel.perf_event_max_stack`).
pub const MOST_FRAMES: u16 = 127;

/// Tells of a stack that is deeper than what the kernel gives.
pub fn warn_deep_stack(c: &mut Checker<'_>, depth: u16, span: Span) {
    if depth > MOST_FRAMES {
        let message = format!("a stack of {depth} frames is cut: the kernel gives {MOST_FRAMES} at most");
        c.warn(OUT_OF_RANGE, span, message, None);
    }
}
