//! What stands at a place of a D program: completion, help, names.

use std::collections::BTreeSet;

use super::pieces::{DPieces, Piece, name};
use crate::lang::d::{docs, words};
use crate::lang::service::{
    Class, Completion, CompletionKind, Hover, RenameError, ServiceEnv, SignatureHelp, Symbol, SymbolKind,
};
use crate::lang::source::{SourceText, Span};

/// How many probes are offered at once.
const LIMIT: usize = 200;

const fn span(piece: &Piece) -> Span {
    Span::new(piece.range.start, piece.range.end)
}

fn text<'t>(source: &'t SourceText, piece: &Piece) -> &'t str {
    source.slice(span(piece))
}

/// Everything that could be typed at `at`.
pub fn completions(source: &SourceText, at: u32, env: &ServiceEnv<'_>) -> Vec<Completion> {
    let pieces = DPieces::of(&source.text);
    let here = pieces.touching(at).filter(|p| p.class != Class::Operator);
    let replace = here.map_or(Span::new(at, at), span);
    let typed = source.slice(Span::new(replace.start, at));
    let in_code = crate::lang::service::Pieces::depth(&pieces, at) > 0;
    match here.map(|p| p.class) {
        Some(Class::Comment | Class::Directive | Class::Str | Class::Number) => Vec::new(),
        Some(Class::Probe) => probes(typed, replace, env),
        Some(Class::Map) => named(source, &pieces, typed, replace, Class::Map, CompletionKind::Map),
        Some(Class::Field) => fields(source, replace, env),
        None if !in_code && !source.slice(Span::new(0, at)).trim_end().ends_with(['/', '=']) => {
            probes("", replace, env)
        }
        _ => {
            let behind = source.slice(Span::new(0, replace.start)).trim_end();
            if behind.ends_with("self->") || behind.ends_with("this->") {
                return named(source, &pieces, typed, replace, Class::Variable, CompletionKind::Variable);
            }
            if behind.ends_with("->") {
                return fields(source, replace, env);
            }
            words_of(source, &pieces, typed, replace)
        }
    }
}

fn probes(typed: &str, replace: Span, env: &ServiceEnv<'_>) -> Vec<Completion> {
    let make = |label: &str, detail: &str, doc: &str| Completion {
        label: label.to_owned(),
        insert: label.to_owned(),
        replace,
        kind: CompletionKind::Probe,
        detail: detail.to_owned(),
        doc: doc.to_owned(),
    };
    let fits = |label: &str| label.contains(typed.trim_end_matches([':', '*']));
    let known = docs::PROBES.iter().filter(|d| fits(d.name) || fits(d.form)).map(|d| make(d.name, d.form, d.text));
    let function = typed.strip_prefix("syscall:").map(|rest| rest.rsplit(':').find(|f| !f.is_empty()).unwrap_or(""));
    let calls = function.map(|function| {
        let hits = env.knowledge.probes(&format!("tracepoint:syscalls:sys_enter_{function}"), LIMIT);
        let call = |point: &str| point.rsplit_once("sys_enter_").map(|(_, call)| call.to_owned());
        let calls: BTreeSet<String> = hits.iter().filter_map(|hit| call(&hit.point)).collect();
        calls.into_iter().flat_map(|call| ["entry", "return"].map(|end| format!("syscall::{call}:{end}")))
    });
    known.chain(calls.into_iter().flatten().map(|label| make(&label, "system call", ""))).collect()
}

fn named(
    source: &SourceText,
    pieces: &DPieces,
    typed: &str,
    replace: Span,
    class: Class,
    kind: CompletionKind,
) -> Vec<Completion> {
    let others = pieces.pieces.iter().filter(|p| p.class == class && span(p) != replace);
    let names: BTreeSet<&str> = others.map(|p| text(source, p)).filter(|n| n.starts_with(typed)).collect();
    let make = |n: &str| Completion {
        label: n.to_owned(),
        insert: n.to_owned(),
        replace,
        kind,
        detail: String::new(),
        doc: String::new(),
    };
    names.into_iter().map(make).collect()
}

