//! What the running kernel offers: BTF, tracefs formats, symbols, features. Everything is read when
//! first asked for and kept; whatever is missing is an [`Absence`] with its reason and remedy.
//!
//! Files come from [`Roots`], so that tests describe any kernel by a small folder. All of them are
//! untrusted input: reads are bounded and parsers check every length.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

use crate as kernel;

use probescope_binary as binary;
use probescope_doors::disk;
use probescope_model as model;

mod binaries;
pub mod btf;
pub mod cpus;
pub mod dynamic;
pub mod error;
mod facts;
pub mod features;
pub mod function_types;
pub mod functions;
pub mod guard;
pub mod mounts;
pub mod process;
mod read;
pub mod record;
pub mod ring;
pub mod roots;
pub mod symbols;
pub mod syscalls;
pub mod target;
#[cfg(test)]
mod tests;
pub mod tracefs;
pub mod version;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use error::{Absence, KernelError};
pub use features::{Feature, Features};
pub use functions::FunctionTable;
pub use roots::Roots;
pub use version::Version;

use binaries::Binaries;
use btf::Btf;
use function_types::FunctionTypes;
use symbols::SymbolTable;
use tracefs::{EventName, TracepointFormat};

use crate::binary::BinaryError;
use crate::binary::cache::LibraryCache;
use crate::binary::dwarf::{DebugInfo, DwarfError};
use crate::binary::elf::Binary;

/// Largest BTF file that is read: several times what any kernel has.
const MAX_BTF: u64 = 256 << 20;

/// BTF once read, or why there is none.
type SharedBtf = Result<Arc<Btf>, Absence>;

/// The kernel as seen through its files. Cheap to construct; share it as `Arc<Kernel>`.
pub struct Kernel {
    roots: Roots,
    search_path: Vec<PathBuf>,
    debug_roots: Vec<PathBuf>,
    function_list: Option<PathBuf>,
    unused: Vec<Feature>,
    mounts: bool,
    binaries: Binaries,
    version: OnceLock<Version>,
    features: OnceLock<Features>,
    btf: OnceLock<SharedBtf>,
    modules: Mutex<HashMap<Arc<str>, SharedBtf>>,
    formats: Mutex<HashMap<EventName, Arc<TracepointFormat>>>,
    tracepoints: OnceLock<Vec<EventName>>,
    functions: OnceLock<Result<FunctionTable, Absence>>,
    function_types: OnceLock<FunctionTypes>,
    symbols: OnceLock<Result<SymbolTable, Absence>>,
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel").field("roots", &self.roots).field("version", &self.version()).finish_non_exhaustive()
    }
}

