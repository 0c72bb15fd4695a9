//! Memory maps of processes, noted when the kernel makes them: an address resolves although its
//! process has ended before anyone looked.
//!
//! The kernel tells of every executable mapping, fork, exec and exit through the side band of a perf
//! event that counts nothing (`PERF_COUNT_SW_DUMMY`, one on each CPU), as `perf record` uses it.

use std::collections::HashMap;

use crate::thread::{self, Rights};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::sys::memory::PerfRing;
use super::sys::perf;
use crate::kernel::process;

/// Pause between two looks at the side bands.
const PAUSE: Duration = Duration::from_millis(20);
/// Pages of one CPU's side band: some thousand mappings between two looks.
const PAGES: usize = 32;
/// Processes that are remembered; those that ended first are forgotten first.
const MOST_PROCESSES: usize = 8192;
/// Mappings of one process that are remembered.
const MOST_MAPPINGS: usize = 4096;
/// Longest path that is believed.
const MOST_PATH: usize = 4096;

/// Record types and flags of `include/uapi/linux/perf_event.h`.
const RECORD_COMM: u32 = 3;
const RECORD_EXIT: u32 = 4;
const RECORD_FORK: u32 = 7;
const RECORD_MMAP2: u32 = 10;
const MISC_COMM_EXEC: u16 = 1 << 13;

/// A mapped part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// Offset of `start` in the file.
    pub offset: u64,
    /// The file as the process saw it, or `[vdso]` and its kind.
    pub path: Arc<str>,
    /// The file's inode number; 0 when unknown.
    pub inode: u64,
    /// The file had been removed.
    pub deleted: bool,
    /// It may be executed.
    pub code: bool,
}

/// What the kernel tells.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    Map(u32, Mapping),
    Exec(u32),
    Fork { child: u32, parent: u32 },
    Exit(u32),
}

#[derive(Clone, Debug, Default)]
struct Process {
    /// Newest last; parents' are shared until one of both changes.
    mappings: Arc<Vec<Mapping>>,
    /// Number of its exit in the order of exits; 0 while it lives.
    ended: u64,
}

/// All processes that were met.
#[derive(Debug, Default)]
struct Table {
    processes: HashMap<u32, Process>,
    exits: u64,
}

impl Table {
    fn apply(&mut self, event: Event) {
        match event {
            Event::Map(pid, mapping) => {
                let process = self.entry(pid);
                let mappings = Arc::make_mut(&mut process.mappings);
                if mappings.len() < MOST_MAPPINGS {
                    mappings.push(mapping);
                }
            }
            Event::Exec(pid) => self.entry(pid).mappings = Arc::default(),
            Event::Fork { child, parent } => {
                let mappings = self.processes.get(&parent).map(|p| Arc::clone(&p.mappings)).unwrap_or_default();
                *self.entry(child) = Process { mappings, ended: 0 };
            }
            Event::Exit(pid) => {
                self.exits += 1;
                let number = self.exits;
                self.entry(pid).ended = number;
            }
        }
    }

    fn entry(&mut self, pid: u32) -> &mut Process {
        if self.processes.len() >= MOST_PROCESSES && !self.processes.contains_key(&pid) {
            self.forget();
        }
        self.processes.entry(pid).or_default()
    }

    /// Makes room: the older half of those that ended, or everything.
    fn forget(&mut self) {
        let mut exits: Vec<u64> = self.processes.values().map(|p| p.ended).filter(|n| *n > 0).collect();
        exits.sort_unstable();
        match exits.get(exits.len() / 2) {
            Some(middle) => self.processes.retain(|_, p| p.ended == 0 || p.ended > *middle),
            None => self.processes.clear(),
        }
    }

