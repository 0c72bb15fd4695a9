//! All places of a name, and what another name would make of them.

use super::context::{Context, item_span};
use super::navigate::{define_line, definition};
use crate::lang::bt::ast::Item;
use crate::lang::bt::lexer::TokenKind as T;
use crate::lang::service::RenameError;
use crate::lang::source::{SourceText, Span};

/// The name at `offset` and every place that means the same thing, in order; empty where the script names
/// nothing there.
#[must_use]
pub fn references(source: &SourceText, offset: u32) -> Vec<Span> {
    let context = Context::new(source, offset);
    named(&context).map_or_else(Vec::new, |index| places(&context, index))
}

/// The name at `offset`, for who wants to change it.
#[must_use]
pub fn renamable(source: &SourceText, offset: u32) -> Option<Span> {
    let context = Context::new(source, offset);
    named(&context).map(|index| context.span(index))
}

/// What to put where, to give the thing at `offset` another name. `$` and `@` in front of the new one may be
/// left out.
///
/// # Errors
/// When nothing is named there, or the new name is none or taken.
pub fn rename(source: &SourceText, offset: u32, new: &str) -> Result<Vec<(Span, String)>, RenameError> {
    let context = Context::new(source, offset);
    let index = named(&context).ok_or(RenameError::NoName)?;
    let sigil = match context.kind(index) {
        T::Variable => "$",
        T::Map => "@",
        _ => "",
    };
    let bare = new.trim().strip_prefix(sigil).unwrap_or(new.trim());
    let good = bare.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && bare.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    // The map without a name is `@` alone.
    if !(good || bare.is_empty() && sigil == "@") {
        return Err(RenameError::BadName(new.trim().to_owned()));
    }
    let new = format!("{sigil}{bare}");
    if new == context.text(index) {
        return Ok(Vec::new());
    }
    let spans = places(&context, index);
    let within = spans.iter().copied().reduce(Span::to).unwrap_or_default();
    let scope = if sigil == "$" { scope(&context, within.start) } else { None };
    if uses(&context, context.kind(index), &new).any(|span| scope.is_none_or(|s| contains(s, span))) {
        return Err(RenameError::Taken(new));
    }
    Ok(spans.into_iter().map(|span| (span, new.clone())).collect())
}

/// The token at the position when it is a name that the script gives.
fn named(context: &Context<'_>) -> Option<usize> {
    let index = context.token_under()?;
    match context.kind(index) {
        T::Variable | T::Map => Some(index),
        T::Word if !behind_dot(context, index) => {
            let own = definition(context.source, context.offset).is_some() || parameter(context, index).is_some();
            own.then_some(index)
        }
        _ => None,
    }
}

fn behind_dot(context: &Context<'_>, index: usize) -> bool {
    context.before(Some(index)).is_some_and(|i| matches!(context.kind(i), T::Dot | T::Arrow))
}

/// The macro whose parameter a token is, as its place.
fn parameter(context: &Context<'_>, index: usize) -> Option<Span> {
    let (text, span) = (context.text(index), context.span(index));
    context.script.items.iter().find_map(|item| match item {
        Item::Macro(m) if contains(m.span, span) && m.parameters.iter().any(|p| *p.text == *text) => Some(m.span),
        _ => None,
    })
}

/// The item that a place lies in: the scope of variables.
fn scope(context: &Context<'_>, at: u32) -> Option<Span> {
    context.script.items.iter().map(item_span).find(|s| s.start <= at && at < s.end)
}

const fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Every place of the name that the token is.
fn places(context: &Context<'_>, index: usize) -> Vec<Span> {
    let (kind, text, span) = (context.kind(index), context.text(index), context.span(index));
    let within = match kind {
        T::Variable => scope(context, span.start),
        _ => parameter(context, index),
    };
    let own = |other: Span| match within {
        Some(scope) => contains(scope, other),
        // Parameters of that name are other things.
        None => kind == T::Variable || !hidden(context, text, other),
    };
    let mut found: Vec<Span> = uses(context, kind, text).filter(|s| own(*s)).collect();
    if kind == T::Word
        && let Some(line) = define_line(context, text)
    {
        let start = context.source.slice(line).find(text).unwrap_or(0) as u32 + line.start;
        found.push(Span::new(start, start + text.len() as u32));
        found.sort_unstable_by_key(|s| s.start);
    }
    found
}

/// Tokens of a kind and text.
fn uses<'a>(context: &'a Context<'_>, kind: T, text: &'a str) -> impl Iterator<Item = Span> + 'a {
    (0..context.tokens.len())
        .filter(move |i| context.kind(*i) == kind && context.text(*i) == text)
        .filter(move |i| kind != T::Word || !behind_dot(context, *i))
        .map(|i| context.span(i))
}

/// Whether a place lies in a macro that has a parameter of this name.
fn hidden(context: &Context<'_>, text: &str, at: Span) -> bool {
    context.script.items.iter().any(|item| match item {
        Item::Macro(m) => contains(m.span, at) && m.parameters.iter().any(|p| *p.text == *text),
        _ => false,
    })
}
