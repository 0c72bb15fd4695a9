//! What bpftrace warns of and what is rarely a mistake: told only where a script runs under its name.
//!
//! Its inference gives variables and maps that only literals are assigned to the smallest signed type that
//! holds these, while they have 8 bytes here. [`Told`] is the type that it would name.

use crate::lang::bt::ast;
use crate::lang::codes::check::{DEPRECATED, FOR_DEBUGGING, SIGNED_DIVISION, UNNECESSARY_CAST};
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, ExprKind, LocalId, MapId, UnaryOp};
use crate::lang::types::Type;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::frame::variables;
use crate::lang::bt::check::join::{LITERAL, infer_type, smallest};
use crate::lang::bt::check::literal::{element_types, is_literal};
use crate::lang::bt::check::maps::table::reduction;
use crate::lang::bt::check::type_text;

/// The type of a value as bpftrace infers it.
#[derive(PartialEq, Eq)]
struct Told {
    ty: Type,
    /// It is made of literals that are not negative: these take the other operand's sign.
    flexible: bool,
}

impl Told {
    fn of(inferred: &Type) -> Self {
        let flexible = matches!(inferred, Type::Int { size, signed: false } if size & LITERAL != 0);
        Self { ty: smallest(inferred), flexible }
    }

    fn signed(&self) -> bool {
        self.ty.is_signed()
    }

    /// Takes the other operand's sign where this one has none of its own.
    fn adapt(&mut self, other: &Self) {
        if let (true, false, Type::Int { signed, .. }) = (self.flexible, other.flexible, &mut self.ty) {
            *signed = other.ty.is_signed();
        }
    }
}

fn told(c: &Checker<'_>, e: &Expr) -> Told {
    Told::of(&inferred(c, e))
}

/// The type of a value, literals in it still flexible.
pub fn inferred(c: &Checker<'_>, e: &Expr) -> Type {
    match &e.kind {
        ExprKind::Local(id) => variables::inferred_local(c, *id).unwrap_or_else(|| e.ty.clone()),
        ExprKind::MapGet { map, .. } => inferred_map(c, *map),
        ExprKind::TupleField(base, at) => {
            let elements = element_types(&inferred(c, base)).unwrap_or_default();
            elements.into_iter().nth(*at as usize).unwrap_or_else(|| e.ty.clone())
        }
        _ => infer_type(e),
    }
}

/// The type of a map's values, as numbers where they are aggregations.
pub fn inferred_map(c: &Checker<'_>, id: MapId) -> Type {
    let map = c.maps.get(id);
    match &map.value {
        Type::Agg(agg) => reduction(*agg).unwrap_or_else(|| map.value.clone()),
        Type::Int { size, .. } if size & LITERAL != 0 && map.stepped => Type::I64,
        ty => ty.clone(),
    }
}

/// Division of numbers that may be negative: bpftrace divides them as if they could not.
pub fn warn_signed_division(c: &mut Checker<'_>, op: BinaryOp, a: &Expr, b: &Expr, span: Span) {
    if !matches!(op, BinaryOp::Div | BinaryOp::Mod) {
        return;
    }
    if !c.options.like_bpftrace {
        return note_rounding(c, op, a, b, span);
    }
    let (mut left, mut right) = (told(c, a), told(c, b));
    left.adapt(&right);
    right.adapt(&left);
    if left.ty == right.ty || !(left.signed() || right.signed()) {
        return;
    }
    let sign = if op == BinaryOp::Div { '/' } else { '%' };
    let message =
        format!("signed operands for '{sign}' can lead to undefined behavior (cast to unsigned to silence warning)");
    c.warn(SIGNED_DIVISION, span, message, None);
}

/// A negative number divides here as in C, and in bpftrace otherwise. Differences of times are signed, too, and hardly
/// ever negative: only what is negative in the script's text, or comes signed from the kernel, is worth a word.
fn note_rounding(c: &mut Checker<'_>, op: BinaryOp, a: &Expr, b: &Expr, span: Span) {
    let text = match op {
        BinaryOp::Div if may_be_negative(c, a) || may_be_negative(c, b) => {
            "`/` of a negative number rounds towards zero, as in C: -7 / 2 is -3; bpftrace gives -4"
        }
        BinaryOp::Mod if may_be_negative(c, a) => {
            "`%` of a negative number has its sign, as in C: -7 % 3 is -1; bpftrace gives 0"
        }
        _ => return,
    };
    let help = "cast it where it is never negative: `(uint64)x`".to_owned();
    c.warn(SIGNED_DIVISION, span, text, Some(help));
}

fn may_be_negative(c: &Checker<'_>, e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Int(n) => e.ty.is_signed() && (*n as i64) < 0,
        ExprKind::Unary(UnaryOp::Neg, _) => e.ty.is_signed(),
        ExprKind::Field { .. } | ExprKind::Builtin(_) => matches!(e.ty, Type::Int { signed: true, .. }),
        // Of variables those that a negative literal was given.
        ExprKind::Local(id) => {
            matches!(variables::inferred_local(c, *id), Some(Type::Int { size, signed: true }) if size & LITERAL != 0)
        }
        ExprKind::Cast(inner) => e.ty.is_signed() && may_be_negative(c, inner),
        _ => false,
    }
}

/// Two operands are brought to one type.
pub fn warn_operand_casts(c: &mut Checker<'_>, a: &Expr, b: &Expr, difference: bool) {
    if !c.options.like_bpftrace {
        return;
    }
    let (mut left, mut right) = (told(c, a), told(c, b));
    left.adapt(&right);
    right.adapt(&left);
    if difference || (left.ty != right.ty && (left.signed() || right.signed())) {
        warn_cast(c, a, &Type::I64);
        warn_cast(c, b, &Type::I64);
    }
}

