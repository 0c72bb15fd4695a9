//! Kernel functions that can be traced.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::{Absence, read};

/// Largest list that is read, bytes (47,000 functions are about 1.5 MB).
const MAX_LIST: u64 = 64 << 20;

/// Functions with their modules, in the kernel's order. Names are ranges of one text.
#[derive(Debug)]
pub struct FunctionTable {
    text: String,
    entries: Vec<Entry>,
    modules: Vec<Arc<str>>,
    by_name: OnceLock<Vec<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    length: u16,
    /// Index in `modules`; 0 is the kernel itself.
    module: u16,
}

/// A function and where it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Name.
    pub name: &'a str,
    /// Module; `None` for the kernel itself.
    pub module: Option<&'a Arc<str>>,
}

impl FunctionTable {
    pub(super) fn read(path: &Path) -> Result<Self, Absence> {
        let text = read::text(path, MAX_LIST).map_err(|e| {
            let remedy = match e.kind() {
                std::io::ErrorKind::NotFound => "boot a kernel built with CONFIG_DYNAMIC_FTRACE=y",
                _ => "run as root on a kernel that is not locked down; use tracepoints or uprobes meanwhile",
            };
            Absence::new("list of traceable kernel functions", &format!("{}: {e}", path.display()), remedy)
        })?;
        Ok(Self::parse(text))
    }

    /// Reads lines of `NAME` or `NAME [MODULE]`. Lines that make no sense are left out.
    #[must_use]
    pub fn parse(text: String) -> Self {
        let mut modules: Vec<Arc<str>> = vec!["".into()];
        let mut numbers: HashMap<&str, u16> = HashMap::new();
        let mut entries = Vec::with_capacity(text.len() / 24);
        let mut start = 0_u32;
        for line in text.split_inclusive('\n') {
            let (name, module) = split_line(line);
            if is_function_name(name) {
                let module = match module {
                    "" => 0,
                    known if numbers.contains_key(known) => numbers.get(known).copied().unwrap_or(0),
                    new => {
                        modules.push(new.into());
                        let number = (modules.len() - 1) as u16;
                        numbers.insert(new, number);
                        number
                    }
                };
                entries.push(Entry { start, length: name.len() as u16, module });
            }
            start += line.len() as u32;
        }
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

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Function<'_>> {
        self.entries.iter().map(|e| self.function(*e))
    }

    /// All functions of this name: the kernel and modules may each have one.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Function<'a>> {
        let order = self.by_name.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
            order.sort_by_key(|n| self.entries.get(*n as usize).map(|e| self.name(*e)));
            order
        });
        let at = |n: &u32| self.entries.get(*n as usize);
        let first = order.partition_point(|n| at(n).is_some_and(|e| self.name(*e) < name));
        order
            .get(first..)
            .unwrap_or(&[])
            .iter()
            .filter_map(at)
            .take_while(move |e| self.name(**e) == name)
            .map(|e| self.function(*e))
    }

    /// Whether the kernel or a module has a traceable function of this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.named(name).next().is_some()
    }

    fn name(&self, entry: Entry) -> &str {
        let start = entry.start as usize;
        self.text.get(start..start + usize::from(entry.length)).unwrap_or("")
    }

    fn function(&self, entry: Entry) -> Function<'_> {
        let module = self.modules.get(usize::from(entry.module)).filter(|m| !m.is_empty());
        Function { name: self.name(entry), module }
    }
}

fn split_line(line: &str) -> (&str, &str) {
    let line = line.trim_end();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (name, rest.trim().strip_prefix('[').and_then(|m| m.strip_suffix(']')).unwrap_or(""))
}

/// The kernel lists places whose symbols were discarded as `__ftrace_invalid_address___1234`.
fn is_function_name(name: &str) -> bool {
    !name.is_empty() && name.len() < 1024 && !name.starts_with("__ftrace_invalid_address")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_may_be_in_several_modules() {
        let table =
            FunctionTable::parse("vfs_read\ncleanup [kvm]\ncleanup [xfs]\n__ftrace_invalid_address___64\n".into());
        assert_eq!(table.len(), 3);
        let modules: Vec<_> = table.named("cleanup").map(|f| f.module.map(|m| &**m)).collect();
        assert_eq!(modules, [Some("kvm"), Some("xfs")]);
        assert_eq!(table.named("vfs_read").next().map(|f| f.module), Some(None));
        assert!(!table.contains("vfs_rea") && !table.contains("vfs_read2"));
    }
}
