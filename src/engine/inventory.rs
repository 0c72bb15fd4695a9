//! All BPF programs and maps of the system: what they are, what they cost, who holds them, what is in them.

mod code;
mod contents;
mod holders;
mod links;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::Arc;

pub use code::listing;
pub use contents::{Contents, Entry, contents};

use super::error::{EngineError, words};
use super::sys::bpf;
use super::sys::objects::{self, ObjectKind};
use crate::kernel::Kernel;
use crate::kernel::btf::{Btf, BtfType, TypeId};
use crate::model::bpf::{BpfMap, BpfProgram, Inventory};
use holders::Holders;
use links::Names;

/// Objects of one kind that are read.
const MOST_OBJECTS: usize = 100_000;
/// Readings between two looks at who holds what: that reads all descriptors of all processes.
const HOLDERS_EVERY: u32 = 5;

/// Reads what is loaded, again and again. While it lives, the kernel counts the runs of all programs.
#[derive(Debug)]
pub struct InventoryReader {
    kernel: Arc<Kernel>,
    /// Keeps the statistics on.
    statistics: Result<OwnedFd, String>,
    names: Names,
    holders: Holders,
    readings: u32,
    /// Names of maps' types, which never change.
    types: HashMap<u32, (Option<String>, Option<String>)>,
}

impl InventoryReader {
    /// A reader that has read nothing yet.
    ///
    /// # Errors
    /// When this process may not look at what others have loaded.
    pub fn new(kernel: Arc<Kernel>) -> Result<Self, EngineError> {
        objects::next_id(ObjectKind::Program, 0).map_err(refused)?;
        let statistics = bpf::enable_run_statistics().map_err(|e| format!("runs are not counted: {}", words(&e)));
        let names = Names::new(Arc::clone(&kernel));
        Ok(Self { kernel, statistics, names, holders: Holders::default(), readings: 0, types: HashMap::new() })
    }

    /// What is loaded now.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn read(&mut self) -> Result<Inventory, EngineError> {
        if self.readings.is_multiple_of(HOLDERS_EVERY) {
            self.holders = Holders::read(&self.kernel.roots().proc);
        }
        self.readings = self.readings.wrapping_add(1);
        let mut attached: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for link in each(ObjectKind::Link)? {
            if let Some((program, text)) = self.names.link(&link) {
                attached.entry(program).or_default().push(text);
            }
        }
        let at_ns = super::monotonic_ns();
        let mut programs = Vec::new();
        for fd in each(ObjectKind::Program)? {
            if let Ok(program) = self.program(&fd, &mut attached) {
                programs.push(program);
            }
        }
        let mut maps = Vec::new();
        for fd in each(ObjectKind::Map)? {
            if let Ok(map) = self.map(&fd) {
                maps.push(map);
            }
        }
        Ok(Inventory { at_ns, uncounted: self.statistics.as_ref().err().cloned(), programs, maps })
    }

    fn program(&mut self, fd: &OwnedFd, attached: &mut BTreeMap<u32, Vec<String>>) -> io::Result<BpfProgram> {
        let info = objects::program(fd.as_fd())?;
        // A perf event that a link attached is told by the link.
        let mut attached = attached.remove(&info.id).unwrap_or_else(|| self.holders.events_of(info.id));
        attached = counted(attached);
        if attached.is_empty() && info.attach_btf_id != 0 {
            attached.extend(self.names.target(info.attach_btf_obj_id, info.attach_btf_id).map(|f| format!("for {f}")));
        }
        Ok(BpfProgram {
            id: info.id,
            name: name(&info.name).into(),
            kind: objects::program_kind(info.type_).into(),
            attached,
            runs: info.run_cnt,
            run_time_ns: info.run_time_ns,
            recursion_misses: info.recursion_misses,
            instructions: info.xlated_prog_len / 8,
            verified_instructions: info.verified_insns,
            machine_bytes: info.jited_prog_len,
            memory_bytes: self.memory_bytes(fd),
            maps: objects::program_maps(fd.as_fd(), info.nr_map_ids).unwrap_or_default(),
            loaded_boot_ns: info.load_time,
            uid: info.created_by_uid,
            tag: info.tag.iter().map(|byte| format!("{byte:02x}")).collect(),
            holders: self.holders.of_program(info.id),
        })
    }

    fn map(&mut self, fd: &OwnedFd) -> io::Result<BpfMap> {
        let info = objects::map(fd.as_fd())?;
        let (key_type, value_type) = self.types.entry(info.id).or_insert_with(|| types(&info)).clone();
        Ok(BpfMap {
            id: info.id,
            name: name(&info.name).into(),
            kind: objects::map_kind(info.type_).into(),
            key_bytes: info.key_size,
            value_bytes: info.value_size,
            max_entries: info.max_entries,
            memory_bytes: self.memory_bytes(fd),
            key_type,
            value_type,
            holders: self.holders.of_map(info.id),
        })
    }

    /// What `memlock:` says of an own descriptor.
    fn memory_bytes(&self, fd: &OwnedFd) -> Option<u64> {
        let text = self.kernel.proc_text(format!("self/fdinfo/{}", fd.as_raw_fd()))?;
        text.lines().find_map(|line| line.strip_prefix("memlock:")?.trim().parse().ok())
    }
}

/// Equal texts as one, with how often it was there: an event of each CPU.
fn counted(texts: Vec<String>) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    texts.into_iter().for_each(|text| *counts.entry(text).or_default() += 1);
    counts.into_iter().map(|(text, n)| if n == 1 { text } else { format!("{text} ×{n}") }).collect()
}

/// All objects of a kind; those that go meanwhile are left out.
fn each(kind: ObjectKind) -> Result<Vec<OwnedFd>, EngineError> {
    let mut found = Vec::new();
    let mut id = 0;
    while found.len() < MOST_OBJECTS {
        match objects::next_id(kind, id) {
            Ok(Some(next)) => id = next,
            Ok(None) => break,
            // Kernels before 5.8 have no ids of links.
            Err(_) if kind == ObjectKind::Link => break,
            Err(error) => return Err(refused(error)),
        }
        match objects::open(kind, id) {
            Ok(fd) => found.push(fd),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(refused(error)),
        }
    }
    Ok(found)
}

fn refused(error: io::Error) -> EngineError {
    let operation = "look at the BPF programs and maps of the system".to_owned();
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => EngineError::Permission {
            operation,
            reason: "permission denied; run as root, or give the program CAP_SYS_ADMIN".to_owned(),
        },
        _ => EngineError::Objects { operation, source: error },
    }
}

/// Text up to the first NUL.
fn name(field: &[libc::c_char]) -> String {
    let bytes: Vec<u8> = field.iter().map(|c| *c as u8).take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The types of a map's keys and values, as its program declares them.
fn types(info: &libbpf_sys::bpf_map_info) -> (Option<String>, Option<String>) {
    let Some(btf) = own_btf(info.btf_id) else { return (None, None) };
    let declared = |id: u32| match btf.ty(TypeId(id)) {
        BtfType::Void => None,
        BtfType::Other(section) => Some(section.to_owned()),
        _ => Some(btf.declaration(TypeId(id), "")),
    };
    (declared(info.btf_key_type_id), declared(info.btf_value_type_id))
}

/// The types that a program brought with it.
fn own_btf(id: u32) -> Option<Arc<Btf>> {
    let fd = objects::open(ObjectKind::Btf, id).ok().filter(|_| id != 0)?;
    Btf::parse(objects::btf(fd.as_fd()).ok()?, None).ok().map(Arc::new)
}
