//! The parts of a trace.dat, as its two versions tell of them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use object::read::{CompressedData, CompressionFormat};

use super::{Buffer, DatError, MOST_BYTES, MOST_CPUS, MOST_EVENTS, Part};
use crate::kernel::ring::Abi;

/// What a file begins with.
pub const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Options of both versions (`trace-cmd-private.h`).
const BUFFER: u16 = 3;
const CLOCK: u16 = 4;
const UNAME: u16 = 5;
/// Options of version 7 that tell where sections are.
const HEADER: u16 = 16;
const FORMS: u16 = 17;
const EVENTS: u16 = 18;
const SYMBOLS: u16 = 19;
const PRINTK: u16 = 20;
const COMMS: u16 = 21;
/// A section that is packed.
const IS_PACKED: u16 = 1;
/// Sections of options that are followed.
const MOST_SECTIONS: u32 = 1000;

/// All that is told.
#[derive(Debug, Default)]
pub struct Sections {
    pub version: u32,
    pub abi: Abi,
    pub page: usize,
    pub header_page: String,
    pub events: Vec<(Arc<str>, String)>,
    pub symbols: Vec<u8>,
    pub printk: String,
    pub comms: String,
    pub uname: String,
    pub buffers: Vec<Buffer>,
}

/// Where bytes come from.
enum Bytes<'f> {
    File(&'f File),
    Memory(Vec<u8>),
}

/// Reads one after the other.
pub struct Reader<'f> {
    bytes: Bytes<'f>,
    at: u64,
    length: u64,
    abi: Abi,
    path: &'f str,
}

impl<'f> Reader<'f> {
    /// At the beginning of a file.
    pub const fn new(file: &'f File, length: u64, path: &'f str) -> Self {
        Self { bytes: Bytes::File(file), at: 0, length, abi: Abi::NATIVE, path }
    }

    fn fail<T>(&self, why: &str) -> Result<T, DatError> {
        Err(DatError::Malformed { path: self.path.to_owned(), at: self.at, why: why.to_owned() })
    }

    fn take(&mut self, length: u64) -> Result<Vec<u8>, DatError> {
        if length > MOST_BYTES || length > self.length.saturating_sub(self.at) {
            return self.fail(&format!("a part of {length} bytes reaches over the end"));
        }
        let mut found = vec![0; length as usize];
        match &self.bytes {
            Bytes::File(file) => {
                let read = file.read_exact_at(&mut found, self.at);
                read.map_err(|source| DatError::Io { path: self.path.to_owned(), source })?;
            }
            Bytes::Memory(bytes) => found.copy_from_slice(&bytes[self.at as usize..(self.at + length) as usize]),
        }
        self.at += length;
        Ok(found)
    }

    fn number(&mut self, size: usize) -> Result<u64, DatError> {
        let bytes = self.take(size as u64)?;
        Ok(self.abi.uint(&bytes, 0, size).unwrap_or(0))
    }

    fn word(&mut self) -> Result<u32, DatError> {
        self.number(4).map(|n| n as u32)
    }

    fn half(&mut self) -> Result<u16, DatError> {
        self.number(2).map(|n| n as u16)
    }

    /// Text up to its NUL.
    fn text(&mut self) -> Result<String, DatError> {
        let mut found = Vec::new();
        loop {
            match self.take(1)?[0] {
                0 => return Ok(String::from_utf8_lossy(&found).into_owned()),
                _ if found.len() > 4096 => return self.fail("a name has no end"),
                byte => found.push(byte),
            }
        }
    }

    /// A length, and so many bytes as text.
    fn sized(&mut self, size: usize) -> Result<Vec<u8>, DatError> {
        let length = self.number(size)?;
        self.take(length)
    }

