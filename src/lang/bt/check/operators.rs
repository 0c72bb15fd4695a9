//! Operators: both sides are brought to one type, which decides width and sign.

use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::codes::check::{CONSTANT_CONDITION, DISTINCT_POINTERS, NOT_ASSIGNABLE, OPERAND_TYPE};
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, ExprKind, Statement, StatementKind, UnaryOp, function_of};
use crate::lang::types::Type;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::literal::{boolean, constant, convert_scalar, settled, wrap};
use crate::lang::bt::check::operators::fold::{
    arithmetic, common_sign, comparable, compare_words, comparison, complement, flip, fold_texts, fold_wide,
    is_flexible, is_literal, wide_constant,
};
use crate::lang::bt::check::{coerce, frame, join, literal, maps, place, strict, type_text};

mod fold;

pub use crate::lang::bt::check::operators::fold::fold;
pub use crate::lang::bt::check::operators::fold::not;

pub fn binary(c: &mut Checker<'_>, op: ast::BinaryOp, a: &ast::Expr, b: &ast::Expr, span: Span) -> Expr {
    let literals = is_literal(a) && is_literal(b);
    let (a, b) = (c.value(a), c.value(b));
    if literals
        && comparison(op).is_none()
        && !matches!(op, ast::BinaryOp::And | ast::BinaryOp::Or)
        && let Some(folded) = fold_literals(c, arithmetic(op), &a, &b, span)
    {
        return folded;
    }
    if let Some(folded) = fold_texts(op, &a, &b, span) {
        if op == ast::BinaryOp::Add && matches!(&folded.kind, ExprKind::Str(text) if text.is_empty()) {
            c.warn(crate::lang::codes::check::EMPTY_TEXT, span, "literal string will always be empty", None);
        }
        return folded;
    }
    operate(c, op, a, b, span)
}

/// Applies an operator to typed operands.
pub fn operate(c: &mut Checker<'_>, op: ast::BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
    if matches!(op, ast::BinaryOp::And | ast::BinaryOp::Or) {
        let (a, b) = (Box::new(c.condition(a)), Box::new(c.condition(b)));
        let kind = if op == ast::BinaryOp::And { ExprKind::And(a, b) } else { ExprKind::Or(a, b) };
        return Expr::new(kind, Type::Bool, span);
    }
    if join::unknown(&a.ty) || join::unknown(&b.ty) {
        let ty = if comparison(op).is_some() { Type::Bool } else { Type::Error };
        return Expr::new(ExprKind::Int(0), ty, span);
    }
    if let Some(comparing) = comparison(op) {
        return compare(c, comparing, a, b, span);
    }
    let literals = literal::is_literal(&a) && literal::is_literal(&b);
    let result = calculate(c, arithmetic(op), a, b, span);
    if literals { result } else { settled(result) }
}

fn calculate(c: &mut Checker<'_>, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
    if matches!(a.ty, Type::Ptr { .. }) || matches!(b.ty, Type::Ptr { .. }) {
        return pointer_arithmetic(c, op, a, b, span);
    }
    integers(c, op, a, b, span)
}

/// Two literals make one; a result that no integer type holds is an error.
fn fold_literals(c: &mut Checker<'_>, op: BinaryOp, a: &Expr, b: &Expr, span: Span) -> Option<Expr> {
    if !matches!((&a.ty, &b.ty), (Type::Int { size: 8, .. }, Type::Int { size: 8, .. })) {
        return None;
    }
    let (x, y) = (wide_constant(a)?, wide_constant(b)?);
    match fold_wide(op, x, y) {
        Some(v) if v > i128::from(i64::MAX) => Some(Expr::new(ExprKind::Int(v as u64), Type::U64, span)),
        Some(v) => Some(Expr::new(ExprKind::Int(v as u64), Type::I64, span)),
        None => Some(c.error_expr(
            crate::lang::codes::check::OUT_OF_RANGE,
            span,
            "unable to fold literals due to overflow or underflow",
        )),
    }
}