    /// The newest mapping of a process that holds an address.
    fn find(&self, pid: u32, address: u64) -> Option<Mapping> {
        let mappings = &self.processes.get(&pid)?.mappings;
        mappings.iter().rev().find(|m| (m.start..m.end).contains(&address)).cloned()
    }
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    inner: Mutex<(Vec<PerfRing>, Table)>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, (Vec<PerfRing>, Table)> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches all processes until it is dropped.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins to watch on these CPUs, and notes the maps that processes below `proc` have already.
    ///
    /// # Errors
    /// When the kernel has no such events or does not let us open them.
    pub fn start(cpus: &[u32], proc: &Path) -> std::io::Result<Self> {
        let rings: std::io::Result<Vec<PerfRing>> =
            cpus.iter().map(|cpu| PerfRing::map(perf::open_side_band(*cpu)?, PAGES)).collect();
        let shared = Arc::new(Shared { stop: AtomicBool::new(false), inner: Mutex::new((rings?, Table::default())) });
        let (theirs, proc) = (Arc::clone(&shared), proc.to_owned());
        let thread = thread::spawn("psc-processes", Rights::Processes, move || {
            note_present(&theirs, &proc);
            while !theirs.stop.load(Ordering::Acquire) {
                drain(&mut theirs.lock());
                std::thread::park_timeout(PAUSE);
            }
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The mapping that held an address of a process, which may have ended.
    #[must_use]
    pub fn find(&self, pid: u32, address: u64) -> Option<Mapping> {
        let mut inner = self.shared.lock();
        drain(&mut inner);
        inner.1.find(pid, address)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Takes what the kernel has told since the last time, in the order of time over all CPUs.
fn drain((rings, table): &mut (Vec<PerfRing>, Table)) {
    let mut events: Vec<(u64, Event)> = Vec::new();
    for ring in rings {
        ring.consume(|kind, misc, body| events.extend(parse(kind, misc, body)));
    }
    events.sort_by_key(|(time, _)| *time);
    events.into_iter().for_each(|(_, event)| table.apply(event));
}

/// The executable mappings of the processes that run already. What the kernel has told meanwhile is newer.
fn note_present(shared: &Shared, proc: &Path) {
    let Ok(entries) = std::fs::read_dir(proc) else { return };
    let pids = entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse::<u32>().ok());
    for pid in pids.take(MOST_PROCESSES / 2) {
        if shared.stop.load(Ordering::Acquire) {
            return;
        }
        let Ok(text) = std::fs::read_to_string(process::folder(proc, pid).join("maps")) else { continue };
        let mut found: Vec<Mapping> = parse_maps(&text, true);
        let mut inner = shared.lock();
        drain(&mut inner);
        let process = inner.1.entry(pid);
        let newer: Vec<Mapping> = process.mappings.iter().filter(|m| !found.contains(m)).cloned().collect();
        found.extend(newer);
        found.truncate(MOST_MAPPINGS);
        process.mappings = Arc::new(found);
    }
}

/// A record and when it was made. Layouts: `perf_event_open(2)`; every record ends with the time
/// (`sample_id_all` with `PERF_SAMPLE_TIME` alone).
fn parse(kind: u32, misc: u16, body: &[u8]) -> Option<(u64, Event)> {
    let u32_at = |at: usize| Some(u32::from_ne_bytes(body.get(at..at + 4)?.try_into().ok()?));
    let u64_at = |at: usize| Some(u64::from_ne_bytes(body.get(at..at + 8)?.try_into().ok()?));
    let time = u64_at(body.len().checked_sub(8)?)?;
    let pid = u32_at(0)?;
    let event = match kind {
        RECORD_MMAP2 => {
            let (start, len, offset, inode) = (u64_at(8)?, u64_at(16)?, u64_at(24)?, u64_at(40)?);
            let name = body.get(64..body.len() - 8)?;
            let name = name.get(..memchr::memchr(0, name)?.min(MOST_PATH))?;
            let name = String::from_utf8_lossy(name);
            let (path, deleted) = match name.strip_suffix(" (deleted)") {
                Some(path) => (path, true),
                None => (&*name, false),
            };
            Event::Map(
                pid,
                Mapping { start, end: start.checked_add(len)?, offset, path: path.into(), inode, deleted, code: true },
            )
        }
        RECORD_COMM if misc & MISC_COMM_EXEC != 0 => Event::Exec(pid),
        RECORD_FORK if pid != u32_at(4)? => Event::Fork { child: pid, parent: u32_at(4)? },
        // A process ends with its first thread, as far as names go.
        RECORD_EXIT if pid == u32_at(8)? => Event::Exit(pid),
        _ => return None,
    };
    Some((time, event))
}

/// Most lines of a process's map that are read.
const MOST_LINES: usize = 65_536;

/// The file mappings of `/proc/PID/maps`, ascending; only those with code when asked.
pub(super) fn parse_maps(text: &str, code: bool) -> Vec<Mapping> {
    let named = |m: &Mapping| !m.path.is_empty();
    parse_lines(text, code).into_iter().filter(named).collect()
}

/// The code that `/proc/PID/maps` tells of, ascending; what lies in no file has no path.
pub(super) fn parse_code(text: &str) -> Vec<Mapping> {
    parse_lines(text, true)
}

fn parse_lines(text: &str, code: bool) -> Vec<Mapping> {
    let mut paths: HashMap<&str, Arc<str>> = HashMap::new();
    text.lines()
        .take(MOST_LINES)
        .filter_map(|line| {
            let mut fields = line.splitn(6, ' ');
            let (start, end) = fields.next()?.split_once('-')?;
            let executable = fields.next()?.contains('x');
            if code && !executable {
                return None;
            }
            let offset = fields.next()?;
            let inode = fields.nth(1)?;
            let path = fields.next().unwrap_or_default().trim_start();
            let (path, deleted) = path.strip_suffix(" (deleted)").map_or((path, false), |path| (path, true));
            let path = paths.entry(path).or_insert_with(|| path.into());
            Some(Mapping {
                start: u64::from_str_radix(start, 16).ok()?,
                end: u64::from_str_radix(end, 16).ok()?,
                offset: u64::from_str_radix(offset, 16).ok()?,
                path: Arc::clone(path),
                inode: inode.parse().ok()?,
                deleted,
                code: executable,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, path: &str) -> Mapping {
        Mapping { start, end: start + 0x1000, offset: 0, path: path.into(), inode: 7, deleted: false, code: true }
    }

    #[test]
    fn maps_outlive_their_process_and_exec_begins_anew() {
        let mut table = Table::default();
        table.apply(Event::Map(1, mapping(0x1000, "/bin/shell")));
        table.apply(Event::Fork { child: 2, parent: 1 });
        assert_eq!(table.find(2, 0x1800).map(|m| m.path), Some("/bin/shell".into()), "before its exec");
        table.apply(Event::Exec(2));
        assert_eq!(table.find(2, 0x1800), None);
        table.apply(Event::Map(2, mapping(0x1000, "/bin/other")));
        table.apply(Event::Map(2, mapping(0x1000, "/lib/newer")));
        table.apply(Event::Exit(2));
        assert_eq!(table.find(2, 0x1fff).map(|m| m.path), Some("/lib/newer".into()));
        assert_eq!(table.find(1, 0x1800).map(|m| m.path), Some("/bin/shell".into()));
        assert_eq!(table.find(2, 0x2000), None);
    }

    #[test]
    fn the_processes_that_ended_first_are_forgotten_first() {
        let mut table = Table::default();
        for pid in 1..=MOST_PROCESSES as u32 {
            table.apply(Event::Map(pid, mapping(0x1000, "/bin/a")));
            if pid % 2 == 0 {
                table.apply(Event::Exit(pid));
            }
        }
        table.apply(Event::Map(u32::MAX, mapping(0x1000, "/bin/a")));
        assert!(table.processes.len() < MOST_PROCESSES);
        assert!(table.find(1, 0x1000).is_some() && table.find(u32::MAX, 0x1000).is_some(), "these live");
        assert!(table.find(2, 0x1000).is_none() && table.find(MOST_PROCESSES as u32, 0x1000).is_some());
    }

    #[test]
    fn records_of_the_side_band() {
        let mut body = Vec::new();
        body.extend([5_u32, 5].iter().flat_map(|n| n.to_ne_bytes()));
        body.extend([0x1000_u64, 0x2000, 0x40, 1, 99, 0].iter().flat_map(|n| n.to_ne_bytes()));
        body.extend([0_u8; 8]);
        body.extend(b"/bin/a (deleted)\0\0\0\0\0\0\0\0");
        body.extend(77_u64.to_ne_bytes());
        let (time, event) = parse(RECORD_MMAP2, 0, &body).expect("a record");
        let expected = Mapping {
            start: 0x1000,
            end: 0x3000,
            offset: 0x40,
            path: "/bin/a".into(),
            inode: 1,
            deleted: true,
            code: true,
        };
        let Event::Map(5, found) = event else { panic!("{event:?}") };
        assert_eq!((time, found.start, found.end, &*found.path), (77, expected.start, expected.end, "/bin/a"));
        for cut in 0..body.len() {
            let _ = parse(RECORD_MMAP2, 0, &body[..cut]);
        }
    }

    #[test]
    fn maps_of_a_process() {
        let text = "55d0-55e0 r-xp 00001000 08:01 123                        /usr/bin/a b\n\
             55e0-55f0 r--p 00002000 08:01 123                        /usr/bin/a b (deleted)\n\
             7f00-7f10 rw-p 00000000 00:00 0 \n\
             7ff0-7fff r-xp 00000000 00:00 0                          [vdso]\nrubbish\n";
        let maps = parse_maps(text, false);
        assert_eq!(maps.len(), 3);
        assert_eq!(
            (maps[0].start, maps[0].end, maps[0].offset, &*maps[0].path, maps[0].inode),
            (0x55d0, 0x55e0, 0x1000, "/usr/bin/a b", 123)
        );
        assert!(maps[1].deleted && &*maps[1].path == "/usr/bin/a b");
        assert_eq!(&*maps[2].path, "[vdso]");
        assert_eq!(parse_maps(text, true).len(), 2);
        let generated = parse_code("7f00-7f10 rwxp 00000000 00:00 0 \n7f20-7f30 r-xp 00000000 00:00 0\n");
        assert_eq!(
            generated.iter().map(|m| (m.start, m.path.is_empty())).collect::<Vec<_>>(),
            [(0x7f00, true), (0x7f20, true)]
        );
    }
}