    fn sized_text(&mut self, size: usize) -> Result<String, DatError> {
        self.sized(size).map(|bytes| String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
    }

    fn tag(&mut self, wanted: &str) -> Result<(), DatError> {
        if self.text()? == wanted { Ok(()) } else { self.fail(&format!("`{wanted}` is missing")) }
    }

    /// A part of the file that begins there.
    fn there(&self, at: u64) -> Result<Self, DatError> {
        let Bytes::File(file) = &self.bytes else { return self.fail("a part within a part") };
        Ok(Self { bytes: Bytes::File(file), at, length: self.length, abi: self.abi, path: self.path })
    }

    /// Its data, unpacked, of a section of version 7 that begins there; and whether it was packed.
    fn section(&self, at: u64, kind: u16, packing: &str) -> Result<(Self, bool), DatError> {
        let mut head = self.there(at)?;
        let (found, flags) = (head.half()?, head.half()?);
        head.word()?;
        let length = head.number(8)?;
        if found != kind {
            return head.fail(&format!("section {kind} is missing"));
        }
        if flags & IS_PACKED == 0 {
            return Ok((Self { length: head.at.saturating_add(length).min(self.length), ..head }, false));
        }
        let (packed, whole) = (head.word()?, head.word()?);
        let data = unpack(packing, &head.take(packed.into())?, whole.into())
            .or_else(|e| head.fail(&format!("its {packing} data can't be unpacked: {e}")))?;
        let length = data.len() as u64;
        Ok((Self { bytes: Bytes::Memory(data), at: 0, length, abi: self.abi, path: self.path }, true))
    }
}

/// Unpacks data of one of trace-cmd's algorithms.
pub fn unpack(packing: &str, data: &[u8], whole: u64) -> io::Result<Vec<u8>> {
    if whole > MOST_BYTES {
        return Err(io::Error::other(format!("it claims {whole} bytes")));
    }
    let format = match packing {
        "none" => return Ok(data.to_vec()),
        "zstd" => CompressionFormat::Zstandard,
        "zlib" => CompressionFormat::Zlib,
        other => return Err(io::Error::other(format!("the algorithm {other} is not known"))),
    };
    let packed = CompressedData { format, data, uncompressed_size: whole };
    packed.decompress().map(std::borrow::Cow::into_owned).map_err(io::Error::other)
}

/// All parts but the pages.
pub fn sections(mut reader: Reader<'_>) -> Result<Sections, DatError> {
    if reader.length < 16 || reader.take(MAGIC.len() as u64)? != MAGIC {
        return Err(DatError::Other { path: reader.path.to_owned() });
    }
    let version = reader.text()?;
    let (order, long) = (reader.take(1)?[0], reader.take(1)?[0]);
    if order > 1 || !matches!(long, 4 | 8) {
        return reader.fail("its byte order or word length makes no sense");
    }
    reader.abi = Abi { big_endian: order == 1, long };
    let page = reader.word()? as usize;
    let mut sections = Sections { abi: reader.abi, page, ..Sections::default() };
    match version.as_str() {
        "6" => {
            sections.version = 6;
            version_6(&mut reader, &mut sections)?;
        }
        "7" => {
            sections.version = 7;
            version_7(&mut reader, &mut sections)?;
        }
        other => return reader.fail(&format!("its version is {other}; 6 and 7 are read")),
    }
    Ok(sections)
}

fn header(reader: &mut Reader<'_>, sections: &mut Sections) -> Result<(), DatError> {
    reader.tag("header_page")?;
    sections.header_page = reader.sized_text(8)?;
    reader.tag("header_event")?;
    reader.sized(8).map(drop)
}

fn forms(reader: &mut Reader<'_>, sections: &mut Sections) -> Result<(), DatError> {
    for _ in 0..reader.word()?.min(MOST_EVENTS) {
        let text = reader.sized_text(8)?;
        sections.events.push(("ftrace".into(), text));
    }
    Ok(())
}

fn events(reader: &mut Reader<'_>, sections: &mut Sections) -> Result<(), DatError> {
    for _ in 0..reader.word()?.min(MOST_EVENTS) {
        let system: Arc<str> = reader.text()?.into();
        for _ in 0..reader.word()? {
            let text = reader.sized_text(8)?;
            if sections.events.len() >= MOST_EVENTS as usize {
                return reader.fail("it has too many events");
            }
            sections.events.push((Arc::clone(&system), text));
        }
    }
    Ok(())
}

fn version_6(reader: &mut Reader<'_>, sections: &mut Sections) -> Result<(), DatError> {
    header(reader, sections)?;
    forms(reader, sections)?;
    events(reader, sections)?;
    sections.symbols = reader.sized(4)?;
    sections.printk = reader.sized_text(4)?;
    sections.comms = reader.sized_text(8)?;
    let cpus = reader.word()?;
    if cpus > MOST_CPUS {
        return reader.fail(&format!("it claims {cpus} CPUs"));
    }
    let mut others = Vec::new();
    let mut clock = String::new();
    let mut kind = reader.take(10)?;
    if kind.starts_with(b"options") {
        loop {
            let id = reader.half()?;
            if id == 0 {
                break;
            }
            let data = reader.sized(4)?;
            match id {
                BUFFER => {
                    let at = reader.abi.uint(&data, 0, 8).unwrap_or(0);
                    let name = String::from_utf8_lossy(data.get(8..).unwrap_or(&[])).trim_end_matches('\0').to_owned();
                    others.push((at, name));
                }
                CLOCK => clock = chosen_clock(&data),
                UNAME => String::from_utf8_lossy(&data).trim_end_matches('\0').clone_into(&mut sections.uname),
                _ => {}
            }
        }
        kind = reader.take(10)?;
    }
    if !kind.starts_with(b"flyrecord") {
        return reader.fail("it has no pages (a latency trace is text: read it with trace-cmd)");
    }
    let top = places(reader, cpus)?;
    sections.buffers.push(Buffer { clock: clock.clone(), cpus: top, ..Buffer::default() });
    for (at, name) in others {
        let mut there = reader.there(at)?;
        if !there.take(10)?.starts_with(b"flyrecord") {
            return there.fail("a buffer is missing");
        }
        let cpus = places(&mut there, cpus)?;
        sections.buffers.push(Buffer { name, clock: clock.clone(), cpus, ..Buffer::default() });
    }
    Ok(())
}

/// `[local] global …`: the one in brackets, or the text where it is one word.
fn chosen_clock(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(data);
    let text = text.trim_end_matches('\0').trim();
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(clock, _)| clock);
    inside.unwrap_or(text).to_owned()
}

