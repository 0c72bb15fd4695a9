//! Where the drain takes reports from: the kernel's ring buffer, or rings of slots that programs fill by
//! themselves, whose reports are put in the order in which they were made.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use super::sys::memory::{InSlot, Ring, SlotRings};

/// What reports come from.
#[derive(Debug)]
pub enum Reports {
    /// The kernel's ring buffer.
    Ring(Ring),
    /// Rings of slots.
    Slots(Box<SlotReports>),
}

impl Reports {
    /// How many bytes one CPU can fill before reports are lost.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Ring(ring) => ring.bytes(),
            Self::Slots(slots) => slots.rings.bytes(),
        }
    }

    /// How long a CPU needs to fill a ring of slots, at least.
    #[must_use]
    pub fn fills_in(&self) -> Option<Duration> {
        match self {
            Self::Ring(_) => None,
            Self::Slots(slots) => Some(Duration::from_secs(slots.rings.bytes() as u64) / FASTEST_BYTES),
        }
    }

    /// True when every report was taken, those included that are being written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Ring(ring) => ring.is_empty(),
            Self::Slots(slots) => slots.is_empty(),
        }
    }

    /// Hands every finished report to `take`, which says whether to go on. Gives how many bytes were consumed.
    pub fn consume(&mut self, take: impl FnMut(&[u8]) -> bool) -> usize {
        match self {
            Self::Ring(ring) => ring.consume(take),
            Self::Slots(slots) => slots.consume(take),
        }
    }
}

impl AsFd for Reports {
    /// Readable once a report came that woke its reader.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Ring(ring) => ring.as_fd(),
            Self::Slots(slots) => slots.wake.as_fd(),
        }
    }
}

/// No CPU writes more bytes of reports in a second: one of 32 bytes takes it 100 ns with the event.
const FASTEST_BYTES: u32 = 400 << 20;
/// Slots are given back after this many bytes, so that programs do not fetch a changed cache line for every
/// report.
const GIVE_BACK: usize = 64 << 10;
/// A program that interrupts another one between its two reservations, that of a slot and that of a number, has the
/// earlier number in the later slot. More than this many slots are never between.
const LOOK_AHEAD: u64 = 16;
/// A number that belongs to no slot is waited for so long: its report was overwritten.
const LONGEST_GAP: Duration = Duration::from_secs(1);

/// Rings of slots, read as one sequence.
#[derive(Debug)]
pub struct SlotReports {
    rings: SlotRings,
    /// Readable when the reader is to wake up.
    wake: Ring,
    /// By ring: reservations up to here are consumed.
    at: Vec<u64>,
    /// By ring: reservations up to here are given back.
    given: Vec<u64>,
    /// Number of the next report.
    next: u64,
    /// Reports that were found behind others, by their numbers.
    early: BTreeMap<u64, Box<[u8]>>,
    /// Since when the next number is missing.
    missing: Option<Instant>,
}

/// The first reports of the rings by their numbers.
type Fronts = BinaryHeap<Reverse<(u64, usize)>>;

/// Whether to go on with what is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Go {
    On,
    /// The taker has had enough.
    Full,
    /// The next report is not there yet.
    Dry,
}

impl SlotReports {
    /// Reads the rings; `wake` is the ring buffer through which programs wake the reader.
    #[must_use]
    pub fn new(rings: SlotRings, wake: Ring) -> Self {
        let zeros = vec![0; rings.rings()];
        Self { at: zeros.clone(), given: zeros, rings, wake, next: 0, early: BTreeMap::new(), missing: None }
    }

    fn is_empty(&self) -> bool {
        self.early.is_empty() && (0..self.at.len()).all(|ring| self.rings.produced(ring) == self.at[ring])
    }

    fn consume(&mut self, mut take: impl FnMut(&[u8]) -> bool) -> usize {
        // What wakes the reader has no content.
        self.wake.consume(|_| true);
        let mut taken = 0;
        loop {
            let before = taken;
            let go = self.round(&mut take, &mut taken);
            if go == Go::Full || taken == before {
                break;
            }
        }
        for ring in 0..self.at.len() {
            self.give_back(ring);
        }
        taken * self.rings.slot_bytes()
    }

