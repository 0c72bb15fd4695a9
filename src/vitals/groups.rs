//! Control groups that the kernel keeps from the CPUs, by what `cpu.stat` says: it needs no probe.

use std::fs;
use std::io::Read as _;
use std::path::Path;

/// How often a group was throttled, from the text of its `cpu.stat`; none where it has no limit.
#[must_use]
pub fn throttled(text: &str) -> Option<u64> {
    let value = |name: &str| {
        text.lines().take(64).find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse::<u64>().ok())
    };
    value("nr_periods").filter(|periods| *periods > 0)?;
    value("nr_throttled")
}

/// Groups that are read at most: a host can have tens of thousands.
const MOST_GROUPS: usize = 4096;
const DEEPEST: usize = 12;

/// How often all groups below this folder were throttled; none where none has a limit, or there is no such folder.
#[must_use]
pub fn all(root: &Path) -> Option<u64> {
    let mut open = vec![(root.to_path_buf(), 0)];
    let (mut seen, mut sum) = (0, None);
    while let Some((folder, depth)) = open.pop() {
        seen += 1;
        if seen > MOST_GROUPS {
            break;
        }
        if let Some(own) = stat(&folder) {
            sum = Some(sum.unwrap_or(0_u64).saturating_add(own));
        }
        if depth == DEEPEST {
            continue;
        }
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        open.extend(folders.map(|entry| (entry.path(), depth + 1)));
    }
    sum
}

fn stat(folder: &Path) -> Option<u64> {
    let mut text = String::new();
    fs::File::open(folder.join("cpu.stat")).ok()?.take(16 << 10).read_to_string(&mut text).ok()?;
    throttled(&text)
}

#[cfg(test)]
mod tests {
    use super::throttled;

    #[test]
    fn a_group_with_a_limit_tells_how_often() {
        assert_eq!(throttled("usage_usec 5\nnr_periods 10\nnr_throttled 3\nthrottled_usec 900\n"), Some(3));
        assert_eq!(throttled("nr_periods 0\nnr_throttled 0\n"), None);
        assert_eq!(throttled("usage_usec 5\n"), None);
        assert_eq!(throttled("nr_periods x\nnr_throttled 99999999999999999999999\n"), None);
    }
}
