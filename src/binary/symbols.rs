//! The functions and variables of a binary: most of the time that a large one takes, so they are read when they are
//! first asked for.

use std::fs::File;
use std::sync::Arc;

use object::elf;
use object::read::elf::{ElfFile64, SectionHeader as _, Sym as _};
use object::{Endianness, ReadCache, pod};

use super::archive::Member;
use super::places::FunctionSymbol;

/// Most symbols believed: Chromium has about two million.
const MAX_SYMBOLS: usize = 8_000_000;
/// Longest symbol name believed.
const MAX_NAME: usize = 64 << 10;
/// Largest table that is read, bytes.
const MAX_TABLE: u64 = 1 << 30;
/// How many times a file's size the names of its symbols may take: many symbols of a hostile file can
/// share one long name, which is copied for each.
const NAMES_OF_FILE: u64 = 8;

/// A binary's symbols, each list ascending by name, then address.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    pub functions: Vec<FunctionSymbol>,
    pub variables: Vec<FunctionSymbol>,
}

impl Symbols {
    /// Reads the tables of the files: a binary, and the one that has what was stripped off it.
    pub(super) fn read(files: &[(File, Member)]) -> Self {
        let mut symbols = Self::default();
        for (file, member) in files {
            symbols.add_file(file, member);
        }
        for list in [&mut symbols.functions, &mut symbols.variables] {
            list.sort_unstable_by(|a, b| (&a.name, a.address).cmp(&(&b.name, b.address)));
            list.dedup_by(|a, b| a.name == b.name && a.address == b.address);
        }
        symbols
    }

    fn add_file(&mut self, file: &File, member: &Member) {
        let cache = ReadCache::new(file);
        let data = cache.range(member.offset, member.size);
        let Ok(elf) = ElfFile64::<Endianness, _>::parse(data) else { return };
        let (endian, mut left) = (elf.endian(), member.size.saturating_mul(NAMES_OF_FILE));
        let sections = elf.elf_section_table();
        let mut found = Found::default();
        for kind in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
            let Some(section) = sections.iter().find(|s| s.sh_type(endian) == kind) else { continue };
            let link = object::SectionIndex(section.sh_link(endian) as usize);
            let Ok(texts) = sections.section(link) else { continue };
            if section.sh_size(endian).max(texts.sh_size(endian)) > MAX_TABLE {
                continue;
            }
            if let (Ok(table), Ok(texts)) = (section.data(endian, data), texts.data(endian, data)) {
                found.add_table(table, texts, endian, &mut left);
            }
        }
        self.functions.extend(distinct(found.functions));
        self.variables.extend(distinct(found.variables));
    }
}

/// A symbol whose name still lies in the file: address, name, size, and whether it is an indirect function.
type Borrowed<'f> = (u64, &'f str, u64, bool);

/// The symbols of one file: most stand in both of its tables.
#[derive(Default)]
struct Found<'f> {
    functions: Vec<Borrowed<'f>>,
    variables: Vec<Borrowed<'f>>,
}

/// Each symbol once. Sorting by addresses is cheap; the long names of C++ have long heads in common, so that only those
/// that are left are sorted by name.
fn distinct(mut found: Vec<Borrowed<'_>>) -> impl Iterator<Item = FunctionSymbol> {
    found.sort_unstable();
    found.dedup_by(|a, b| (a.0, a.1) == (b.0, b.1));
    found.into_iter().map(|(address, name, size, indirect)| FunctionSymbol {
        name: Arc::from(name),
        address,
        size,
        indirect,
    })
}

impl<'f> Found<'f> {
    fn add_table(&mut self, table: &[u8], texts: &'f [u8], endian: Endianness, left: &mut u64) {
        let count = table.len() / size_of::<elf::Sym64<Endianness>>();
        let Ok((symbols, _)) = pod::slice_from_bytes::<elf::Sym64<Endianness>>(table, count) else { return };
        for symbol in symbols.iter().take(MAX_SYMBOLS) {
            let list = match symbol.st_type() {
                elf::STT_FUNC | elf::STT_GNU_IFUNC => &mut self.functions,
                elf::STT_OBJECT | elf::STT_COMMON => &mut self.variables,
                _ => continue,
            };
            let address = symbol.st_value(endian);
            if address == 0 || symbol.st_shndx(endian) == elf::SHN_UNDEF {
                continue;
            }
            let Some(name) = text_at(texts, symbol.st_name(endian) as usize) else { continue };
            *left = left.saturating_sub(name.len() as u64);
            if *left == 0 {
                return;
            }
            list.push((address, name, symbol.st_size(endian), symbol.st_type() == elf::STT_GNU_IFUNC));
        }
    }
}

/// A symbol's name, without its version.
fn text_at(texts: &[u8], start: usize) -> Option<&str> {
    let rest = texts.get(start..)?;
    let rest = rest.get(..MAX_NAME + 1).unwrap_or(rest);
    let name = std::str::from_utf8(rest.get(..memchr::memchr(0, rest)?)?).ok()?;
    let name = name.split_once('@').map_or(name, |(name, _version)| name);
    (!name.is_empty()).then_some(name)
}
