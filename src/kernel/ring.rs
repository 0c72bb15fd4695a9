//! Sub-buffers ("pages") of the kernel's trace ring, as `trace_pipe_raw` and trace.dat have them: a head, then records
//! with packed times. Nothing here reads a file; whatever a page says is checked against its length.

mod head;
#[doc(hidden)]
pub mod made;
#[cfg(test)]
mod tests;

pub use head::PageLayout;

/// Byte order and length of words of the machine that wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abi {
    /// The most significant byte comes first.
    pub big_endian: bool,
    /// Bytes of a `long`: 4 or 8.
    pub long: u8,
}

impl Abi {
    /// Of the machine that this runs on.
    pub const NATIVE: Self = Self { big_endian: cfg!(target_endian = "big"), long: size_of::<usize>() as u8 };

    /// An unsigned number of 1, 2, 4 or 8 bytes; `None` where it does not lie within the bytes.
    #[must_use]
    pub fn uint(self, bytes: &[u8], at: usize, size: usize) -> Option<u64> {
        let field = bytes.get(at..at.checked_add(size)?)?;
        Some(match (size, self.big_endian) {
            (1, _) => u64::from(field[0]),
            (2, false) => u64::from(u16::from_le_bytes(field.try_into().ok()?)),
            (2, true) => u64::from(u16::from_be_bytes(field.try_into().ok()?)),
            (4, false) => u64::from(u32::from_le_bytes(field.try_into().ok()?)),
            (4, true) => u64::from(u32::from_be_bytes(field.try_into().ok()?)),
            (8, false) => u64::from_le_bytes(field.try_into().ok()?),
            (8, true) => u64::from_be_bytes(field.try_into().ok()?),
            _ => return None,
        })
    }

    fn word(self, bytes: &[u8], at: usize) -> Option<u32> {
        self.uint(bytes, at, 4).map(|word| word as u32)
    }
}

impl Default for Abi {
    fn default() -> Self {
        Self::NATIVE
    }
}

/// What was lost on this CPU before a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Missed {
    /// Nothing.
    #[default]
    Nothing,
    /// So many records.
    Events(u64),
    /// Some; the page had no room for their number.
    Some,
}

/// Why the rest of a page can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// It is shorter than its head.
    #[error("a page of {0} bytes has no head")]
    Short(usize),
    /// It says that it has more than it has.
    #[error("a page of {has} bytes claims {claims}")]
    Commit {
        /// What it says.
        claims: usize,
        /// Bytes that there are.
        has: usize,
    },
    /// A record reaches over the end, or has no room for itself.
    #[error("a record at byte {at} of a page ends outside of it")]
    Record {
        /// Where it begins, in the page's data.
        at: usize,
    },
}

/// Low bits of the commit word that are a length.
const LENGTH: u64 = (1 << 27) - 1;
/// Records were lost before this page (`RB_MISSED_EVENTS`).
const MISSED: u64 = 1 << 31;
/// How many stands behind the data (`RB_MISSED_STORED`).
const MISSED_STORED: u64 = 1 << 30;
/// Absolute times have 59 bits; the others are those of the page's.
const ABSOLUTE_BITS: u32 = 59;

/// Kinds of records (`include/linux/ring_buffer.h`); smaller numbers are lengths in words.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// One record of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The clock of the ring, as it stood when room for the record was taken.
    pub at: u64,
    /// What was written: begins with the event's number, and may have up to 3 bytes behind its end.
    pub data: &'a [u8],
}

/// Where in a page reading stands. It holds no page, so that pages can be kept in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    at: usize,
    end: usize,
    clock: u64,
    missed: Missed,
}

