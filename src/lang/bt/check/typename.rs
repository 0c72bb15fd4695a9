//! Types as written in casts, declarations and `sizeof`.

use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::bt::builtins::is_variable;
use crate::lang::codes::check::UNKNOWN_TYPE;
use crate::lang::facts::CKind;
use crate::lang::typed::ExprKind;
use crate::lang::types::{AddressSpace, StackMode, Type};

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::frame::variables;
use crate::lang::bt::check::literal::pointer;
use crate::lang::bt::check::maps::undefined;
use crate::lang::bt::check::place::space;
use crate::lang::bt::check::{join, suggest};

const TYPE_NAMES: &[&str] = &[
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "string", "buffer", "inet",
    "void", "char", "short", "int", "long", "size_t",
];

/// The type that a name stands for; reports what is not known.
pub fn type_name(c: &mut Checker<'_>, name: &ast::TypeName) -> Type {
    let mut ty = base_type(c, name);
    if matches!(ty, Type::Error) {
        return ty;
    }
    let space = space::default_space(c);
    for suffix in &name.suffixes {
        ty = match suffix {
            ast::TypeSuffix::Pointer => pointer(ty, space),
            ast::TypeSuffix::Array(len) => {
                let len = len.unwrap_or(0).min(u64::from(u32::MAX)) as u32;
                Type::Array { of: Arc::new(ty), len }
            }
        };
    }
    ty
}

fn base_type(c: &mut Checker<'_>, name: &ast::TypeName) -> Type {
    let (kind, keyword, tag) = match &name.base {
        ast::TypeBase::Named(text) => return named_type(c, text, name),
        ast::TypeBase::Sized(text, size) => return sized_type(c, text, *size, name),
        ast::TypeBase::Tuple(items) => return Type::Tuple(items.iter().map(|t| type_name(c, t)).collect()),
        ast::TypeBase::TypeOf(e) => return type_of(c, e),
        ast::TypeBase::Struct(tag) => (CKind::Struct, "struct", tag),
        ast::TypeBase::Union(tag) => (CKind::Union, "union", tag),
        ast::TypeBase::Enum(tag) => (CKind::Enum, "enum", tag),
    };
    if let Some(ty) = c.types.tagged(kind, tag) {
        return ty;
    }
    let similar = c.types.facts.similar_types(kind, tag);
    let help = suggest::did_you_mean(tag, similar.iter().map(String::as_str));
    unknown_type(c, &format!("{keyword} {tag}"), name, help);
    Type::Error
}

fn named_type(c: &mut Checker<'_>, text: &str, name: &ast::TypeName) -> Type {
    match text {
        "string" => return Type::Str { size: c.config.max_strlen },
        "buffer" => return Type::Buf { size: c.config.max_strlen },
        "kstack_t" | "kstack" => return Type::KStack { mode: StackMode::Bpftrace, depth: 127 },
        "ustack_t" | "ustack" => return Type::UStack { mode: StackMode::Bpftrace, depth: 127 },
        _ => {}
    }
    match c.types.named(text) {
        Some(ty) => ty,
        None => {
            let help = suggest::did_you_mean(text, TYPE_NAMES.iter().copied());
            unknown_type(c, text, name, help);
            Type::Error
        }
    }
}

fn sized_type(c: &mut Checker<'_>, text: &str, size: u64, name: &ast::TypeName) -> Type {
    let bytes = size.clamp(1, 1 << 20) as u32;
    match text {
        "string" => Type::Str { size: bytes },
        "buffer" => Type::Buf { size: bytes },
        "inet" => Type::Inet,
        other => match c.types.named(other) {
            Some(ty) => Type::Array { of: Arc::new(ty), len: bytes },
            None => {
                unknown_type(c, other, name, None);
                Type::Error
            }
        },
    }
}

fn unknown_type(c: &mut Checker<'_>, text: &str, name: &ast::TypeName, help: Option<String>) {
    let help = help.or_else(|| c.types.facts.types_absent());
    c.error_help(UNKNOWN_TYPE, name.span, format!("Cannot resolve unknown type \"{text}\""), help);
}

/// A type's name in kernel memory, for declarations outside probes.
pub fn declared_type(c: &mut Checker<'_>, name: &ast::TypeName) -> Type {
    match type_name(c, name) {
        Type::Ptr { to, .. } => Type::Ptr { to, space: AddressSpace::Kernel },
        ty => ty,
    }
}

/// As [`Self::type_of`], but literals, and variables and maps that hold nothing else, are as small
/// as their values allow.
pub fn smallest_type(c: &mut Checker<'_>, e: &ast::Expr) -> Type {
    if let Some(key) = undefined::key_type_of(c, e) {
        return join::smallest(&key);
    }
    let typed = match &e.kind {
        ast::ExprKind::Ident(_) | ast::ExprKind::Type(_) => return type_of(c, e),
        _ => c.value(e),
    };
    let inferred = match &typed.kind {
        ExprKind::Local(id) => variables::inferred_local(c, *id),
        ExprKind::MapGet { map, .. } if !matches!(typed.ty, Type::Error) => Some(c.maps.get(*map).value.clone()),
        _ => None,
    };
    match inferred {
        Some(Type::Agg(_)) | None => join::smallest(&join::infer_type(&typed)),
        Some(ty) => join::smallest(&ty),
    }
}

/// The type of an expression that is not evaluated; a bare name may be a type's.
pub fn type_of(c: &mut Checker<'_>, e: &ast::Expr) -> Type {
    if let ast::ExprKind::Ident(name) = &e.kind
        && !is_variable(name)
        && c.types.enumerator(name).is_none()
        && let Some(ty) = c.types.named(name)
    {
        return ty;
    }
    if let ast::ExprKind::Type(name) = &e.kind {
        return type_name(c, name);
    }
    if let Some(key) = undefined::key_type_of(c, e) {
        return join::resolve(&key);
    }
    c.value(e).ty
}
