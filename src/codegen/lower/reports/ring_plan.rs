//! Whether a script's reports go into slots of shared memory, and how many of them there are.

use crate::codegen::artifact::{FAILURE_RECORD_BYTES, RECORD_HEADER};
use crate::codegen::ir::BpfMapId;
use crate::kernel::target::{Sent, TargetFacts};
use crate::lang::typed::{ActionKind, Block, PrintfSink, Program, Statement, StatementKind, tuple_layout};

/// Longest record that goes into a slot, bytes; its length must fit into a byte.
const LONGEST_RECORD: u32 = RECORD_HEADER as u32 + 120;
/// Bytes of a slot's word.
pub const WORD_BYTES: u32 = 8;
/// Bytes of all rings when the script names no size, as far as the next two allow.
const DEFAULT_BYTES: u32 = 16 << 20;
/// Fewest and most bytes of a ring then.
const RING_BYTES: std::ops::RangeInclusive<u32> = 1 << 20..=8 << 20;
/// Fewest slots of a ring.
const FEWEST_SLOTS: u32 = 16;
/// Most slots of a ring.
const MOST_SLOTS: u32 = 1 << 21;
/// Slots that stay free for programs that interrupt each other between the look at the room and the reservation.
pub const SPARE_SLOTS: u32 = 64;

/// The slots of a script.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// Bytes of one, its word included.
    pub bytes: u32,
    /// How many a CPU has; a power of two.
    pub count: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct SlotMaps {
    pub rings: BpfMapId,
    /// Wakes the reader.
    pub wake: BpfMapId,
}

/// Slots for a script's reports, where they are short and can come often.
pub fn plan(program: &Program, facts: &TargetFacts) -> Option<Slots> {
    if !facts.atomics || !facts.ordered_stores || repeats_reports(program) {
        return None;
    }
    let failure = if facts.sent == Sent::Nothing { 0 } else { FAILURE_RECORD_BYTES as u32 };
    let mut longest = RECORD_HEADER as u32;
    let mut often = false;
    for action in &program.actions {
        match &action.kind {
            ActionKind::Printf { sink: PrintfSink::TracePipe, .. } => continue,
            ActionKind::Exit | ActionKind::Clear(_) | ActionKind::Zero(_) | ActionKind::PrintMap { .. } => {}
            _ => often = true,
        }
        let ((size, _), _) = tuple_layout(action.values.iter(), &program.structs);
        longest = longest.max(size.saturating_add(RECORD_HEADER as u32));
    }
    let longest = longest.max(failure).next_multiple_of(8);
    if !often || longest > LONGEST_RECORD {
        return None;
    }
    let bytes = longest + WORD_BYTES;
    let cpus = facts.possible_cpus.max(1);
    let ring = match program.config.ring_bytes {
        0 => (DEFAULT_BYTES / cpus).clamp(*RING_BYTES.start(), *RING_BYTES.end()),
        named => named / cpus,
    };
    let count = (ring / bytes).clamp(FEWEST_SLOTS, MOST_SLOTS);
    Some(Slots { bytes, count: 1 << count.ilog2() })
}

/// Whether a report is made in a loop, or in a function, which a loop may call: the verifier would follow the
/// branches of a reservation in every iteration.
fn repeats_reports(program: &Program) -> bool {
    let probes = program.probes.iter().any(|probe| looped(&probe.body));
    probes || program.functions.iter().any(|function| reports(&function.body))
}

fn reports(block: &Block) -> bool {
    block.all_statements().any(|s| matches!(s.kind, StatementKind::Report { .. }))
}

fn looped(block: &Block) -> bool {
    block.all_statements().filter_map(Statement::loop_body).any(reports)
}
