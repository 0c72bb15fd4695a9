//! What the verifier must not know of the variables that a loop changes.
//!
//! It follows a loop until an iteration begins as one before did. A number that it knows, and that is counted up, is
//! another one in every iteration; so is one that an iteration found to be a constant by comparing it. An unknown number
//! is like any other, but not when one of them was made by adding a constant to another register and the other
//! was not: their iterations differ for ever ("bpf: Track delta between "linked" registers.", commit 98d7ca374ba4 of
//! 6.11; `regsafe`, kernel/bpf/verifier.c).

use std::collections::BTreeSet;

use crate::codegen::ir::{Operand, Vreg};
use crate::lang::typed::{BinaryOp, Block, Expr, ExprKind, LocalId, Statement, StatementKind, UnaryOp};
use crate::lang::types::Type;

use crate::codegen::lower::function::{LocalHome, Lowerer};
use crate::codegen::lower::loops::{LoopStrategy, while_strategy};
use crate::codegen::lower::verifier::cost::CostContext;
use crate::codegen::lower::verifier::scrub_stack::{Leaving, Part, leaves};
use crate::codegen::lower::walk;

impl<'a> Lowerer<'_, 'a> {
    /// Hides from the verifier what it knows of the variables that a loop changes. A counter that it
    /// follows from a known start has another value in every iteration, so that no iteration is like the one
    /// before and it never comes to an end.
    pub fn widen_changed(&mut self, body: &'a Block) {
        let changed = self.known_and_changed(body);
        self.widen_numbers(&changed);
    }

    /// The variables to forget at the begin of each iteration: those that the loop changes, where an iteration may find
    /// one of them to be a constant.
    pub fn widened_each_iteration(&self, condition: Option<&'a Expr>, body: &'a Block) -> Vec<LocalId> {
        let changed = self.known_and_changed(body);
        if meets_constants(&changed, condition, body) { changed } else { Vec::new() }
    }

    /// What to compare instead of a value, so that in a loop the verifier learns nothing from it. It explores a
    /// loop's body anew for every path that leaves a variable with other bounds, and they multiply with each
    /// further branch: while iterations are open, it takes a state for one it has seen only if all bounds are within
    /// those (`RANGE_WITHIN`, kernel/bpf/verifier.c), those of no consequence, too.
    pub fn operand_without_scalar_id(&mut self, e: &Expr, value: Operand) -> Operand {
        match value {
            Operand::Reg(v) if self.walks && lasts(e) => self.function.builder.copy_without_scalar_id(v).into(),
            _ => value,
        }
    }

    /// A number that several paths lead to, each with one that the verifier knows in its own way: with a loop it is
    /// the same unknown one on all of them.
    pub fn widen_joined(&mut self, value: Operand, ty: &Type) -> Operand {
        match value {
            Operand::Reg(v) if self.walks && is_number(ty) => {
                let zero = self.unknown_zero();
                self.function.builder.add(v, zero).into()
            }
            _ => value,
        }
    }

    /// The same for a variable in memory that `e` was written to.
    pub fn widen_joined_local(&mut self, id: LocalId, e: &Expr) {
        if self.walks && !is_plain(e) {
            self.widen_stack_words(id);
        }
    }

    /// The same for a variable that `find()` may have assigned.
    pub fn widen_if_found(&mut self, e: &Expr) {
        if let ExprKind::MapFind { local, .. } = &e.kind
            && self.walks
        {
            self.widen_locals(&[*local]);
        }
    }

    /// Where the paths through an `if` meet: makes unknown numbers of those that one of them changed.
    pub fn widen_at_join(&mut self, arms: [&'a Block; 2]) {
        if !self.walks || self.function.builder.is_terminated() {
            return;
        }
        let inside = blocks_in(arms);
        let ids: BTreeSet<LocalId> = arms.into_iter().flat_map(changed).collect();
        let lasting: Vec<LocalId> = ids.into_iter().filter(|id| self.outlasts(*id, &inside)).collect();
        self.widen_locals(&lasting);
    }

    /// Ends an iteration that the verifier follows by itself: the paths join there that `continue` took out of it.
    pub fn end_iteration(&mut self, body: &'a Block) {
        self.scrub_after_exits(body);
        self.widen_after_exits(body, Leaving::Round);
    }

    /// Ends a loop: the paths join there that `break` took out of one of its iterations.
    pub fn end_loop(&mut self, body: &'a Block) {
        self.scrub_after_exits(body);
        self.widen_after_exits(body, Leaving::Loop);
    }

    /// Makes unknown numbers of those that an iteration changes and that some paths left before they did.
    fn widen_after_exits(&mut self, body: &'a Block, what: Leaving) {
        if self.walks && leaves(body, what) {
            let inside = blocks_in([body]);
            let lasting: Vec<LocalId> = changed(body).into_iter().filter(|id| self.outlasts(*id, &inside)).collect();
            self.widen_locals(&lasting);
        }
    }

    fn widen_locals(&mut self, ids: &[LocalId]) {
        let (numbers, others): (Vec<LocalId>, Vec<LocalId>) =
            ids.iter().partition(|id| self.locals[id.0 as usize].ty.fits_register());
        let numbers: Vec<LocalId> = numbers.into_iter().filter(|id| self.is_number_somewhere(*id)).collect();
        self.widen_numbers(&numbers);
        others.into_iter().for_each(|id| self.widen_stack_words(id));
    }

    /// Makes unknown numbers of all words of a variable on the stack.
    fn widen_stack_words(&mut self, id: LocalId) {
        let ty = &self.locals[id.0 as usize].ty;
        let on_stack = matches!(self.homes[id.0 as usize], LocalHome::Slot(_) | LocalHome::Frame(_));
        let size = self.size(ty);
        if !on_stack || !holds_numbers(ty) {
            return;
        }
        let Some(place) = self.local_memory(id) else { return };
        let zero = self.unknown_zero();
        let mut at = 0;
        while at < size {
            let bytes = [8, 4, 2, 1].into_iter().find(|bytes| *bytes <= size - at).unwrap_or(1);
            let value = self.load(place.at(at), bytes, false);
            let sum = self.function.builder.add(value, zero);
            self.store(place.at(at), bytes, sum);
            at += bytes;
        }
    }

    /// A copy to bound or to change: in a program with loops one that the verifier does not link to the number
    /// itself, of which it would learn the bounds.
    pub fn copy_without_scalar_id(&mut self, number: impl Into<Operand>) -> Vreg {
        match number.into() {
            Operand::Reg(v) if self.walks => self.function.builder.copy_without_scalar_id(v),
            number => self.function.builder.copy(number),
        }
    }

    /// Ends a statement with paths past helpers: what a helper reads of the stack is bytes to the verifier from
    /// then on, also where it was a number before (`check_stack_range_initialized`), and in a loop it compares
    /// which of both (`stacksafe`, kernel/bpf/verifier.c).
    pub fn widen_helper_reads(&mut self, s: &'a Statement) {
        if !self.in_explored_loop() || self.function.builder.is_terminated() || !has_paths(s) {
            return;
        }
        let inside = blocks_in(walk::statement_parts(s).1);
        let mut ids = BTreeSet::new();
        walk::each_mention(s, &mut |id| {
            ids.insert(id);
        });
        let own = self.scoped_locals.get(&Part::Statement(std::ptr::from_ref(s))).cloned().unwrap_or_default();
        for id in ids.difference(&own) {
            let memory = !self.locals[id.0 as usize].ty.fits_register();
            if memory && self.outlasts(*id, &inside) {
                self.widen_stack_words(*id);
            }
        }
    }

    /// Whether a variable is mentioned outside of these blocks.
    fn outlasts(&self, id: LocalId, blocks: &[*const Block]) -> bool {
        self.declaring_block.get(&id).is_none_or(|block| !blocks.contains(block))
    }

    /// Makes numbers of them that the verifier does not know.
    pub fn widen_numbers(&mut self, variables: &[LocalId]) {
        if variables.is_empty() {
            return;
        }
        let zero = self.unknown_zero();
        for id in variables {
            let value = self.read_local(*id);
            let value = self.function.builder.in_register(value);
            let sum = self.function.builder.add(value, zero);
            self.write_local(*id, sum.into());
        }
    }

    /// The numbers that a block changes and that are variables before it.
    fn known_and_changed(&self, body: &'a Block) -> Vec<LocalId> {
        changed(body).into_iter().filter(|id| self.is_number_somewhere(*id)).collect()
    }

    /// Whether a variable is a number in a place whose value the verifier follows.
    fn is_number_somewhere(&self, id: LocalId) -> bool {
        let home = self.homes[id.0 as usize];
        !matches!(home, LocalHome::Scratch(_)) && is_number(&self.locals[id.0 as usize].ty)
    }
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
    let mut plain = true;
    walk::each_in(e, &mut |_| (), &mut |e| {
        plain &= matches!(
            e.kind,
            ExprKind::Int(_)
                | ExprKind::Str(_)
                | ExprKind::Local(_)
                | ExprKind::Builtin(_)
                | ExprKind::Tuple(_)
                | ExprKind::TupleField(..)
                | ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::BitAnd, ..)
        );
    });
    plain
}