impl Kernel {
    /// A kernel read through these folders. Reads nothing yet.
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self {
            roots,
            search_path: ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
                .map(PathBuf::from)
                .to_vec(),
            debug_roots: vec![PathBuf::from(binaries::DEBUG_ROOT)],
            function_list: None,
            unused: Vec::new(),
            mounts: false,
            binaries: Binaries::default(),
            version: OnceLock::new(),
            features: OnceLock::new(),
            btf: OnceLock::new(),
            modules: Mutex::default(),
            formats: Mutex::default(),
            tracepoints: OnceLock::new(),
            functions: OnceLock::new(),
            function_types: OnceLock::new(),
            symbols: OnceLock::new(),
        }
    }

    /// The same kernel with other folders to look for programs in (the caller's `PATH`).
    #[must_use]
    pub fn with_search_path(mut self, directories: Vec<PathBuf>) -> Self {
        self.search_path = directories;
        self
    }

    /// The same kernel with more folders to look for debug files in, before the distribution's.
    #[must_use]
    pub fn with_debug_roots(mut self, mut directories: Vec<PathBuf>) -> Self {
        directories.append(&mut self.debug_roots);
        self.debug_roots = directories;
        self
    }

    /// The same kernel with a list of its own of the functions that can be traced, in the form of tracefs's
    /// `available_filter_functions`.
    #[must_use]
    pub fn with_function_list(mut self, path: PathBuf) -> Self {
        self.function_list = Some(path);
        self
    }

    /// The same kernel, of which some features are not to be used.
    #[must_use]
    pub fn without(mut self, features: Vec<Feature>) -> Self {
        self.unused = features;
        self
    }

    /// Whether a feature may be used, if the kernel has it.
    fn may_use(&self, feature: Feature) -> bool {
        !self.unused.contains(&feature)
    }

    /// Whether the user says which functions can be traced.
    #[must_use]
    pub const fn has_own_function_list(&self) -> bool {
        self.function_list.is_some()
    }

    /// The same kernel, whose tracefs is mounted when it is first needed, where that is allowed.
    #[must_use]
    pub const fn mounting_tracefs(mut self) -> Self {
        self.mounts = true;
        self
    }

    /// Where it is read from.
    #[must_use]
    pub const fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Folders that a program named without a slash is looked for in.
    #[must_use]
    pub fn search_path(&self) -> &[PathBuf] {
        &self.search_path
    }

    /// Version from `/proc/sys/kernel/osrelease`; 0.0.0 when that can't be read.
    pub fn version(&self) -> Version {
        *self.version.get_or_init(|| Version::read(&self.roots))
    }

    /// What this kernel can do, each as present or absent with a reason. About 2 ms the first time.
    pub fn features(&self) -> &Features {
        self.features.get_or_init(|| Features::probe(self))
    }

    /// Types of the kernel image.
    ///
    /// # Errors
    /// When the kernel has no BTF or its file can't be read or makes no sense.
    pub fn btf(&self) -> Result<&Btf, Absence> {
        self.shared_btf().map(|btf| &**btf)
    }

    /// As [`Kernel::btf`], to keep.
    pub fn shared_btf(&self) -> Result<&Arc<Btf>, Absence> {
        self.btf.get_or_init(|| self.read_btf("vmlinux", None)).as_ref().map_err(Clone::clone)
    }

    /// Types of a module, on top of the kernel's; `vmlinux` gives the kernel's own.
    ///
    /// # Errors
    /// When the module is not loaded, has no BTF or its file makes no sense.
    pub fn module_btf(&self, name: &str) -> Result<Arc<Btf>, Absence> {
        let base = self.shared_btf()?;
        if name == "vmlinux" {
            return Ok(Arc::clone(base));
        }
        if let Some(known) = lock(&self.modules).get(name) {
            return known.clone();
        }
        let read = self.read_btf(name, Some(Arc::clone(base)));
        lock(&self.modules).entry(name.into()).or_insert(read).clone()
    }

    /// Names of the modules that have BTF, sorted; empty when there are none.
    pub fn modules_with_btf(&self) -> Vec<Arc<str>> {
        let Ok(entries) = std::fs::read_dir(self.roots.sys.join("kernel/btf")) else { return Vec::new() };
        let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
        let mut names: Vec<Arc<str>> = names.filter(|n| n != "vmlinux").map(Into::into).collect();
        names.sort();
        names
    }

    /// What functions take and return, by the kernel's BTF and that of its modules.
    ///
    /// # Errors
    /// When the kernel has no BTF.
    pub fn function_types(&self) -> Result<&FunctionTypes, Absence> {
        let kernels = self.btf()?;
        Ok(self.function_types.get_or_init(|| {
            let mut types = FunctionTypes::default();
            types.add(kernels);
            for name in self.modules_with_btf() {
                if let Ok(btf) = self.module_btf(&name) {
                    types.add(&btf);
                }
            }
            types
        }))
    }

    /// The mounted tracefs: the folder that has `events`.
    ///
    /// # Errors
    /// When it is not mounted where it should be, or may not be read.
    pub fn tracefs(&self) -> Result<PathBuf, Absence> {
        if self.mounts { tracefs::mount_tracefs(&self.roots) } else { tracefs::find(&self.roots) }
    }

    /// A binary with its symbols, from its debug file too; read once as long as the file stays the same.
    ///
    /// # Errors
    /// When the file can't be read or is not a 64-bit ELF file.
    pub fn binary(&self, path: &Path) -> Result<Arc<Binary>, BinaryError> {
        self.binaries.open(path, &self.debug_roots)
    }

    /// The debug information of a binary, its debug file's too; found once as long as the file stays the
    /// same.
    ///
    /// # Errors
    /// When there is none.
    pub fn debug_info(&self, path: &Path) -> Result<Arc<DebugInfo>, DwarfError> {
        self.binaries.debug_info(path, &self.debug_roots)
    }

    /// The libraries that the dynamic linker's cache names; read once as long as the file stays the same.
    pub fn libraries(&self, cache: &Path) -> Arc<LibraryCache> {
        self.binaries.libraries(cache)
    }

    /// Record layout of a tracepoint.
    ///
    /// # Errors
    /// When tracefs is not there, has no such event, or the format can't be read or understood.
    pub fn tracepoint(&self, category: &str, event: &str) -> Result<Arc<TracepointFormat>, KernelError> {
        let key: (Arc<str>, Arc<str>) = (category.into(), event.into());
        if let Some(known) = lock(&self.formats).get(&key) {
            return Ok(Arc::clone(known));
        }
        let format = Arc::new(tracefs::read_format(&self.tracefs()?, category, event)?);
        Ok(Arc::clone(lock(&self.formats).entry(key).or_insert(format)))
    }

    /// All tracepoints that have an event (category, event), sorted.
    ///
    /// # Errors
    /// When tracefs is not there. Not remembered, so that it can be mounted later.
    pub fn tracepoints(&self) -> Result<&[EventName], Absence> {
        if let Some(known) = self.tracepoints.get() {
            return Ok(known);
        }
        let read = tracefs::read_available_events(&self.tracefs()?)?;
        Ok(self.tracepoints.get_or_init(|| read))
    }

    /// Kernel functions that can be traced, with their modules.
    ///
    /// # Errors
    /// When the kernel gives no list.
    pub fn functions(&self) -> Result<&FunctionTable, Absence> {
        let read = || match &self.function_list {
            Some(path) => FunctionTable::read(path),
            None => FunctionTable::read(&self.tracefs()?.join("available_filter_functions")),
        };
        self.functions.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// Whether kprobes reach functions that the list of those that can be traced leaves out. Kernels that don't tell
    /// how they are configured are like nearly all others: they don't.
    pub fn probes_untraced(&self) -> bool {
        features::probes_untraced(self)
    }

    /// All kernel symbols.
    ///
    /// # Errors
    /// When `/proc/kallsyms` can't be read.
    pub fn symbols(&self) -> Result<&SymbolTable, Absence> {
        self.symbols.get_or_init(|| SymbolTable::read(&self.roots)).as_ref().map_err(Clone::clone)
    }

    /// Address of a kernel symbol; `None` when there is no such symbol or addresses are hidden
    /// (`kernel.kptr_restrict`).
    pub fn symbol_address(&self, name: &str) -> Option<u64> {
        self.symbols().ok()?.address(name)
    }

    /// The symbol that covers a kernel address: name, distance from its start, module.
    pub fn symbolize(&self, address: u64) -> Option<(Arc<str>, u64, Option<Arc<str>>)> {
        self.symbols().ok()?.symbolize(address)
    }

    /// A small file below `/proc`, trimmed; `None` when it can't be read.
    pub fn proc_text(&self, path: impl AsRef<Path>) -> Option<String> {
        read::small_text(&self.roots.proc.join(path)).ok()
    }

    /// A small file below `/sys`, trimmed; `None` when it can't be read.
    pub fn sys_text(&self, path: impl AsRef<Path>) -> Option<String> {
        read::small_text(&self.roots.sys.join(path)).ok()
    }

    fn read_btf(&self, name: &str, base: Option<Arc<Btf>>) -> Result<Arc<Btf>, Absence> {
        let absence = |reason: String, remedy: &str| Absence::new(&format!("BTF of {name}"), &reason, remedy);
        if name.contains('/') || name == ".." {
            return Err(absence("that is no module's name".into(), "give the name as lsmod prints it"));
        }
        let path = self.roots.sys.join("kernel/btf").join(name);
        let bytes = read::bounded(&path, MAX_BTF).map_err(|e| {
            let missing = e.kind() == std::io::ErrorKind::NotFound;
            let remedy = match (missing, name) {
                (true, "vmlinux") => "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y",
                (true, _) => "load the module (modprobe); its kernel needs CONFIG_DEBUG_INFO_BTF_MODULES=y",
                (false, _) => "run as root",
            };
            absence(format!("{}: {e}", path.display()), remedy)
        })?;
        Btf::parse(bytes, base)
            .map(Arc::new)
            .map_err(|e| absence(format!("{}: {e}", path.display()), "report this: the kernel's BTF is damaged"))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
