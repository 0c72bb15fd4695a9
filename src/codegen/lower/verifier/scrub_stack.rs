//! Stack memory that the statements of a loop leave behind.
//!
//! While iterations of a loop are open, the verifier takes a state for one that it has seen only if all of the stack
//! is like it, also what nothing reads any more (`stacksafe` with `RANGE_WITHIN`, kernel/bpf/verifier.c): each way
//! through an `if` that left something else on the stack is followed to the end of the loop, and they multiply.
//! So a statement in a loop clears what it used.

use std::collections::{BTreeSet, HashMap};

use crate::codegen::ir::{Size, Slot};
use crate::lang::typed::{Block, LocalId, Statement, StatementKind};

use crate::codegen::lower::function::{LocalHome, Lowerer};
use crate::codegen::lower::stmt::Mentions;
use crate::codegen::lower::walk;

/// What may have variables of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// A block.
    Block(*const Block),
    /// A statement: those of blocks that stand for values.
    Statement(*const Statement),
}

/// The variables that nothing outside of a part mentions, by the part, with the innermost one for each.
pub type ScopedLocals = HashMap<Part, BTreeSet<LocalId>>;

/// The innermost block around all that mentions a variable.
pub type DeclaringBlock = HashMap<LocalId, *const Block>;

impl<'a> Lowerer<'_, 'a> {
    /// Whether the verifier explores through this code again for each iteration of a loop that it must find the end of.
    pub fn in_explored_loop(&self) -> bool {
        !self.iterators.is_empty() || self.callbacks > 0 && !self.object.facts.callback_verified_once()
    }

    /// Ends a statement: clears in a loop the temporary slots that it used, since there were `used` of them. What
    /// one used that leaves the block, the statement around it clears.
    pub fn scrub_temps(&mut self, used: usize) {
        if !self.in_explored_loop() {
            self.function.take_used(used);
        } else if !self.function.builder.is_terminated() {
            let slots = self.function.take_used(used);
            self.scrub_slots(&slots);
        }
    }

    /// Ends a block or a statement: clears in a loop the variables on the stack that only it has.
    pub fn scrub_locals(&mut self, part: Part) {
        if !self.in_explored_loop() || self.function.builder.is_terminated() {
            return;
        }
        let ids = self.scoped_locals.get(&part).cloned().unwrap_or_default();
        self.scrub_homes(ids);
    }

    /// Begins a loop: clears the variables on the stack that only it has, for a path that passes by a block has
    /// nothing there in the first iteration, and one through the block has zeros.
    pub fn scrub_locals_of(&mut self, body: &'a Block) {
        let ids = self.scoped_locals_in(body);
        self.scrub_homes(ids);
    }

    /// The variables that only this block has, or one inside of it.
    fn scoped_locals_in(&self, body: &'a Block) -> BTreeSet<LocalId> {
        let mut parts = vec![Part::Block(std::ptr::from_ref(body))];
        walk::each(
            body,
            &mut |s| {
                parts.push(Part::Statement(std::ptr::from_ref(s)));
                parts.extend(walk::statement_parts(s).1.into_iter().map(|b| Part::Block(std::ptr::from_ref(b))));
            },
            &mut |_| (),
        );
        parts.iter().filter_map(|part| self.scoped_locals.get(part)).flatten().copied().collect()
    }

    /// Where the paths join that `break` or `continue` takes out of an iteration: clears what they left of it, the
    /// variables of its blocks.
    pub fn scrub_after_exits(&mut self, body: &'a Block) {
        let leaves = leaves(body, Leaving::Round) || leaves(body, Leaving::Loop);
        if self.in_explored_loop() && leaves {
            self.scrub_locals_of(body);
        }
    }

    /// Behind a function that was lowered in place: clears in a loop what it had on the stack.
    pub fn scrub_function(&mut self) {
        if self.in_explored_loop() {
            self.scrub_homes((0..self.homes.len() as u32).map(LocalId));
        }
    }

    /// Behind a loop that counts in a variable of its own: in a loop around it the last number tells paths apart.
    pub fn scrub_counter(&mut self, local: LocalId) {
        if self.in_explored_loop() && !self.function.builder.is_terminated() {
            self.write_local(local, 0.into());
        }
    }

    fn scrub_homes(&mut self, ids: impl IntoIterator<Item = LocalId>) {
        for id in ids {
            let size = self.size(&self.locals[id.0 as usize].ty).next_multiple_of(8).max(8);
            match self.homes[id.0 as usize] {
                LocalHome::Slot(slot) => self.scrub_slots(&[(slot, size)]),
                LocalHome::Frame(at) => {
                    let place = self.frame(at);
                    self.zero(place, size);
                }
                LocalHome::Reg(_) | LocalHome::Scratch(_) => {}
            }
        }
    }

    /// Fills slots with zeros.
    pub fn scrub_slots(&mut self, slots: &[(Slot, u32)]) {
        for (slot, size) in slots {
            for at in (0..*size).step_by(8) {
                self.function.builder.slot_store(*slot, at as i32, Size::B8, 0);
            }
        }
    }

    /// Finds the innermost block of each variable, and those that only a block has.
    pub fn find_scoped_locals(&mut self, body: &'a Block) {
        let mut paths = HashMap::new();
        if !self.locals.is_empty() {
            follow(body, &mut Vec::new(), &mut paths);
        }
        let mut mentions = Mentions::default();
        for (id, path) in paths {
            let Some(declaring_block) = path.last() else { continue };
            self.declaring_block.insert(id, std::ptr::from_ref(*declaring_block));
            let on_stack = matches!(self.homes.get(id.0 as usize), Some(LocalHome::Slot(_) | LocalHome::Frame(_)));
            // What is read before it is assigned has its value from elsewhere: a parameter, an earlier iteration.
            if !on_stack || !mentions.assigned_first(declaring_block, id) {
                continue;
            }
            let part = match mentions.first(declaring_block, id) {
                Some((statement, true)) => Part::Statement(std::ptr::from_ref(statement)),
                _ => Part::Block(std::ptr::from_ref(*declaring_block)),
            };
            self.scoped_locals.entry(part).or_default().insert(id);
        }
    }
}

/// What a path leaves before the end of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// The iteration, by `continue`.
    Round,
    /// The loop, by `break`.
    Loop,
}

/// Whether a path leaves so much before the end of an iteration of the loop with this body.
pub fn leaves(body: &Block, what: Leaving) -> bool {
    body.statements.iter().any(|s| match &s.kind {
        StatementKind::Continue => what == Leaving::Round,
        StatementKind::Break => what == Leaving::Loop,
        // Theirs are their own.
        StatementKind::While(..)
        | StatementKind::ForRange { .. }
        | StatementKind::ForMap { .. }
        | StatementKind::Unroll(..) => false,
        _ => walk::statement_parts(s).1.into_iter().any(|block| leaves(block, what)),
    })
}

type Paths<'b> = HashMap<LocalId, Vec<&'b Block>>;

/// Cuts the path of each variable to what all blocks that mention it have in common.
fn follow<'b>(block: &'b Block, path: &mut Vec<&'b Block>, paths: &mut Paths<'b>) {
    path.push(block);
    for statement in &block.statements {
        walk::each_own_mention(statement, &mut |id| {
            let known = paths.entry(id).or_insert_with(|| path.clone());
            let common = known.iter().zip(path.iter()).take_while(|(a, b)| std::ptr::eq(**a, **b)).count();
            known.truncate(common);
        });
        for inner in walk::statement_parts(statement).1 {
            follow(inner, path, paths);
        }
    }
    path.pop();
}
