//! Memory shared with BPF programs: global-data maps and the ring buffer, mapped.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::codegen::artifact::{FIRST_SLOT, PerCpuRingSpec, SLOT_ROUND_BITS, SLOTS_CONSUMED};

/// A mapping that is unmapped when dropped.
#[derive(Debug)]
struct Mapping {
    start: *mut u8,
    len: usize,
}

// SAFETY: the mapping is plain shared memory, only touched through atomics; it has no thread affinity.
unsafe impl Send for Mapping {}
// SAFETY: as above: every access is atomic or, in the ring, ordered by its positions.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(fd: BorrowedFd<'_>, len: usize, write: bool, offset: u64) -> io::Result<Self> {
        let protection = if write { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, fd, offset) }?;
        Ok(Self { start: start.cast(), len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length and not handed out.
        let _ = unsafe { munmap(self.start.cast(), self.len) };
    }
}

/// A global-data map (`.bss.*`) mapped into this process: reading it costs no system call.
#[derive(Debug)]
pub struct Area {
    mapping: Mapping,
    size: usize,
}

impl Area {
    /// Maps an array map's only value of `size` bytes.
    pub fn map(fd: BorrowedFd<'_>, size: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let mapping = Mapping::new(fd, size.max(1).next_multiple_of(page), true, 0)?;
        Ok(Self { mapping, size })
    }

    /// Copies bytes out, 8 at a time where aligned, so that an aligned `u64` is never torn. What
    /// lies outside reads as zero.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        let mut at = 0;
        while at < into.len() {
            let from = offset + at;
            if from.is_multiple_of(8) && into.len() - at >= 8 && from + 8 <= self.size {
                into[at..at + 8].copy_from_slice(&self.read_u64(from).to_ne_bytes());
                at += 8;
            } else {
                into[at] = self.read_u8(from);
                at += 1;
            }
        }
    }

    /// One byte; 0 outside.
    #[must_use]
    pub fn read_u8(&self, offset: usize) -> u8 {
        if offset >= self.size {
            return 0;
        }
        // SAFETY: inside the mapping; atomic because programs write it at the same time.
        unsafe { AtomicU8::from_ptr(self.mapping.start.add(offset)) }.load(Ordering::Relaxed)
    }

    /// An aligned `u64`; 0 outside or when not aligned.
    #[must_use]
    pub fn read_u64(&self, offset: usize) -> u64 {
        if offset + 8 > self.size || !offset.is_multiple_of(8) {
            return 0;
        }
        // SAFETY: inside the mapping and aligned (mappings start at a page).
        unsafe { AtomicU64::from_ptr(self.mapping.start.add(offset).cast()) }.load(Ordering::Relaxed)
    }

    /// Writes an aligned `u64`; nothing outside.
    pub fn write_u64(&self, offset: usize, value: u64) {
        if offset + 8 <= self.size && offset.is_multiple_of(8) {
            // SAFETY: inside the mapping and aligned.
            unsafe { AtomicU64::from_ptr(self.mapping.start.add(offset).cast()) }.store(value, Ordering::Relaxed);
        }
    }

    /// Zeroes a range; what lies outside is ignored.
    pub fn clear(&self, offset: usize, len: usize) {
        for at in offset..(offset.saturating_add(len)).min(self.size) {
            // SAFETY: inside the mapping.
            unsafe { AtomicU8::from_ptr(self.mapping.start.add(at)) }.store(0, Ordering::Relaxed);
        }
    }
}

/// A BPF ring buffer's consumer side.
///
/// Layout (kernel/bpf/ringbuf.c): page 0 holds the consumer's position and is writable; page 1 holds
/// the producer's position; then the data, mapped twice in a row so that records never wrap. A record
/// has an 8-byte header: `u32` length with a busy bit (31) and a discard bit (30), then padding to 8.
#[derive(Debug)]
pub struct Ring {
    map: OwnedFd,
    consumer: Mapping,
    data: Mapping,
    page: usize,
    mask: usize,
}

const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
const HEADER: usize = 8;
/// The consumer's position is published after this many bytes, so that producers do not fetch a
/// changed cache line for every record.
const PUBLISH: usize = 64 << 10;

impl Ring {
    /// Maps a ring buffer map of `bytes` (a power of two).
    pub fn map(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        if !bytes.is_power_of_two() || bytes < page {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        Ok(Self {
            map: fd.try_clone_to_owned()?,
            consumer: Mapping::new(fd, page, true, 0)?,
            data: Mapping::new(fd, page + 2 * bytes, false, page as u64)?,
            page,
            mask: bytes - 1,
        })
    }

    /// How many bytes it holds.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.mask + 1
    }

