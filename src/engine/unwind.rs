//! The tables that programs unwind user stacks by (see [`crate::codegen::artifact::UnwindSpec`]): a thread puts the rows of a
//! process's binaries there once a program has met the process.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher as _;
use std::ops::Bound;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::processes::{Mapping, parse_code};
use super::sys::bpf;
use super::sys::memory::Area;
use crate::binary::unwind::{CodeSegment, Frames, frames, frames_in};
use crate::codegen::artifact::{
    UNWIND_FIRST_MAPPING, UNWIND_MAPPING, UNWIND_MAPPINGS, UNWIND_MM, UNWIND_NO_ADDRESS, UNWIND_PROCESS,
    UNWIND_PROCESSES, UNWIND_ROW, UNWIND_ROWS,
};
use crate::kernel::process;
use crate::thread::{self, Rights};

/// Pause between two looks at the processes that are asked for.
const PAUSE: Duration = Duration::from_millis(10);
/// How soon a process that is asked for again is looked at again: code that it made itself is in no table.
const AGAIN: Duration = Duration::from_millis(200);
/// Pause between two looks for new mappings, of one process after the other: code may have gone and other come to its place.
const REFRESH: Duration = Duration::from_millis(100);
/// Largest image of the kernel's own code in processes (vDSO) that is read.
const LARGEST_VDSO: u64 = 1 << 20;
/// Files whose rows are known, or known to be none.
const MOST_FILES: usize = 16_384;
/// Processes that are remembered, those included that had ended before their table could be made.
const MOST_PROCESSES: usize = 4 * UNWIND_PROCESSES as usize;

/// Rows of one file, once they are in the table.
#[derive(Clone, Debug)]
struct Placed {
    first: u32,
    rows: u32,
    segments: Arc<[CodeSegment]>,
}

/// Code that processes share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Code {
    /// The kernel's own (vDSO), by its size.
    Vdso(u64),
    /// A file as it was when it was read.
    File { device: u64, inode: u64, bytes: u64, modified: (i64, i64) },
}

/// What was read of a process.
#[derive(Clone, Copy, Debug)]
struct Known {
    read: Instant,
    /// A hash of its mappings.
    mappings: u64,
}

/// The tables of a trace.
#[derive(Debug)]
pub struct Tables {
    rows: Arc<Area>,
    /// Rows in use.
    used: u32,
    processes: OwnedFd,
    wanted: OwnedFd,
    proc: PathBuf,
    files: HashMap<Code, Placed>,
    known: BTreeMap<u32, Known>,
    /// The process that was looked at last for new mappings, and when.
    refreshed: (u32, Instant),
}

impl Tables {
    /// Empty tables.
    pub fn new(rows: Arc<Area>, processes: OwnedFd, wanted: OwnedFd, proc: PathBuf) -> Self {
        let (files, known) = (HashMap::new(), BTreeMap::new());
        Self { rows, used: 0, processes, wanted, proc, files, known, refreshed: (0, Instant::now()) }
    }

    /// Looks at the processes that programs ask for.
    fn answer(&mut self) {
        let mut last: Option<Vec<u8>> = None;
        while let Ok(Some(key)) = bpf::next_key(self.wanted.as_fd(), last.as_deref(), 8) {
            let pid = key.get(..4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_ne_bytes);
            if self.known.get(&pid).is_none_or(|known| known.read.elapsed() >= AGAIN) {
                let mut memory = [0; 8];
                let asked = bpf::lookup(self.wanted.as_fd(), &key, &mut memory).unwrap_or(false);
                // What is asked while the mappings are read is asked of those after.
                let _ = bpf::delete(self.wanted.as_fd(), &key);
                if asked {
                    self.fill(pid, u64::from_ne_bytes(memory), &self.mappings(pid));
                }
                last = None;
            } else {
                last = Some(key);
            }
        }
    }