/// Members of the thread's structure, where it is asked for.
fn fields(source: &SourceText, replace: Span, env: &ServiceEnv<'_>) -> Vec<Completion> {
    let before = source.slice(Span::new(0, replace.start)).trim_end();
    let base = before.strip_suffix("->").unwrap_or("");
    if !base.ends_with("curthread") {
        return Vec::new();
    }
    let make = |field: crate::lang::service::Field| Completion {
        label: field.name.clone(),
        insert: field.name,
        replace,
        kind: CompletionKind::Field,
        detail: field.ty,
        doc: String::new(),
    };
    env.knowledge.members("task_struct").into_iter().map(make).collect()
}

fn words_of(source: &SourceText, pieces: &DPieces, typed: &str, replace: Span) -> Vec<Completion> {
    let of = |doc: &docs::Doc, kind| Completion {
        label: doc.name.to_owned(),
        insert: if kind == CompletionKind::Function { format!("{}(", doc.name) } else { doc.name.to_owned() },
        replace,
        kind,
        detail: doc.form.to_owned(),
        doc: doc.text.to_owned(),
    };
    let starts = |doc: &&docs::Doc| doc.name.starts_with(typed);
    let mut all = named(source, pieces, typed, replace, Class::Variable, CompletionKind::Variable);
    all.retain(|c| !words::begins_declaration(&c.label));
    all.extend(docs::VARIABLES.iter().filter(starts).map(|d| of(d, CompletionKind::Builtin)));
    all.extend(docs::FUNCTIONS.iter().filter(starts).map(|d| of(d, CompletionKind::Function)));
    all
}

/// What is at `at`.
pub fn hover(source: &SourceText, at: u32) -> Option<Hover> {
    let pieces = DPieces::of(&source.text);
    let piece = pieces.touching(at)?;
    let said = text(source, piece);
    let doc = match piece.class {
        Class::Probe => docs::PROBES.iter().find(|d| d.name == said || d.form == said)?,
        Class::Function | Class::Builtin | Class::Variable => docs::of(said)?,
        _ => return None,
    };
    Some(Hover { span: span(piece), code: doc.form.to_owned(), doc: doc.text.to_owned() })
}

/// The call that is open at `at`.
pub fn signature_help(source: &SourceText, at: u32) -> Option<SignatureHelp> {
    let pieces = DPieces::of(&source.text);
    let before = pieces.pieces.iter().rev().skip_while(|p| p.range.end > at);
    let (mut open, mut active) = (0_u32, 0);
    let mut called = None;
    for piece in before {
        match (piece.class, text(source, piece)) {
            (Class::Operator, ")" | "]") => open += 1,
            (Class::Operator, "(" | "[") if open > 0 => open -= 1,
            (Class::Operator, "(") => called = Some(piece.range.start),
            (Class::Operator, ",") if open == 0 && called.is_none() => active += 1,
            (Class::Operator, ";" | "{" | "}") => return None,
            (Class::Function, word) if called.is_some() => {
                let doc = docs::of(word)?;
                let parameters = parameters(doc.form);
                let active = active.min(parameters.len().saturating_sub(1));
                return Some(SignatureHelp {
                    label: doc.form.to_owned(),
                    doc: doc.text.to_owned(),
                    parameters,
                    active,
                });
            }
            _ if called.is_some() => return None,
            _ => {}
        }
    }
    None
}

/// Byte ranges of the parameters in a form.
fn parameters(form: &str) -> Vec<(usize, usize)> {
    let Some((start, end)) = form.find('(').zip(form.rfind(')')) else { return Vec::new() };
    let mut out = Vec::new();
    let mut from = start + 1;
    for part in form.get(start + 1..end).unwrap_or("").split(',') {
        let blanks = part.len() - part.trim_start_matches([' ', '[']).len();
        if !part.trim().is_empty() {
            out.push((from + blanks, from + part.len()));
        }
        from += part.len() + 1;
    }
    out
}

