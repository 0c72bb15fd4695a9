//! Expressions.

use super::checker::Checker;
use super::code::{block, cast, choose, constant_text, effect, int, int64, negated, not, read_as, set, store};
use super::declarations::tagged;
use super::members::is_of_aggregation;
use super::operators::known;
use super::value::{Target, Value, as_condition, decay, error_value, is_int, is_scalar, is_text, whole, word};
use super::variables::Scope;
use super::{aggregations, calls, declarations, indexing, members, operators, scratch, translators, variables};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Binary, Expr as Ast, ExprKind as Kind, Literal, Name, Unary};
use crate::lang::diagnostic::Code;
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Statement, UnaryOp};
use crate::lang::types::{AddressSpace, Type};

/// The type of an integer constant.
fn literal_type(l: Literal) -> Type {
    let fits_int = i32::try_from(l.value).is_ok();
    let (size, signed) = match (l.unsigned, l.long, fits_int) {
        (false, false, true) => (4, true),
        (true, false, _) if u32::try_from(l.value).is_ok() => (4, false),
        (false, false, _) if !l.decimal && u32::try_from(l.value).is_ok() => (4, false),
        (true, ..) => (8, false),
        (false, ..) => (8, i64::try_from(l.value).is_ok()),
    };
    Type::Int { size, signed }
}

impl Checker<'_> {
    pub fn expr(&mut self, e: &Ast) -> Value {
        let span = e.span;
        match &e.kind {
            Kind::Error | Kind::Empty => error_value(span),
            Kind::Int(l) => Value { constant: true, ..Value::new(int(l.value as i64, literal_type(*l), span)) },
            Kind::Str(text) => {
                let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
                let end = end.min(self.options.strsize as usize);
                Value::new(literal(self, &text[..end], span))
            }
            Kind::Ident(name) => variables::identifier(self, name, span),
            Kind::Aggregation(name) => {
                if self.variables.aggregates.contains_key(name) {
                    self.error(tags::D_OP_INCOMPAT, span, format!("the aggregation {name} may not be used as a value"));
                } else {
                    self.error(tags::D_IDENT_UNDEF, span, format!("failed to resolve {name}: unknown aggregation"));
                }
                error_value(span)
            }
            Kind::Unary(op, a) => unary(self, *op, a, span),
            Kind::Binary(Binary::Comma, a, b) => {
                let first = self.expr(a);
                let second = self.expr(b);
                let effect = Statement { span, ..effect(first.e) };
                Value::new(block(vec![effect], second.e))
            }
            Kind::Binary(op, a, b) => operators::binary_expr(self, *op, a, b, span),
            Kind::Assign(op, a, b) => assignment(self, *op, a, b, span),
            Kind::Conditional(c, a, b) => conditional(self, c, a, b, span),
            Kind::Index(base, items) => indexing::index(self, base, items, span),
            Kind::Call(f, items) => calls::call_expr(self, f, items, span),
            Kind::Member { base, arrow, name } => members::member(self, base, *arrow, name, span),
            Kind::Step { operand, increment, postfix } => step(self, operand, *increment, *postfix, span),
            Kind::Cast(ty, a) => cast_expr(self, ty, a, span),
            Kind::SizeofType(ty) => {
                let found = declarations::type_name(self, ty);
                sizeof(self, &found, span)
            }
            Kind::SizeofExpr(a) => sizeof_expr(self, a, span),
            Kind::Offsetof(ty, name) => offsetof(self, ty, name, span),
            Kind::Xlate(ty, a) => translators::xlate(self, ty, a, span),
        }
    }

    pub fn deref(&mut self, value: Value, span: Span) -> Value {
        let value = match value.ty() {
            Type::Array { .. } => Value::new(decay(value)),
            _ => value,
        };
        match value.ty().clone() {
            Type::Ptr { to, .. } if *to == Type::Void => {
                self.wrong(tags::D_DEREF_VOID, span, "cannot dereference a pointer to type void")
            }
            Type::Ptr { to, space } => {
                let writable = self.uses_scratch && space == AddressSpace::Kernel && !self.only_address;
                let mut before = Vec::new();
                let (read, written) =
                    if writable { self.twice(value.e, &mut before) } else { (value.e.clone(), value.e) };
                let target = writable.then(|| scratch::writable(self, written, &to, span));
                let size = self.size_of(&to);
                let pointer = self.read_pointer(read, size, writable);
                Value {
                    target,
                    before,
                    ..Value::new(Expr::new(ExprKind::Deref(Box::new(pointer)), (*to).clone(), span))
                }
            }
            other => {
                let text = self.type_text(&other);
                self.wrong(tags::D_DEREF_NONPTR, span, format!("cannot dereference a value of type {text}"))
            }
        }
    }
}

