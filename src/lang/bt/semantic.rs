//! Semantic probes in scripts: each becomes probes at the places that this kernel has for it, and `args.NAME` what the
//! row says of the place.

use super::ast::{BinaryOp, Expr, ExprKind, Item, Name, Probe, Script, StatementKind};
use super::latency::{self, THREAD};
use super::parser::parse;
use super::visit::{self, NodeMut};
use crate::lang::codes::check::NO_FIELD;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::facts::Facts;
use crate::lang::source::{SourceText, Span};
use crate::probe::providers::{Found, SINCE};

/// Puts places in for semantic probes. Those that this kernel can't have stay, and are refused as other probes are.
pub fn rewrite(script: &mut Script, facts: &dyn Facts) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let mut items = Vec::with_capacity(script.items.len());
    let mut begun = Vec::new();
    for item in std::mem::take(&mut script.items) {
        match item {
            Item::Probe(probe) => split(probe, facts, &mut items, &mut begun, &mut diagnostics),
            other => items.push(other),
        }
    }
    items.extend(latency::clearing(&begun).map(Item::Probe));
    script.items = items;
    // A probe at several places is one to who wrote it.
    let mut told: Vec<Diagnostic> = Vec::new();
    for diagnostic in diagnostics {
        if !told.iter().any(|t| t.span == diagnostic.span && t.message == diagnostic.message) {
            told.push(diagnostic);
        }
    }
    told
}

/// Adds a probe's instances at its places to the items, and the maps of what they end to those that have begun.
fn split(
    probe: Probe,
    facts: &dyn Facts,
    items: &mut Vec<Item>,
    begun: &mut Vec<String>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let found = |point: &Name| facts.semantic(&point.text).and_then(Result::ok);
    let (mut rest, mut places) = (Vec::new(), Vec::new());
    for point in &probe.points {
        match found(point) {
            Some(found) => places.extend(found.into_iter().map(|place| (point.clone(), place))),
            None => rest.push(point.clone()),
        }
    }
    for (point, place) in places {
        let mut own = instance(&probe, &point, &place, diagnostics);
        if let Some((begin, _)) = &place.begin {
            let map = format!("@__begun{}", begun.len());
            let key = format!("{THREAD}, (uint64)({})", begin.key);
            let kept = format!("{} /{}/ {{ {map}[{key}] = nsecs; }}", begin.point, begin.when);
            items.extend(latency::written(&kept, point.span).map(Item::Probe));
            let ended = format!("${SINCE} = nsecs - {map}[{key}]; delete({map}, ({key}));");
            latency::wrap(&mut own, &[format!("has_key({map}, ({key}))"), ended], point.span);
            begun.push(map);
        }
        own.predicate = with_condition(&place, point.span, own.predicate.take());
        items.push(Item::Probe(own));
    }
    if !rest.is_empty() {
        items.push(Item::Probe(Probe { points: rest, ..probe }));
    }
}

/// The probe at one place.
fn instance(probe: &Probe, point: &Name, place: &Found, diagnostics: &mut Vec<Diagnostic>) -> Probe {
    let mut own = probe.clone();
    own.points = vec![Name { text: place.source.point.into(), span: point.span }];
    own.alias = Some(place.row.point().into());
    let mut put_in = |e: &mut Expr| put_in(e, place, diagnostics);
    if let Some(predicate) = &mut own.predicate {
        put_in(predicate);
    }
    visit::block_mut(&mut own.body, &mut |node| each(node, &mut put_in));
    own
}

/// The place's own condition before a predicate.
fn with_condition(place: &Found, span: Span, predicate: Option<Expr>) -> Option<Expr> {
    let Some(when) = place.when().and_then(|text| expression(text, span)) else { return predicate };
    Some(match predicate {
        Some(other) => {
            let span = other.span;
            Expr { kind: ExprKind::Binary(BinaryOp::And, Box::new(when), Box::new(other)), span }
        }
        None => when,
    })
}

fn each(node: NodeMut<'_>, f: &mut dyn FnMut(&mut Expr)) {
    match node {
        NodeMut::Expr(e) => f(e),
        NodeMut::Block(block) => visit::block_mut(block, &mut |node| each(node, f)),
        NodeMut::Type(ty) => visit::ty_mut(ty, &mut |node| each(node, f)),
        NodeMut::Name(_) => {}
    }
}

fn is_args(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Ident(word) if &**word == "args")
}

/// Puts what the place tells in for `args` and `args.NAME`.
fn put_in(e: &mut Expr, place: &Found, diagnostics: &mut Vec<Diagnostic>) {
    let span = e.span;
    match &e.kind {
        ExprKind::Field(base, name) if is_args(base) => {
            *e = match place.field(&name.text) {
                Ok((_, text)) => expression(&text, span).unwrap_or(Expr { kind: ExprKind::Error, span }),
                Err(message) => {
                    diagnostics.push(Diagnostic::error(NO_FIELD, name.span, message));
                    Expr { kind: ExprKind::Error, span }
                }
            };
        }
        _ if is_args(e) => {
            let all = place.row.fields.iter().filter_map(|field| {
                let (_, text) = place.field(field.name).ok()?;
                Some((Name { text: field.name.into(), span }, expression(&text, span)?))
            });
            e.kind = ExprKind::Record(all.collect());
        }
        _ => visit::expr_mut(e, &mut |node| each(node, &mut |e| put_in(e, place, diagnostics))),
    }
}

/// An expression of a row, as if it stood at a place of the script.
pub fn expression(text: &str, span: Span) -> Option<Expr> {
    if text == SINCE {
        return Some(Expr { kind: ExprKind::Variable(format!("${SINCE}").into()), span });
    }
    let source = SourceText::new("", &format!("begin {{ _ = ({text}); }}"));
    let parsed = parse(&source);
    let Item::Probe(probe) = parsed.script.items.into_iter().next()? else { return None };
    let StatementKind::Discard(mut e) = probe.body.statements.into_iter().next()?.kind else { return None };
    if !parsed.diagnostics.is_empty() {
        return None;
    }
    place_at(&mut e, span);
    Some(e)
}

/// An expression of ours, as if it stood at a place of the script.
pub fn place_at(e: &mut Expr, span: Span) {
    e.span = span;
    match &mut e.kind {
        ExprKind::Field(_, name) | ExprKind::Call(name, _) => name.span = span,
        ExprKind::Cast(ty, _) => ty.span = span,
        _ => {}
    }
    visit::expr_mut(e, &mut |node| each(node, &mut |inner| place_at(inner, span)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::providers::{Given, rows};

    #[test]
    fn every_text_of_every_row_is_an_expression() {
        let parses = |text: &str| assert!(expression(text, Span::default()).is_some(), "{text}");
        for source in rows().flat_map(|row| row.places.iter().flat_map(|list| list.iter())) {
            if !source.when.is_empty() {
                parses(source.when);
            }
            for given in source.given {
                match given {
                    Given::Plain(_, text) => parses(text),
                    Given::Since(begin) => [begin.when, begin.key].into_iter().for_each(parses),
                    Given::Object(view, base) => {
                        parses(base);
                        view.all().flat_map(|member| member.texts).for_each(|text| parses(text));
                    }
                }
            }
        }
    }
}