    /// Looks at one process for new mappings, when it is time to.
    fn refresh(&mut self) {
        let (last, when) = self.refreshed;
        if when.elapsed() < REFRESH {
            return;
        }
        let after = (Bound::Excluded(last), Bound::Unbounded);
        let next = self.known.range(after).next().or_else(|| self.known.first_key_value());
        let Some((&pid, &known)) = next else { return };
        self.refreshed = (pid, Instant::now());
        let mappings = self.mappings(pid);
        if mappings.is_empty() {
            self.remove(pid);
        } else if hash(&mappings) != known.mappings {
            let mut element = vec![0; UNWIND_PROCESS as usize];
            let key = u64::from(pid).to_ne_bytes();
            if let Ok(true) = bpf::lookup(self.processes.as_fd(), &key, &mut element) {
                let memory = element.get(UNWIND_MM as usize..).and_then(|bytes| bytes.first_chunk());
                self.fill(pid, memory.copied().map_or(0, u64::from_ne_bytes), &mappings);
            }
        }
    }

    /// A process's code; nothing of one that has ended, or that we may not look at.
    fn mappings(&self, pid: u32) -> Vec<Mapping> {
        let text = std::fs::read_to_string(process::folder(&self.proc, pid).join("maps")).unwrap_or_default();
        parse_code(&text)
    }

    /// Puts a process's code, as it is mapped, into the table.
    fn fill(&mut self, pid: u32, memory: u64, mappings: &[Mapping]) {
        if self.known.len() >= MOST_PROCESSES {
            self.remove_ended();
        }
        self.known.insert(pid, Known { read: Instant::now(), mappings: hash(mappings) });
        if mappings.is_empty() {
            return;
        }
        let mut entries = Vec::new();
        for mapping in mappings.iter().filter(|mapping| mapping.end < UNWIND_NO_ADDRESS) {
            let placed = self.placed(pid, mapping);
            entries.push(entry(mapping, placed.as_ref()));
        }
        let value = element(memory, entries);
        let key = u64::from(pid).to_ne_bytes();
        if bpf::update(self.processes.as_fd(), &key, &value).is_err() {
            // No room: those that have ended make some.
            self.remove_ended();
            let _ = bpf::update(self.processes.as_fd(), &key, &value);
        }
    }

    fn remove_ended(&mut self) {
        let gone = |pid: &u32| !self.proc.join(pid.to_string()).exists();
        let ended: Vec<u32> = self.known.keys().copied().filter(gone).collect();
        ended.into_iter().for_each(|pid| self.remove(pid));
    }

    fn remove(&mut self, pid: u32) {
        self.known.remove(&pid);
        let _ = bpf::delete(self.processes.as_fd(), &u64::from(pid).to_ne_bytes());
    }

    /// The rows of a mapping's code: none where it says nothing of its frames, or where there is no room for more.
    fn placed(&mut self, pid: u32, mapping: &Mapping) -> Option<Placed> {
        let (code, path) = code(&process::folder(&self.proc, pid), mapping)?;
        if let Some(placed) = self.files.get(&code) {
            return Some(placed.clone());
        }
        if self.files.len() >= MOST_FILES {
            return None;
        }
        let read = match code {
            Code::Vdso(_) => vdso(&path, mapping).and_then(|image| frames_in(&*image).ok()),
            Code::File { .. } => frames(&path).ok(),
        };
        let Frames { segments, rows } = read.unwrap_or_default();
        let room = UNWIND_ROWS - self.used;
        let number = u32::try_from(rows.len()).ok().filter(|rows| *rows <= room).unwrap_or(0);
        let first = self.used;
        for (index, row) in (first..first + number).zip(rows) {
            self.rows.write_u64((index * UNWIND_ROW) as usize, row.into());
        }
        self.used += number;
        let placed = Placed { first, rows: number, segments: segments.into() };
        self.files.insert(code, placed.clone());
        Some(placed)
    }
}

fn hash(mappings: &[Mapping]) -> u64 {
    let facts = |m: &Mapping| (m.start, m.end, m.offset, m.inode);
    foldhash::fast::FixedState::default().hash_one(mappings.iter().map(facts).collect::<Vec<_>>())
}

/// What a mapping of the process below `process` has in it, and where that is read.
fn code(process: &Path, mapping: &Mapping) -> Option<(Code, PathBuf)> {
    if &*mapping.path == "[vdso]" {
        return Some((Code::Vdso(mapping.end.checked_sub(mapping.start)?), process.join("mem")));
    }
    let inside = mapping.path.strip_prefix('/').filter(|path| !path.starts_with('/'))?;
    // The very file that is mapped; only the privileged may follow this link.
    let mapped = process.join("map_files").join(format!("{:x}-{:x}", mapping.start, mapping.end));
    let named = (!mapping.deleted).then(|| process.join("root").join(inside));
    [Some(mapped), named].into_iter().flatten().find_map(|path| {
        let file = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
        let modified = (file.mtime(), file.mtime_nsec());
        Some((Code::File { device: file.dev(), inode: file.ino(), bytes: file.len(), modified }, path))
    })
}