fn unary(c: &mut Checker<'_>, op: Unary, a: &Ast, span: Span) -> Value {
    if op == Unary::AddressOf {
        return address_of_expr(c, a, span);
    }
    let new =
        matches!(op, Unary::Not | Unary::Plus | Unary::Negate | Unary::BitNot).then(|| variables::first_asked(c, a));
    let value = new.flatten().unwrap_or_else(|| c.expr(a));
    if value.is_error() {
        return value;
    }
    let ty = value.ty().clone();
    match op {
        Unary::Deref => c.deref(value, span),
        Unary::Stringof => {
            if !is_text(&ty) && !is_scalar(&ty) {
                let text = c.type_text(&ty);
                return c.wrong(
                    tags::D_STRINGOF_TYPE,
                    span,
                    format!("cannot apply stringof to a value of type {text}"),
                );
            }
            let text = c.text(value.e);
            Value::new(text)
        }
        Unary::Not => {
            if !is_scalar(&ty) {
                return c.wrong(tags::D_OP_SCALAR, span, "operator ! requires an operand of scalar type");
            }
            if let Some(n) = value.e.as_int() {
                return known(n == 0, value.constant, span);
            }
            let condition = as_condition(value);
            Value::new(cast(not(condition), &Type::I32))
        }
        Unary::Plus | Unary::Negate | Unary::BitNot => {
            if !is_int(&ty) {
                let tag = if op == Unary::BitNot { tags::D_OP_INT } else { tags::D_OP_ARITH };
                return c.wrong(tag, span, format!("operator {} requires an operand of integral type", op.sign()));
            }
            let promoted = operators::promoted(&ty);
            let constant = value.constant;
            let whole = whole(&value);
            let e = cast(value.e, &promoted);
            let e = match (op, e.as_int()) {
                (Unary::Plus, _) => e,
                (Unary::Negate, Some(n)) => cast(int64((n as i64).wrapping_neg(), span), &promoted),
                (_, Some(n)) => cast(int64(!(n as i64), span), &promoted),
                (Unary::Negate, _) => {
                    let whole = Expr { span, ..negated(whole) };
                    let wide = Some(Box::new(whole.clone()));
                    return Value { wide, ..Value::new(cast(whole, &promoted)) };
                }
                _ => Expr::new(ExprKind::Unary(UnaryOp::BitNot, Box::new(e)), promoted, span),
            };
            Value { constant, ..Value::new(e) }
        }
        Unary::AddressOf => value,
    }
}

fn address_of_expr(c: &mut Checker<'_>, a: &Ast, span: Span) -> Value {
    if matches!(a.kind, Kind::Aggregation(_)) {
        return c.wrong(tags::D_ADDROF_VAR, span, "cannot take the address of an aggregation");
    }
    let outer = std::mem::replace(&mut c.only_address, true);
    let value = c.expr(a);
    c.only_address = outer;
    if value.is_error() {
        return value;
    }
    if value.bits.is_some() {
        return c.wrong(tags::D_ADDROF_BITFIELD, span, "cannot take the address of a bit-field");
    }
    let space = AddressSpace::Kernel;
    let ty = Type::Ptr { to: std::sync::Arc::new(value.ty().clone()), space };
    match (&value.e.kind, &value.target) {
        (ExprKind::Deref(pointer), _) => Value::new(cast((**pointer).clone(), &ty)),
        (ExprKind::Field { .. } | ExprKind::Index { .. }, _) => {
            Value::new(Expr::new(ExprKind::AddressOf(Box::new(value.e)), ty, span))
        }
        (_, Some(Target::Local(_) | Target::Map(..))) | (ExprKind::Builtin(_), _) => {
            c.wrong(tags::D_ADDROF_VAR, span, "cannot take the address of a dynamic variable")
        }
        _ => c.wrong(tags::D_ADDROF_LVAL, span, "operator & requires an lvalue operand"),
    }
}

