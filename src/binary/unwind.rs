//! What `.eh_frame` says of callers, as rows that a BPF program can search (x86-64).
//!
//! A row holds from its address up to the next row's. It is 8 bytes: the address in the binary's own address space (`u32`),
//! how the frame's end is found (`u8`), where the caller's frame pointer was saved (`i8`, in words from the frame's end, 0
//! where it was not), and the distance of the frame's end from the register (`i16`, in words). The return address is the
//! word below the frame's end.

use std::path::Path;

use gimli::{BaseAddresses, CfaRule, EhFrame, LittleEndian, RegisterRule, UnwindSection as _, X86_64};
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _, ReadCache, ReadRef};

use super::BinaryError;
use crate::regular;

/// How the end of a frame (the canonical frame address) is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum End {
    /// Nothing is said of code here: the frame pointer may help.
    Unsaid = 0,
    /// From the stack pointer.
    Stack = 1,
    /// From the frame pointer.
    Frame = 2,
    /// In the word that the frame pointer leads to: functions that align their stack.
    FramePointed = 3,
    /// A stub of the procedure linkage table: a word from the stack pointer, and two from the byte of the stub on that stands
    /// in place of the distance.
    Linkage = 4,
    /// What the kernel left for a signal's handler to return by.
    Signal = 5,
    /// Nobody has called this.
    First = 6,
    /// By a rule that no row can hold.
    Unknown = 7,
}

/// What holds from an address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// In the binary's own address space.
    pub address: u32,
    /// How the frame's end is found.
    pub end: End,
    /// Where the caller's frame pointer was saved, in words from the frame's end; 0 where it still is in its register.
    pub frame_pointer: i8,
    /// Words from the register to the frame's end.
    pub distance: i16,
}

impl Row {
    /// One that has no numbers.
    const fn saying(address: u32, end: End) -> Self {
        Self { address, end, frame_pointer: 0, distance: 0 }
    }
}

impl From<Row> for u64 {
    fn from(row: Row) -> Self {
        let high = (row.distance as u16 as Self) << 16 | (row.frame_pointer as u8 as Self) << 8 | row.end as Self;
        high << 32 | Self::from(row.address)
    }
}

/// Most rows of one file.
pub const MOST_ROWS: usize = 1 << 21;
/// Largest `.eh_frame` that is read, bytes.
const LARGEST: u64 = 64 << 20;
/// Bytes of instructions that are followed in one file: in a malicious one all functions may share a long preamble.
const MOST_WORK: usize = 128 << 20;
/// Damaged entries that are passed over in one file.
const MOST_DAMAGED: u32 = 16;
const WORD: i64 = 8;

/// A part of a binary's code, as it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeSegment {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes of the file.
    pub size: u64,
    /// Address in the binary's own address space.
    pub address: u64,
}

/// The rows of a binary, ascending.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    /// Where its code is.
    pub segments: Vec<CodeSegment>,
    /// What holds where.
    pub rows: Vec<Row>,
}

/// Reads what a binary says of its frames; no rows where it says nothing.
///
/// # Errors
/// When the file can't be read or is no 64-bit ELF file.
pub fn frames(path: &Path) -> Result<Frames, BinaryError> {
    let malformed = |problem: String| BinaryError::Malformed { path: path.to_owned(), problem };
    let file = regular::open(path).map_err(|source| BinaryError::Read { path: path.to_owned(), source })?;
    frames_in(&ReadCache::new(&file)).map_err(malformed)
}

/// The same of a file's content.
///
/// # Errors
/// What is wrong with it.
pub fn frames_in<'d>(content: impl ReadRef<'d>) -> Result<Frames, String> {
    let elf = ElfFile64::<Endianness, _>::parse(content).map_err(|e| e.to_string())?;
    let segments = super::elf::segments(&elf, 0);
    let code = segments.iter().filter(|s| s.executable);
    let segments = code.map(|s| CodeSegment { offset: s.offset, size: s.size, address: s.address }).collect();
    let mut rows = Vec::new();
    if let Some(section) = elf.section_by_name(".eh_frame").filter(|s| s.size() <= LARGEST) {
        let data = section.data().map_err(|e| e.to_string())?;
        let address = |name: &str| elf.section_by_name(name).map_or(0, |s| s.address());
        let bases = BaseAddresses::default()
            .set_eh_frame(section.address())
            .set_text(address(".text"))
            .set_got(address(".got"));
        rows = read(&EhFrame::new(data, LittleEndian), &bases);
    }
    Ok(Frames { segments, rows })
}

/// The rows of an `.eh_frame` section by itself, which begins at address 0.
#[must_use]
pub fn rows_in(section: &[u8]) -> Vec<Row> {
    read(&EhFrame::new(section, LittleEndian), &BaseAddresses::default())
}

type Slice<'a> = gimli::EndianSlice<'a, LittleEndian>;
type Function<'a> = gimli::FrameDescriptionEntry<Slice<'a>>;

