//! Clauses, control lines, inlines, translators and providers.

use super::super::ast::{
    Clause, Declaration, DeclaratorPart, Expr, ExprKind, Item, ItemKind, Name, Pragma, ProbeSpec, Script, Translator,
};
use super::super::lexer::{Kind, Lexer, span};
use super::super::words;
use super::Parser;
use crate::lang::codes::d as tags;

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

/// The whole program.
pub fn script(p: &mut Parser<'_>) -> Script {
    let mut script = Script::default();
    while !p.tokens.given_up {
        p.tokens.lexer.skip_blanks();
        add_control_lines(p, &mut script);
        let start = p.tokens.lexer.at;
        p.depth = 0;
        match what_begins(p) {
            Start::End => break,
            Start::Control => p.tokens.lexer.control_line(),
            Start::Probes => clause(p, &mut script),
            Start::Word(word) => worded(p, word, &mut script),
            Start::Declaration => {
                p.tokens.bump();
                let item = ItemKind::Declaration(Box::new(p.declaration()));
                end_item(p, start, item, &mut script);
            }
        }
        if p.tokens.lexer.at == start {
            // Nothing was taken, and nothing would be again.
            let bad = p.tokens.lexer.next();
            if bad.kind != Kind::Unknown {
                p.tokens.error(tags::D_SYNTAX, bad.span, "syntax error: expected a probe or a declaration");
            }
        }
    }
    add_control_lines(p, &mut script);
    script
}

fn what_begins(p: &mut Parser<'_>) -> Start {
    let options = p.options;
    let Some(byte) = p.tokens.lexer.byte() else { return Start::End };
    if byte == b'#' {
        return Start::Control;
    }
    let (text, digits) = p.tokens.ahead(|lexer: &mut Lexer<'_>| {
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
        let a_type = !options.of_command_line && p.is_type(word);
        if words::begins_declaration(word) || words::OF_COMPILERS.contains(&word) || a_type {
            return Start::Declaration;
        }
    }
    Start::Probes
}

/// Ends an item of declarations with its `;`. The lexer then stands right behind it.
fn end_item(p: &mut Parser<'_>, start: usize, kind: ItemKind, script: &mut Script) {
    if p.tokens.at(";") {
        p.tokens.end_behind_token();
    } else if p.tokens.at("{") && defines_function(&kind) {
        // What headers of C define is known by its name, and can't be called.
        skip_item(p);
        p.tokens.previous_end = p.tokens.lexer.at;
    } else {
        p.tokens.expect(";");
        skip_item(p);
    }
    let at = span(start, p.tokens.previous_end.max(start));
    add_control_lines(p, script);
    script.items.push(Item { kind, span: at });
}

/// After an error: behind the `;` or the block that ends the item.
fn skip_item(p: &mut Parser<'_>) {
    let mut open = 0_u32;
    loop {
        let end = p.tokens.token.span.end as usize;
        match p.tokens.token.kind {
            Kind::Eof => {
                p.tokens.skip_to_end();
                return;
            }
            Kind::Sign("{") => open += 1,
            Kind::Sign("}") => {
                open = open.saturating_sub(1);
                if open == 0 {
                    p.tokens.lexer.at = end;
                    return;
                }
            }
            Kind::Sign(";") if open == 0 => {
                p.tokens.lexer.at = end;
                return;
            }
            _ => {}
        }
        p.tokens.bump();
    }
}

