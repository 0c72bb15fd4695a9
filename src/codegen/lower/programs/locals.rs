//! Where the variables of a body live, and their first values.

use crate::codegen::ir::Operand;
use crate::lang::typed::{Block, Expr, ExprKind, LocalId, Statement, StatementKind};

use crate::codegen::lower::addr::memory;
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::loops::choice::is_callback;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::scopes::{Mentions, Scopes};
use crate::codegen::lower::variables::LocalHome;
use crate::codegen::lower::walk;

/// Predicates may hold block expressions with variables of their own.
pub fn initialise_for_predicate(l: &mut Lowerer<'_, '_>) {
    if let Some(predicate) = &l.probe.predicate {
        let mut mentioned = Vec::new();
        walk::each_in(predicate, &mut |_| (), &mut |e| {
            if let ExprKind::Local(id) = &e.kind {
                mentioned.push(*id);
            }
        });
        for id in mentioned {
            if l.variables.ty(id).fits_register() {
                l.variables.write(&mut l.function, id, 0.into());
            }
        }
    }
}

/// Gives every local its home.
pub fn place_locals<'a>(l: &mut Lowerer<'_, 'a>, body: &'a Block, predicate: Option<&'a Expr>) {
    let captured = captured(l.object, body, predicate);
    let addressed = walk::addressed(body, predicate);
    let mut homes = Vec::new();
    for id in l.variables.ids() {
        let ty = l.variables.ty(id);
        let size = l.object.size(ty);
        homes.push(if addressed.contains(&id) {
            // Pointers to the stack can't leave the program; working memory is kernel memory.
            LocalHome::Scratch(l.scratch_bytes(size))
        } else if captured.contains(&id) && size <= l.object.on_stack_limit {
            LocalHome::Frame(l.variables.reserve_in_frame(size))
        } else if ty.fits_register() {
            LocalHome::Reg(l.function.builder.new_vreg())
        } else if size <= l.object.on_stack_limit {
            LocalHome::Slot(l.function.builder.new_slot(size.next_multiple_of(8).max(8)))
        } else {
            LocalHome::Scratch(l.scratch_bytes(size))
        });
    }
    let on_stack = |id: LocalId| matches!(homes.get(id.0 as usize), Some(LocalHome::Slot(_) | LocalHome::Frame(_)));
    let scopes = if homes.is_empty() { Scopes::default() } else { Scopes::of(body, on_stack) };
    l.variables.place(homes, scopes);
}

/// Locals that loop callbacks of this body use.
fn captured<'a>(object: &ObjectBuilder<'a>, body: &'a Block, predicate: Option<&'a Expr>) -> Vec<LocalId> {
    let mut captured = Vec::new();
    let scale = object.scale();
    let mut visit = |before: &'a [Statement], s: &'a Statement| {
        if !is_callback(scale, before, s) {
            return;
        }
        if let StatementKind::ForMap { local, .. } | StatementKind::ForRange { local, .. } = &s.kind {
            captured.push(*local);
        }
        let (exprs, blocks) = walk::statement_parts(s);
        if let StatementKind::While(..) = &s.kind {
            captured.extend(exprs.into_iter().flat_map(walk::locals_in));
        }
        captured.extend(blocks.into_iter().flat_map(walk::locals_of));
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
