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
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, BlockId, BpfMapId, Cond, Operand, Size, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, MapId};
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::layout::{Cells, Home, MEMO_SLOTS, PER_CPU, SHARED};

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
    /// In memory.
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

impl<'a> Lowerer<'_, 'a> {
    /// The cells of a map that lives in some.
    pub fn cells(&self, map: MapId) -> Option<Cells> {
        match self.object.layout.homes[map.0 as usize] {
            Home::Cells(cells) => Some(cells),
            _ => None,
        }
    }

    /// The address of a key's cell, which is made when the key is new; control goes to `full` when there is
    /// no room, which is counted.
    pub fn cell(
        &mut self,
        map: MapId,
        cells: Cells,
        key: Option<&'a Expr>,
        full: BlockId,
        span: Span,
    ) -> Result<Vreg, CodegenError> {
        let (key, full_key) = self.searched_key(map, cells, key, span)?;
        self.object.section(PER_CPU);
        let shared = self.object.section(SHARED);
        let words = self.function.builder.global_addr(shared, cells.words);
        let epoch = self.function.builder.load(words, 0, Size::B8);
        let base = self.function.percpu();
        let search = Search { cells, key, epoch, base, cell: self.function.builder.new_vreg(), full_key, span };
        let ready = self.function.builder.new_block();
        // What user space runs between other programs' firings must not touch what these remember.
        let entry = if self.kind == ProgramKind::TestRun {
            None
        } else {
            let slow = self.function.builder.new_block();
            let entry = self.memo_entry(&search);
            self.recall(&search, entry, ready, slow);
            self.function.builder.switch_to(slow);
            Some(entry)
        };
        self.look_up(&search, entry, full)?;
        self.function.builder.jump(ready);
        self.function.builder.switch_to(ready);
        Ok(search.cell)
    }

    /// The script's key, and where the BPF map's key goes. A key with a long text lies where it is needed for the
    /// BPF map; others are copied there when that is asked.
    fn searched_key(
        &mut self,
        map: MapId,
        cells: Cells,
        key: Option<&'a Expr>,
        span: Span,
    ) -> Result<(Key, Addr), CodegenError> {
        match key {
            Some(key) if cells.key.words == 1 && key.ty.fits_register() => {
                let word = self.key_word(map, key)?;
                Ok((Key::Word(word), self.full_key(cells)))
            }
            Some(key) if cells.key.text_at.is_some() => {
                let bytes = cells.key.words * 8;
                let full_key = self.temp_scratch(8 + bytes + 8);
                self.key_into(map, key, full_key.at(8), bytes)?;
                Ok((Key::Memory(full_key.at(8)), full_key))
            }
            key => {
                let at = self.key(map, key, span)?;
                let at = self.aligned(at, cells.key.words * 8);
                Ok((Key::Memory(at), self.full_key(cells)))
            }
        }
    }

    /// Memory for a key of the BPF map and a tag: on the stack where that is not scarce, for it is seldom
    /// written. In an iterator's iterations the path on which nothing is written would count twice.
    fn full_key(&mut self, cells: Cells) -> Addr {
        let bytes = 8 + cells.key.words * 8 + 8;
        if self.roomy() { Addr::new(Base::Slot(self.function.temp_slot(bytes)), 0) } else { self.temp_scratch(bytes) }
    }

    /// Where this CPU would remember the key.
    fn memo_entry(&mut self, search: &Search) -> Vreg {
        let layout = search.cells.key;
        let mix = self.function.builder.imm(MIX);
        let first = self.key_part(search.key, 0);
        let hash = self.function.builder.mul(first, mix);
        let hash = self.function.builder.copy(hash);
        let ended = self.function.builder.new_block();
        let mut before = first;
        for word in 1..layout.memo_words {
            if layout.ends_in(word - 1) {
                let before = self.function.builder.in_register(before);
                self.unless_ended(before, ended);
            }
            let part = self.key_part(search.key, word);
            self.function.builder.alu_into(hash, Alu::Xor, Width::W64, hash, part);
            self.function.builder.alu_into(hash, Alu::Mul, Width::W64, hash, mix);
            before = part;
        }
        self.function.builder.jump(ended);
        self.function.builder.switch_to(ended);
        let bytes = search.cells.entry_bytes();
        // The highest bits are the best mixed ones.
        let shift = 64 - MEMO_SLOTS.trailing_zeros() - bytes.trailing_zeros();
        let offset = self.function.builder.shr(hash, i64::from(shift));
        let offset = self.function.builder.and(offset, i64::from((MEMO_SLOTS - 1) * bytes));
        let table = self.function.builder.add(search.base, i64::from(search.cells.memo));
        self.function.builder.add(table, offset)
    }

    /// Goes on when all of the key is in the words that are remembered.
    fn in_memo(&mut self, search: &Search, otherwise: BlockId) {
        let layout = search.cells.key;
        if layout.memo_words == layout.words {
            return;
        }
        if let Key::Memory(at) = search.key {
            let last = self.load(at.at(layout.memo_words * 8 - 1), 1, false);
            self.function.builder.require(Cond::Eq, last, 0, otherwise);
        }
    }

    fn key_part(&mut self, key: Key, word: u32) -> Operand {
        match key {
            Key::Word(value) => value,
            Key::Memory(at) => self.load(at.at(word * 8), 8, false).into(),
        }
    }

    /// Goes to `ready` with the cell's address when the CPU remembers the key, else to `slow`.
    fn recall(&mut self, search: &Search, entry: Vreg, ready: BlockId, slow: BlockId) {
        let tag = self.function.builder.load(entry, 0, Size::B8);
        self.cell_of(search, tag, search.epoch, slow);
        self.in_memo(search, slow);
        let layout = search.cells.key;
        for word in 0..layout.memo_words {
            let known = self.function.builder.load(entry, (8 + word * 8) as i16, Size::B8);
            let wanted = self.key_part(search.key, word);
            let wanted = self.function.builder.in_register(wanted);
            self.function.builder.require(Cond::Eq, known, wanted, slow);
            if layout.ends_in(word) && word + 1 < layout.memo_words {
                self.unless_ended(known, ready);
            }
        }
        self.function.builder.jump(ready);
    }

    /// The address of a tag's cell; goes to `otherwise` when the tag is none or of another epoch.
    fn cell_of(&mut self, search: &Search, tag: Vreg, epoch: Vreg, otherwise: BlockId) {
        let number = self.function.builder.alu(Alu::Xor, tag, epoch);
        let number = self.function.builder.sub(number, 1);
        self.function.builder.require(Cond::Lt, number, i64::from(search.cells.capacity) * 2, otherwise);
        let size = search.cells.value_size;
        let offset = if size.is_power_of_two() {
            self.function.builder.shl(number, i64::from(size.trailing_zeros()))
        } else {
            self.function.builder.mul(number, i64::from(size))
        };
        let first = self.function.builder.add(search.base, i64::from(search.cells.first));
        let cell = self.function.builder.add(first, offset);
        self.function.builder.copy_into(search.cell, cell);
    }

    /// Asks the hash map, and puts a new key into it; what it finds goes to `entry`.
    fn look_up(&mut self, search: &Search, entry: Option<Vreg>, full: BlockId) -> Result<(), CodegenError> {
        let map = BpfMapId(search.cells.map);
        let lost = self.function.builder.new_block();
        self.store(search.full_key, 8, search.epoch);
        // A key with a text is there already.
        let copied = if search.cells.key.text_at.is_some() { 0 } else { search.cells.key.words };
        for word in 0..copied {
            let part = self.key_part(search.key, word);
            let part = self.function.builder.in_register(part);
            self.store(search.full_key.at(8 + word * 8), 8, part);
        }
        let found = self.lookup(map, search.full_key);
        let found = self.function.builder.copy(found);
        self.when(Cond::Eq, found.into(), 0.into(), |l| {
            l.insert(search, lost)?;
            let inserted = l.lookup(map, search.full_key);
            l.function.builder.copy_into(found, inserted);
            l.function.builder.require(Cond::Ne, found, 0, lost);
            Ok(())
        })?;
        let tag = self.function.builder.load(found, 0, Size::B8);
        // What was written before the calls is read again: registers that outlive them are few, and the path
        // on which the CPU remembers the key would pay for their want.
        let epoch = self.load(search.full_key, 8, false);
        self.cell_of(search, tag, epoch, lost);
        if let Some(entry) = entry {
            let not_cached = self.function.builder.new_block();
            self.in_memo(search, not_cached);
            for word in 0..search.cells.key.memo_words {
                let part = self.load(search.full_key.at(8 + word * 8), 8, false);
                self.function.builder.store(entry, (8 + word * 8) as i16, Size::B8, part);
            }
            self.function.builder.store(entry, 0, Size::B8, tag);
            self.function.builder.jump(not_cached);
            self.function.builder.switch_to(not_cached);
        }
        let here = self.function.builder.current();
        self.function.builder.switch_to(lost);
        self.failed(LossCause::MapFull, Some((h::MAP_UPDATE_ELEM, h::E2BIG.into())), search.span);
        self.function.builder.jump(full);
        self.function.builder.switch_to(here);
        Ok(())
    }

    /// Puts the key into the hash map with the number of a cell that is free.
    fn insert(&mut self, search: &Search, lost: BlockId) -> Result<(), CodegenError> {
        let capacity = i64::from(search.cells.capacity);
        let shared = self.object.section(SHARED);
        let words = self.function.builder.global_addr(shared, search.cells.words);
        let epoch = self.load(search.full_key, 8, false);
        let tag = self.function.builder.imm(0);
        let spare = self.function.builder.load(words, SPARE, Size::B8);
        self.when(Cond::Ne, spare.into(), 0.into(), |l| {
            let taken = l.function.builder.atomic_xchg(words, SPARE, Size::B8, 0);
            // One of an earlier epoch is profitable nothing.
            let number = l.function.builder.alu(Alu::Xor, taken, epoch);
            l.when(Cond::Le, number.into(), (capacity * 2).into(), |l| {
                l.function.builder.copy_into(tag, taken);
                Ok(())
            })
        })?;
        self.when(Cond::Eq, tag.into(), 0.into(), |l| {
            let half = l.function.builder.shr(epoch, 32);
            let half = l.function.builder.and(half, 1);
            let offset = l.function.builder.shl(half, 3);
            let next = l.function.builder.add(words, NEXT);
            let next = l.function.builder.add(next, offset);
            let number = l.function.builder.atomic_fetch_add(next, 0, Size::B8, 1);
            l.function.builder.require(Cond::Lt, number, capacity, lost);
            let first = l.function.builder.mul(half, capacity);
            let number = l.function.builder.add(number, first);
            let number = l.function.builder.add(number, 1);
            let made = l.function.builder.add(epoch, number);
            l.function.builder.copy_into(tag, made);
            Ok(())
        })?;
        let value = search.full_key.at(8 + search.cells.key.words * 8);
        self.store(value, 8, tag);
        let handle = self.function.builder.map_addr(BpfMapId(search.cells.map));
        let (key, from) = (self.pointer(search.full_key), self.pointer(value));
        let args = [handle.into(), key.into(), from.into(), h::BPF_NOEXIST.into()];
        let refused = self.function.builder.call(h::MAP_UPDATE_ELEM, &args);
        self.when(Cond::Ne, refused.into(), 0.into(), |l| {
            // Another CPU was first: its number holds, this one is for the next key.
            let words = l.function.builder.global_addr(shared, search.cells.words);
            let tag = l.load(value, 8, false);
            l.function.builder.atomic_xchg(words, SPARE, Size::B8, tag);
            Ok(())
        })
    }
}
