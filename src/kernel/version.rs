//! The kernel's version.

use super::read;
use super::roots::Roots;

/// `major.minor.patch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version {
    /// 6 of 6.12.3.
    pub major: u32,
    /// 12 of 6.12.3.
    pub minor: u32,
    /// 3 of 6.12.3.
    pub patch: u32,
}

impl Version {
    /// Reads the numbers at the start of a release such as `6.12.107-1-amd64`; what is missing is 0.
    #[must_use]
    pub fn parse(release: &str) -> Self {
        let mut numbers = release.trim().splitn(3, '.').map(|part| {
            let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            part.get(..digits).and_then(|d| d.parse().ok()).unwrap_or(0)
        });
        let mut next = || numbers.next().unwrap_or(0);
        Self { major: next(), minor: next(), patch: next() }
    }

    /// Whether this is `major.minor` or newer.
    #[must_use]
    pub const fn at_least(self, major: u32, minor: u32) -> bool {
        self.major > major || self.major == major && self.minor >= minor
    }

    /// `major << 16 | minor << 8`, as `LINUX_VERSION_CODE` without its patch level.
    #[must_use]
    pub const fn code(self) -> u32 {
        self.major << 16 | self.minor << 8
    }

    pub(super) fn read(roots: &Roots) -> Self {
        read::small_text(&roots.proc.join("sys/kernel/osrelease")).map_or_else(|_| Self::default(), |r| Self::parse(&r))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distribution_suffixes_are_ignored() {
        let v = |major, minor, patch| Version { major, minor, patch };
        assert_eq!(Version::parse("6.12.107+deb13-amd64\n"), v(6, 12, 107));
        assert_eq!(Version::parse("5.10.0-32-amd64"), v(5, 10, 0));
        assert_eq!(Version::parse("7.2-rc1"), v(7, 2, 0));
        assert_eq!(Version::parse("what"), v(0, 0, 0));
        assert!(v(7, 0, 0).at_least(6, 12) && v(6, 12, 0).at_least(6, 12) && !v(6, 11, 9).at_least(6, 12));
    }
}