    /// Takes what the rings have now; the number of reports is added to `taken`.
    fn round(&mut self, take: &mut impl FnMut(&[u8]) -> bool, taken: &mut usize) -> Go {
        let mut fronts = self.fronts();
        loop {
            while let Some(first) = self.early.first_entry()
                && *first.key() <= self.next
            {
                let (number, report) = first.remove_entry();
                self.next = self.next.max(number + 1);
                *taken += 1;
                if !take(&report) {
                    return Go::Full;
                }
            }
            match fronts.pop() {
                Some(Reverse((number, ring))) if number <= self.next => {
                    if self.run(ring, number, take, taken) == Go::Full {
                        return Go::Full;
                    }
                    fronts.extend(self.front(ring).map(|number| Reverse((number, ring))));
                    self.missing = None;
                }
                Some(Reverse((number, _))) => {
                    if !self.look_ahead() && !self.give_up(number) {
                        return Go::Dry;
                    }
                    fronts = self.fronts();
                }
                None => return Go::Dry,
            }
        }
    }

    fn fronts(&mut self) -> Fronts {
        (0..self.at.len()).filter_map(|ring| self.front(ring).map(|number| Reverse((number, ring)))).collect()
    }

    /// Number of a ring's first report; what was overwritten is passed over.
    fn front(&mut self, ring: usize) -> Option<u64> {
        loop {
            match self.rings.slot(ring, self.at[ring]) {
                InSlot::Record(number, _) => return Some(self.whole(number)),
                InSlot::Newer => self.at[ring] += 1,
                InSlot::Old => return None,
            }
        }
    }

    /// The number that ends with these 32 bits, near the next one.
    const fn whole(&self, number: u32) -> u64 {
        self.next.wrapping_add_signed(number.wrapping_sub(self.next as u32) as i32 as i64)
    }

    /// Takes a ring's first report and those that follow it both in the ring and in number.
    fn run(&mut self, ring: usize, first: u64, take: &mut impl FnMut(&[u8]) -> bool, taken: &mut usize) -> Go {
        // A report that was given up and came late has a smaller number.
        let mut number = first;
        loop {
            let InSlot::Record(_, report) = self.rings.slot(ring, self.at[ring]) else { return Go::Dry };
            let more = take(report);
            *taken += 1;
            self.at[ring] += 1;
            self.next = self.next.max(number + 1);
            if (self.at[ring] - self.given[ring]) as usize * self.rings.slot_bytes() >= GIVE_BACK {
                self.give_back(ring);
            }
            if !more {
                return Go::Full;
            }
            match self.front(ring) {
                Some(following) if following == self.next => number = following,
                _ => return Go::On,
            }
        }
    }

    fn give_back(&mut self, ring: usize) {
        if self.given[ring] != self.at[ring] {
            self.rings.consumed(ring, self.at[ring]);
            self.given[ring] = self.at[ring];
        }
    }

    /// Finds the next report behind others of its ring, which become early ones.
    fn look_ahead(&mut self) -> bool {
        let found = (0..self.at.len()).find_map(|ring| self.ahead(ring).map(|slots| (ring, slots)));
        let Some((ring, slots)) = found else { return false };
        for _ in 0..=slots {
            if let InSlot::Record(number, report) = self.rings.slot(ring, self.at[ring]) {
                let report = report.into();
                self.early.insert(self.whole(number), report);
            }
            self.at[ring] += 1;
        }
        true
    }

    /// How many slots the next report is behind a ring's first, if it is there.
    fn ahead(&self, ring: usize) -> Option<u64> {
        for slots in 0..LOOK_AHEAD {
            match self.rings.slot(ring, self.at[ring] + slots) {
                InSlot::Record(number, _) if self.whole(number) == self.next => return Some(slots),
                InSlot::Record(..) => {}
                InSlot::Old | InSlot::Newer => return None,
            }
        }
        None
    }

    /// Goes on with a later number, when the next one was missing for long.
    fn give_up(&mut self, number: u64) -> bool {
        let since = *self.missing.get_or_insert_with(Instant::now);
        let over = since.elapsed() > LONGEST_GAP;
        if over {
            self.next = number;
            self.missing = None;
        }
        over
    }
}

#[cfg(test)]
mod tests;
