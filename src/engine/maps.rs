//! Reading, clearing and zeroing the script's maps.

mod cells;
mod reduce;

use std::cmp::Ordering;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::decode::{Decoder, StackSource, u64_at};
use super::error::EngineError;
use super::sys::bpf;
use super::sys::memory::Area;
use super::trace::Trace;
use crate::codegen::artifact::Storage;
use crate::lang::typed::{Map, MapId, size_align};
use crate::lang::types::{Aggregation, Type};
use crate::model::snapshot::{MapKind, MapRow, MapSnapshot};
use crate::model::value::Value;
pub use reduce::reduce;

/// Entries read by one system call, at first.
const BATCH: usize = 4096;
/// Most entries read of one map: what the largest map that a script may declare holds.
const MOST_ENTRIES: usize = 1 << 24;

/// Most stacks that are kept after they were read once.
const MOST_KNOWN_STACKS: usize = 1 << 15;

/// One entry as it lies in the map: the key, and one value for each CPU (one value where shared).
struct RawEntry {
    key: Vec<u8>,
    values: Vec<Vec<u8>>,
}

impl StackSource for Trace {
    fn stack(&self, id: u64, frames: u32) -> Option<Vec<u64>> {
        let spec = self.artifact().stacks.as_ref()?;
        let most = if frames == 0 { spec.depth } else { frames.min(spec.depth) } as usize;
        let first = |all: &[u64]| all.iter().take(most).copied().collect();
        if let Some(known) = self.known_stacks().borrow().get(&id) {
            return Some(first(known));
        }
        let mut bytes = vec![0_u8; spec.depth as usize * 8];
        let found = self.with_map(&spec.map, |fd, _| bpf::lookup(fd, &id.to_ne_bytes(), &mut bytes))?;
        if !matches!(found, Ok(true)) {
            return None;
        }
        let all: Vec<u64> = bytes.chunks_exact(8).map(|c| u64_at(c, 0)).take_while(|a| *a != 0).collect();
        let result = first(&all);
        let mut known = self.known_stacks().borrow_mut();
        if known.len() >= MOST_KNOWN_STACKS {
            known.clear();
        }
        known.insert(id, all.into());
        Some(result)
    }
}

impl Trace {
    /// Reads all of the script's maps.
    pub fn read_maps(&self, decoder: &mut Decoder) -> Result<Vec<MapSnapshot>, EngineError> {
        (0..self.artifact().maps.len()).map(|i| self.read_map(self.artifact().maps[i].id, decoder)).collect()
    }

    /// Reads one map, its rows in the printers' order.
    pub fn read_map(&self, id: MapId, decoder: &mut Decoder) -> Result<MapSnapshot, EngineError> {
        let (map, storage) = self.find_map(id)?;
        let entries = self.entries(&map, &storage)?;
        Ok(self.snapshot(&map, entries, decoder))
    }

    /// Reads one map and removes every key: of values in cells nothing is lost in between, of others what comes
    /// between two system calls or instructions of this thread.
    pub fn take_map(&self, id: MapId, decoder: &mut Decoder) -> Result<MapSnapshot, EngineError> {
        let (map, storage) = self.find_map(id)?;
        let entries = if let Storage::Cells(spec) = &storage {
            self.take_cells(spec)?
        } else {
            let entries = self.entries(&map, &storage)?;
            self.remove(&map, &storage, &entries)?;
            entries
        };
        Ok(self.snapshot(&map, entries, decoder))
    }

    fn snapshot(&self, map: &Map, entries: Vec<RawEntry>, decoder: &mut Decoder) -> MapSnapshot {
        let keyed: Vec<(Vec<u8>, MapRow)> = entries
            .into_iter()
            .map(|e| {
                let value = self.reduced(map, &e.values, decoder);
                let row = MapRow { key: self.key(map, &e.key, decoder), value };
                (e.key, row)
            })
            .collect();
        arranged(map, keyed, super::monotonic_ns())
    }

