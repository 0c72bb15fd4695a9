//! Addresses to symbols: the kernel's by its symbol table, processes' by their binaries.
//!
//! A process's memory map is read when its first address is seen, so that addresses resolve after
//! it has exited; binaries are opened by path, through the process's root while it lives.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};

use crate::kernel::Kernel;
use crate::model::value::Frame;

/// The kernel's symbol table, as the engine needs it.
pub trait KernelSymbols: Send + Sync {
    /// Name, bytes from its start, and module of the symbol that holds an address.
    fn symbolize(&self, address: u64) -> Option<(Arc<str>, u64, Option<Arc<str>>)>;
}

impl KernelSymbols for Kernel {
    fn symbolize(&self, address: u64) -> Option<(Arc<str>, u64, Option<Arc<str>>)> {
        Self::symbolize(self, address)
    }
}

/// No symbols: addresses stay numbers.
#[derive(Clone, Copy, Debug)]
pub struct NoSymbols;

impl KernelSymbols for NoSymbols {
    fn symbolize(&self, _: u64) -> Option<(Arc<str>, u64, Option<Arc<str>>)> {
        None
    }
}

/// Longest memory map that is read of a process.
const MOST_MAPPINGS: usize = 65_536;
/// Processes whose maps are kept; the table is emptied when it is full.
const MOST_PROCESSES: usize = 4096;
/// Resolved addresses that are kept.
const MOST_RESOLVED: usize = 262_144;

/// A mapped part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    path: Arc<str>,
}

/// Symbols of processes. Starts empty and reads nothing until an address is asked for.
pub struct UserSymbols {
    proc: PathBuf,
    symbolizer: Option<Symbolizer>,
    processes: HashMap<u32, Arc<[Mapping]>>,
    resolved: HashMap<(u32, u64), Arc<[Frame]>>,
    demangle: bool,
}

impl std::fmt::Debug for UserSymbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserSymbols").field("processes", &self.processes.len()).finish_non_exhaustive()
    }
}

impl UserSymbols {
    /// Reads maps below `proc` (`/proc`).
    #[must_use]
    pub fn new(proc: PathBuf, demangle: bool) -> Self {
        Self { proc, symbolizer: None, processes: HashMap::new(), resolved: HashMap::new(), demangle }
    }

    /// Remembers a process's memory map now, while it lives.
    pub fn sight(&mut self, pid: u32) {
        self.mappings(pid);
    }

    fn mappings(&mut self, pid: u32) -> Arc<[Mapping]> {
        if let Some(known) = self.processes.get(&pid) {
            return Arc::clone(known);
        }
        if self.processes.len() >= MOST_PROCESSES {
            self.processes.clear();
        }
        let text = std::fs::read_to_string(self.proc.join(pid.to_string()).join("maps")).unwrap_or_default();
        let maps: Arc<[Mapping]> = parse_maps(&text).into();
        self.processes.insert(pid, Arc::clone(&maps));
        maps
    }

    /// The frames at an address: the function, preceded by those inlined into it there.
    pub fn frames(&mut self, pid: u32, address: u64) -> Arc<[Frame]> {
        if let Some(known) = self.resolved.get(&(pid, address)) {
            return Arc::clone(known);
        }
        let frames: Arc<[Frame]> = self.resolve(pid, address).into();
        if self.resolved.len() >= MOST_RESOLVED {
            self.resolved.clear();
        }
        self.resolved.insert((pid, address), Arc::clone(&frames));
        frames
    }

    fn resolve(&mut self, pid: u32, address: u64) -> Vec<Frame> {
        let bare = |object| Frame { address, symbol: None, offset: 0, object, inlined: false };
        let maps = self.mappings(pid);
        let at = maps.partition_point(|m| m.end <= address);
        let Some(mapping) = maps.get(at).filter(|m| m.start <= address) else {
            // Mapped since the map was read (a library loaded later): read again next time.
            self.processes.remove(&pid);
            return vec![bare(None)];
        };
        let object = Some(Arc::clone(&mapping.path));
        if !mapping.path.starts_with('/') {
            return vec![bare(object)];
        }
        let offset = address - mapping.start + mapping.offset;
        let path = self.reachable(pid, &mapping.path);
        let demangle = self.demangle;
        let symbolizer = self.symbolizer.get_or_insert_with(|| {
            Symbolizer::builder().enable_code_info(false).enable_inlined_fns(false).enable_demangling(demangle).build()
        });
        match symbolizer.symbolize_single(&Source::Elf(Elf::new(path)), Input::FileOffset(offset)) {
            Ok(Symbolized::Sym(sym)) => vec![Frame {
                address,
                symbol: Some((*sym.name).into()),
                offset: sym.offset as u64,
                object,
                inlined: false,
            }],
            _ => vec![bare(object)],
        }
    }

    /// The binary's path as the process sees it, or as we do when the process is gone.
    fn reachable(&self, pid: u32, path: &str) -> PathBuf {
        let inside = self.proc.join(pid.to_string()).join("root").join(path.trim_start_matches('/'));
        let outside = Path::new(path);
        let same = std::fs::metadata(outside).is_ok_and(|ours| {
            use std::os::unix::fs::MetadataExt as _;
            std::fs::metadata(&inside).map_or(true, |theirs| theirs.ino() == ours.ino() && theirs.dev() == ours.dev())
        });
        // One path for the same file, so that its symbols are parsed once for all processes.
        if same { outside.to_owned() } else { inside }
    }
}

/// The file mappings of `/proc/PID/maps`, ascending.
fn parse_maps(text: &str) -> Vec<Mapping> {
    let mut paths: HashMap<&str, Arc<str>> = HashMap::new();
    text.lines()
        .take(MOST_MAPPINGS)
        .filter_map(|line| {
            let mut fields = line.splitn(6, ' ');
            let (start, end) = fields.next()?.split_once('-')?;
            let offset = fields.nth(1)?;
            let path = fields.nth(2)?.trim_start().trim_end_matches(" (deleted)");
            if path.is_empty() {
                return None;
            }
            let path = paths.entry(path).or_insert_with(|| path.into());
            Some(Mapping {
                start: u64::from_str_radix(start, 16).ok()?,
                end: u64::from_str_radix(end, 16).ok()?,
                offset: u64::from_str_radix(offset, 16).ok()?,
                path: Arc::clone(path),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_of_a_process() {
        let maps = parse_maps(
            "55d0-55e0 r-xp 00001000 08:01 123                        /usr/bin/a b\n\
             7f00-7f10 rw-p 00000000 00:00 0 \n\
             7ff0-7fff r-xp 00000000 00:00 0                          [vdso]\nrubbish\n",
        );
        assert_eq!(maps.len(), 2);
        assert_eq!(
            (maps[0].start, maps[0].end, maps[0].offset, &*maps[0].path),
            (0x55d0, 0x55e0, 0x1000, "/usr/bin/a b")
        );
        assert_eq!(&*maps[1].path, "[vdso]");
    }

    #[inline(never)]
    fn a_function_to_find() -> u64 {
        a_function_to_find as *const () as u64
    }

    #[test]
    fn a_function_of_this_very_process_is_found_by_name() {
        let mut symbols = UserSymbols::new("/proc".into(), true);
        let frames = symbols.frames(std::process::id(), a_function_to_find() + 1);
        let name = frames[0].symbol.clone().expect("a symbol");
        assert!(name.contains("a_function_to_find"), "{name}");
    }
}
