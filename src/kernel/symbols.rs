//! Kernel symbols from `/proc/kallsyms`, sorted by address.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::roots::Roots;
use super::{Absence, read};

/// Largest symbol table that is read, bytes (200,000 symbols are about 9 MB).
const MAX_KALLSYMS: u64 = 256 << 20;
/// Kernel addresses have the top bit set on every 64-bit machine; per-CPU offsets do not.
const KERNEL_HALF: u64 = 1 << 63;

/// The kernel's and its modules' symbols. Names are ranges of one text.
#[derive(Debug)]
pub struct SymbolTable {
    text: Vec<u8>,
    /// Ascending by address; equal addresses in the kernel's order, which puts the best name first.
    entries: Vec<Entry>,
    modules: Vec<Arc<str>>,
    by_name: OnceLock<Vec<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    start: u32,
    length: u16,
    module: u16,
    kind: u8,
}

/// A kernel symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Name.
    pub name: &'a str,
    /// Address; 0 when the kernel hides addresses.
    pub address: u64,
    /// As `nm` prints it: `T`/`t` code, `D`/`d` data.
    pub kind: char,
    /// Module; `None` for the kernel itself.
    pub module: Option<&'a Arc<str>>,
}

impl Symbol<'_> {
    /// Code, which could hold a probe.
    #[must_use]
    pub const fn is_code(&self) -> bool {
        matches!(self.kind, 'T' | 't' | 'W' | 'w')
    }
}

impl SymbolTable {
    pub(super) fn read(roots: &Roots) -> Result<Self, Absence> {
        let path = roots.proc.join("kallsyms");
        let bytes = read::bounded(&path, MAX_KALLSYMS).map_err(|e| {
            Absence::new(
                "kernel symbols",
                &format!("{}: {e}", path.display()),
                "boot a kernel built with CONFIG_KALLSYMS=y",
            )
        })?;
        Ok(Self::parse(bytes))
    }

    /// Reads lines of `ADDRESS KIND NAME` or `ADDRESS KIND NAME [MODULE]`; others are left out.
    #[must_use]
    pub fn parse(text: Vec<u8>) -> Self {
        let mut modules: Vec<Arc<str>> = vec!["".into()];
        let mut numbers: HashMap<Vec<u8>, u16> = HashMap::new();
        let mut entries = Vec::with_capacity(text.len() / 40);
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &text).chain(std::iter::once(text.len())) {
            if let Some((entry, module)) = text.get(start..end).and_then(|line| parse_line(line, start)) {
                let module = if module.is_empty() {
                    0
                } else if let Some(known) = numbers.get(module) {
                    *known
                } else {
                    modules.push(String::from_utf8_lossy(module).into());
                    let number = (modules.len() - 1).min(usize::from(u16::MAX)) as u16;
                    numbers.insert(module.to_vec(), number);
                    number
                };
                entries.push(Entry { module, ..entry });
            }
            start = end + 1;
        }
        entries.sort_by_key(|e| e.address);
        Self { text, entries, modules, by_name: OnceLock::new() }
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// True when every address reads 0 (`kernel.kptr_restrict`, or no `CAP_SYSLOG`).
    #[must_use]
    pub fn hides_addresses(&self) -> bool {
        self.entries.last().is_none_or(|e| e.address == 0)
    }

    /// All of them, ascending by address.
    pub fn iter(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.entries.iter().map(|e| self.symbol(e))
    }

