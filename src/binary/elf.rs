//! ELF: segments, function symbols, and the way from an address to an offset in the file.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ReadCache};

use super::BinaryError;
use super::archive::{self, Member};
use super::indirect;
use super::places::{FunctionSymbol, Segment, file_offset};
use super::symbols::Symbols;
use super::usdt::{self, UsdtSite};
use crate::regular;

/// Sections of Go programs: one at least is left when they are stripped.
const GO_SECTIONS: [&str; 3] = [".go.buildinfo", ".gopclntab", ".note.go.buildid"];

/// What is known of one binary.
#[derive(Debug)]
pub struct Binary {
    path: PathBuf,
    segments: Vec<Segment>,
    symbols: OnceLock<Symbols>,
    /// What the dynamic linker writes where.
    slots: OnceLock<HashMap<u64, u64>>,
    /// Where the symbols are: itself, and the file that has what was stripped off it.
    files: Vec<(File, Member)>,
    sites: Vec<UsdtSite>,
    build_id: Option<Vec<u8>>,
    has_symbol_table: bool,
    moves: bool,
    /// Made by the Go compiler.
    go: bool,
}

impl Binary {
    /// Reads a binary's tables; its code and data are not read. When it was stripped, symbols of its
    /// debug file are added, unless `debug_roots`, the folders to look for it in, is empty.
    ///
    /// # Errors
    /// When the file can't be read or is not a 64-bit ELF file.
    pub fn open(path: &Path, debug_roots: &[PathBuf]) -> Result<Self, BinaryError> {
        let mut binary = Self::read(path)?;
        if binary.has_symbol_table || debug_roots.is_empty() {
            return Ok(binary);
        }
        // By build id, a debug file that has symbols alone counts too.
        let by_id = debug_roots.iter().filter_map(|root| binary.debug_file(root));
        let debug = by_id.chain(super::dwarf::debug_file(path, debug_roots)).find_map(|path| Self::read(&path).ok());
        binary.files.extend(debug.into_iter().flat_map(|more| more.files));
        Ok(binary)
    }

    fn read(path: &Path) -> Result<Self, BinaryError> {
        let malformed = |problem: String| BinaryError::Malformed { path: path.to_owned(), problem };
        let read_error = |source| BinaryError::Read { path: path.to_owned(), source };
        let file = regular::open(&archive::file_of(path)).map_err(read_error)?;
        let length = file.metadata().map_err(read_error)?.len();
        let Member { offset, size } = match archive::split(path) {
            Some((_, member)) => archive::find(&file, member).map_err(malformed)?,
            None => Member { offset: 0, size: length },
        };
        let mut magic = [0; 4];
        // Files of the kernel's have no size, and reading some of them takes what others wait for.
        if size == 0 || file.read_exact_at(&mut magic, offset).is_err() || magic != object::elf::ELFMAG {
            return Err(malformed("it is not an ELF file".into()));
        }
        let member = Member { offset, size };
        let cache = ReadCache::new(&file);
        let elf = ElfFile64::<Endianness, _>::parse(cache.range(offset, size)).map_err(|e| malformed(e.to_string()))?;
        let segments = segments(&elf, offset);
        let sites = usdt::read(&elf, &segments);
        let (has_symbol_table, build_id) = (elf.section_by_name(".symtab").is_some(), elf.build_id().ok().flatten());
        let build_id = build_id.map(<[u8]>::to_vec);
        Ok(Self {
            path: path.to_owned(),
            symbols: OnceLock::new(),
            slots: OnceLock::new(),
            moves: elf.kind() == object::ObjectKind::Dynamic,
            go: GO_SECTIONS.iter().any(|name| elf.section_by_name(name).is_some()),
            has_symbol_table,
            build_id,
            segments,
            sites,
            files: vec![(file, member)],
        })
    }

    fn symbols(&self) -> &Symbols {
        self.symbols.get_or_init(|| Symbols::read(&self.files))
    }

    /// The file itself.
    pub(super) fn file(&self) -> Option<&(File, Member)> {
        self.files.first()
    }