/// A value is brought to another type without being asked.
pub fn warn_cast(c: &mut Checker<'_>, e: &Expr, to: &Type) {
    if !c.options.like_bpftrace || is_literal(e) || is_aggregation(c, e) {
        return;
    }
    if let (ExprKind::Tuple(items), Some(wanted)) = (&e.kind, element_types(to)) {
        for (item, to) in items.iter().zip(&wanted) {
            warn_cast(c, item, to);
        }
        return;
    }
    let is = told(c, e);
    if is.flexible || fits(&is.ty, to) {
        return;
    }
    let (is, to) = (type_text::text(&c.types, &is.ty), type_text::text(&c.types, to));
    let message = format!(
        "Expression of type: {is} being cast to type: {to}. This may cause unexpected results. Use an explicit \
         cast to suppress this warning."
    );
    let span = cast_mark(c, e.span);
    c.warn(crate::lang::codes::check::CUT_NUMBER, span, message, None);
}

/// An aggregation that is read as a number.
fn is_aggregation(c: &Checker<'_>, e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::MapGet { map, .. } if matches!(c.maps.get(*map).value, Type::Agg(_)))
}

pub fn warn_unnecessary_cast(c: &mut Checker<'_>, value: &Expr, wanted: &Type, span: Span) {
    if is_aggregation(c, value) || matches!(value.kind, ExprKind::Int(_)) && value.ty == Type::Bool {
        return;
    }
    let is = told(c, value).ty;
    let same = match (&is, wanted) {
        (Type::Ptr { to, .. }, Type::Ptr { to: other, .. }) => to == other,
        (is, wanted) => is == wanted && matches!(is, Type::Int { .. } | Type::Bool),
    };
    if !c.options.like_bpftrace || !same {
        return;
    }
    let message = format!("Unnecessary cast: expression is already of type {}", type_text::text(&c.types, &is));
    let mark = cast_mark(c, span);
    c.warn(UNNECESSARY_CAST, mark, message, None);
}

/// Of a cast the type alone, with its parentheses; other places as they are.
fn cast_mark(c: &Checker<'_>, span: Span) -> Span {
    let text = c.source.text.get(span.start as usize..span.end as usize).unwrap_or("");
    match text.find(')') {
        Some(end) if text.starts_with('(') => Span::new(span.start, span.start + end as u32 + 1),
        _ => span,
    }
}

/// A statement's place with the semicolon behind it, as bpftrace marks statements.
pub fn whole_statement(c: &Checker<'_>, span: Span) -> Span {
    let behind = c.source.text.get(span.end as usize..).unwrap_or("");
    let blank = behind.len() - behind.trim_start().len();
    let closed = behind.trim_start().starts_with(';');
    if c.options.like_bpftrace && closed { Span::new(span.start, span.end + blank as u32 + 1) } else { span }
}

/// Of a value that is thrown away what bpftrace marks: the semicolon too, but for what begins with a variable or a
/// map and for what ends its block.
pub fn discarded_mark(c: &Checker<'_>, span: Span) -> Span {
    let whole = whole_statement(c, span);
    let text = |from: u32| c.source.text.get(from as usize..).unwrap_or("").trim_start();
    if text(span.start).starts_with(['$', '@']) || text(whole.end).starts_with('}') { span } else { whole }
}

/// `debugf`, which is slow and writes into one pipe with everybody else.
pub fn warn_debugging(c: &mut Checker<'_>, span: Span) {
    if c.options.like_bpftrace {
        let message = "The debugf() builtin is not recommended for production use. For more information see \
                       bpf_trace_printk in bpf-helpers(7).";
        c.warn(FOR_DEBUGGING, span, message, None);
    }
}

/// `while`, which bpftrace gives up in favour of `for`.
pub fn warn_while(c: &mut Checker<'_>, span: Span) {
    if c.options.like_bpftrace {
        let help = "For loops support ranges (e.g. `for ($x : $start..$end) { ... }`), and can be used in place of \
                    while. These are more easily proven to be bounded by the verifier.";
        let message = "While loops are deprecated and may be removed in the future.";
        c.warn(DEPRECATED, span, message, Some(help.into()));
    }
}

/// `$x++` gives a variable its value, which bpftrace does not take it for.
pub fn counted(c: &mut Checker<'_>, id: LocalId) {
    if !c.options.like_bpftrace
        && let Some(local) = c.frame.locals.get_mut(id.0 as usize)
    {
        local.empty = false;
    }
}

/// Of `$x /= e` what bpftrace marks: from the operator on. Others see the whole.
pub fn compound_mark(c: &Checker<'_>, target: Span, value: &ast::Expr, whole: Span) -> Span {
    if !c.options.like_bpftrace {
        return whole;
    }
    let (from, to) = (target.end, value.span.end);
    let text = c.source.text.get(from as usize..to as usize).unwrap_or("");
    let blank = text.len() - text.trim_start().len();
    Span::new(from + blank as u32, to.max(from))
}

/// Whether an integer type holds all values of another.
fn fits(from: &Type, to: &Type) -> bool {
    match (from, to) {
        (Type::Int { size, signed }, Type::Int { size: wide, signed: sign }) => {
            if signed == sign {
                size <= wide
            } else {
                !signed && size < wide
            }
        }
        _ => true,
    }
}
