//! Declarations: types from their names, structs, unions, enums, typedefs, variables and inlines.

pub mod tagged;

use std::sync::Arc;

use super::variables::{Inline, Scope};
use super::{Checker, value};
use super::{builtins, other_systems, variables};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{
    Declaration, Declarator, DeclaratorPart, Expr, ExprKind, Name, Specifiers, TagKind, TypeName,
};
use crate::lang::d::words::{ADDRESS_6, INTEGERS, OPEN_FILE};
use crate::lang::facts::CKind;
use crate::lang::facts::table::TypeTable;
use crate::lang::source::Span;
use crate::lang::types::{AddressSpace, Type};

/// Words that say nothing of a type's form.
const QUALIFIERS: &[&str] = &["const", "volatile", "restrict"];

const ONLY_INTEGERS_SIGNED: &str = "only integers have a sign";
const ONLY_INTEGERS_LONG: &str = "only integers are long or short";

/// What a declarator makes of a type.
pub struct Shaped {
    ty: Type,
    keys: Option<Vec<Type>>,
    is_function: bool,
}

impl Checker<'_> {
    /// The type of specifiers without declarators.
    fn base(&mut self, s: &Specifiers) -> Type {
        if let Some(tagged) = &s.tagged {
            refuse_attributes_of_tag(self, s);
            return tagged::tagged(self, tagged);
        }
        let words: Vec<&str> = s.words.iter().map(|w| &*w.text).filter(|w| !QUALIFIERS.contains(w)).collect();
        let count = |word: &str| words.iter().filter(|w| **w == word).count();
        let (signs, longs, shorts) = (count("signed") + count("unsigned"), count("long"), count("short"));
        let rest: Vec<&str> =
            words.iter().copied().filter(|w| !matches!(*w, "signed" | "unsigned" | "long" | "short")).collect();
        let signed = count("unsigned") == 0;
        if rest.len() > 1 || signs > 1 || longs > 2 || shorts > 1 || (longs > 0 && shorts > 0) {
            self.error(tags::D_DECL_COMBO, s.span, "invalid type combination");
            return Type::Error;
        }
        let sized = longs + shorts > 0;
        match rest.first().copied() {
            Some("char") => {
                if sized {
                    self.error(tags::D_DECL_CHARATTR, s.span, "invalid attribute for type char");
                }
                Type::Int { size: 1, signed }
            }
            None if words.is_empty() => Type::I32,
            None | Some("int") => {
                let size = match (longs, shorts) {
                    (0, 0) => 4,
                    (0, _) => 2,
                    _ => 8,
                };
                Type::Int { size, signed }
            }
            Some("void") => {
                if sized || signs > 0 {
                    self.error(tags::D_DECL_VOIDATTR, s.span, "invalid attributes for type void");
                }
                Type::Void
            }
            Some(name @ ("float" | "double")) => {
                if signs > 0 {
                    self.error(tags::D_DECL_SIGNINT, s.span, ONLY_INTEGERS_SIGNED);
                }
                match (name, longs, shorts) {
                    ("float", 0, 0) => floating(self, "float", 4),
                    ("double", 0, 0) => floating(self, "double", 8),
                    ("double", 1, 0) => floating(self, "long double", 16),
                    _ => {
                        self.error(tags::D_DECL_COMBO, s.span, "invalid type combination");
                        Type::Error
                    }
                }
            }
            Some(name) => {
                if signs > 0 {
                    self.error(tags::D_DECL_SIGNINT, s.span, ONLY_INTEGERS_SIGNED);
                } else if sized {
                    self.error(tags::D_DECL_LONGINT, s.span, ONLY_INTEGERS_LONG);
                }
                if name == "string" { self.string() } else { named_type(self, name, s.span) }
            }
        }
    }

    /// The value of a constant expression.
    pub fn constant(&mut self, e: &Expr) -> Option<i64> {
        let before = self.diagnostics.len();
        let value = self.expr(e);
        self.diagnostics.truncate(before);
        value.e.as_int().filter(|_| !value.is_error() && value::is_int(value.ty())).map(|n| n as i64)
    }
}

