//! Where the variables of a body live, and their first values.

use std::collections::HashMap;
use std::ops::Range;

use crate::codegen::ir::Operand;
use crate::lang::typed::walk::{self, Node};
use crate::lang::typed::{Block, Expr, ExprKind, LocalId, Statement, StatementKind};

use crate::codegen::lower::addr::memory;
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::loops::choice::is_callback;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::scopes::{Mentions, Scopes};
use crate::codegen::lower::variables::LocalHome;

/// Predicates may hold block expressions with variables of their own.
pub fn initialise_for_predicate(l: &mut Lowerer<'_, '_>) {
    if let Some(predicate) = &l.probe.predicate {
        for e in predicate.all_exprs() {
            if let ExprKind::Local(id) = e.kind
                && l.variables.ty(id).fits_register()
            {
                l.variables.write(&mut l.function, id, 0.into());
            }
        }
    }
}

/// Gives every local its home.
pub fn place_locals<'a>(l: &mut Lowerer<'_, 'a>, body: &'a Block, predicate: Option<&'a Expr>) {
    let captured = captured(l.object, body, predicate);
    let addressed =
        walk::addressed(body.nodes().chain(predicate.into_iter().flat_map(Expr::nodes))).collect::<Vec<_>>();
    let size_of = |l: &Lowerer<'_, 'a>, id: LocalId| l.object.size(l.variables.ty(id));
    let ids: Vec<LocalId> = l.variables.ids().collect();
    let limit = l.object.on_stack_limit;
    let fits = |l: &Lowerer<'_, 'a>, id: LocalId| !addressed.contains(&id) && size_of(l, id) <= limit;
    let in_frame: Vec<LocalId> = ids.iter().copied().filter(|id| captured.contains(id) && fits(l, *id)).collect();
    let on_stack: Vec<LocalId> =
        ids.iter().copied().filter(|id| fits(l, *id) && !l.variables.ty(*id).fits_register()).collect();
    let lies_there = |id: LocalId| in_frame.contains(&id) || on_stack.contains(&id);
    let scopes = if ids.is_empty() { Scopes::default() } else { Scopes::of(body, lies_there) };
    let places = share_frame(l, &in_frame, &scopes.extents(body));
    let mut homes = Vec::new();
    for id in ids {
        let size = size_of(l, id);
        homes.push(if addressed.contains(&id) {
            // Pointers to the stack can't leave the program; working memory is kernel memory.
            LocalHome::Scratch(l.scratch_bytes(size))
        } else if let Some(at) = places.get(&id) {
            LocalHome::Frame(*at)
        } else if l.variables.ty(id).fits_register() {
            LocalHome::Reg(l.function.builder.new_vreg())
        } else if size <= limit {
            LocalHome::Slot(l.function.builder.new_slot(size.next_multiple_of(8).max(8)))
        } else {
            LocalHome::Scratch(l.scratch_bytes(size))
        });
    }
    l.variables.place(homes, scopes);
}

/// Places in the frame that callbacks share with their program: variables that are never there at the same time have
/// the same one.
fn share_frame(
    l: &mut Lowerer<'_, '_>,
    ids: &[LocalId],
    extents: &HashMap<LocalId, Range<u32>>,
) -> HashMap<LocalId, u32> {
    let mut sorted: Vec<(Range<u32>, LocalId)> =
        ids.iter().map(|id| (extents.get(id).cloned().unwrap_or(0..u32::MAX), *id)).collect();
    sorted.sort_by_key(|(extent, id)| (extent.start, id.0));
    let mut places = HashMap::new();
    // The end of each, its bytes and its place.
    let mut taken: Vec<(u32, u32, u32)> = Vec::new();
    for (extent, id) in sorted {
        let bytes = l.object.size(l.variables.ty(id));
        let free = taken.iter_mut().find(|(end, size, _)| *end <= extent.start && *size == bytes);
        let at = if let Some(place) = free {
            place.0 = extent.end;
            place.2
        } else {
            let at = l.variables.reserve_in_frame(bytes);
            taken.push((extent.end, bytes, at));
            at
        };
        places.insert(id, at);
    }
    places
}

/// Locals that loop callbacks of this body use.
fn captured<'a>(object: &ObjectBuilder<'a>, body: &'a Block, predicate: Option<&'a Expr>) -> Vec<LocalId> {
    let mut captured = Vec::new();
    let context = object.cost_context();
    let mut visit = |before: &'a [Statement], s: &'a Statement| {
        if !is_callback(context, before, s) {
            return;
        }
        // The bounds of a range are computed before it.
        let (exprs, blocks) = s.parts();
        let condition = exprs.into_iter().filter(|_| matches!(s.kind, StatementKind::While(..)));
        captured.extend(s.assigned());
        captured.extend(condition.flat_map(Expr::nodes).filter_map(Node::local));
        captured.extend(blocks.into_iter().flat_map(Block::nodes).filter_map(Node::local));
    };
    walk::each_placed(body, &mut visit);
    if let Some(predicate) = predicate {
        walk::each_placed_in(predicate, &mut visit);
    }
    captured
}

/// Gives locals their homes' first value: zero where they may be read before they are set.
pub fn initialise_locals<'a>(l: &mut Lowerer<'_, 'a>, body: &'a Block, skip: u32) {
    let mut mentions = Mentions::default();
    for id in l.variables.ids().skip(skip as usize) {
        if mentions.assigned_first(body, id) {
            continue;
        }
        let ty = l.variables.ty(id);
        if ty.fits_register() {
            l.variables.write(&mut l.function, id, Operand::Imm(0));
        } else if let Some(addr) = l.variables.memory(&mut l.function, id) {
            let size = l.object.size(ty);
            memory::zero(&mut l.function.builder, addr, size);
        }
    }
}
