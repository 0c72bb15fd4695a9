//! The kernel's numeric iterator (`bpf_iter_num_new`, `_next`, `_destroy`, kernel/bpf/bpf_iter.c), and
//! numbers that the verifier does not know: two ways to keep it from following a loop round by round.

use crate::codegen::ir::{BlockId, Cond, Operand, Slot, Vreg};

use super::addr::{Addr, Base};
use super::func::Lowerer;
use super::layout::SHARED;
use super::unit::NOTHING;

impl Lowerer<'_, '_> {
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