/// All rows, with one that says nothing behind each function.
fn read(section: &EhFrame<Slice<'_>>, bases: &BaseAddresses) -> Vec<Row> {
    let mut context = gimli::UnwindContext::new();
    let mut rows = Vec::new();
    let (mut work, mut damaged) = (0, 0);
    let mut entries = section.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let gimli::CieOrFde::Fde(partial) = entry else { continue };
        let Ok(function) = partial.parse(EhFrame::cie_from_offset) else {
            damaged += 1;
            if damaged > MOST_DAMAGED {
                break;
            }
            continue;
        };
        work += function.cie().entry_len() + function.entry_len();
        if work > MOST_WORK || !rows_of(&function, section, bases, &mut context, &mut rows) {
            break;
        }
    }
    joined(rows)
}

/// The rows of one function; false where there is no room for more.
fn rows_of(
    function: &Function<'_>,
    section: &EhFrame<Slice<'_>>,
    bases: &BaseAddresses,
    context: &mut gimli::UnwindContext<usize>,
    rows: &mut Vec<Row>,
) -> bool {
    let signal = function.cie().is_signal_trampoline();
    let Ok(mut table) = function.rows(section, bases, context) else { return true };
    let mut end = function.initial_address();
    while let Ok(Some(row)) = table.next_row() {
        end = row.end_address();
        let Ok(address) = u32::try_from(row.start_address()) else { break };
        rows.push(if signal { Row::saying(address, End::Signal) } else { of_rules(address, section, row) });
        if rows.len() >= MOST_ROWS {
            return false;
        }
    }
    if let Ok(address) = u32::try_from(end) {
        rows.push(Row::saying(address, End::Unsaid));
    }
    true
}

/// In the order of addresses; of two at one address the one that says something, and none that says what the one before says.
fn joined(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| (row.address, row.end != End::Unsaid));
    let mut out: Vec<Row> = Vec::with_capacity(rows.len());
    for row in rows {
        if out.last().is_some_and(|last| last.address == row.address) {
            out.pop();
        }
        let same = |last: &Row| Row { address: row.address, ..*last } == row;
        if !out.last().is_some_and(same) {
            out.push(row);
        }
    }
    out
}

fn of_rules(address: u32, section: &EhFrame<Slice<'_>>, row: &gimli::UnwindTableRow<usize>) -> Row {
    let unknown = Row::saying(address, End::Unknown);
    match row.register(X86_64::RA) {
        Some(RegisterRule::Undefined) => return Row { end: End::First, ..unknown },
        Some(RegisterRule::Offset(-8)) => {}
        _ => return unknown,
    }
    let words = |bytes: i64| i16::try_from(bytes / WORD).ok().filter(|_| bytes % WORD == 0);
    let frame_pointer = match row.register(X86_64::RBP) {
        None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => Some(0),
        Some(RegisterRule::Offset(bytes)) => words(bytes).and_then(|words| i8::try_from(words).ok()),
        // A saved one that the frame's pointer itself leads to: functions that align their stack.
        Some(RegisterRule::Expression(rule)) => is_frame_pointer(section, &rule).then_some(SAVED_IN_PLACE),
        _ => None,
    };
    let end = match row.cfa() {
        CfaRule::RegisterAndOffset { register: X86_64::RSP, offset } => words(*offset).map(|d| (End::Stack, d)),
        CfaRule::RegisterAndOffset { register: X86_64::RBP, offset } => words(*offset).map(|d| (End::Frame, d)),
        CfaRule::RegisterAndOffset { .. } => None,
        CfaRule::Expression(rule) => of_expression(section, rule),
    };
    match (end, frame_pointer) {
        (Some((end, distance)), Some(frame_pointer)) => Row { address, end, frame_pointer, distance },
        _ => unknown,
    }
}

/// In place of where a frame pointer was saved: the caller's frame pointer is the word that the frame pointer leads to.
pub const SAVED_IN_PLACE: i8 = i8::MIN;

/// The expressions that linkers and compilers write for a frame's end.
fn of_expression(section: &EhFrame<Slice<'_>>, rule: &gimli::UnwindExpression<usize>) -> Option<(End, i16)> {
    let expression = rule.get(section).ok()?;
    let bytes = expression.0.slice();
    match bytes {
        // rsp + 8 + ((rip & 15) >= pushed) * 8, as the linkers have it for their stubs.
        [0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, pushed @ 0x30..=0x3f, 0x2a, 0x33, 0x24, 0x22] => {
            Some((End::Linkage, i16::from(pushed - 0x30)))
        }
        // *(rbp + n)
        [0x76, distance, 0x06] => {
            let bytes = short_number(*distance)?;
            (bytes % WORD == 0).then_some((End::FramePointed, (bytes / WORD) as i16))
        }
        _ => None,
    }
}

/// Whether an expression is `rbp`.
fn is_frame_pointer(section: &EhFrame<Slice<'_>>, rule: &gimli::UnwindExpression<usize>) -> bool {
    rule.get(section).is_ok_and(|expression| expression.0.slice() == [0x76, 0])
}

