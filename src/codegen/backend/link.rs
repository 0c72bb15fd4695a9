//! Puts the machine code of all functions into one object.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{FuncId, Linkage, Module};
use crate::lang::source::Span;

use super::SourceLines;
use super::btf::{self, Btf, FuncLinkage, SectionInfo, TypeId};
use super::elf::{Contents, ElfWriter, RelocationKind, SectionIndex, SymbolKind, SymbolRef};
use super::emit::{Code, Relocation, Target};

/// An ELF section of code: which functions, where each starts.
struct CodeSection {
    name: String,
    functions: Vec<(FuncId, u32)>,
    bytes: u32,
}

/// The object's bytes.
pub fn link(module: &Module, codes: &[Code], source: SourceLines) -> Result<Vec<u8>, CodegenError> {
    let sections = code_sections(module, codes);
    let mut btf = Btf::default();
    btf.maps(&module.maps);
    for section in module.sections.iter().filter(|s| s.size > 0) {
        btf.section(section);
    }
    let kfuncs = kfuncs(codes);
    btf.kfuncs(&kfuncs).map_err(|name| {
        let all = codes.iter().flat_map(|c| &c.relocations);
        let used = all.into_iter().find(|r| r.target == Target::Kfunc(name));
        CodegenError::internal(used.map_or(Span::default(), |r| r.span), name, "no prototype for this kernel function")
    })?;
    let types: Vec<TypeId> = module
        .functions
        .iter()
        .map(|f| match f.linkage {
            Linkage::Program { .. } => btf.func(&f.name, FuncLinkage::Global, 1),
            Linkage::Subprogram => btf.func(&f.name, FuncLinkage::Static, f.parameters),
        })
        .collect();
    let infos: Vec<SectionInfo> = sections.iter().map(|s| section_info(s, codes, &types, source, &mut btf)).collect();
    let mut linker = Linker { elf: ElfWriter::default(), module, places: places(&sections, module.functions.len()) };
    linker.write(&sections, codes, &kfuncs);
    linker.elf.section(".BTF", Contents::Info, btf.finish(), 4);
    linker.elf.section(".BTF.ext", Contents::Info, btf::extension(&infos), 4);
    Ok(linker.elf.finish())
}

/// Subprograms go to `.text`; programs of the same section name share a section.
fn code_sections(module: &Module, codes: &[Code]) -> Vec<CodeSection> {
    let mut sections: Vec<CodeSection> = Vec::new();
    let mut by_name = std::collections::HashMap::new();
    for (index, (function, code)) in module.functions.iter().zip(codes).enumerate() {
        let name = match &function.linkage {
            Linkage::Program { section, .. } => section.as_str(),
            Linkage::Subprogram => ".text",
        };
        let at = *by_name.entry(name).or_insert_with(|| {
            sections.push(CodeSection { name: name.to_owned(), functions: Vec::new(), bytes: 0 });
            sections.len() - 1
        });
        let section = &mut sections[at];
        section.functions.push((FuncId(index as u32), section.bytes));
        section.bytes += code.insns.len() as u32 * 8;
    }
    sections
}

/// Byte offset of each function in its section.
fn places(sections: &[CodeSection], functions: usize) -> Vec<u32> {
    let mut places = vec![0; functions];
    for (function, offset) in sections.iter().flat_map(|s| &s.functions) {
        places[function.0 as usize] = *offset;
    }
    places
}

