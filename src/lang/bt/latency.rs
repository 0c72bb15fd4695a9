//! `latency`: how long the call took that returns, exact under recursion and nesting.
//!
//! A probe at a return that asks for it gets one at the entry beside it, which keeps the time of each call that is
//! open: by the stack pointer in programs, where each call has a place of its own, and by depth in the kernel. What was
//! entered before the trace began is left out.

use super::ast::{Block, Expr, ExprKind, Item, Name, Probe, Script, Statement, StatementKind};
use super::parser::parse;
use super::visit::{self, NodeMut};
use crate::lang::source::{SourceText, Span};
use crate::probe::point::Provider;

/// Bytes that a return takes off the stack: the address behind the call.
const RETURN_ADDRESS: u32 = if cfg!(target_arch = "x86_64") { 8 } else { 0 };

/// What tells threads apart; idle ones by their processor.
pub const THREAD: &str = "(tid != 0 ? (uint64)tid : (uint64)cpu + 0x100000000)";

/// Adds what keeps the times of entries, and puts the difference in for `latency`.
pub fn rewrite(script: &mut Script) {
    let mut items = Vec::with_capacity(script.items.len());
    let mut maps = Vec::new();
    for item in std::mem::take(&mut script.items) {
        let Item::Probe(mut probe) = item else {
            items.push(item);
            continue;
        };
        let entries = if mentions(&mut probe) { entries(&probe) } else { None };
        if let Some((entries, of_programs)) = entries {
            let name = format!("@__latency{}", maps.len());
            let at = probe.points.first().map_or(probe.span, |point| point.span);
            let (entry, exit) = if of_programs { by_stack(&name) } else { by_depth(&name) };
            items.extend(written(&format!("{entries} {{ {entry} }}"), at).map(Item::Probe));
            every(&mut probe, &mut |e| {
                if is_latency(e) {
                    e.kind = ExprKind::Variable("$__latency".into());
                }
            });
            wrap(&mut probe, &exit, at);
            maps.push((name, of_programs));
        }
        items.push(Item::Probe(probe));
    }
    let of_call = |(map, of_programs): (String, bool)| {
        if of_programs { vec![map] } else { vec![format!("{map}_depth"), map] }
    };
    items.extend(clearing(&maps.into_iter().flat_map(of_call).collect::<Vec<_>>()).map(Item::Probe));
    script.items = items;
}

/// Clears maps at the end: they are no part of what the script prints then.
pub fn clearing(maps: &[String]) -> Option<Probe> {
    let clears: String = maps.iter().map(|map| format!("clear({map});")).collect();
    written(&format!("end {{ {clears} }}"), Span::default()).filter(|_| !maps.is_empty())
}

fn is_latency(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Ident(word) if &**word == "latency")
}

fn mentions(probe: &mut Probe) -> bool {
    let mut any = false;
    every(probe, &mut |e| any |= is_latency(e));
    any
}

fn every(probe: &mut Probe, f: &mut dyn FnMut(&mut Expr)) {
    if let Some(predicate) = &mut probe.predicate {
        within(predicate, f);
    }
    visit::block_mut(&mut probe.body, &mut |node| node_within(node, f));
}

fn within(e: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    f(e);
    visit::expr_mut(e, &mut |node| node_within(node, f));
}

fn node_within(node: NodeMut<'_>, f: &mut dyn FnMut(&mut Expr)) {
    match node {
        NodeMut::Expr(e) => within(e, f),
        NodeMut::Block(block) => visit::block_mut(block, &mut |node| node_within(node, f)),
        NodeMut::Type(ty) => visit::ty_mut(ty, &mut |node| node_within(node, f)),
        NodeMut::Name(_) => {}
    }
}

/// The entries that belong to a probe's returns, and whether they are of programs; `None` when it is not at returns, or
/// at both kinds.
fn entries(probe: &Probe) -> Option<(String, bool)> {
    let each: Option<Vec<(String, bool)>> = probe.points.iter().map(|point| entry(&point.text)).collect();
    let each = each?;
    let of_programs = each.first()?.1;
    let alike = each.iter().all(|(_, own)| *own == of_programs);
    alike.then(|| (each.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join(", "), of_programs))
}

