//! Where the kernel's files are.

use std::path::{Path, PathBuf};

/// The folders through which a kernel is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// Where tracefs is expected. When it has no `events`, `sys/kernel/debug/tracing` is tried.
    pub tracefs: PathBuf,
    /// `/boot`, for the kernel's configuration.
    pub boot: PathBuf,
}

impl Roots {
    /// The running kernel's own.
    #[must_use]
    pub fn running() -> Self {
        Self::below(Path::new("/"))
    }

    /// A kernel described by the folder `path`, which holds `proc`, `sys` and `boot` (see
    /// `tests/fixtures/kernel/README.md`): for tests that must not depend on the machine.
    #[must_use]
    pub fn fixture(path: impl AsRef<Path>) -> Self {
        Self::below(path.as_ref())
    }

    fn below(root: &Path) -> Self {
        let sys = root.join("sys");
        Self { proc: root.join("proc"), tracefs: sys.join("kernel/tracing"), boot: root.join("boot"), sys }
    }
}