/// A clause for a probe of the catalogue that D has a name for.
pub fn clause(probe: &str) -> Option<String> {
    let (name, body) = match probe.split_once(':').unwrap_or((probe, "")) {
        (provider, name) if crate::probe::providers::row(probe).is_some() => {
            (format!("{provider}:::{name}"), "@calls[execname] = count();")
        }
        ("begin" | "BEGIN", _) => ("dtrace:::BEGIN".to_owned(), "trace(\"Tracing... Hit Ctrl-C to end.\");"),
        ("end" | "END", _) => ("dtrace:::END".to_owned(), "printa(@calls);"),
        ("interval", every) => (format!("profile:::tick-{}", rate(every)?), "printa(@calls);\n    clear(@calls);"),
        ("profile", every) => (format!("profile:::profile-{}", rate(every)?), "@calls[execname] = count();"),
        ("tracepoint", point) => match point.strip_prefix("syscalls:sys_")?.split_once('_')? {
            ("enter", call) => (format!("syscall::{call}:entry"), "@calls[execname] = count();"),
            ("exit", call) => (format!("syscall::{call}:return"), "@calls[execname, errno] = count();"),
            _ => return None,
        },
        _ => return None,
    };
    Some(format!("{name}\n{{\n    {body}\n}}\n"))
}

/// `s:1` as D has it.
fn rate(every: &str) -> Option<String> {
    let (unit, number) = every.split_once(':')?;
    number.parse::<u32>().ok().map(|number| format!("{number}{unit}"))
}

/// The clauses.
pub fn symbols(source: &SourceText) -> Vec<Symbol> {
    let pieces = DPieces::of(&source.text);
    let mut out: Vec<Symbol> = Vec::new();
    let mut in_head = false;
    for piece in &pieces.pieces {
        match (piece.class, text(source, piece)) {
            (Class::Probe, said) => {
                if let Some(last) = out.last_mut().filter(|_| in_head) {
                    last.name = format!("{}, {said}", last.name);
                    last.selection.end = piece.range.end;
                } else {
                    let (span, kind) = (span(piece), SymbolKind::Probe);
                    out.push(Symbol { name: said.to_owned(), kind, span, selection: span });
                }
                in_head = true;
            }
            (Class::Operator, "{") => in_head = false,
            _ => {}
        }
        if let Some(last) = out.last_mut() {
            last.span.end = piece.range.end;
        }
    }
    out
}

/// A name with what tells it from others of the same text: `self->`, `this->` or nothing.
fn full_name<'t>(source: &'t SourceText, piece: &Piece) -> Option<(&'t str, &'t str)> {
    let said = text(source, piece);
    let before = source.slice(Span::new(0, piece.range.start)).trim_end();
    let scope = ["self->", "this->"].into_iter().find(|scope| before.ends_with(scope)).unwrap_or("");
    match piece.class {
        Class::Map => Some(("@", said)),
        Class::Variable if !said.starts_with('$') => Some((scope, said)),
        _ => None,
    }
}

/// All places that mean the same as the one at `at`.
pub fn references(source: &SourceText, at: u32) -> Vec<Span> {
    let pieces = DPieces::of(&source.text);
    let Some(wanted) = pieces.touching(at).and_then(|p| full_name(source, p)) else { return Vec::new() };
    pieces.pieces.iter().filter(|p| full_name(source, p) == Some(wanted)).map(span).collect()
}

/// The name at `at`, without the sign of an aggregation.
pub fn renamable(source: &SourceText, at: u32) -> Option<Span> {
    let pieces = DPieces::of(&source.text);
    let piece = pieces.touching(at)?;
    let (_, said) = full_name(source, piece)?;
    let named = span(piece);
    let sign = u32::from(said.starts_with('@'));
    Some(Span::new(named.start + sign, named.end)).filter(|s| s.start < s.end)
}

/// What to put where.
pub fn rename(source: &SourceText, at: u32, new: &str) -> Result<Vec<(Span, String)>, RenameError> {
    let old = renamable(source, at).ok_or(RenameError::NoName)?;
    let new = new.trim_start_matches('@');
    if new.is_empty() || name(new) != new || new.starts_with(|c: char| c.is_ascii_digit()) || words::is_reserved(new) {
        return Err(RenameError::BadName(new.to_owned()));
    }
    let pieces = DPieces::of(&source.text);
    let scope = pieces.touching(at).and_then(|p| full_name(source, p)).map_or("", |(scope, _)| scope);
    let sign = if scope == "@" { "@" } else { "" };
    let taken = format!("{sign}{new}");
    if pieces.pieces.iter().any(|p| full_name(source, p) == Some((scope, &taken))) {
        return Err(RenameError::Taken(taken));
    }
    let _ = old;
    let place = |s: Span| Span::new(s.start + sign.len() as u32, s.end);
    Ok(references(source, at).into_iter().map(|s| (place(s), new.to_owned())).collect())
}
