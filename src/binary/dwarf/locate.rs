//! The files that hold a binary's debug information: the binary, a separate debug file, what several
//! debug files share (dwz), split objects (`.dwo`) and packages of them (`.dwp`).
//!
//! Separate debug files: GDB's manual, "Debugging Information in Separate Files".

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gimli::{Dwarf, SectionId};
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _, ReadCache};

use super::window::{Section, Window};
use crate::regular;

/// Largest debug file whose checksum is computed, bytes.
const MOST_SUMMED: u64 = 1 << 30;
/// Most sections of one file that are looked at.
const MOST_SECTIONS: usize = 100_000;
/// Longest file name that is believed.
const MOST_NAME: usize = 4096;

/// An ELF file's debug sections and its ties to other files.
#[derive(Debug)]
pub struct DebugFile {
    /// Where it is.
    pub path: PathBuf,
    sections: HashMap<String, Arc<Section>>,
    build_id: Option<Vec<u8>>,
    link: Option<(PathBuf, u32)>,
    shared: Option<(PathBuf, Vec<u8>)>,
}

impl DebugFile {
    /// Reads an ELF file's table of sections; `None` when it is none.
    pub fn open(path: &Path) -> Option<Self> {
        let file = Arc::new(regular::open(path).ok()?);
        let cache = ReadCache::new(file.try_clone().ok()?);
        let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
        let mut sections = HashMap::new();
        for section in elf.sections().take(MOST_SECTIONS) {
            let Some(name) = section.name().ok().filter(|n| n.starts_with(".debug_") || n.starts_with(".zdebug_"))
            else {
                continue;
            };
            let Ok(range) = section.compressed_file_range() else { continue };
            let found = if range.format == object::CompressionFormat::None {
                Section::plain(Arc::clone(&file), range.offset, range.uncompressed_size)
            } else {
                Section::packed(Arc::clone(&file), range)
            };
            let name = name.strip_prefix(".zdebug_").map_or_else(|| name.to_owned(), |rest| format!(".debug_{rest}"));
            sections.entry(name).or_insert_with(|| Arc::new(found));
        }
        let file_name = |bytes: &[u8]| {
            let text = std::str::from_utf8(bytes).ok().filter(|t| !t.is_empty() && t.len() <= MOST_NAME)?;
            Some(PathBuf::from(text))
        };
        let link = elf.gnu_debuglink().ok().flatten().and_then(|(name, crc)| Some((file_name(name)?, crc)));
        let shared = elf.gnu_debugaltlink().ok().flatten();
        Some(Self {
            path: path.to_owned(),
            build_id: elf.build_id().ok().flatten().map(<[u8]>::to_vec),
            link,
            shared: shared.and_then(|(name, id)| Some((file_name(name)?, id.to_vec()))),
            sections,
        })
    }

    /// Whether it has debug information itself.
    pub fn has_info(&self) -> bool {
        self.sections.contains_key(".debug_info")
    }

    /// Its sections for gimli; absent ones are empty.
    pub fn dwarf(&self) -> Dwarf<Window> {
        self.load(|id| Some(id.name()))
    }

    /// The sections of a split object.
    pub fn split(&self) -> Dwarf<Window> {
        self.load(SectionId::dwo_name)
    }

    fn load(&self, name: impl Fn(SectionId) -> Option<&'static str>) -> Dwarf<Window> {
        let window = |id| Ok::<_, std::convert::Infallible>(self.window(name(id)));
        match Dwarf::load(window) {
            Ok(dwarf) => dwarf,
            Err(never) => match never {},
        }
    }

    fn window(&self, name: Option<&str>) -> Window {
        let section = name.and_then(|name| self.sections.get(name)).cloned();
        Window::new(section.unwrap_or_else(|| Arc::new(Section::empty())))
    }