fn conditional(c: &mut Checker<'_>, asked: &Ast, a: &Ast, b: &Ast, span: Span) -> Value {
    let condition = c.expr(asked);
    if !condition.is_error() && !is_scalar(condition.ty()) {
        c.error(tags::D_OP_SCALAR, asked.span, "operator ?: expression must be of scalar type");
    }
    let (x, y) = (c.expr(a), c.expr(b));
    if x.is_error() || y.is_error() || condition.is_error() {
        return error_value(span);
    }
    if *x.ty() == Type::Void && *y.ty() == Type::Void {
        return c.wrong(tags::D_OP_ACT, span, "an action can't be used in a conditional context");
    }
    let (chosen, constant) = (condition.e.as_int(), condition.constant && x.constant && y.constant);
    let condition = as_condition(condition);
    let ty = match (x.ty().clone(), y.ty().clone()) {
        (s, t) if is_int(&s) && is_int(&t) => operators::common(&s, &t),
        (s, t) if matches!(s, Type::Str { .. }) && is_text(&t) || matches!(t, Type::Str { .. }) && is_text(&s) => {
            c.string()
        }
        (s @ Type::Ptr { .. }, t) if t == s || is_int(&t) && y.e.as_int() == Some(0) => s,
        (s, t @ Type::Ptr { .. }) if is_int(&s) && x.e.as_int() == Some(0) => t,
        (Type::Ptr { to, .. }, t @ Type::Ptr { .. }) if *to == Type::Void => t,
        (s @ Type::Ptr { .. }, Type::Ptr { to, .. }) if *to == Type::Void => s,
        (s @ (Type::Struct(_) | Type::Inet), t) if s == t => s,
        (s, t) => {
            let (s, t) = (c.type_text(&s), c.type_text(&t));
            let message = format!("operator ?: operands must have compatible types: {s}, {t}");
            return c.wrong(tags::D_OP_INCOMPAT, span, message);
        }
    };
    let (Some(x), Some(y)) = (c.convert(x, &ty), c.convert(y, &ty)) else { return error_value(span) };
    if let Some(holds) = chosen {
        return Value { constant, ..Value::new(if holds != 0 { x } else { y }) };
    }
    Value::new(Expr { span, ..choose(condition, x, y) })
}

fn assignment(c: &mut Checker<'_>, op: Option<Binary>, a: &Ast, b: &Ast, span: Span) -> Value {
    if is_of_aggregation(a) {
        return aggregations::aggregation(c, op, a, b, span);
    }
    let right = c.expr(b);
    if op.is_some()
        && *right.ty() == Type::Void
        && let Kind::Ident(name) = &a.kind
        && !c.variables.known.contains_key(&(Scope::Global, name.clone()))
    {
        c.error(tags::D_VAR_UNDEF, a.span, format!("{name} has not yet been declared or assigned"));
        return error_value(span);
    }
    if right.is_error() && op.is_none() {
        return right;
    }
    if *right.ty() == Type::Void {
        return c.wrong(tags::D_OP_INCOMPAT, span, "a void expression can't be assigned");
    }
    let made = match op {
        None => variables::assigned(c, a, right.ty()),
        Some(_) => variables::assigned(c, a, &Type::I64),
    };
    let left = made.unwrap_or_else(|| c.expr(a));
    if left.is_error() || right.is_error() {
        return error_value(span);
    }
    let left = members::with_target(c, left, a);
    let Some(target) = left.target.clone() else {
        let (tag, why) = why_not_assignable(a, &left);
        c.error(tag, a.span, why);
        return error_value(span);
    };
    assign(c, op, (&left, &target), right, span)
}

/// Why nothing can be assigned to what stands on the left.
fn why_not_assignable(a: &Ast, left: &Value) -> (Code, &'static str) {
    let named = matches!(&a.kind, Kind::Ident(name) if super::builtins::is_builtin(name));
    if named || matches!(left.e.kind, ExprKind::Builtin(_) | ExprKind::Deref(_) | ExprKind::Field { .. }) {
        (tags::D_OP_WRITE, "operator = can only be applied to a writable variable")
    } else {
        (tags::D_OP_LVAL, "operator = requires modifiable lvalue as an operand")
    }
}