fn entry(point: &str) -> Option<(String, bool)> {
    let (word, rest) = point.split_once(':')?;
    match Provider::find(word.trim())?.name {
        "uretprobe" => Some((format!("uprobe:{rest}"), true)),
        "kretprobe" => Some((format!("kprobe:{rest}"), false)),
        "fexit" => Some((format!("fentry:{rest}"), false)),
        "tracepoint" => {
            let call = rest.trim().strip_prefix("syscalls:sys_exit_")?;
            Some((format!("tracepoint:syscalls:sys_enter_{call}"), false))
        }
        _ => None,
    }
}

/// What an entry and a return do.
fn by_stack(map: &str) -> (String, [String; 2]) {
    let key = format!("(uint64)tid, reg(\"sp\") - {RETURN_ADDRESS}");
    let entry = format!("{map}[(uint64)tid, reg(\"sp\")] = nsecs;");
    let exit = format!("$__latency = nsecs - {map}[{key}]; delete({map}, ({key}));");
    (entry, [format!("has_key({map}, ({key}))"), exit])
}

fn by_depth(map: &str) -> (String, [String; 2]) {
    let entry = format!("{map}_depth[{THREAD}] += (uint64)1; {map}[{THREAD}, {map}_depth[{THREAD}]] = nsecs;");
    let exit = format!(
        "$__depth = {map}_depth[{THREAD}]; $__latency = nsecs - {map}[{THREAD}, $__depth]; \
         delete({map}, ({THREAD}, $__depth)); \
         if ($__depth > 1) {{ {map}_depth[{THREAD}] = $__depth - 1; }} else {{ delete({map}_depth, {THREAD}); }}"
    );
    (entry, [format!("has_key({map}_depth, {THREAD})"), exit])
}

/// Puts what a return does before the probe's own predicate and body.
pub fn wrap(probe: &mut Probe, [condition, exit]: &[String; 2], at: Span) {
    let Some(outer) = written(&format!("begin /{condition}/ {{ {exit} }}"), at) else { return };
    let own = std::mem::take(&mut probe.body);
    let span = own.span;
    let mut statements = outer.body.statements;
    let inner = match probe.predicate.take() {
        Some(predicate) => StatementKind::If(predicate, own, None),
        None => StatementKind::Block(own),
    };
    statements.push(Statement { kind: inner, span });
    probe.predicate = outer.predicate;
    probe.body = Block { statements, value: None, span };
}

/// A probe of our own, as if it stood at a place of the script.
pub fn written(text: &str, at: Span) -> Option<Probe> {
    let parsed = parse(&SourceText::new("", text));
    if !parsed.diagnostics.is_empty() {
        return None;
    }
    let Item::Probe(mut probe) = parsed.script.items.into_iter().next()? else { return None };
    probe.span = at;
    probe.body.span = at;
    for Name { span, .. } in &mut probe.points {
        *span = at;
    }
    for statement in &mut probe.body.statements {
        place(statement, at);
    }
    every(&mut probe, &mut |e| super::semantic::place_at(e, at));
    Some(probe)
}

fn place(statement: &mut Statement, at: Span) {
    statement.span = at;
    if let StatementKind::If(_, yes, no) = &mut statement.kind {
        for block in std::iter::once(yes).chain(no) {
            block.span = at;
            block.statements.iter_mut().for_each(|inner| place(inner, at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_can_be_read() {
        for (entry, exit) in [by_stack("@__latency0"), by_depth("@__latency0")] {
            assert!(written(&format!("uprobe:x:f {{ {entry} }}"), Span::default()).is_some(), "{entry}");
            let [condition, body] = exit;
            assert!(written(&format!("begin /{condition}/ {{ {body} }}"), Span::default()).is_some(), "{body}");
        }
    }

    #[test]
    fn entries_belong_to_returns() {
        assert_eq!(entry("ur:./a:f"), Some(("uprobe:./a:f".to_owned(), true)));
        assert_eq!(entry("kretprobe:vfs_*"), Some(("kprobe:vfs_*".to_owned(), false)));
        assert_eq!(
            entry("tracepoint:syscalls:sys_exit_read"),
            Some(("tracepoint:syscalls:sys_enter_read".to_owned(), false))
        );
        assert_eq!(entry("kprobe:vfs_read"), None);
    }
}
