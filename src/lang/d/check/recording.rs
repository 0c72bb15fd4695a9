//! What is kept for the clause's report, which is sent when the clause ends.

use super::checker::Checker;
use super::code::{BYTE, int, store, within};
use super::frame::Frame;
use super::value::Value;
use crate::lang::codes::d as tags;
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Statement};
use crate::lang::types::Type;
use crate::model::d::Item;

/// Values of a record that stay on the stack or in registers.
const ON_THE_STACK: usize = 8;

/// Notes that the clause records something.
pub fn records(c: &mut Checker<'_>, span: Span, data: bool) {
    if data && c.frame.commits {
        c.error(tags::D_DREC_COMM, span, "data-recording action may not follow commit( )");
    }
    c.frame.records = true;
}

/// Evaluates a value now, for the report at the clause's end; its index there.
pub fn keep(c: &mut Checker<'_>, e: Expr, out: &mut Vec<Statement>) -> usize {
    // Before the values stand the processor and the probe's number.
    let index = c.frame.values.len() + 1;
    let kept = match e.kind {
        ExprKind::Call(_, ref items) if items.is_empty() => e,
        ExprKind::Int(_) | ExprKind::Str(_) => e,
        _ if index > ON_THE_STACK && e.ty.fits_register() => set_aside(c, e, out),
        _ => c.kept(e, out),
    };
    c.frame.values.push(kept);
    index
}

/// Keeps a value in memory: the stack of a program has room for some.
fn set_aside(c: &mut Checker<'_>, e: Expr, out: &mut Vec<Statement>) -> Expr {
    let span = e.span;
    let known = c.frame.recorded;
    // How many bytes there are is known when the program is whole.
    let local = known.unwrap_or_else(|| c.local("%recorded", Type::Void));
    c.frame.recorded = Some(local);
    let (used, most) = c.frame.recorded_bytes;
    c.frame.recorded_bytes = (used + 8, most.max(used + 8));
    let place = within(local, int(i64::from(used), Type::U64, span), e.ty.clone());
    out.push(store(place.clone(), e));
    place
}

/// Gives the memory of recorded values its size.
pub fn size_of_recorded(frame: &mut Frame) {
    if let Some(local) = frame.recorded {
        let half = frame.recorded_bytes.1.next_power_of_two().max(64);
        frame.locals[local.0 as usize].ty = Type::Array { of: std::sync::Arc::new(BYTE), len: half * 2 };
    }
}

pub fn keep_item(c: &mut Checker<'_>, value: Value, out: &mut Vec<Statement>) {
    records(c, value.span(), true);
    let symbol = matches!(value.ty(), Type::KSym | Type::USym);
    let index = keep(c, value.e, out);
    c.frame.items.push(if symbol { Item::Symbol(index) } else { Item::Trace(index) });
}