/// An assignment of a value to a variable or a part of one.
fn assign(
    c: &mut Checker<'_>,
    op: Option<Binary>,
    (left, target): (&Value, &Target),
    right: Value,
    span: Span,
) -> Value {
    let (ty, bits) = (left.ty().clone(), left.bits);
    if op.is_none() && matches!(ty, Type::Array { .. }) {
        let text = c.type_text(&ty);
        return c.wrong(
            tags::D_OP_ARRFUN,
            span,
            format!("operator = may not be applied to operand of type \"{text}\""),
        );
    }
    let no_number = |v: &Type| !is_int(v);
    let to_nowhere = |v: &Type| !matches!(v, Type::Ptr { to, .. } if **to != Type::Void);
    if op.is_some() && (no_number(&ty) || no_number(right.ty())) && to_nowhere(&ty) {
        let message = "the operator requires a left-hand scalar operand of known size";
        let texts = is_text(&ty) || is_text(right.ty());
        return c.wrong(if texts { tags::D_OP_INCOMPAT } else { tags::D_OP_VFPTR }, span, message);
    }
    if op.is_none() && right.e.as_int() == Some(0) && !is_scalar(&ty) {
        let value = emptied(c, target, &ty, span);
        return Value { e: block(left.before.clone(), value.e.clone()), ..value };
    }
    let value = match op {
        None => right,
        Some(op) => operators::operate(c, op, left.clone(), right, span),
    };
    if value.is_error() {
        return value;
    }
    let from = c.type_text(value.ty());
    let Some(value) = c.convert(value, &ty) else {
        let to = c.type_text(&ty);
        let message = format!("operands have incompatible types: \"{to}\" = \"{from}\"");
        return c.wrong(tags::D_OP_INCOMPAT, span, message);
    };
    let mut out = Vec::new();
    let value = if left.before.is_empty() { value } else { c.kept(value, &mut out) };
    if op.is_none() {
        out.extend(left.before.iter().cloned());
    }
    let value = match bits {
        Some(bits) => members::with_bits(left, value, bits, span),
        None => value,
    };
    Value::new(block(out, variables::assign(c, target, value, span).e))
}

/// A constant text. Bytes that are none of UTF-8 are put in where it is used.
fn literal(c: &mut Checker<'_>, bytes: &[u8], span: Span) -> Expr {
    let string = c.string();
    if let Ok(text) = std::str::from_utf8(bytes) {
        return constant_text(text, string, span);
    }
    let plain: String = bytes.iter().map(|b| if b.is_ascii() { char::from(*b) } else { '?' }).collect();
    let local = c.local("%literal", string.clone());
    let whole = read_as(local, string.clone(), span);
    let text = constant_text(&plain, string, span);
    let mut out = vec![set(local, text)];
    for (at, byte) in bytes.iter().enumerate().filter(|(_, byte)| !byte.is_ascii()) {
        let ty = Type::Int { size: 1, signed: false };
        let place = ExprKind::Field { base: Box::new(whole.clone()), offset: at as u32, bits: None };
        let place = Expr::new(place, ty.clone(), span);
        out.push(store(place, int(i64::from(*byte), ty, span)));
    }
    block(out, whole)
}

fn sizeof(c: &mut Checker<'_>, ty: &Type, span: Span) -> Value {
    let size = c.size_of(ty);
    if matches!(ty, Type::Void) || (size == 0 && *ty != Type::Error && !matches!(ty, Type::Array { .. })) {
        c.error(tags::D_SIZEOF_TYPE, span, "cannot apply sizeof to an operand of unknown size");
    }
    let size = if let Type::Str { size } = ty { size - 1 } else { size };
    Value { constant: true, ..Value::new(int(i64::from(size), Type::U64, span)) }
}

fn sizeof_expr(c: &mut Checker<'_>, a: &Ast, span: Span) -> Value {
    // Constants have sizes of their own.
    let known = match &a.kind {
        Kind::Str(text) => Some(text.len() as i64 + 1),
        Kind::Ident(name) if &**name == "NULL" => Some(4),
        _ => None,
    };
    if let Some(size) = known {
        return Value { constant: true, ..Value::new(int(size, Type::U64, span)) };
    }
    let value = c.expr(a);
    if value.bits.is_some() {
        return c.wrong(tags::D_SIZEOF_BITFIELD, span, "cannot apply sizeof to a bit-field");
    }
    let ty = value.ty().clone();
    sizeof(c, &ty, span)
}

fn offsetof(c: &mut Checker<'_>, ty: &crate::lang::d::ast::TypeName, name: &Name, span: Span) -> Value {
    let found = declarations::type_name(c, ty);
    if tagged::is_incomplete(c, &found) {
        return c.wrong(tags::D_OFFSETOF_TYPE, span, "offsetof operand must be a struct or union type");
    }
    let Type::Struct(id) = found else {
        if found != Type::Error {
            c.error(tags::D_OFFSETOF_TYPE, span, "offsetof operand must be a struct or union type");
        }
        return error_value(span);
    };
    let Some(field) = c.types.field(id, &name.text, AddressSpace::Kernel) else {
        let message = format!("failed to determine offset of {}: there is no member of this name", name.text);
        c.error(tags::D_UNKNOWN, name.span, message);
        return error_value(span);
    };
    if field.bits.is_some() {
        c.error(tags::D_OFFSETOF_BITFIELD, name.span, "cannot take the offset of a bit-field");
    }
    Value { constant: true, ..Value::new(int(i64::from(field.offset), Type::U64, span)) }
}

