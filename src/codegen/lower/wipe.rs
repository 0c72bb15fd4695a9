//! Stack memory that the statements of a loop leave behind.
//!
//! While rounds of a loop are open, the verifier takes a state for one that it has seen only if all of the stack
//! is like it, also what nothing reads any more (`stacksafe` with `RANGE_WITHIN`, kernel/bpf/verifier.c): each way
//! through an `if` that left something else on the stack is followed to the end of the loop, and they multiply.
//! So a statement in a loop clears what it used.

use std::collections::HashMap;

use crate::codegen::ir::{Size, Slot};
use crate::lang::typed::{Block, LocalId};

use super::func::{LocalHome, Lowerer};
use super::stmt::Mentions;
use super::walk;

/// The variables that nothing outside of a block mentions, by the block, with the innermost one for each.
pub type Confined = HashMap<*const Block, Vec<LocalId>>;

impl<'a> Lowerer<'_, 'a> {
    /// Whether the verifier walks through this code again for each round of a loop that it must find the end of.
    pub fn in_walked_loop(&self) -> bool {
        !self.iterators.is_empty() || self.callbacks > 0
    }

    /// Ends a statement: clears in a loop the temporary slots that it used, since there were `used` of them.
    pub fn wipe_slots(&mut self, used: usize) {
        let slots = self.f.take_used(used);
        if self.in_walked_loop() && !self.f.b.is_terminated() {
            self.clear_slots(&slots);
        }
    }

    /// Ends a block: clears in a loop the variables on the stack that only it has.
    pub fn wipe_locals(&mut self, block: &'a Block) {
        if !self.in_walked_loop() || self.f.b.is_terminated() {
            return;
        }
        let ids = self.confined.get(&std::ptr::from_ref(block)).cloned().unwrap_or_default();
        self.clear_locals(&ids);
    }

    /// Begins a loop: clears the variables on the stack that only it has, for a way that passes by a block has
    /// nothing there in the first round, and one through the block has zeros.
    pub fn clear_locals_of(&mut self, body: &'a Block) {
        let mut ids = self.confined.get(&std::ptr::from_ref(body)).cloned().unwrap_or_default();
        walk::each(
            body,
            &mut |s| {
                for block in walk::statement_parts(s).1 {
                    ids.extend(self.confined.get(&std::ptr::from_ref(block)).into_iter().flatten());
                }
            },
            &mut |_| (),
        );
        self.clear_locals(&ids);
    }

    fn clear_locals(&mut self, ids: &[LocalId]) {
        for id in ids {
            if let LocalHome::Slot(slot) = self.homes[id.0 as usize] {
                let size = self.size(&self.locals[id.0 as usize].ty).next_multiple_of(8);
                self.clear_slots(&[(slot, size)]);
            }
        }
    }

    /// Fills slots with zeros.
    pub fn clear_slots(&mut self, slots: &[(Slot, u32)]) {
        for (slot, size) in slots {
            for at in (0..*size).step_by(8) {
                self.f.b.slot_store(*slot, at as i32, Size::B8, 0);
            }
        }
    }

    /// Finds the block of each variable on the stack.
    pub fn find_confined(&mut self, body: &'a Block) {
        let on_stack = |id: LocalId| matches!(self.homes.get(id.0 as usize), Some(LocalHome::Slot(_)));
        let mut paths = HashMap::new();
        if (0..self.homes.len()).any(|id| on_stack(LocalId(id as u32))) {
            follow(body, &mut Vec::new(), &on_stack, &mut paths);
        }
        let mut mentions = Mentions::default();
        for (id, path) in paths {
            // What is read before it is assigned has its value from elsewhere: a parameter, an earlier round.
            if let Some(innermost) = path.last().filter(|block| mentions.assigned_first(block, id)) {
                self.confined.entry(std::ptr::from_ref(*innermost)).or_default().push(id);
            }
        }
        self.confined.values_mut().for_each(|ids| {
            ids.sort_unstable_by_key(|id| id.0);
            ids.dedup();
        });
    }
}

type Paths<'b> = HashMap<LocalId, Vec<&'b Block>>;

/// Cuts the path of each variable to what all blocks that mention it have in common.
fn follow<'b>(block: &'b Block, path: &mut Vec<&'b Block>, wanted: &dyn Fn(LocalId) -> bool, paths: &mut Paths<'b>) {
    path.push(block);
    for statement in &block.statements {
        walk::each_own_mention(statement, &mut |id| {
            if wanted(id) {
                let known = paths.entry(id).or_insert_with(|| path.clone());
                let common = known.iter().zip(path.iter()).take_while(|(a, b)| std::ptr::eq(**a, **b)).count();
                known.truncate(common);
            }
        });
        for inner in walk::statement_parts(statement).1 {
            follow(inner, path, wanted, paths);
        }
    }
    path.pop();
}