    /// True when every record was consumed, those included that are being written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        // SAFETY: pages 0 and 1 of the map start with the positions, aligned unsigned longs.
        let [consumed, produced] =
            [self.consumer.start, self.data.start].map(|p| unsafe { AtomicU64::from_ptr(p.cast()) });
        consumed.load(Ordering::Acquire) == produced.load(Ordering::Acquire)
    }

    /// Hands every finished record to `take`, which says whether to go on. Gives how many bytes of
    /// the ring were consumed.
    pub fn consume(&mut self, mut take: impl FnMut(&[u8]) -> bool) -> usize {
        // SAFETY: page 0 of the map starts with the consumer's position, an aligned unsigned long.
        let position = unsafe { AtomicU64::from_ptr(self.consumer.start.cast()) };
        // SAFETY: page 1 starts with the producer's position.
        let produced = unsafe { AtomicU64::from_ptr(self.data.start.cast()) };
        let start = position.load(Ordering::Acquire);
        let mut at = start;
        let mut published = start;
        'rounds: loop {
            let end = produced.load(Ordering::Acquire);
            if at >= end {
                break;
            }
            while at < end {
                let offset = (at as usize) & self.mask;
                // SAFETY: `offset` is inside the ring; headers are 8-byte aligned.
                let header = unsafe { self.data.start.add(self.page + offset) };
                // SAFETY: as above; the length is written last by the producer (release).
                let len = unsafe { AtomicU32::from_ptr(header.cast()) }.load(Ordering::Acquire);
                if len & BUSY != 0 {
                    break 'rounds;
                }
                let size = (len & !DISCARDED) as usize;
                let mut more = true;
                if len & DISCARDED == 0 {
                    let size = size.min(self.mask + 1 - HEADER);
                    // SAFETY: the data pages are mapped twice in a row, so a record of at most the
                    // ring's size is contiguous; it is finished, so the kernel no longer writes it.
                    more = take(unsafe { std::slice::from_raw_parts(header.add(HEADER), size) });
                }
                at += (size + HEADER).next_multiple_of(8) as u64;
                if (at - published) as usize >= PUBLISH {
                    position.store(at, Ordering::Release);
                    published = at;
                }
                if !more {
                    break 'rounds;
                }
            }
        }
        position.store(at, Ordering::Release);
        (at - start) as usize
    }
}

impl AsFd for Ring {
    /// Readable while the ring is not empty; becomes so by the records that wake.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

/// The rings of slots that programs fill by themselves, consumer side; see
/// [`PerCpuRingSpec`](crate::codegen::artifact::PerCpuRingSpec) for their layout.
#[derive(Debug)]
pub struct SlotRings {
    mapping: Mapping,
    spec: PerCpuRingSpec,
}

/// What is in a slot.
#[derive(Debug, PartialEq, Eq)]
pub enum InSlot<'a> {
    /// What an earlier reservation left; the one asked for is not written yet.
    Old,
    /// A record and its number among those of all CPUs.
    Record(u32, &'a [u8]),
    /// What a later reservation wrote: the one asked for is gone.
    Newer,
}

impl SlotRings {
    /// Maps the array map of the rings.
    pub fn map(fd: BorrowedFd<'_>, spec: PerCpuRingSpec) -> io::Result<Self> {
        let bytes = spec.ring_bytes() as usize * spec.rings as usize;
        let page = rustix::param::page_size();
        if !spec.slots.is_power_of_two() || !spec.slot_bytes.is_multiple_of(8) || spec.slot_bytes < 8 {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        Ok(Self { mapping: Mapping::new(fd, bytes.next_multiple_of(page), true, 0)?, spec })
    }

    /// How many rings there are.
    #[must_use]
    pub const fn rings(&self) -> usize {
        self.spec.rings as usize
    }

    /// Bytes of a slot.
    #[must_use]
    pub const fn slot_bytes(&self) -> usize {
        self.spec.slot_bytes as usize
    }

    /// Bytes of a ring's slots.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.slot_bytes() * self.spec.slots as usize
    }