/// The code that the kernel puts into each process.
fn vdso(memory: &Path, mapping: &Mapping) -> Option<Vec<u8>> {
    let size = mapping.end.checked_sub(mapping.start).filter(|size| *size <= LARGEST_VDSO)?;
    let mut image = vec![0; size as usize];
    std::fs::File::open(memory).ok()?.read_exact_at(&mut image, mapping.start).ok()?;
    Some(image)
}

/// A mapping as programs read it.
fn entry(mapping: &Mapping, placed: Option<&Placed>) -> [u64; 4] {
    let bias = placed.and_then(|placed| {
        let covers = |s: &&CodeSegment| {
            mapping.offset < s.offset.saturating_add(s.size)
                && s.offset < mapping.offset + (mapping.end - mapping.start)
        };
        let segment = placed.segments.iter().find(covers)?;
        // An address is `address - start + offset` in the file.
        let in_file = mapping.offset.wrapping_sub(mapping.start);
        Some((in_file.wrapping_add(segment.address).wrapping_sub(segment.offset), placed))
    });
    let (bias, rows) = bias.map_or((0, 0), |(bias, p)| (bias, u64::from(p.rows) << 32 | u64::from(p.first)));
    [mapping.start, mapping.end, bias, rows]
}

/// A process's element: its memory, then its mappings, as many as there is room for.
fn element(memory: u64, mut entries: Vec<[u64; 4]>) -> Vec<u8> {
    let mut value = vec![0_u8; UNWIND_PROCESS as usize];
    let mut put = |at: usize, word: u64| value[at..at + 8].copy_from_slice(&word.to_ne_bytes());
    put(UNWIND_MM as usize, memory);
    entries.sort_unstable();
    entries.insert(0, [0; 4]);
    entries.resize(UNWIND_MAPPINGS as usize, [UNWIND_NO_ADDRESS, UNWIND_NO_ADDRESS, 0, 0]);
    for (index, words) in entries.into_iter().enumerate() {
        let at = UNWIND_FIRST_MAPPING as usize + index * UNWIND_MAPPING as usize;
        for (nth, word) in words.into_iter().enumerate() {
            put(at + nth * 8, word);
        }
    }
    value
}

/// Fills tables until it is dropped.
#[derive(Debug)]
pub struct Unwinder {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Unwinder {
    /// Begins; the tables of `pid` are filled first.
    pub fn start(mut tables: Tables, pid: Option<u32>) -> std::io::Result<Self> {
        if let Some(pid) = pid {
            tables.fill(pid, 0, &tables.mappings(pid));
        }
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn("psc-unwind", Rights::Processes, move || {
            while !stopped.load(Ordering::Acquire) {
                tables.answer();
                tables.refresh();
                std::thread::park_timeout(PAUSE);
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Unwinder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_lie_in_a_process_s_element_as_programs_search_them() {
        let mapping = |start: u64, offset| Mapping {
            start,
            end: start + 0x1000,
            offset,
            path: "/bin/a".into(),
            inode: 1,
            deleted: false,
            code: true,
        };
        let segment = CodeSegment { offset: 0x2000, size: 0x800, address: 0x40_3000 };
        let placed = Placed { first: 5, rows: 7, segments: [segment].into() };
        let of_code = entry(&mapping(0x7000_2000, 0x2000), Some(&placed));
        assert_eq!(of_code[0].wrapping_add(of_code[2]), 0x40_3000, "what begins there in the binary");
        let value = element(0xabc, vec![entry(&mapping(0x9000, 0), None), entry(&mapping(0x1000, 0), None)]);
        let word = |at: u32| u64::from_ne_bytes(value[at as usize..][..8].try_into().unwrap());
        let start = |index: u32| word(UNWIND_FIRST_MAPPING + index * UNWIND_MAPPING);
        assert_eq!((word(UNWIND_MM), value.len()), (0xabc, UNWIND_PROCESS as usize));
        assert_eq!([0, 1, 2, 3].map(start), [0, 0x1000, 0x9000, UNWIND_NO_ADDRESS]);
    }
}
