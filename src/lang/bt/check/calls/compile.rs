//! Functions that are decided when the script is compiled, and address spaces.

use crate::lang::bt::ast;
use crate::lang::codes::check::{ARGUMENT_TYPE, ASSERTION, NO_FIELD};
use crate::lang::typed::{ActionKind, Block, Expr, ExprKind, Statement, StatementKind};
use crate::lang::types::{AddressSpace, Type};

use crate::lang::bt::check::calls::intrinsic::Call;
use crate::lang::bt::check::calls::{intrinsic, map, output};
use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::literal::{boolean, constant, convert_scalar, effect, pointer, statement_expr};
use crate::lang::bt::check::operators::{fold, not};
use crate::lang::bt::check::place::space;
use crate::lang::bt::check::{calls, place, type_text, typename};

pub fn kptr(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    in_space(c, call, AddressSpace::Kernel)
}

pub fn uptr(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    in_space(c, call, AddressSpace::User)
}

fn in_space(c: &mut Checker<'_>, call: Call<'_>, space: AddressSpace) -> Expr {
    let value = c.value(&call.args[0]);
    let to = match &value.ty {
        Type::Error => return value,
        Type::Ptr { to, .. } => (**to).clone(),
        t if t.fits_register() => Type::Int { size: 1, signed: true },
        other => {
            let text = type_text::text(&c.types, other);
            return intrinsic::bad_argument(c, call, call.args[0].span, "an address", &text);
        }
    };
    convert_scalar(value, &pointer(to, space))
}

/// `assert(condition[, message])`: ends the trace when it fails.
pub fn assert(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let condition = c.value(&call.args[0]);
    let condition = c.condition(condition);
    let said = (call.args.len() > 1).then(|| calls::string_argument(c, call, 1)).flatten();
    let said = said.unwrap_or_else(|| c.source.slice(call.args[0].span).into());
    let message = format!("assert failed: {said}").into();
    if matches!(condition.ty, Type::Error) {
        return condition;
    }
    let action = c.add_action(ActionKind::RuntimeError(message), Vec::new(), call.span);
    let code = constant(1, call.span);
    let exit = c.add_action(ActionKind::Exit, vec![Type::I64], call.span);
    let mut statements = vec![
        Statement { kind: StatementKind::Report { action, values: Vec::new() }, span: call.span },
        Statement { kind: StatementKind::Report { action: exit, values: vec![code] }, span: call.span },
    ];
    let end = output::then_return(c, Expr::new(ExprKind::Int(0), Type::Void, call.span), call.span);
    statements.extend(effect(end).statements);
    let failed = not(condition, call.span);
    let kind = StatementKind::If(failed, Block::new(statements), Block::default());
    statement_expr(kind, call.span)
}

fn nothing(call: Call<'_>) -> Expr {
    Expr::new(ExprKind::Int(0), Type::Void, call.span)
}

pub fn static_assert(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let condition = c.value(&call.args[0]);
    let condition = c.condition(condition);
    match condition.as_int() {
        _ if matches!(condition.ty, Type::Error) => {}
        Some(0) => {
            let message = if call.args.len() > 1 { calls::string_argument(c, call, 1) } else { None };
            c.error(ASSERTION, call.span, message.map_or_else(|| "this does not hold".to_owned(), |m| m.to_string()));
        }
        Some(_) => {}
        None => c.error(ASSERTION, call.args[0].span, "this is known only when the script runs: use `assert`"),
    }
    nothing(call)
}

pub fn fail(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    if let Some(message) = calls::string_argument(c, call, 0) {
        c.error(ASSERTION, call.span, message.to_string());
    }
    nothing(call)
}

fn by_type(c: &mut Checker<'_>, call: Call<'_>, test: impl Fn(&Expr) -> bool) -> Expr {
    let value = c.value(&call.args[0]);
    if matches!(value.ty, Type::Error) {
        return value;
    }
    boolean(test(&value), call.span)
}