    /// Reads one entry by the bytes of its key (as a report carries them): a snapshot with at most
    /// one row.
    pub fn read_entry(&self, id: MapId, key: &[u8], decoder: &mut Decoder) -> Result<MapSnapshot, EngineError> {
        let (map, storage) = self.find_map(id)?;
        let mut snapshot = MapSnapshot {
            name: Arc::clone(&map.name),
            kind: kind(&map.value),
            keyed: map.key != Type::Void,
            rows: Vec::new(),
            capacity: map.max_entries,
            at_ns: super::monotonic_ns(),
        };
        if let Storage::Cells(spec) = &storage {
            let wanted = whole_key(key, spec.key_size);
            if let Some(values) = self.cell_entry(spec, &wanted)? {
                let row = MapRow { key: self.key(&map, &wanted, decoder), value: self.reduced(&map, &values, decoder) };
                snapshot.rows.push(row);
            }
            return Ok(snapshot);
        }
        let Storage::Hash { map: name, per_cpu, key_size, value_size } = &storage else {
            let entries =
                self.entries(&map, &storage)?.into_iter().filter(|e| e.key.iter().eq(key.iter().take(e.key.len())));
            snapshot.rows = entries
                .map(|e| MapRow { key: self.key(&map, &e.key, decoder), value: self.reduced(&map, &e.values, decoder) })
                .collect();
            return Ok(snapshot);
        };
        let wanted = whole_key(key, *key_size);
        let mut value = vec![0_u8; self.visible_size(*per_cpu, *value_size)];
        let found = self.on_hash("read", name, |fd| bpf::lookup(fd, &wanted, &mut value))?;
        if found {
            let values = split(&value, *per_cpu, *value_size);
            let row = MapRow { key: self.key(&map, &wanted, decoder), value: self.reduced(&map, &values, decoder) };
            snapshot.rows.push(row);
        }
        Ok(snapshot)
    }

    /// Removes every key.
    pub fn clear_map(&self, id: MapId) -> Result<(), EngineError> {
        let (map, storage) = self.find_map(id)?;
        let keys = if matches!(storage, Storage::Hash { .. }) { self.entries(&map, &storage)? } else { Vec::new() };
        self.remove(&map, &storage, &keys)
    }

    /// Keeps the keys with the largest values (the smallest ones when `keep` is negative), so many.
    pub fn truncate_map(&self, id: MapId, keep: i64) -> Result<(), EngineError> {
        let (map, storage) = self.find_map(id)?;
        let Type::Agg(agg) = &map.value else { return Ok(()) };
        let mut entries = self.entries(&map, &storage)?;
        entries.sort_by_cached_key(|e| crate::model::render::d::weight(Some(&reduce(*agg, &e.values))));
        if keep > 0 {
            entries.reverse();
        }
        let kept = usize::try_from(keep.unsigned_abs()).unwrap_or(usize::MAX).min(entries.len());
        let removed = entries.split_off(kept);
        if removed.is_empty() { Ok(()) } else { self.remove(&map, &storage, &removed) }
    }

    /// Removes keys; all there are, where the map is none of the kernel's.
    fn remove(&self, map: &Map, storage: &Storage, keys: &[RawEntry]) -> Result<(), EngineError> {
        match storage {
            Storage::Hash { map: name, .. } => {
                for entry in keys {
                    self.on_hash("clear", name, |fd| bpf::delete(fd, &entry.key))?;
                }
            }
            Storage::Cells(spec) => self.clear_cells(spec)?,
            scalar => {
                self.each_scalar(scalar, |area, value, present| {
                    area.clear(present, 1);
                    area.clear(value, self.value_bytes(map));
                });
            }
        }
        Ok(())
    }

    /// Sets every value to zero and keeps the keys.
    pub fn zero_map(&self, id: MapId) -> Result<(), EngineError> {
        let (map, storage) = self.find_map(id)?;
        match &storage {
            Storage::Hash { map: name, per_cpu, value_size, .. } => {
                let zero = vec![0_u8; self.visible_size(*per_cpu, *value_size)];
                for entry in self.entries(&map, &storage)? {
                    self.on_hash("zero", name, |fd| bpf::update(fd, &entry.key, &zero))?;
                }
            }
            Storage::Cells(spec) => self.zero_cells(spec)?,
            scalar => self.each_scalar(scalar, |area, value, _| area.clear(value, self.value_bytes(&map))),
        }
        Ok(())
    }