/// Tells of words beside a struct, union or enum.
fn refuse_attributes_of_tag(c: &mut Checker<'_>, s: &Specifiers) {
    let has = |list: &[&str]| s.words.iter().any(|w| list.contains(&&*w.text));
    if s.words.iter().all(|w| QUALIFIERS.contains(&&*w.text)) {
        return;
    }
    let (tag, why) = if has(&["signed", "unsigned"]) {
        (tags::D_DECL_SIGNINT, ONLY_INTEGERS_SIGNED)
    } else if has(&["long", "short"]) {
        (tags::D_DECL_LONGINT, ONLY_INTEGERS_LONG)
    } else {
        (tags::D_DECL_COMBO, "invalid type combination")
    };
    c.error(tag, s.span, why);
}

/// A number with a point: it has a size and prints, and nothing is computed with it.
fn floating(c: &mut Checker<'_>, name: &str, size: u32) -> Type {
    if let Some((id, _)) = c.tags.get(name) {
        return Type::Struct(*id);
    }
    let name: Arc<str> = name.into();
    let id = c.types.declare_struct(&name, false);
    c.types.define(id, size, size, Vec::new());
    c.tags.insert(name, (id, true));
    Type::Struct(id)
}

/// Bytes of a number with a point that prints.
pub fn floating_size(c: &Checker<'_>, ty: &Type) -> Option<u8> {
    let Type::Struct(id) = ty else { return None };
    let is = |name: &str| c.tags.get(name).is_some_and(|(of, _)| of == id);
    if is("float") {
        Some(4)
    } else if is("double") {
        Some(8)
    } else {
        None
    }
}

/// A type that the kernel has under a plain name: of a `typedef`, or of a struct without its keyword.
pub fn type_of_kernel(types: &mut TypeTable<'_>, name: &str) -> Option<Type> {
    types.of_kernel(name).or_else(|| types.tagged(CKind::Typedef, name))
}

fn named_type(c: &mut Checker<'_>, name: &str, span: Span) -> Type {
    if let Some(ty) = c.types.aliases.get(name) {
        return ty.clone();
    }
    if let Some((_, size, signed)) = INTEGERS.iter().find(|(n, ..)| *n == name) {
        return Type::Int { size: *size, signed: *signed };
    }
    if name == "cpuinfo_t" {
        return builtins::cpuinfo(c);
    }
    if name == OPEN_FILE
        && let Some(entry) = other_systems::open_file_entry(&mut c.types)
    {
        return entry;
    }
    if name == ADDRESS_6
        && let Some(own) = c.types.tagged(CKind::Struct, "in6_addr")
    {
        return own;
    }
    let plain = name.rsplit_once('`').map_or(name, |(_, plain)| plain);
    type_of_kernel(&mut c.types, plain).unwrap_or_else(|| {
        c.error(tags::D_TYPE_ERR, span, format!("failed to resolve type {name}: there is none of this name"));
        Type::Error
    })
}

/// Applies a declarator.
pub fn shape(c: &mut Checker<'_>, base: Type, declarator: &Declarator) -> Shaped {
    let mut shaped = Shaped { ty: base, keys: None, is_function: false };
    for part in declarator.parts.iter().rev() {
        match part {
            DeclaratorPart::Pointer => {
                let to = if std::mem::take(&mut shaped.is_function) { Type::Void } else { shaped.ty };
                shaped.ty = Type::Ptr { to: Arc::new(to), space: AddressSpace::Kernel };
            }
            DeclaratorPart::Array(size, at) => {
                if shaped.ty == Type::Void {
                    c.error(tags::D_DECL_VOIDOBJ, *at, "cannot declare array of void");
                    shaped.ty = Type::Error;
                    continue;
                }
                let len = match size {
                    None => 0,
                    Some(e) => match c.constant(e) {
                        Some(n) if n >= 0 => n,
                        _ => {
                            c.error(tags::D_DECL_ARRSUB, *at, "positive integral constant expression or tuple signature expected as array declaration subscript");
                            shaped.ty = Type::Error;
                            continue;
                        }
                    },
                };
                let bytes = i128::from(len) * i128::from(c.size_of(&shaped.ty));
                if bytes > i128::from(i32::MAX) {
                    c.error(tags::D_DECL_ARRBIG, *at, "array dimension too big");
                    shaped.ty = Type::Error;
                    continue;
                }
                shaped.ty = Type::Array { of: Arc::new(shaped.ty), len: len as u32 };
            }
            DeclaratorPart::Keys(keys, at) => {
                let types = signature(c, keys, *at, true);
                shaped.keys = Some(types);
            }
            DeclaratorPart::Function(parameters, at) => {
                signature(c, parameters, *at, false);
                shaped.is_function = true;
            }
        }
    }
    shaped
}

