//! Maps that only help a script on its way.

use std::sync::Arc;

use crate::lang::bt::ast::{Expr, ExprKind, Item, Probe, Script, StatementKind};
use crate::lang::bt::visit::{self, Node};

/// Maps that the end probe clears and that nothing prints, by their names with `@`.
pub fn cleared_at_end(script: &Script) -> Vec<Arc<str>> {
    let mut cleared: Vec<Arc<str>> = Vec::new();
    let mut printed: Vec<Arc<str>> = Vec::new();
    for item in &script.items {
        if let Item::Probe(probe) = item {
            if is_end(probe) {
                cleared.extend(probe.body.statements.iter().filter_map(|statement| match &statement.kind {
                    StatementKind::Expr(e) => {
                        map_of_call(e, &["clear", "delete"]).filter(|(_, alone)| *alone).map(|(map, _)| map)
                    }
                    _ => None,
                }));
            }
            visit::item(item, &mut |node| printed_in(node, &mut printed));
        }
    }
    cleared.retain(|name| !printed.contains(name));
    cleared
}

fn is_end(probe: &Probe) -> bool {
    probe.points.iter().any(|point| point.text.eq_ignore_ascii_case("end"))
}

/// The map that a call of one of these functions begins with, and whether that is its only argument.
fn map_of_call(e: &Expr, functions: &[&str]) -> Option<(Arc<str>, bool)> {
    let ExprKind::Call(name, arguments) = &e.kind else { return None };
    match arguments.first().map(|argument| &argument.kind) {
        Some(ExprKind::Map(map, None)) if functions.contains(&&*name.text) => {
            Some((Arc::clone(map), arguments.len() == 1))
        }
        _ => None,
    }
}

fn printed_in(node: Node<'_>, printed: &mut Vec<Arc<str>>) {
    match node {
        Node::Expr(e) => {
            printed.extend(map_of_call(e, &["print"]).map(|(map, _)| map));
            visit::expr(e, &mut |node| printed_in(node, printed));
        }
        Node::Block(block) => {
            for statement in &block.statements {
                visit::statement(statement, &mut |node| printed_in(node, printed));
            }
        }
        Node::Type(_) | Node::Name(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::bt::parse;
    use crate::lang::source::SourceText;

    #[test]
    fn maps_that_are_printed_are_answers_although_they_are_cleared() {
        let text = "kprobe:f { @start[tid] = nsecs; @n = count(); @seen = 1; } \
                    END { print(@n); clear(@n); clear(@start); delete(@seen); delete(@part, 1); }";
        let script = parse(&SourceText::new("a.bt", text)).script;
        assert_eq!(cleared_at_end(&script), ["@start".into(), "@seen".into()]);
    }
}