/// 0 or NULL for what is no number: an element is removed, a text is none.
fn emptied(c: &mut Checker<'_>, target: &Target, ty: &Type, span: Span) -> Value {
    let zero = int(0, Type::I32, span);
    match (target, ty) {
        (Target::Map(_, Some(_)), _) => Value::new(block(variables::assignment(c, target, zero.clone(), span), zero)),
        (_, Type::Str { .. }) => variables::assign(c, target, constant_text("", ty.clone(), span), span),
        _ => {
            let to = c.type_text(ty);
            let message = format!("operands have incompatible types: \"{to}\" = \"int\"");
            c.wrong(tags::D_OP_INCOMPAT, span, message)
        }
    }
}

fn step(c: &mut Checker<'_>, operand: &Ast, increment: bool, postfix: bool, span: Span) -> Value {
    let made = variables::assigned(c, operand, &Type::I64);
    let value = made.unwrap_or_else(|| c.expr(operand));
    if value.is_error() {
        return value;
    }
    let sign = if increment { "++" } else { "--" };
    let Some(target) = value.target.clone() else {
        let tag = if matches!(value.e.kind, ExprKind::Builtin(_)) { tags::D_OP_WRITE } else { tags::D_OP_LVAL };
        return c.wrong(tag, span, format!("operator {sign} requires modifiable lvalue as an operand"));
    };
    if !is_scalar(value.ty()) {
        return c.wrong(tags::D_OP_SCALAR, span, format!("operator {sign} requires operand of scalar type"));
    }
    let ty = value.ty().clone();
    let mut statements = Vec::new();
    let old = c.kept(value.e.clone(), &mut statements);
    let op = if increment { Binary::Add } else { Binary::Sub };
    let one = Value { constant: true, ..Value::new(int(1, Type::I32, span)) };
    let new = operators::operate(c, op, Value::new(old.clone()), one, span);
    let Some(new) = c.convert(new, &ty) else { return error_value(span) };
    let new = match value.bits {
        Some(bits) => members::with_bits(&value, new, bits, span),
        None => new,
    };
    let new = c.kept(new, &mut statements);
    statements.extend(variables::assignment(c, &target, new.clone(), span));
    Value::new(block(statements, if postfix { old } else { new }))
}

fn cast_expr(c: &mut Checker<'_>, ty: &crate::lang::d::ast::TypeName, a: &Ast, span: Span) -> Value {
    let to = declarations::type_name(c, ty);
    let value = c.expr(a);
    if value.is_error() || to == Type::Error {
        return error_value(span);
    }
    let from = value.ty().clone();
    let constant = value.constant;
    let e = match (&to, &from) {
        (Type::Void, _) => {
            let effect = Statement { span, ..effect(value.e) };
            return Value::new(block(vec![effect], Expr::new(ExprKind::Int(0), Type::I32, span)));
        }
        (Type::Str { .. }, _) if is_text(&from) || matches!(from, Type::Ptr { .. }) => c.text(value.e),
        (Type::Int { .. } | Type::Enum { .. } | Type::Bool | Type::Ptr { .. }, Type::Array { .. }) => {
            let pointer = decay(value);
            cast(cast(pointer, &Type::U64), &to)
        }
        (Type::Int { .. } | Type::Enum { .. } | Type::Bool, _) if is_scalar(&from) => match (&to, &from) {
            (_, Type::Ptr { .. }) => cast(cast(value.e, &Type::U64), &to),
            (Type::Int { size: 8, .. }, _) => cast(whole(&value), &to),
            _ => cast(value.e, &to),
        },
        (Type::Ptr { .. }, Type::Ptr { .. }) => cast(value.e, &to),
        (Type::Ptr { .. }, Type::Str { .. }) => {
            let mut out = Vec::new();
            let address = scratch::address_of_bytes(c, value, &mut out);
            block(out, cast(address, &to))
        }
        (Type::Ptr { .. }, _) if is_int(&from) => cast(word(value.e), &to),
        (s, t) if s == t => value.e,
        _ => {
            let (s, t) = (c.type_text(&from), c.type_text(&to));
            return c.wrong(tags::D_CAST_INVAL, span, format!("invalid cast expression: \"{s}\" to \"{t}\""));
        }
    };
    Value { constant, ..Value::new(e) }
}
