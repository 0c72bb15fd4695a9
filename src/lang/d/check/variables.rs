//! Variables: global, thread-local and clause-local ones, associative arrays, inlines and the built-in ones.

pub mod table;

use std::collections::HashMap;
use std::sync::Arc;

use super::value::{Target, Value, block, cast, int, is_scalar};
use super::{Checker, statement};
use crate::lang::codes::d as tags;
use crate::lang::d::ast;
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Block, Builtin, Expr, ExprKind, Statement, StatementKind};
use crate::lang::types::Type;

pub use table::{Aggregate, Inline, Scope, Variable};

/// Values that may be computed in one variable.
const WORD: Type = Type::I64;

impl Checker<'_> {
    /// A name that stands alone.
    pub fn identifier(&mut self, name: &Arc<str>, span: Span) -> Value {
        if let Some(value) = self.frame.site.inline_arguments.get(name).cloned() {
            return Value::new(value);
        }
        if let Some(value) = self.word_of_row(name, span) {
            return value;
        }
        if let Some(inline) = self.inlines.get(name).cloned() {
            if !inline.keys.is_empty() {
                self.error(tags::D_IDENT_BADREF, span, format!("`{name}` may not be used without its arguments"));
                return Self::error_value(span);
            }
            return self.put_in(&inline, &[], span);
        }
        if let Some((ty, value)) = self.types.enumerators.get(name).cloned() {
            return Value { constant: true, ..Value::new(int(value, ty, span)) };
        }
        if let Some(variable) = self.variables.known.get(&(Scope::Global, name.clone())).cloned() {
            if variable.indexed {
                let message = format!("{name} may not be referenced as a scalar: it is an associative array");
                self.error(tags::D_IDENT_BADREF, span, message);
                return Self::error_value(span);
            }
            return Self::read(&variable, None, span);
        }
        if let Some(value) = self.builtin(name, span) {
            return value;
        }
        if let Some(value) = super::library::constant(name) {
            return Value { constant: true, ..Value::new(int(value, Type::I32, span)) };
        }
        if super::calls::is_function(name) || self.variables.functions.contains(name) {
            self.error(tags::D_IDENT_BADREF, span, format!("function {name} may not be used as a variable"));
            return Self::error_value(span);
        }
        if let Some(symbol) = name.rsplit_once('`') {
            return self.kernel_symbol(symbol.1, span);
        }
        if let Some((ty, value)) = self.types.enumerator(name) {
            return Value { constant: true, ..Value::new(int(value, ty, span)) };
        }
        self.error(tags::D_IDENT_UNDEF, span, format!("failed to resolve {name}: unknown variable name"));
        Self::error_value(span)
    }

    fn read(variable: &Variable, key: Option<Expr>, span: Span) -> Value {
        let kind = ExprKind::MapGet { map: variable.map, key: key.clone().map(Box::new) };
        let e = Expr::new(kind, variable.ty.clone(), span);
        Value { target: Some(Target::Map(variable.map, key)), ..Value::new(e) }
    }

    /// The key of thread-local variables: the thread, or the processor of an idle one.
    pub fn thread_key(span: Span) -> Expr {
        let of = |b, ty: Type| cast(Expr::new(ExprKind::Builtin(b), ty, span), &Type::U64);
        let tid = of(Builtin::Tid, Type::U32);
        let cpu = of(Builtin::Cpu, Type::U32);
        let idle = Expr::new(
            ExprKind::Binary(BinaryOp::BitOr, Box::new(cpu), Box::new(int(1 << 32, Type::U64, span))),
            Type::U64,
            span,
        );
        let busy = Expr::new(
            ExprKind::Binary(BinaryOp::Ne, Box::new(tid.clone()), Box::new(int(0, Type::U64, span))),
            Type::Bool,
            span,
        );
        Expr::new(ExprKind::Conditional(Box::new(busy), Box::new(tid), Box::new(idle)), Type::U64, span)
    }

    fn full_key(scope: Scope, keys: Vec<Expr>, span: Span) -> Option<Expr> {
        let mut all: Vec<Expr> = if scope == Scope::Thread { vec![Self::thread_key(span)] } else { Vec::new() };
        all.extend(keys);
        super::value::key(all, span)
    }

    /// Makes a variable known.
    pub fn declare(
        &mut self,
        scope: Scope,
        name: &Arc<str>,
        ty: Type,
        keys: Vec<Type>,
        indexed: bool,
        span: Span,
    ) -> Variable {
        let mut all: Vec<Type> = if scope == Scope::Thread { vec![Type::U64] } else { Vec::new() };
        all.extend(keys.iter().cloned());
        let key = super::value::key_type(all);
        let shown = match scope {
            Scope::Global => name.to_string(),
            Scope::Thread => format!("self->{name}"),
            Scope::Clause => format!("this->{name}"),
        };
        let map = self.map(&shown, key, ty.clone(), span);
        let variable = Variable { map, ty, keys, indexed };
        self.variables.known.insert((scope, name.clone()), variable.clone());
        variable
    }

    /// `self->name` and `this->name`.
    pub fn scoped(&mut self, scope: Scope, name: &Arc<str>, span: Span) -> Value {
        if scope == Scope::Clause {
            if let Some(local) = self.this_local(name) {
                let ty = self.frame.locals[local.0 as usize].ty.clone();
                let e = Expr::new(ExprKind::Local(local), ty, span);
                return Value { target: Some(Target::Local(local)), ..Value::new(e) };
            }
        } else if let Some(variable) = self.variables.known.get(&(scope, name.clone())).cloned() {
            if variable.indexed {
                self.error(tags::D_IDENT_BADREF, span, format!("{name} may not be referenced as a scalar"));
                return Self::error_value(span);
            }
            let key = Self::full_key(scope, Vec::new(), span);
            return Self::read(&variable, key, span);
        }
        let word = if scope == Scope::Clause { "this" } else { "self" };
        self.error(tags::D_VAR_UNDEF, span, format!("{word}->{name} has not yet been declared or assigned"));
        Self::error_value(span)
    }

    fn this_local(&mut self, name: &Arc<str>) -> Option<crate::lang::typed::LocalId> {
        if let Some(local) = self.frame.this.get(name) {
            return Some(*local);
        }
        let ty = self.variables.declared_this.get(name)?.clone();
        let local = self.local(&format!("this->{name}"), ty);
        self.frame.this.insert(name.clone(), local);
        Some(local)
    }

    /// The variable that an assignment names, made known when it is new.
    pub fn assigned(&mut self, target: &ast::Expr, ty: &Type) -> Option<Value> {
        let ty = match ty {
            Type::Str { .. } | Type::FuncName => self.string(),
            Type::Bool => Type::I32,
            other => other.clone(),
        };
        let span = target.span;
        let (base, items) = match &target.kind {
            ast::ExprKind::Index(base, items) => (&**base, Some(items)),
            _ => (target, None),
        };
        let (scope, name) = match &base.kind {
            ast::ExprKind::Ident(name) => (Scope::Global, name.clone()),
            ast::ExprKind::Member { base, arrow: true, name } => match &base.kind {
                ast::ExprKind::Ident(word) if &**word == "self" => (Scope::Thread, name.text.clone()),
                ast::ExprKind::Ident(word) if &**word == "this" => (Scope::Clause, name.text.clone()),
                _ => return None,
            },
            _ => return None,
        };
        if matches!(&*name, "self" | "this") {
            return None;
        }
        let known = match scope {
            Scope::Clause => self.this_local(&name).is_some(),
            _ => self.variables.known.contains_key(&(scope, name.clone())),
        };
        let taken = scope == Scope::Global
            && (self.inlines.contains_key(&name)
                || super::calls::is_function(&name)
                || super::builtins::is_builtin(&name)
                || self.types.enumerators.contains_key(&name)
                || self.frame.site.inline_arguments.contains_key(&name));
        if known || taken {
            return None;
        }
        if !is_scalar(&ty) && !matches!(ty, Type::Str { .. } | Type::Struct(_) | Type::Array { .. } | Type::Inet) {
            if ty != Type::Error {
                let text = self.type_text(&ty);
                self.error(tags::D_OP_INCOMPAT, span, format!("a value of type {text} can't be kept in a variable"));
            }
            return Some(Self::error_value(span));
        }
        let Some(items) = items else {
            if scope == Scope::Clause {
                let local = self.local(&format!("this->{name}"), ty.clone());
                self.frame.this.insert(name.clone(), local);
                self.variables.declared_this.insert(name, ty.clone());
                let e = Expr::new(ExprKind::Local(local), ty, span);
                return Some(Value { target: Some(Target::Local(local)), ..Value::new(e) });
            }
            let variable = self.declare(scope, &name, ty, Vec::new(), false, span);
            return Some(Self::read(&variable, Self::full_key(scope, Vec::new(), span), span));
        };
        if scope == Scope::Clause {
            self.error(tags::D_ARR_LOCAL, span, format!("associative array this->{name} may not be clause-local"));
            return Some(Self::error_value(span));
        }
        let keys: Vec<Expr> = items.iter().map(|e| self.key_part(e)).collect();
        let types: Vec<Type> = keys.iter().map(|e| e.ty.clone()).collect();
        let variable = self.declare(scope, &name, ty, types, true, span);
        Some(Self::read(&variable, Self::full_key(scope, keys, span), span))
    }

    /// An element, or a variable with `->`, whose first use is behind `!`, `-` or `~`: a number of 64 bits from then on.
    /// A plain name is not made known so.
    pub fn first_asked(&mut self, operand: &ast::Expr) -> Option<Value> {
        let base = match &operand.kind {
            ast::ExprKind::Index(base, _) => &**base,
            ast::ExprKind::Member { .. } => operand,
            _ => return None,
        };
        let of_the_kernel = matches!(&base.kind, ast::ExprKind::Ident(name) if name.contains('`'));
        if of_the_kernel { None } else { self.assigned(operand, &WORD) }
    }

    /// A key of an array or an aggregation: numbers as 64 bits, text in full.
    pub fn key_part(&mut self, e: &ast::Expr) -> Expr {
        let whole = matches!(&e.kind, ast::ExprKind::Ident(name) if matches!(&**name, "curpsinfo" | "curlwpsinfo"));
        if whole || matches!(e.kind, ast::ExprKind::Aggregation(_)) {
            self.error(tags::D_KEY_TYPE, e.span, "expression may not be used as a key");
            return int(0, WORD, e.span);
        }
        let value = self.expr(e);
        let span = value.span();
        match value.ty() {
            Type::Error => int(0, WORD, span),
            Type::Str { .. } => self.text(value.e),
            ty if is_scalar(ty) => {
                let wide = if ty.is_signed() || *ty == Type::Bool { Type::I64 } else { Type::U64 };
                // What prints is as wide as the value was.
                match ty {
                    Type::Int { .. } => value.e,
                    Type::Bool => cast(value.e, &Type::I32),
                    _ => cast(value.e, &wide),
                }
            }
            Type::Array { of, .. } if matches!(**of, Type::Int { size: 1, .. }) => self.text(value.e),
            Type::Struct(_) => value.e,
            Type::KStack { .. } | Type::UStack { .. } | Type::KSym | Type::USym | Type::FuncName | Type::Inet => {
                value.e
            }
            _ => {
                self.error(tags::D_KEY_TYPE, span, "expression may not be used as a key");
                int(0, WORD, span)
            }
        }
    }

    /// An element of an associative array; `None` when the base is none.
    pub fn element(&mut self, base: &ast::Expr, items: &[ast::Expr], span: Span) -> Option<Value> {
        let (scope, name) = match &base.kind {
            ast::ExprKind::Ident(name) => (Scope::Global, name.clone()),
            ast::ExprKind::Member { base, arrow: true, name } => match &base.kind {
                ast::ExprKind::Ident(word) if &**word == "self" => (Scope::Thread, name.text.clone()),
                _ => return None,
            },
            _ => return None,
        };
        if let Some(inline) = self.inlines.get(&name).filter(|i| scope == Scope::Global && !i.keys.is_empty()).cloned()
        {
            let arguments: Vec<Value> = items.iter().map(|e| self.expr(e)).collect();
            return Some(self.put_in(&inline, &arguments, span));
        }
        let variable = self.variables.known.get(&(scope, name.clone())).cloned()?;
        if !variable.indexed {
            return None;
        }
        if items.len() != variable.keys.len() {
            let message =
                format!("{name}[ ] prototype mismatch: {} keys passed, {} expected", items.len(), variable.keys.len());
            self.error(tags::D_PROTO_LEN, span, message);
            return Some(Self::error_value(span));
        }
        let mut keys = Vec::new();
        for (number, (item, wanted)) in items.iter().zip(&variable.keys).enumerate() {
            let value = self.expr(item);
            let text = self.type_text(value.ty());
            let at = value.span();
            if let Some(key) = self.convert(value, wanted) {
                keys.push(key);
            } else {
                let wanted = self.type_text(wanted);
                let number = number + 1;
                let message =
                    format!("{name}[ ] key #{number} is incompatible with prototype: {text}, {wanted} expected");
                self.error(tags::D_PROTO_ARG, at, message);
                return Some(Self::error_value(span));
            }
        }
        Some(Self::read(&variable, Self::full_key(scope, keys, span), span))
    }

    /// Puts an inline's value in.
    fn put_in(&mut self, inline: &Inline, arguments: &[Value], span: Span) -> Value {
        if arguments.len() != inline.keys.len() {
            let message =
                format!("prototype mismatch: {} arguments passed, {} expected", arguments.len(), inline.keys.len());
            self.error(tags::D_PROTO_LEN, span, message);
            return Self::error_value(span);
        }
        if self.depth > 32 {
            self.error(tags::D_UNKNOWN, span, "inlines are nested too deep");
            return Self::error_value(span);
        }
        let mut named = HashMap::new();
        for ((name, ty), value) in inline.keys.iter().zip(arguments) {
            let at = value.span();
            match self.convert(value.clone(), ty) {
                Some(e) => {
                    named.insert(name.clone(), e);
                }
                None => self.error(tags::D_PROTO_ARG, at, format!("argument {name} has another type")),
            }
        }
        let outer = std::mem::replace(&mut self.frame.site.inline_arguments, named);
        self.depth += 1;
        let value = self.expr(&inline.value);
        self.depth -= 1;
        self.frame.site.inline_arguments = outer;
        let constant = value.constant;
        match self.convert(value, &inline.ty) {
            Some(mut e) => {
                e.span = span;
                Value { constant, ..Value::new(e) }
            }
            None => Self::error_value(span),
        }
    }

    /// The statements that give a variable its value. Assigning 0 to what is kept by key removes it.
    pub fn store(&mut self, target: &Target, value: Expr, span: Span) -> Vec<Statement> {
        match target {
            Target::Local(local) => vec![statement(StatementKind::SetLocal(*local, value), span)],
            Target::Map(map, None) => {
                vec![statement(StatementKind::SetMap { map: *map, key: None, value }, span)]
            }
            Target::Map(map, Some(key)) => {
                let delete = |key: Expr| {
                    let kind = ExprKind::MapDelete { map: *map, key: Some(Box::new(key)) };
                    statement(StatementKind::Expr(Expr::new(kind, Type::Bool, span)), span)
                };
                if value.as_int() == Some(0) {
                    return vec![delete(key.clone())];
                }
                if value.as_int().is_some() || !is_scalar(&value.ty) {
                    return vec![statement(StatementKind::SetMap { map: *map, key: Some(key.clone()), value }, span)];
                }
                let kept = self.local("%kept", value.ty.clone());
                let again = Expr::new(ExprKind::Local(kept), value.ty.clone(), span);
                let set = StatementKind::SetMap { map: *map, key: Some(key.clone()), value: again.clone() };
                vec![
                    statement(StatementKind::SetLocal(kept, value), span),
                    statement(
                        StatementKind::If(
                            again,
                            Block::new(vec![statement(set, span)]),
                            Block::new(vec![delete(key.clone())]),
                        ),
                        span,
                    ),
                ]
            }
            Target::Part(place) => {
                vec![statement(StatementKind::Store { place: place.clone(), value }, span)]
            }
        }
    }

    /// Evaluates a value once and for all: reading it again gives the same.
    pub fn kept(&mut self, e: Expr) -> (Vec<Statement>, Expr) {
        if matches!(e.kind, ExprKind::Int(_) | ExprKind::Str(_)) {
            return (Vec::new(), e);
        }
        let (span, ty) = (e.span, e.ty.clone());
        let local = self.local("%kept", ty.clone());
        (vec![statement(StatementKind::SetLocal(local, e), span)], Expr::new(ExprKind::Local(local), ty, span))
    }

    /// `place = value` as an expression.
    pub fn set(&mut self, target: &Target, value: Expr, span: Span) -> Value {
        let (mut statements, kept) = self.kept(value);
        statements.extend(self.store(target, kept.clone(), span));
        Value::new(block(statements, kept))
    }
}
