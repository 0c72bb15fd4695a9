//! Sections of a file, read page by page as they are needed: a binary with gigabytes of debug
//! information costs what one question touches. Files are read, never mapped: one that is cut while
//! it is read gives an error, not a signal.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use gimli::{Error, LittleEndian, ReaderOffsetId};

/// Bytes of one page.
const PAGE: u64 = 32 << 10;
/// Pages that are kept of one section.
const MOST_PAGES: usize = 1024;
/// Largest section that is kept unpacked, bytes.
const MOST_UNPACKED: u64 = 512 << 20;

type Result<T> = gimli::Result<T>;

/// A section of a file.
#[derive(Debug)]
pub struct Section {
    source: Source,
    len: u64,
}

#[derive(Debug)]
enum Source {
    Empty,
    File { file: Arc<File>, offset: u64, pages: Mutex<HashMap<u64, Arc<[u8]>>> },
    Packed { file: Arc<File>, offset: u64, packed: u64, format: object::CompressionFormat, bytes: OnceLock<Arc<[u8]>> },
}

impl Section {
    /// No bytes at all.
    pub fn empty() -> Self {
        Self { source: Source::Empty, len: 0 }
    }

    /// Bytes of a file as they are.
    pub fn plain(file: Arc<File>, offset: u64, len: u64) -> Self {
        Self { source: Source::File { file, offset, pages: Mutex::default() }, len }
    }

    /// Bytes that the linker compressed; unpacked when first read.
    pub fn packed(file: Arc<File>, range: object::CompressedFileRange) -> Self {
        let (offset, packed, format) = (range.offset, range.compressed_size, range.format);
        let bytes = OnceLock::new();
        Self { source: Source::Packed { file, offset, packed, format, bytes }, len: range.uncompressed_size }
    }

    /// The page that holds an offset, and where it begins.
    fn page(&self, at: u64) -> io::Result<(u64, Arc<[u8]>)> {
        match &self.source {
            Source::Empty => Err(io::ErrorKind::UnexpectedEof.into()),
            Source::File { file, offset, pages } => {
                let number = at / PAGE;
                let base = number * PAGE;
                let mut pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(page) = pages.get(&number) {
                    return Ok((base, Arc::clone(page)));
                }
                let mut bytes = vec![0; PAGE.min(self.len.saturating_sub(base)) as usize];
                let from = offset.checked_add(base).ok_or(io::ErrorKind::InvalidData)?;
                file.read_exact_at(&mut bytes, from)?;
                if pages.len() >= MOST_PAGES {
                    pages.clear();
                }
                let page: Arc<[u8]> = bytes.into();
                pages.insert(number, Arc::clone(&page));
                Ok((base, page))
            }
            Source::Packed { file, offset, packed, format, bytes } => {
                if let Some(known) = bytes.get() {
                    return Ok((0, Arc::clone(known)));
                }
                let fresh: Arc<[u8]> = unpack(file, *offset, *packed, *format, self.len)?.into();
                Ok((0, Arc::clone(bytes.get_or_init(|| fresh))))
            }
        }
    }
}

fn unpack(file: &File, offset: u64, packed: u64, format: object::CompressionFormat, len: u64) -> io::Result<Vec<u8>> {
    let bad = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let held = file.metadata()?.len();
    if len > MOST_UNPACKED || packed > held {
        return Err(bad("a compressed section is too large"));
    }
    let mut data = vec![0; packed as usize];
    file.read_exact_at(&mut data, offset)?;
    let data = object::CompressedData { format, data: &data, uncompressed_size: len };
    data.decompress().map(Cow::into_owned).map_err(|e| bad(&e.to_string()))
}

/// A part of a section, as gimli reads it.
#[derive(Clone)]
pub struct Window {
    section: Arc<Section>,
    start: u64,
    end: u64,
    /// The page last read, which begins at `base`: most reads go on where the last one ended.
    page: Option<Arc<[u8]>>,
    base: u64,
}

impl std::fmt::Debug for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Window({}..{})", self.start, self.end)
    }
}

impl Window {
    /// All of a section.
    pub fn new(section: Arc<Section>) -> Self {
        let end = section.len;
        Self { section, start: 0, end, page: None, base: 0 }
    }

    fn end_of_data(&self) -> Error {
        Error::UnexpectedEof(ReaderOffsetId(self.start))
    }

    /// The bytes from `at` to the end of their page (or of the window); never empty.
    fn run(&mut self, at: u64) -> Result<&[u8]> {
        if at >= self.end {
            return Err(self.end_of_data());
        }
        let inside = |base: u64, page: &[u8]| at >= base && at - base < page.len() as u64;
        if !self.page.as_ref().is_some_and(|p| inside(self.base, p)) {
            let (base, page) = self.section.page(at).map_err(|_| Error::UnexpectedEof(ReaderOffsetId(at)))?;
            self.base = base;
            self.page = Some(page);
        }
        let from = (at - self.base) as usize;
        let most = (self.end - at).min(usize::MAX as u64) as usize;
        let run = self.page.as_ref().and_then(|p| p.get(from..)).filter(|r| !r.is_empty());
        let run = run.ok_or(Error::UnexpectedEof(ReaderOffsetId(at)))?;
        Ok(&run[..run.len().min(most)])
    }