    fn find_map(&self, id: MapId) -> Result<(Map, Storage), EngineError> {
        let missing = || EngineError::Missing { what: format!("map number {}", id.0) };
        let map = self.program().maps.get(id.0 as usize).ok_or_else(missing)?.clone();
        let spec = self.artifact().maps.iter().find(|m| m.id == id).ok_or_else(missing)?;
        Ok((map, spec.storage.clone()))
    }

    fn on_hash<T>(
        &self,
        operation: &'static str,
        name: &str,
        f: impl FnOnce(BorrowedFd<'_>) -> std::io::Result<T>,
    ) -> Result<T, EngineError> {
        self.with_map(name, |fd, _| f(fd))
            .ok_or_else(|| EngineError::Missing { what: format!("map {name}") })?
            .map_err(|source| EngineError::Map { operation, map: name.to_owned(), source })
    }

    fn value_bytes(&self, map: &Map) -> usize {
        size_align(&map.value, &self.program().structs).0 as usize
    }

    fn visible_size(&self, per_cpu: bool, value_size: u32) -> usize {
        let size = value_size as usize;
        if per_cpu { size.next_multiple_of(8) * self.cpus() } else { size }
    }

    /// Calls `f` with the area and offsets of every CPU's value (one when shared).
    fn each_scalar(&self, storage: &Storage, mut f: impl FnMut(&Area, usize, usize)) {
        let (area, offset, present, stride, cpus) = match storage {
            Storage::Global { area, offset, present } => (area, *offset, *present, 0, 1),
            Storage::GlobalPerCpu { area, offset, present, stride, .. } => {
                (area, *offset, *present, *stride as usize, self.cpus())
            }
            Storage::Hash { .. } | Storage::Cells(_) => return,
        };
        let Some(area) = self.area(area) else { return };
        for cpu in 0..cpus {
            f(area, offset as usize + cpu * stride, present as usize + cpu * stride);
        }
    }

    fn entries(&self, map: &Map, storage: &Storage) -> Result<Vec<RawEntry>, EngineError> {
        match storage {
            Storage::Hash { map: name, per_cpu, key_size, value_size } => {
                let (key, value) = (*key_size as usize, self.visible_size(*per_cpu, *value_size));
                let mut entries = Vec::new();
                self.on_hash("read", name, |fd| {
                    read_all(fd, key, value, map.max_entries as usize, &mut |k, v| {
                        entries.push(RawEntry { key: k.to_vec(), values: split(v, *per_cpu, *value_size) });
                    })
                })?;
                Ok(entries)
            }
            Storage::Cells(spec) => self.cell_entries(spec),
            scalar => {
                let size = self.value_bytes(map);
                let mut values = Vec::new();
                self.each_scalar(scalar, |area, value, present| {
                    let there = area.read_u8(present) != 0;
                    values.push(there.then(|| {
                        let mut bytes = vec![0_u8; size];
                        area.read(value, &mut bytes);
                        bytes
                    }));
                });
                if matches!(scalar, Storage::GlobalPerCpu { keyed: true, .. }) {
                    return Ok(self.elements_of_cpus(map, values));
                }
                if values.iter().all(Option::is_none) {
                    return Ok(Vec::new());
                }
                let values = values.into_iter().map(|v| v.unwrap_or_else(|| vec![0; size])).collect();
                Ok(vec![RawEntry { key: Vec::new(), values }])
            }
        }
    }

    /// Each CPU's value as an element of its own, under the CPU's number.
    fn elements_of_cpus(&self, map: &Map, values: Vec<Option<Vec<u8>>>) -> Vec<RawEntry> {
        let key_size = (size_align(&map.key, &self.program().structs).0 as usize).min(8);
        let key = |cpu: usize| (cpu as u64).to_le_bytes()[..key_size].to_vec();
        let there = values.into_iter().enumerate().filter_map(|(cpu, value)| Some((cpu, value?)));
        there.map(|(cpu, value)| RawEntry { key: key(cpu), values: vec![value] }).collect()
    }

    fn key(&self, map: &Map, bytes: &[u8], decoder: &mut Decoder) -> Vec<Value> {
        match &map.key {
            Type::Void => Vec::new(),
            ty => match (ty, decoder.value(ty, bytes, self)) {
                (Type::Tuple(_), Value::Tuple(parts)) => parts.to_vec(),
                (_, value) => vec![value],
            },
        }
    }

    fn reduced(&self, map: &Map, values: &[Vec<u8>], decoder: &mut Decoder) -> Value {
        match &map.value {
            Type::Agg(agg) => reduce(*agg, values),
            ty => values.first().map_or(Value::None, |v| decoder.value(ty, v, self)),
        }
    }
}

/// A key's bytes as the BPF map has them.
fn whole_key(key: &[u8], size: u32) -> Vec<u8> {
    let mut whole = key[..key.len().min(size as usize)].to_vec();
    whole.resize(size as usize, 0);
    whole
}

fn split(bytes: &[u8], per_cpu: bool, value_size: u32) -> Vec<Vec<u8>> {
    if per_cpu {
        bytes.chunks((value_size as usize).next_multiple_of(8).max(1)).map(<[u8]>::to_vec).collect()
    } else {
        vec![bytes.to_vec()]
    }
}

/// Reads all entries of a hash map: by batches, or key by key where the kernel has no batches.
fn read_all(
    fd: BorrowedFd<'_>,
    key_size: usize,
    value_size: usize,
    capacity: usize,
    take: &mut dyn FnMut(&[u8], &[u8]),
) -> std::io::Result<()> {
    let mut cursor = bpf::BatchCursor::new(key_size);
    let mut batch = bpf::Batch::default();
    let mut room = capacity.clamp(16, BATCH);
    let mut seen = 0_usize;
    loop {
        match bpf::lookup_batch(fd, &mut cursor, &mut batch, room, key_size, value_size) {
            Ok(end) => {
                for i in 0..batch.count {
                    take(&batch.keys[i * key_size..][..key_size], &batch.values[i * value_size..][..value_size]);
                }
                seen += batch.count;
                if end || seen > MOST_ENTRIES {
                    return Ok(());
                }
            }
            // One bucket holds more than there is room for.
            Err(e) if e.raw_os_error() == Some(libc::ENOSPC) && room < MOST_ENTRIES => room *= 2,
            Err(_) if seen == 0 => return read_singly(fd, key_size, value_size, take),
            Err(e) => return Err(e),
        }
    }
}

fn read_singly(
    fd: BorrowedFd<'_>,
    key_size: usize,
    value_size: usize,
    take: &mut dyn FnMut(&[u8], &[u8]),
) -> std::io::Result<()> {
    let mut value = vec![0_u8; value_size];
    let mut key = bpf::next_key(fd, None, key_size)?;
    let mut seen = 0;
    while let Some(k) = key {
        if bpf::lookup(fd, &k, &mut value)? {
            take(&k, &value);
        }
        seen += 1;
        if seen > MOST_ENTRIES {
            break;
        }
        key = bpf::next_key(fd, Some(&k), key_size)?;
    }
    Ok(())
}

/// What a map's values are shown as.
#[must_use]
pub fn kind(ty: &Type) -> MapKind {
    let Type::Agg(agg) = ty else { return MapKind::Value };
    match agg {
        Aggregation::Count => MapKind::Count,
        Aggregation::Sum { .. } => MapKind::Sum,
        Aggregation::Min { .. } => MapKind::Min,
        Aggregation::Max { .. } => MapKind::Max,
        Aggregation::Avg { .. } => MapKind::Avg,
        Aggregation::Stats { .. } => MapKind::Stats,
        Aggregation::Hist { .. } => MapKind::Hist,
        Aggregation::LHist { .. } | Aggregation::LogLinear(_) => MapKind::LHist,
        Aggregation::Quantize => MapKind::Hist,
        Aggregation::StdDev => MapKind::Value,
        Aggregation::TSeries { .. } => MapKind::TSeries,
    }
}

/// Rows, each with the bytes of its key, as a snapshot in the printers' order.
#[must_use]
pub fn arranged(map: &Map, mut keyed: Vec<(Vec<u8>, MapRow)>, at_ns: u64) -> MapSnapshot {
    let kind = kind(&map.value);
    // bpftrace has histograms and series in a table by the bytes of their keys before it sorts them by their sums.
    let by_bytes = matches!(kind, MapKind::Hist | MapKind::LHist | MapKind::TSeries);
    // Extremes it compares as unsigned: negative ones come last.
    let extremes = matches!(kind, MapKind::Min | MapKind::Max);
    let by_value = if extremes { order_by_unsigned } else { order_by_value };
    keyed.sort_by(|(a, x), (b, y)| {
        by_value(x, y).then_with(|| if by_bytes { a.cmp(b) } else { order_all(&x.key, &y.key) })
    });
    let mut rows: Vec<MapRow> = keyed.into_iter().map(|(_, row)| row).collect();
    if let Type::Agg(Aggregation::TSeries { buckets, .. }) = map.value {
        align(&mut rows, buckets as usize);
    }
    let (name, keyed) = (Arc::clone(&map.name), map.key != Type::Void);
    MapSnapshot { name, kind, keyed, rows, capacity: map.max_entries, at_ns }
}

/// All series of a map end with the latest interval of any of them, and have no more than the script
/// asked for.
fn align(rows: &mut [MapRow], most: usize) {
    let ends = rows.iter().filter_map(|row| match &row.value {
        Value::TSeries(series) => series.points.last().map(|(start, _)| *start),
        _ => None,
    });
    let Some(latest) = ends.max() else { return };
    for row in rows {
        let Value::TSeries(series) = &mut row.value else { continue };
        let Some((last, _)) = series.points.last().copied() else { continue };
        if last < latest {
            let series = Arc::make_mut(series);
            let step = series.interval_ns.max(1);
            let more = ((latest - last) / step).min(most as u64);
            let from = latest.saturating_sub(more.saturating_sub(1).saturating_mul(step));
            series.points.extend((0..more).map(|i| (from + i * step, None)));
            // One that began less than `most` intervals after the clock itself is shorter, and stays whole.
            series.points.drain(..series.points.len().saturating_sub(most));
        }
    }
}

/// Ascending by value where values are numbers.
fn order_by_value(a: &MapRow, b: &MapRow) -> Ordering {
    match (a.value.as_number(), b.value.as_number()) {
        (Some(x), Some(y)) => x.cmp(&y),
        _ => Ordering::Equal,
    }
}

/// Ascending by what a value is as an unsigned number of 64 bits.
fn order_by_unsigned(a: &MapRow, b: &MapRow) -> Ordering {
    let bits = |row: &MapRow| row.value.as_number().map(|n| n as u64);
    bits(a).cmp(&bits(b))
}

fn order_all(a: &[Value], b: &[Value]) -> Ordering {
    a.iter().zip(b).map(|(x, y)| order_value(x, y)).find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn order_value(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Str(x) | Value::Bytes(x), Value::Str(y) | Value::Bytes(y)) => x.cmp(y),
        (Value::Text(x, n), Value::Text(y, m)) => n.cmp(m).then_with(|| x.cmp(y)),
        (Value::Array(x) | Value::Tuple(x), Value::Array(y) | Value::Tuple(y)) => order_all(x, y),
        (Value::Stack(x), Value::Stack(y)) => {
            x.frames.iter().map(|f| f.address).cmp(y.frames.iter().map(|f| f.address))
        }
        _ => match (a.as_number(), b.as_number()) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => Ordering::Equal,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_ascend_by_value_then_key() {
        let row = |k: i64, v: i64| MapRow { key: vec![Value::Int(k, 8)], value: Value::Int(v, 8) };
        let mut rows = vec![row(2, 5), row(1, 5), row(9, -1)];
        rows.sort_by(|a, b| order_by_value(a, b).then_with(|| order_all(&a.key, &b.key)));
        assert_eq!(rows, [row(9, -1), row(1, 5), row(2, 5)]);
        rows.sort_by(order_by_unsigned);
        assert_eq!(rows, [row(1, 5), row(2, 5), row(9, -1)], "extremes");
    }
}
