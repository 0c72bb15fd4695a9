//! ELF: segments, function symbols, and the way from an address to an offset in the file.

use std::fmt::Write;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol, ReadCache, SymbolKind};

use super::BinaryError;
use super::archive::{self, Member};
use super::usdt::{self, UsdtSite};
use crate::regular;

/// Most symbols believed: Chromium has about two million.
const MAX_SYMBOLS: usize = 8_000_000;
/// Longest symbol name believed.
const MAX_NAME: usize = 64 << 10;
/// How many times a file's size the names of its symbols may take: many symbols of a hostile file can
/// share one long name, which is read for each.
const NAMES_OF_FILE: u64 = 8;

/// A part of the file that is loaded into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address in the binary's own address space.
    pub address: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Bytes in the file.
    pub size: u64,
    /// Holds code.
    pub executable: bool,
}

/// A function of a binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSymbol {
    /// Name, mangled as the compiler made it, without a version.
    pub name: Arc<str>,
    /// Address in the binary's own address space.
    pub address: u64,
    /// Bytes; 0 when unknown.
    pub size: u64,
}

/// What is known of one binary.
#[derive(Debug)]
pub struct Binary {
    path: PathBuf,
    segments: Vec<Segment>,
    /// Ascending by name, then address.
    functions: Vec<FunctionSymbol>,
    /// Variables, in the same order.
    variables: Vec<FunctionSymbol>,
    sites: Vec<UsdtSite>,
    build_id: Option<Vec<u8>>,
    has_symbol_table: bool,
    moves: bool,
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
        if let Some(more) = debug {
            binary.functions.extend(more.functions);
            binary.variables.extend(more.variables);
            binary.sort_functions();
        }
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
        let most_text = size.saturating_mul(NAMES_OF_FILE);
        let cache = ReadCache::new(file);
        let elf = ElfFile64::<Endianness, _>::parse(cache.range(offset, size)).map_err(|e| malformed(e.to_string()))?;
        let segments = segments(&elf, offset);
        let sites = usdt::read(&elf, &segments);
        let mut binary = Self {
            path: path.to_owned(),
            functions: symbols(&elf, SymbolKind::Text, most_text),
            variables: symbols(&elf, SymbolKind::Data, most_text),
            moves: elf.kind() == object::ObjectKind::Dynamic,
            has_symbol_table: elf.section_by_name(".symtab").is_some(),
            build_id: elf.build_id().ok().flatten().map(<[u8]>::to_vec),
            segments,
            sites,
        };
        binary.sort_functions();
        Ok(binary)
    }

    fn sort_functions(&mut self) {
        for list in [&mut self.functions, &mut self.variables] {
            list.sort_by(|a, b| (&a.name, a.address).cmp(&(&b.name, b.address)));
            list.dedup_by(|a, b| a.name == b.name && a.address == b.address);
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
        &self.functions
    }

    /// Its statically defined probes.
    #[must_use]
    pub fn usdt_sites(&self) -> &[UsdtSite] {
        &self.sites
    }

    /// The function of this name; where several have it, the one at the lowest address.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&FunctionSymbol> {
        let first = self.functions.partition_point(|f| &*f.name < name);
        self.functions.get(first).filter(|f| &*f.name == name)
    }

    /// The function of this name, or the variable.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<&FunctionSymbol> {
        let variable = || {
            let first = self.variables.partition_point(|v| &*v.name < name);
            self.variables.get(first).filter(|v| &*v.name == name)
        };
        self.function(name).or_else(variable)
    }

    /// The function that covers an address, and the distance from its start.
    #[must_use]
    pub fn function_at(&self, address: u64) -> Option<(&FunctionSymbol, u64)> {
        let covering = self.functions.iter().filter(|f| address >= f.address && address - f.address < f.size.max(1));
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
    let cache = ReadCache::new(std::fs::File::open(path).ok()?);
    let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    let id = elf.build_id().ok().flatten()?;
    Some(id.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// As [`Binary::file_offset`]; code before data where both claim an address.
pub(super) fn file_offset(segments: &[Segment], address: u64) -> Option<u64> {
    let covers = |s: &&Segment| address.checked_sub(s.address).is_some_and(|d| d < s.size);
    let segment = segments.iter().filter(|s| s.executable).find(covers).or_else(|| segments.iter().find(covers))?;
    segment.offset.checked_add(address - segment.address)
}

/// The segments of a binary that begins at `base` in its file.
fn segments<'d, R: object::ReadRef<'d>>(elf: &ElfFile64<'d, Endianness, R>, base: u64) -> Vec<Segment> {
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

/// The symbols of a kind, with names of up to `most_text` bytes in all.
fn symbols<'d, R: object::ReadRef<'d>>(
    elf: &ElfFile64<'d, Endianness, R>,
    kind: SymbolKind,
    most_text: u64,
) -> Vec<FunctionSymbol> {
    let mut left = most_text;
    let symbols = elf.symbols().chain(elf.dynamic_symbols()).take(MAX_SYMBOLS);
    symbols
        .filter(|s| s.kind() == kind && s.address() != 0 && !s.is_undefined())
        .filter_map(|s| {
            let name = s.name().ok()?;
            let name = name.split_once('@').map_or(name, |(name, _version)| name);
            let usable = !name.is_empty() && name.len() <= MAX_NAME;
            left = left.saturating_sub(name.len() as u64);
            (usable && left > 0).then(|| FunctionSymbol { name: name.into(), address: s.address(), size: s.size() })
        })
        .collect()
}