/// Types of parameters, or of an associative array's keys.
fn signature(c: &mut Checker<'_>, items: &[TypeName], at: Span, of_keys: bool) -> Vec<Type> {
    let mut types = Vec::new();
    for item in items {
        if item.variadic && !of_keys {
            continue;
        }
        if item.variadic {
            c.error(tags::D_DECL_PROTO_VARARGS, item.span, "cannot use variable-length argument list here");
            continue;
        }
        if !item.specifiers.classes.is_empty() {
            c.error(tags::D_DECL_PARMCLASS, item.span, "a parameter has no storage class");
        }
        let ty = type_name(c, item);
        let associative = item.declarator.parts.iter().any(|part| matches!(part, DeclaratorPart::Keys(..)));
        if (ty == Type::Void && of_keys) || associative {
            let message = "a prototype may not use parameters of this type: void, or an associative array";
            c.error(tags::D_DECL_PROTO_TYPE, item.span, message);
            continue;
        }
        if ty == Type::Void {
            if items.len() > 1 {
                c.error(tags::D_DECL_PROTO_VOID, at, "void must be the sole parameter");
            } else if item.declarator.name.is_some() {
                c.error(tags::D_DECL_PROTO_NAME, at, "void parameter has a name");
            }
            continue;
        }
        if matches!(ty, Type::Struct(_) | Type::Array { .. }) {
            c.error(tags::D_DECL_PROTO_TYPE, item.span, "a struct can't be passed by value");
        }
        types.push(ty);
    }
    types
}

/// The type that a name of a type means.
pub fn type_name(c: &mut Checker<'_>, t: &TypeName) -> Type {
    let is = |word: &str| t.specifiers.words.iter().any(|w| &*w.text == word);
    if is("long") && is("short") {
        c.error(tags::D_UNKNOWN, t.span, "failed to resolve type: there is none that is short and long");
        return Type::Error;
    }
    let base = c.base(&t.specifiers);
    shape(c, base, &t.declarator).ty
}

fn class<'d>(c: &mut Checker<'_>, s: &'d Specifiers) -> Option<&'d Name> {
    if s.classes.len() > 1 {
        c.error(tags::D_DECL_CLASS, s.span, "only one storage class allowed in a declaration");
    }
    s.classes.first()
}

pub fn declaration(c: &mut Checker<'_>, d: &Declaration) {
    let class = class(c, &d.specifiers);
    let told = c.diagnostics.len();
    let base = c.base(&d.specifiers);
    if c.diagnostics.len() > told {
        return;
    }
    if d.declarators.is_empty() {
        if d.specifiers.tagged.as_ref().is_none_or(|t| t.name.is_none() && t.kind != TagKind::Enum) {
            c.error(tags::D_DECL_USELESS, d.specifiers.span, "useless declaration");
        }
        return;
    }
    for declarator in &d.declarators {
        let shaped = shape(c, base.clone(), declarator);
        let Some(name) = &declarator.name else { continue };
        match class.map(|c| &*c.text) {
            Some("typedef") => {
                if c.types.aliases.get(&name.text).is_some_and(|known| *known != shaped.ty) {
                    c.error(tags::D_DECL_IDRED, name.span, format!("typedef redeclared: {}", name.text));
                }
                c.types.aliases.insert(name.text.clone(), shaped.ty);
            }
            Some(class @ ("auto" | "register" | "static")) if !shaped.is_function => {
                let message = format!("specified storage class {class} not permitted here");
                c.error(tags::D_DECL_BADCLASS, d.specifiers.span, message);
            }
            Some("self") => declare_variable(c, Scope::Thread, name, shaped, false),
            Some("this") => declare_variable(c, Scope::Clause, name, shaped, false),
            class => declare_variable(c, Scope::Global, name, shaped, class == Some("extern")),
        }
    }
}

