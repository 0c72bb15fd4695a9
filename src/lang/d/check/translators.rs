//! Translators of the program: what a struct's members are of an object of another type.

use std::sync::Arc;

use super::value::{Value, block, int};
use super::{Checker, statement};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{self, Expr as Ast, Name, TypeName};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, StatementKind};
use crate::lang::types::{AddressSpace, StructId, Type};

/// A translator.
#[derive(Clone, Debug)]
pub struct Translator {
    output: StructId,
    input: Type,
    parameter: Arc<str>,
    members: Vec<(Name, Ast)>,
}

impl Checker<'_> {
    /// Makes a translator known; each member is checked here, too.
    pub fn translator(&mut self, t: &ast::Translator) {
        let at = t.output.span;
        let output = self.type_name(&t.output);
        let input = self.type_name(&t.input);
        let known = |id: StructId| self.tags.values().all(|(of, defined)| *of != id || *defined);
        let Type::Struct(output) = output.clone() else {
            if output != Type::Error {
                self.error(tags::D_XLATE_SOU, at, "translator output type must be a struct or union");
            }
            return;
        };
        if !known(output) {
            self.error(tags::D_XLATE_SOU, at, "translator output type must be a struct or union that is defined");
            return;
        }
        if self.translators.iter().any(|t| t.output == output && t.input == input) {
            self.error(tags::D_XLATE_REDECL, at, "translator from this type to this type has already been declared");
            return;
        }
        let translator = Translator {
            output,
            input: input.clone(),
            parameter: t.parameter.text.clone(),
            members: t.members.clone(),
        };
        let object = Expr::new(ExprKind::Int(0), input, at);
        for (name, e) in &t.members {
            let Some(field) = self.types.field(output, &name.text, AddressSpace::Kernel) else {
                let text = self.types.struct_name(output);
                let message = format!("translator member {} definition: {text} has no such member", name.text);
                self.error(tags::D_XLATE_MEMB, name.span, message);
                continue;
            };
            let value = self.with_object(&translator, object.clone(), e);
            if value.is_error() {
                continue;
            }
            let from = self.type_text(value.ty());
            if self.convert(value, &field.ty).is_none() {
                let to = self.type_text(&field.ty);
                let message =
                    format!("translator member {} definition uses incompatible types: {to} = {from}", name.text);
                self.error(tags::D_XLATE_INCOMPAT, name.span, message);
            }
        }
        self.translators.push(translator);
    }

    /// A member's expression with the object under the parameter's name.
    fn with_object(&mut self, translator: &Translator, object: Expr, e: &Ast) -> Value {
        let named = std::iter::once((translator.parameter.clone(), object)).collect();
        let outer = std::mem::replace(&mut self.frame.site.inline_arguments, named);
        self.depth += 1;
        let value = if self.depth > 32 {
            self.error(tags::D_UNKNOWN, e.span, "translators are nested too deep");
            Self::error_value(e.span)
        } else {
            self.expr(e)
        };
        self.depth -= 1;
        self.frame.site.inline_arguments = outer;
        value
    }

    /// The translator and the object of `xlate <T>(e)`.
    fn translated(&mut self, ty: &TypeName, e: &Ast, span: Span) -> Option<(Translator, Value)> {
        let output = match self.type_name(ty) {
            Type::Ptr { to, .. } => (*to).clone(),
            other => other,
        };
        let object = self.expr(e);
        if object.is_error() || output == Type::Error {
            return None;
        }
        let fits = |t: &&Translator| {
            output == Type::Struct(t.output) && (t.input == *object.ty() || Self::alike(&t.input, object.ty()))
        };
        let found = self.translators.iter().find(fits).cloned();
        if found.is_none() {
            let (from, to) = (self.type_text(object.ty()), self.type_text(&output));
            self.error(tags::D_XLATE_NONE, span, format!("no translator from {from} to {to} is defined"));
        }
        Some((found?, object))
    }

    /// `xlate <T>(e).name`.
    pub fn member_of_translated(&mut self, ty: &TypeName, e: &Ast, name: &Name, span: Span) -> Value {
        let Some((translator, object)) = self.translated(ty, e, span) else { return Self::error_value(span) };
        let Some((_, member)) = translator.members.iter().find(|(n, _)| n.text == name.text).cloned() else {
            let message = format!("translator does not define conversion for member: {}", name.text);
            self.error(tags::D_XLATE_MEMB, name.span, message);
            return Self::error_value(span);
        };
        let value = self.with_object(&translator, object.e, &member);
        let field = self.types.field(translator.output, &name.text, AddressSpace::Kernel);
        match field.and_then(|field| self.convert(value, &field.ty)) {
            Some(e) => Value::new(Expr { span, ..e }),
            None => Self::error_value(span),
        }
    }

    /// `xlate <T>(e)`: a struct of its own.
    pub fn xlate(&mut self, ty: &TypeName, e: &Ast, span: Span) -> Value {
        let Some((translator, object)) = self.translated(ty, e, span) else { return Self::error_value(span) };
        let whole = Type::Struct(translator.output);
        let local = self.local("%xlate", whole.clone());
        let place = Expr::new(ExprKind::Local(local), whole, span);
        let mut statements = Vec::new();
        for (name, member) in &translator.members {
            let Some(field) = self.types.field(translator.output, &name.text, AddressSpace::Kernel) else { continue };
            let value = self.with_object(&translator, object.e.clone(), member);
            let Some(value) = self.convert(value, &field.ty) else { continue };
            let kind = ExprKind::Field { base: Box::new(place.clone()), offset: field.offset, bits: None };
            let part = Expr::new(kind, field.ty, span);
            statements.push(statement(StatementKind::Store { place: part, value }, span));
        }
        if statements.is_empty() {
            return Value::new(int(0, Type::I32, span));
        }
        Value::new(block(statements, place))
    }
}
