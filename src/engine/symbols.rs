//! Addresses to symbols: the kernel's by its symbol table, processes' by their binaries.
//!
//! What is mapped where is known from the kernel's own telling ([`super::processes`]), also of processes
//! that have ended, else from a process's map, read when its first address is seen. Binaries are opened
//! by path, through the process's root while it lives; code that a process made itself is looked up in
//! the map that its compiler wrote ([`super::generated`]).

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};

use super::generated::Generated;
use super::processes::{self, Mapping, Watch};
use crate::binary::{demangle, elf};
use crate::kernel::{Kernel, process};
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

/// Processes whose maps are kept; the table is emptied when it is full.
const MOST_PROCESSES: usize = 4096;
/// Resolved addresses that are kept.
const MOST_RESOLVED: usize = 262_144;
/// How soon a process's map is read again for an address that is not in it. Stacks of programs without
/// frame pointers are full of addresses that are none, and maps of the script are read several times a
/// second: without a pause, each of them would cost a look at the process every time.
const READ_AGAIN: Duration = Duration::from_millis(200);

/// Bytes of binaries whose symbols are held in memory; their pages and tables are let go when there are more of them, but not more
/// often than so: two large binaries whose addresses come by turns would be read each time.
const MOST_HELD: u64 = 96 << 20;
const HELD_FOR: Duration = Duration::from_secs(20);

/// Binaries that the symbolizer holds: it lets none go by itself.
#[derive(Default)]
struct Held {
    files: HashSet<PathBuf>,
    bytes: u64,
    since: Option<Instant>,
}

impl Held {
    /// Notes a binary; true when all of them are to be let go before it is read.
    fn is_too_much_with(&mut self, path: &Path) -> bool {
        if self.files.contains(path) {
            return false;
        }
        let is_too_much = self.bytes > MOST_HELD && self.since.is_some_and(|since| since.elapsed() > HELD_FOR);
        if is_too_much {
            *self = Self::default();
        }
        self.since.get_or_insert_with(Instant::now);
        self.bytes += std::fs::metadata(path).map_or(0, |file| file.len());
        self.files.insert(path.to_owned());
        is_too_much
    }
}

/// What an address is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Of {
    /// Code or data: whatever the script has.
    Anything,
    /// A frame: where a stack breaks off, addresses of data may stand in it, whose names would be no callers.
    Stack,
}

/// A process's map, and when it was read.
#[derive(Clone)]
struct KnownMaps {
    maps: Arc<[Mapping]>,
    read: Instant,
}

