//! Implicit conversions: a value brought to the type that its place has.

use crate::lang::codes::check::{NOT_A_CONDITION, TYPE_MISMATCH};
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Block, Expr, ExprKind, Intrinsic, Statement, StatementKind};
use crate::lang::types::Type;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::join::join;
use crate::lang::bt::check::literal::{as_text, boolean, convert_scalar, element_types};
use crate::lang::bt::check::type_text;

impl Checker<'_> {
    /// Converts without asking whether it makes sense: `to` is a join of the value's type.
    pub fn coerce(&mut self, e: Expr, to: &Type) -> Expr {
        if e.ty == *to || matches!(e.ty, Type::Error) || matches!(to, Type::Error | Type::Void) {
            return e;
        }
        if e.ty == Type::FuncName && matches!(to, Type::KSym | Type::USym) {
            // The function's name where others store addresses: its own address.
            return Expr::new(ExprKind::Call(Intrinsic::FuncAddress, Vec::new()), to.clone(), e.span);
        }
        if e.ty.is_symbolic_number() && matches!(to, Type::Str { .. }) {
            let text = as_text(e);
            return self.coerce(text, to);
        }
        if to.fits_register() && e.ty.fits_register() {
            return convert_scalar(e, to);
        }
        if let (Type::Record(have), Type::Record(wanted)) = (&e.ty, to)
            && have.len() == wanted.len()
            && have.iter().zip(wanted.iter()).any(|((a, _), (b, _))| a != b)
        {
            return reorder(self, e, to);
        }
        let elements: Option<Vec<Type>> = element_types(to);
        if let (Some(wanted), Some(have)) = (elements, element_types(&e.ty))
            && wanted.len() == have.len()
        {
            return coerce_elements(self, e, &wanted, to);
        }
        let span = e.span;
        Expr::new(ExprKind::Cast(Box::new(e)), to.clone(), span)
    }

    /// A value as a condition: a scalar.
    pub fn condition(&mut self, e: Expr) -> Expr {
        match &e.ty {
            Type::Error => e,
            t if t.is_scalar() => e,
            // No word is empty.
            t if t.is_symbolic_number() => boolean(true, e.span),
            t if t.fits_register() => convert_scalar(e, &Type::U64),
            Type::Str { .. } => {
                let span = e.span;
                let empty = Expr::new(ExprKind::Str("".into()), Type::Str { size: 1 }, span);
                let empty = self.coerce(empty, &e.ty.clone());
                Expr::new(ExprKind::Binary(BinaryOp::Ne, Box::new(e), Box::new(empty)), Type::Bool, span)
            }
            _ => {
                let ty = type_text::text(&self.types, &e.ty);
                let span = e.span;
                self.error_help(
                    NOT_A_CONDITION,
                    span,
                    format!("{ty} is neither true nor false"),
                    Some(if matches!(e.ty, Type::Record(_)) {
                        "`(name = value)` makes a record; to compare write `==`".into()
                    } else {
                        "compare it with something".into()
                    }),
                );
                Self::error_value(span)
            }
        }
    }
}

/// A record with its fields in another order. It is made first, so that its parts are computed in
/// the order of the text.
fn reorder(c: &mut Checker<'_>, e: Expr, to: &Type) -> Expr {
    let (whole, span) = (e.ty.clone(), e.span);
    let (Type::Record(have), Type::Record(wanted)) = (&whole, to) else { return e };
    let local = c.frame.temporary(whole.clone(), span);
    let set = Statement { kind: StatementKind::SetLocal(local, e), span };
    let mut items = Vec::with_capacity(wanted.len());
    for (name, ty) in wanted.iter() {
        let Some(at) = have.iter().position(|(n, _)| n == name) else { return Checker::error_value(span) };
        let base = Expr::new(ExprKind::Local(local), whole.clone(), span);
        let item = Expr::new(ExprKind::TupleField(Box::new(base), at as u32), have[at].1.clone(), span);
        items.push(c.coerce(item, ty));
    }
    let record = Expr::new(ExprKind::Tuple(items), to.clone(), span);
    Expr::new(ExprKind::Block(Block::new(vec![set]), Box::new(record)), to.clone(), span)
}

fn coerce_elements(c: &mut Checker<'_>, e: Expr, wanted: &[Type], to: &Type) -> Expr {
    let span = e.span;
    if let ExprKind::Tuple(items) = e.kind {
        let items = items.into_iter().zip(wanted).map(|(item, ty)| c.coerce(item, ty)).collect();
        return Expr::new(ExprKind::Tuple(items), to.clone(), span);
    }
    let have = element_types(&e.ty).unwrap_or_default();
    let whole = e.ty.clone();
    let local = c.frame.temporary(whole.clone(), span);
    let set = Statement { kind: StatementKind::SetLocal(local, e), span };
    let items = have
        .iter()
        .zip(wanted)
        .enumerate()
        .map(|(i, (ty, wanted))| {
            let base = Expr::new(ExprKind::Local(local), whole.clone(), span);
            let item = Expr::new(ExprKind::TupleField(Box::new(base), i as u32), ty.clone(), span);
            c.coerce(item, wanted)
        })
        .collect();
    let tuple = Expr::new(ExprKind::Tuple(items), to.clone(), span);
    Expr::new(ExprKind::Block(Block::new(vec![set]), Box::new(tuple)), to.clone(), span)
}

/// Converts where an assignment may; else reports by `message(from, to)`.
pub fn coerce_or_report(
    c: &mut Checker<'_>,
    e: Expr,
    to: &Type,
    message: impl FnOnce(String, String) -> String,
) -> Expr {
    coerce_or_report_at(c, e, to, None, message)
}

/// As [`Self::coerce_or_report`], with the report at another place than the value.
pub fn coerce_or_report_at(
    c: &mut Checker<'_>,
    e: Expr,
    to: &Type,
    place: Option<Span>,
    message: impl FnOnce(String, String) -> String,
) -> Expr {
    if matches!(e.ty, Type::Error) || matches!(to, Type::Error) {
        return e;
    }
    let fits = match join(&e.ty, to) {
        Some(_) => true,
        None => e.ty.is_scalar() && to.is_scalar(),
    };
    if fits {
        return c.coerce(e, to);
    }
    let (from, wanted) = (type_text::text(&c.types, &e.ty), type_text::text(&c.types, to));
    c.error_expr(TYPE_MISMATCH, place.unwrap_or(e.span), message(from, wanted))
}

/// A value as an integer of 8 bytes, of its own signedness.
pub fn integer(e: Expr) -> Option<Expr> {
    let to = match &e.ty {
        Type::Error => return Some(e),
        t if t.is_signed() => Type::I64,
        t if t.fits_register() => Type::U64,
        Type::Array { of, len } if matches!(**of, Type::Int { size: 1, .. }) && matches!(len, 1 | 2 | 4 | 8) => {
            let (span, size) = (e.span, *len as u8);
            let narrow = Expr::new(ExprKind::Cast(Box::new(e)), Type::Int { size, signed: false }, span);
            return Some(convert_scalar(narrow, &Type::U64));
        }
        _ => return None,
    };
    Some(convert_scalar(e, &to))
}