fn integers(c: &mut Checker<'_>, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
    if matches!(op, BinaryOp::Div | BinaryOp::Mod) && b.ty == Type::Bool && b.as_int() == Some(0) {
        return c.error_expr(crate::lang::codes::check::OUT_OF_RANGE, span, "the divisor is always 0");
    }
    let (ta, tb) = (type_text::text(&c.types, &a.ty), type_text::text(&c.types, &b.ty));
    strict::warn_signed_division(c, op, &a, &b, span);
    strict::warn_operand_casts(c, &a, &b, op == BinaryOp::Sub);
    let flexible = (is_flexible(&a), is_flexible(&b));
    let (Some(a), Some(b)) = (coerce::integer(a), coerce::integer(b)) else {
        let message = format!("`{}` needs integers, here are {ta} and {tb}", op.symbol());
        return c.error_expr(OPERAND_TYPE, span, message);
    };
    if let (BinaryOp::Shl | BinaryOp::Shr, Some(n)) = (op, b.as_int().filter(|n| *n > 63)) {
        let message = format!("a shift by {} has no result: numbers have 64 bits", n as i64);
        return c.error_expr(crate::lang::codes::check::OUT_OF_RANGE, b.span, message);
    }
    let ty = match op {
        BinaryOp::Sub => Type::I64,
        BinaryOp::Shl | BinaryOp::Shr => a.ty.clone(),
        _ => common_sign(&a, &b, flexible),
    };
    let (a, b) = (convert_scalar(a, &ty), convert_scalar(b, &ty));
    fold(op, a, b, ty, span)
}

fn compare(c: &mut Checker<'_>, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
    let equality = matches!(op, BinaryOp::Eq | BinaryOp::Ne);
    warn_pointers(c, &a, &b, span);
    if equality && let Some(result) = compare_names(c, op, &a, &b, span) {
        return result;
    }
    if equality && let Some(result) = compare_words(op, &a, &b, span) {
        return result;
    }
    if a.ty.fits_register() && b.ty.fits_register() {
        return compare_scalars(c, op, a, b, span);
    }
    if equality && let Some(ty) = join::join(&join::infer_type(&a), &join::infer_type(&b)) {
        let ty = join::resolve(&ty);
        if comparable(&ty) {
            let (a, b) = (c.coerce(a, &ty), c.coerce(b, &ty));
            return Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), Type::Bool, span);
        }
    }
    if equality && matches!((&a.ty, &b.ty), (Type::Tuple(_), Type::Tuple(_))) {
        // Tuples of other types are other values.
        return boolean(op == BinaryOp::Ne, span);
    }
    let (ta, tb) = (type_text::text(&c.types, &a.ty), type_text::text(&c.types, &b.ty));
    let help = match (&a, &b) {
        (text, Expr { kind: ExprKind::Int(n), .. }) | (Expr { kind: ExprKind::Int(n), .. }, text)
            if matches!(text.ty, Type::Str { .. }) =>
        {
            Some(format!("text is compared with text: `\"{}\"`", *n as i64))
        }
        (Expr { ty: Type::Str { .. }, .. }, Expr { ty: Type::Ptr { .. }, .. })
        | (Expr { ty: Type::Ptr { .. }, .. }, Expr { ty: Type::Str { .. }, .. }) => {
            Some("turn an address into text with `str(...)` first".to_owned())
        }
        (Expr { ty: Type::Str { .. }, .. }, other) | (other, Expr { ty: Type::Str { .. }, .. })
            if other.ty.is_scalar() =>
        {
            Some("text is compared with text; an address is turned into text by `str(...)`".to_owned())
        }
        _ => None,
    };
    c.error_help(OPERAND_TYPE, span, format!("Type mismatch for '{}': comparing {ta} with {tb}", op.symbol()), help);
    Expr::new(ExprKind::Int(0), Type::Error, span)
}

fn compare_scalars(c: &mut Checker<'_>, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
    warn_constant(c, op, &a, &b, span);
    strict::warn_operand_casts(c, &a, &b, false);
    let flexible = (is_flexible(&a), is_flexible(&b));
    let (Some(a), Some(b)) = (coerce::integer(a), coerce::integer(b)) else { return Checker::error_value(span) };
    let ty = common_sign(&a, &b, flexible);
    let (a, b) = (convert_scalar(a, &ty), convert_scalar(b, &ty));
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int()) {
        let order = if ty.is_signed() { (x as i64).cmp(&(y as i64)) } else { x.cmp(&y) };
        let result = match op {
            BinaryOp::Eq => order.is_eq(),
            BinaryOp::Ne => order.is_ne(),
            BinaryOp::Lt => order.is_lt(),
            BinaryOp::Le => order.is_le(),
            BinaryOp::Gt => order.is_gt(),
            _ => order.is_ge(),
        };
        return boolean(result, span);
    }
    Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), Type::Bool, span)
}

