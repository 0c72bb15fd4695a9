//! Structs, unions and enums.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::declarations;
use super::super::{Checker, value};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr, Member, TagBody, TagKind, Tagged};
use crate::lang::facts::CKind;
use crate::lang::facts::table::place_bitfield;
use crate::lang::source::Span;
use crate::lang::typed::FieldDef;
use crate::lang::types::{StructId, Type};

pub fn tagged(c: &mut Checker<'_>, t: &Tagged) -> Type {
    if t.kind == TagKind::Enum {
        return enumeration(c, t);
    }
    let union = t.kind == TagKind::Union;
    let anonymous: Arc<str> = format!("(anon {})", t.span.start).into();
    let name = t.name.as_ref().map_or(anonymous, |n| n.text.clone());
    let kind = if union { CKind::Union } else { CKind::Struct };
    // Structs and unions may have the same tag.
    let tag: Arc<str> = if union { format!("union {name}").into() } else { name.clone() };
    let known = c.tags.get(&tag).copied();
    if t.body.is_none() && known.is_none() {
        let plain = name.rsplit_once('`').map_or(&*name, |(_, plain)| plain);
        if let Some(ty) = c.types.tagged(kind, plain) {
            return ty;
        }
    }
    let id = match known {
        Some((id, _)) => id,
        None => {
            let id = c.types.declare_struct(&name, union);
            c.tags.insert(tag.clone(), (id, false));
            c.incomplete.insert(id);
            id
        }
    };
    if let Some(TagBody::Members(members)) = &t.body {
        if known.is_some_and(|(_, defined)| defined) {
            c.error(tags::D_DECL_TYPERED, t.span, format!("type redeclared: {name}"));
            return Type::Struct(id);
        }
        members_of(c, id, members, union);
        c.tags.insert(tag, (id, true));
        c.incomplete.remove(&id);
    }
    Type::Struct(id)
}

fn alignment(c: &Checker<'_>, ty: &Type) -> u32 {
    match ty {
        Type::Struct(id) => c.types.alignment(*id).unwrap_or(8),
        Type::Array { of, .. } => alignment(c, of),
        Type::Str { .. } => 1,
        _ => c.size_of(ty).clamp(1, 8),
    }
}

pub fn is_incomplete(c: &Checker<'_>, ty: &Type) -> bool {
    match ty {
        Type::Struct(id) => c.incomplete.contains(id),
        Type::Array { of, .. } => is_incomplete(c, of),
        _ => false,
    }
}

fn members_of(c: &mut Checker<'_>, id: StructId, members: &[Member], union: bool) {
    let (mut bits, mut align, mut size) = (0_u64, 1_u32, 0_u64);
    let mut fields: Vec<FieldDef> = Vec::new();
    let mut names = HashSet::new();
    for member in members {
        let base = c.base(&member.specifiers);
        if !member.specifiers.classes.is_empty() {
            c.error(tags::D_DECL_CLASS, member.specifiers.span, "a member has no storage class");
        }
        for (declarator, width) in &member.declarators {
            let shaped = declarations::shape(c, base.clone(), declarator);
            let name = declarator.name.as_ref().map_or_else(|| Arc::from(""), |n| n.text.clone());
            let at = declarator.span;
            if !name.is_empty() && !names.insert(Arc::clone(&name)) {
                let message = format!("failed to define member '{name}': duplicate member name");
                c.error(tags::D_UNKNOWN, at, message);
            }
            if shaped.ty == Type::Void || shaped.is_function {
                c.error(tags::D_DECL_VOIDOBJ, at, format!("cannot have member of type void: {name}"));
                continue;
            }
            if is_incomplete(c, &shaped.ty) {
                let text = c.type_text(&shaped.ty);
                c.error(tags::D_DECL_INCOMPLETE, at, format!("incomplete type {text}: member {name}"));
                continue;
            }
            let of_type = c.size_of(&shaped.ty);
            let natural = alignment(c, &shaped.ty);
            if let Some(width) = width {
                let Some(width) = bit_width(c, &shaped.ty, width, of_type) else { continue };
                let unit = u64::from(of_type) * 8;
                let mut start = if union { 0 } else { bits };
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
        c.error(tags::D_DECL_ARRBIG, Span::default(), "the struct is too large");
        return;
    }
    c.types.define(id, size, align, fields);
}

fn bit_width(c: &mut Checker<'_>, ty: &Type, width: &Expr, size: u32) -> Option<u32> {
    if !value::is_int(ty) {
        c.error(tags::D_DECL_BFTYPE, width.span, "invalid type for bit-field");
        return None;
    }
    match c.constant(width).filter(|n| *n > 0) {
        Some(n) if n <= i64::from(size) * 8 => return Some(n as u32),
        Some(_) => c.error(tags::D_DECL_BFSIZE, width.span, "bit-field is too big for its type"),
        None => {
            let message = "positive integral constant expression expected as bit-field size";
            c.error(tags::D_DECL_BFCONST, width.span, message);
        }
    }
    None
}

fn enumeration(c: &mut Checker<'_>, t: &Tagged) -> Type {
    let name = t.name.as_ref().map_or_else(|| Arc::from(""), |n| n.text.clone());
    let Some(TagBody::Enumerators(items)) = &t.body else {
        if let Some(ty) = c.types.script_enums.get(&name) {
            return ty.clone();
        }
        return c.types.tagged(CKind::Enum, &name).unwrap_or(Type::I32);
    };
    if c.types.script_enums.contains_key(&name) {
        c.error(tags::D_DECL_TYPERED, t.span, format!("type redeclared: enum {name}"));
        return Type::I32;
    }
    let mut next = 0_i64;
    let mut variants: Vec<(Arc<str>, i64)> = Vec::new();
    let mut names = HashSet::new();
    for (item, value) in items {
        if let Some(e) = value {
            if let Some(n) = c.constant(e) {
                next = n;
            } else {
                c.error(
                    tags::D_DECL_ENCONST,
                    e.span,
                    format!("enumerator '{}' must be assigned an integral constant", item.text),
                );
            }
        }
        if i32::try_from(next).is_err() {
            c.error(tags::D_DECL_ENOFLOW, item.span, format!("enumerator '{}' value overflows INT_MAX", item.text));
        }
        if !names.insert(Arc::clone(&item.text)) {
            c.error(tags::D_UNKNOWN, item.span, format!("failed to define enumerator '{}': duplicate", item.text));
        } else if c.types.enumerators.contains_key(&item.text) {
            c.error(tags::D_DECL_IDRED, item.span, format!("identifier redeclared: {}", item.text));
        }
        variants.push((item.text.clone(), next));
        c.types.enumerators.insert(item.text.clone(), (Type::I32, next));
        next = next.wrapping_add(1);
    }
    let named = variants.clone();
    let ty = c.types.declare_enum(&name, variants);
    for (item, value) in named {
        c.types.enumerators.insert(item, (Type::I32, value));
    }
    ty
}