/// Whether a value is that of a variable, or of what is kept in one, or tells the verifier of that.
fn lasts(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Local(_) | ExprKind::LocalStep { .. } => true,
        ExprKind::Cast(inner) | ExprKind::TupleField(inner, _) => lasts(inner),
        ExprKind::Binary(op, a, b) => {
            b.as_int().is_some_and(|n| linked_by(*op, n)) && lasts(a)
                || commutes(*op) && a.as_int().is_some_and(|n| linked_by(*op, n)) && lasts(b)
        }
        _ => false,
    }
}

const fn commutes(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor)
}

/// Whether what the verifier learns of a result it learns of the number, too: that is the same one and stays in
/// its register, as `x << 0`, or is a constant away (see above).
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
    let (mut found, mut branches) = (false, false);
    let chooses = |e: &Expr| matches!(e.kind, ExprKind::Conditional(..) | ExprKind::And(..) | ExprKind::Or(..));
    match &s.kind {
        StatementKind::If(..) => return true,
        StatementKind::While(..)
        | StatementKind::ForRange { .. }
        | StatementKind::ForMap { .. }
        | StatementKind::Unroll(..)
        | StatementKind::Block(_) => return false,
        _ => {}
    }
    for e in walk::statement_parts(s).0 {
        walk::each_in(e, &mut |s| branches |= matches!(s.kind, StatementKind::If(..)), &mut |e| found |= chooses(e));
    }
    found || branches
}

