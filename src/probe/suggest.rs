//! Did you mean: the nearest of many names.

/// Longest name that is compared: the cost grows with the product of both lengths.
const MAX_LENGTH: usize = 128;

/// Number of letters to insert, remove, replace or swap to turn one into the other, when at most `most`.
#[must_use]
pub fn distance(left: &str, right: &str, most: usize) -> Option<usize> {
    let (a, b) = (left.as_bytes(), right.as_bytes());
    if a.len().abs_diff(b.len()) > most || a.len() > MAX_LENGTH || b.len() > MAX_LENGTH {
        return None;
    }
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], n: usize| row.get(n).copied().unwrap_or(usize::MAX / 2);
            let swap = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            let swapped = if swap { at(&before, j - 1) + 1 } else { usize::MAX / 2 };
            let replaced = at(&row, j) + usize::from(x != y);
            next.push(replaced.min(at(&row, j + 1) + 1).min(at(&next, j) + 1).min(swapped));
        }
        if next.iter().all(|d| *d > most) {
            return None;
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().filter(|d| *d <= most)
}

/// Up to `limit` of `names` that look like `wanted`, nearest first: few letters off, or with `wanted`
/// inside them.
pub fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>, limit: usize) -> Vec<&'a str> {
    let most = (wanted.len() / 4).clamp(1, 4);
    let score = |name: &'a str| {
        let off = distance(wanted, name, most);
        let inside = (wanted.len() >= 4 && name.contains(wanted)).then(|| most + 1 + name.len() - wanted.len());
        off.or(inside).map(|s| (s, name.len(), name))
    };
    let mut found: Vec<_> = names.filter_map(score).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(limit).map(|(_, _, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found() {
        let names = ["vfs_read", "vfs_write", "do_sys_openat2", "ksys_read"];
        assert_eq!(nearest("vfs_raed", names.into_iter(), 3), ["vfs_read"]);
        assert_eq!(nearest("openat", names.into_iter(), 3), ["do_sys_openat2"]);
        assert!(nearest("zzzz", names.into_iter(), 3).is_empty());
        assert_eq!(distance("abc", "abc", 0), Some(0));
        assert_eq!(distance("abc", "acb", 1), Some(1));
        assert_eq!(distance("abc", "xyz", 2), None);
    }
}
