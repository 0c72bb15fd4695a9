//! What a script defines: C structs and enums, functions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::lang::bt::{ast, constant};
use crate::lang::codes::check::{BAD_DEFINITION, DUPLICATE};
use crate::lang::facts::CKind;
use crate::lang::facts::table::TypeTable;
use crate::lang::source::Span;
use crate::lang::typed::{FieldDef, Function};
use crate::lang::types::{StructId, Type};

use crate::lang::bt::check::checker::{Checker, Signature};
use crate::lang::bt::check::frame::{Frame, Kind, variables};
use crate::lang::bt::check::hoisting::hoisted_names;
use crate::lang::bt::check::join::unknown;
use crate::lang::bt::check::{coerce, lint, typename};

/// Takes in the script's C types.
pub fn read_definitions(c: &mut Checker<'_>, script: &ast::Script) {
    c.types.headers = script.headers;
    // Tags first, so that pointers to later structs are known.
    for item in &script.items {
        if let ast::Item::TypeDef(ast::TypeDef::Struct { name, union, .. }) = item
            && !name.text.is_empty()
        {
            if c.types.script_structs.contains_key(&name.text) {
                c.error(DUPLICATE, name.span, format!("`{}` is defined twice", name.text));
            } else {
                c.types.declare_struct(&name.text, *union);
            }
        }
    }
    for item in &script.items {
        if let ast::Item::TypeDef(def) = item {
            define_type(c, def);
        }
    }
}

fn define_type(c: &mut Checker<'_>, def: &ast::TypeDef) -> Option<Type> {
    match def {
        ast::TypeDef::Struct { name, union, packed, members, span } => {
            let known = c.types.script_structs.get(&name.text).copied().filter(|_| !name.text.is_empty());
            let id = known.unwrap_or_else(|| c.types.declare_struct(&name.text, *union));
            lay_out(c, id, *union, *packed, members, *span);
            Some(Type::Struct(id))
        }
        ast::TypeDef::Enum { name, variants, .. } => Some(define_enum(c, name, variants)),
        ast::TypeDef::Alias { name, ty } => {
            let opaque = ty.suffixes.is_empty() && is_undefined(&mut c.types, ty);
            let ty = if opaque || is_pointer_to_undefined(&mut c.types, ty) {
                with_suffixes(Type::Void, ty)
            } else {
                typename::declared_type(c, ty)
            };
            c.types.aliases.insert(name.text.clone(), ty);
            None
        }
    }
}

fn define_enum(c: &mut Checker<'_>, name: &ast::Name, variants: &[(ast::Name, Option<ast::Expr>)]) -> Type {
    let mut next = 0_i64;
    let (mut list, mut known) = (Vec::new(), HashMap::<Arc<str>, i64>::new());
    for (variant, value) in variants {
        if let Some(e) = value {
            // Those before it in the same list are known, too.
            let own = |name: &str| known.get(name).copied();
            match constant_int(c, e, &own) {
                Some(v) => next = v,
                None => c.error(BAD_DEFINITION, e.span, "an enumerator's value must be a number"),
            }
        }
        known.entry(variant.text.clone()).or_insert(next);
        list.push((variant.text.clone(), next));
        next = next.wrapping_add(1);
    }
    c.types.declare_enum(&name.text, list)
}

fn constant_int(c: &mut Checker<'_>, e: &ast::Expr, own: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
    let mut named = |kind: &ast::ExprKind| match kind {
        ast::ExprKind::Ident(name) => own(name).or_else(|| c.types.enumerator(name).map(|(_, v)| v)).map(|v| v as u64),
        ast::ExprKind::SizeOf(what) => match &**what {
            ast::TypeOrExpr::Type(name) => {
                let ty = typename::declared_type(c, name);
                (!unknown(&ty)).then(|| u64::from(c.size_of(&ty)))
            }
            ast::TypeOrExpr::Expr(_) => None,
        },
        _ => None,
    };
    constant::fold_names(e, &mut named).map(|v| v as i64)
}