pub fn is_ptr(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    by_type(c, call, |e| matches!(e.ty, Type::Ptr { .. }))
}

pub fn is_str(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    by_type(c, call, |e| matches!(e.ty, Type::Str { .. }))
}

pub fn is_integer(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    by_type(c, call, |e| matches!(e.ty, Type::Int { .. }))
}

pub fn is_unsigned(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    by_type(c, call, |e| matches!(e.ty, Type::Int { signed: false, .. }))
}

pub fn is_array(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    by_type(c, call, |e| matches!(e.ty, Type::Array { .. }))
}

pub fn is_literal(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    by_type(c, call, |e| matches!(e.kind, ExprKind::Int(_) | ExprKind::Str(_)))
}

/// `is_scalar(@m)`: whether the map has no keys.
pub fn is_scalar(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    match map::map_argument(c, call, 0) {
        Some(id) => boolean(!c.maps.is_keyed(id), call.span),
        None => Checker::error_value(call.span),
    }
}

/// `is_err(p)`: an error code in place of an address, the last 4095 numbers.
pub fn is_err(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let value = calls::integer_argument(c, call, 0);
    if matches!(value.ty, Type::Error) {
        return value;
    }
    let value = convert_scalar(value, &Type::U64);
    let limit = Expr::new(ExprKind::Int(4095_u64.wrapping_neg()), Type::U64, call.span);
    let kind = ExprKind::Binary(crate::lang::typed::BinaryOp::Ge, Box::new(value), Box::new(limit));
    Expr::new(kind, Type::Bool, call.span)
}

pub fn kfunc_exist(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    match calls::string_argument(c, call, 0) {
        Some(name) => boolean(c.types.facts.prototype("", &name).is_some(), call.span),
        None => Checker::error_value(call.span),
    }
}

/// Scripts ask this before they call kernel functions, which this compiler does not do.
pub fn kfunc_allowed(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let _ = calls::string_argument(c, call, 0);
    boolean(false, call.span)
}

/// `container_of(ptr, struct x, member)`.
pub fn container_of(c: &mut Checker<'_>, call: Call<'_>) -> Expr {
    let value = c.value(&call.args[0]);
    let outer = match &call.args[1].kind {
        ast::ExprKind::Type(name) => typename::type_name(c, name),
        _ => typename::type_of(c, &call.args[1]),
    };
    if matches!(value.ty, Type::Error) || matches!(outer, Type::Error) {
        return Checker::error_value(call.span);
    }
    let Type::Struct(_) = outer else {
        let text = type_text::text(&c.types, &outer);
        return intrinsic::bad_argument(c, call, call.args[1].span, "a struct", &text);
    };
    let Some(path) = member_path(&call.args[2]) else {
        return c.error_expr(ARGUMENT_TYPE, call.args[2].span, "a member's name is needed here");
    };
    let mut ty = outer.clone();
    let mut offset = 0_u64;
    for name in &path {
        let Type::Struct(id) = ty else {
            return c.error_expr(NO_FIELD, name.span, format!("nothing here has a field `{}`", name.text));
        };
        let Some(field) = c.types.field(id, &name.text, AddressSpace::Kernel) else {
            return place::no_field(c, id, name);
        };
        offset += u64::from(field.offset);
        ty = field.ty;
    }
    let space = space::of_address(c, &value.ty);
    let start = convert_scalar(value, &Type::U64);
    let offset = Expr::new(ExprKind::Int(offset), Type::U64, call.span);
    let sub = crate::lang::typed::BinaryOp::Sub;
    let address = fold(sub, start, offset, Type::U64, call.span);
    convert_scalar(address, &pointer(outer, space))
}

fn member_path(e: &ast::Expr) -> Option<Vec<ast::Name>> {
    match &e.kind {
        ast::ExprKind::Ident(name) => Some(vec![ast::Name { text: name.clone(), span: e.span }]),
        ast::ExprKind::Field(base, name) => {
            let mut path = member_path(base)?;
            path.push(name.clone());
            Some(path)
        }
        _ => None,
    }
}
