//! Structs, unions and enums.

use std::sync::Arc;

use super::super::{Checker, value};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr, Member, TagBody, TagKind, Tagged};
use crate::lang::facts::CKind;
use crate::lang::facts::table::place_bitfield;
use crate::lang::source::Span;
use crate::lang::typed::FieldDef;
use crate::lang::types::{StructId, Type};

impl Checker<'_> {
    pub fn tagged(&mut self, t: &Tagged) -> Type {
        if t.kind == TagKind::Enum {
            return self.enumeration(t);
        }
        let union = t.kind == TagKind::Union;
        let anonymous: Arc<str> = format!("(anon {})", t.span.start).into();
        let name = t.name.as_ref().map_or(anonymous, |n| n.text.clone());
        let kind = if union { CKind::Union } else { CKind::Struct };
        // Structs and unions may have the same tag.
        let tag: Arc<str> = if union { format!("union {name}").into() } else { name.clone() };
        let known = self.tags.get(&tag).copied();
        if t.body.is_none() && known.is_none() {
            let plain = name.rsplit_once('`').map_or(&*name, |(_, plain)| plain);
            if let Some(ty) = self.types.tagged(kind, plain) {
                return ty;
            }
        }
        let id = match known {
            Some((id, _)) => id,
            None => {
                let id = self.types.declare_struct(&name, union);
                self.tags.insert(tag.clone(), (id, false));
                id
            }
        };
        if let Some(TagBody::Members(members)) = &t.body {
            if known.is_some_and(|(_, defined)| defined) {
                self.error(tags::D_DECL_TYPERED, t.span, format!("type redeclared: {name}"));
                return Type::Struct(id);
            }
            self.members_of(id, members, union);
            self.tags.insert(tag, (id, true));
        }
        Type::Struct(id)
    }

    pub fn alignment(&self, ty: &Type) -> u32 {
        match ty {
            Type::Struct(id) => self.types.alignment(*id).unwrap_or(8),
            Type::Array { of, .. } => self.alignment(of),
            Type::Str { .. } => 1,
            _ => self.size_of(ty).clamp(1, 8),
        }
    }

    pub fn is_incomplete(&self, ty: &Type) -> bool {
        match ty {
            Type::Struct(id) => self.tags.values().any(|(of, defined)| of == id && !defined),
            Type::Array { of, .. } => self.is_incomplete(of),
            _ => false,
        }
    }

    pub fn members_of(&mut self, id: StructId, members: &[Member], union: bool) {
        let (mut bits, mut align, mut size) = (0_u64, 1_u32, 0_u64);
        let mut fields: Vec<FieldDef> = Vec::new();
        for member in members {
            let base = self.base(&member.specifiers);
            if !member.specifiers.classes.is_empty() {
                self.error(tags::D_DECL_CLASS, member.specifiers.span, "a member has no storage class");
            }
            for (declarator, width) in &member.declarators {
                let shaped = self.shape(base.clone(), declarator);
                let name = declarator.name.as_ref().map_or_else(|| Arc::from(""), |n| n.text.clone());
                let at = declarator.span;
                if !name.is_empty() && fields.iter().any(|f| f.name == name) {
                    let message = format!("failed to define member '{name}': duplicate member name");
                    self.error(tags::D_UNKNOWN, at, message);
                }
                if shaped.ty == Type::Void || shaped.is_function {
                    self.error(tags::D_DECL_VOIDOBJ, at, format!("cannot have member of type void: {name}"));
                    continue;
                }
                if self.is_incomplete(&shaped.ty) {
                    let text = self.type_text(&shaped.ty);
                    self.error(tags::D_DECL_INCOMPLETE, at, format!("incomplete type {text}: member {name}"));
                    continue;
                }
                let of_type = self.size_of(&shaped.ty);
                let natural = self.alignment(&shaped.ty);
                if let Some(width) = width {
                    let Some(width) = self.bit_width(&shaped.ty, width, of_type) else { continue };
                    let unit = u64::from(of_type) * 8;
                    let mut start = if union { 0 } else { bits };
                    if width == 0 {
                        bits = start.next_multiple_of(unit.max(8));
                        continue;
                    }
                    if start / unit != (start + u64::from(width) - 1) / unit {
                        start = start.next_multiple_of(unit);
                    }
                    let (ty, offset, place) = place_bitfield(shaped.ty, start as u32, width);
                    fields.push(FieldDef { name, ty, offset, bits: Some(place) });
                    bits = start + u64::from(width);
                } else {
                    let start = if union { 0 } else { bits.next_multiple_of(u64::from(natural) * 8) };
                    fields.push(FieldDef { name, ty: shaped.ty, offset: (start / 8) as u32, bits: None });
                    bits = start + u64::from(of_type) * 8;
                }
                align = align.max(natural);
                size = size.max(bits.div_ceil(8));
            }
        }
        let size = u32::try_from(size.next_multiple_of(u64::from(align))).unwrap_or(u32::MAX);
        if size > 1 << 20 {
            self.error(tags::D_DECL_ARRBIG, Span::default(), "the struct is too large");
            return;
        }
        self.types.define(id, size, align, fields);
    }

    pub fn bit_width(&mut self, ty: &Type, width: &Expr, size: u32) -> Option<u32> {
        if !value::is_int(ty) {
            self.error(tags::D_DECL_BFTYPE, width.span, "invalid type for bit-field");
            return None;
        }
        match self.constant(width) {
            Some(n) if n > 0 && n <= i64::from(size) * 8 => Some(n as u32),
            Some(n) if n <= 0 => {
                self.error(
                    tags::D_DECL_BFCONST,
                    width.span,
                    "positive integral constant expression expected as bit-field size",
                );
                None
            }
            Some(_) => {
                self.error(tags::D_DECL_BFSIZE, width.span, "bit-field is too big for its type");
                None
            }
            None => {
                self.error(
                    tags::D_DECL_BFCONST,
                    width.span,
                    "positive integral constant expression expected as bit-field size",
                );
                None
            }
        }
    }

    pub fn enumeration(&mut self, t: &Tagged) -> Type {
        let name = t.name.as_ref().map_or_else(|| Arc::from(""), |n| n.text.clone());
        let Some(TagBody::Enumerators(items)) = &t.body else {
            if let Some(ty) = self.types.script_enums.get(&name) {
                return ty.clone();
            }
            return self.types.tagged(CKind::Enum, &name).unwrap_or(Type::I32);
        };
        if self.types.script_enums.contains_key(&name) {
            self.error(tags::D_DECL_TYPERED, t.span, format!("type redeclared: enum {name}"));
            return Type::I32;
        }
        let mut next = 0_i64;
        let mut variants: Vec<(Arc<str>, i64)> = Vec::new();
        for (item, value) in items {
            if let Some(e) = value {
                if let Some(n) = self.constant(e) {
                    next = n;
                } else {
                    self.error(
                        tags::D_DECL_ENCONST,
                        e.span,
                        format!("enumerator '{}' must be assigned an integral constant", item.text),
                    );
                }
            }
            if i32::try_from(next).is_err() {
                self.error(
                    tags::D_DECL_ENOFLOW,
                    item.span,
                    format!("enumerator '{}' value overflows INT_MAX", item.text),
                );
            }
            if variants.iter().any(|(n, _)| *n == item.text) {
                self.error(
                    tags::D_UNKNOWN,
                    item.span,
                    format!("failed to define enumerator '{}': duplicate", item.text),
                );
            } else if self.types.enumerators.contains_key(&item.text) {
                self.error(tags::D_DECL_IDRED, item.span, format!("identifier redeclared: {}", item.text));
            }
            variants.push((item.text.clone(), next));
            self.types.enumerators.insert(item.text.clone(), (Type::I32, next));
            next = next.wrapping_add(1);
        }
        let named = variants.clone();
        let ty = self.types.declare_enum(&name, variants);
        for (item, value) in named {
            self.types.enumerators.insert(item, (Type::I32, value));
        }
        ty
    }
}
