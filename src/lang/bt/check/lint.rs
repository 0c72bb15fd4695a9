//! What is legal and probably not meant, and questions about syntax alone.

use std::collections::HashSet;
use std::sync::Arc;

use crate::lang::bt::ast;
use crate::lang::bt::builtins::argument_number;
use crate::lang::codes::check::{NEVER_ASSIGNED, NEVER_WRITTEN, UNUSED_MAP, UNUSED_VARIABLE};
use crate::lang::source::Span;
use crate::probe::providers::SINCE;

use crate::lang::bt::check::builtins::find;
use crate::lang::bt::check::checker::{Checker, FrameReport};
use crate::lang::bt::check::hoisting::{walk_block, walk_expr};
use crate::lang::bt::check::join::unknown;
use crate::lang::bt::check::place::space::is_args;
use crate::lang::bt::check::strict;

/// Ends the present body.
pub fn end_frame(c: &mut Checker<'_>) {
    let frame = std::mem::take(&mut c.frame);
    let mut report = FrameReport { unread: Vec::new(), read: Vec::new(), empty: Vec::new() };
    for local in frame.locals {
        if local.empty && (local.read || c.options.like_bpftrace) {
            report.empty.push((local.name.clone(), local.span));
        }
        if local.read {
            report.read.push(local.span);
        } else {
            report.unread.push((local.name, local.span));
        }
    }
    c.frames_done.push(report);
}

/// Warnings about the script as a whole.
pub fn lint(c: &mut Checker<'_>) {
    let mut reports = std::mem::take(&mut c.frames_done);
    for (name, span) in reports.iter().flat_map(|r| &r.empty) {
        c.warn(NEVER_ASSIGNED, *span, format!("Variable {name} was never assigned to."), None);
    }
    let read: HashSet<Span> = reports.iter_mut().flat_map(|r| r.read.drain(..)).collect();
    for (name, span) in reports.into_iter().flat_map(|r| r.unread) {
        // What a semantic probe gives may be left.
        let is_given = name.strip_prefix('$') == Some(SINCE);
        if !read.contains(&span) && !is_given && !name.starts_with("$_") && !name.starts_with('%') {
            c.warn(UNUSED_VARIABLE, span, format!("`{name}` is never read"), None);
        }
    }
    let mut notes = Vec::new();
    for map in c.maps.all() {
        match (map.used, map.written, map.declared) {
            (false, _, Some(span)) => {
                let span = strict::whole_statement(c, span);
                notes.push((UNUSED_MAP, span, format!("Unused map: {}", map.name), None));
            }
            (true, false, Some(_)) if !map.guessed && !unknown(&map.value) => {
                notes.push((NEVER_WRITTEN, map.span, format!("nothing ever writes `{}`", map.name), None));
            }
            (true, false, _) if map.guessed || map.asked => {
                let message = format!("nothing ever writes `{}`: it reads as 0", map.name);
                notes.push((NEVER_WRITTEN, map.span, message, Some(c.maps.written_map_help(&map.name))));
            }
            _ => {}
        }
    }
    for (code, span, message, help) in notes {
        c.warn(code, span, message, help);
    }
}

/// What a probe's body and predicate ask of the target.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent questions")]
pub struct ArgumentUses {
    /// `args.NAME`.
    pub names: Vec<Arc<str>>,
    /// `args` as a whole.
    pub all: bool,
    /// `arg0` and so on.
    pub numbered: bool,
    /// `retval`.
    pub result: bool,
    /// `ctx`.
    pub context: bool,
    /// `probetype`.
    pub kind: bool,
    pub probe: bool,
    /// `uaddr`.
    pub address: bool,
    /// Names that may be those of types of the probed binary.
    pub types: bool,
}

impl ArgumentUses {
    /// Looks through a probe.
    pub fn of(probe: &ast::Probe) -> Self {
        let mut uses = Self::default();
        // Each `args` is met once by itself and once below its field, if it has one.
        let (mut args, mut fields) = (0_usize, 0_usize);
        let mut look = |e: &ast::Expr| {
            let name = match &e.kind {
                ast::ExprKind::Field(base, name) if is_args(base) => {
                    uses.names.push(name.text.clone());
                    fields += 1;
                    return;
                }
                ast::ExprKind::Ident(name) => {
                    uses.types |= find(name).is_none();
                    name
                }
                ast::ExprKind::Call(name, _) => {
                    uses.types |= matches!(&*name.text, "sizeof" | "offsetof" | "container_of");
                    uses.address |= &*name.text == "uaddr";
                    &name.text
                }
                ast::ExprKind::Cast(..) | ast::ExprKind::Type(_) => {
                    uses.types = true;
                    return;
                }
                _ => return,
            };
            match &**name {
                "args" => args += 1,
                "retval" => uses.result = true,
                "ctx" => uses.context = true,
                "probetype" => uses.kind = true,
                "probe" => uses.probe = true,
                other => uses.numbered |= argument_number(other, "arg").is_some(),
            }
        };
        if let Some(e) = &probe.predicate {
            walk_expr(e, &mut look);
        }
        walk_block(&probe.body, &mut look);
        uses.all = args > fields;
        uses
    }
}
