//! The kernel's numeric iterator (`bpf_iter_num_new`, `_next`, `_destroy`, kernel/bpf/bpf_iter.c), callbacks
//! of `bpf_loop`, and numbers that the verifier does not know: ways to keep it from following a loop round
//! by round.

use crate::codegen::ir::{BlockId, Cond, Linkage, Operand, Slot, Vreg};
use crate::kernel::target::TargetFacts;

use super::addr::{Addr, Base};
use super::func::{FnState, Lowerer, Role};
use super::helpers as h;
use super::layout::SHARED;
use super::unit::NOTHING;

/// How loops of the compiler's own go round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walking {
    /// The numeric iterator (6.4).
    Iterator,
    /// A callback of `bpf_loop` (5.17).
    Callback,
    /// A counter, which the verifier follows to the end.
    Counting,
}

impl Walking {
    /// The way of a kernel.
    pub fn of(facts: &TargetFacts) -> Self {
        match (facts.abilities().iter_num, facts.abilities().bpf_loop) {
            (true, _) => Self::Iterator,
            (false, true) => Self::Callback,
            (false, false) => Self::Counting,
        }
    }
}

impl Lowerer<'_, '_> {
    /// Runs `body` so many times as a callback of `bpf_loop`, until it returns 1. It gets the round's number,
    /// which the verifier knows to be below `rounds`, the pointers as they are there, and the place of the
    /// result; ends each of its ways with a return. The result is `first` when no round writes it.
    pub fn rounds_of_callback(
        &mut self,
        rounds: u32,
        first: i64,
        pointers: &[Vreg],
        body: impl FnOnce(&mut Self, Vreg, &[Vreg], Addr),
    ) -> Vreg {
        let slot = self.f.temp_slot(8 + pointers.len() as u32 * 8);
        // The verifier takes what it knows of the result before the rounds for what it is after them.
        let unknown = self.unknown_zero();
        let first = self.f.b.add(unknown, first);
        let result = Addr::new(Base::Slot(slot), 0);
        self.store(result, 8, first);
        for (i, pointer) in pointers.iter().enumerate() {
            self.store(result.at(8 + i as u32 * 8), 8, *pointer);
        }
        let id = self.u.reserve_function();
        let (function, frame) = (self.f.b.func_addr(id), self.f.b.slot_addr(slot, 0));
        self.f.b.call_void(h::LOOP, &[i64::from(rounds).into(), function.into(), frame.into(), 0.into()]);
        let (index, frame, span) = (Vreg(0), Vreg(1), self.f.b.span());
        let state =
            FnState::new(id, &format!("walk_{}", id.0), Linkage::Subprogram, 2, Role::Callback(frame), self.f.region);
        let outer = std::mem::replace(&mut self.f, state);
        self.f.begin_body();
        self.f.b.set_span(span);
        let out = self.f.b.new_block();
        self.f.b.require(Cond::Lt, index, i64::from(rounds), out);
        let there = |i: u32| Addr::new(Base::Reg(frame), 8 + i as i32 * 8);
        let loaded: Vec<Vreg> = (0..pointers.len() as u32).map(|i| self.load(there(i), 8, false)).collect();
        body(self, index, &loaded, Addr::new(Base::Reg(frame), 0));
        self.f.b.switch_to(out);
        self.f.b.ret(1);
        let made = std::mem::replace(&mut self.f, outer);
        Lowerer::hand_over(self.u, made, self.probe_index, span);
        self.load(result, 8, false)
    }

    /// Begins the numbers from `first` up to, without, `end`.
    pub fn open_numbers(&mut self, first: Operand, end: Operand) -> Slot {
        // Not a temporary slot: the verifier tracks the iterator (`struct bpf_iter_num`, 8 bytes) in it
        // until it is destroyed.
        let slot = self.f.b.new_slot(8);
        let iterator = self.f.b.slot_addr(slot, 0);
        self.f.b.call_kfunc_void("bpf_iter_num_new", &[iterator.into(), first, end]);
        slot
    }

    /// Address of the next number, 4 bytes; 0 after the last.
    pub fn next_number(&mut self, slot: Slot) -> Vreg {
        let iterator = self.f.b.slot_addr(slot, 0);
        self.f.b.call_kfunc("bpf_iter_num_next", &[iterator.into()])
    }

    /// The next number, which the verifier knows to be below `bound`; jumps to `out` after the last.
    pub fn next_below(&mut self, slot: Slot, bound: u32, out: BlockId) -> Vreg {
        let number = self.next_number(slot);
        self.f.b.require(Cond::Ne, number, 0, out);
        let index = self.load(Addr::new(Base::Reg(number), 0), 4, false);
        // Never beyond, but the verifier does not know.
        self.f.b.require(Cond::Lt, index, i64::from(bound), out);
        index
    }

    /// Ends the numbers: on every way out of the loop, as the verifier demands.
    pub fn close_numbers(&mut self, slot: Slot) {
        let iterator = self.f.b.slot_addr(slot, 0);
        self.f.b.call_kfunc_void("bpf_iter_num_destroy", &[iterator.into()]);
    }

    /// Zero, which the verifier takes for any number.
    pub fn unknown_zero(&mut self) -> Vreg {
        let section = self.u.section(SHARED);
        let at = self.f.b.global_addr(section, NOTHING);
        self.load(Addr::new(Base::Reg(at), 0), 8, false)
    }
}
