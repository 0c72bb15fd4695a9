//! Files of trace-cmd: trace.dat in its versions 6 and 7. What a file says is checked against its length; pages are read
//! where they lie, a few at a time.

mod file;
mod pages;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::ring::{Rings, Source};
use super::shapes::formats;
use super::{Comms, Names, Session, Shapes};
use crate::kernel::record::RecordShape;
use crate::kernel::ring::{Abi, PageLayout, Position};
use crate::kernel::symbols::SymbolTable;
use crate::kernel::tracefs::TracepointFormat;
use file::{Reader, Sections};
use pages::{Packed, Plain};

/// Largest part of a file that is read at once, bytes.
const MOST_BYTES: u64 = 256 << 20;
/// Events that are believed.
const MOST_EVENTS: u32 = 100_000;
/// CPUs that are believed.
const MOST_CPUS: u32 = 8192;

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DatError {
    /// The system's answer.
    #[error("cannot read {path}: {source}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// It is something else.
    #[error("{path} is no trace.dat: it does not begin as one")]
    Other {
        /// Which.
        path: String,
    },
    /// A part of it makes no sense.
    #[error("{path} makes no sense at byte {at}: {why}")]
    Malformed {
        /// Which.
        path: String,
        /// Where.
        at: u64,
        /// What is wrong.
        why: String,
    },
}

/// One buffer of a file: the top instance's, or another's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    /// The instance; empty for the top one.
    pub name: String,
    /// The clock of its times; empty where the file does not say.
    pub clock: String,
    /// Bytes of a page.
    page: usize,
    /// How they are packed; `None` where they lie as they are.
    packed: Option<String>,
    cpus: Vec<Part>,
}

/// A CPU's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    cpu: u16,
    at: u64,
    length: u64,
}

/// A file that was opened.
#[derive(Debug)]
pub struct Dat {
    file: Arc<File>,
    path: String,
    /// Its version: 6 or 7.
    pub version: u32,
    /// Of the machine that wrote it.
    pub abi: Abi,
    /// How that calls itself.
    pub uname: String,
    /// Buffers, the top instance's first.
    pub buffers: Vec<Buffer>,
    layout: PageLayout,
    events: Vec<(Arc<str>, String)>,
    symbols: Vec<u8>,
    printk: String,
    comms: String,
}

/// Whether a file begins as a trace.dat does.
#[must_use]
pub fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(file::MAGIC)
}

impl Dat {
    /// Opens a file.
    ///
    /// # Errors
    /// When it can't be read, is something else, or is damaged where its parts are told.
    pub fn open(path: &Path) -> Result<Self, DatError> {
        let name = path.display().to_string();
        let io = |source| DatError::Io { path: name.clone(), source };
        let file = crate::regular::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let reader = Reader::new(&file, length, &name);
        let sections = file::sections(reader)?;
        Self::of(Arc::new(file), name.clone(), sections)
    }

    fn of(file: Arc<File>, path: String, sections: Sections) -> Result<Self, DatError> {
        let Sections { version, abi, page, header_page, events, symbols, printk, comms, uname, mut buffers } = sections;
        let layout = PageLayout::parse(abi, &header_page).map_err(|why| DatError::Malformed {
            path: path.clone(),
            at: 0,
            why: format!("header_page: {why}"),
        })?;
        for buffer in &mut buffers {
            buffer.page = if buffer.page == 0 { page } else { buffer.page }.clamp(layout.data + 4, 1 << 20);
        }
        Ok(Self { file, path, version, abi: layout.abi, uname, buffers, layout, events, symbols, printk, comms })
    }

    /// What is in it, by shape. Formats that make no sense are left out, and counted.
    #[must_use]
    pub fn shapes(&self) -> (Vec<RecordShape>, usize) {
        let mut bad = 0;
        let mut shapes = Vec::new();
        for (system, text) in &self.events {
            let name = text.lines().find_map(|line| line.strip_prefix("name:")).unwrap_or("").trim();
            match TracepointFormat::parse(system, name, text) {
                Ok(format) => shapes.push(RecordShape::of(&format, self.abi)),
                Err(_) => bad += 1,
            }
        }
        (shapes, bad)
    }

    /// Names of its machine's functions.
    #[must_use]
    pub fn names(&self) -> Names {
        Names::Recorded(SymbolTable::parse(self.symbols.clone()), self.formats())
    }

    fn formats(&self) -> HashMap<u64, Arc<str>> {
        formats(&self.printk)
    }

    fn source(&self, buffer: &Buffer, part: &Part) -> Box<dyn Source> {
        let file = Arc::clone(&self.file);
        match &buffer.packed {
            Some(packing) => Box::new(Packed::new(file, packing, (part.at, part.length), buffer.page, self.abi)),
            None => Box::new(Plain::new(file, part.at, part.length, buffer.page)),
        }
    }

    /// The clock at its beginning; 0 where it has nothing.
    #[must_use]
    pub fn begins(&self, buffer: &Buffer) -> u64 {
        let mut page = vec![0; buffer.page];
        let first = buffer.cpus.iter().filter_map(|part| {
            let length = self.source(buffer, part).read(&mut page).ok().filter(|length| *length > 0)?;
            Some(Position::begin(&self.layout, &page[..length]).ok()?.clock())
        });
        first.min().unwrap_or(0)
    }

    /// Reads a buffer from its beginning.
    #[must_use]
    pub fn session(&self, buffer: &Buffer) -> Session {
        let sources = buffer.cpus.iter().map(|part| (part.cpu, self.source(buffer, part)));
        let rings = Rings::of_sources(PageLayout { size: buffer.page, ..self.layout }, sources, &self.path);
        let (shapes, _) = self.shapes();
        Session::recorded(rings, Shapes::recorded(shapes, self.abi), self.names(), Comms::listed(&self.comms))
    }
}
