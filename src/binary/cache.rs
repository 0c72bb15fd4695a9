//! `ld.so.cache`: which file a library's name stands for.

use std::path::{Path, PathBuf};

/// Where the cache is.
pub const PATH: &str = "/etc/ld.so.cache";

/// Largest cache that is read, bytes.
const MAX_CACHE: u64 = 64 << 20;
/// Start of the current format (glibc `sysdeps/generic/dl-cache.h`).
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
/// Bytes before the entries, and of each entry.
const HEADER: usize = 48;
const ENTRY: usize = 24;
/// `flags` of 64-bit libraries of this machine: `FLAG_ELF_LIBC6` with the machine's bits.
const FLAGS: u32 = if cfg!(target_arch = "x86_64") { 0x0303 } else { 0x0a03 };

/// Libraries that the dynamic linker knows: name (`libc.so.6`) and path.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LibraryCache {
    entries: Vec<(String, PathBuf)>,
}

impl LibraryCache {
    /// Reads the cache file; empty when it can't be read or makes no sense.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let fits = std::fs::metadata(path).is_ok_and(|m| m.len() <= MAX_CACHE);
        if fits { std::fs::read(path).map(|b| Self::parse(&b)).unwrap_or_default() } else { Self::default() }
    }

    /// Reads the bytes of a cache file, entries in their order, which prefers better ones.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        // The old format may come first, with the current one after it.
        let start = memchr::memmem::find(bytes, MAGIC);
        let Some(cache) = start.and_then(|s| bytes.get(s..)) else { return Self::default() };
        let word = |at: usize| Some(u32::from_ne_bytes(cache.get(at..at + 4)?.try_into().ok()?));
        let text = |offset: u32| {
            let tail = cache.get(offset as usize..)?;
            std::str::from_utf8(tail.get(..memchr::memchr(0, tail)?)?).ok()
        };
        let count = word(20).unwrap_or(0) as usize;
        let entry = |n: usize| {
            let at = HEADER + n * ENTRY;
            let (flags, name, path) = (word(at)?, text(word(at + 4)?)?, text(word(at + 8)?)?);
            (flags & 0xffff == FLAGS).then(|| (name.to_owned(), PathBuf::from(path)))
        };
        let most = cache.len() / ENTRY;
        Self { entries: (0..count.min(most)).filter_map(entry).collect() }
    }

    /// Path of `libc.so.6` by that name, or by `libc`, or by `libc.so`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Path> {
        let exact = || self.entries.iter().find(|(n, _)| n == name);
        let stem = |n: &str| n.strip_prefix(name).is_some_and(|rest| rest.starts_with(".so") || rest.starts_with('.'));
        exact().or_else(|| self.entries.iter().find(|(n, _)| stem(n))).map(|(_, path)| path.as_path())
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries: &[(u32, &str, &str)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((entries.len() as u32).to_ne_bytes());
        bytes.resize(HEADER, 0);
        let mut strings = Vec::new();
        let base = HEADER + entries.len() * ENTRY;
        for (flags, name, path) in entries {
            bytes.extend(flags.to_ne_bytes());
            for text in [name, path] {
                bytes.extend(((base + strings.len()) as u32).to_ne_bytes());
                strings.extend(text.as_bytes());
                strings.push(0);
            }
            bytes.extend([0; 12]);
        }
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn libraries_by_name_and_soname() {
        let bytes = cache(&[
            (3, "libc.so.6", "/lib32/libc.so.6"),
            (FLAGS, "libc.so.6", "/lib/libc.so.6"),
            (FLAGS, "libcap.so.2", "/lib/libcap.so.2"),
        ]);
        let cache = LibraryCache::parse(&bytes);
        assert_eq!(cache.find("libc"), Some(Path::new("/lib/libc.so.6")), "this machine's, not the 32-bit one");
        assert_eq!(cache.find("libc.so.6"), Some(Path::new("/lib/libc.so.6")));
        assert_eq!(cache.find("libca"), None);
        for cut in 0..bytes.len() {
            let _ = LibraryCache::parse(&bytes[..cut]);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_answered(tail in proptest::collection::vec(0_u8..=255, 0..200)) {
            let bytes = [MAGIC, &tail].concat();
            let _ = LibraryCache::parse(&bytes).find("libc");
        }
    }
}
