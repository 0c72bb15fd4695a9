//! Aggregations that the script only updates: each key has a numbered cell in the per-CPU data.
//!
//! A lookup in a hash map is a call of the kernel's that costs more than most of what else a probe does.
//! Here a BPF hash map knows the number of each key's cell, and each CPU remembers the numbers of the keys
//! that it saw last in a table of [`MEMO_SLOTS`] entries: finding a key there takes a multiplication, two
//! loads and a comparison for each of its words. Of a key that ends with a text, such as a file's name, words
//! are looked at up to the text's end; a CPU does not remember keys with texts that are longer than
//! [`crate::codegen::lower::layout::CellKey::memo_words`], the hash map is asked for these.
//!
//! `clear` begins a new epoch. It is part of the keys in the hash map and of the numbers' tags, so that what
//! a CPU remembers of an earlier one never fits; a program that is caught in between writes to a cell of the
//! epoch that it began in. Cells of even and odd epochs are different ones, and user space cleans those of
//! the last epoch when no program can be in it any more. See [`crate::codegen::artifact::CellsSpec`] for
//! what lies where.

use crate::codegen::artifact::ProgramKind;
use crate::codegen::builder::{FunctionBuilder, atomic, flow};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, BlockId, BpfMapId, Cond, Operand, Size, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, MapId};
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::layout::{Cells, MEMO_SLOTS, PER_CPU, SHARED};
use crate::codegen::lower::maps::{element, key};
use crate::codegen::lower::object::ObjectBuilder;
use crate::codegen::lower::{helpers as h, numbers};

/// Multiplier of the hash: the golden ratio in 64 bits.
const MIX: i64 = 0x9e37_79b9_7f4a_7c15_u64 as i64;

/// Bytes from the epoch to the counts of the halves.
const NEXT: i64 = 8;
/// Bytes from the epoch to the spare tag.
const SPARE: i16 = 24;

/// A key as it is compared.
#[derive(Clone, Copy)]
enum Key {
    /// One word, in a register or constant.
    Word(Operand),
    Memory(Addr),
}

/// What all steps of finding a cell need.
struct Search {
    cells: Cells,
    key: Key,
    /// The map's epoch, in the upper half.
    epoch: Vreg,
    /// This CPU's copy of the per-CPU data.
    base: Vreg,
    /// Where the cell's address goes.
    cell: Vreg,
    /// The hash map's key: the epoch, the key; behind it room for a tag.
    full_key: Addr,
    span: Span,
}

/// The address of a key's cell, which is made when the key is new; control goes to `full` when there is
/// no room, which is counted.
pub fn cell<'a>(
    l: &mut Lowerer<'_, 'a>,
    map: MapId,
    cells: Cells,
    key: Option<&'a Expr>,
    full: BlockId,
    span: Span,
) -> Result<Vreg, CodegenError> {
    let (key, full_key) = searched_key(l, map, cells, key, span)?;
    l.object.section(PER_CPU);
    let shared = l.object.section(SHARED);
    let words = l.function.builder.address(shared.at(cells.words));
    let epoch = l.function.builder.load(words, 0, Size::B8);
    let base = l.function.percpu();
    let search = Search { cells, key, epoch, base, cell: l.function.builder.new_vreg(), full_key, span };
    let ready = l.function.builder.new_block();
    // What user space runs between other programs' firings must not touch what these remember.
    let entry = if l.kind == ProgramKind::TestRun {
        None
    } else {
        let b = &mut l.function.builder;
        let slow = b.new_block();
        let entry = memo_entry(b, &search);
        recall(b, &search, entry, ready, slow);
        b.switch_to(slow);
        Some(entry)
    };
    look_up(l, &search, entry, full)?;
    l.function.builder.jump(ready);
    l.function.builder.switch_to(ready);
    Ok(search.cell)
}

/// The script's key, and where the BPF map's key goes. A key with a long text lies where it is needed for the
/// BPF map; others are copied there when that is asked.
fn searched_key<'a>(
    l: &mut Lowerer<'_, 'a>,
    map: MapId,
    cells: Cells,
    key: Option<&'a Expr>,
    span: Span,
) -> Result<(Key, Addr), CodegenError> {
    match key {
        Some(key) if cells.key.words == 1 && key.ty.fits_register() => {
            let word = key::word(l, map, key)?;
            Ok((Key::Word(word), full_key(l, cells)))
        }
        Some(key) if cells.key.text_at.is_some() => {
            let bytes = cells.key.words * 8;
            let full_key = l.temp_scratch(8 + bytes + 8);
            key::write(l, map, key, full_key.at(8), bytes)?;
            Ok((Key::Memory(full_key.at(8)), full_key))
        }
        key => {
            let at = key::in_memory(l, map, key, span)?;
            let at = memory::aligned(l, at, cells.key.words * 8);
            Ok((Key::Memory(at), full_key(l, cells)))
        }
    }
}