/// `probe == "..."` and `func == "..."` compare with the names of the body's targets, which are known.
fn compare_names(c: &mut Checker<'_>, op: BinaryOp, a: &Expr, b: &Expr, span: Span) -> Option<Expr> {
    let (name, text) = match (&a.ty, &b.kind, &b.ty, &a.kind) {
        (Type::ProbeName | Type::FuncName, ExprKind::Str(s), ..) => (a, s.clone()),
        (_, _, Type::ProbeName | Type::FuncName, ExprKind::Str(s)) => (b, s.clone()),
        _ => return None,
    };
    let function = name.ty == Type::FuncName;
    let ids: Vec<u32> = (0..c.probe_names.len() as u32)
        .filter(|id| {
            let full = &*c.probe_names[*id as usize];
            let shown = if function { function_of(full) } else { full };
            shown == &*text || (!function && shown.eq_ignore_ascii_case(&text))
        })
        .collect();
    let mut result: Option<Expr> = None;
    for id in ids {
        let left = convert_scalar(name.clone(), &Type::U64);
        let right = Expr::new(ExprKind::Int(u64::from(id)), Type::U64, span);
        let equal = Expr::new(ExprKind::Binary(BinaryOp::Eq, Box::new(left), Box::new(right)), Type::Bool, span);
        result = Some(match result {
            None => equal,
            Some(before) => Expr::new(ExprKind::Or(Box::new(before), Box::new(equal)), Type::Bool, span),
        });
    }
    let result = result.unwrap_or_else(|| boolean(false, span));
    Some(if op == BinaryOp::Ne { not(result, span) } else { result })
}

/// A comparison whose answer is known from the types alone is probably a mistake.
fn warn_constant(c: &mut Checker<'_>, op: BinaryOp, a: &Expr, b: &Expr, span: Span) {
    let (value, literal, flipped) = match (a.as_int(), b.as_int()) {
        (None, Some(v)) => (a, b, (v, false)),
        (Some(v), None) => (b, a, (v, true)),
        _ => return,
    };
    let Type::Int { size, signed } = value.ty else { return };
    if literal.ty != Type::I64 && literal.ty != Type::U64 {
        return;
    }
    let wide = if literal.ty.is_signed() { i128::from(flipped.0 as i64) } else { i128::from(flipped.0) };
    let bits = u32::from(size) * 8;
    let (low, high) =
        if signed { (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1) } else { (0, (1_i128 << bits) - 1) };
    // 8-byte values against negative numbers are common for error codes in unsigned registers.
    if size == 8 && op != BinaryOp::Lt && op != BinaryOp::Ge {
        return;
    }
    let op = if flipped.1 { flip(op) } else { op };
    let answer = match op {
        BinaryOp::Eq if wide < low || wide > high => Some(false),
        BinaryOp::Ne if wide < low || wide > high => Some(true),
        BinaryOp::Lt if wide <= low => Some(false),
        BinaryOp::Ge if wide <= low => Some(true),
        BinaryOp::Gt if wide >= high => Some(false),
        BinaryOp::Le if wide >= high => Some(true),
        _ => None,
    };
    if let Some(answer) = answer {
        let ty = type_text::text(&c.types, &value.ty);
        c.warn(
            CONSTANT_CONDITION,
            span,
            format!("this comparison is always {answer}"),
            Some(format!("the value is {ty}: from {low} to {high}")),
        );
    }
}

