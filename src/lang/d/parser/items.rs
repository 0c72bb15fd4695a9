//! Clauses, control lines, inlines, translators and providers.

use super::super::ast::{
    Clause, Declaration, DeclaratorPart, Expr, ExprKind, Item, ItemKind, Name, Pragma, ProbeSpec, Script, Translator,
};
use super::super::lexer::{Kind, Lexer, span};
use super::super::words;
use super::Parser;
use crate::lang::codes::d as tags;
use crate::lang::source::Span;

/// What begins at a place at the top of a program.
enum Start {
    End,
    Control,
    Declaration,
    Word(&'static str),
    Probes,
}

/// Whether an item declares a function: where a block follows, a header of C defines it.
fn defines_function(kind: &ItemKind) -> bool {
    let ItemKind::Declaration(declaration) = kind else { return false };
    let [declarator] = &declaration.declarators[..] else { return false };
    declarator.parts.iter().any(|part| matches!(part, DeclaratorPart::Function(..)))
}

impl Parser<'_> {
    pub fn script(&mut self) -> Script {
        let mut script = Script::default();
        while !self.given_up {
            self.lexer.skip_blanks();
            self.add_control_lines(&mut script);
            let start = self.lexer.at;
            self.depth = 0;
            match self.start() {
                Start::End => break,
                Start::Control => self.lexer.control_line(),
                Start::Probes => self.clause(&mut script),
                Start::Word(word) => self.worded(word, &mut script),
                Start::Declaration => {
                    self.bump();
                    let item = ItemKind::Declaration(Box::new(self.declaration()));
                    self.end_item(start, item, &mut script);
                }
            }
            if self.lexer.at == start {
                // Nothing was taken, and nothing would be again.
                let bad = self.lexer.next();
                if bad.kind != Kind::Unknown {
                    self.error(tags::D_SYNTAX, bad.span, "syntax error: expected a probe or a declaration");
                }
            }
        }
        self.add_control_lines(&mut script);
        script
    }