    fn word(&self, ring: usize, offset: usize) -> &AtomicU64 {
        debug_assert!(ring < self.rings() && offset + 8 <= self.spec.ring_bytes() as usize);
        let at = (ring % self.rings()) * self.spec.ring_bytes() as usize + offset;
        // SAFETY: inside the mapping, as callers keep to a ring's bytes; rings and slots are 8-byte aligned.
        unsafe { AtomicU64::from_ptr(self.mapping.start.add(at).cast()) }
    }

    /// Slots of a ring that were ever reserved.
    #[must_use]
    pub fn produced(&self, ring: usize) -> u64 {
        self.word(ring, 0).load(Ordering::Acquire)
    }

    /// Gives slots back to the programs: as many as were ever consumed.
    pub fn consumed(&self, ring: usize, slots: u64) {
        self.word(ring, SLOTS_CONSUMED as usize).store(slots, Ordering::Release);
    }

    /// What is in the slot of a ring's reservation `number`.
    #[must_use]
    pub fn slot(&self, ring: usize, number: u64) -> InSlot<'_> {
        const UNUSED: u32 = u32::BITS - SLOT_ROUND_BITS;
        let index = number as usize & (self.spec.slots as usize - 1);
        let offset = FIRST_SLOT as usize + index * self.slot_bytes();
        let word = self.word(ring, offset).load(Ordering::Acquire);
        // The difference of two round numbers, with its sign.
        let newer = (((word as u32).wrapping_sub(number as u32 + 1)) << UNUSED) as i32;
        if newer != 0 {
            return if newer < 0 { InSlot::Old } else { InSlot::Newer };
        }
        let length = ((word as u32) >> SLOT_ROUND_BITS) as usize;
        let length = length.min(self.slot_bytes() - 8);
        let start = self.word(ring, offset).as_ptr().cast::<u8>().cast_const();
        // SAFETY: inside the slot; it is written, and programs write it again only once it is given back.
        InSlot::Record((word >> 32) as u32, unsafe { std::slice::from_raw_parts(start.add(8), length) })
    }
}

/// A perf event's buffer, consumer side.
///
/// Layout (`struct perf_event_mmap_page`): the first page holds the positions, at bytes 1024 (written
/// by the kernel) and 1032 (by us); then the data, in which records wrap. A record has a header of
/// `u32` type, `u16` flags, `u16` length with the header.
#[derive(Debug)]
pub struct PerfRing {
    mapping: Mapping,
    page: usize,
    mask: usize,
    // Dropped after the mapping.
    _event: OwnedFd,
}

const HEAD: usize = 1024;
const TAIL: usize = 1032;

impl PerfRing {
    /// Maps the buffer of an event, of so many pages, a power of two.
    pub fn map(event: OwnedFd, pages: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let mapping = Mapping::new(event.as_fd(), page * (pages + 1), true, 0)?;
        Ok(Self { mapping, page, mask: page * pages - 1, _event: event })
    }

    /// Hands every record's type, flags and body to `take`.
    pub fn consume(&mut self, mut take: impl FnMut(u32, u16, &[u8])) {
        // SAFETY: both lie in the first page and are aligned.
        let (head, tail) = unsafe {
            (
                AtomicU64::from_ptr(self.mapping.start.add(HEAD).cast()),
                AtomicU64::from_ptr(self.mapping.start.add(TAIL).cast()),
            )
        };
        let end = head.load(Ordering::Acquire);
        let mut at = tail.load(Ordering::Relaxed);
        let mut record = Vec::new();
        while at < end {
            self.copy(at, HEADER, &mut record);
            let (Some(kind), Some(misc), Some(size)) =
                (record.first_chunk::<4>(), record.get(4..6), record.get(6..8).and_then(|b| b.first_chunk::<2>()))
            else {
                break;
            };
            let (kind, misc) = (u32::from_ne_bytes(*kind), u16::from_ne_bytes([misc[0], misc[1]]));
            let size = usize::from(u16::from_ne_bytes(*size));
            if size < HEADER {
                break;
            }
            self.copy(at + HEADER as u64, size - HEADER, &mut record);
            take(kind, misc, &record);
            at += size as u64;
        }
        tail.store(end.max(at), Ordering::Release);
    }

    fn copy(&self, at: u64, len: usize, into: &mut Vec<u8>) {
        into.clear();
        for n in 0..len as u64 {
            let offset = self.page + ((at + n) as usize & self.mask);
            // SAFETY: masked to the data pages; the kernel does not write before the tail has moved.
            into.push(unsafe { AtomicU8::from_ptr(self.mapping.start.add(offset)) }.load(Ordering::Relaxed));
        }
    }
}