/// Lays a struct out as C does on 64-bit machines.
fn lay_out(c: &mut Checker<'_>, id: StructId, union: bool, packed: bool, members: &[ast::Member], span: Span) {
    let mut fields = Vec::new();
    let mut end_bits = 0_u64;
    let mut align = 1_u64;
    for member in members {
        let float = floating_size(&member.ty);
        let ty = match (&member.body, float) {
            (Some(body), _) => {
                let base = define_type(c, body).unwrap_or(Type::Error);
                with_suffixes(base, &member.ty)
            }
            // No script can hold what is in it, only what is beside it.
            (None, Some(_)) if matches!(member.ty.suffixes.first(), Some(ast::TypeSuffix::Pointer)) => {
                with_suffixes(Type::Void, &member.ty)
            }
            (None, Some(_)) => Type::Void,
            (None, None) if is_pointer_to_undefined(&mut c.types, &member.ty) => with_suffixes(Type::Void, &member.ty),
            (None, None) => {
                refuse_incomplete(c, id, &member.ty);
                typename::declared_type(c, &member.ty)
            }
        };
        let ty = match ty {
            // Arrays of plain `char` are text.
            Type::Array { of, len } if is_char(&member.ty) && *of == (Type::Int { size: 1, signed: true }) => {
                Type::Str { size: len }
            }
            ty => ty,
        };
        let (size, natural) = match (&ty, float) {
            (Type::Void, Some(each)) => (each * elements(&member.ty), each),
            (ty, _) => (u64::from(c.size_of(ty)), c_align(&c.types, ty)),
        };
        if matches!(ty, Type::Struct(inner) if inner == id) {
            c.error(BAD_DEFINITION, member.ty.span, "a struct can't hold itself, only a pointer to itself");
            continue;
        }
        let each = if packed { 1 } else { natural };
        align = align.max(each);
        let start = if union { 0 } else { end_bits };
        let (field, end) = match member.bits {
            Some(width) => {
                refuse_bits(c, member, &ty, width);
                place_bits(&member.name.text, ty, start, u64::from(width), packed)
            }
            None => {
                let offset = start.div_ceil(8).next_multiple_of(each);
                let field = FieldDef { name: member.name.text.clone(), ty, offset: offset as u32, bits: None };
                (Some(field), (offset + size) * 8)
            }
        };
        fields.extend(field);
        end_bits = end_bits.max(end);
        if end_bits > 8 << 24 {
            c.error(BAD_DEFINITION, span, "this struct is larger than 16 MiB");
            return;
        }
    }
    let size = end_bits.div_ceil(8).next_multiple_of(align);
    c.types.define(id, size as u32, align as u32, fields);
}

/// A struct of the kernel that the script defines itself is the script's alone: what it holds by value is not
/// filled from the kernel's types, whose layout the script has just denied. The headers that it includes would have them.
fn refuse_incomplete(c: &mut Checker<'_>, of: StructId, member: &ast::TypeName) {
    let (kind, tag) = match &member.base {
        ast::TypeBase::Struct(tag) => ("struct", tag),
        ast::TypeBase::Union(tag) => ("union", tag),
        _ => return,
    };
    let pointer = matches!(member.suffixes.first(), Some(ast::TypeSuffix::Pointer));
    if pointer || c.types.headers || c.types.script_structs.contains_key(tag) || !c.types.redefines_kernel(of) {
        return;
    }
    let text = format!("field has incomplete type `{kind} {tag}`");
    let help = "a struct that the script defines anew is not filled from the kernel's types: define this one, too";
    c.error_help(BAD_DEFINITION, member.span, text, Some(help.to_owned()));
}

/// C lets a pointer point to a struct that nothing defines: it can be held and printed.
fn is_pointer_to_undefined(types: &mut TypeTable<'_>, name: &ast::TypeName) -> bool {
    matches!(name.suffixes.first(), Some(ast::TypeSuffix::Pointer)) && is_undefined(types, name)
}

/// Whether a type's tag is one that neither the script nor the kernel defines.
fn is_undefined(types: &mut TypeTable<'_>, name: &ast::TypeName) -> bool {
    let (kind, tag) = match &name.base {
        ast::TypeBase::Struct(tag) => (CKind::Struct, tag),
        ast::TypeBase::Union(tag) => (CKind::Union, tag),
        ast::TypeBase::Enum(tag) => (CKind::Enum, tag),
        _ => return false,
    };
    types.tagged(kind, tag).is_none()
}

fn with_suffixes(mut ty: Type, name: &ast::TypeName) -> Type {
    for suffix in &name.suffixes {
        ty = match suffix {
            ast::TypeSuffix::Pointer => {
                crate::lang::bt::check::literal::pointer(ty, crate::lang::types::AddressSpace::Kernel)
            }
            ast::TypeSuffix::Array(len) => Type::Array { of: Arc::new(ty), len: len.unwrap_or(0).min(1 << 24) as u32 },
        };
    }
    ty
}

fn c_align(types: &TypeTable<'_>, ty: &Type) -> u64 {
    match ty {
        Type::Array { of, .. } => c_align(types, of),
        Type::Struct(id) => types.alignment(*id).map_or_else(
            || {
                let defs = types.defs();
                let fields = defs.get(id.0 as usize).map(|d| &d.fields);
                fields.and_then(|list| list.iter().map(|f| c_align(types, &f.ty)).max()).unwrap_or(8)
            },
            u64::from,
        ),
        ty => u64::from(crate::lang::typed::size_align(ty, &[]).1),
    }
}

/// Takes in the heads of the script's functions.
pub fn read_functions(c: &mut Checker<'_>, script: &ast::Script) {
    let mut known = HashSet::new();
    for function in functions(script) {
        if !known.insert(&function.name.text) {
            c.error(DUPLICATE, function.name.span, format!("`{}` is defined twice", function.name.text));
        }
        let parameters = function.parameters.iter().map(|(_, t)| typename::declared_type(c, t)).collect();
        let result = function.result.as_ref().map_or(Type::Void, |t| typename::declared_type(c, t));
        c.functions.push(Signature { name: function.name.text.clone(), parameters, result });
    }
}

