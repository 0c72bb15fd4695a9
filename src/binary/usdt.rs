//! Statically defined probes: the notes that `sys/sdt.h` leaves in a binary.
//!
//! Format: SystemTap's wiki, "UserSpaceProbeImplementation": notes of type 3 named `stapsdt` with the
//! site's address, the link-time address of `.stapsdt.base` (which tells how far prelink moved the
//! binary), the semaphore's address, then three texts: provider, name, arguments.

mod arguments;

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ReadCache};
use std::path::Path;
use std::sync::Arc;

use super::places::{Segment, file_offset};
use crate::model::target::UsdtArgument;
use crate::regular;

pub use arguments::{ArgumentError, arguments_arm64, arguments_x86_64};

/// `NT_STAPSDT`.
const NOTE_TYPE: u32 = 3;
/// Most sites of one binary that are believed.
const MAX_SITES: usize = 100_000;
/// Largest note section that is read, bytes.
const MAX_SECTION: u64 = 64 << 20;

/// One place in a binary that a probe marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsdtSite {
    /// Provider.
    pub provider: Arc<str>,
    /// Probe.
    pub name: Arc<str>,
    /// Address of the marked instruction.
    pub address: u64,
    /// File offset of the marked instruction.
    pub file_offset: u64,
    /// File offset of the semaphore, 0 for none.
    pub semaphore: u64,
    /// The arguments as the compiler wrote them.
    pub specification: Arc<str>,
}

impl UsdtSite {
    /// Where the arguments are, on the machine that this program was built for. An argument in a place
    /// that a probe can't read (a floating-point register) ends the list.
    #[must_use]
    pub fn arguments(&self) -> Vec<UsdtArgument> {
        let parsed = if cfg!(target_arch = "aarch64") {
            arguments_arm64(&self.specification)
        } else {
            arguments_x86_64(&self.specification)
        };
        parsed.into_iter().map_while(Result::ok).collect()
    }
}

/// Whether a file is a binary with sites; nothing but its sections is read.
#[must_use]
pub fn is_in(path: &Path) -> bool {
    let Ok(file) = regular::open(path) else { return false };
    let cache = ReadCache::new(&file);
    let elf = ElfFile64::<Endianness, _>::parse(&cache);
    elf.is_ok_and(|elf| elf.section_by_name(".note.stapsdt").is_some_and(|notes| notes.size() > 0))
}

/// All sites of a binary; notes that make no sense are left out.
pub(super) fn read<'d, R: object::ReadRef<'d>>(
    elf: &ElfFile64<'d, Endianness, R>,
    segments: &[Segment],
) -> Vec<UsdtSite> {
    let Some(notes) = elf.section_by_name(".note.stapsdt").filter(|s| s.size() <= MAX_SECTION) else {
        return Vec::new();
    };
    let Ok(bytes) = notes.data() else { return Vec::new() };
    let base = elf.section_by_name(".stapsdt.base").map(|s| s.address());
    parse(bytes, base, segments)
}

fn parse(bytes: &[u8], base: Option<u64>, segments: &[Segment]) -> Vec<UsdtSite> {
    let mut sites = Vec::new();
    let mut rest = bytes;
    while let Some((note, tail)) = next_note(rest) {
        rest = tail;
        if let Some(site) = note.and_then(|d| site(d, base, segments)) {
            sites.push(site);
        }
        if sites.len() >= MAX_SITES {
            break;
        }
    }
    sites
}

/// The description of the first note when it is one of ours, and what follows it.
fn next_note(bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (name_size, size, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
    let name = bytes.get(12..12_usize.checked_add(name_size)?)?;
    let start = 12 + name_size.checked_next_multiple_of(4)?;
    let description = bytes.get(start..start.checked_add(size)?)?;
    let end = start.checked_add(size.checked_next_multiple_of(4)?)?.min(bytes.len());
    let ours = kind == NOTE_TYPE && name == b"stapsdt\0";
    Some((ours.then_some(description), bytes.get(end..)?))
}

fn site(description: &[u8], base: Option<u64>, segments: &[Segment]) -> Option<UsdtSite> {
    let word = |at: usize| Some(u64::from_ne_bytes(description.get(at..at + 8)?.try_into().ok()?));
    let moved = base.map_or(0, |actual| actual.wrapping_sub(word(8).unwrap_or(actual)));
    let mut texts = description.get(24..)?.split(|b| *b == 0).map(|t| std::str::from_utf8(t).unwrap_or(""));
    let mut text = || texts.next().unwrap_or("");
    let (provider, name, specification) = (text(), text(), text());
    if provider.is_empty() || name.is_empty() {
        return None;
    }
    let address = word(0)?.wrapping_add(moved);
    let semaphore = match word(16)? {
        0 => 0,
        at => file_offset(segments, at.wrapping_add(moved))?,
    };
    Some(UsdtSite {
        provider: provider.into(),
        name: name.into(),
        address,
        file_offset: file_offset(segments, address)?,
        semaphore,
        specification: specification.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(kind: u32, name: &[u8], description: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend((name.len() as u32).to_ne_bytes());
        bytes.extend((description.len() as u32).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(name);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(description);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn description(pc: u64, base: u64, semaphore: u64) -> Vec<u8> {
        let words = [pc, base, semaphore].map(u64::to_ne_bytes).concat();
        [&words[..], b"libc\0setjmp\08@%rdi -4@$7\0"].concat()
    }

    const SEGMENTS: [Segment; 2] = [
        Segment { address: 0x1000, offset: 0x400, size: 0x1000, executable: true },
        Segment { address: 0x3000, offset: 0x1800, size: 0x100, executable: false },
    ];

    #[test]
    fn addresses_become_file_offsets_and_follow_prelink() {
        let bytes = [note(1, b"GNU\0", b"abc"), note(3, b"stapsdt\0", &description(0x1010, 0x500, 0x3008))].concat();
        let sites = parse(&bytes, Some(0x500), &SEGMENTS);
        let site = &sites[0];
        assert_eq!((&*site.provider, &*site.name), ("libc", "setjmp"));
        assert_eq!((site.file_offset, site.semaphore), (0x410, 0x1808));
        let moved = parse(&bytes, Some(0x510), &SEGMENTS);
        assert_eq!((moved[0].file_offset, moved[0].semaphore), (0x420, 0x1818));
        assert!(parse(&bytes, Some(0xffff_0000), &SEGMENTS).is_empty(), "outside every segment");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in proptest::collection::vec(0_u8..=255, 0..200)) {
            let _ = parse(&bytes, Some(0), &SEGMENTS);
        }
    }
}
