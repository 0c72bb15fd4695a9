//! C definitions: struct, union, enum, typedef.

use super::Parser;
use crate::lang::bt::ast::{Item, Member, Name, TypeBase, TypeDef, TypeName};
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::codes::parse as codes;
use crate::lang::source::Span;

impl Parser<'_> {
    /// A definition at the top of a script, with its `;`.
    pub(super) fn c_definition(&mut self, items: &mut Vec<Item>) {
        if self.at_word("typedef") {
            self.typedef(items);
        } else if self.peek(1).kind == T::Word && self.peek(2).kind == T::Semicolon {
            // `struct x;` declares nothing that is not known already.
            self.bump();
            self.bump();
        } else if let Some(def) = self.definition() {
            items.push(Item::TypeDef(def));
        } else {
            self.skip_item();
            return;
        }
        self.accept(T::Semicolon);
    }

    /// `typedef T name;`, where T may be defined in place.
    fn typedef(&mut self, items: &mut Vec<Item>) {
        let start = self.bump().span;
        self.qualifiers();
        let defines = self.word_ahead(0).is_some_and(|w| matches!(w, "struct" | "union" | "enum"))
            && (self.peek(1).kind == T::LBrace || self.peek(2).kind == T::LBrace);
        let base = if defines {
            let Some(mut def) = self.definition() else { return self.skip_item() };
            // Without a tag the typedef's name stands for it.
            if def_name(&def).text.is_empty() && self.at_kind(T::Word) {
                set_name(&mut def, self.name(self.token()));
            }
            let base = base_of(&def);
            items.push(Item::TypeDef(def));
            Some(base)
        } else {
            self.type_base()
        };
        let Some(base) = base else { return self.skip_item() };
        while !self.at_end() {
            let Some((name, ty)) = self.declarator(&base, start) else { return self.skip_item() };
            items.push(Item::TypeDef(TypeDef::Alias { name, ty }));
            if self.accept(T::Comma).is_none() {
                break;
            }
        }
    }

    /// `struct name { ... }` without what follows the brace, except attributes.
    fn definition(&mut self) -> Option<TypeDef> {
        self.nested(|p| {
            let keyword = p.bump();
            let word = p.text_of(keyword);
            let mut packed = p.attributes();
            let name = p.accept(T::Word).map_or_else(|| p.no_name(), |t| p.name(t));
            packed |= p.attributes();
            if word == "enum" {
                return p.enum_body(name, keyword.span);
            }
            let members = p.members()?;
            packed |= p.attributes();
            let span = p.since(keyword.span);
            Some(TypeDef::Struct { name, union: word == "union", packed, members, span })
        })
        .flatten()
    }

    /// `__attribute__((...))`, any number; tells whether one says `packed`.
    fn attributes(&mut self) -> bool {
        let mut packed = false;
        while self.accept_word("__attribute__").is_some() || self.accept_word("__packed").is_some() {
            packed |= self.tokens.get(self.at.saturating_sub(1)).is_some_and(|t| self.text_of(*t) == "__packed");
            let (open, mut depth) = (self.token(), 0_u32);
            while !self.at_end() {
                match self.kind() {
                    T::LParen => depth += 1,
                    T::RParen if depth > 0 => depth -= 1,
                    T::Word if depth > 0 => packed |= matches!(self.text_of(self.token()), "packed" | "__packed__"),
                    _ if depth > 0 => {}
                    _ => break,
                }
                self.bump();
                if depth == 0 {
                    break;
                }
            }
            if depth > 0 {
                self.close(T::RParen, ")", open);
            }
        }
        packed
    }

    fn enum_body(&mut self, name: Name, start: Span) -> Option<TypeDef> {
        if self.accept(T::Colon).is_some() {
            self.type_base()?;
        }
        let open = self.expect(T::LBrace, "`{`", "an enum is written `enum name { A, B = 5 };`")?;
        let mut variants = Vec::new();
        while !self.at_end() && !self.at_kind(T::RBrace) {
            let token = self.expect(T::Word, "an enumerator", "an enum is written `enum name { A, B = 5 };`")?;
            let value = self.accept(T::Assign).map(|_| self.expression());
            variants.push((self.name(token), value));
            if self.accept(T::Comma).is_none() {
                break;
            }
        }
        self.close(T::RBrace, "}", open);
        self.attributes();
        Some(TypeDef::Enum { name, variants, span: self.since(start) })
    }

    /// `{ members }`
    fn members(&mut self) -> Option<Vec<Member>> {
        let open = self.expect(T::LBrace, "`{`", "a struct is written `struct name { type member; };`")?;
        let mut members = Vec::new();
        while !self.at_end() && !self.at_kind(T::RBrace) {
            if self.accept(T::Semicolon).is_some() {
                continue;
            }
            let before = self.at;
            if self.member_line(&mut members).is_none() {
                self.skip_statement();
            }
            if self.at == before {
                self.bump();
            }
        }
        self.close(T::RBrace, "}", open);
        Some(members)
    }

    /// `type a, *b, c[4], d : 3;`
    fn member_line(&mut self, members: &mut Vec<Member>) -> Option<()> {
        self.qualifiers();
        let start = self.token().span;
        let (base, mut body) = self.member_base()?;
        if self.at_kind(T::Semicolon) {
            let at = self.previous_end();
            let name = Name { text: "".into(), span: at };
            let ty = TypeName { base, suffixes: Vec::new(), span: self.since(start) };
            members.push(Member { name, ty, bits: None, body: body.map(Box::new) });
        } else {
            loop {
                let (name, ty) = if self.at_kind(T::Colon) {
                    // An unnamed bitfield is padding.
                    let name = Name { text: "".into(), span: self.previous_end() };
                    (name, TypeName { base: base.clone(), suffixes: Vec::new(), span: self.since(start) })
                } else {
                    self.declarator(&base, start)?
                };
                let bits = self.accept(T::Colon).map(|_| u32::try_from(self.constant()).unwrap_or(u32::MAX));
                self.attributes();
                members.push(Member { name, ty, bits, body: body.take().map(Box::new) });
                if self.accept(T::Comma).is_none() {
                    break;
                }
            }
        }
        if self.at_kind(T::RBrace) {
            // C compilers only warn where the last member lacks its semicolon.
            return Some(());
        }
        self.expect(T::Semicolon, "`;`", "members of a struct end with `;`").map(|_| ())
    }

    /// A member's type, with its body when it is defined in place.
    fn member_base(&mut self) -> Option<(TypeBase, Option<TypeDef>)> {
        let defines = self.word_ahead(0).is_some_and(|w| matches!(w, "struct" | "union" | "enum"))
            && (self.peek(1).kind == T::LBrace
                || self.peek(2).kind == T::LBrace
                || self.word_ahead(1) == Some("__attribute__"));
        if !defines {
            return Some((self.type_base()?, None));
        }
        let def = self.definition()?;
        Some((base_of(&def), Some(def)))
    }

    /// `*name[4]`, and `(*name)(...)` as a plain pointer.
    fn declarator(&mut self, base: &TypeBase, start: Span) -> Option<(Name, TypeName)> {
        let mut suffixes = Vec::new();
        self.stars(&mut suffixes);
        if self.at_kind(T::LParen) && self.peek(1).kind == T::Star {
            return self.function_pointer(start);
        }
        let Some(token) = self.accept(T::Word) else {
            let message = format!("expected a member's name, found {}", self.found());
            self.error_here(codes::BAD_MEMBER, message, "members are written as in C: `type name;`");
            return None;
        };
        let name = self.name(token);
        self.sizes(&mut suffixes);
        self.attributes();
        Some((name, TypeName { base: base.clone(), suffixes, span: self.since(start) }))
    }

    fn function_pointer(&mut self, start: Span) -> Option<(Name, TypeName)> {
        let open = self.bump();
        let mut suffixes = Vec::new();
        self.stars(&mut suffixes);
        let token = self.expect(T::Word, "a name", "function pointers are written `int (*name)(void);`")?;
        let name = self.name(token);
        self.sizes(&mut suffixes);
        self.close(T::RParen, ")", open);
        if let Some(open) = self.accept(T::LParen) {
            let mut depth = 1_u32;
            while depth > 0 && !self.at_end() {
                match self.bump().kind {
                    T::LParen => depth += 1,
                    T::RParen => depth -= 1,
                    T::Semicolon => {
                        self.close(T::RParen, ")", open);
                        return None;
                    }
                    _ => {}
                }
            }
        }
        let ty = TypeName { base: TypeBase::Named("void".into()), suffixes, span: self.since(start) };
        Some((name, ty))
    }
}

fn def_name(def: &TypeDef) -> &Name {
    match def {
        TypeDef::Struct { name, .. } | TypeDef::Enum { name, .. } | TypeDef::Alias { name, .. } => name,
    }
}

fn set_name(def: &mut TypeDef, new: Name) {
    match def {
        TypeDef::Struct { name, .. } | TypeDef::Enum { name, .. } | TypeDef::Alias { name, .. } => *name = new,
    }
}

/// The type a definition gives; anonymous ones have an empty name.
fn base_of(def: &TypeDef) -> TypeBase {
    match def {
        TypeDef::Struct { name, union: false, .. } => TypeBase::Struct(name.text.clone()),
        TypeDef::Struct { name, .. } => TypeBase::Union(name.text.clone()),
        TypeDef::Enum { name, .. } => TypeBase::Enum(name.text.clone()),
        TypeDef::Alias { name, .. } => TypeBase::Named(name.text.clone()),
    }
}
