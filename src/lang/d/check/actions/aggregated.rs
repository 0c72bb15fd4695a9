//! Actions on aggregations: printing and changing them.

use std::sync::Arc;

use super::super::checker::Checker;
use super::super::prototypes::Function;
use super::super::recording;
use super::super::value::{is_int, is_text, word};
use super::super::variables::table::Variables;
use super::format;
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, ExprKind as Kind};
use crate::lang::diagnostic::Code;
use crate::lang::source::Span;
use crate::lang::typed::{MapStorage, Statement};
use crate::lang::types::Type;
use crate::model::bytes;
use crate::model::d::{Format, Item};

/// Arguments of aggregations that are printed or changed: their map.
fn named_aggregation(c: &mut Checker<'_>, name: &str, item: &Ast, tags: (Code, Code)) -> Option<u32> {
    let Kind::Aggregation(aggregation) = &item.kind else {
        c.error(
            tags.0,
            item.span,
            format!("{name}( ) argument #1 is incompatible with prototype: an aggregation is expected"),
        );
        return None;
    };
    match c.variables.aggregates.get(aggregation) {
        Some(known) => Some(known.map.0),
        None => {
            c.error(tags.1, item.span, format!("undefined aggregation: {aggregation}"));
            None
        }
    }
}

pub fn change(c: &mut Checker<'_>, f: &Function, items: &[Ast], span: Span, out: &mut Vec<Statement>) {
    let codes = match f.name {
        "clear" => (tags::D_CLEAR_AGGARG, tags::D_CLEAR_AGGBAD),
        "trunc" => (tags::D_TRUNC_AGGARG, tags::D_TRUNC_AGGBAD),
        _ => (tags::D_NORMALIZE_AGGARG, tags::D_NORMALIZE_AGGBAD),
    };
    let Some(map) = named_aggregation(c, f.name, &items[0], codes) else { return };
    let mut number = None;
    if let Some(item) = items.get(1) {
        if let Kind::Aggregation(_) = item.kind {
            let message = format!(
                "{}( ) argument #2 is incompatible with prototype: an integer is expected, not an aggregation",
                f.name
            );
            c.error(tags::D_PROTO_ARG, item.span, message);
            return;
        }
        let value = c.expr(item);
        if value.is_error() {
            return;
        }
        if !is_int(value.ty()) {
            let text = c.type_text(value.ty());
            let message =
                format!("{}( ) argument #2 is incompatible with prototype: an integer is expected, not {text}", f.name);
            c.error(tags::D_PROTO_ARG, item.span, message);
            return;
        }
        let e = word(value.e);
        number = Some(recording::keep(c, e, out));
    }
    if f.name == "trunc" && number.is_some() {
        // Single keys can be taken out of a map of the kernel's own only.
        c.program.maps[map as usize].storage = MapStorage::PerCpuHash;
    }
    recording::records(c, span, false);
    c.frame.items.push(match (f.name, number) {
        ("clear", _) => Item::Clear(map),
        ("trunc", n) => Item::Trunc(map, n),
        ("normalize", Some(n)) => Item::Normalize(map, n),
        _ => Item::Denormalize(map),
    });
}

pub fn printa(c: &mut Checker<'_>, items: &[Ast], span: Span) {
    let (format, rest) = match &items[0].kind {
        Kind::Str(text) => match parsed(text) {
            Ok(format) => (Some(format), &items[1..]),
            Err((code, why)) => return c.error(code, span, format!("printa( ) {why}")),
        },
        _ => (None, items),
    };
    if format.is_none() && !matches!(items[0].kind, Kind::Aggregation(_)) {
        let message = "printa( ) argument is incompatible with prototype: an aggregation is expected";
        return c.error(tags::D_PRINTA_AGGARG, span, message);
    }
    if rest.is_empty() {
        let message = "printa( ) prototype mismatch: an aggregation is expected behind the format";
        return c.error(tags::D_PRINTA_PROTO, span, message);
    }
    let Some((maps, keys)) = printed(c, rest) else { return };
    // Of absent probes' aggregations alone nothing is printed, whatever the format asks for.
    let is_empty = maps.iter().all(|map| is_guessed(&c.variables, *map));
    if let Some(format) = &format
        && !is_empty
        && !format::fits_keys(c, format, &keys, span)
    {
        return;
    }
    recording::records(c, span, false);
    c.frame.items.push(Item::Printa { format: format.map(Arc::new), maps });
}

fn parsed(text: &[u8]) -> Result<Format, (Code, String)> {
    if text.is_empty() {
        return Err((tags::D_PRINTF_FMT_EMPTY, "format string is empty".to_owned()));
    }
    Format::parse(&bytes::hold(text, None)).map_err(|why| (tags::D_SYNTAX, why))
}

/// The maps of aggregations that are printed side by side, and the types of their keys, which are alike.
fn printed(c: &mut Checker<'_>, items: &[Ast]) -> Option<(Vec<u32>, Vec<Type>)> {
    let mut maps = Vec::new();
    let mut keys: Option<Vec<Type>> = None;
    for item in items {
        maps.push(named_aggregation(c, "printa", item, (tags::D_PRINTA_AGGARG, tags::D_PRINTA_AGGBAD))?);
        let Kind::Aggregation(name) = &item.kind else { return None };
        let known = &c.variables.aggregates[name];
        if known.guessed {
            continue;
        }
        let own = known.keys.clone();
        if let Some(first) = keys.as_ref().filter(|keys| !alike(keys, &own)) {
            let tag = if first.len() == own.len() { tags::D_PRINTA_AGGPROTO } else { tags::D_PRINTA_AGGKEY };
            let message = format!("printa( ) aggregation {name} has other keys than the first one");
            c.error(tag, item.span, message);
            return None;
        }
        keys.get_or_insert(own);
    }
    Some((maps, keys.unwrap_or_default()))
}

fn is_guessed(variables: &Variables, map: u32) -> bool {
    variables.aggregates.values().any(|known| known.map.0 == map && known.guessed)
}

/// Key types that print side by side.
fn alike(a: &[Type], b: &[Type]) -> bool {
    let same = |x: &Type, y: &Type| x == y || (is_int(x) && is_int(y)) || (is_text(x) && is_text(y));
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same(x, y))
}
