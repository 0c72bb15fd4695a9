//! Pages made for tests, by the kernel's own rules.

use super::{LENGTH, MISSED, MISSED_STORED, PADDING, PageLayout, TIME_EXTEND, TIME_STAMP};

/// One thing in a page.
#[derive(Clone, Debug)]
pub enum Part {
    /// A record so long after the one before, ns.
    Record(u32, Vec<u8>),
    /// Time goes on.
    Extend(u64),
    /// An absolute time.
    Stamp(u64),
    /// A record that its writer took back.
    Discarded(u32, usize),
}

/// A little-endian page of 64-bit words.
#[derive(Clone, Debug, Default)]
pub struct Made {
    data: Vec<u8>,
}

impl Made {
    fn head(&mut self, kind: u32, delta: u32) {
        self.data.extend(((delta << 5) | kind).to_le_bytes());
    }

    /// Adds one part.
    pub fn add(&mut self, part: &Part) {
        match part {
            Part::Record(delta, bytes) => {
                let words = bytes.len().div_ceil(4).max(1);
                if words <= 28 {
                    self.head(words as u32, *delta);
                } else {
                    self.head(0, *delta);
                    self.data.extend((words as u32 * 4 + 4).to_le_bytes());
                }
                let end = self.data.len() + words * 4;
                self.data.extend(bytes);
                self.data.resize(end, 0);
            }
            Part::Extend(delta) => {
                self.head(TIME_EXTEND, (*delta & ((1 << 27) - 1)) as u32);
                self.data.extend(((*delta >> 27) as u32).to_le_bytes());
            }
            Part::Stamp(time) => {
                self.head(TIME_STAMP, (*time & ((1 << 27) - 1)) as u32);
                self.data.extend(((*time >> 27) as u32).to_le_bytes());
            }
            Part::Discarded(delta, words) => {
                self.head(PADDING, (*delta).max(1));
                self.data.extend((*words as u32 * 4).to_le_bytes());
                let end = self.data.len() + (words - 1) * 4;
                self.data.resize(end, 0xee);
            }
        }
    }

    /// The page, of at least `size` bytes.
    ///
    /// # Panics
    /// Where the layout is another than that of little-endian machines with words of 64 bits.
    #[must_use]
    pub fn page(&self, layout: &PageLayout, clock: u64, missed: Option<u64>, size: usize) -> Vec<u8> {
        let mut page = clock.to_le_bytes().to_vec();
        let mut commit = self.data.len() as u64 & LENGTH;
        if let Some(missed) = missed {
            commit |= MISSED | if missed > 0 { MISSED_STORED } else { 0 };
        }
        page.extend(commit.to_le_bytes());
        assert_eq!(page.len(), layout.data);
        page.extend(&self.data);
        page.extend(missed.unwrap_or(0).to_le_bytes());
        page.resize(page.len().max(size), 0);
        page
    }
}
