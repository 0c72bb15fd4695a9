//! `latency`: how long the call took that returns, exact under recursion and nesting.
//!
//! A probe at a return that asks for it gets one at the entry beside it, which keeps the time of each call that is
//! open: by the stack pointer in programs, where each call has a place of its own; in the kernel in the call's cookie
//! where one program runs at both ends (`kprobe.session`), else by thread, function and depth. What was entered before
//! the trace began is left out.

use super::ast::{Block, Expr, ExprKind, Item, Name, Probe, Script, Statement, StatementKind};
use super::parser::parse;
use super::visit::{self, NodeMut};
use crate::lang::source::{SourceText, Span};
use crate::probe::point::Provider;

/// Bytes that a return takes off the stack: the address behind the call.
pub const RETURN_ADDRESS: u64 = if cfg!(target_arch = "x86_64") { 8 } else { 0 };

/// What tells threads apart; idle ones by their processor.
pub const THREAD: &str = "(tid != 0 ? (uint64)tid : (uint64)cpu + 0x100000000)";

/// How the times of open calls are kept.
#[derive(Clone, Copy)]
enum Kept {
    /// By the stack pointer.
    ByStack,
    /// By thread, or by thread and function, and by depth where calls recurse.
    ByDepth {
        of_many: bool,
        /// The entry and the return may be one program.
        in_session: bool,
    },
}

/// Adds what keeps the times of entries, and puts the difference in for `latency`.
pub fn rewrite(script: &mut Script) {
    let mut items = Vec::with_capacity(script.items.len());
    let mut maps = Vec::new();
    let mut begins: Vec<(String, String, Span)> = Vec::new();
    let own: Vec<String> = script.items.iter().filter_map(points_of_item).collect();
    for item in std::mem::take(&mut script.items) {
        let Item::Probe(mut probe) = item else {
            items.push(item);
            continue;
        };
        let entries = if mentions(&mut probe) { entries(&probe) } else { None };
        if let Some((entries, kept)) = entries {
            let name = format!("@__latency{}", begins.len());
            let at = probe.points.first().map_or(probe.span, |point| point.span);
            let (entry, exit) = match kept {
                Kept::ByStack => by_stack(&name),
                Kept::ByDepth { of_many, in_session } => by_depth(&name, of_many, in_session),
            };
            if !own.contains(&entries) && begins.iter().all(|(begun, ..)| *begun != entries) {
                items.extend(written(&format!("{entries} {{ }}"), at).map(Item::Probe));
            }
            begins.push((entries, entry, at));
            every(&mut probe, &mut |e| {
                if is_latency(e) {
                    e.kind = ExprKind::Variable("$__latency".into());
                }
            });
            wrap(&mut probe, &exit, at);
            maps.extend(kept.maps(&name));
        }
        items.push(Item::Probe(probe));
    }
    for (entries, entry, at) in begins {
        let begun = items.iter_mut().find_map(|item| match item {
            Item::Probe(probe) if points(probe) == entries => Some(probe),
            _ => None,
        });
        if let (Some(probe), Some(first)) = (begun, written(&format!("begin {{ {entry} }}"), at)) {
            put_before(probe, first);
        }
    }
    items.extend(clearing(&maps).map(Item::Probe));
    script.items = items;
}

fn points(probe: &Probe) -> String {
    probe.points.iter().map(|point| &*point.text).collect::<Vec<_>>().join(", ")
}

