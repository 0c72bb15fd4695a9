//! Reading the rings of all CPUs, and putting what they hold in one order of time.
//!
//! Pages are taken as they are and read where they lie. A record is given on once every CPU was read up to its time: of a
//! CPU whose ring was emptied that is the moment before it was looked at, less what a writer may have been held up for.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::FtraceError;
use crate::engine::monotonic_ns;
use crate::kernel::ring::{Missed, PageError, PageLayout, Position, Record};

/// Pages that are taken of a CPU before the next one is looked at.
const PAGES_A_TURN: usize = 256;
/// A writer that was interrupted between taking room and filling it is done after so long, ns.
const SLACK_NS: u64 = 5_000_000;

/// What comes of the rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A record, with the CPU that wrote it.
    Record(u16, Record<'a>),
    /// Records that the kernel overwrote on a CPU before they were read, and when that was known.
    Lost {
        /// Where.
        cpu: u16,
        /// How many; `None` where the kernel does not tell.
        count: Option<u64>,
        /// The clock of the page behind them.
        at: u64,
    },
    /// A page that makes no sense: the rest of it was left out.
    Bad(u16, PageError),
}

/// Where a CPU's pages come from.
pub trait Source: Send {
    /// A page, or 0 bytes where there is none now.
    ///
    /// # Errors
    /// When it can't be read.
    fn read(&mut self, page: &mut [u8]) -> io::Result<usize>;
}

/// `trace_pipe_raw`.
struct Pipe(File);

impl Source for Pipe {
    fn read(&mut self, page: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(page) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // A CPU that was taken away has no ring any more.
                Err(e) if e.raw_os_error() == Some(libc::ENODEV) => return Ok(0),
                read => return read,
            }
        }
    }
}

/// Pages that were read already.
#[cfg(test)]
struct Nothing;

#[cfg(test)]
impl Source for Nothing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }
}

/// A CPU's ring.
struct Cpu {
    number: u16,
    path: PathBuf,
    source: Box<dyn Source>,
    pages: VecDeque<Vec<u8>>,
    position: Option<Position>,
    /// The next record: its time, and where its data is in the first page.
    next: Option<(u64, usize, usize)>,
    /// All up to this time was taken.
    read_up_to: u64,
    /// What is told before the next record.
    told: Vec<Told>,
}

enum Told {
    Lost(Option<u64>, u64),
    Bad(PageError),
}

/// All rings of an instance.
pub struct Rings {
    layout: PageLayout,
    size: usize,
    cpus: Vec<Cpu>,
    spare: Vec<Vec<u8>>,
    /// Bytes of pages that were taken.
    pub bytes: u64,
    /// The kernel goes on writing.
    live: bool,
    /// Nothing more is written: what there is can be given on at once.
    ended: bool,
}