/// Memory for a key of the BPF map and a tag: on the stack where that is not scarce, for it is seldom
/// written. In an iterator's iterations the path on which nothing is written would count twice.
fn full_key(l: &mut Lowerer<'_, '_>, cells: Cells) -> Addr {
    let bytes = 8 + cells.key.words * 8 + 8;
    if l.roomy() { Addr::new(Base::Slot(l.function.temp_slot(bytes)), 0) } else { l.temp_scratch(bytes) }
}

/// Where this CPU would remember the key.
fn memo_entry(b: &mut FunctionBuilder, search: &Search) -> Vreg {
    let layout = search.cells.key;
    let mix = b.copy(MIX);
    let first = key_part(b, search.key, 0);
    let hash = b.mul(first, mix);
    let hash = b.copy(hash);
    let ended = b.new_block();
    let mut before = first;
    for word in 1..layout.memo_words {
        if layout.ends_in(word - 1) {
            let before = b.in_register(before);
            numbers::unless_ended(b, before, ended);
        }
        let part = key_part(b, search.key, word);
        b.alu_into(hash, Alu::Xor, Width::W64, hash, part);
        b.alu_into(hash, Alu::Mul, Width::W64, hash, mix);
        before = part;
    }
    b.jump(ended);
    b.switch_to(ended);
    let bytes = search.cells.entry_bytes();
    // The highest bits are the best mixed ones.
    let shift = 64 - MEMO_SLOTS.trailing_zeros() - bytes.trailing_zeros();
    let offset = b.shr(hash, i64::from(shift));
    let offset = b.and(offset, i64::from((MEMO_SLOTS - 1) * bytes));
    let table = b.add(search.base, i64::from(search.cells.memo));
    b.add(table, offset)
}

/// Goes on when all of the key is in the words that are remembered.
fn in_memo(b: &mut FunctionBuilder, search: &Search, otherwise: BlockId) {
    let layout = search.cells.key;
    if layout.memo_words == layout.words {
        return;
    }
    if let Key::Memory(at) = search.key {
        let last = memory::load(b, at.at(layout.memo_words * 8 - 1), 1, false);
        flow::require(b, Cond::Eq, last, 0, otherwise);
    }
}

fn key_part(b: &mut FunctionBuilder, key: Key, word: u32) -> Operand {
    match key {
        Key::Word(value) => value,
        Key::Memory(at) => memory::load(b, at.at(word * 8), 8, false).into(),
    }
}

/// Goes to `ready` with the cell's address when the CPU remembers the key, else to `slow`.
fn recall(b: &mut FunctionBuilder, search: &Search, entry: Vreg, ready: BlockId, slow: BlockId) {
    let tag = b.load(entry, 0, Size::B8);
    cell_of(b, search, tag, search.epoch, slow);
    in_memo(b, search, slow);
    let layout = search.cells.key;
    for word in 0..layout.memo_words {
        let known = b.load(entry, (8 + word * 8) as i16, Size::B8);
        let wanted = key_part(b, search.key, word);
        let wanted = b.in_register(wanted);
        flow::require(b, Cond::Eq, known, wanted, slow);
        if layout.ends_in(word) && word + 1 < layout.memo_words {
            numbers::unless_ended(b, known, ready);
        }
    }
    b.jump(ready);
}

/// The address of a tag's cell; goes to `otherwise` when the tag is none or of another epoch.
fn cell_of(b: &mut FunctionBuilder, search: &Search, tag: Vreg, epoch: Vreg, otherwise: BlockId) {
    let number = b.alu(Alu::Xor, tag, epoch);
    let number = b.sub(number, 1);
    flow::require(b, Cond::Lt, number, i64::from(search.cells.capacity) * 2, otherwise);
    let size = search.cells.value_size;
    let offset = if size.is_power_of_two() {
        b.shl(number, i64::from(size.trailing_zeros()))
    } else {
        b.mul(number, i64::from(size))
    };
    let first = b.add(search.base, i64::from(search.cells.first));
    let cell = b.add(first, offset);
    b.copy_into(search.cell, cell);
}

