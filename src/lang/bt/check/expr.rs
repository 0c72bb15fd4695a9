//! Expressions by their kind.

use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::codes::check::{ARGUMENT_TYPE, NO_FIELD, NO_VALUE, OPERAND_TYPE, TYPE_MISMATCH, UNKNOWN_TYPE};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Statement, StatementKind};
use crate::lang::types::{StructId, Type};
use crate::model::bytes::bytes_of;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::literal::{boolean, constant, effect, string, wrap};
use crate::lang::bt::check::{join, suggest};

impl Checker<'_> {
    /// Types an expression that must have a value.
    pub fn value(&mut self, e: &ast::Expr) -> Expr {
        let typed = self.expr(e);
        if matches!(typed.ty, Type::Void) {
            return self.error_expr(NO_VALUE, e.span, "this gives no value");
        }
        if let Type::Agg(_) = typed.ty {
            return self.aggregate_as_value(typed);
        }
        typed
    }

    /// Types any expression; those made for their effect are `Void`.
    pub fn expr(&mut self, e: &ast::Expr) -> Expr {
        let span = e.span;
        match &e.kind {
            ast::ExprKind::Error => Self::error_value(span),
            ast::ExprKind::Int(v) => {
                let ty = if *v > i64::MAX as u64 { Type::U64 } else { Type::I64 };
                Expr::new(ExprKind::Int(*v), ty, span)
            }
            ast::ExprKind::Str(s) => self.text(s, span),
            ast::ExprKind::Bool(b) => boolean(*b, span),
            ast::ExprKind::Ident(name) => self.identifier(name, span),
            ast::ExprKind::Variable(name) => self.variable(name, span),
            ast::ExprKind::Positional(_) | ast::ExprKind::PositionalCount => constant(0, span),
            ast::ExprKind::Map(name, keys) => self.map_get(name, keys.as_deref(), span),
            ast::ExprKind::Call(name, args) => self.call(name, args, span),
            ast::ExprKind::SizeOf(what) => self.size_of_operand(what, span),
            ast::ExprKind::OffsetOf(what, path) => self.offset_of(what, path, span),
            ast::ExprKind::Unary(op, operand) => self.unary(*op, operand, span),
            ast::ExprKind::Step { target, decrement, postfix } => self.step(target, *decrement, *postfix, span),
            ast::ExprKind::Binary(op, a, b) => self.binary(*op, a, b, span),
            ast::ExprKind::Conditional(c, a, b) => self.conditional(c, a.as_deref(), b, span),
            ast::ExprKind::If(c, a, b) => self.if_expression(c, a, b, span),
            ast::ExprKind::Cast(ty, operand) => self.cast(ty, operand, span),
            ast::ExprKind::Field(base, name) => self.field(base, name, span),
            ast::ExprKind::TupleField(base, index, _) => {
                let base = self.value(base);
                self.tuple_field(base, u64::from(*index), span)
            }
            ast::ExprKind::Index(base, index) => self.index(base, index, span),
            ast::ExprKind::Tuple(items) => self.tuple(items, span),
            ast::ExprKind::Record(items) => self.record(items, span),
            ast::ExprKind::Block(block) => self.block_expression(block, span),
            ast::ExprKind::Comptime(inner) => self.known_before(inner, span),
            ast::ExprKind::Type(name) => {
                let _ = self.type_name(name);
                // `timestamp` is DTrace's clock and a type here.
                let help = match &name.base {
                    ast::TypeBase::Named(word) => suggest::of_other_languages(word),
                    _ => None,
                };
                self.error_help(NO_VALUE, span, "a type is no value", help);
                Self::error_value(span)
            }
            ast::ExprKind::TypeInfo(what) => self.type_info(what, span),
        }
    }

    /// `comptime e`: a value that is known before the script runs.
    fn known_before(&mut self, e: &ast::Expr, span: Span) -> Expr {
        let typed = self.expr(e);
        if join::unknown(&typed.ty) || is_known(&typed) {
            return typed;
        }
        let message = "this is known only when the script runs, and comptime wants to know it before";
        self.error_help(
            crate::lang::codes::check::NEEDS_LITERAL,
            span,
            message,
            Some("leave `comptime` out".to_owned()),
        );
        Self::error_value(span)
    }

    /// A string constant, which is no longer than strings may be.
    fn text(&mut self, s: &Arc<str>, span: Span) -> Expr {
        let most = self.config.max_strlen;
        if bytes_of(s).len() >= most as usize {
            let message = format!("String is too long (over {most} bytes): {s}");
            let help = Some("raise it: `config = { max_strlen = ... }`".to_owned());
            self.error_help(crate::lang::codes::check::OUT_OF_RANGE, span, message, help);
        }
        // Strings end at their first zero byte.
        match s.split_once('\0') {
            Some((before, _)) => string(&before.into(), span),
            None => string(s, span),
        }
    }

    fn tuple(&mut self, items: &[ast::Expr], span: Span) -> Expr {
        let items: Vec<Expr> = items.iter().map(|e| self.element(e)).collect();
        let ty = Type::Tuple(items.iter().map(|e| e.ty.clone()).collect());
        Expr::new(ExprKind::Tuple(items), ty, span)
    }

    fn record(&mut self, items: &[(ast::Name, ast::Expr)], span: Span) -> Expr {
        let mut fields: Vec<(Arc<str>, Type)> = Vec::new();
        let mut values = Vec::new();
        for (name, value) in items {
            let value = self.element(value);
            if fields.iter().any(|(n, _)| *n == name.text) {
                self.error(
                    crate::lang::codes::check::DUPLICATE,
                    name.span,
                    format!("the record has two fields `{}`", name.text),
                );
                continue;
            }
            fields.push((name.text.clone(), value.ty.clone()));
            values.push(value);
        }
        Expr::new(ExprKind::Tuple(values), Type::Record(fields.into()), span)
    }

    /// A value that is stored inside another: struct places are read whole.
    fn element(&mut self, e: &ast::Expr) -> Expr {
        let value = self.value(e);
        self.types.complete(&value.ty);
        value
    }

    /// `t.0`, `t[0]`.
    pub fn tuple_field(&mut self, base: Expr, index: u64, span: Span) -> Expr {
        let ty = match &base.ty {
            Type::Error => return Self::error_value(span),
            Type::Tuple(items) => items.get(index as usize).cloned(),
            Type::Record(items) => items.get(index as usize).map(|(_, t)| t.clone()),
            other => {
                let text = self.type_text(other);
                return self.error_expr(OPERAND_TYPE, span, format!("{text} has no numbered elements"));
            }
        };
        match ty {
            Some(ty) => Expr::new(ExprKind::TupleField(Box::new(base), index as u32), ty, span),
            None => self.error_expr(
                NO_FIELD,
                span,
                format!(
                    "Invalid tuple index: {index}. Found {} elements in {}.",
                    crate::lang::bt::check::literal::element_types(&base.ty).map_or(0, |t| t.len()),
                    self.kind_text(&base.ty)
                ),
            ),
        }
    }

    fn block_expression(&mut self, block: &ast::Block, span: Span) -> Expr {
        self.expanding(block.span, span, |c| {
            c.scoped(|c| {
                let statements = c.statements(&block.statements);
                let value = match &block.value {
                    Some(value) => c.expr(value),
                    None => Expr::new(ExprKind::Int(0), Type::Void, span),
                };
                wrap(statements, value, span)
            })
        })
    }

    /// Runs `f` on a body that stands in the place of `call`; the body of a macro stands elsewhere.
    pub fn expanding<T>(&mut self, body: Span, call: Span, f: impl FnOnce(&mut Self) -> T) -> T {
        let expanded = body.start < call.start || body.end > call.end;
        if expanded {
            let text = self.source.slice(call).trim_end_matches(|c: char| c == ';' || c.is_whitespace());
            self.expansions.push(Span::new(call.start, call.start + text.len() as u32));
        }
        let result = f(self);
        if expanded {
            self.expansions.pop();
        }
        result
    }

    fn conditional(&mut self, c: &ast::Expr, a: Option<&ast::Expr>, b: &ast::Expr, span: Span) -> Expr {
        let typed = self.value(c);
        let Some(a) = a else {
            let known = match &typed.kind {
                ExprKind::Str(text) => Some(!text.is_empty()),
                _ => typed.as_int().map(|n| n != 0),
            };
            if let Some(taken) = known {
                let b = self.value(b);
                let condition = boolean(taken, span);
                return self.choose(condition, typed, b, span);
            }
            // `c ?: b`: the condition is evaluated once.
            let local = self.temporary(typed.ty.clone(), c.span);
            let again = Expr::new(ExprKind::Local(local), typed.ty.clone(), c.span);
            let set = Statement { kind: StatementKind::SetLocal(local, typed), span: c.span };
            let condition = self.condition(again.clone());
            let b = self.value(b);
            let value = self.choose(condition, again, b, span);
            return wrap(vec![set], value, span);
        };
        let condition = self.condition(typed);
        let (a, b) = (self.expr(a), self.expr(b));
        self.choose(condition, a, b, span)
    }

    fn if_expression(&mut self, c: &ast::Expr, a: &ast::Block, b: &ast::Block, span: Span) -> Expr {
        let condition = self.value(c);
        let condition = self.condition(condition);
        if let Some(taken) = decided(c, &condition) {
            let block = if taken { a } else { b };
            return self.block_expression(block, block.span);
        }
        let a = self.block_expression(a, a.span);
        let b = self.block_expression(b, b.span);
        self.choose(condition, a, b, span)
    }

    fn choose(&mut self, condition: Expr, a: Expr, b: Expr, span: Span) -> Expr {
        if matches!(a.ty, Type::Void) || matches!(b.ty, Type::Void) {
            let (a, b) = (effect(a), effect(b));
            let statement = Statement { kind: StatementKind::If(condition, a, b), span };
            return wrap(vec![statement], Expr::new(ExprKind::Int(0), Type::Void, span), span);
        }
        let Some(joined) = join::join(&join::infer_type(&a), &join::infer_type(&b)) else {
            if let Some(known) = condition.as_int() {
                return if known == 0 { b } else { a };
            }
            let (x, y) = (self.type_text(&a.ty), self.type_text(&b.ty));
            return self.error_expr(TYPE_MISMATCH, span, format!("one branch gives {x}, the other {y}"));
        };
        self.warn_cast(&a, &join::smallest(&joined));
        self.warn_cast(&b, &join::smallest(&joined));
        let ty = join::resolve(&joined);
        let (a, b) = (self.coerce(a, &ty), self.coerce(b, &ty));
        Expr::new(ExprKind::Conditional(Box::new(condition), Box::new(a), Box::new(b)), ty, span)
    }

    fn size_of_operand(&mut self, what: &ast::TypeOrExpr, span: Span) -> Expr {
        let ty = match what {
            ast::TypeOrExpr::Type(name) => self.type_name(name),
            ast::TypeOrExpr::Expr(e) => self.smallest_type(e),
        };
        if matches!(ty, Type::Error) {
            return Self::error_value(span);
        }
        // An enum's values are 64 bits wide, whatever a struct's member of it takes.
        let member = matches!(what, ast::TypeOrExpr::Expr(ast::Expr { kind: ast::ExprKind::Field(..), .. }));
        let size = if matches!(ty, Type::Enum { .. }) && !member { 8 } else { self.size_of(&ty) };
        // A literal: `-sizeof(x)` is negative.
        Expr::new(ExprKind::Int(u64::from(size)), Type::I64, span)
    }

    /// As [`Self::type_of`], but literals, and variables and maps that hold nothing else, are as small
    /// as their values allow.
    pub fn smallest_type(&mut self, e: &ast::Expr) -> Type {
        if let Some(key) = self.key_type_of(e) {
            return join::smallest(&key);
        }
        let typed = match &e.kind {
            ast::ExprKind::Ident(_) | ast::ExprKind::Type(_) => return self.type_of(e),
            _ => self.value(e),
        };
        let inferred = match &typed.kind {
            ExprKind::Local(id) => self.inferred_local(*id),
            ExprKind::MapGet { map, .. } if !matches!(typed.ty, Type::Error) => Some(self.maps.get(*map).value.clone()),
            _ => None,
        };
        match inferred {
            Some(Type::Agg(_)) | None => join::smallest(&join::infer_type(&typed)),
            Some(ty) => join::smallest(&ty),
        }
    }

    /// A map with keys that is named without one stands for the type of its keys where a type is asked for.
    fn key_type_of(&mut self, e: &ast::Expr) -> Option<Type> {
        let ast::ExprKind::Map(name, None) = &e.kind else { return None };
        let id = self.map_id(name, e.span);
        self.is_keyed(id).then(|| self.maps.get(id).key.clone().unwrap_or(Type::Error))
    }

    /// The type of an expression that is not evaluated; a bare name may be a type's.
    pub fn type_of(&mut self, e: &ast::Expr) -> Type {
        if let ast::ExprKind::Ident(name) = &e.kind
            && crate::lang::bt::check::builtins::find(name).is_none()
            && self.types.enumerator(name).is_none()
            && let Some(ty) = self.types.named(name)
        {
            return ty;
        }
        if let ast::ExprKind::Type(name) = &e.kind {
            return self.type_name(name);
        }
        if let Some(key) = self.key_type_of(e) {
            return join::resolve(&key);
        }
        self.value(e).ty
    }

    fn offset_of(&mut self, what: &ast::TypeOrExpr, path: &[ast::Name], span: Span) -> Expr {
        let mut ty = match what {
            ast::TypeOrExpr::Type(name) => self.type_name(name),
            ast::TypeOrExpr::Expr(e) => self.type_of(e),
        };
        let mut offset = 0_u64;
        for name in path {
            let id = match &ty {
                Type::Error => return Self::error_value(span),
                Type::Struct(id) => *id,
                other => {
                    let text = self.type_text(other);
                    return self.error_expr(UNKNOWN_TYPE, name.span, format!("{text} has no fields"));
                }
            };
            let Some(field) = self.types.field(id, &name.text, crate::lang::types::AddressSpace::Kernel) else {
                return self.no_field(id, name);
            };
            if field.bits.is_some() {
                return self.error_expr(ARGUMENT_TYPE, name.span, "a bitfield has no offset");
            }
            offset += u64::from(field.offset);
            ty = field.ty;
        }
        Expr::new(ExprKind::Int(offset), Type::I64, span)
    }

    /// Reports a field that a struct does not have.
    pub fn no_field(&mut self, id: StructId, name: &ast::Name) -> Expr {
        let names = self.types.field_names(id);
        let help = suggest::did_you_mean(&name.text, names.iter().map(|n| &**n))
            .or_else(|| (names.len() <= 12 && !names.is_empty()).then(|| format!("it has: {}", names.join(", "))));
        let owner = self.types.struct_name(id);
        let message = if names.is_empty() {
            format!("{owner} is only declared on this kernel, its fields are not known")
        } else {
            format!("Struct/union of type '{owner}' does not contain a field named '{}'", name.text)
        };
        self.error_help(NO_FIELD, name.span, message, help);
        Self::error_value(name.span)
    }
}

/// Whether a value is made of constants alone.
fn is_known(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Int(_) | ExprKind::Str(_) => true,
        ExprKind::Tuple(items) => items.iter().all(is_known),
        ExprKind::TupleField(base, _) | ExprKind::Cast(base) | ExprKind::Unary(_, base) => is_known(base),
        ExprKind::Binary(_, a, b) | ExprKind::And(a, b) | ExprKind::Or(a, b) => is_known(a) && is_known(b),
        _ => false,
    }
}

/// What `comptime` decided: the other branch of such an `if` is not looked at, it may make no sense.
pub fn decided(asked: &ast::Expr, condition: &Expr) -> Option<bool> {
    let known = condition.as_int().map(|n| n != 0);
    known.filter(|_| matches!(asked.kind, ast::ExprKind::Comptime(_)))
}