/// Symbols of processes. Starts empty and reads nothing until an address is asked for.
pub struct UserSymbols {
    proc: PathBuf,
    symbolizer: Option<Symbolizer>,
    held: Held,
    /// Binaries whose debug information can't be read: only their own symbol tables are asked.
    bare: HashSet<PathBuf>,
    watch: Option<Watch>,
    processes: HashMap<u32, KnownMaps>,
    resolved: HashMap<(u32, u64, Of), Arc<[Frame]>>,
    /// Build ids by the path that a process has mapped.
    build_ids: HashMap<Arc<str>, Option<Arc<str>>>,
    generated: Generated,
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
        Self {
            proc,
            symbolizer: None,
            held: Held::default(),
            bare: HashSet::new(),
            watch: None,
            processes: HashMap::new(),
            resolved: HashMap::new(),
            build_ids: HashMap::new(),
            generated: Generated::default(),
            demangle,
        }
    }

    /// The same, with what is known of processes that may have ended.
    #[must_use]
    pub fn watching(mut self, watch: Option<Watch>) -> Self {
        self.watch = watch;
        self
    }

    /// Reads a process's map.
    fn read_maps(&mut self, pid: u32) -> KnownMaps {
        if self.processes.len() >= MOST_PROCESSES {
            self.processes.clear();
        }
        let text = std::fs::read_to_string(process::folder(&self.proc, pid).join("maps")).unwrap_or_default();
        let known = KnownMaps { maps: processes::parse_maps(&text, false).into(), read: Instant::now() };
        self.processes.insert(pid, known.clone());
        known
    }

    /// The frames at an address: the function, preceded by those inlined into it there.
    pub fn frames(&mut self, pid: u32, address: u64, of: Of) -> Arc<[Frame]> {
        if let Some(known) = self.resolved.get(&(pid, address, of)) {
            return Arc::clone(known);
        }
        let (frames, lasting) = self.resolve(pid, address, of);
        let frames: Arc<[Frame]> = frames.into();
        if self.resolved.len() >= MOST_RESOLVED {
            self.resolved.clear();
        }
        if lasting {
            self.resolved.insert((pid, address, of), Arc::clone(&frames));
        }
        frames
    }

    /// Whether what was said of an address stays so: not where code is made while it runs, or a map could not be read.
    #[must_use]
    pub fn is_lasting(&self, pid: u32, address: u64, of: Of) -> bool {
        self.resolved.contains_key(&(pid, address, of))
    }

    /// An address as the build id of its file and the offset in it; the address alone where no file with one is mapped.
    pub fn in_file(&mut self, pid: u32, address: u64) -> Frame {
        let none = Frame { address, symbol: None, offset: 0, object: None, inlined: false };
        let Some(mapping) = self.mapping(pid, address).filter(|m| m.path.starts_with('/')) else { return none };
        let offset = address - mapping.start + mapping.offset;
        if !self.build_ids.contains_key(&mapping.path) {
            let id = self.reachable(pid, &mapping).and_then(|path| elf::build_id(&path));
            self.build_ids.insert(Arc::clone(&mapping.path), id.map(Into::into));
        }
        match self.build_ids.get(&mapping.path).cloned().flatten() {
            Some(id) => Frame { offset, object: Some(id), ..none },
            None => none,
        }
    }

    /// The mapping that holds an address: as the kernel told of it, else as the process's map has it.
    fn mapping(&mut self, pid: u32, address: u64) -> Option<Mapping> {
        if let Some(told) = self.watch.as_ref().and_then(|watch| watch.find(pid, address)) {
            return Some(told);
        }
        let known = self.processes.get(&pid).cloned().unwrap_or_else(|| self.read_maps(pid));
        // It may have been mapped since the map was read: a library that was loaded later.
        find(&known.maps, address).cloned().or_else(|| {
            let again = known.read.elapsed() >= READ_AGAIN;
            again.then(|| self.read_maps(pid)).and_then(|newer| find(&newer.maps, address).cloned())
        })
    }

    /// The frames, and whether a later look would find the same.
    fn resolve(&mut self, pid: u32, address: u64, of: Of) -> (Vec<Frame>, bool) {
        let frame = |symbol, offset, object| vec![Frame { address, symbol, offset, object, inlined: false }];
        let mapping = self.mapping(pid, address);
        let in_file = mapping.as_ref().is_some_and(|m| m.path.starts_with('/') && !m.path.starts_with("//"));
        let Some(mapping) = mapping.filter(|_| in_file) else {
            // Code that the process made itself: a just-in-time compiler may have told of it.
            return match self.generated.find(&self.proc, pid, address) {
                Some((name, offset)) => (frame(Some(name), offset, None), true),
                None => (frame(None, 0, None), false),
            };
        };
        let object = Some(Arc::clone(&mapping.path));
        if of == Of::Stack && !mapping.code {
            return (frame(None, 0, object), true);
        }
        let Some(path) = self.reachable(pid, &mapping) else { return (frame(None, 0, object), true) };
        let offset = address - mapping.start + mapping.offset;
        let demangle = self.demangle;
        if self.held.is_too_much_with(&path) {
            self.symbolizer = None;
        }
        let symbolizer = self.symbolizer.get_or_insert_with(|| {
            Symbolizer::builder().enable_code_info(false).enable_inlined_fns(false).enable_demangling(false).build()
        });
        let find = |path: &Path, debug_syms| {
            let mut binary = Elf::new(path);
            binary.debug_syms = debug_syms;
            match symbolizer.symbolize_single(&Source::Elf(binary), Input::FileOffset(offset)) {
                Ok(Symbolized::Sym(sym)) => {
                    let name = if demangle { demangle::readable(&sym.name) } else { None };
                    Ok(Some((name.map_or_else(|| (*sym.name).into(), Arc::from), sym.offset as u64)))
                }
                Ok(_) => Ok(None),
                Err(e) => Err(e),
            }
        };
        let found = if self.bare.contains(&path) {
            find(&path, false)
        } else {
            // Debug information that is damaged, or packed in a way that is not read here, takes nothing
            // from the symbol table of the binary itself.
            find(&path, true).or_else(|_| {
                self.bare.insert(path.clone());
                find(&path, false)
            })
        };
        match found.ok().flatten() {
            Some((name, offset)) => (frame(Some(name), offset, object), true),
            None => (frame(None, 0, object), true),
        }
    }

    /// The binary's path: as we see it when that is the same file, so that its symbols are parsed once
    /// for all processes, else as the process sees it. `None` for a file that is gone.
    fn reachable(&self, pid: u32, mapping: &Mapping) -> Option<PathBuf> {
        use std::os::unix::fs::MetadataExt as _;
        let process = process::folder(&self.proc, pid);
        let held =
            self.proc.join(pid.to_string()).join("map_files").join(format!("{:x}-{:x}", mapping.start, mapping.end));
        if mapping.deleted {
            return [held, process.join("exe")]
                .into_iter()
                .find(|path| std::fs::metadata(path).is_ok_and(|m| mapping.inode == 0 || m.ino() == mapping.inode));
        }
        let outside = Path::new(&*mapping.path);
        let inside = process.join("root").join(mapping.path.trim_start_matches('/'));
        let ours = std::fs::metadata(outside).ok();
        if ours.as_ref().is_some_and(|ours| mapping.inode == 0 || ours.ino() == mapping.inode) {
            return Some(outside.to_owned());
        }
        // The file may have been replaced since it was mapped; or it has another number where it is mapped (overlayfs).
        if let (Ok(held_file), Some(ours)) = (std::fs::metadata(&held), &ours)
            && (held_file.ino(), held_file.dev()) != (ours.ino(), ours.dev())
            && mapping.inode == held_file.ino()
        {
            return Some(held);
        }
        match (std::fs::metadata(&inside), ours) {
            (Ok(theirs), Some(ours)) if (theirs.ino(), theirs.dev()) == (ours.ino(), ours.dev()) => {
                Some(outside.to_owned())
            }
            (Ok(_), _) => Some(inside),
            // The process is gone, and the file was replaced since: its symbols would be wrong.
            (Err(_), _) => None,
        }
    }
}