/// Asks the hash map, and puts a new key into it; what it finds goes to `entry`.
fn look_up(l: &mut Lowerer<'_, '_>, search: &Search, entry: Option<Vreg>, full: BlockId) -> Result<(), CodegenError> {
    let map = BpfMapId(search.cells.map);
    let b = &mut l.function.builder;
    let lost = b.new_block();
    memory::store(b, search.full_key, 8, search.epoch);
    // A key with a text is there already.
    let copied = if search.cells.key.text_at.is_some() { 0 } else { search.cells.key.words };
    for word in 0..copied {
        let part = key_part(b, search.key, word);
        let part = b.in_register(part);
        memory::store(b, search.full_key.at(8 + word * 8), 8, part);
    }
    let found = element::lookup(b, map, search.full_key);
    let found = b.copy(found);
    l.when(Cond::Eq, found.into(), 0.into(), |l| {
        insert(l.object, &mut l.function.builder, search, lost);
        let b = &mut l.function.builder;
        let inserted = element::lookup(b, map, search.full_key);
        b.copy_into(found, inserted);
        flow::require(b, Cond::Ne, found, 0, lost);
        Ok(())
    })?;
    let b = &mut l.function.builder;
    let tag = b.load(found, 0, Size::B8);
    // What was written before the calls is read again: registers that outlive them are few, and the path
    // on which the CPU remembers the key would pay for their want.
    let epoch = memory::load(b, search.full_key, 8, false);
    cell_of(b, search, tag, epoch, lost);
    if let Some(entry) = entry {
        let not_cached = b.new_block();
        in_memo(b, search, not_cached);
        for word in 0..search.cells.key.memo_words {
            let part = memory::load(b, search.full_key.at(8 + word * 8), 8, false);
            b.store(entry, (8 + word * 8) as i16, Size::B8, part);
        }
        b.store(entry, 0, Size::B8, tag);
        b.jump(not_cached);
        b.switch_to(not_cached);
    }
    let here = b.current();
    b.switch_to(lost);
    l.failed(LossCause::MapFull, Some((h::MAP_UPDATE_ELEM, h::E2BIG.into())), search.span);
    l.function.builder.jump(full);
    l.function.builder.switch_to(here);
    Ok(())
}

/// Puts the key into the hash map with the number of a cell that is free.
fn insert(object: &mut ObjectBuilder<'_>, b: &mut FunctionBuilder, search: &Search, lost: BlockId) {
    let capacity = i64::from(search.cells.capacity);
    let shared = object.section(SHARED);
    let words = b.address(shared.at(search.cells.words));
    let epoch = memory::load(b, search.full_key, 8, false);
    let tag = b.copy(0);
    let spare = b.load(words, SPARE, Size::B8);
    flow::when(b, Cond::Ne, spare, 0, |b| {
        let taken = atomic::exchange(b, words, SPARE, Size::B8, 0);
        // A tag of an earlier epoch is of no use.
        let number = b.alu(Alu::Xor, taken, epoch);
        flow::when(b, Cond::Le, number, capacity * 2, |b| {
            b.copy_into(tag, taken);
        });
    });
    flow::when(b, Cond::Eq, tag, 0, |b| {
        let half = b.shr(epoch, 32);
        let half = b.and(half, 1);
        let offset = b.shl(half, 3);
        let next = b.add(words, NEXT);
        let next = b.add(next, offset);
        let number = atomic::fetch_add(b, next, 0, Size::B8, 1);
        flow::require(b, Cond::Lt, number, capacity, lost);
        let first = b.mul(half, capacity);
        let number = b.add(number, first);
        let number = b.add(number, 1);
        let made = b.add(epoch, number);
        b.copy_into(tag, made);
    });
    let value = search.full_key.at(8 + search.cells.key.words * 8);
    memory::store(b, value, 8, tag);
    let handle = b.address(BpfMapId(search.cells.map));
    let (key, from) = (memory::pointer(b, search.full_key), memory::pointer(b, value));
    let args = [handle.into(), key.into(), from.into(), h::BPF_NOEXIST.into()];
    let refused = b.call(h::MAP_UPDATE_ELEM, &args);
    flow::when(b, Cond::Ne, refused, 0, |b| {
        // Another CPU was first: its number holds, this one is for the next key.
        let words = b.address(shared.at(search.cells.words));
        let tag = memory::load(b, value, 8, false);
        atomic::exchange(b, words, SPARE, Size::B8, tag);
    });
}