impl Position {
    /// The beginning of a page.
    ///
    /// # Errors
    /// When its head makes no sense.
    pub fn begin(layout: &PageLayout, page: &[u8]) -> Result<Self, PageError> {
        let abi = layout.abi;
        let short = PageError::Short(page.len());
        let clock = abi.uint(page, layout.timestamp, 8).ok_or(short)?;
        let commit = abi.uint(page, layout.commit, usize::from(layout.commit_size)).ok_or(short)?;
        let length = (commit & LENGTH) as usize;
        let (at, has) = (layout.data, page.len());
        let end = at.checked_add(length).filter(|end| *end <= has);
        let end = end.ok_or(PageError::Commit { claims: length, has: has.saturating_sub(at) })?;
        let missed = match (commit & MISSED != 0, commit & MISSED_STORED != 0) {
            (false, _) => Missed::Nothing,
            (true, false) => Missed::Some,
            // The kernel's own number for "unknown" is -1 in old forms; 0 says nothing either.
            (true, true) => match abi.uint(page, end, usize::from(abi.long)) {
                Some(count) if count > 0 && count < u64::MAX / 2 => Missed::Events(count),
                _ => Missed::Some,
            },
        };
        Ok(Self { at, end, clock, missed })
    }

    /// What was lost before the page.
    #[must_use]
    pub const fn missed(&self) -> Missed {
        self.missed
    }

    /// The clock, as far as it was read.
    #[must_use]
    pub const fn clock(&self) -> u64 {
        self.clock
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// When the rest makes no sense: nothing more can be had of this page then.
    pub fn next<'a>(&mut self, layout: &PageLayout, page: &'a [u8]) -> Result<Option<Record<'a>>, PageError> {
        let abi = layout.abi;
        while self.at + 4 <= self.end {
            let begun = self.at;
            let bad = PageError::Record { at: begun.saturating_sub(layout.data) };
            let data = page.get(..self.end).ok_or(bad)?;
            let head = abi.word(data, begun).ok_or(bad)?;
            let (kind, delta) =
                if abi.big_endian { (head >> 27, head & ((1 << 27) - 1)) } else { (head & 31, head >> 5) };
            let delta = u64::from(delta);
            let body = begun + 4;
            match kind {
                PADDING if delta == 0 => {
                    self.at = self.end;
                    return Ok(None);
                }
                TIME_EXTEND | TIME_STAMP => {
                    let high = u64::from(abi.word(data, body).ok_or(bad)?);
                    let time = (high << 27) | delta;
                    self.clock =
                        if kind == TIME_EXTEND { self.clock.wrapping_add(time) } else { absolute(self.clock, time) };
                    self.at = body + 4;
                }
                _ => {
                    let (from, to) = extent(abi, data, kind, body).ok_or(bad)?;
                    self.at = to;
                    // A discarded record (padding with a time) has its share of the clock; 1 is what stands there where
                    // it had none.
                    if kind != PADDING || delta > 1 {
                        self.clock = self.clock.wrapping_add(delta);
                    }
                    if kind != PADDING {
                        return Ok(Some(Record { at: self.clock, data: data.get(from..to).ok_or(bad)? }));
                    }
                }
            }
        }
        Ok(None)
    }
}

/// Where a record's data begins and ends; `None` where that is not within the page.
fn extent(abi: Abi, data: &[u8], kind: u32, body: usize) -> Option<(usize, usize)> {
    let (from, to) = match kind {
        // The length counts itself.
        0 => (body + 4, body.checked_add(abi.word(data, body)? as usize)?),
        PADDING => (body, body.checked_add(abi.word(data, body)? as usize)?),
        words => (body, body + 4 * words as usize),
    };
    // Records begin at whole words. One that has no room for itself would be read for ever.
    let to = to.checked_next_multiple_of(4)?;
    (to >= from && to > body && to <= data.len()).then_some((from, to))
}

/// An absolute time: its high bits are those of the time before it, or one more where it has gone round.
fn absolute(before: u64, time: u64) -> u64 {
    let mask = (1_u64 << ABSOLUTE_BITS) - 1;
    let whole = (time & mask) | (before & !mask);
    if before & !mask != 0 && whole < before { whole.wrapping_add(1 << ABSOLUTE_BITS) } else { whole }
}