impl std::fmt::Debug for Rings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rings").field("cpus", &self.cpus.len()).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Rings {
    /// Opens the rings of an instance's folder.
    ///
    /// # Errors
    /// When there are none, or they may not be read.
    pub fn open(folder: &Path, layout: PageLayout) -> Result<Self, FtraceError> {
        let mut cpus = Vec::new();
        let per_cpu = folder.join("per_cpu");
        let failed =
            |operation, path: &Path, source| FtraceError::File { operation, path: path.display().to_string(), source };
        for entry in std::fs::read_dir(&per_cpu).map_err(|e| failed("read", &per_cpu, e))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(number) = name.strip_prefix("cpu").and_then(|n| n.parse().ok()) else { continue };
            let path = entry.path().join("trace_pipe_raw");
            let flags = OFlags::NONBLOCK.bits().cast_signed();
            let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(&path);
            let file = file.map_err(|e| failed("open", &path, e))?;
            cpus.push(Cpu::new(number, path, Box::new(Pipe(file))));
        }
        cpus.sort_by_key(|cpu| cpu.number);
        // Sub-buffers may be larger than a page, and each instance has its own.
        let told = std::fs::read_to_string(folder.join("buffer_subbuf_size_kb"));
        let told = told.ok().and_then(|t| t.trim().parse::<usize>().ok()).map_or(0, |kb| kb << 10);
        let size = told.max(layout.size).clamp(4096, 1 << 20);
        Ok(Self { layout, size, cpus, spare: Vec::new(), bytes: 0, live: true, ended: false })
    }

    /// Pages of a file, by CPU.
    #[must_use]
    pub fn of_sources(layout: PageLayout, sources: impl Iterator<Item = (u16, Box<dyn Source>)>, path: &str) -> Self {
        let cpus = sources.map(|(number, source)| Cpu::new(number, PathBuf::from(path), source)).collect();
        Self { layout, size: layout.size, cpus, spare: Vec::new(), bytes: 0, live: false, ended: false }
    }

    #[cfg(test)]
    fn of_pages(layout: PageLayout, pages: impl IntoIterator<Item = (u16, Vec<Vec<u8>>)>) -> Self {
        let cpus = pages.into_iter().map(|(number, pages)| {
            let mut cpu = Cpu::new(number, PathBuf::new(), Box::new(Nothing));
            cpu.pages = pages.into();
            cpu.advance(&layout, &mut Vec::new());
            cpu
        });
        let cpus = cpus.collect();
        Self { layout, size: layout.size, cpus, spare: Vec::new(), bytes: 0, live: false, ended: true }
    }

    /// The CPUs, ascending.
    pub fn cpus(&self) -> impl Iterator<Item = u16> {
        self.cpus.iter().map(|cpu| cpu.number)
    }

    /// Nothing more is written from here on.
    pub const fn end(&mut self) {
        self.ended = true;
    }

    /// Takes what the rings hold. Gives whether there may be more at once.
    ///
    /// # Errors
    /// When they can't be read (the instance is gone).
    pub fn fill(&mut self) -> Result<bool, FtraceError> {
        let mut more = false;
        for cpu in &mut self.cpus {
            let now = monotonic_ns();
            let mut taken = 0;
            while taken < PAGES_A_TURN {
                let mut page = self.spare.pop().unwrap_or_default();
                page.resize(self.size, 0);
                match cpu.read(&mut page)? {
                    0 => {
                        self.spare.push(page);
                        break;
                    }
                    length => {
                        page.truncate(length);
                        self.bytes += length as u64;
                        cpu.pages.push_back(page);
                        taken += 1;
                    }
                }
            }
            if cpu.next.is_none() {
                cpu.advance(&self.layout, &mut self.spare);
            }
            if taken < PAGES_A_TURN {
                cpu.read_up_to = if self.live { now.saturating_sub(SLACK_NS) } else { u64::MAX };
            } else {
                more = true;
                // The clock that the last page begins with.
                let last = cpu.pages.back().and_then(|page| Position::begin(&self.layout, page).ok());
                cpu.read_up_to = last.map_or(cpu.read_up_to, |last| last.clock());
            }
        }
        Ok(more)
    }

    /// Gives on what is in order, and tells how many records those were.
    ///
    /// # Errors
    /// When whoever takes them can't.
    pub fn give<E>(&mut self, take: &mut dyn FnMut(Item<'_>) -> Result<(), E>) -> Result<u64, E> {
        let until = if self.ended { u64::MAX } else { self.cpus.iter().map(|cpu| cpu.read_up_to).min().unwrap_or(0) };
        let mut given = 0;
        loop {
            let earliest = self.cpus.iter().enumerate().filter_map(|(at, cpu)| Some((cpu.next?.0, at))).min();
            // What is told of a CPU without records comes all the same.
            for cpu in self.cpus.iter_mut().filter(|cpu| cpu.next.is_none()) {
                cpu.tell(take)?;
            }
            let Some((_, at)) = earliest.filter(|(time, _)| *time <= until) else { return Ok(given) };
            // Most records come in runs of one CPU.
            let others = self.cpus.iter().enumerate().filter(|(other, _)| *other != at);
            let until = until.min(others.filter_map(|(_, cpu)| Some(cpu.next?.0)).min().unwrap_or(u64::MAX));
            let cpu = &mut self.cpus[at];
            while let Some((time, from, to)) = cpu.next.filter(|(time, ..)| *time <= until) {
                cpu.tell(take)?;
                if let Some(data) = cpu.pages.front().and_then(|page| page.get(from..to)) {
                    take(Item::Record(cpu.number, Record { at: time, data }))?;
                    given += 1;
                }
                cpu.advance(&self.layout, &mut self.spare);
            }
        }
    }
}

