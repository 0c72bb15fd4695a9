//! C definitions: struct, union, enum, typedef.

use crate::lang::bt::ast::{Item, Member, Name, TypeBase, TypeDef, TypeName};
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::codes::parse as codes;
use crate::lang::source::Span;

use crate::lang::bt::parser::{Parser, items, statements, types};

/// A definition at the top of a script, with its `;`.
pub fn c_definition(p: &mut Parser<'_>, items: &mut Vec<Item>) {
    if p.at_word("typedef") {
        typedef(p, items);
    } else if p.peek(1).kind == T::Word && p.peek(2).kind == T::Semicolon {
        // `struct x;` declares nothing that is not known already.
        p.bump();
        p.bump();
    } else if let Some(def) = definition(p) {
        items.push(Item::TypeDef(def));
    } else {
        items::skip_item(p);
        return;
    }
    p.accept(T::Semicolon);
}

/// `typedef T name;`, where T may be defined in place.
fn typedef(p: &mut Parser<'_>, items: &mut Vec<Item>) {
    let start = p.bump().span;
    types::qualifiers(p);
    let defines = p.word_ahead(0).is_some_and(|w| matches!(w, "struct" | "union" | "enum"))
        && (p.peek(1).kind == T::LBrace || p.peek(2).kind == T::LBrace);
    let base = if defines {
        let Some(mut def) = definition(p) else { return items::skip_item(p) };
        // Without a tag the typedef's name stands for it.
        if def_name(&def).text.is_empty() && p.at_kind(T::Word) {
            set_name(&mut def, p.name(p.token()));
        }
        let base = base_of(&def);
        items.push(Item::TypeDef(def));
        Some(base)
    } else {
        types::type_base(p)
    };
    let Some(base) = base else { return items::skip_item(p) };
    while !p.at_end() {
        let Some((name, ty)) = declarator(p, &base, start) else { return items::skip_item(p) };
        items.push(Item::TypeDef(TypeDef::Alias { name, ty }));
        if p.accept(T::Comma).is_none() {
            break;
        }
    }
}

/// `struct name { ... }` without what follows the brace, except attributes.
fn definition(p: &mut Parser<'_>) -> Option<TypeDef> {
    p.nested(|p| {
        let keyword = p.bump();
        let word = p.text_of(keyword);
        let mut packed = attributes(p);
        let name = p.accept(T::Word).map_or_else(|| p.no_name(), |t| p.name(t));
        packed |= attributes(p);
        if word == "enum" {
            return enum_body(p, name, keyword.span);
        }
        let members = members(p)?;
        packed |= attributes(p);
        let span = p.since(keyword.span);
        Some(TypeDef::Struct { name, union: word == "union", packed, members, span })
    })
    .flatten()
}

/// `__attribute__((...))`, any number; tells whether one says `packed`.
fn attributes(p: &mut Parser<'_>) -> bool {
    let mut packed = false;
    while p.accept_word("__attribute__").is_some() || p.accept_word("__packed").is_some() {
        packed |= p.tokens.get(p.at.saturating_sub(1)).is_some_and(|t| p.text_of(*t) == "__packed");
        let (open, mut depth) = (p.token(), 0_u32);
        while !p.at_end() {
            match p.kind() {
                T::LParen => depth += 1,
                T::RParen if depth > 0 => depth -= 1,
                T::Word if depth > 0 => packed |= matches!(p.text_of(p.token()), "packed" | "__packed__"),
                _ if depth > 0 => {}
                _ => break,
            }
            p.bump();
            if depth == 0 {
                break;
            }
        }
        if depth > 0 {
            p.close(T::RParen, ")", open);
        }
    }
    packed
}

fn enum_body(p: &mut Parser<'_>, name: Name, start: Span) -> Option<TypeDef> {
    if p.accept(T::Colon).is_some() {
        types::type_base(p)?;
    }
    let open = p.expect(T::LBrace, "`{`", "an enum is written `enum name { A, B = 5 };`")?;
    let mut variants = Vec::new();
    while !p.at_end() && !p.at_kind(T::RBrace) {
        let token = p.expect(T::Word, "an enumerator", "an enum is written `enum name { A, B = 5 };`")?;
        let value = p.accept(T::Assign).map(|_| p.expression());
        variants.push((p.name(token), value));
        if p.accept(T::Comma).is_none() {
            break;
        }
    }
    p.close(T::RBrace, "}", open);
    attributes(p);
    Some(TypeDef::Enum { name, variants, span: p.since(start) })
}