/// The mapping that holds an address.
fn find(maps: &[Mapping], address: u64) -> Option<&Mapping> {
    let at = maps.partition_point(|m| m.end <= address);
    maps.get(at).filter(|m| m.start <= address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn a_function_to_find() -> u64 {
        a_function_to_find as *const () as u64
    }

    #[test]
    fn a_function_of_this_very_process_is_found_by_name() {
        let mut symbols = UserSymbols::new("/proc".into(), true);
        let frames = symbols.frames(std::process::id(), a_function_to_find() + 1, Of::Stack);
        let name = frames[0].symbol.clone().expect("a symbol");
        assert!(name.contains("a_function_to_find"), "{name}");
    }

    #[test]
    fn binaries_are_let_go_when_they_are_many_and_not_at_once() {
        let mut held = Held::default();
        assert!(!held.is_too_much_with(Path::new("/proc/self/exe")));
        held.bytes = MOST_HELD + 1;
        assert!(!held.is_too_much_with(Path::new("/bin/sh")), "just read");
        held.since = Instant::now().checked_sub(HELD_FOR * 2);
        assert!(!held.is_too_much_with(Path::new("/bin/sh")), "held already");
        assert!(held.is_too_much_with(Path::new("/bin/cat")));
        assert!(held.bytes <= MOST_HELD && !held.files.contains(Path::new("/bin/sh")));
    }

    #[test]
    fn data_is_named_where_it_is_asked_for_and_not_in_a_stack() {
        static SOME_DATA_TO_FIND: std::sync::Mutex<u64> = std::sync::Mutex::new(7);
        let mut symbols = UserSymbols::new("/proc".into(), true);
        let address = &raw const SOME_DATA_TO_FIND as u64;
        assert_eq!(symbols.frames(std::process::id(), address, Of::Stack)[0].symbol, None);
        // Only names differ: the file is told for both.
        let object = |frames: Arc<[Frame]>| frames[0].object.clone().expect("a file");
        let told = object(symbols.frames(std::process::id(), address, Of::Stack));
        assert_eq!(told, object(symbols.frames(std::process::id(), address, Of::Anything)));
    }

    #[test]
    fn an_address_that_is_none_does_not_cost_a_look_each_time() {
        let proc = std::env::temp_dir().join(format!("probescope-symbols-{}", std::process::id()));
        std::fs::create_dir_all(proc.join("7")).unwrap();
        let write = |text: &str| std::fs::write(proc.join("7/maps"), text).unwrap();
        write("1000-2000 r-xp 00000000 00:00 0 [first]\n");
        let mut symbols = UserSymbols::new(proc.clone(), true);
        assert!(symbols.mapping(7, 0x1800).is_some() && symbols.mapping(7, 0x5800).is_none());
        write("1000-2000 r-xp 00000000 00:00 0 [first]\n5000-6000 r-xp 00000000 00:00 0 [later]\n");
        assert!(symbols.mapping(7, 0x5800).is_none(), "too soon for another look");
        std::thread::sleep(READ_AGAIN);
        assert!(symbols.mapping(7, 0x5800).is_some(), "a library that was loaded later");
        std::fs::remove_dir_all(proc).unwrap();
    }
}