    /// The index and sections of a package of split objects.
    pub fn package(&self) -> Option<gimli::DwarfPackage<Window>> {
        let window = |id: SectionId| Ok::<_, gimli::Error>(self.window(id.dwo_name().or(Some(id.name()))));
        gimli::DwarfPackage::load(window, Window::new(Arc::new(Section::empty()))).ok()
    }

    /// The file that this one and others share, moved there by dwz.
    pub fn shared(&self) -> Option<Self> {
        let (name, id) = self.shared.as_ref()?;
        let beside = self.path.parent().map(|p| p.join(name));
        let by_id = by_build_id(Path::new("/usr/lib/debug"), id);
        let candidates = beside.into_iter().chain(by_id);
        candidates.filter_map(|path| Self::open(&path)).find(Self::has_info)
    }
}

/// The file with the debug information of a binary: itself or a separate one; else the files that
/// were looked for. `roots` are searched in order, the distribution's (`/usr/lib/debug`) among them.
pub fn find(binary: &Path, roots: &[PathBuf]) -> Result<DebugFile, Vec<PathBuf>> {
    let Some(own) = DebugFile::open(binary) else { return Err(Vec::new()) };
    if own.has_info() {
        return Ok(own);
    }
    let binary = binary.canonicalize().unwrap_or_else(|_| binary.to_owned());
    let looked = candidates(&own, &binary, roots);
    let fitting = |file: &DebugFile| file.has_info() && belongs(&own, file);
    match looked.iter().filter(|p| **p != binary).filter_map(|p| DebugFile::open(p)).find(fitting) {
        Some(found) => Ok(found),
        None => Err(looked),
    }
}

fn candidates(own: &DebugFile, binary: &Path, roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut list: Vec<PathBuf> = Vec::new();
    let folder = binary.parent().unwrap_or(Path::new("/"));
    // Folders that are not given from the root are looked for here and beside the binary, as elfutils does.
    let beside = roots.iter().filter(|root| root.is_relative()).map(|root| folder.join(root));
    let roots: Vec<PathBuf> = roots.iter().cloned().chain(beside).collect();
    if let Some(id) = &own.build_id {
        list.extend(roots.iter().filter_map(|root| by_build_id(root, id)));
    }
    let inside = folder.strip_prefix("/").unwrap_or(folder);
    let mut names: Vec<PathBuf> = own.link.iter().map(|(name, _)| name.clone()).collect();
    // Where there is no link, by the names that distributions and build systems give.
    if let Some(name) = binary.file_name().filter(|_| names.is_empty()) {
        let mut with_suffix = name.to_owned();
        with_suffix.push(".debug");
        names.extend([PathBuf::from(with_suffix), PathBuf::from(name)]);
    }
    for name in &names {
        let Some(name) = name.file_name() else { continue };
        if own.link.is_some() {
            list.push(folder.join(name));
            list.push(folder.join(".debug").join(name));
        }
        list.extend(roots.iter().flat_map(|root| [root.join(inside).join(name), root.join(name)]));
    }
    list
}

fn by_build_id(root: &Path, id: &[u8]) -> Option<PathBuf> {
    let hex = id.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let (first, rest) = hex.split_at_checked(2).filter(|(_, rest)| !rest.is_empty())?;
    Some(root.join(".build-id").join(first).join(format!("{rest}.debug")))
}

/// Whether a debug file was made from this binary: by build ids, else by the link's checksum.
fn belongs(own: &DebugFile, file: &DebugFile) -> bool {
    match (&own.build_id, &file.build_id, &own.link) {
        (Some(ours), Some(theirs), _) => ours == theirs,
        (_, _, Some((_, crc))) => checksum(&file.path) == Some(*crc),
        _ => false,
    }
}

fn checksum(path: &Path) -> Option<u32> {
    let mut file = regular::open(path).ok()?;
    if file.metadata().ok()?.len() > MOST_SUMMED {
        return None;
    }
    let mut crc = flate2::Crc::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(crc.sum()),
            n => crc.update(buffer.get(..n)?),
        }
    }
}