/// A signed LEB128 number of one byte.
fn short_number(byte: u8) -> Option<i64> {
    (byte < 0x80).then(|| i64::from((byte << 1) as i8 >> 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(rows: &[Row], address: u64) -> Row {
        rows[rows.partition_point(|row| u64::from(row.address) <= address) - 1]
    }

    #[test]
    fn this_very_program_says_how_its_frames_end() {
        let path = std::env::current_exe().unwrap();
        let Frames { segments, rows } = frames(&path).unwrap();
        assert!(!segments.is_empty() && rows.len() > 1000, "{segments:?} {}", rows.len());
        assert!(rows.is_sorted_by_key(|row| row.address));
        let binary = crate::binary::elf::Binary::open(&path, &[]).unwrap();
        let begin = binary.function("_start").map(|f| f.address).expect("a program begins somewhere");
        // Nobody has called it, or the linker's start files say nothing of it.
        assert!(matches!(holding(&rows, begin + 4).end, End::First | End::Unsaid));
        let told = rows.iter().filter(|row| matches!(row.end, End::Stack | End::Frame)).count();
        let unknown = rows.iter().filter(|row| row.end == End::Unknown).count();
        assert!(unknown * 20 < told, "{unknown} of {} rows can't be held", rows.len());
    }

    #[test]
    fn rows_are_eight_bytes_as_programs_read_them() {
        let row = Row { address: 0x1234_5678, end: End::Frame, frame_pointer: -2, distance: 3 };
        assert_eq!(u64::from(row).to_le_bytes(), [0x78, 0x56, 0x34, 0x12, 2, 0xfe, 3, 0]);
    }

    #[test]
    fn a_function_behind_another_takes_the_place_of_its_end() {
        let row = |address, end| Row { address, end, frame_pointer: 0, distance: 1 };
        let all = vec![row(30, End::Unsaid), row(10, End::Stack), row(20, End::Unsaid), row(20, End::Stack)];
        assert_eq!(joined(all), [row(10, End::Stack), row(30, End::Unsaid)]);
    }

    /// An entry: its length, what it refers to, its content.
    fn entry(refers_to: u32, content: &[u8]) -> Vec<u8> {
        let length = 4 + content.len() as u32;
        [&length.to_le_bytes()[..], &refers_to.to_le_bytes(), content].concat()
    }

    /// What functions have in common: the frame ends 8 bytes from the stack pointer, the return address is below its end.
    fn preamble(more: &[u8]) -> Vec<u8> {
        entry(0, &[&[1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1][..], more].concat())
    }

    /// A section of some functions of 16 bytes each, from address 0x1000 on.
    fn section(preamble: &[u8], functions: u32, instructions: &[u8]) -> Vec<u8> {
        let mut section = preamble.to_vec();
        for function in 0..functions {
            let begin = 0x1000 + 16 * u64::from(function);
            let content = [&begin.to_le_bytes()[..], &16_u64.to_le_bytes(), instructions].concat();
            section.extend(entry(section.len() as u32 + 4, &content));
        }
        section
    }

    #[test]
    fn rows_of_a_function_and_none_behind_it() {
        // After 4 bytes a word is pushed, after 8 the frame pointer leads to the frame's end.
        let pushed = [0x44, 0x0e, 16, 0x86, 2, 0x44, 0x0d, 6];
        let row = |address, end, frame_pointer, distance| Row { address, end, frame_pointer, distance };
        assert_eq!(
            rows_in(&section(&preamble(&[]), 1, &pushed)),
            [
                row(0x1000, End::Stack, 0, 1),
                row(0x1004, End::Stack, -2, 2),
                row(0x1008, End::Frame, -2, 2),
                row(0x1010, End::Unsaid, 0, 0),
            ]
        );
    }

    #[test]
    fn stubs_of_linkage_keep_where_they_have_pushed() {
        for pushed in [10_u8, 11] {
            let rule = [0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x30 + pushed, 0x2a, 0x33, 0x24, 0x22];
            let rows = rows_in(&section(&preamble(&[]), 1, &rule));
            assert_eq!((rows[0].end, rows[0].distance), (End::Linkage, i16::from(pushed)));
        }
    }

    #[test]
    fn damaged_sections_end() {
        for fill in 0..=255_u8 {
            assert!(rows_in(&[fill; 200]).len() <= 200);
        }
        let whole = section(&preamble(&[0x44; 8]), 20, &[0x44, 0x0e, 16]);
        for at in 0..whole.len() {
            assert!(rows_in(&whole[..at]).len() <= 100);
            for bits in [0xff, 0x80, 1] {
                let mut damaged = whole.clone();
                damaged[at] ^= bits;
                let rows = rows_in(&damaged);
                assert!(rows.is_sorted_by(|a, b| a.address < b.address), "byte {at}");
            }
        }
    }

    #[test]
    fn functions_that_share_a_long_preamble_are_followed_up_to_a_bound() {
        let long = preamble(&vec![0; MOST_WORK / 64]);
        let rows = rows_in(&section(&long, 200, &[]));
        let functions = (rows.last().map_or(0, |row| row.address) - 0x1000) / 16;
        assert!((32..=66).contains(&functions), "{functions}");
        // Every byte is a row.
        let many = section(&preamble(&[]), 1, &vec![0x41; MOST_ROWS + 1000]);
        assert!(rows_in(&many).len() <= MOST_ROWS);
    }
}
