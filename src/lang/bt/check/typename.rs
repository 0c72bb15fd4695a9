//! Types as written in casts, declarations and `sizeof`.

use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::codes::check::UNKNOWN_TYPE;
use crate::lang::facts::CKind;
use crate::lang::types::{AddressSpace, StackMode, Type};

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::literal::pointer;
use crate::lang::bt::check::suggest;

const TYPE_NAMES: &[&str] = &[
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "string", "buffer", "inet",
    "void", "char", "short", "int", "long", "size_t",
];

impl Checker<'_> {
    /// The type that a name stands for; reports what is not known.
    pub fn type_name(&mut self, name: &ast::TypeName) -> Type {
        let mut ty = self.base_type(name);
        if matches!(ty, Type::Error) {
            return ty;
        }
        let space = self.default_space();
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

    fn base_type(&mut self, name: &ast::TypeName) -> Type {
        let (kind, keyword, tag) = match &name.base {
            ast::TypeBase::Named(text) => return self.named_type(text, name),
            ast::TypeBase::Sized(text, size) => return self.sized_type(text, *size, name),
            ast::TypeBase::Tuple(items) => return Type::Tuple(items.iter().map(|t| self.type_name(t)).collect()),
            ast::TypeBase::TypeOf(e) => return self.type_of(e),
            ast::TypeBase::Struct(tag) => (CKind::Struct, "struct", tag),
            ast::TypeBase::Union(tag) => (CKind::Union, "union", tag),
            ast::TypeBase::Enum(tag) => (CKind::Enum, "enum", tag),
        };
        if let Some(ty) = self.types.tagged(kind, tag) {
            return ty;
        }
        let similar = self.types.facts.similar_types(kind, tag);
        let help = suggest::did_you_mean(tag, similar.iter().map(String::as_str));
        self.unknown_type(&format!("{keyword} {tag}"), name, help);
        Type::Error
    }

    fn named_type(&mut self, text: &str, name: &ast::TypeName) -> Type {
        match text {
            "string" => return Type::Str { size: self.config.max_strlen },
            "buffer" => return Type::Buf { size: self.config.max_strlen },
            "kstack_t" | "kstack" => return Type::KStack { mode: StackMode::Bpftrace, depth: 127 },
            "ustack_t" | "ustack" => return Type::UStack { mode: StackMode::Bpftrace, depth: 127 },
            _ => {}
        }
        match self.types.named(text) {
            Some(ty) => ty,
            None => {
                let help = suggest::did_you_mean(text, TYPE_NAMES.iter().copied());
                self.unknown_type(text, name, help);
                Type::Error
            }
        }
    }

    fn sized_type(&mut self, text: &str, size: u64, name: &ast::TypeName) -> Type {
        let bytes = size.clamp(1, 1 << 20) as u32;
        match text {
            "string" => Type::Str { size: bytes },
            "buffer" => Type::Buf { size: bytes },
            "inet" => Type::Inet,
            other => match self.types.named(other) {
                Some(ty) => Type::Array { of: Arc::new(ty), len: bytes },
                None => {
                    self.unknown_type(other, name, None);
                    Type::Error
                }
            },
        }
    }

    fn unknown_type(&mut self, text: &str, name: &ast::TypeName, help: Option<String>) {
        let help = help.or_else(|| self.types.facts.types_absent());
        self.error_help(UNKNOWN_TYPE, name.span, format!("Cannot resolve unknown type \"{text}\""), help);
    }

    /// A type's name in kernel memory, for declarations outside probes.
    pub fn declared_type(&mut self, name: &ast::TypeName) -> Type {
        match self.type_name(name) {
            Type::Ptr { to, .. } => Type::Ptr { to, space: AddressSpace::Kernel },
            ty => ty,
        }
    }
}
