//! What lowering tells the pass that writes code for the verifier ([`crate::codegen::verifier`]): where paths join and
//! iterations start, which variables are others there, and what storage has ended. It marks what the script says, and
//! does not ask whether this kernel needs anything for it.

use std::collections::BTreeSet;

use crate::codegen::builder::{FunctionBuilder, purpose};
use crate::codegen::ir::{Fact, Mark, Operand, Place, Point, Purpose, Slot, Storage, Vreg};
use crate::lang::typed::walk::Node;
use crate::lang::typed::{BinaryOp, Block, Expr, ExprKind, LocalId, ScopeId, Statement, StatementKind, UnaryOp};
use crate::lang::types::Type;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::layout::SHARED;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::place::scalar_shape;
use crate::codegen::lower::scopes::{Leaving, Part, blocks_in, leaves};
use crate::codegen::lower::variables::LocalHome;

impl Addr {
    /// So many bytes there.
    const fn storage(self, bytes: u32) -> Storage {
        let place = match self.base {
            Base::Reg(base) => Place::Memory(base, self.offset),
            Base::Slot(slot) => Place::Stack(slot, self.offset),
        };
        Storage { place, bytes }
    }
}

/// The value of an expression that several paths lead through.
pub fn joined(l: &mut Lowerer<'_, '_>, value: Operand, ty: &Type) -> Operand {
    match value {
        Operand::Reg(v) if is_number(ty) => {
            reserve_unknown_zero(l.object, l.has_explored_loop);
            purpose::copy_for(&mut l.function.builder, Purpose::Joined, v).into()
        }
        _ => value,
    }
}

/// What to compare instead of a value, when that is a variable's.
pub fn compared(b: &mut FunctionBuilder, e: &Expr, value: Operand) -> Operand {
    match value {
        Operand::Reg(v) if is_kept(e) => purpose::copy_for(b, Purpose::Compared, v).into(),
        _ => value,
    }
}

/// A number that is not to be known when the script is loaded.
pub fn hidden(object: &mut ObjectBuilder<'_>, b: &mut FunctionBuilder, value: impl Into<Operand>) -> Vreg {
    reserve_unknown_zero(object, true);
    purpose::copy_for(b, Purpose::Hidden, value)
}

/// Makes sure that there is the section with the zero that hides numbers.
fn reserve_unknown_zero(object: &mut ObjectBuilder<'_>, is_needed: bool) {
    if is_needed {
        object.section(SHARED);
    }
}

/// Ends a statement: its temporary slots, since there were `used` of them. What one used that leaves the block, the
/// statement around it ends.
pub fn end_temporaries(l: &mut Lowerer<'_, '_>, used: usize) {
    if !l.function.builder.is_terminated() {
        let slots = l.function.take_used(used);
        end_slots(l, Point::End, &slots);
    }
}

/// Ends a block or a statement: the variables on the stack that only it has.
pub fn end_scope(l: &mut Lowerer<'_, '_>, part: Part) {
    let ids = l.variables.scopes().ending(part);
    end_locals(l, Point::End, ids);
}

/// Begins a loop, an iteration, or what `break` or `continue` lead to: what an iteration has on the stack is not there.
pub fn end_locals_of<'a>(l: &mut Lowerer<'_, 'a>, point: Point, body: &'a Block) {
    let ids = l.variables.scopes().ending_in(body);
    end_locals(l, point, ids);
}

/// Where the paths join that `break` or `continue` takes out of an iteration: what they left of it, the variables of
/// its blocks.
pub fn end_left_locals<'a>(l: &mut Lowerer<'_, 'a>, point: Point, body: &'a Block) {
    if leaves(body, Leaving::Iteration) || leaves(body, Leaving::Loop) {
        end_locals_of(l, point, body);
    }
}

/// Behind a function that was lowered in place: what it had on the stack.
pub fn end_function(l: &mut Lowerer<'_, '_>) {
    end_locals(l, Point::Join, l.variables.ids());
}

