//! Declarations and names of types.

use super::super::ast::{
    Declaration, Declarator, DeclaratorPart, Member, Name, Specifiers, TagBody, TagKind, Tagged, TypeName,
};
use super::super::lexer::Kind;
use super::super::words;
use super::Parser;
use crate::lang::codes::d as tags;

impl Parser<'_> {
    /// A declaration without its `;`.
    pub fn declaration(&mut self) -> Declaration {
        let specifiers = self.specifiers();
        let mut declarators = Vec::new();
        if !self.tokens.at(";") {
            loop {
                declarators.push(self.declarator());
                if !self.tokens.accept(",") {
                    break;
                }
            }
        }
        if specifiers.classes.iter().any(|c| &*c.text == "typedef") {
            self.typedefs.extend(declarators.iter().filter_map(|d| Some(d.name.as_ref()?.text.clone())));
        }
        Declaration { specifiers, declarators }
    }

    /// Whether a type's name begins here.
    pub fn at_type(&self) -> bool {
        self.tokens.word().is_some_and(|w| self.is_type(&w))
    }

    pub fn specifiers(&mut self) -> Specifiers {
        let start = self.tokens.token.span;
        let mut found = Specifiers::default();
        // A name of a type is one only once: behind it stands the name that is declared.
        let mut has_type = false;
        while let Some(word) = self.tokens.word() {
            let of_function = &*word == "inline" && !found.classes.is_empty();
            if of_function || words::OF_COMPILERS.contains(&&*word) {
                self.tokens.bump();
                continue;
            }
            if words::CLASSES.contains(&&*word) {
                found.classes.extend(self.tokens.name());
                continue;
            }
            let tag = match &*word {
                "struct" => Some(TagKind::Struct),
                "union" => Some(TagKind::Union),
                "enum" => Some(TagKind::Enum),
                _ => None,
            };
            if let Some(kind) = tag {
                let tagged = self.nested(None, |p| Some(p.tagged(kind)));
                let sized = |w: &Name| matches!(&*w.text, "signed" | "unsigned" | "long" | "short");
                // Signs and lengths of structs are told by the checker.
                let named = found.words.iter().any(|w| !sized(w) && !words::is_qualifier(&w.text));
                if found.tagged.is_some() || named {
                    self.tokens.error(tags::D_DECL_COMBO, self.tokens.since(start), "invalid type combination");
                }
                found.tagged = tagged.map(Box::new);
                has_type = true;
                continue;
            }
            let is_keyword = words::begins_declaration(&word);
            if !is_keyword && (has_type || !self.is_type(&word)) {
                if has_type || !self.stands_for_type(!found.classes.is_empty()) {
                    break;
                }
                self.tokens.unknown_type();
            }
            has_type |= !matches!(&*word, "const" | "volatile" | "restrict");
            found.words.extend(self.tokens.name());
        }
        if found.words.is_empty() && found.tagged.is_none() && found.classes.is_empty() {
            self.tokens.unexpected();
        }
        found.span = self.tokens.since(start);
        found
    }

    /// Whether an unknown name that stands where a type begins can only be meant as one.
    fn stands_for_type(&mut self, behind_class: bool) -> bool {
        match self.tokens.next_kind() {
            Kind::Sign("*") | Kind::Ident(_) => true,
            Kind::Sign(">" | "<" | ")") => !behind_class,
            _ => false,
        }
    }

    fn tagged(&mut self, kind: TagKind) -> Tagged {
        let start = self.tokens.bump().span;
        let name = self.tokens.name();
        let body = if self.tokens.at("{") {
            defined(self, kind, name.as_ref());
            self.tokens.bump();
            Some(match kind {
                TagKind::Enum => TagBody::Enumerators(self.enumerators()),
                _ => TagBody::Members(self.members()),
            })
        } else {
            if name.is_none() {
                self.tokens.unexpected();
            }
            None
        };
        Tagged { kind, name, body, span: self.tokens.since(start) }
    }

    fn enumerators(&mut self) -> Vec<(Name, Option<super::super::ast::Expr>)> {
        let mut found = Vec::new();
        while !self.tokens.at_eof() && !self.tokens.given_up {
            let at = self.tokens.lexer.at;
            let name = self.tokens.expect_name();
            let value = if self.tokens.accept("=") { Some(self.conditional()) } else { None };
            found.push((name, value));
            if !self.tokens.accept(",") || self.tokens.lexer.at == at {
                break;
            }
        }
        self.tokens.expect("}");
        found
    }

    fn members(&mut self) -> Vec<Member> {
        let mut found = Vec::new();
        while !self.tokens.at("}") && !self.tokens.at_eof() && !self.tokens.given_up {
            let at = self.tokens.lexer.at;
            let specifiers = self.specifiers();
            let mut declarators = Vec::new();
            loop {
                let declarator = if self.tokens.at(":") { Declarator::default() } else { self.declarator() };
                let width = if self.tokens.accept(":") { Some(self.conditional()) } else { None };
                declarators.push((declarator, width));
                if !self.tokens.accept(",") {
                    break;
                }
            }
            found.push(Member { specifiers, declarators });
            if !self.tokens.expect(";") && self.tokens.lexer.at == at {
                self.tokens.bump();
            }
        }
        self.tokens.expect("}");
        found
    }

    /// A declarator with a name.
    pub fn declarator(&mut self) -> Declarator {
        let declarator = self.any_declarator();
        if declarator.name.is_none() {
            self.tokens.unexpected();
        }
        declarator
    }

    /// A declarator whose name may be missing.
    fn any_declarator(&mut self) -> Declarator {
        let start = self.tokens.token.span;
        let mut declarator = self.nested(Declarator::default(), Self::declarator_parts);
        declarator.span = self.tokens.since(start);
        declarator
    }

    fn declarator_parts(&mut self) -> Declarator {
        let mut pointers = 0;
        while self.tokens.accept("*") {
            pointers += 1;
            while ["const", "volatile", "restrict"].iter().any(|w| self.tokens.accept_word(w)) {}
        }
        let mut declarator = if self.tokens.at("(") && self.is_nested_declarator() {
            self.tokens.bump();
            let inner = self.any_declarator();
            self.tokens.expect(")");
            inner
        } else {
            let name = match self.tokens.word() {
                Some(word) if !words::is_reserved(&word) => self.tokens.name(),
                _ => None,
            };
            Declarator { name, ..Declarator::default() }
        };
        let start = declarator.parts.len();
        loop {
            let at = self.tokens.token.span;
            if self.tokens.accept("[") {
                let part = self.array(at);
                declarator.parts.push(part);
            } else if self.tokens.at("(") {
                self.tokens.bump();
                let parameters = self.parameters(")");
                self.tokens.expect(")");
                declarator.parts.push(DeclaratorPart::Function(parameters, self.tokens.since(at)));
            } else {
                break;
            }
            if declarator.parts.len() > start + 32 {
                break;
            }
        }
        declarator.parts.extend((0..pointers.min(64)).map(|_| DeclaratorPart::Pointer));
        declarator
    }

    /// Whether a `(` begins a declarator in brackets, and not parameters.
    fn is_nested_declarator(&mut self) -> bool {
        match self.tokens.next_kind() {
            Kind::Sign("*" | "(" | "[") => true,
            Kind::Ident(word) => !self.is_type(&word) && !words::begins_declaration(&word),
            _ => false,
        }
    }

    fn array(&mut self, start: crate::lang::source::Span) -> DeclaratorPart {
        if self.tokens.accept("]") {
            return DeclaratorPart::Array(None, self.tokens.since(start));
        }
        let unknown = self.tokens.word().is_some()
            && self.tokens.ahead(|lexer| {
                lexer.next().kind == Kind::Sign("*") && matches!(lexer.next().kind, Kind::Sign("]" | "*" | ","))
            });
        let class = self.tokens.word().is_some_and(|w| words::CLASSES.contains(&&*w));
        if self.at_type() || unknown || class || self.tokens.at("...") {
            let keys = self.parameters("]");
            self.tokens.expect("]");
            return DeclaratorPart::Keys(keys, self.tokens.since(start));
        }
        let size = self.conditional();
        self.tokens.expect("]");
        DeclaratorPart::Array(Some(Box::new(size)), self.tokens.since(start))
    }

    fn parameters(&mut self, close: &str) -> Vec<TypeName> {
        let mut found = Vec::new();
        while !self.tokens.at(close) && !self.tokens.at_eof() && !self.tokens.given_up {
            let start = self.tokens.token.span;
            if self.tokens.accept("...") {
                found.push(TypeName {
                    specifiers: Specifiers::default(),
                    declarator: Declarator::default(),
                    variadic: true,
                    span: self.tokens.since(start),
                });
            } else {
                found.push(self.type_name());
            }
            if !self.tokens.accept(",") {
                break;
            }
        }
        found
    }

    /// A type's name; one of a parameter may have the parameter's name in it.
    pub fn type_name(&mut self) -> TypeName {
        let start = self.tokens.token.span;
        let specifiers = self.specifiers();
        // In `translator T < struct s *p >` the name belongs to the translator.
        let declarator = self.nested(Declarator::default(), Self::abstract_declarator);
        TypeName { specifiers, declarator, variadic: false, span: self.tokens.since(start) }
    }

    fn abstract_declarator(&mut self) -> Declarator {
        let mut pointers = 0;
        while self.tokens.accept("*") {
            pointers += 1;
            while ["const", "volatile", "restrict"].iter().any(|w| self.tokens.accept_word(w)) {}
        }
        let named = self.tokens.word().is_some() && !matches!(self.tokens.next_kind(), Kind::Sign(">"));
        let mut declarator = if named || self.tokens.at("(") || self.tokens.at("[") {
            self.declarator_parts()
        } else {
            Declarator::default()
        };
        declarator.parts.extend((0..pointers.min(64)).map(|_| DeclaratorPart::Pointer));
        declarator
    }
}

/// Notes a struct's or union's definition. A second one is told where it begins: what follows may be none.
fn defined(p: &mut Parser<'_>, kind: TagKind, name: Option<&Name>) {
    let word = if kind == TagKind::Union { "union" } else { "struct" };
    let Some(name) = name.filter(|_| kind != TagKind::Enum) else { return };
    if !p.tags.insert(format!("{word} {}", name.text).into()) {
        p.tokens.error(tags::D_DECL_TYPERED, name.span, format!("type redeclared: {word} {}", name.text));
    }
}
