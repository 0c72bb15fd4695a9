//! Names of code that processes made themselves: the maps that just-in-time compilers write for
//! profilers (`/tmp/perf-PID.map`, linux/tools/perf/Documentation/jit-interface.txt).

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::regular;

/// Largest map that is read, bytes.
const LARGEST: u64 = 64 << 20;
/// Most processes whose maps are kept.
const KEPT: usize = 4096;
/// Pieces of code in all of them after which they are forgotten.
const MOST_CODE: usize = 4 << 20;
/// Longest name that is believed, bytes.
const MOST_NAME: usize = 1024;

/// Code of so many bytes at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Code {
    start: u64,
    size: u64,
    name: Arc<str>,
}

/// How soon a process is looked at again for code that its map does not name.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// A map as it was when it had that size; of size 0 where there is none.
#[derive(Debug)]
struct Known {
    size: u64,
    looked: Instant,
    code: Vec<Code>,
}

/// The maps that were read.
#[derive(Debug, Default)]
pub struct Generated(HashMap<u32, Known>);

impl Generated {
    /// The name of the code at an address, and the distance from its start.
    pub fn find(&mut self, proc: &Path, pid: u32, address: u64) -> Option<(Arc<str>, u64)> {
        if let Some(known) = self.0.get(&pid) {
            let found = find(&known.code, address);
            if found.is_some() || known.looked.elapsed() < LOOK_AGAIN {
                return found;
            }
        } else if self.0.len() >= KEPT || self.0.values().map(|known| known.code.len()).sum::<usize>() >= MOST_CODE {
            self.0.clear();
        }
        let looked = Instant::now();
        let known = self.0.entry(pid).or_insert_with(|| Known { size: 0, looked, code: Vec::new() });
        known.looked = looked;
        let path = map_of(proc, pid)?;
        let size = std::fs::metadata(&path).ok()?.size();
        // Compilers only add lines: nothing new unless the file grew.
        if known.size == size {
            return None;
        }
        known.code = parse(&String::from_utf8_lossy(&regular::start(&path, LARGEST).ok()?));
        known.size = size;
        find(&known.code, address)
    }
}

/// The file, written by the process's own number in its own file system. Others could plant one: only
/// the process's owner's or root's counts.
fn map_of(proc: &Path, pid: u32) -> Option<PathBuf> {
    let process = proc.join(pid.to_string());
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    let inner = status.lines().find_map(|l| l.strip_prefix("NSpid:")?.split_whitespace().last()?.parse().ok());
    let inside = process.join("root/tmp").join(format!("perf-{}.map", inner.unwrap_or(pid)));
    let owner = std::fs::metadata(&process).ok().map(|m| m.uid());
    let outside = PathBuf::from(format!("/tmp/perf-{pid}.map"));
    [inside, outside].into_iter().find(|path| {
        std::fs::symlink_metadata(path)
            .is_ok_and(|m| m.is_file() && (m.uid() == 0 || owner.is_none_or(|owner| owner == m.uid())))
    })
}

/// `START SIZE NAME` lines, numbers in hexadecimal; later lines win over earlier ones.
fn parse(text: &str) -> Vec<Code> {
    let line = |line: &str| {
        let mut fields = line.splitn(3, ' ');
        let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        let (start, size, name) = (number(fields.next()?)?, number(fields.next()?)?, fields.next()?.trim_end());
        let end = (0..=name.len().min(MOST_NAME)).rev().find(|at| name.is_char_boundary(*at))?;
        Some(Code { start, size, name: name.get(..end)?.into() })
    };
    let mut code: Vec<Code> = text.lines().filter_map(line).collect();
    code.sort_by_key(|c| c.start);
    code
}

fn find(code: &[Code], address: u64) -> Option<(Arc<str>, u64)> {
    let after = code.partition_point(|c| c.start <= address);
    let code = code.get(..after)?.iter().rev().take(16).find(|c| address - c.start < c.size)?;
    Some((Arc::clone(&code.name), address - code.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_map() {
        let code = parse("1000 10 first\n0x2000 20 a name with blanks\nrubbish\n1000 8 newer\n\n3000 x y\n");
        let name = |address| find(&code, address).map(|(name, offset)| (name.to_string(), offset));
        assert_eq!(name(0x1004), Some(("newer".into(), 4)));
        assert_eq!(name(0x100c), Some(("first".into(), 12)));
        assert_eq!(name(0x201f), Some(("a name with blanks".into(), 0x1f)));
        assert_eq!((name(0xfff), name(0x2020), name(u64::MAX)), (None, None, None));
    }
}
