//! Did you mean: the nearest of many names.

use memchr::memmem::Finder;

/// Longest name that is compared: the cost grows with the product of both lengths.
const MAX_LENGTH: usize = 128;

/// Number of letters to insert, remove, replace or swap to turn one into the other, when at most `most`.
#[must_use]
pub fn distance(left: &str, right: &str, most: usize) -> Option<usize> {
    let far = left.len().abs_diff(right.len()) > most || left.len() > MAX_LENGTH || right.len() > MAX_LENGTH;
    if far { None } else { Some(strsim::osa_distance(left, right)).filter(|d| *d <= most) }
}

/// Up to `limit` of `names` that look like `wanted`, nearest first: few letters off, or with `wanted`
/// inside them.
pub fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>, limit: usize) -> Vec<&'a str> {
    let most = (wanted.len() / 4).clamp(1, 4);
    let part = Finder::new(wanted);
    let score = |name: &'a str| {
        let off = distance(wanted, name, most);
        let is_inside = wanted.len() >= 4 && part.find(name.as_bytes()).is_some();
        let inside = is_inside.then(|| most + 1 + name.len() - wanted.len());
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