/// Behind a loop that counts in a variable of its own.
pub fn end_counter(l: &mut Lowerer<'_, '_>, local: LocalId) {
    let (bytes, _) = scalar_shape(l.variables.ty(local));
    let storage = match l.variables.home(local) {
        LocalHome::Reg(vreg) => Storage { place: Place::Register(vreg), bytes: 8 },
        LocalHome::Frame(at) => l.variables.frame(&mut l.function, at).storage(8),
        LocalHome::Slot(slot) => Addr::new(Base::Slot(slot), 0).storage(bytes),
        LocalHome::Scratch(at) => Addr::new(Base::Reg(l.function.scratch()), at as i32).storage(bytes),
    };
    note(l, Point::End, Fact::Dead, vec![storage]);
}

/// Ends slots of so many bytes.
pub fn end_slots(l: &mut Lowerer<'_, '_>, point: Point, slots: &[(Slot, u32)]) {
    let storage = slots.iter().map(|(slot, bytes)| Addr::new(Base::Slot(*slot), 0).storage(*bytes)).collect();
    note(l, point, Fact::Dead, storage);
}

fn end_locals(l: &mut Lowerer<'_, '_>, point: Point, ids: impl IntoIterator<Item = LocalId>) {
    let mut storage = Vec::new();
    for id in ids {
        let bytes = l.object.size(l.variables.ty(id)).next_multiple_of(8).max(8);
        match l.variables.home(id) {
            LocalHome::Slot(slot) => storage.push(Addr::new(Base::Slot(slot), 0).storage(bytes)),
            LocalHome::Frame(at) if l.function.has_frame() => {
                storage.push(l.variables.frame(&mut l.function, at).storage(bytes));
            }
            LocalHome::Frame(_) | LocalHome::Reg(_) | LocalHome::Scratch(_) => {}
        }
    }
    note(l, point, Fact::Dead, storage);
}

/// Begins a loop: the numbers that it changes.
pub fn mark_changed<'a>(l: &mut Lowerer<'_, 'a>, body: &'a Block) {
    let changed = changed_numbers(l, body);
    mark_numbers(l, Point::LoopStart, &changed);
}

/// The numbers that a loop changes, where an iteration may find one of them to be a constant.
pub fn constants_by_iteration<'a>(l: &Lowerer<'_, 'a>, condition: Option<&'a Expr>, body: &'a Block) -> Vec<LocalId> {
    let changed = changed_numbers(l, body);
    if meets_constants(&changed, condition, body) { changed } else { Vec::new() }
}

/// A variable in memory that `e` was written to, when several paths lead through that.
pub fn join_local(l: &mut Lowerer<'_, '_>, id: LocalId, e: &Expr) {
    if !is_plain(e) {
        mark_words(l, Point::Join, id);
    }
}

/// A variable that `find()` may have assigned.
pub fn join_found(l: &mut Lowerer<'_, '_>, e: &Expr) {
    if let ExprKind::MapFind { local, .. } = &e.kind {
        mark_locals(l, &[*local]);
    }
}

/// Where the paths through an `if` join: what one of them changed.
pub fn join_arms<'a>(l: &mut Lowerer<'_, 'a>, arms: [&'a Block; 2]) {
    let inside = blocks_in(arms);
    let ids: BTreeSet<LocalId> = arms.into_iter().flat_map(changed).collect();
    let lasting: Vec<LocalId> = ids.into_iter().filter(|id| l.variables.scopes().outlasts(*id, &inside)).collect();
    mark_locals(l, &lasting);
}

/// Ends an iteration of a loop that is unrolled or followed: the paths join there that `continue` took out of it.
pub fn end_iteration<'a>(l: &mut Lowerer<'_, 'a>, body: &'a Block) {
    end_left_locals(l, Point::Join, body);
    join_exits(l, body, Leaving::Iteration);
}

/// Ends a loop: the paths join there that `break` took out of one of its iterations.
pub fn end_loop<'a>(l: &mut Lowerer<'_, 'a>, body: &'a Block) {
    end_left_locals(l, Point::Join, body);
    join_exits(l, body, Leaving::Loop);
}

/// What an iteration changes and some paths left before they did.
fn join_exits<'a>(l: &mut Lowerer<'_, 'a>, body: &'a Block, what: Leaving) {
    if leaves(body, what) {
        let inside = blocks_in([body]);
        let ids = changed(body).into_iter();
        let lasting: Vec<LocalId> = ids.filter(|id| l.variables.scopes().outlasts(*id, &inside)).collect();
        mark_locals(l, &lasting);
    }
}

