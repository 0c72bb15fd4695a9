//! Translators of the program: what a struct's members are of an object of another type.

use super::checker::Checker;
use super::checker::Translator;
use super::code::{block, int, read_as, store};
use super::declarations;
use super::value::{Value, alike, error_value};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{self, Expr as Ast, Name, TypeName};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::{AddressSpace, StructId, Type};

/// Makes a translator known; each member is checked here, too.
pub fn translator(c: &mut Checker<'_>, t: &ast::Translator) {
    let at = t.output.span;
    let output = declarations::type_name(c, &t.output);
    let input = declarations::type_name(c, &t.input);
    let known = |id: StructId| !c.incomplete.contains(&id);
    let Type::Struct(output) = output.clone() else {
        if output != Type::Error {
            c.error(tags::D_XLATE_SOU, at, "translator output type must be a struct or union");
        }
        return;
    };
    if !known(output) {
        c.error(tags::D_XLATE_SOU, at, "translator output type must be a struct or union that is defined");
        return;
    }
    if c.translators.iter().any(|t| t.output == output && t.input == input) {
        c.error(tags::D_XLATE_REDECL, at, "translator from this type to this type has already been declared");
        return;
    }
    let translator =
        Translator { output, input: input.clone(), parameter: t.parameter.text.clone(), members: t.members.clone() };
    let object = Expr::new(ExprKind::Int(0), input, at);
    for (name, e) in &t.members {
        let Some(field) = c.types.field(output, &name.text, AddressSpace::Kernel) else {
            let text = c.types.struct_name(output);
            let message = format!("translator member {} definition: {text} has no such member", name.text);
            c.error(tags::D_XLATE_MEMB, name.span, message);
            continue;
        };
        let value = with_object(c, &translator, object.clone(), e);
        if value.is_error() {
            continue;
        }
        let from = c.type_text(value.ty());
        if c.convert(value, &field.ty).is_none() {
            let to = c.type_text(&field.ty);
            let message = format!("translator member {} definition uses incompatible types: {to} = {from}", name.text);
            c.error(tags::D_XLATE_INCOMPAT, name.span, message);
        }
    }
    c.translators.push(translator);
}

/// A member's expression with the object under the parameter's name.
fn with_object(c: &mut Checker<'_>, translator: &Translator, object: Expr, e: &Ast) -> Value {
    let named = std::iter::once((translator.parameter.clone(), object)).collect();
    let outer = std::mem::replace(&mut c.frame.site.inline_arguments, named);
    c.depth += 1;
    let value = match c.beyond_budget(e.span) {
        Some(why) => c.wrong(tags::D_UNKNOWN, e.span, why),
        None => c.expr(e),
    };
    c.depth -= 1;
    c.frame.site.inline_arguments = outer;
    value
}

/// The translator and the object of `xlate <T>(e)`.
fn translated(c: &mut Checker<'_>, ty: &TypeName, e: &Ast, span: Span) -> Option<(Translator, Value)> {
    let output = match declarations::type_name(c, ty) {
        Type::Ptr { to, .. } => (*to).clone(),
        other => other,
    };
    let object = c.expr(e);
    if object.is_error() || output == Type::Error {
        return None;
    }
    let fits =
        |t: &&Translator| output == Type::Struct(t.output) && (t.input == *object.ty() || alike(&t.input, object.ty()));
    let found = c.translators.iter().find(fits).cloned();
    if found.is_none() {
        let (from, to) = (c.type_text(object.ty()), c.type_text(&output));
        c.error(tags::D_XLATE_NONE, span, format!("no translator from {from} to {to} is defined"));
    }
    Some((found?, object))
}

/// `xlate <T>(e).name`.
pub fn member_of_translated(c: &mut Checker<'_>, ty: &TypeName, e: &Ast, name: &Name, span: Span) -> Value {
    let Some((translator, object)) = translated(c, ty, e, span) else { return error_value(span) };
    let Some((_, member)) = translator.members.iter().find(|(n, _)| n.text == name.text).cloned() else {
        let message = format!("translator does not define conversion for member: {}", name.text);
        c.error(tags::D_XLATE_MEMB, name.span, message);
        return error_value(span);
    };
    let value = with_object(c, &translator, object.e, &member);
    let field = c.types.field(translator.output, &name.text, AddressSpace::Kernel);
    match field.and_then(|field| c.convert(value, &field.ty)) {
        Some(e) => Value::new(Expr { span, ..e }),
        None => error_value(span),
    }
}

/// `xlate <T>(e)`: a struct of its own.
pub fn xlate(c: &mut Checker<'_>, ty: &TypeName, e: &Ast, span: Span) -> Value {
    let Some((translator, object)) = translated(c, ty, e, span) else { return error_value(span) };
    let whole = Type::Struct(translator.output);
    let local = c.local("%xlate", whole.clone());
    let place = read_as(local, whole, span);
    let mut statements = Vec::new();
    for (name, member) in &translator.members {
        let Some(field) = c.types.field(translator.output, &name.text, AddressSpace::Kernel) else { continue };
        let value = with_object(c, &translator, object.e.clone(), member);
        let Some(value) = c.convert(value, &field.ty) else { continue };
        let kind = ExprKind::Field { base: Box::new(place.clone()), offset: field.offset, bits: None };
        let part = Expr::new(kind, field.ty, span);
        statements.push(store(part, value));
    }
    if statements.is_empty() {
        return Value::new(int(0, Type::I32, span));
    }
    Value::new(block(statements, place))
}