impl Cpu {
    fn new(number: u16, path: PathBuf, source: Box<dyn Source>) -> Self {
        Self {
            number,
            path,
            source,
            pages: VecDeque::new(),
            position: None,
            next: None,
            read_up_to: 0,
            told: Vec::new(),
        }
    }

    fn read(&mut self, page: &mut [u8]) -> Result<usize, FtraceError> {
        let failed = |source| FtraceError::File { operation: "read", path: self.path.display().to_string(), source };
        self.source.read(page).map_err(failed)
    }

    fn tell<E>(&mut self, take: &mut dyn FnMut(Item<'_>) -> Result<(), E>) -> Result<(), E> {
        for told in self.told.drain(..) {
            match told {
                Told::Lost(count, at) => take(Item::Lost { cpu: self.number, count, at })?,
                Told::Bad(error) => take(Item::Bad(self.number, error))?,
            }
        }
        Ok(())
    }

    /// Finds the next record, over pages that have none.
    fn advance(&mut self, layout: &PageLayout, spare: &mut Vec<Vec<u8>>) {
        self.next = None;
        while let Some(page) = self.pages.front() {
            let position = match &mut self.position {
                Some(position) => Ok(position),
                None => Position::begin(layout, page).map(|begun| {
                    match begun.missed() {
                        Missed::Nothing => {}
                        Missed::Events(count) => self.told.push(Told::Lost(Some(count), begun.clock())),
                        Missed::Some => self.told.push(Told::Lost(None, begun.clock())),
                    }
                    self.position.insert(begun)
                }),
            };
            match position.and_then(|position| position.next(layout, page)) {
                Ok(Some(record)) => {
                    let from = record.data.as_ptr().addr() - page.as_ptr().addr();
                    self.next = Some((record.at, from, from + record.data.len()));
                    return;
                }
                Ok(None) => {}
                Err(error) => self.told.push(Told::Bad(error)),
            }
            self.position = None;
            if let Some(page) = self.pages.pop_front()
                && spare.len() < PAGES_A_TURN
            {
                spare.push(page);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ring::Abi;
    use crate::kernel::ring::made::{Made, Part};

    fn page(clock: u64, deltas: &[u32], missed: Option<u64>) -> Vec<u8> {
        let mut made = Made::default();
        deltas.iter().for_each(|delta| made.add(&Part::Record(*delta, vec![0; 8])));
        made.page(&PageLayout::usual(Abi::NATIVE), clock, missed, 4096)
    }

    #[test]
    fn records_of_all_cpus_come_in_the_order_of_time_with_losses_before_them() {
        let layout = PageLayout::usual(Abi::NATIVE);
        let first = vec![page(100, &[0, 50], None), page(400, &[0], Some(3))];
        let second = vec![page(120, &[0, 1, 400], None)];
        let mut bad = page(500, &[0, 5], None);
        bad[16 + 12] = 0;
        let mut rings = Rings::of_pages(layout, [(0, first), (1, second), (2, vec![bad])]);
        let mut seen = Vec::new();
        let mut take = |item: Item<'_>| {
            seen.push(match item {
                Item::Record(cpu, record) => format!("{} on {cpu}", record.at),
                Item::Lost { cpu, count, .. } => format!("{count:?} lost on {cpu}"),
                Item::Bad(cpu, _) => format!("bad on {cpu}"),
            });
            Ok::<(), ()>(())
        };
        assert_eq!(rings.give(&mut take), Ok(7));
        assert_eq!(
            seen,
            [
                "100 on 0",
                "120 on 1",
                "121 on 1",
                "150 on 0",
                "Some(3) lost on 0",
                "400 on 0",
                "500 on 2",
                "bad on 2",
                "521 on 1"
            ]
        );
    }
}