/// Ends a statement with paths past helpers, which may have read variables of the stack on some of them.
pub fn mark_helper_reads<'a>(l: &mut Lowerer<'_, 'a>, block: ScopeId, at: usize, s: &'a Statement) {
    if !l.has_explored_loop || l.function.builder.is_terminated() || !has_paths(s) {
        return;
    }
    let inside = blocks_in(s.parts().1);
    let ids: BTreeSet<LocalId> = s.nodes().filter_map(Node::local).collect();
    let own = l.variables.scopes().ending(Part::Statement(block, at));
    for id in ids.difference(&own) {
        let memory = !l.variables.ty(*id).fits_register();
        if memory && l.variables.scopes().outlasts(*id, &inside) {
            mark_words(l, Point::End, *id);
        }
    }
}

/// Marks numbers that vary.
pub fn mark_numbers(l: &mut Lowerer<'_, '_>, point: Point, ids: &[LocalId]) {
    let mut storage = Vec::new();
    for id in ids {
        match l.variables.home(*id) {
            LocalHome::Reg(vreg) => storage.push(Storage { place: Place::Register(vreg), bytes: 8 }),
            LocalHome::Frame(at) => storage.push(l.variables.frame(&mut l.function, at).storage(8)),
            LocalHome::Slot(_) | LocalHome::Scratch(_) => {}
        }
    }
    note(l, point, Fact::Varies, storage);
}

/// Begins a loop whose body is a callback: the numbers in the frame that they share.
pub fn mark_frame(l: &mut Lowerer<'_, '_>) {
    let in_frame = |id: &LocalId| matches!(l.variables.home(*id), LocalHome::Frame(_));
    let numbers: Vec<LocalId> = l.variables.ids().filter(|id| in_frame(id) && is_number(l.variables.ty(*id))).collect();
    mark_numbers(l, Point::CallbackCall, &numbers);
}

fn mark_locals(l: &mut Lowerer<'_, '_>, ids: &[LocalId]) {
    let (numbers, others): (Vec<LocalId>, Vec<LocalId>) =
        ids.iter().partition(|id| l.variables.ty(**id).fits_register());
    let numbers: Vec<LocalId> = numbers.into_iter().filter(|id| is_followed_number(l, *id)).collect();
    mark_numbers(l, Point::Join, &numbers);
    others.into_iter().for_each(|id| mark_words(l, Point::Join, id));
}

/// Marks all words of a variable on the stack, when they are numbers.
fn mark_words(l: &mut Lowerer<'_, '_>, point: Point, id: LocalId) {
    let ty = l.variables.ty(id);
    let on_stack = matches!(l.variables.home(id), LocalHome::Slot(_) | LocalHome::Frame(_));
    let size = l.object.size(ty);
    if !on_stack || !holds_numbers(ty) {
        return;
    }
    let Some(place) = l.variables.memory(&mut l.function, id) else { return };
    note(l, point, Fact::Varies, vec![place.storage(size)]);
}

fn note(l: &mut Lowerer<'_, '_>, point: Point, fact: Fact, storage: Vec<Storage>) {
    if storage.is_empty() {
        return;
    }
    let varies = fact == Fact::Varies;
    reserve_unknown_zero(l.object, varies && (l.has_explored_loop || !matches!(point, Point::Join | Point::End)));
    purpose::mark(&mut l.function.builder, Mark { point, fact, storage });
}

/// The numbers that a block changes and that are variables before it.
fn changed_numbers<'a>(l: &Lowerer<'_, 'a>, body: &'a Block) -> Vec<LocalId> {
    changed(body).into_iter().filter(|id| is_followed_number(l, *id)).collect()
}

/// Whether a variable is a number in a place whose value the verifier follows.
fn is_followed_number(l: &Lowerer<'_, '_>, id: LocalId) -> bool {
    let home = l.variables.home(id);
    !matches!(home, LocalHome::Scratch(_)) && is_number(l.variables.ty(id))
}

/// Whether values of a type are numbers, to which zero may be added: no addresses.
const fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Int { .. } | Type::Bool | Type::Enum { .. })
}