fn pointer_arithmetic(c: &mut Checker<'_>, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
    let (pa, pb) = (matches!(a.ty, Type::Ptr { .. }), matches!(b.ty, Type::Ptr { .. }));
    if pa && pb && op == BinaryOp::Sub {
        let size = pointee_size(c, &a.ty);
        let (a, b) = (convert_scalar(a, &Type::I64), convert_scalar(b, &Type::I64));
        let bytes = fold(BinaryOp::Sub, a, b, Type::I64, span);
        return fold(BinaryOp::Div, bytes, constant(i64::from(size), span), Type::I64, span);
    }
    let (pointer, index) = if pa { (a, b) } else { (b, a) };
    let scaled = matches!(op, BinaryOp::Add) || (matches!(op, BinaryOp::Sub) && pa);
    // A sum of addresses, or a number less an address, is no number that means anything.
    let senseless = match op {
        BinaryOp::Add => pa && pb,
        BinaryOp::Sub => !pa,
        op => matches!(op, BinaryOp::Mul | BinaryOp::Shl),
    };
    if senseless {
        let (left, right) = if pa { (&pointer, &index) } else { (&index, &pointer) };
        let (left, right) = (type_text::text(&c.types, &left.ty), type_text::text(&c.types, &right.ty));
        let sign = op.symbol();
        let message = format!("The {sign} operator can not be used on expressions of types {left}, {right}");
        let help = "for the address as a number cast it: `(uint64)p`".to_owned();
        c.error_help(OPERAND_TYPE, span, message, Some(help));
        return Checker::error_value(span);
    }
    if pa && pb || !scaled {
        // Masks and the like are taken of the address.
        let ty = Type::U64;
        let (a, b) = if pa { (pointer, index) } else { (index, pointer) };
        let (a, b) = (convert_scalar(a, &ty), coerce::integer(b).map(|b| convert_scalar(b, &ty)));
        let Some(b) = b else { return c.error_expr(OPERAND_TYPE, span, "an address needs an integer here") };
        return fold(op, a, b, ty, span);
    }
    let size = pointee_size(c, &pointer.ty);
    let ty = pointer.ty.clone();
    let Some(index) = coerce::integer(index) else {
        return c.error_expr(OPERAND_TYPE, span, "only integers can be added to a pointer");
    };
    let index = convert_scalar(index, &Type::U64);
    let size = Expr::new(ExprKind::Int(u64::from(size)), Type::U64, span);
    let bytes = fold(BinaryOp::Mul, index, size, Type::U64, span);
    let sum = fold(op, convert_scalar(pointer, &Type::U64), bytes, Type::U64, span);
    convert_scalar(sum, &ty)
}

/// Bytes from one element to the next; 1 for `void *`.
fn pointee_size(c: &Checker<'_>, ty: &Type) -> u32 {
    match ty {
        Type::Ptr { to, .. } => c.size_of(to).max(1),
        _ => 1,
    }
}

pub fn unary(c: &mut Checker<'_>, op: ast::UnaryOp, operand: &ast::Expr, span: Span) -> Expr {
    match op {
        ast::UnaryOp::Deref => return place::dereference(c, operand, span),
        ast::UnaryOp::AddressOf => return place::address_of(c, operand, span),
        ast::UnaryOp::Neg | ast::UnaryOp::BitNot | ast::UnaryOp::Not => {}
    }
    let e = c.value(operand);
    if join::unknown(&e.ty) {
        return Checker::error_value(span);
    }
    if op == ast::UnaryOp::Not {
        let e = c.condition(e);
        return not(e, span);
    }
    let sign = if op == ast::UnaryOp::Neg { '-' } else { '~' };
    let (own, text) = (e.ty.clone(), type_text::text(&c.types, &e.ty));
    let flag_or_address = matches!(own, Type::Bool | Type::Ptr { .. });
    let Some(e) = coerce::integer(e).filter(|_| !flag_or_address) else {
        return c.error_expr(
            OPERAND_TYPE,
            span,
            format!("The {sign} operator can not be used on expressions of type '{text}'"),
        );
    };
    if op == ast::UnaryOp::BitNot {
        return complement(e, &own, span);
    }
    if e.as_int().is_some_and(|v| v > 1 << 63) && own == Type::U64 && matches!(operand.kind, ast::ExprKind::Int(..)) {
        return c.error_expr(crate::lang::codes::check::OUT_OF_RANGE, span, "negative value will underflow");
    }
    // The largest unsigned type has no signed one above it, but the smallest number is written so.
    let smallest = e.as_int() == Some(1 << 63) && matches!(operand.kind, ast::ExprKind::Int(..));
    // Unsigned values stay so, and as wide as they are.
    let narrow = match own {
        Type::Int { size: 1..=4, signed: false } if !literal::is_literal(&e) => Some(own.clone()),
        _ => None,
    };
    let ty = if own == Type::U64 && !smallest { Type::U64 } else { Type::I64 };
    let is_literal = literal::is_literal(&e);
    let e = convert_scalar(e, &ty);
    let kind = match e.as_int() {
        Some(v) => ExprKind::Int(v.wrapping_neg()),
        None => ExprKind::Unary(UnaryOp::Neg, Box::new(e)),
    };
    let negated = Expr::new(kind, ty, span);
    let negated = if is_literal { negated } else { settled(negated) };
    narrow.map_or(negated.clone(), |narrow| convert_scalar(negated, &narrow))
}

