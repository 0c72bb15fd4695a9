//! Binaries inside ZIP archives, written `archive.zip!/member` as Android's loader writes them: libraries
//! that are stored without compression are mapped from the archive itself, so that a place in one is a
//! place in the archive (APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16, has the format).

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// What stands between an archive and its member.
const BETWEEN: &str = "!/";
/// The end record and the longest comment behind it.
const LONGEST_END: u64 = 22 + 0xffff;
/// Largest table of members that is read.
const MAX_TABLE: u64 = 64 << 20;

const END: &[u8] = b"PK\x05\x06";
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

/// Where a member's bytes are in its archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Offset in the archive.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// The archive and the member of a path that names both.
#[must_use]
pub fn split(path: &Path) -> Option<(PathBuf, &str)> {
    let (archive, member) = path.to_str()?.split_once(BETWEEN)?;
    (!archive.is_empty() && !member.is_empty()).then(|| (archive.into(), member))
}

/// The file that a path is in: the archive of one that names a member.
#[must_use]
pub fn file_of(path: &Path) -> PathBuf {
    split(path).map_or_else(|| path.to_owned(), |(archive, _)| archive)
}

/// Finds a member that is stored as it is.
///
/// # Errors
/// In words: the file is no archive, has no such member, or has it compressed.
pub fn find(file: &File, name: &str) -> Result<Member, String> {
    let table = table(file).ok_or("it is no ZIP archive")?;
    let entry = entries(&table).find(|e| e.name == name.as_bytes()).ok_or_else(|| format!("it holds no `{name}`"))?;
    if entry.compressed {
        return Err(format!("`{name}` is compressed in it, so that nothing runs from there"));
    }
    let damaged = "its table of members is damaged";
    let mut header = [0; 30];
    file.read_exact_at(&mut header, entry.offset).map_err(|_| damaged)?;
    if !header.starts_with(LOCAL) {
        return Err(damaged.into());
    }
    let lengths = number(&header, 26, 2).unwrap_or(0) + number(&header, 28, 2).unwrap_or(0);
    Ok(Member { offset: entry.offset + header.len() as u64 + lengths, size: entry.size })
}

/// A line of the table of members.
struct Entry<'t> {
    name: &'t [u8],
    compressed: bool,
    size: u64,
    /// Offset of the member's own header.
    offset: u64,
}

/// The table of members.
fn table(file: &File) -> Option<Vec<u8>> {
    let length = file.metadata().ok()?.len();
    let read = length.min(LONGEST_END);
    let mut end = vec![0; read as usize];
    file.read_exact_at(&mut end, length - read).ok()?;
    let at = end.windows(END.len()).rposition(|w| w == END)?;
    let (size, offset) = (number(&end, at + 12, 4)?, number(&end, at + 16, 4)?);
    let mut table = vec![0; usize::try_from(size).ok().filter(|_| size <= MAX_TABLE.min(length))?];
    file.read_exact_at(&mut table, offset).ok()?;
    Some(table)
}

fn entries(table: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    let mut rest = table;
    std::iter::from_fn(move || {
        let entry = rest.starts_with(ENTRY).then_some(rest)?;
        let length = |at| number(entry, at, 2).map(|n| n as usize);
        let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
        let name = entry.get(46..46 + name)?;
        rest = entry.get(46 + name.len() + extra + comment..)?;
        Some(Entry {
            name,
            compressed: number(entry, 10, 2)? != 0,
            size: number(entry, 20, 4)?,
            offset: number(entry, 42, 4)?,
        })
    })
}

/// A little-endian number of `size` bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn little(value: usize, size: usize) -> Vec<u8> {
        value.to_le_bytes()[..size].to_vec()
    }

    /// An archive of members with their method: 0 for stored.
    fn archive(members: &[(&str, u16, &[u8])]) -> Vec<u8> {
        let (mut bytes, mut table) = (b"before".to_vec(), Vec::new());
        for (name, method, data) in members {
            let at = bytes.len();
            let common =
                [little(*method as usize, 2), vec![0; 8], little(data.len(), 4), little(data.len(), 4)].concat();
            let names = little(name.len(), 2);
            bytes.extend([LOCAL, &[0; 4], &common, &names, &[3, 0], name.as_bytes(), b"pad", data].concat());
            table.extend([ENTRY, &[0; 6], &common, &names, &[0; 12], &little(at, 4), name.as_bytes()].concat());
        }
        let (at, size) = (bytes.len(), table.len());
        bytes.extend([&table, END, &[0; 8], &little(size, 4), &little(at, 4), &[2, 0], b"no"].concat());
        bytes
    }

    #[test]
    fn stored_members_are_found_where_they_are() {
        let bytes = archive(&[("lib/a.so", 0, b"first"), ("lib/b.so", 0, b"second"), ("c", 8, b"third")]);
        let path = std::env::temp_dir().join(format!("probescope-archive-{}", std::process::id()));
        std::fs::write(&path, &bytes).unwrap();
        let file = File::open(&path).unwrap();
        let Member { offset, size } = find(&file, "lib/b.so").unwrap();
        assert_eq!(&bytes[offset as usize..(offset + size) as usize], b"second");
        assert!(find(&file, "c").unwrap_err().contains("compressed"));
        assert!(find(&file, "lib").unwrap_err().contains("holds no"));
        // Damage anywhere gives an error or another answer, never a panic.
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            std::fs::write(&path, &damaged).unwrap();
            let _ = find(&File::open(&path).unwrap(), "lib/a.so");
        }
        std::fs::write(&path, b"PK").unwrap();
        assert!(find(&File::open(&path).unwrap(), "c").unwrap_err().contains("no ZIP archive"));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn only_both_parts_make_a_member() {
        assert_eq!(split(Path::new("a.zip!/x/y")), Some(("a.zip".into(), "x/y")));
        assert_eq!(split(Path::new("a.zip!/")), None);
        assert_eq!(split(Path::new("a!b")), None);
        assert_eq!(file_of(Path::new("/a.apk!/l.so")), Path::new("/a.apk"));
    }
}