/// Whether all of a value in memory is numbers.
fn holds_numbers(ty: &Type) -> bool {
    match ty {
        Type::Str { .. } => true,
        Type::Tuple(items) => items.iter().all(holds_numbers),
        Type::Record(items) => items.iter().all(|(_, item)| holds_numbers(item)),
        Type::Array { of, .. } => holds_numbers(of),
        other => is_number(other),
    }
}

/// Whether one path leads through the making of a value.
fn is_plain(e: &Expr) -> bool {
    e.all_exprs().all(|e| {
        matches!(
            e.kind,
            ExprKind::Int(_)
                | ExprKind::Str(_)
                | ExprKind::Local(_)
                | ExprKind::Builtin(_)
                | ExprKind::Tuple(_)
                | ExprKind::TupleField(..)
                | ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::BitAnd, ..)
        )
    })
}

/// Whether a value is that of a variable, or of what is kept in one, or tells the verifier of that.
fn is_kept(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Local(_) | ExprKind::LocalStep { .. } => true,
        ExprKind::Cast(inner) | ExprKind::TupleField(inner, _) => is_kept(inner),
        ExprKind::Binary(op, a, b) => {
            b.as_int().is_some_and(|n| linked_by(*op, n)) && is_kept(a)
                || commutes(*op) && a.as_int().is_some_and(|n| linked_by(*op, n)) && is_kept(b)
        }
        _ => false,
    }
}

const fn commutes(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor)
}

/// Whether what the verifier learns of a result it learns of the number, too: that is the same one and stays in
/// its register, as `x << 0`, or is a constant away (see `codegen::verifier::scalar_id`).
const fn linked_by(op: BinaryOp, constant: u64) -> bool {
    match op {
        BinaryOp::Add | BinaryOp::Sub => true,
        BinaryOp::Shl | BinaryOp::Shr | BinaryOp::BitOr | BinaryOp::BitXor => constant == 0,
        BinaryOp::Mul | BinaryOp::Div => constant == 1,
        BinaryOp::BitAnd => constant == u64::MAX,
        _ => false,
    }
}

/// Whether several paths lead through a statement that is no loop.
fn has_paths(s: &Statement) -> bool {
    let branches = |node| match node {
        Node::Statement(s) => matches!(s.kind, StatementKind::If(..)),
        Node::Expr(e) => matches!(e.kind, ExprKind::Conditional(..) | ExprKind::And(..) | ExprKind::Or(..)),
    };
    s.loop_body().is_none() && !matches!(s.kind, StatementKind::Block(_)) && s.nodes().any(branches)
}

/// The variables that a block changes.
fn changed(body: &Block) -> BTreeSet<LocalId> {
    let changed = body.nodes().filter_map(|node| match node {
        Node::Statement(Statement { kind: StatementKind::SetLocal(id, _), .. }) => Some(*id),
        Node::Expr(Expr { kind: ExprKind::LocalStep { local, .. }, .. }) => Some(*local),
        _ => None,
    });
    changed.collect()
}

/// Whether an iteration may leave a variable that it changes as a constant: it sets one to a constant, or goes by
/// whether one equals something.
fn meets_constants(changed: &[LocalId], condition: Option<&Expr>, body: &Block) -> bool {
    let of_changed = |e: &Expr| match &e.kind {
        ExprKind::Local(id) | ExprKind::LocalStep { local: id, .. } => changed.contains(id),
        _ => false,
    };
    let mut nodes = body.nodes().chain(condition.into_iter().flat_map(Expr::nodes));
    nodes.any(|node| match node {
        Node::Statement(s) => match &s.kind {
            StatementKind::SetLocal(id, e) => changed.contains(id) && (e.as_int().is_some() || chooses(e)),
            StatementKind::If(c, ..) | StatementKind::While(c, _) => of_changed(c),
            _ => false,
        },
        Node::Expr(e) => match &e.kind {
            ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne, a, b) | ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                of_changed(a) || of_changed(b)
            }
            ExprKind::Unary(UnaryOp::Not, a) | ExprKind::Conditional(a, ..) => of_changed(a),
            _ => false,
        },
    })
}

/// Whether a value is one of several.
fn chooses(e: &Expr) -> bool {
    e.all_exprs().any(|e| matches!(e.kind, ExprKind::Conditional(..)))
}
