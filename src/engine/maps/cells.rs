//! Maps whose values lie in numbered cells, see [`CellsSpec`].

use super::{RawEntry, read_all};
use crate::codegen::artifact::CellsSpec;
use crate::engine::error::EngineError;
use crate::engine::sys::bpf;
use crate::engine::sys::memory::Area;
use crate::engine::trace::Trace;

/// Bytes of the epoch before the script's key, and of a tag.
const WORD: usize = 8;

/// A map in cells, with its memory.
struct Cells<'a> {
    trace: &'a Trace,
    spec: &'a CellsSpec,
    values: &'a Area,
    words: &'a Area,
}

impl<'a> Cells<'a> {
    fn of(trace: &'a Trace, spec: &'a CellsSpec) -> Result<Self, EngineError> {
        let area = |name: &str| trace.area(name).ok_or_else(|| EngineError::Missing { what: format!("map {name}") });
        Ok(Self { trace, spec, values: area(&spec.area)?, words: area(&spec.words_area)? })
    }

    /// The epoch, in the upper half of the word.
    fn epoch(&self) -> u64 {
        self.words.read_u64(self.spec.words as usize)
    }

    /// Where the cells that were given out in an epoch's half are counted.
    fn next_at(&self, half: u64) -> usize {
        self.spec.words as usize + WORD * (1 + half as usize)
    }

    /// Byte offset of CPU 0's cell of a tag; `None` for a tag that fits no cell.
    fn cell(&self, tag: u64) -> Option<usize> {
        let number = (tag & u64::from(u32::MAX)).checked_sub(1)?;
        let inside = number < u64::from(self.spec.capacity) * 2;
        inside.then(|| self.spec.first as usize + number as usize * self.spec.value_size as usize)
    }

    /// Each CPU's value of a tag.
    fn values(&self, tag: u64) -> Option<Vec<Vec<u8>>> {
        let cell = self.cell(tag)?;
        let of_cpu = |cpu: usize| {
            let mut value = vec![0_u8; self.spec.value_size as usize];
            self.values.read(cell + cpu * self.spec.stride as usize, &mut value);
            value
        };
        Some((0..self.trace.cpus()).map(of_cpu).collect())
    }

    fn clear_values(&self, first: usize, bytes: usize) {
        for cpu in 0..self.trace.cpus() {
            self.values.clear(first + cpu * self.spec.stride as usize, bytes);
        }
    }

    /// Keys of all epochs, each as it lies in the BPF map, with its tag.
    fn all(&self) -> Result<Vec<(Vec<u8>, u64)>, EngineError> {
        let mut all = Vec::new();
        let key_size = WORD + self.spec.key_size as usize;
        self.trace.on_hash("read", &self.spec.map, |fd| {
            read_all(fd, key_size, WORD, self.spec.capacity as usize * 2, &mut |key, tag| {
                all.push((key.to_vec(), word(tag)));
            })
        })?;
        Ok(all)
    }

    /// Keys of an epoch.
    fn of_epoch(&self, epoch: u64) -> Result<Vec<(Vec<u8>, u64)>, EngineError> {
        let mut all = self.all()?;
        all.retain(|(key, _)| word(key) == epoch);
        Ok(all)
    }

    /// Each key of an epoch with its values.
    fn entries(&self, epoch: u64) -> Result<Vec<RawEntry>, EngineError> {
        let entry =
            |(key, tag): &(Vec<u8>, u64)| Some(RawEntry { key: key.get(WORD..)?.to_vec(), values: self.values(*tag)? });
        Ok(self.of_epoch(epoch)?.iter().filter_map(entry).collect())
    }

    /// Begins an epoch, and returns when nothing is added to the last one any more: its number; `None` when that had
    /// no keys and goes on.
    /// Its cells stay until [`Cells::clean_other_half`], which must follow.
    fn begin_epoch(&self) -> Result<Option<u64>, EngineError> {
        let epoch = self.epoch();
        if self.words.read_u64(self.next_at(epoch >> 32 & 1)) == 0 {
            return Ok(None);
        }
        // Clean but for what failed the last time.
        self.clean_other_half(epoch)?;
        self.words.write_u64(self.spec.words as usize, epoch.wrapping_add(1 << 32));
        bpf::wait_for_programs();
        Ok(Some(epoch))
    }

    /// Makes the half that the epoch after this one will use fit for it: keys of other epochs go, and their cells
    /// become zero. Programs that began in one of these must have ended.
    fn clean_other_half(&self, epoch: u64) -> Result<(), EngineError> {
        let other = (epoch >> 32 & 1) ^ 1;
        let used = self.words.read_u64(self.next_at(other)).min(u64::from(self.spec.capacity));
        if used == 0 {
            return Ok(());
        }
        for (key, _) in self.all()?.iter().filter(|(key, _)| word(key) != epoch) {
            self.trace.on_hash("clear", &self.spec.map, |fd| bpf::delete(fd, key))?;
        }
        let cell = self.spec.value_size as usize;
        let first = self.spec.first as usize + (other * u64::from(self.spec.capacity)) as usize * cell;
        self.clear_values(first, used as usize * cell);
        self.words.write_u64(self.next_at(other), 0);
        Ok(())
    }
}

impl Trace {
    pub(super) fn cell_entries(&self, spec: &CellsSpec) -> Result<Vec<RawEntry>, EngineError> {
        let cells = Cells::of(self, spec)?;
        cells.entries(cells.epoch())
    }

    /// Each CPU's value of one key.
    pub(super) fn cell_entry(&self, spec: &CellsSpec, key: &[u8]) -> Result<Option<Vec<Vec<u8>>>, EngineError> {
        let cells = Cells::of(self, spec)?;
        let mut full = cells.epoch().to_ne_bytes().to_vec();
        full.extend_from_slice(key);
        let mut tag = [0_u8; WORD];
        let found = self.on_hash("read", &spec.map, |fd| bpf::lookup(fd, &full, &mut tag))?;
        Ok(if found { cells.values(u64::from_ne_bytes(tag)) } else { None })
    }

    /// Ends an epoch: what programs add from now on belongs to the next. Returns what the last one had.
    pub(super) fn take_cells(&self, spec: &CellsSpec) -> Result<Vec<RawEntry>, EngineError> {
        let cells = Cells::of(self, spec)?;
        let Some(ended) = cells.begin_epoch()? else { return Ok(Vec::new()) };
        let entries = cells.entries(ended);
        cells.clean_other_half(cells.epoch())?;
        entries
    }

    /// Ends an epoch.
    pub(super) fn clear_cells(&self, spec: &CellsSpec) -> Result<(), EngineError> {
        let cells = Cells::of(self, spec)?;
        if cells.begin_epoch()?.is_some() {
            cells.clean_other_half(cells.epoch())?;
        }
        Ok(())
    }

    pub(super) fn zero_cells(&self, spec: &CellsSpec) -> Result<(), EngineError> {
        let cells = Cells::of(self, spec)?;
        for cell in cells.of_epoch(cells.epoch())?.iter().filter_map(|(_, tag)| cells.cell(*tag)) {
            cells.clear_values(cell, spec.value_size as usize);
        }
        Ok(())
    }
}

/// The first word.
fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word))
}