    /// All symbols that stand at an address: a function may have several names.
    pub fn at(&self, address: u64) -> impl Iterator<Item = Symbol<'_>> {
        let first = self.entries.partition_point(|e| e.address < address);
        let tail = self.entries.get(first..).unwrap_or(&[]).iter();
        tail.take_while(move |e| e.address == address).map(|e| self.symbol(e))
    }

    /// All symbols of this name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Symbol<'a>> {
        let order = self.by_name.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
            order.sort_by_key(|n| self.entries.get(*n as usize).map(|e| self.name(e)));
            order
        });
        let at = |n: &u32| self.entries.get(*n as usize);
        let first = order.partition_point(|n| at(n).is_some_and(|e| self.name(e) < name.as_bytes()));
        let tail = order.get(first..).unwrap_or(&[]).iter().filter_map(at);
        tail.take_while(move |e| self.name(e) == name.as_bytes()).map(|e| self.symbol(e))
    }

    /// Address of the first symbol of this name, the kernel's own before modules'.
    #[must_use]
    pub fn address(&self, name: &str) -> Option<u64> {
        let address = self.named(name).min_by_key(|s| s.module.is_some())?.address;
        (address != 0).then_some(address)
    }

    /// The symbol that covers an address, and the distance from its start. Of several that begin at one
    /// place it is the last of the list, which bpftrace shows too: `__x64_sys_getpid` rather than
    /// `__do_sys_getpid`. The `__pi_` names are only for code that runs before the kernel is mapped.
    #[must_use]
    pub fn covering(&self, address: u64) -> Option<(Symbol<'_>, u64)> {
        if address < KERNEL_HALF {
            return None;
        }
        let after = self.entries.partition_point(|e| e.address <= address);
        let last = self.entries.get(after.checked_sub(1)?).filter(|e| e.address >= KERNEL_HALF)?;
        let first = self.entries.partition_point(|e| e.address < last.address);
        let equal = self.entries.get(first..after)?;
        let ordinary = equal.iter().rev().find(|e| !self.name(e).starts_with(b"__pi_"));
        let best = ordinary.or(equal.last())?;
        Some((self.symbol(best), address - best.address))
    }

    /// As [`SymbolTable::covering`], owned.
    #[must_use]
    pub fn symbolize(&self, address: u64) -> Option<(Arc<str>, u64, Option<Arc<str>>)> {
        let (symbol, offset) = self.covering(address)?;
        Some((symbol.name.into(), offset, symbol.module.cloned()))
    }

    fn name(&self, entry: &Entry) -> &[u8] {
        let start = entry.start as usize;
        self.text.get(start..start + usize::from(entry.length)).unwrap_or(&[])
    }

    fn symbol(&self, entry: &Entry) -> Symbol<'_> {
        Symbol {
            name: std::str::from_utf8(self.name(entry)).unwrap_or(""),
            address: entry.address,
            kind: char::from(entry.kind),
            module: self.modules.get(usize::from(entry.module)).filter(|m| !m.is_empty()),
        }
    }
}

fn parse_line(line: &[u8], start: usize) -> Option<(Entry, &[u8])> {
    let space = memchr::memchr(b' ', line)?;
    let address = parse_hex(line.get(..space)?)?;
    let kind = *line.get(space + 1)?;
    let name_start = space + 3;
    let rest = line.get(name_start..)?;
    let length = memchr::memchr2(b'\t', b' ', rest).unwrap_or(rest.len());
    if length == 0 || length > 1024 || !kind.is_ascii() {
        return None;
    }
    let tail = rest.get(length..)?.trim_ascii();
    let module = tail.strip_prefix(b"[").and_then(|m| m.strip_suffix(b"]")).unwrap_or(&[]);
    let start = u32::try_from(start + name_start).ok()?;
    Some((Entry { address, start, length: length as u16, module: 0, kind }, module))
}

fn parse_hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, digit| Some(value << 4 | u64::from(char::from(*digit).to_digit(16)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> SymbolTable {
        SymbolTable::parse(
            b"0000000000020000 A pcpu_hot\nffffffff81000000 T _text\nffffffff81000100 t __do_read\n\
              ffffffff81000100 T vfs_read\nffffffff81000100 T __pi_vfs_read\nffffffff81000200 d data\nnonsense\n\
              ffffffffc0000000 t do_it\t[xfs]\nffffffffc0000040 t vfs_read\t[xfs]\n"
                .to_vec(),
        )
    }

    #[test]
    fn addresses_and_names() {
        let table = table();
        assert_eq!(table.address("vfs_read"), Some(0xffff_ffff_8100_0100), "the kernel's own before a module's");
        assert_eq!(table.address("vfs_rea"), None);
        let (name, offset, module) = table.symbolize(0xffff_ffff_8100_0108).unwrap();
        assert_eq!(
            (&*name, offset, module),
            ("vfs_read", 8, None),
            "the last of equal addresses that ordinary code has"
        );
        let (name, _, module) = table.symbolize(0xffff_ffff_c000_0001).unwrap();
        assert_eq!((&*name, module.as_deref()), ("do_it", Some("xfs")));
    }

    #[test]
    fn user_addresses_are_no_symbols() {
        assert_eq!(table().symbolize(0x0040_0000), None);
        assert_eq!(table().symbolize(0xffff_ffff_0000_0000), None);
    }

    #[test]
    fn hidden_addresses_are_noticed() {
        let hidden = SymbolTable::parse(b"0000000000000000 T vfs_read\n".to_vec());
        assert!(hidden.hides_addresses() && hidden.address("vfs_read").is_none());
        assert!(!table().hides_addresses());
    }
}