    /// Whether these bytes come next, followed by a NUL.
    pub fn is_text(&self, text: &[u8]) -> bool {
        let mut reader = self.clone();
        let mut at = self.start;
        let mut rest = text;
        while !rest.is_empty() {
            let Ok(run) = reader.run(at) else { return false };
            let n = run.len().min(rest.len());
            if run[..n] != rest[..n] {
                return false;
            }
            at += n as u64;
            rest = &rest[n..];
        }
        at == self.end || reader.run(at).is_ok_and(|run| run.first() == Some(&0))
    }
}

impl gimli::Reader for Window {
    type Endian = LittleEndian;
    type Offset = usize;

    fn endian(&self) -> LittleEndian {
        LittleEndian
    }

    fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    fn empty(&mut self) {
        self.end = self.start;
    }

    fn truncate(&mut self, len: usize) -> Result<()> {
        if len as u64 > self.end - self.start {
            return Err(self.end_of_data());
        }
        self.end = self.start + len as u64;
        Ok(())
    }

    fn offset_from(&self, base: &Self) -> usize {
        self.start.saturating_sub(base.start) as usize
    }

    fn offset_id(&self) -> ReaderOffsetId {
        ReaderOffsetId(self.start)
    }

    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        (self.start..=self.end).contains(&id.0).then(|| (id.0 - self.start) as usize)
    }

    fn find(&self, byte: u8) -> Result<usize> {
        let mut reader = self.clone();
        let mut at = self.start;
        loop {
            let run = reader.run(at)?;
            if let Some(found) = memchr::memchr(byte, run) {
                return Ok((at - self.start) as usize + found);
            }
            at += run.len() as u64;
        }
    }

    fn skip(&mut self, len: usize) -> Result<()> {
        if len as u64 > self.end - self.start {
            return Err(self.end_of_data());
        }
        self.start += len as u64;
        Ok(())
    }

    fn split(&mut self, len: usize) -> Result<Self> {
        let mut first = self.clone();
        first.truncate(len)?;
        self.skip(len)?;
        Ok(first)
    }

    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        let mut bytes = Vec::new();
        let mut reader = self.clone();
        let mut at = self.start;
        while at < self.end {
            let run = reader.run(at)?;
            bytes.extend_from_slice(run);
            at += run.len() as u64;
        }
        Ok(bytes.into())
    }

    fn to_string(&self) -> Result<Cow<'_, str>> {
        let bytes = self.to_slice()?.into_owned();
        String::from_utf8(bytes).map(Cow::Owned).map_err(|_| Error::BadUtf8)
    }

    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        let bytes = self.to_slice()?;
        Ok(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn read_slice(&mut self, buf: &mut [u8]) -> Result<()> {
        if buf.len() as u64 > self.end - self.start {
            return Err(self.end_of_data());
        }
        let mut filled = 0;
        while filled < buf.len() {
            let at = self.start;
            let run = self.run(at)?;
            let n = run.len().min(buf.len() - filled);
            buf[filled..filled + n].copy_from_slice(&run[..n]);
            filled += n;
            self.start += n as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use gimli::Reader as _;
    use std::io::Write as _;

    use super::*;

    fn window(bytes: &[u8], offset: u64) -> Window {
        let path = std::env::temp_dir().join(format!("probescope-window-{}-{}", std::process::id(), bytes.len()));
        File::create(&path).unwrap().write_all(bytes).unwrap();
        let file = Arc::new(File::open(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        Window::new(Arc::new(Section::plain(file, offset, bytes.len() as u64 - offset)))
    }

    #[test]
    fn reads_cross_pages() {
        let mut bytes = vec![1; PAGE as usize + 10];
        bytes[PAGE as usize + 2] = 9;
        let mut all = window(&bytes, 4);
        assert_eq!(all.find(9).unwrap(), PAGE as usize - 2);
        all.skip(PAGE as usize - 4).unwrap();
        assert_eq!(all.read_u64().unwrap(), 0x0101_0101_0109_0101 & 0x0101_0101_01ff_0101);
        assert_eq!(all.len(), 2);
        assert!(all.read_u32().is_err());
    }

    #[test]
    fn texts_are_compared_in_place() {
        let all = window(b"abc\0def", 0);
        assert!(all.is_text(b"abc") && !all.is_text(b"ab") && !all.is_text(b"abcd"));
    }

    #[test]
    fn a_section_past_the_end_of_its_file_is_an_error() {
        let mut cut = window(b"abc", 0);
        cut.section = Arc::new(Section::plain(Arc::new(File::open("/dev/null").unwrap()), 5, 3));
        cut.page = None;
        assert!(cut.read_u8().is_err());
    }
}