    /// Addresses in the binary that the dynamic linker writes into its tables, by the place in the table.
    pub(super) fn slots(&self) -> &HashMap<u64, u64> {
        let read = || self.file().map(|(file, member)| indirect::read_slots(file, member)).unwrap_or_default();
        self.slots.get_or_init(read)
    }

    /// Whether code is loaded at an address.
    #[must_use]
    pub fn is_code(&self, address: u64) -> bool {
        self.segments.iter().any(|s| s.executable && address.checked_sub(s.address).is_some_and(|d| d < s.size))
    }

    /// Whether Go code is loaded at an address: all code of a Go program, but for what was linked to it from C.
    #[must_use]
    pub fn is_go(&self, address: u64) -> bool {
        let bound = |name: &str| self.go.then(|| self.symbol(name)).flatten().map(|s| s.address);
        match (bound("runtime.text"), bound("runtime.etext")) {
            (Some(start), Some(end)) => (start..end).contains(&address),
            _ => self.go,
        }
    }

    /// Where the distribution keeps this binary's symbols.
    fn debug_file(&self, root: &Path) -> Option<PathBuf> {
        let id = self.build_id.as_ref()?;
        let hex = id.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        let (first, rest) = hex.split_at_checked(2)?;
        let file = root.join(".build-id").join(first).join(format!("{rest}.debug"));
        file.is_file().then_some(file)
    }

    /// Whether it is loaded at an address of the system's choice: position-independent programs and
    /// libraries.
    #[must_use]
    pub const fn moves(&self) -> bool {
        self.moves
    }

    /// Where it was read from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its functions, ascending by name.
    #[must_use]
    pub fn functions(&self) -> &[FunctionSymbol] {
        &self.symbols().functions
    }

    /// Its statically defined probes.
    #[must_use]
    pub fn usdt_sites(&self) -> &[UsdtSite] {
        &self.sites
    }

    /// The function of this name; where several have it, the one at the lowest address.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&FunctionSymbol> {
        let functions = self.functions();
        let first = functions.partition_point(|f| &*f.name < name);
        functions.get(first).filter(|f| &*f.name == name)
    }

    /// The function of this name, or the variable.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<&FunctionSymbol> {
        let variable = || {
            let variables = &self.symbols().variables;
            let first = variables.partition_point(|v| &*v.name < name);
            variables.get(first).filter(|v| &*v.name == name)
        };
        self.function(name).or_else(variable)
    }

    /// The function that covers an address, and the distance from its start.
    #[must_use]
    pub fn function_at(&self, address: u64) -> Option<(&FunctionSymbol, u64)> {
        let covering = self.functions().iter().filter(|f| address >= f.address && address - f.address < f.size.max(1));
        covering.max_by_key(|f| f.address).map(|f| (f, address - f.address))
    }

    /// The address that an offset in the file is loaded at; code before data where both claim it.
    #[must_use]
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let covers = |s: &&Segment| offset.checked_sub(s.offset).is_some_and(|d| d < s.size);
        let code = self.segments.iter().filter(|s| s.executable).find(covers);
        let segment = code.or_else(|| self.segments.iter().find(covers))?;
        segment.address.checked_add(offset - segment.offset)
    }

    /// Offset in the file of an address, through the segments; `None` when nothing is loaded there.
    #[must_use]
    pub fn file_offset(&self, address: u64) -> Option<u64> {
        file_offset(&self.segments, address)
    }
}

/// The build id of a file, in hexadecimal digits; nothing else of it is read.
#[must_use]
pub fn build_id(path: &Path) -> Option<String> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    let id = elf.build_id().ok().flatten()?;
    Some(id.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// The segments of a binary that begins at `base` in its file.
pub(super) fn segments<'d, R: object::ReadRef<'d>>(elf: &ElfFile64<'d, Endianness, R>, base: u64) -> Vec<Segment> {
    let endian = elf.endian();
    let headers = elf.elf_program_headers().iter();
    let loaded = headers.filter(|h| h.p_type(endian) == object::elf::PT_LOAD);
    loaded
        .map(|h| Segment {
            address: h.p_vaddr(endian),
            offset: h.p_offset(endian).saturating_add(base),
            size: h.p_filesz(endian),
            executable: h.p_flags(endian).0 & object::elf::PF_X.0 != 0,
        })
        .collect()
}
