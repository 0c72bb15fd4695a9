//! Writes the ELF object by hand: sections, symbols and relocations in the forms that clang emits
//! and libbpf reads. (`object`'s writer stores implicit addends over the instruction of a BPF
//! relocation, which destroys it.)

use std::collections::HashMap;

const EM_BPF: u16 = 247;
const ET_REL: u16 = 1;
const SHT_PROGBITS: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_STRTAB: u32 = 3;
const SHT_NOBITS: u32 = 8;
const SHT_REL: u32 = 9;
const SHF_WRITE: u64 = 1;
const SHF_ALLOC: u64 = 2;
const SHF_EXECINSTR: u64 = 4;
const SHF_INFO_LINK: u64 = 0x40;

/// What a section holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Instructions.
    Code,
    /// Data that programs may write.
    Data,
    /// Data that they may only read.
    ReadOnly,
    /// Zeros, of this many bytes.
    Zeros(u32),
    /// Information for loaders.
    Info,
}

/// Kinds of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A variable or a map.
    Object,
    /// A program.
    Function,
    /// A subprogram, seen only here.
    LocalFunction,
    /// A section itself.
    Section,
    /// Something of the kernel.
    Extern,
}

/// Index of a section, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SectionIndex(pub u16);

/// A symbol as it was added; the final index is known when the file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolRef(usize);

/// Types of relocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocationKind {
    /// `R_BPF_64_64`: a 64-bit constant.
    Constant = 1,
    /// `R_BPF_64_32`: a call.
    Call = 10,
}

#[derive(Debug)]
struct SectionData {
    name: u32,
    contents: Contents,
    data: Vec<u8>,
    align: u64,
    relocations: Vec<(u64, SymbolRef, RelocationKind)>,
}

#[derive(Debug)]
struct Symbol {
    name: u32,
    kind: SymbolKind,
    section: u16,
    value: u64,
    size: u64,
}

/// An object under construction.
#[derive(Debug)]
pub struct ElfWriter {
    sections: Vec<SectionData>,
    symbols: Vec<Symbol>,
    strings: Vec<u8>,
    known: HashMap<String, u32>,
}

impl Default for ElfWriter {
    fn default() -> Self {
        Self { sections: Vec::new(), symbols: Vec::new(), strings: vec![0], known: HashMap::new() }
    }
}

impl ElfWriter {
    fn string(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(at) = self.known.get(text) {
            return *at;
        }
        let at = self.strings.len() as u32;
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        self.known.insert(text.to_owned(), at);
        at
    }

    /// Adds a section.
    pub fn section(&mut self, name: &str, contents: Contents, data: Vec<u8>, align: u64) -> SectionIndex {
        let name = self.string(name);
        self.sections.push(SectionData { name, contents, data, align, relocations: Vec::new() });
        SectionIndex(self.sections.len() as u16)
    }

    /// Adds a symbol in `section`; extern ones are in none.
    pub fn symbol(
        &mut self,
        name: &str,
        kind: SymbolKind,
        section: Option<SectionIndex>,
        value: u64,
        size: u64,
    ) -> SymbolRef {
        let name = self.string(name);
        self.symbols.push(Symbol { name, kind, section: section.map_or(0, |s| s.0), value, size });
        SymbolRef(self.symbols.len() - 1)
    }

    /// Adds a relocation at a byte offset of `section`.
    pub fn relocation(&mut self, section: SectionIndex, offset: u64, symbol: SymbolRef, kind: RelocationKind) {
        self.sections[usize::from(section.0) - 1].relocations.push((offset, symbol, kind));
    }

