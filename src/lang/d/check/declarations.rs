//! Declarations: types from their names, structs, unions, enums, typedefs, variables and inlines.

mod tagged;

use std::sync::Arc;

use super::variables::{Inline, Scope};
use super::{Checker, value};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Declaration, Declarator, DeclaratorPart, Expr, Name, Specifiers, TagKind, TypeName};
use crate::lang::d::words::{INTEGERS, OPEN_FILE};
use crate::lang::source::Span;
use crate::lang::types::{AddressSpace, Type};

/// What a declarator makes of a type.
struct Shaped {
    ty: Type,
    keys: Option<Vec<Type>>,
    is_function: bool,
}

impl Checker<'_> {
    /// The type of specifiers without declarators.
    fn base(&mut self, s: &Specifiers) -> Type {
        if let Some(tagged) = &s.tagged {
            if s.words.iter().any(|w| !matches!(&*w.text, "const" | "volatile" | "restrict")) {
                let has = |list: &[&str]| s.words.iter().any(|w| list.contains(&&*w.text));
                let (tag, why) = if has(&["signed", "unsigned"]) {
                    (tags::D_DECL_SIGNINT, "only integers have a sign")
                } else if has(&["long", "short"]) {
                    (tags::D_DECL_LONGINT, "only integers are long or short")
                } else {
                    (tags::D_DECL_COMBO, "invalid type combination")
                };
                self.error(tag, s.span, why);
            }
            return self.tagged(tagged);
        }
        let words: Vec<&str> =
            s.words.iter().map(|w| &*w.text).filter(|w| !matches!(*w, "const" | "volatile" | "restrict")).collect();
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
            Some("float" | "double") => {
                if signs > 0 {
                    self.error(tags::D_DECL_SIGNINT, s.span, "only integers have a sign");
                }
                if shorts > 0 || (longs > 0 && rest[0] == "float") || longs > 1 {
                    self.error(tags::D_DECL_COMBO, s.span, "invalid type combination");
                    return Type::Error;
                }
                match (rest[0], longs) {
                    ("float", _) => self.floating("float", 4),
                    (_, 0) => self.floating("double", 8),
                    _ => self.floating("long double", 16),
                }
            }
            Some("string") => {
                if signs > 0 {
                    self.error(tags::D_DECL_SIGNINT, s.span, "only integers have a sign");
                } else if sized {
                    self.error(tags::D_DECL_LONGINT, s.span, "only integers are long or short");
                }
                self.string()
            }
            Some(name) => {
                if signs > 0 {
                    self.error(tags::D_DECL_SIGNINT, s.span, "only integers have a sign");
                } else if sized {
                    self.error(tags::D_DECL_LONGINT, s.span, "only integers are long or short");
                }
                self.named_type(name, s.span)
            }
        }
    }

    /// A number with a point: it has a size and prints, and nothing is computed with it.
    fn floating(&mut self, name: &str, size: u32) -> Type {
        if let Some((id, _)) = self.tags.get(name) {
            return Type::Struct(*id);
        }
        let name: Arc<str> = name.into();
        let id = self.types.declare_struct(&name, false);
        self.types.define(id, size, size, Vec::new());
        self.tags.insert(name, (id, true));
        Type::Struct(id)
    }

    /// Bytes of a number with a point that prints.
    pub fn floating_size(&self, ty: &Type) -> Option<u8> {
        let Type::Struct(id) = ty else { return None };
        let is = |name: &str| self.tags.get(name).is_some_and(|(of, _)| of == id);
        if is("float") {
            Some(4)
        } else if is("double") {
            Some(8)
        } else {
            None
        }
    }

    fn named_type(&mut self, name: &str, span: Span) -> Type {
        if let Some(ty) = self.types.aliases.get(name) {
            return ty.clone();
        }
        if let Some((_, size, signed)) = INTEGERS.iter().find(|(n, ..)| *n == name) {
            return Type::Int { size: *size, signed: *signed };
        }
        if name == "cpuinfo_t" {
            return self.cpuinfo();
        }
        if name == OPEN_FILE
            && let Some(entry) = self.open_file_entry()
        {
            return entry;
        }
        let plain = name.rsplit_once('`').map_or(name, |(_, plain)| plain);
        self.types.of_kernel(plain).unwrap_or_else(|| {
            self.error(tags::D_TYPE_ERR, span, format!("failed to resolve type {name}: there is none of this name"));
            Type::Error
        })
    }

    /// The value of a constant expression.
    pub fn constant(&mut self, e: &Expr) -> Option<i64> {
        let before = self.diagnostics.len();
        let value = self.expr(e);
        self.diagnostics.truncate(before);
        value.e.as_int().filter(|_| !value.is_error() && value::is_int(value.ty())).map(|n| n as i64)
    }

    /// Applies a declarator.
    fn shape(&mut self, base: Type, declarator: &Declarator) -> Shaped {
        let mut shaped = Shaped { ty: base, keys: None, is_function: false };
        for part in declarator.parts.iter().rev() {
            match part {
                DeclaratorPart::Pointer => {
                    let to = if std::mem::take(&mut shaped.is_function) { Type::Void } else { shaped.ty };
                    shaped.ty = Type::Ptr { to: Arc::new(to), space: AddressSpace::Kernel };
                }
                DeclaratorPart::Array(size, at) => {
                    if shaped.ty == Type::Void {
                        self.error(tags::D_DECL_VOIDOBJ, *at, "cannot declare array of void");
                        shaped.ty = Type::Error;
                        continue;
                    }
                    let len = match size {
                        None => 0,
                        Some(e) => match self.constant(e) {
                            Some(n) if n >= 0 => n,
                            _ => {
                                self.error(tags::D_DECL_ARRSUB, *at, "positive integral constant expression or tuple signature expected as array declaration subscript");
                                shaped.ty = Type::Error;
                                continue;
                            }
                        },
                    };
                    let bytes = i128::from(len) * i128::from(self.size_of(&shaped.ty));
                    if bytes > i128::from(i32::MAX) {
                        self.error(tags::D_DECL_ARRBIG, *at, "array dimension too big");
                        shaped.ty = Type::Error;
                        continue;
                    }
                    shaped.ty = Type::Array { of: Arc::new(shaped.ty), len: len as u32 };
                }
                DeclaratorPart::Keys(keys, at) => {
                    let types = self.signature(keys, *at, true);
                    shaped.keys = Some(types);
                }
                DeclaratorPart::Function(parameters, at) => {
                    self.signature(parameters, *at, false);
                    shaped.is_function = true;
                }
            }
        }
        shaped
    }

    /// Types of parameters, or of an associative array's keys.
    fn signature(&mut self, items: &[TypeName], at: Span, of_keys: bool) -> Vec<Type> {
        let mut types = Vec::new();
        for item in items {
            if item.variadic && !of_keys {
                continue;
            }
            if item.variadic {
                self.error(tags::D_DECL_PROTO_VARARGS, item.span, "cannot use variable-length argument list here");
                continue;
            }
            if !item.specifiers.classes.is_empty() {
                self.error(tags::D_DECL_PARMCLASS, item.span, "a parameter has no storage class");
            }
            let ty = self.type_name(item);
            let associative = item.declarator.parts.iter().any(|part| matches!(part, DeclaratorPart::Keys(..)));
            if (ty == Type::Void && of_keys) || associative {
                let message = "a prototype may not use parameters of this type: void, or an associative array";
                self.error(tags::D_DECL_PROTO_TYPE, item.span, message);
                continue;
            }
            if ty == Type::Void {
                if items.len() > 1 {
                    self.error(tags::D_DECL_PROTO_VOID, at, "void must be the sole parameter");
                } else if item.declarator.name.is_some() {
                    self.error(tags::D_DECL_PROTO_NAME, at, "void parameter has a name");
                }
                continue;
            }
            if matches!(ty, Type::Struct(_) | Type::Array { .. }) {
                self.error(tags::D_DECL_PROTO_TYPE, item.span, "a struct can't be passed by value");
            }
            types.push(ty);
        }
        types
    }

    /// The type that a name of a type means.
    pub fn type_name(&mut self, t: &TypeName) -> Type {
        let is = |word: &str| t.specifiers.words.iter().any(|w| &*w.text == word);
        if is("long") && is("short") {
            self.error(tags::D_UNKNOWN, t.span, "failed to resolve type: there is none that is short and long");
            return Type::Error;
        }
        let base = self.base(&t.specifiers);
        self.shape(base, &t.declarator).ty
    }

    fn class<'d>(&mut self, s: &'d Specifiers) -> Option<&'d Name> {
        if s.classes.len() > 1 {
            self.error(tags::D_DECL_CLASS, s.span, "only one storage class allowed in a declaration");
        }
        s.classes.first()
    }

    pub fn declaration(&mut self, d: &Declaration) {
        let class = self.class(&d.specifiers);
        let told = self.diagnostics.len();
        let base = self.base(&d.specifiers);
        if self.diagnostics.len() > told {
            return;
        }
        if d.declarators.is_empty() {
            if d.specifiers.tagged.as_ref().is_none_or(|t| t.name.is_none() && t.kind != TagKind::Enum) {
                self.error(tags::D_DECL_USELESS, d.specifiers.span, "useless declaration");
            }
            return;
        }
        for declarator in &d.declarators {
            let shaped = self.shape(base.clone(), declarator);
            let Some(name) = &declarator.name else { continue };
            match class.map(|c| &*c.text) {
                Some("typedef") => {
                    if self.types.aliases.get(&name.text).is_some_and(|known| *known != shaped.ty) {
                        self.error(tags::D_DECL_IDRED, name.span, format!("typedef redeclared: {}", name.text));
                    }
                    self.types.aliases.insert(name.text.clone(), shaped.ty);
                }
                Some(class @ ("auto" | "register" | "static")) if !shaped.is_function => {
                    let message = format!("specified storage class {class} not permitted here");
                    self.error(tags::D_DECL_BADCLASS, d.specifiers.span, message);
                }
                Some("self") => self.declare_variable(Scope::Thread, name, shaped, false),
                Some("this") => self.declare_variable(Scope::Clause, name, shaped, false),
                class => self.declare_variable(Scope::Global, name, shaped, class == Some("extern")),
            }
        }
    }

    /// `elsewhere`: an `extern` variable, whose size may be left open.
    fn declare_variable(&mut self, scope: Scope, name: &Name, shaped: Shaped, elsewhere: bool) {
        let at = name.span;
        if shaped.is_function {
            self.variables.functions.insert(name.text.clone());
            return;
        }
        let taken = scope == Scope::Global
            && (super::builtins::is_builtin(&name.text)
                || super::calls::is_function(&name.text)
                || self.inlines.contains_key(&name.text)
                || self.variables.functions.contains(&name.text)
                || self.types.enumerators.contains_key(&name.text));
        let known = self.variables.known.get(&(scope, name.text.clone()));
        let same = known.is_some_and(|v| v.ty == shaped.ty && v.indexed == shaped.keys.is_some());
        let this = self.variables.declared_this.get(&name.text).filter(|_| scope == Scope::Clause);
        if taken || (known.is_some() && !same) || this.is_some_and(|ty| *ty != shaped.ty) {
            self.error(tags::D_DECL_IDRED, at, format!("identifier redeclared: {}", name.text));
            return;
        }
        if known.is_some() {
            return;
        }
        if shaped.ty == Type::Void {
            self.error(tags::D_DECL_VOIDOBJ, at, format!("cannot have void object: {}", name.text));
            return;
        }
        if self.is_incomplete(&shaped.ty) {
            self.error(tags::D_DECL_INCOMPLETE, at, format!("incomplete struct/union/enum: {}", name.text));
            return;
        }
        if elsewhere && matches!(shaped.ty, Type::Array { .. }) {
            // What is declared and defined nowhere takes no memory.
            return;
        }
        if let Type::Array { len: 0, .. } = shaped.ty {
            self.error(tags::D_DECL_ARRNULL, at, format!("array dimension required: {}", name.text));
            return;
        }
        if shaped.keys.is_some() && scope == Scope::Clause {
            self.error(tags::D_DECL_LOCASSC, at, "associative arrays may not be declared as local variables");
            return;
        }
        if shaped.ty == Type::Error {
            return;
        }
        if scope == Scope::Clause {
            self.variables.declared_this.insert(name.text.clone(), shaped.ty);
            return;
        }
        let indexed = shaped.keys.is_some();
        self.declare(scope, &name.text, shaped.ty, shaped.keys.unwrap_or_default(), indexed, at);
    }

    pub fn inline(&mut self, d: &Declaration, value: &Expr) {
        let base = self.base(&d.specifiers);
        let Some(declarator) = d.declarators.first() else { return };
        let Some(name) = &declarator.name else { return };
        if let Some(class) = d
            .specifiers
            .classes
            .first()
            .filter(|c| matches!(&*c.text, "self" | "this" | "auto" | "register" | "typedef"))
        {
            self.error(tags::D_DECL_BADCLASS, class.span, "an inline has no such storage class");
            return;
        }
        let mut keys = Vec::new();
        for part in &declarator.parts {
            if let DeclaratorPart::Keys(items, _) = part {
                for item in items {
                    let ty = self.type_name(item);
                    if let Some(n) = &item.declarator.name {
                        keys.push((n.text.clone(), ty));
                    }
                }
            }
        }
        let ty = self.shape(base, declarator).ty;
        let taken = self.inlines.contains_key(&name.text)
            || super::builtins::is_builtin(&name.text)
            || super::calls::is_function(&name.text)
            || self.variables.known.contains_key(&(Scope::Global, name.text.clone()));
        if taken {
            self.error(tags::D_DECL_IDRED, name.span, format!("identifier redeclared: {}", name.text));
            return;
        }
        if keys.is_empty() {
            self.definition(&name.text, &ty, value);
        }
        self.inlines.insert(name.text.clone(), Inline { ty, keys, value: value.clone() });
    }

    /// Tells where an inline names itself, or has a value of another kind; what only a probe knows is told where it is
    /// put in.
    fn definition(&mut self, name: &Arc<str>, ty: &Type, e: &Expr) {
        let told = self.diagnostics.len();
        if let crate::lang::d::ast::ExprKind::Binary(_, a, b) = &e.kind {
            for side in [a, b] {
                if matches!(&side.kind, crate::lang::d::ast::ExprKind::Ident(word) if word == name) {
                    self.error(
                        tags::D_IDENT_UNDEF,
                        side.span,
                        format!("failed to resolve {name}: unknown variable name"),
                    );
                    return;
                }
            }
        }
        if !matches!(e.kind, crate::lang::d::ast::ExprKind::Str(_) | crate::lang::d::ast::ExprKind::Int(_)) {
            return;
        }
        let value = self.expr(e);
        let from = self.type_text(value.ty());
        let fits = self.convert(value, ty).is_some();
        self.diagnostics.truncate(told);
        if !fits {
            let to = self.type_text(ty);
            let message = format!("inline {name} definition uses incompatible types: \"{to}\" = \"{from}\"");
            self.error(tags::D_OP_INCOMPAT, e.span, message);
        }
    }
}