/// Kernel functions in the order of their first call.
fn kfuncs(codes: &[Code]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for relocation in codes.iter().flat_map(|c| &c.relocations) {
        if let Target::Kfunc(name) = relocation.target
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

fn section_info(
    section: &CodeSection,
    codes: &[Code],
    types: &[TypeId],
    source: SourceLines,
    btf: &mut Btf,
) -> SectionInfo {
    let mut info = SectionInfo { name: btf.string(&section.name), ..SectionInfo::default() };
    let file = btf.string(source.name());
    for (function, offset) in &section.functions {
        info.functions.push((*offset, types[function.0 as usize]));
        let mut last = None;
        for (at, span) in &codes[function.0 as usize].lines {
            let position = source.position(*span);
            // The kernel keeps 22 bits of the line and 10 of the column.
            let line = position.line.min((1 << 22) - 1) << 10 | position.column.min(1023);
            if last != Some(line) {
                let text = btf.string(source.line(position.line).trim_start());
                info.lines.push([offset + at * 8, file, text, line]);
            }
            last = Some(line);
        }
    }
    info
}

struct Linker<'a> {
    elf: ElfWriter,
    module: &'a Module,
    places: Vec<u32>,
}

/// Symbols that relocations refer to.
struct Symbols {
    maps: Vec<SymbolRef>,
    sections: Vec<SymbolRef>,
    text: Option<SymbolRef>,
    kfuncs: Vec<SymbolRef>,
}

impl Linker<'_> {
    fn write(&mut self, sections: &[CodeSection], codes: &[Code], kfuncs: &[&'static str]) {
        let indices: Vec<SectionIndex> = sections.iter().map(|s| self.code_section(s, codes)).collect();
        let text = sections.iter().position(|s| s.name == ".text").map(|i| indices[i]);
        let symbols = Symbols {
            maps: self.maps(),
            sections: self.data_sections(),
            text: text.map(|s| self.elf.symbol("", SymbolKind::Section, Some(s), 0, 0)),
            kfuncs: kfuncs.iter().map(|name| self.elf.symbol(name, SymbolKind::Extern, None, 0, 0)).collect(),
        };
        let mut license = self.module.license.clone().into_bytes();
        license.push(0);
        self.elf.section("license", Contents::ReadOnly, license, 1);
        for (section, index) in sections.iter().zip(&indices) {
            for (function, offset) in &section.functions {
                for relocation in &codes[function.0 as usize].relocations {
                    self.relocation(*index, *offset, relocation, &symbols, kfuncs);
                }
            }
        }
    }

    fn code_section(&mut self, section: &CodeSection, codes: &[Code]) -> SectionIndex {
        let mut data = Vec::with_capacity(section.bytes as usize);
        for (function, _) in &section.functions {
            let code = &codes[function.0 as usize];
            let start = data.len();
            for insn in &code.insns {
                data.extend_from_slice(&insn.encode());
            }
            self.complete(&mut data[start..], code);
        }
        let index = self.elf.section(&section.name, Contents::Code, data, 8);
        for (function, offset) in &section.functions {
            let name = &self.module.functions[function.0 as usize].name;
            let kind = if section.name == ".text" { SymbolKind::LocalFunction } else { SymbolKind::Function };
            let size = codes[function.0 as usize].insns.len() as u64 * 8;
            self.elf.symbol(&btf::identifier(name), kind, Some(index), u64::from(*offset), size);
        }
        index
    }

    /// References to local functions are relative to the start of `.text`; the instruction says
    /// where in it the function is.
    fn complete(&self, data: &mut [u8], code: &Code) {
        for relocation in &code.relocations {
            let imm = match relocation.target {
                Target::Call(f) => (self.places[f.0 as usize] / 8) as i32 - 1,
                Target::Address(f) => self.places[f.0 as usize] as i32,
                Target::Map(_) | Target::Section(_) | Target::Kfunc(_) => continue,
            };
            let at = relocation.at as usize * 8 + 4;
            data[at..at + 4].copy_from_slice(&imm.to_le_bytes());
        }
    }

    fn maps(&mut self) -> Vec<SymbolRef> {
        if self.module.maps.is_empty() {
            return Vec::new();
        }
        let bytes: u32 = self.module.maps.iter().map(btf::map_bytes).sum();
        let index = self.elf.section(".maps", Contents::Data, vec![0; bytes as usize], 8);
        let mut offset = 0;
        let mut symbols = Vec::with_capacity(self.module.maps.len());
        for map in &self.module.maps {
            let size = u64::from(btf::map_bytes(map));
            symbols.push(self.elf.symbol(&map.name, SymbolKind::Object, Some(index), offset, size));
            offset += size;
        }
        symbols
    }

    fn data_sections(&mut self) -> Vec<SymbolRef> {
        let mut symbols = Vec::with_capacity(self.module.sections.len());
        for section in &self.module.sections {
            let mut data = section.data.clone();
            let contents = if section.name == ".bss" || section.name.starts_with(".bss.") {
                data.clear();
                Contents::Zeros(section.size)
            } else {
                data.resize(section.size as usize, 0);
                if section.read_only { Contents::ReadOnly } else { Contents::Data }
            };
            let index = self.elf.section(&section.name, contents, data, 8);
            self.elf.symbol(&btf::variable_name(section), SymbolKind::Object, Some(index), 0, u64::from(section.size));
            symbols.push(self.elf.symbol("", SymbolKind::Section, Some(index), 0, 0));
        }
        symbols
    }

    fn relocation(
        &mut self,
        section: SectionIndex,
        start: u32,
        relocation: &Relocation,
        symbols: &Symbols,
        kfuncs: &[&'static str],
    ) {
        let (symbol, kind) = match relocation.target {
            Target::Map(map) => (symbols.maps.get(map.0 as usize).copied(), RelocationKind::Constant),
            Target::Section(s) => (symbols.sections.get(s.0 as usize).copied(), RelocationKind::Constant),
            Target::Address(_) => (symbols.text, RelocationKind::Constant),
            Target::Call(_) => (symbols.text, RelocationKind::Call),
            Target::Kfunc(name) => {
                let at = kfuncs.iter().position(|k| *k == name);
                (at.map(|at| symbols.kfuncs[at]), RelocationKind::Call)
            }
        };
        if let Some(symbol) = symbol {
            self.elf.relocation(section, u64::from(start) + u64::from(relocation.at) * 8, symbol, kind);
        }
    }
}