/// Blocks and all inside of them.
fn blocks_in<'b>(blocks: impl IntoIterator<Item = &'b Block>) -> Vec<*const Block> {
    let mut found = Vec::new();
    for block in blocks {
        found.push(std::ptr::from_ref(block));
        let inside =
            &mut |s: &'b Statement| found.extend(walk::statement_parts(s).1.into_iter().map(std::ptr::from_ref));
        walk::each(block, inside, &mut |_| ());
    }
    found
}

/// Whether the verifier follows iterations of a loop that a block has, or a function that it calls: those of unknown
/// number until it has seen all that one may begin with; known ones one by one, each from all that the one before
/// may have made of a number that matters; and before 6.5 a callback from all that its program may have made of any
/// number (`mark_all_scalars_precise`, kernel/bpf/verifier.c, until commit fde2a3882bd0). Nothing may be hidden,
/// though, where it has to find the end of a loop by itself.
pub fn walks(scale: CostContext<'_>, block: &Block) -> bool {
    let mut loops = Loops::default();
    loops.add(scale, block);
    loops.any && !loops.unforeseen
}

/// The loops of a block, and of the functions that it calls.
#[derive(Default)]
struct Loops {
    any: bool,
    /// The kernel has nothing for one, whose iterations only the verifier counts.
    unforeseen: bool,
}

impl Loops {
    fn add(&mut self, scale: CostContext<'_>, block: &Block) {
        walk::each_placed(block, &mut |before, s| match &s.kind {
            StatementKind::While(condition, body) => {
                self.any = true;
                self.unforeseen |= while_strategy(scale, before, condition, body) == LoopStrategy::None;
            }
            StatementKind::ForRange { .. } | StatementKind::ForMap { .. } | StatementKind::Unroll(..) => {
                self.any = true;
            }
            _ => {}
        });
        let Some(depth) = scale.depth.checked_sub(1) else { return };
        let mut called = Vec::new();
        walk::each_expr(block, &mut |e| {
            if let ExprKind::CallUser(id, _) = &e.kind {
                called.push(id.0);
            }
        });
        for function in called.into_iter().filter_map(|id| scale.program.functions.get(id as usize)) {
            self.add(CostContext { depth, ..scale }, &function.body);
        }
    }
}

/// The variables that a block changes.
fn changed(body: &Block) -> BTreeSet<LocalId> {
    let (mut steps, mut changed) = (BTreeSet::new(), BTreeSet::new());
    walk::each(
        body,
        &mut |s| {
            if let StatementKind::SetLocal(id, _) = &s.kind {
                changed.insert(*id);
            }
        },
        &mut |e| {
            if let ExprKind::LocalStep { local, .. } = &e.kind {
                steps.insert(*local);
            }
        },
    );
    changed.append(&mut steps);
    changed
}

/// Whether an iteration may leave a variable that it changes as a constant: it sets one to a constant, or goes by
/// whether one equals something.
fn meets_constants(changed: &[LocalId], condition: Option<&Expr>, body: &Block) -> bool {
    let of_changed = |e: &Expr| match &e.kind {
        ExprKind::Local(id) | ExprKind::LocalStep { local: id, .. } => changed.contains(id),
        _ => false,
    };
    let (mut set, mut met) = (false, false);
    let mut on_expr = |e: &Expr| {
        met |= match &e.kind {
            ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne, a, b) | ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                of_changed(a) || of_changed(b)
            }
            ExprKind::Unary(UnaryOp::Not, a) | ExprKind::Conditional(a, ..) => of_changed(a),
            _ => false,
        };
    };
    walk::each(
        body,
        &mut |s| match &s.kind {
            StatementKind::SetLocal(id, e) => set |= changed.contains(id) && (e.as_int().is_some() || chooses(e)),
            StatementKind::If(c, ..) | StatementKind::While(c, _) => set |= of_changed(c),
            _ => {}
        },
        &mut on_expr,
    );
    if let Some(c) = condition {
        walk::each_in(c, &mut |_| (), &mut on_expr);
    }
    set || met
}

/// Whether a value is one of several.
fn chooses(e: &Expr) -> bool {
    let mut found = false;
    walk::each_in(e, &mut |_| (), &mut |e| found |= matches!(e.kind, ExprKind::Conditional(..)));
    found
}