    /// The file.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        let (symbols, first_global, final_index) = self.symbol_table();
        let mut headers: Vec<[u64; 9]> = Vec::new();
        let mut out = vec![0; 64];
        for section in &self.sections {
            let (kind, flags) = section_kind(section.contents);
            pad(&mut out, section.align);
            let size =
                if let Contents::Zeros(size) = section.contents { u64::from(size) } else { section.data.len() as u64 };
            headers.push([u64::from(section.name), kind, flags, out.len() as u64, size, 0, 0, section.align, 0]);
            out.extend_from_slice(&section.data);
        }
        let related: Vec<usize> =
            (0..self.sections.len()).filter(|i| !self.sections[*i].relocations.is_empty()).collect();
        let symtab = (self.sections.len() + related.len() + 1) as u64;
        for index in related {
            let name = format!(".rel{}", self.name_of(index));
            let name = self.string(&name);
            pad(&mut out, 8);
            let start = out.len() as u64;
            for (offset, symbol, kind) in &self.sections[index].relocations {
                out.extend_from_slice(&offset.to_le_bytes());
                let info = (final_index[symbol.0] as u64) << 32 | *kind as u64;
                out.extend_from_slice(&info.to_le_bytes());
            }
            let size = out.len() as u64 - start;
            let link = [symtab, index as u64 + 1];
            headers.push([u64::from(name), u64::from(SHT_REL), SHF_INFO_LINK, start, size, link[0], link[1], 8, 16]);
        }
        let symtab_name = self.string(".symtab");
        let strtab_name = self.string(".strtab");
        pad(&mut out, 8);
        let at = out.len() as u64;
        let size = symbols.len() as u64;
        headers.push([u64::from(symtab_name), u64::from(SHT_SYMTAB), 0, at, size, symtab + 1, first_global, 8, 24]);
        out.extend_from_slice(&symbols);
        headers.push([
            u64::from(strtab_name),
            u64::from(SHT_STRTAB),
            0,
            out.len() as u64,
            self.strings.len() as u64,
            0,
            0,
            1,
            0,
        ]);
        out.extend_from_slice(&self.strings);
        pad(&mut out, 8);
        write_headers(&mut out, &headers);
        out
    }

    fn name_of(&self, index: usize) -> String {
        let start = self.sections[index].name as usize;
        let bytes = self.strings[start..].split(|b| *b == 0).next().unwrap_or(&[]);
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// The symbol table with local symbols first, as ELF wants it: its bytes, the first global
    /// symbol's index, and where each symbol went.
    fn symbol_table(&self) -> (Vec<u8>, u64, Vec<u32>) {
        let local = |s: &Symbol| matches!(s.kind, SymbolKind::Section | SymbolKind::LocalFunction);
        let mut order: Vec<usize> = (0..self.symbols.len()).collect();
        order.sort_by_key(|i| !local(&self.symbols[*i]));
        let mut index = vec![0; self.symbols.len()];
        let mut bytes = vec![0; 24];
        for (place, symbol) in order.iter().enumerate() {
            index[*symbol] = place as u32 + 1;
            let symbol = &self.symbols[*symbol];
            let info = match symbol.kind {
                SymbolKind::Object => 0x11,
                SymbolKind::Function => 0x12,
                SymbolKind::LocalFunction => 0x02,
                SymbolKind::Section => 0x03,
                SymbolKind::Extern => 0x10,
            };
            bytes.extend_from_slice(&symbol.name.to_le_bytes());
            bytes.extend_from_slice(&[info, 0]);
            bytes.extend_from_slice(&symbol.section.to_le_bytes());
            bytes.extend_from_slice(&symbol.value.to_le_bytes());
            bytes.extend_from_slice(&symbol.size.to_le_bytes());
        }
        let locals = self.symbols.iter().filter(|s| local(s)).count() as u64;
        (bytes, locals + 1, index)
    }
}

fn section_kind(contents: Contents) -> (u64, u64) {
    let (kind, flags) = match contents {
        Contents::Code => (SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR),
        Contents::Data => (SHT_PROGBITS, SHF_ALLOC | SHF_WRITE),
        Contents::ReadOnly => (SHT_PROGBITS, SHF_ALLOC),
        Contents::Zeros(_) => (SHT_NOBITS, SHF_ALLOC | SHF_WRITE),
        Contents::Info => (SHT_PROGBITS, 0),
    };
    (u64::from(kind), flags)
}

fn pad(out: &mut Vec<u8>, align: u64) {
    out.resize(out.len().next_multiple_of(align.max(1) as usize), 0);
}

/// Appends the section headers and fills in the file header.
fn write_headers(out: &mut Vec<u8>, headers: &[[u64; 9]]) {
    let table = out.len() as u64;
    out.extend_from_slice(&[0; 64]);
    for [name, kind, flags, offset, size, link, info, align, entry] in headers {
        for word in [*name as u32, *kind as u32] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for word in [*flags, 0, *offset, *size] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for word in [*link as u32, *info as u32] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for word in [*align, *entry] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
    let count = headers.len() as u16 + 1;
    let mut head = Vec::with_capacity(64);
    head.extend_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    head.extend_from_slice(&ET_REL.to_le_bytes());
    head.extend_from_slice(&EM_BPF.to_le_bytes());
    head.extend_from_slice(&1u32.to_le_bytes());
    for word in [0, 0, table] {
        head.extend_from_slice(&word.to_le_bytes());
    }
    head.extend_from_slice(&0u32.to_le_bytes());
    for half in [64u16, 0, 0, 64, count, count - 1] {
        head.extend_from_slice(&half.to_le_bytes());
    }
    out[..64].copy_from_slice(&head);
}
