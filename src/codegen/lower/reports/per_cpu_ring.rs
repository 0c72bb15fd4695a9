//! Reports put into slots of shared memory: see [`PerCpuRingSpec`].
//!
//! `bpf_ringbuf_output` takes 50 to 60 ns, most of it for the lock that all CPUs share. Where every report of a
//! script is short, each CPU has a ring of slots of its own instead: a slot is reserved by an atomic addition,
//! which interrupts and preempting tasks may do at any moment, and filled by plain stores. A number that all CPUs
//! count together tells the reader in which order the reports were made.

use crate::codegen::artifact::{FIRST_SLOT, SLOT_ROUND_BITS, SLOTS_CONSUMED, slot_ring_bytes};
use crate::codegen::builder::{atomic, flow};
use crate::codegen::ir::{Alu, BlockId, BpfMap, BpfMapId, Cond, Size, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::ActionId;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers::{self as h, BPF_F_MMAPABLE, map_type};
use crate::codegen::lower::layout::ORDER;
use crate::codegen::lower::maps::element;
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::reports;
use crate::codegen::lower::reports::ring_plan::{SPARE_SLOTS, SlotMaps, Slots, WORD_BYTES};

impl ObjectBuilder<'_> {
    /// The maps of the slots, made at the first use.
    fn slot_maps(&mut self, slots: Slots) -> SlotMaps {
        if let Some(maps) = self.slot_maps {
            return maps;
        }
        let wake = self.ring();
        self.maps.push(BpfMap {
            name: "slots".into(),
            kind: map_type::ARRAY,
            key_size: 4,
            value_size: slot_ring_bytes(slots.bytes, slots.count),
            max_entries: self.facts.possible_cpus.max(1),
            flags: BPF_F_MMAPABLE,
        });
        *self.slot_maps.insert(SlotMaps { rings: BpfMapId(self.maps.len() as u32 - 1), wake })
    }
}

/// A slot that is reserved and not yet handed over.
pub struct Reserved {
    /// Where it begins.
    slot: Vreg,
    /// What its word becomes, the record's length left out.
    word: Vreg,
    /// Wakes the reader.
    wake: BpfMapId,
    /// Where a report goes that finds no slot.
    lost: BlockId,
}

impl Reserved {
    /// Where the record goes.
    pub const fn record(&self) -> Addr {
        Addr::new(Base::Reg(self.slot), WORD_BYTES as i32)
    }
}

/// Reserves the CPU's next slot. [`Self::commit_slot`] must follow, which counts the report that finds none.
pub fn reserve_slot(l: &mut Lowerer<'_, '_>, slots: Slots) -> Reserved {
    let lost = l.function.builder.new_block();
    let maps = l.object.slot_maps(slots);
    let cpu = l.function.cpu();
    let mark = l.mark();
    let key = l.temp(8);
    memory::store(&mut l.function.builder, key, 4, cpu);
    let ring = element::lookup(&mut l.function.builder, maps.rings, key);
    l.release(mark);
    let b = &mut l.function.builder;
    flow::require(b, Cond::Ne, ring, 0, lost);
    let produced = b.load(ring, 0, Size::B8);
    let consumed = b.load(ring, SLOTS_CONSUMED as i16, Size::B8);
    let waiting = b.sub(produced, consumed);
    let room = slots.count - SPARE_SLOTS.min(slots.count / 4);
    flow::require(b, Cond::Lt, waiting, i64::from(room), lost);
    let one = b.copy(1);
    let number = atomic::fetch_add(b, ring, 0, Size::B8, one);
    let order = l.object.section(ORDER);
    let b = &mut l.function.builder;
    let order = b.address(order.at(0));
    let one = b.copy(1);
    let order = atomic::fetch_add(b, order, 0, Size::B4, one);
    let next = b.add(number, 1);
    let iteration = b.and(next, (1 << SLOT_ROUND_BITS) - 1);
    let order = b.shl(order, 32);
    let word = b.alu(Alu::Or, iteration, order);
    let at = b.and(number, i64::from(slots.count - 1));
    let at = b.mul(at, i64::from(slots.bytes));
    let at = b.add(ring, at);
    Reserved { slot: b.add(at, i64::from(FIRST_SLOT)), word, wake: maps.wake, lost }
}

/// Hands over a slot whose record of so many bytes is written, and wakes the reader if it sleeps.
pub fn commit_slot(l: &mut Lowerer<'_, '_>, reserved: &Reserved, bytes: u32, action: Option<ActionId>, span: Span) {
    let b = &mut l.function.builder;
    let length = b.copy(i64::from(bytes << SLOT_ROUND_BITS));
    let word = b.alu(Alu::Or, reserved.word, length);
    memory::store(b, Addr::new(Base::Reg(reserved.slot), 0), 8, word);
    let asleep = reports::wake_wanted(l.object, &mut l.function.builder);
    let b = &mut l.function.builder;
    let [wake, done] = b.new_blocks();
    b.branch(Cond::Ne, asleep, 0, wake, done);
    b.switch_to(wake);
    wake_reader(l, reserved.wake);
    l.function.builder.jump(done);
    reports::count_lost_report(l, reserved.lost, action, span);
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
}

/// Wakes the reader by an empty report through the kernel's ring buffer.
fn wake_reader(l: &mut Lowerer<'_, '_>, wake: BpfMapId) {
    let mark = l.mark();
    let nothing = l.temp(8);
    let b = &mut l.function.builder;
    memory::store(b, nothing, 8, 0);
    let handle = b.address(wake);
    let from = memory::pointer(b, nothing);
    // One that finds no room has others before it, which wake the reader as well.
    l.function
        .builder
        .call_void(h::RINGBUF_OUTPUT, &[handle.into(), from.into(), 8.into(), h::BPF_RB_FORCE_WAKEUP.into()]);
    l.release(mark);
}