fn holds_pointers(c: &mut Checker<'_>, name: &Arc<str>, span: Span) -> bool {
    let id = c.maps.map_id(name, span);
    matches!(c.maps.get(id).value, Type::Ptr { .. })
}

/// `@p++` of a map of pointers: to the next element.
fn pointer_step(
    c: &mut Checker<'_>,
    name: &Arc<str>,
    keys: Option<&[ast::Expr]>,
    place: Span,
    sign: i64,
    postfix: bool,
    span: Span,
) -> Expr {
    let old = maps::map_get(c, name, keys, place);
    let ty = old.ty.clone();
    let before = c.frame.temporary(ty.clone(), span);
    let local = |id| Expr::new(ExprKind::Local(id), ty.clone(), span);
    let new = pointer_arithmetic(c, BinaryOp::Add, local(before), constant(sign, span), span);
    let after = c.frame.temporary(ty.clone(), span);
    let set = maps::set_map(c, name, keys, place, local(after));
    let statements = [StatementKind::SetLocal(before, old), StatementKind::SetLocal(after, new), set];
    let statements = statements.into_iter().map(|kind| Statement { kind, span }).collect();
    wrap(statements, local(if postfix { before } else { after }), span)
}

/// `++` and `--`.
pub fn step(c: &mut Checker<'_>, target: &ast::Expr, decrement: bool, postfix: bool, span: Span) -> Expr {
    let sign = if decrement { -1 } else { 1 };
    match &target.kind {
        ast::ExprKind::Variable(name) => {
            let e = frame::variable(c, name, target.span);
            let ExprKind::Local(local) = e.kind else { return Checker::error_value(span) };
            strict::counted(c, local);
            match &e.ty {
                Type::Error => Checker::error_value(span),
                Type::Int { .. } | Type::Ptr { .. } => {
                    let e = frame::widened(c, local, e, decrement, target.span);
                    let size = if let Type::Ptr { .. } = e.ty { i64::from(pointee_size(c, &e.ty)) } else { 1 };
                    Expr::new(ExprKind::LocalStep { local, delta: sign * size, postfix }, e.ty, span)
                }
                other => {
                    let text = type_text::text(&c.types, other);
                    c.error_expr(OPERAND_TYPE, span, format!("`{name}` is {text}, which can't be counted up"))
                }
            }
        }
        ast::ExprKind::Map(name, keys) if holds_pointers(c, name, target.span) => {
            pointer_step(c, name, keys.as_deref(), target.span, sign, postfix, span)
        }
        ast::ExprKind::Map(name, keys) => {
            maps::map_step(c, name, keys.as_deref(), target.span, constant(sign, span), postfix, span)
        }
        _ => c.error_expr(NOT_ASSIGNABLE, span, "only variables and maps can be counted up or down"),
    }
}

/// Pointers to different things are rarely the same.
fn warn_pointers(c: &mut Checker<'_>, a: &Expr, b: &Expr, span: Span) {
    let (Type::Ptr { to: left, .. }, Type::Ptr { to: right, .. }) = (&a.ty, &b.ty) else { return };
    let anything = |to: &Type| *to == Type::Void && !c.options.like_bpftrace;
    if left == right || anything(left) || anything(right) {
        return;
    }
    let (l, r) = (type_text::text(&c.types, left), type_text::text(&c.types, right));
    let message = format!("comparison of distinct pointer types: {l}, {r}");
    let warning = Diagnostic::warning(DISTINCT_POINTERS, span, message)
        .label(a.span, format!("left ({l})"))
        .label(b.span, format!("right ({r})"));
    c.push(warning);
}