    fn start(&mut self) -> Start {
        let options = self.options;
        let Some(byte) = self.lexer.byte() else { return Start::End };
        if byte == b'#' {
            return Start::Control;
        }
        let (text, digits) = self.ahead(|lexer: &mut Lexer<'_>| {
            let digits = lexer.byte().is_some_and(|b| b.is_ascii_digit());
            (lexer.probe_spec().0, digits)
        });
        if digits {
            return Start::Probes;
        }
        for word in ["inline", "translator", "provider"] {
            if text == word {
                return Start::Word(word);
            }
        }
        let plain = !text.contains([':', '-', '.', '?', '!']) && !matches!(text.as_str(), "BEGIN" | "END" | "ERROR");
        let word = text.split(['*', '[']).next().unwrap_or("");
        if plain && !word.is_empty() {
            let a_type = !options.of_command_line && self.is_type(word);
            if words::begins_declaration(word) || words::OF_COMPILERS.contains(&word) || a_type {
                return Start::Declaration;
            }
        }
        Start::Probes
    }

    /// Ends an item of declarations with its `;`. The lexer then stands right behind it.
    fn end_item(&mut self, start: usize, kind: ItemKind, script: &mut Script) {
        if self.at(";") {
            self.previous_end = self.token.span.end as usize;
            self.lexer.at = self.previous_end;
        } else if self.at("{") && defines_function(&kind) {
            // What headers of C define is known by its name, and can't be called.
            self.skip_item();
            self.previous_end = self.lexer.at;
        } else {
            self.expect(";");
            self.skip_item();
        }
        let at = span(start, self.previous_end.max(start));
        self.add_control_lines(script);
        script.items.push(Item { kind, span: at });
    }

    /// After an error: behind the `;` or the block that ends the item.
    fn skip_item(&mut self) {
        let mut open = 0_u32;
        loop {
            let end = self.token.span.end as usize;
            match self.token.kind {
                Kind::Eof => {
                    self.lexer.at = self.lexer.text.len();
                    return;
                }
                Kind::Sign("{") => open += 1,
                Kind::Sign("}") => {
                    open = open.saturating_sub(1);
                    if open == 0 {
                        self.lexer.at = end;
                        return;
                    }
                }
                Kind::Sign(";") if open == 0 => {
                    self.lexer.at = end;
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    /// Puts the control lines that were met among the items.
    fn add_control_lines(&mut self, script: &mut Script) {
        for (at, words) in std::mem::take(&mut self.lexer.control_lines) {
            let mut names = words.into_iter().map(|(text, span)| Name { text: text.into(), span });
            let Some(control) = names.next() else { continue };
            let mut words: Vec<Name> = names.collect();
            let of_d = words.first().is_some_and(|w| &*w.text == "D");
            if of_d {
                words.remove(0);
            }
            script.items.push(Item { kind: ItemKind::Pragma(Pragma { words, of_d, control }), span: at });
        }
    }

    fn worded(&mut self, word: &str, script: &mut Script) {
        let start = self.lexer.at;
        self.bump();
        self.bump();
        let kind = match word {
            "inline" => self.inline(),
            "translator" => self.translator(),
            _ => {
                let name = self.expect_name();
                if self.expect("{") {
                    let mut open = 1_u32;
                    while open > 0 && !self.at_eof() {
                        match self.token.kind {
                            Kind::Sign("{") => open += 1,
                            Kind::Sign("}") => open -= 1,
                            _ => {}
                        }
                        self.bump();
                    }
                }
                ItemKind::Provider(name)
            }
        };
        self.end_item(start, kind, script);
    }

    fn inline(&mut self) -> ItemKind {
        let specifiers = self.specifiers();
        let declarator = self.declarator();
        let declaration = Declaration { specifiers, declarators: vec![declarator] };
        let value = if self.expect("=") { self.assignment() } else { self.error_expr() };
        ItemKind::Inline(Box::new(declaration), Box::new(value))
    }

    fn translator(&mut self) -> ItemKind {
        let output = self.type_name();
        self.expect("<");
        let input = self.type_name();
        let parameter = self.expect_name();
        self.expect(">");
        let mut members = Vec::new();
        if self.expect("{") {
            while !self.at("}") && !self.at_eof() && !self.given_up {
                let at = self.lexer.at;
                let name = self.expect_name();
                let value = if self.expect("=") { self.assignment() } else { self.error_expr() };
                members.push((name, value));
                self.expect(";");
                if self.lexer.at == at {
                    self.bump();
                }
            }
            self.expect("}");
        }
        ItemKind::Translator(Box::new(Translator { output, input, parameter, members }))
    }

    fn clause(&mut self, script: &mut Script) {
        let start = self.lexer.at;
        let probes = self.probe_specs();
        self.bump();
        self.last_error = None;
        let predicate = if self.at("/") {
            self.bump();
            Some(self.predicate())
        } else {
            None
        };
        let body = if self.at("{") {
            Some(self.body())
        } else {
            let message = match (&predicate, self.options.of_command_line) {
                (Some(_), _) => "expected actions { } following probe description and predicate",
                (None, false) if self.at_eof() => "expected predicate and/or actions following probe description",
                (None, true) if self.at_eof() => "",
                _ => "syntax error: expected a predicate or `{`",
            };
            if !message.is_empty() && !probes.is_empty() {
                self.error_here(tags::D_SYNTAX, message);
                self.skip_item();
            } else {
                self.lexer.at = (self.token.span.start as usize).max(start);
            }
            None
        };
        let at = span(start, self.lexer.at.min(self.lexer.text.len()));
        self.add_control_lines(script);
        script.items.push(Item { kind: ItemKind::Clause(Clause { probes, predicate, body }), span: at });
    }

    fn probe_specs(&mut self) -> Vec<ProbeSpec> {
        let mut probes = Vec::new();
        loop {
            self.lexer.skip_blanks();
            let at_digit = self.lexer.byte().is_some_and(|b| b.is_ascii_digit());
            let (text, at) = if at_digit {
                let token = self.lexer.next();
                let text = self.lexer.text.get(token.span.start as usize..token.span.end as usize).unwrap_or("");
                (text.to_owned(), token.span)
            } else {
                self.lexer.probe_spec()
            };
            if text.is_empty() {
                let shown: String = self.lexer.text.get(self.lexer.at..).unwrap_or("").chars().take(1).collect();
                self.error(tags::D_SYNTAX, at, format!("syntax error near \"{}\"", shown.escape_debug()));
                return probes;
            }
            probes.push(ProbeSpec { text: text.into(), span: at });
            self.lexer.skip_blanks();
            if self.lexer.byte() != Some(b',') {
                return probes;
            }
            self.lexer.at += 1;
        }
    }

    fn predicate(&mut self) -> Expr {
        self.predicate = true;
        self.parentheses = 0;
        let predicate = self.expression();
        self.predicate = false;
        if self.at("/") {
            self.bump();
        } else {
            self.unexpected();
            while !self.at("{") && !self.at("/") && !self.at_eof() {
                self.bump();
            }
            self.accept("/");
        }
        predicate
    }

    /// Statements between braces; the lexer then stands right behind the closing one.
    fn body(&mut self) -> Vec<Expr> {
        self.bump();
        let mut statements = Vec::new();
        loop {
            if self.at("}") || self.at_eof() || self.given_up {
                break;
            }
            if self.at(";") {
                let at = self.bump().span;
                statements.push(Expr { kind: ExprKind::Empty, span: at });
                continue;
            }
            statements.push(self.expression());
            if self.accept(";") || self.at("}") {
                continue;
            }
            self.unexpected();
            self.skip_statement();
        }
        if self.at("}") {
            self.previous_end = self.token.span.end as usize;
            self.lexer.at = self.previous_end;
        } else {
            self.unexpected();
            self.lexer.at = self.lexer.text.len();
        }
        statements
    }

    fn skip_statement(&mut self) {
        while !self.at(";") && !self.at("}") && !self.at_eof() {
            self.bump();
        }
        self.accept(";");
    }

    pub fn error_expr(&self) -> Expr {
        Expr { kind: ExprKind::Error, span: Span::new(self.token.span.start, self.token.span.start) }
    }
}