fn places(reader: &mut Reader<'_>, cpus: u32) -> Result<Vec<Part>, DatError> {
    let mut found = Vec::new();
    for cpu in 0..cpus {
        let (at, length) = (reader.number(8)?, reader.number(8)?);
        found.push(part(reader, cpu, at, length)?);
    }
    Ok(found)
}

fn part(reader: &Reader<'_>, cpu: u32, at: u64, length: u64) -> Result<Part, DatError> {
    let end = at.checked_add(length).filter(|end| *end <= reader.length || length == 0);
    match (end, u16::try_from(cpu)) {
        (Some(_), Ok(cpu)) => Ok(Part { cpu, at, length }),
        // What is there of a file that was cut is read.
        (None, Ok(cpu)) if at < reader.length => Ok(Part { cpu, at, length: reader.length - at }),
        _ => reader.fail(&format!("the pages of CPU {cpu} are not in it")),
    }
}

fn version_7(reader: &mut Reader<'_>, sections: &mut Sections) -> Result<(), DatError> {
    let packing = reader.text()?;
    reader.text()?;
    let mut next = reader.number(8)?;
    let mut count = 0;
    while next != 0 {
        count += 1;
        if count > MOST_SECTIONS {
            return reader.fail("its options have no end");
        }
        let (mut options, _) = reader.section(next, 0, &packing)?;
        next = 0;
        while options.at < options.length {
            let id = options.half()?;
            let data = options.sized(4)?;
            if id == 0 {
                next = options.abi.uint(&data, 0, 8).unwrap_or(0);
                break;
            }
            option_7(reader, sections, &packing, id, data)?;
        }
    }
    // The top instance's stands first.
    sections.buffers.sort_by_key(|buffer| !buffer.name.is_empty());
    Ok(())
}

fn option_7(
    reader: &Reader<'_>,
    sections: &mut Sections,
    packing: &str,
    id: u16,
    data: Vec<u8>,
) -> Result<(), DatError> {
    let place = reader.abi.uint(&data, 0, 8).unwrap_or(0);
    let section = || reader.section(place, id, packing).map(|(section, _)| section);
    match id {
        HEADER => header(&mut section()?, sections)?,
        FORMS => forms(&mut section()?, sections)?,
        EVENTS => events(&mut section()?, sections)?,
        SYMBOLS => sections.symbols = section()?.sized(4)?,
        PRINTK => sections.printk = section()?.sized_text(4)?,
        COMMS => sections.comms = section()?.sized_text(8)?,
        UNAME => String::from_utf8_lossy(&data).trim_end_matches('\0').clone_into(&mut sections.uname),
        BUFFER => {
            let length = data.len() as u64;
            let mut told = Reader { bytes: Bytes::Memory(data), at: 0, length, abi: reader.abi, path: reader.path };
            let at = told.number(8)?;
            let (name, clock) = (told.text()?, told.text()?);
            let (page, cpus) = (told.word()? as usize, told.word()?.min(MOST_CPUS));
            let mut head = reader.there(at)?;
            let (_, flags) = (head.half()?, head.half()?);
            let mut parts = Vec::new();
            for _ in 0..cpus {
                let (cpu, at, length) = (told.word()?, told.number(8)?, told.number(8)?);
                parts.push(part(reader, cpu, at, length)?);
            }
            let packed = flags & IS_PACKED != 0 && packing != "none";
            sections.buffers.push(Buffer {
                name,
                clock,
                page,
                packed: packed.then(|| packing.to_owned()),
                cpus: parts,
            });
        }
        _ => {}
    }
    Ok(())
}
