//! A block of probes in compact form.

use super::kind::ProbeKind;
use super::{Probe, worth};
use crate::kernel::Absence;

/// Which characters are in a text, as bits; a text can only match a query whose bits it has.
/// Letters and digits have a bit each, everything else shares the rest.
#[must_use]
pub fn mask(text: &str) -> u64 {
    text.bytes().fold(0, |bits, byte| bits | bit_of(byte))
}

/// The same of the characters that words start with.
fn starts_mask(text: &str) -> u64 {
    let mut before = b':';
    text.bytes().fold(0, |bits, byte| {
        let starts = !before.is_ascii_alphanumeric();
        before = byte;
        if starts { bits | bit_of(byte) } else { bits }
    })
}

const fn bit_of(byte: u8) -> u64 {
    1 << match byte.to_ascii_lowercase() {
        b @ b'a'..=b'z' => b - b'a',
        b @ b'0'..=b'9' => b - b'0' + 26,
        b'_' => 36,
        b':' => 37,
        b'/' => 38,
        b'.' => 39,
        b'-' => 40,
        other => 41 + other % 23,
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    length: u16,
    /// Where the probe's own name starts, after its last colon or slash.
    own: u16,
    /// Rank whatever was typed.
    worth: i16,
    kind: ProbeKind,
    /// 1 and up: index in `absences`; 0: can be attached.
    absence: u8,
}

/// What a search reads of a probe, worked out when the part was built.
#[derive(Clone, Copy, Debug)]
pub struct Signs {
    /// Start of its name in [`Part::searched`].
    pub start: usize,
    /// End of its name there.
    pub end: usize,
    /// Start of its own name there: what follows the last colon or slash.
    pub own: usize,
    /// What it is worth whatever was typed.
    pub worth: i32,
    /// It can't be attached here.
    pub absent: bool,
}

/// A block of probes; never changes once built.
#[derive(Clone, Debug, Default)]
pub struct Part {
    text: String,
    /// All names in lower case, each followed by a line end, so that one scan goes through all of them.
    searched: String,
    entries: Vec<Entry>,
    masks: Vec<u64>,
    starts: Vec<u64>,
    absences: Vec<Absence>,
}

impl Part {
    /// How many probes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Character masks of all probes.
    #[must_use]
    pub fn masks(&self) -> &[u64] {
        &self.masks
    }

    /// A probe by its number in this part.
    #[must_use]
    pub fn probe(&self, number: u32) -> Option<Probe<'_>> {
        let entry = self.entries.get(number as usize)?;
        let absence = usize::from(entry.absence).checked_sub(1).and_then(|n| self.absences.get(n));
        Some(Probe { name: range(&self.text, entry), kind: entry.kind, absence })
    }

    /// Masks of the characters that words of each probe start with.
    #[must_use]
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// All names in lower case, one a line.
    #[must_use]
    pub fn searched(&self) -> &str {
        &self.searched
    }

    /// What a search needs of a probe.
    #[must_use]
    pub fn signs(&self, number: u32) -> Option<Signs> {
        let entry = self.entries.get(number as usize)?;
        // Each name before it has a line end.
        let start = entry.start as usize + number as usize;
        Some(Signs {
            start,
            end: start + usize::from(entry.length),
            own: start + usize::from(entry.own),
            worth: i32::from(entry.worth),
            absent: entry.absence != 0,
        })
    }

    /// Memory that it takes, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let entries = self.entries.capacity() * size_of::<Entry>();
        let masks = (self.masks.capacity() + self.starts.capacity()) * size_of::<u64>();
        self.text.capacity() + self.searched.capacity() + entries + masks
    }
}

fn range<'a>(text: &'a str, entry: &Entry) -> &'a str {
    let start = entry.start as usize;
    text.get(start..start + usize::from(entry.length)).unwrap_or("")
}

/// Collects a part.
#[derive(Debug, Default)]
pub struct PartBuilder {
    part: Part,
}

impl PartBuilder {
    /// An empty part, with room for so many probes.
    #[must_use]
    pub fn with_capacity(probes: usize) -> Self {
        let part = Part {
            text: String::with_capacity(probes * 32),
            entries: Vec::with_capacity(probes),
            masks: Vec::with_capacity(probes),
            starts: Vec::with_capacity(probes),
            ..Part::default()
        };
        Self { part }
    }

    /// Registers a reason for probes that can't be attached; pass the answer to [`PartBuilder::push`].
    pub fn absence(&mut self, absence: &Absence) -> u8 {
        if let Some(known) = self.part.absences.iter().position(|a| a == absence) {
            return known as u8 + 1;
        }
        if self.part.absences.len() < usize::from(u8::MAX) {
            self.part.absences.push(absence.clone());
        }
        self.part.absences.len() as u8
    }

    /// Adds a probe whose name is these texts joined. Names over 64 KiB are left out.
    pub fn push(&mut self, kind: ProbeKind, name: &[&str], absence: u8, demoted: bool) {
        let start = self.part.text.len();
        let length: usize = name.iter().map(|n| n.len()).sum();
        let (Ok(start32), Ok(length)) = (u32::try_from(start), u16::try_from(length)) else { return };
        self.part.text.extend(name.iter().copied());
        let text = self.part.text.get(start..).unwrap_or("");
        self.part.masks.push(mask(text));
        self.part.starts.push(starts_mask(text));
        let own = worth::own_name_start(kind, text) as u16;
        let worth = worth::of(kind, text, demoted);
        self.part.entries.push(Entry { start: start32, length, own, worth, kind, absence });
    }

    /// The finished part.
    #[must_use]
    pub fn finish(mut self) -> Part {
        let Part { text, searched, entries, masks, starts, .. } = &mut self.part;
        searched.reserve_exact(text.len() + entries.len());
        for entry in entries.iter() {
            searched.push_str(range(text, entry));
            searched.push('\n');
        }
        searched.make_ascii_lowercase();
        text.shrink_to_fit();
        entries.shrink_to_fit();
        masks.shrink_to_fit();
        starts.shrink_to_fit();
        self.part
    }
}
