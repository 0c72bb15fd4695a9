//! Indirect functions (`STT_GNU_IFUNC`). Such a symbol is the address of a resolver: the dynamic linker calls it once in
//! each process, and calls of the function go to the implementation that it returned. A probe at the symbol sees that
//! one call and none of the function's. What a resolver can return stands in its code, as addresses.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSymbol as _, ObjectSymbolTable as _, ReadCache, RelocationFlags, elf};

use super::archive::Member;
use super::elf::Binary;
use super::instructions::uprobe::{self, Hazard};
use super::instructions::{self, Reference};
use super::places::FunctionSymbol;

/// Longest resolver that is read, bytes.
const MOST_CODE: u64 = 64 << 10;
/// Most that is read of a binary's code at once, bytes.
const MOST_BYTES: u64 = 4 << 20;
/// Code that is read where the symbol has no size, bytes.
const USUAL_CODE: u64 = 512;
/// Most implementations believed; glibc has up to a dozen.
const MOST_IMPLEMENTATIONS: usize = 64;
/// Most relocations that are read.
const MOST_RELOCATIONS: usize = 4 << 20;
/// How the kernel's functions in each process (vDSO) are called, on x86-64 and arm64.
const KERNELS_OWN: [&[u8]; 2] = [b"__vdso_", b"__kernel_"];

/// Functions of the C library that the kernel's own code does (glibc, sysdeps/unix/sysv/linux).
const OFTEN_THE_KERNELS: [&str; 5] = ["time", "gettimeofday", "__gettimeofday", "clock_gettime", "getcpu"];

/// Why the implementations of an indirect function can't be probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// The kernel's own code in each process.
    #[error("its implementation is the kernel's code in each process (vDSO), where no probe can be")]
    InVdso,
    /// The resolver is not understood.
    #[error("its resolver, which chooses the implementation in each process, is not understood")]
    Unknown,
}

impl Binary {
    /// The addresses of all implementations that an indirect function's resolver can choose, ascending. A process runs
    /// one of them.
    ///
    /// # Errors
    /// When they are not known, or outside of the binary.
    pub fn implementations(&self, resolver: &FunctionSymbol) -> Result<Vec<u64>, Unresolved> {
        let size = if resolver.size == 0 { USUAL_CODE } else { resolver.size.min(MOST_CODE) };
        let code = self.bytes(resolver.address, size).ok_or(Unresolved::Unknown)?;
        let references = instructions::references(&code, resolver.address);
        if references.iter().any(|r| matches!(r, Reference::Address(at) if self.names_kernels_own(*at))) {
            return Err(Unresolved::InVdso);
        }
        let of_resolver = |address: &u64| (resolver.address..resolver.address + size).contains(address);
        let mut found: Vec<u64> = references
            .into_iter()
            .filter_map(|reference| match reference {
                Reference::Address(address) => Some(address),
                // An absolute address stands in code only where the binary is loaded at its own addresses.
                Reference::Constant(address) => (!self.moves()).then_some(address),
                Reference::Slot(slot) => self.slots().get(&slot).copied(),
            })
            .filter(|address| self.is_code(*address) && !of_resolver(address))
            .collect();
        found.sort_unstable();
        found.dedup();
        match found.len() {
            2..=MOST_IMPLEMENTATIONS => Ok(found),
            // Newer C libraries have looked the kernel's up before; what their code names is what is called without it.
            1 if OFTEN_THE_KERNELS.contains(&&*resolver.name) => Err(Unresolved::InVdso),
            // Where there is but one, nothing had to be chosen: the other comes from elsewhere.
            _ => Err(Unresolved::Unknown),
        }
    }

    /// Where the function of `size` bytes (0 if unknown) at an address is probed, so that it is seen at each entry with its
    /// arguments in their places: at its begin, or behind instructions that uprobes can't be at.
    ///
    /// # Errors
    /// Why there is no such place.
    pub fn probed_entry(&self, address: u64, size: u64) -> Result<u64, Hazard> {
        // Most functions have nothing to fear, which a few bytes tell.
        if self.hazard(address).is_none() {
            return Ok(address);
        }
        let size = if size == 0 { USUAL_CODE } else { size.min(MOST_CODE) };
        let code = self.bytes(address, size).unwrap_or_default();
        uprobe::entry(&code).map(|behind| address + behind as u64)
    }

    /// Why no uprobe can be at an address.
    #[must_use]
    pub fn hazard(&self, address: u64) -> Option<Hazard> {
        uprobe::hazard(&self.bytes(address, instructions::LONGEST as u64)?)
    }

