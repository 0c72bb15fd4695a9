//! The call a position is in.

use super::context::Context;
use crate::lang::bt::ast::{Function, Item, Macro};
use crate::lang::bt::builtins;
use crate::lang::bt::dump;
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::service::SignatureHelp;
use crate::lang::source::SourceText;

/// The signature of the innermost call that is open at `offset`, and which parameter is typed.
#[must_use]
pub fn signature_help(source: &SourceText, offset: u32) -> Option<SignatureHelp> {
    let context = Context::new(source, offset);
    let (name, active) = open_call(&context)?;
    let (label, doc) = describe(&context, name)?;
    // Of several forms the first that has so many parameters.
    let forms = label.match_indices(" or ").map(|(at, _)| at + 4);
    let forms = std::iter::once(0).chain(forms).map(|from| parameters(&label, from));
    let parameters = forms.reduce(|best, next| if best.len() > active { best } else { next }).unwrap_or_default();
    let active = active.min(parameters.len().saturating_sub(1));
    Some(SignatureHelp { label, doc, parameters, active })
}

/// Name of the call whose `(` is open, and how many commas came since.
fn open_call<'t>(context: &Context<'t>) -> Option<(&'t str, usize)> {
    let (mut depth, mut commas) = (0_u32, 0);
    let end = context.tokens.partition_point(|t| t.span.end <= context.offset && t.kind != T::Eof);
    for index in (0..end).rev() {
        match context.kind(index) {
            T::RParen | T::RBracket => depth += 1,
            T::LBracket if depth == 0 => (depth, commas) = (0, 0),
            T::LParen if depth == 0 => {
                if let Some(name) = index.checked_sub(1).filter(|i| context.kind(*i) == T::Word) {
                    return Some((context.text(name), commas));
                }
                commas = 0;
            }
            T::LParen | T::LBracket => depth -= 1,
            T::Comma if depth == 0 => commas += 1,
            T::Semicolon | T::LBrace | T::RBrace | T::Unclosed => return None,
            _ => {}
        }
    }
    None
}

fn describe(context: &Context<'_>, name: &str) -> Option<(String, String)> {
    for item in &context.script.items {
        match item {
            Item::Macro(m) if *m.name.text == *name => return Some((of_macro(m), "A macro of this script.".into())),
            Item::Function(f) if *f.name.text == *name => {
                return Some((of_function(f), "A function of this script.".into()));
            }
            _ => {}
        }
    }
    let builtin = builtins::function(name)?;
    Some((builtin.signature.to_owned(), builtin.doc.to_owned()))
}

pub(super) fn of_macro(m: &Macro) -> String {
    let parameters: Vec<_> = m.parameters.iter().map(|p| &*p.text).collect();
    format!("{}({})", m.name.text, parameters.join(", "))
}

pub(super) fn of_function(f: &Function) -> String {
    let parameters: Vec<_> = f.parameters.iter().map(|(n, t)| format!("{}: {}", n.text, dump::type_name(t))).collect();
    let result = f.result.as_ref().map_or(String::new(), |t| format!(" : {}", dump::type_name(t)));
    format!("{}({}){result}", f.name.text, parameters.join(", "))
}

/// Byte ranges of the parameters in a signature, blanks and brackets of optional ones left out.
fn parameters(label: &str, from: usize) -> Vec<(usize, usize)> {
    let after = |c: char, from: usize| label.get(from..).and_then(|rest| rest.find(c)).map(|at| from + at);
    let Some(open) = after('(', from) else { return Vec::new() };
    let close = after(')', open).unwrap_or(label.len());
    let inner = label.get(open + 1..close).unwrap_or("");
    let mut start = open + 1;
    let mut out = Vec::new();
    for part in inner.split(',') {
        let trimmed = part.trim_matches([' ', '[', ']']);
        if !trimmed.is_empty() {
            let lead = part.find(trimmed).unwrap_or(0);
            out.push((start + lead, start + lead + trimmed.len()));
        }
        start += part.len() + 1;
    }
    out
}
