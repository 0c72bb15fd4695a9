//! A block of probes in compact form.

use super::{Probe, ProbeKind};
use crate::kernel::Absence;

/// Which characters are in a text, as bits; a text can only match a query whose bits it has.
/// Letters and digits have a bit each, everything else shares the rest.
#[must_use]
pub fn mask(text: &str) -> u64 {
    text.bytes().fold(0, |bits, byte| {
        let bit = match byte.to_ascii_lowercase() {
            b @ b'a'..=b'z' => b - b'a',
            b @ b'0'..=b'9' => b - b'0' + 26,
            b'_' => 36,
            b':' => 37,
            b'/' => 38,
            b'.' => 39,
            b'-' => 40,
            other => 41 + other % 23,
        };
        bits | 1 << bit
    })
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    length: u16,
    kind: ProbeKind,
    /// 1 and up: index in `absences`; 0: can be attached.
    absence: u8,
    /// Not worth a high place: made by the compiler.
    demoted: bool,
}

/// A block of probes; never changes once built.
#[derive(Clone, Debug, Default)]
pub struct Part {
    text: String,
    lower: String,
    entries: Vec<Entry>,
    masks: Vec<u64>,
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

    /// A probe's name in lower case.
    #[must_use]
    pub fn lower(&self, number: u32) -> &str {
        self.entries.get(number as usize).map_or("", |e| range(&self.lower, e))
    }

    /// Whether the compiler made it, so that it belongs below the others.
    #[must_use]
    pub fn demoted(&self, number: u32) -> bool {
        self.entries.get(number as usize).is_some_and(|e| e.demoted)
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
        self.part.masks.push(mask(self.part.text.get(start..).unwrap_or("")));
        self.part.entries.push(Entry { start: start32, length, kind, absence, demoted });
    }

    /// The finished part.
    #[must_use]
    pub fn finish(mut self) -> Part {
        self.part.lower = self.part.text.to_ascii_lowercase();
        self.part.text.shrink_to_fit();
        self.part
    }
}