/// Puts the control lines that were met among the items.
fn add_control_lines(p: &mut Parser<'_>, script: &mut Script) {
    for (at, words) in std::mem::take(&mut p.tokens.lexer.control_lines) {
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

fn worded(p: &mut Parser<'_>, word: &str, script: &mut Script) {
    let start = p.tokens.lexer.at;
    p.tokens.bump();
    p.tokens.bump();
    let kind = match word {
        "inline" => inline(p),
        "translator" => translator(p),
        _ => {
            let name = p.tokens.expect_name();
            if p.tokens.expect("{") {
                let mut open = 1_u32;
                while open > 0 && !p.tokens.at_eof() {
                    match p.tokens.token.kind {
                        Kind::Sign("{") => open += 1,
                        Kind::Sign("}") => open -= 1,
                        _ => {}
                    }
                    p.tokens.bump();
                }
            }
            ItemKind::Provider(name)
        }
    };
    end_item(p, start, kind, script);
}

fn inline(p: &mut Parser<'_>) -> ItemKind {
    let specifiers = p.specifiers();
    let declarator = p.declarator();
    let declaration = Declaration { specifiers, declarators: vec![declarator] };
    let value = if p.tokens.expect("=") { p.assignment() } else { p.error_expr() };
    ItemKind::Inline(Box::new(declaration), Box::new(value))
}

fn translator(p: &mut Parser<'_>) -> ItemKind {
    let output = p.type_name();
    p.tokens.expect("<");
    let input = p.type_name();
    let parameter = p.tokens.expect_name();
    p.tokens.expect(">");
    let mut members = Vec::new();
    if p.tokens.expect("{") {
        while !p.tokens.at("}") && !p.tokens.at_eof() && !p.tokens.given_up {
            let at = p.tokens.lexer.at;
            let name = p.tokens.expect_name();
            let value = if p.tokens.expect("=") { p.assignment() } else { p.error_expr() };
            members.push((name, value));
            p.tokens.expect(";");
            if p.tokens.lexer.at == at {
                p.tokens.bump();
            }
        }
        p.tokens.expect("}");
    }
    ItemKind::Translator(Box::new(Translator { output, input, parameter, members }))
}

fn clause(p: &mut Parser<'_>, script: &mut Script) {
    let start = p.tokens.lexer.at;
    let probes = probe_specs(p);
    p.tokens.bump();
    p.tokens.last_error = None;
    let predicate = if p.tokens.at("/") {
        p.tokens.bump();
        Some(predicate(p))
    } else {
        None
    };
    let body = if p.tokens.at("{") {
        Some(body(p))
    } else {
        let message = match (&predicate, p.options.of_command_line) {
            (Some(_), _) => "expected actions { } following probe description and predicate",
            (None, false) if p.tokens.at_eof() => "expected predicate and/or actions following probe description",
            (None, true) if p.tokens.at_eof() => "",
            _ => "syntax error: expected a predicate or `{`",
        };
        let name = match &probes[..] {
            [only] if !only.text.contains([':', '-', '*', '?', '[']) => Some(only.span),
            _ => None,
        };
        if let Some(at) = name.filter(|_| p.tokens.at("*") || p.tokens.word().is_some()) {
            // `name *x` and `name x` declare.
            let text = p.tokens.lexer.text.get(at.start as usize..at.end as usize).unwrap_or("");
            let message = format!("syntax error near \"{text}\": it is no probe, and no type that is known here");
            p.tokens.error(tags::D_SYNTAX, at, message);
            skip_item(p);
        } else if !message.is_empty() && !probes.is_empty() {
            p.tokens.error_here(tags::D_SYNTAX, message);
            skip_item(p);
        } else {
            p.tokens.lexer.at = (p.tokens.token.span.start as usize).max(start);
        }
        None
    };
    let at = span(start, p.tokens.lexer.at.min(p.tokens.lexer.text.len()));
    add_control_lines(p, script);
    script.items.push(Item { kind: ItemKind::Clause(Clause { probes, predicate, body }), span: at });
}

fn probe_specs(p: &mut Parser<'_>) -> Vec<ProbeSpec> {
    let mut probes = Vec::new();
    loop {
        p.tokens.lexer.skip_blanks();
        let at_digit = p.tokens.lexer.byte().is_some_and(|b| b.is_ascii_digit());
        let (text, at) = if at_digit {
            let token = p.tokens.lexer.next();
            let text = p.tokens.lexer.text.get(token.span.start as usize..token.span.end as usize).unwrap_or("");
            (text.to_owned(), token.span)
        } else {
            p.tokens.lexer.probe_spec()
        };
        if text.is_empty() {
            let shown: String = p.tokens.lexer.text.get(p.tokens.lexer.at..).unwrap_or("").chars().take(1).collect();
            p.tokens.error(tags::D_SYNTAX, at, format!("syntax error near \"{}\"", shown.escape_debug()));
            return probes;
        }
        probes.push(ProbeSpec { text: text.into(), span: at });
        p.tokens.lexer.skip_blanks();
        if p.tokens.lexer.byte() != Some(b',') {
            return probes;
        }
        p.tokens.lexer.at += 1;
    }
}

fn predicate(p: &mut Parser<'_>) -> Expr {
    p.predicate = true;
    p.parentheses = 0;
    let predicate = p.expression();
    p.predicate = false;
    if p.tokens.at("/") {
        p.tokens.bump();
    } else {
        p.tokens.unexpected();
        while !p.tokens.at("{") && !p.tokens.at("/") && !p.tokens.at_eof() {
            p.tokens.bump();
        }
        p.tokens.accept("/");
    }
    predicate
}

/// Statements between braces; the lexer then stands right behind the closing one.
fn body(p: &mut Parser<'_>) -> Vec<Expr> {
    p.tokens.bump();
    let mut statements = Vec::new();
    loop {
        if p.tokens.at("}") || p.tokens.at_eof() || p.tokens.given_up {
            break;
        }
        if p.tokens.at(";") {
            let at = p.tokens.bump().span;
            statements.push(Expr { kind: ExprKind::Empty, span: at });
            continue;
        }
        statements.push(p.expression());
        if p.tokens.accept(";") || p.tokens.at("}") {
            continue;
        }
        p.tokens.unexpected();
        skip_statement(p);
    }
    if p.tokens.at("}") {
        p.tokens.end_behind_token();
    } else {
        p.tokens.unexpected();
        p.tokens.skip_to_end();
    }
    statements
}

fn skip_statement(p: &mut Parser<'_>) {
    while !p.tokens.at(";") && !p.tokens.at("}") && !p.tokens.at_eof() {
        p.tokens.bump();
    }
    p.tokens.accept(";");
}