/// `{ members }`
fn members(p: &mut Parser<'_>) -> Option<Vec<Member>> {
    let open = p.expect(T::LBrace, "`{`", "a struct is written `struct name { type member; };`")?;
    let mut members = Vec::new();
    while !p.at_end() && !p.at_kind(T::RBrace) {
        if p.accept(T::Semicolon).is_some() {
            continue;
        }
        let before = p.at;
        if member_line(p, &mut members).is_none() {
            statements::skip_statement(p);
        }
        if p.at == before {
            p.bump();
        }
    }
    p.close(T::RBrace, "}", open);
    Some(members)
}

/// `type a, *b, c[4], d : 3;`
fn member_line(p: &mut Parser<'_>, members: &mut Vec<Member>) -> Option<()> {
    types::qualifiers(p);
    let start = p.token().span;
    let (base, mut body) = member_base(p)?;
    if p.at_kind(T::Semicolon) {
        let at = p.previous_end();
        let name = Name { text: "".into(), span: at };
        let ty = TypeName { base, suffixes: Vec::new(), span: p.since(start) };
        members.push(Member { name, ty, bits: None, body: body.map(Box::new) });
    } else {
        loop {
            let (name, ty) = if p.at_kind(T::Colon) {
                // An unnamed bitfield is padding.
                let name = Name { text: "".into(), span: p.previous_end() };
                (name, TypeName { base: base.clone(), suffixes: Vec::new(), span: p.since(start) })
            } else {
                declarator(p, &base, start)?
            };
            let bits = p.accept(T::Colon).map(|_| u32::try_from(types::constant(p)).unwrap_or(u32::MAX));
            attributes(p);
            members.push(Member { name, ty, bits, body: body.take().map(Box::new) });
            if p.accept(T::Comma).is_none() {
                break;
            }
        }
    }
    if p.at_kind(T::RBrace) {
        // C compilers only warn where the last member lacks its semicolon.
        return Some(());
    }
    p.expect(T::Semicolon, "`;`", "members of a struct end with `;`").map(|_| ())
}

/// A member's type, with its body when it is defined in place.
fn member_base(p: &mut Parser<'_>) -> Option<(TypeBase, Option<TypeDef>)> {
    let defines = p.word_ahead(0).is_some_and(|w| matches!(w, "struct" | "union" | "enum"))
        && (p.peek(1).kind == T::LBrace || p.peek(2).kind == T::LBrace || p.word_ahead(1) == Some("__attribute__"));
    if !defines {
        return Some((types::type_base(p)?, None));
    }
    let def = definition(p)?;
    Some((base_of(&def), Some(def)))
}

/// `*name[4]`, and `(*name)(...)` as a plain pointer.
fn declarator(p: &mut Parser<'_>, base: &TypeBase, start: Span) -> Option<(Name, TypeName)> {
    let mut suffixes = Vec::new();
    types::stars(p, &mut suffixes);
    if p.at_kind(T::LParen) && p.peek(1).kind == T::Star {
        return function_pointer(p, start);
    }
    let Some(token) = p.accept(T::Word) else {
        let message = format!("expected a member's name, found {}", p.found());
        p.error_here(codes::BAD_MEMBER, message, "members are written as in C: `type name;`");
        return None;
    };
    let name = p.name(token);
    types::sizes(p, &mut suffixes);
    attributes(p);
    Some((name, TypeName { base: base.clone(), suffixes, span: p.since(start) }))
}

fn function_pointer(p: &mut Parser<'_>, start: Span) -> Option<(Name, TypeName)> {
    let open = p.bump();
    let mut suffixes = Vec::new();
    types::stars(p, &mut suffixes);
    let token = p.expect(T::Word, "a name", "function pointers are written `int (*name)(void);`")?;
    let name = p.name(token);
    types::sizes(p, &mut suffixes);
    p.close(T::RParen, ")", open);
    if let Some(open) = p.accept(T::LParen) {
        let mut depth = 1_u32;
        while depth > 0 && !p.at_end() {
            match p.bump().kind {
                T::LParen => depth += 1,
                T::RParen => depth -= 1,
                T::Semicolon => {
                    p.close(T::RParen, ")", open);
                    return None;
                }
                _ => {}
            }
        }
    }
    let ty = TypeName { base: TypeBase::Named("void".into()), suffixes, span: p.since(start) };
    Some((name, ty))
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