/// Checks the bodies of the script's functions.
pub fn check_functions(c: &mut Checker<'_>, script: &ast::Script) {
    for (n, function) in functions(script).enumerate() {
        let Some(signature) = c.functions.get(n) else { return };
        let (types, result) = (signature.parameters.clone(), signature.result.clone());
        c.frame = Frame {
            id: u32::MAX - 1 - n as u32,
            kind: Kind::Function,
            result: Some(result.clone()),
            hoisted: hoisted_names(None, &function.body),
            scopes: vec![BTreeMap::new()],
            ..Frame::default()
        };
        for ((name, _), ty) in function.parameters.iter().zip(types) {
            let id = c.frame.declare(&name.text, Some(ty), name.span);
            c.frame.locals[id.0 as usize].read = true;
        }
        let mut body = c.block_body(&function.body);
        if let (Some(value), false) = (&function.body.value, matches!(result, Type::Void)) {
            // A body's last value is its result.
            let typed = c.value(value);
            let typed = coerce::coerce_or_report(c, typed, &result, |from, to| {
                format!("the function gives {to}, this is {from}")
            });
            let kind = crate::lang::typed::StatementKind::Return(Some(typed));
            body.statements.push(crate::lang::typed::Statement { kind, span: value.span });
        }
        let zeros = variables::hoisted_zeros(c, function.span);
        body.statements.splice(0..0, zeros);
        let locals = variables::typed_locals(c);
        lint::end_frame(c);
        c.function_bodies.push(Function {
            name: function.name.text.clone(),
            parameters: function.parameters.len() as u32,
            locals,
            result,
            body,
            span: function.span,
        });
    }
}

fn functions(script: &ast::Script) -> impl Iterator<Item = &ast::Function> {
    script.items.iter().filter_map(|item| match item {
        ast::Item::Function(function) => Some(function),
        _ => None,
    })
}

/// Bytes of a floating-point type, which is also its alignment on 64-bit machines.
fn floating_size(name: &ast::TypeName) -> Option<u64> {
    match &name.base {
        ast::TypeBase::Named(text) => match &**text {
            "float" => Some(4),
            "double" => Some(8),
            "long double" => Some(16),
            _ => None,
        },
        _ => None,
    }
}

/// How many elements an array type has; 1 for what is no array.
fn elements(name: &ast::TypeName) -> u64 {
    let length = |suffix: &ast::TypeSuffix| match suffix {
        ast::TypeSuffix::Array(len) => len.unwrap_or(0).min(1 << 24),
        ast::TypeSuffix::Pointer => 1,
    };
    name.suffixes.iter().map(length).fold(1_u64, u64::saturating_mul)
}

fn is_char(name: &ast::TypeName) -> bool {
    matches!(&name.base, ast::TypeBase::Named(text) if &**text == "char")
}

/// Bits of a type that one can take bits of.
const fn bits_of(ty: &Type) -> Option<u64> {
    match ty {
        Type::Int { size, .. } | Type::Enum { size, .. } => Some(*size as u64 * 8),
        Type::Bool => Some(8),
        _ => None,
    }
}

/// A bitfield that C would not take.
fn refuse_bits(c: &mut Checker<'_>, member: &ast::Member, ty: &Type, width: u32) {
    let name = &member.name;
    match bits_of(ty) {
        _ if matches!(ty, Type::Error) => {}
        None => c.error(BAD_DEFINITION, member.ty.span, format!("`{}` is no number, and so has no bits", name.text)),
        // Of a byte, which is what it takes, a truth value has one.
        Some(_) if *ty == Type::Bool && width > 1 => {
            let message = format!("the bitfield `{}` is wider than its type, which has one bit", name.text);
            c.error(BAD_DEFINITION, name.span, message);
        }
        Some(most) if u64::from(width) > most => {
            let message = format!("the bitfield `{}` is wider than its type, which has {most} bits", name.text);
            c.error(BAD_DEFINITION, name.span, message);
        }
        Some(_) if width == 0 && !name.text.is_empty() => {
            c.error(BAD_DEFINITION, name.span, format!("the bitfield `{}` has no bits", name.text));
        }
        Some(_) => {}
    }
}

/// Places a bitfield as C does: it does not cross a unit of its type.
fn place_bits(name: &Arc<str>, ty: Type, start: u64, width: u64, packed: bool) -> (Option<FieldDef>, u64) {
    let Some(unit) = bits_of(&ty) else { return (None, start) };
    if width == 0 {
        return (None, start.next_multiple_of(unit));
    }
    let width = width.min(unit);
    let at = if !packed && start / unit != (start + width - 1) / unit { start.next_multiple_of(unit) } else { start };
    let field = (!name.is_empty()).then(|| {
        let (ty, offset, bits) = crate::lang::facts::table::place_bitfield(ty, at as u32, width as u32);
        FieldDef { name: name.clone(), ty, offset, bits: Some(bits) }
    });
    (field, at + width)
}
