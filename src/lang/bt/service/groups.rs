//! A script taken apart into clauses that work together: those that share a map, with the macros, functions, types and
//! map declarations that they name.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::lang::bt::ast::{Expr, ExprKind, Item, Probe, TypeDef};
use crate::lang::bt::parser::parse;
use crate::lang::bt::visit::{self, Node};
use crate::lang::front::ClauseGroup;
use crate::lang::source::{SourceText, Span};

/// The groups in the order of their first clauses; those that only run at the beginning or the end are none.
pub fn groups(source: &SourceText) -> Vec<ClauseGroup> {
    let script = parse(source).script;
    let clauses: Vec<&Probe> =
        script.items.iter().filter_map(|item| if let Item::Probe(probe) = item { Some(probe) } else { None }).collect();
    let maps: Vec<BTreeSet<Arc<str>>> =
        script.items.iter().filter(|item| matches!(item, Item::Probe(_))).map(maps_of).collect();
    let helpers: Vec<(Span, Arc<str>)> = script.items.iter().filter_map(helper).collect();
    let mut groups: Vec<(BTreeSet<Arc<str>>, Vec<usize>)> = Vec::new();
    for (index, maps) in maps.iter().enumerate() {
        // All groups that this clause shares a map with become one.
        let (shared, mut rest): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|(theirs, _)| !theirs.is_disjoint(maps));
        let mut all = maps.clone();
        let mut members = Vec::new();
        for (theirs, clauses) in shared {
            all.extend(theirs);
            members.extend(clauses);
        }
        members.push(index);
        rest.push((all, members));
        groups = rest;
    }
    groups.sort_by_key(|(_, members)| members.iter().copied().min());
    groups.iter().filter_map(|(_, members)| group(source, members.iter().map(|i| clauses[*i]), &helpers)).collect()
}

fn group<'a>(
    source: &SourceText,
    clauses: impl Iterator<Item = &'a Probe>,
    helpers: &[(Span, Arc<str>)],
) -> Option<ClauseGroup> {
    let mut clauses: Vec<&Probe> = clauses.collect();
    clauses.sort_by_key(|probe| probe.span.start);
    let mut probes: Vec<&str> = Vec::new();
    for point in clauses.iter().flat_map(|probe| &probe.points) {
        if !is_of_the_run(&point.text) && !probes.contains(&&*point.text) {
            probes.push(&point.text);
        }
    }
    if probes.is_empty() {
        return None;
    }
    let mut spans: Vec<Span> = clauses.iter().map(|probe| probe.span).collect();
    // What is named by a clause, or by something that a clause names.
    let mut grown = true;
    while std::mem::take(&mut grown) {
        for (span, name) in helpers {
            if !spans.contains(span) && spans.iter().any(|s| names(source.slice(*s), name)) {
                spans.push(*span);
                grown = true;
            }
        }
    }
    spans.sort_by_key(|span| span.start);
    let texts: Vec<String> = spans.iter().map(|span| with_comment(&source.text, *span)).collect();
    Some(ClauseGroup { probes: probes.join(", "), text: texts.join("\n\n") })
}

fn is_of_the_run(probe: &str) -> bool {
    ["begin", "end"].iter().any(|name| probe.eq_ignore_ascii_case(name))
}

fn helper(item: &Item) -> Option<(Span, Arc<str>)> {
    match item {
        Item::Macro(m) => Some((m.span, Arc::clone(&m.name.text))),
        Item::Function(f) => Some((f.span, Arc::clone(&f.name.text))),
        Item::MapDecl(d) => Some((d.span, Arc::clone(&d.name.text))),
        Item::TypeDef(TypeDef::Struct { name, span, .. } | TypeDef::Enum { name, span, .. }) => {
            Some((*span, Arc::clone(&name.text)))
        }
        Item::TypeDef(TypeDef::Alias { .. }) | Item::Probe(_) | Item::Config(..) | Item::Import(_) => None,
    }
}

fn maps_of(item: &Item) -> BTreeSet<Arc<str>> {
    let mut found = BTreeSet::new();
    visit::item(item, &mut |node| maps_in(node, &mut found));
    found
}

fn maps_in(node: Node<'_>, found: &mut BTreeSet<Arc<str>>) {
    match node {
        Node::Expr(e) => {
            found.extend(map_of(e));
            visit::expr(e, &mut |node| maps_in(node, found));
        }
        Node::Block(block) => visit::block(block, &mut |node| maps_in(node, found)),
        Node::Name(name) if name.text.starts_with('@') => {
            found.insert(Arc::clone(&name.text));
        }
        Node::Type(_) | Node::Name(_) => {}
    }
}

fn map_of(e: &Expr) -> Option<Arc<str>> {
    if let ExprKind::Map(name, _) = &e.kind { Some(Arc::clone(name)) } else { None }
}

/// Whether a text has the name as a word of its own.
fn names(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty()
        && text
            .match_indices(name)
            .any(|(at, _)| !text[..at].ends_with(part) && !text[at + name.len()..].starts_with(part))
}

/// The text of a span with the comment lines right above it, and the semicolon that ends a declaration.
fn with_comment(text: &str, span: Span) -> String {
    let start = span.start as usize;
    let mut from = text[..start].rfind('\n').map_or(0, |at| at + 1);
    while from > 0 {
        let above = text[..from - 1].rfind('\n').map_or(0, |at| at + 1);
        let line = text[above..from].trim();
        if !line.starts_with("//") || line.starts_with("//!") {
            break;
        }
        from = above;
    }
    let end = span.end as usize;
    text[from..end + usize::from(text[end..].starts_with(';'))].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(String, String)> {
        groups(&SourceText::new("a.bt", text)).into_iter().map(|g| (g.probes, g.text)).collect()
    }

    #[test]
    fn clauses_that_share_a_map_stay_together_with_what_they_name() {
        let text = "// a: script.\n\nmacro now() { nsecs }\nBEGIN { printf(\"x\\n\"); }\n\
                    // Entry.\nkprobe:f { @start[tid] = now(); }\nkprobe:g { @n = count(); }\n\
                    kretprobe:f /@start[tid]/ { @t = hist(now() - @start[tid]); }\nEND { clear(@start); }\n";
        let found = of(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].0, "kprobe:f, kretprobe:f");
        assert_eq!(
            found[0].1,
            "macro now() { nsecs }\n\n// Entry.\nkprobe:f { @start[tid] = now(); }\n\n\
             kretprobe:f /@start[tid]/ { @t = hist(now() - @start[tid]); }\n\nEND { clear(@start); }"
        );
        assert_eq!(found[1], ("kprobe:g".to_owned(), "kprobe:g { @n = count(); }".to_owned()));
    }
}