    fn names_kernels_own(&self, address: u64) -> bool {
        let longest = KERNELS_OWN.iter().map(|name| name.len()).max().unwrap_or(0);
        let text = self.bytes(address, longest as u64).filter(|_| !self.is_code(address));
        text.is_some_and(|text| KERNELS_OWN.iter().any(|name| text.starts_with(name)))
    }

    /// What is loaded at an address, as it lies in the file; shorter where the file ends.
    #[must_use]
    pub fn bytes(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        let (file, _) = self.file()?;
        let mut bytes = vec![0; usize::try_from(size.min(MOST_BYTES)).ok()?];
        let read = file.read_at(&mut bytes, self.file_offset(address)?).ok()?;
        bytes.truncate(read);
        Some(bytes)
    }
}

/// What the dynamic linker writes into slots of the binary's tables: addresses in the binary itself.
pub(super) fn read_slots(file: &File, member: &Member) -> HashMap<u64, u64> {
    let cache = ReadCache::new(file);
    let data = cache.range(member.offset, member.size);
    let Ok(elf) = ElfFile64::<Endianness, _>::parse(data) else { return HashMap::new() };
    let symbols = elf.dynamic_symbol_table();
    let relocations = elf.dynamic_relocations().into_iter().flatten().take(MOST_RELOCATIONS);
    let target = |relocation: &object::Relocation| match relocation.target() {
        object::RelocationTarget::Symbol(index) => {
            symbols.as_ref()?.symbol_by_index(index).ok().map(|s| s.address()).filter(|address| *address != 0)
        }
        _ => u64::try_from(relocation.addend()).ok(),
    };
    // What these fill in is another resolver's answer.
    let indirect = |relocation: &object::Relocation| {
        matches!(relocation.flags(), RelocationFlags::Elf { r_type }
            if r_type == elf::R_X86_64_IRELATIVE || r_type == elf::R_AARCH64_IRELATIVE)
    };
    relocations.filter(|(_, r)| !indirect(r)).filter_map(|(slot, r)| Some((slot, target(&r)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    const SOURCE: &str = "
        int first(int a) { return a; }
        static int second(int a) { return a + 1; }
        int chosen;
        typedef int (*function)(int);
        static function choose(void) { return chosen ? first : second; }
        int either(int a) __attribute__((ifunc(\"choose\")));
        int main(void) { return either(1); }";

    fn built(name: &str, options: &[&str]) -> Option<Binary> {
        let folder = std::env::temp_dir().join(format!("probescope-indirect-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let source = folder.join("either.c");
        std::fs::write(&source, SOURCE).unwrap();
        let program = folder.join("either");
        let status = Command::new("cc").args(options).arg("-o").arg(&program).arg(&source).status();
        let binary = status.is_ok_and(|s| s.success()).then(|| Binary::open(&program, &[]).unwrap());
        std::fs::remove_dir_all(&folder).unwrap();
        binary
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn what_a_resolver_can_return_is_read_from_its_code() {
        let all: [(&str, &[&str]); 4] = [
            ("plain", &["-O0"]),
            ("fast", &["-O2"]),
            ("fixed", &["-O1", "-no-pie", "-fno-pic"]),
            ("shared", &["-O1", "-shared", "-fPIC"]),
        ];
        for (name, options) in all {
            let Some(binary) = built(name, options) else { return };
            let either = binary.function("either").unwrap();
            assert!(either.indirect && !binary.function("first").unwrap().indirect);
            let mut wanted = ["first", "second"].map(|f| binary.function(f).unwrap().address);
            wanted.sort_unstable();
            assert_eq!(binary.implementations(either).unwrap(), wanted, "{options:?}");
        }
    }

    #[test]
    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    fn all_indirect_functions_of_the_c_library() {
        let Some(path) =
            ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6"].map(Path::new).into_iter().find(|p| p.exists())
        else {
            return;
        };
        let libc = Binary::open(path, &[]).unwrap();
        let strlen = libc.function("strlen").unwrap();
        assert!(libc.implementations(strlen).unwrap().len() >= 2);
        for f in libc.functions().iter().filter(|f| f.indirect) {
            let time = f.name.contains("time");
            let found = libc.implementations(f);
            assert!(if time { found == Err(Unresolved::InVdso) } else { found.is_ok() }, "{}: {found:x?}", f.name);
            // With or without AVX: where they are entered, they can be probed.
            let entries = found.unwrap_or_default();
            let refused: Vec<_> = entries.iter().filter(|e| libc.probed_entry(**e, 0).is_err()).collect();
            assert!(!f.name.contains("strchrnul") || refused.is_empty(), "{}: {refused:x?}", f.name);
        }
    }
}