fn points_of_item(item: &Item) -> Option<String> {
    if let Item::Probe(probe) = item { Some(points(probe)) } else { None }
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

/// The entries that belong to a probe's returns, and how their times are kept; `None` when it is not at returns, or at
/// several kinds.
fn entries(probe: &Probe) -> Option<(String, Kept)> {
    let each: Option<Vec<(String, &str)>> = probe.points.iter().map(|point| entry(&point.text)).collect();
    let each = each?;
    let kind = each.first()?.1;
    let of_programs = kind == "uprobe";
    let alike = each.iter().all(|(_, own)| (*own == "uprobe") == of_programs);
    let of_many = each.len() > 1 || each.iter().any(|(text, _)| text.contains('*'));
    let of_functions = each.iter().all(|(_, own)| *own != "tracepoint");
    let kept = if of_programs {
        Kept::ByStack
    } else {
        Kept::ByDepth { of_many: of_many && of_functions, in_session: each.iter().all(|(_, own)| *own == "kprobe") }
    };
    alike.then(|| (each.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join(", "), kept))
}

/// An entry's attach point and its provider.
fn entry(point: &str) -> Option<(String, &'static str)> {
    let (word, rest) = point.split_once(':')?;
    let entry = match Provider::find(word.trim())?.name {
        "uretprobe" => "uprobe",
        "kretprobe" => "kprobe",
        "fexit" => "fentry",
        "tracepoint" => {
            let call = rest.trim().strip_prefix("syscalls:sys_exit_")?;
            return Some((format!("tracepoint:syscalls:sys_enter_{call}"), "tracepoint"));
        }
        _ => return None,
    };
    Some((format!("{entry}:{rest}"), entry))
}

impl Kept {
    fn maps(self, map: &str) -> Vec<String> {
        match self {
            Self::ByStack => vec![map.to_owned()],
            Self::ByDepth { .. } => ["_depth", "_outer", ""].map(|part| format!("{map}{part}")).into(),
        }
    }
}

/// What an entry and a return do.
fn by_stack(map: &str) -> (String, [String; 2]) {
    let key = "(uint64)tid, reg(\"sp\") - __return_address";
    let entry = format!("{map}[(uint64)tid, reg(\"sp\")] = nsecs;");
    let exit = format!("$__latency = nsecs - {map}[{key}]; delete({map}, ({key}));");
    (entry, [format!("has_key({map}, ({key}))"), exit])
}

/// The map has the time of the innermost call; those of the calls around it are in another one, by depth.
fn by_depth(map: &str, of_many: bool, in_session: bool) -> (String, [String; 2]) {
    let key = if of_many { format!("{THREAD}, func") } else { THREAD.to_owned() };
    let entry = format!(
        "if (has_key({map}, ({key}))) {{ \
             {map}_depth[{key}] += (uint64)1; {map}_outer[{key}, {map}_depth[{key}]] = {map}[{key}]; \
         }} \
         {map}[{key}] = nsecs;"
    );
    let exit = format!(
        "$__latency = nsecs - {map}[{key}]; delete({map}, ({key})); \
         if (has_key({map}_depth, ({key}))) {{ \
             $__depth = {map}_depth[{key}]; {map}[{key}] = {map}_outer[{key}, $__depth]; \
             delete({map}_outer, ({key}, $__depth)); \
             if ($__depth > 1) {{ {map}_depth[{key}] = $__depth - 1; }} else {{ delete({map}_depth, ({key})); }} \
         }}"
    );
    let has_begun = format!("has_key({map}, ({key}))");
    if !in_session {
        return (entry, [has_begun, exit]);
    }
    (
        format!("if (__in_session) {{ __keep_in_session(nsecs); }} else {{ {entry} }}"),
        [
            format!("(__in_session && __session_cookie != 0) || (!__in_session && {has_begun})"),
            format!(
                "$__latency = (uint64)0; if (__in_session) {{ $__latency = nsecs - __session_cookie; }} else {{ {exit} }}"
            ),
        ],
    )
}

/// Puts what a return does before the probe's own predicate and body.
pub fn wrap(probe: &mut Probe, [condition, exit]: &[String; 2], at: Span) {
    if let Some(outer) = written(&format!("begin /{condition}/ {{ {exit} }}"), at) {
        put_before(probe, outer);
    }
}

/// Puts the predicate and the body of another probe before the probe's own.
fn put_before(probe: &mut Probe, outer: Probe) {
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
    place_probe(&mut probe, at);
    Some(probe)
}

/// Puts a probe of our own to a place of the script.
pub fn place_probe(probe: &mut Probe, at: Span) {
    probe.span = at;
    probe.body.span = at;
    for Name { span, .. } in &mut probe.points {
        *span = at;
    }
    for statement in &mut probe.body.statements {
        place(statement, at);
    }
    every(probe, &mut |e| super::semantic::place_at(e, at));
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
        let by_depth = |of_many, in_session| by_depth("@__latency0", of_many, in_session);
        for (entry, exit) in [by_stack("@__latency0"), by_depth(false, false), by_depth(true, true)] {
            assert!(written(&format!("uprobe:x:f {{ {entry} }}"), Span::default()).is_some(), "{entry}");
            let [condition, body] = exit;
            assert!(written(&format!("begin /{condition}/ {{ {body} }}"), Span::default()).is_some(), "{body}");
        }
    }

    #[test]
    fn returns_of_one_function_share_its_entry() {
        let text = "uretprobe:./a:f { @ = latency; } uretprobe:./a:f { @b = latency; }";
        let mut script = parse(&SourceText::new("", text)).script;
        rewrite(&mut script);
        // Both returns, one entry, and the end that clears.
        assert_eq!(script.items.len(), 4);
    }

    #[test]
    fn entries_belong_to_returns() {
        assert_eq!(entry("ur:./a:f"), Some(("uprobe:./a:f".to_owned(), "uprobe")));
        assert_eq!(entry("kretprobe:vfs_*"), Some(("kprobe:vfs_*".to_owned(), "kprobe")));
        assert_eq!(
            entry("tracepoint:syscalls:sys_exit_read"),
            Some(("tracepoint:syscalls:sys_enter_read".to_owned(), "tracepoint"))
        );
        assert_eq!(entry("kprobe:vfs_read"), None);
    }
}