/// `elsewhere`: an `extern` variable, whose size may be left open.
fn declare_variable(c: &mut Checker<'_>, scope: Scope, name: &Name, shaped: Shaped, elsewhere: bool) {
    let at = name.span;
    if shaped.is_function {
        c.variables.functions.insert(name.text.clone());
        return;
    }
    let taken = scope == Scope::Global
        && (builtins::is_builtin(&name.text)
            || super::prototypes::is_function(&name.text)
            || c.inlines.contains_key(&name.text)
            || c.variables.functions.contains(&name.text)
            || c.types.enumerators.contains_key(&name.text));
    let known = c.variables.known.get(&(scope, name.text.clone()));
    let same = known.is_some_and(|v| v.ty == shaped.ty && v.indexed == shaped.keys.is_some());
    let this = c.variables.declared_this.get(&name.text).filter(|_| scope == Scope::Clause);
    if taken || (known.is_some() && !same) || this.is_some_and(|ty| *ty != shaped.ty) {
        return c.error(tags::D_DECL_IDRED, at, format!("identifier redeclared: {}", name.text));
    }
    if known.is_some() {
        return;
    }
    if shaped.ty == Type::Void {
        return c.error(tags::D_DECL_VOIDOBJ, at, format!("cannot have void object: {}", name.text));
    }
    if tagged::is_incomplete(c, &shaped.ty) {
        return c.error(tags::D_DECL_INCOMPLETE, at, format!("incomplete struct/union/enum: {}", name.text));
    }
    if elsewhere && matches!(shaped.ty, Type::Array { .. }) {
        // What is declared and defined nowhere takes no memory.
        return;
    }
    if let Type::Array { len: 0, .. } = shaped.ty {
        return c.error(tags::D_DECL_ARRNULL, at, format!("array dimension required: {}", name.text));
    }
    if shaped.keys.is_some() && scope == Scope::Clause {
        return c.error(tags::D_DECL_LOCASSC, at, "associative arrays may not be declared as local variables");
    }
    if shaped.ty == Type::Error {
        return;
    }
    if scope == Scope::Clause {
        c.variables.declared_this.insert(name.text.clone(), shaped.ty);
        return;
    }
    let indexed = shaped.keys.is_some();
    variables::declare(c, scope, &name.text, shaped.ty, shaped.keys.unwrap_or_default(), indexed, at);
}

pub fn inline(c: &mut Checker<'_>, d: &Declaration, value: &Expr) {
    let base = c.base(&d.specifiers);
    let Some(declarator) = d.declarators.first() else { return };
    let Some(name) = &declarator.name else { return };
    if let Some(class) =
        d.specifiers.classes.first().filter(|c| matches!(&*c.text, "self" | "this" | "auto" | "register" | "typedef"))
    {
        return c.error(tags::D_DECL_BADCLASS, class.span, "an inline has no such storage class");
    }
    let mut keys = Vec::new();
    for part in &declarator.parts {
        if let DeclaratorPart::Keys(items, _) = part {
            for item in items {
                let ty = type_name(c, item);
                if let Some(n) = &item.declarator.name {
                    keys.push((n.text.clone(), ty));
                }
            }
        }
    }
    let ty = shape(c, base, declarator).ty;
    let taken = c.inlines.contains_key(&name.text)
        || builtins::is_builtin(&name.text)
        || super::prototypes::is_function(&name.text)
        || c.variables.known.contains_key(&(Scope::Global, name.text.clone()));
    if taken {
        return c.error(tags::D_DECL_IDRED, name.span, format!("identifier redeclared: {}", name.text));
    }
    if keys.is_empty() {
        definition(c, &name.text, &ty, value);
    }
    c.inlines.insert(name.text.clone(), Inline { ty, keys, value: value.clone() });
}

/// Tells where an inline names itself, or has a value of another kind; what only a probe knows is told where it is
/// put in.
fn definition(c: &mut Checker<'_>, name: &Arc<str>, ty: &Type, e: &Expr) {
    let told = c.diagnostics.len();
    if let ExprKind::Binary(_, a, b) = &e.kind
        && let Some(itself) = [a, b].into_iter().find(|e| matches!(&e.kind, ExprKind::Ident(word) if word == name))
    {
        return c.error(tags::D_IDENT_UNDEF, itself.span, format!("failed to resolve {name}: unknown variable name"));
    }
    if !matches!(e.kind, ExprKind::Str(_) | ExprKind::Int(_)) {
        return;
    }
    let value = c.expr(e);
    let from = c.type_text(value.ty());
    let fits = c.convert(value, ty).is_some();
    c.diagnostics.truncate(told);
    if !fits {
        let to = c.type_text(ty);
        let message = format!("inline {name} definition uses incompatible types: \"{to}\" = \"{from}\"");
        c.error(tags::D_OP_INCOMPAT, e.span, message);
    }
}
