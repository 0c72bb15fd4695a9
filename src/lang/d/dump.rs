//! The syntax tree as text: one line an item or statement, every operator in brackets.

use std::fmt::Write as _;

use super::ast::{
    Clause, Declaration, Declarator, DeclaratorPart, Expr, ExprKind, ItemKind, Specifiers, TagBody, TypeName,
};
use super::parser::Parsed;

/// Writes a parsed program.
#[must_use]
pub fn program(parsed: &Parsed) -> String {
    let mut out = String::new();
    for item in &parsed.script.items {
        match &item.kind {
            ItemKind::Clause(clause) => self::clause(clause, &mut out),
            ItemKind::Declaration(d) => out.push_str(&format!("{};\n", declaration(d))),
            ItemKind::Inline(d, value) => out.push_str(&format!("inline {} = {};\n", declaration(d), expr(value))),
            ItemKind::Translator(t) => {
                let (output, input) = (type_name(&t.output), type_name(&t.input));
                let _ = writeln!(out, "translator {output} < {input} {} > {{", t.parameter.text);
                for (name, value) in &t.members {
                    let _ = writeln!(out, "\t{} = {};", name.text, expr(value));
                }
                out.push_str("};\n");
            }
            ItemKind::Provider(name) => out.push_str(&format!("provider {} {{ }};\n", name.text)),
            ItemKind::Pragma(p) => {
                let words: Vec<&str> = p.words.iter().map(|w| &*w.text).collect();
                let of_d = if p.of_d { " D" } else { "" };
                let _ = writeln!(out, "#{}{of_d} {}", p.control.text, words.join(" "));
            }
        }
    }
    out
}

fn clause(clause: &Clause, out: &mut String) {
    let probes: Vec<&str> = clause.probes.iter().map(|p| &*p.text).collect();
    out.push_str(&probes.join(",\n"));
    if let Some(predicate) = &clause.predicate {
        let _ = write!(out, "\n/{}/", expr(predicate));
    }
    let Some(body) = &clause.body else {
        out.push('\n');
        return;
    };
    out.push_str("\n{\n");
    for statement in body {
        let _ = writeln!(out, "\t{};", expr(statement));
    }
    out.push_str("}\n");
}

fn list<T>(items: &[T], write: impl Fn(&T) -> String) -> String {
    items.iter().map(write).collect::<Vec<_>>().join(", ")
}

fn specifiers(s: &Specifiers) -> String {
    let mut words: Vec<String> = s.classes.iter().chain(&s.words).map(|w| w.text.to_string()).collect();
    if let Some(tagged) = &s.tagged {
        let name = tagged.name.as_ref().map_or("", |n| &n.text);
        let kind = format!("{:?}", tagged.kind).to_lowercase();
        words.push(format!("{kind} {name}").trim_end().to_owned());
        match &tagged.body {
            Some(TagBody::Enumerators(items)) => {
                let one = |(name, value): &(super::ast::Name, Option<Expr>)| match value {
                    Some(value) => format!("{} = {}", name.text, expr(value)),
                    None => name.text.to_string(),
                };
                words.push(format!("{{ {} }}", list(items, one)));
            }
            Some(TagBody::Members(members)) => {
                let one = |(d, width): &(Declarator, Option<Expr>)| match width {
                    Some(width) => format!("{} : {}", declarator(d), expr(width)),
                    None => declarator(d),
                };
                let lines =
                    members.iter().map(|m| format!("{} {};", specifiers(&m.specifiers), list(&m.declarators, one)));
                words.push(format!("{{ {} }}", lines.collect::<Vec<_>>().join(" ")));
            }
            None => {}
        }
    }
    words.join(" ")
}

fn declaration(d: &Declaration) -> String {
    format!("{} {}", specifiers(&d.specifiers), list(&d.declarators, declarator)).trim_end().to_owned()
}

fn declarator(d: &Declarator) -> String {
    let mut text = d.name.as_ref().map_or_else(String::new, |n| n.text.to_string());
    let mut after_pointer = false;
    for part in &d.parts {
        let suffix = match part {
            DeclaratorPart::Pointer => {
                text.insert(0, '*');
                after_pointer = true;
                continue;
            }
            DeclaratorPart::Array(size, _) => format!("[{}]", size.as_ref().map_or_else(String::new, |e| expr(e))),
            DeclaratorPart::Keys(keys, _) => format!("[{}]", list(keys, type_name)),
            DeclaratorPart::Function(parameters, _) => format!("({})", list(parameters, type_name)),
        };
        if std::mem::take(&mut after_pointer) {
            text = format!("({text})");
        }
        text.push_str(&suffix);
    }
    text
}

fn type_name(t: &TypeName) -> String {
    if t.variadic {
        return "...".into();
    }
    format!("{} {}", specifiers(&t.specifiers), declarator(&t.declarator)).trim_end().to_owned()
}

fn string(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out.push('"');
    out
}

/// An expression with all its brackets.
pub(crate) fn expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Error => "<error>".into(),
        ExprKind::Empty => String::new(),
        ExprKind::Int(l) => {
            format!("{}{}{}", l.value, if l.unsigned { "u" } else { "" }, if l.long { "l" } else { "" })
        }
        ExprKind::Str(text) => string(text),
        ExprKind::Ident(name) | ExprKind::Aggregation(name) => name.to_string(),
        ExprKind::Unary(op, a) => format!("({}{})", op.sign(), expr(a)),
        ExprKind::Binary(op, a, b) => format!("({} {} {})", expr(a), op.sign(), expr(b)),
        ExprKind::Assign(op, a, b) => {
            format!("({} {}= {})", expr(a), op.map_or("", super::ast::Binary::sign), expr(b))
        }
        ExprKind::Conditional(c, a, b) => format!("({} ? {} : {})", expr(c), expr(a), expr(b)),
        ExprKind::Index(a, items) => format!("{}[{}]", expr(a), list(items, expr)),
        ExprKind::Call(f, items) => format!("{}({})", expr(f), list(items, expr)),
        ExprKind::Member { base, arrow, name } => {
            format!("{}{}{}", expr(base), if *arrow { "->" } else { "." }, name.text)
        }
        ExprKind::Step { operand, increment, postfix } => {
            let sign = if *increment { "++" } else { "--" };
            if *postfix { format!("({}{sign})", expr(operand)) } else { format!("({sign}{})", expr(operand)) }
        }
        ExprKind::Cast(ty, a) => format!("(({}){})", type_name(ty), expr(a)),
        ExprKind::SizeofType(ty) => format!("sizeof ({})", type_name(ty)),
        ExprKind::SizeofExpr(a) => format!("sizeof ({})", expr(a)),
        ExprKind::Offsetof(ty, name) => format!("offsetof ({}, {})", type_name(ty), name.text),
        ExprKind::Xlate(ty, a) => format!("xlate <{}>({})", type_name(ty), expr(a)),
    }
}
