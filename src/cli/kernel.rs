//! The running kernel as subcommands see it.

use std::path::PathBuf;
use std::sync::Arc;

use super::World;
use crate::kernel::{Kernel, Roots, tracefs};

/// The running kernel, with tracefs mounted where that is allowed and the caller's `PATH`.
#[must_use]
pub fn running(world: &World) -> Arc<Kernel> {
    let roots = Roots::running();
    // Where it can't be mounted, everything that needs it tells why.
    let _ = tracefs::mount_tracefs(&roots);
    let kernel = Kernel::new(roots);
    let path = world.variable("PATH").unwrap_or("");
    let directories: Vec<PathBuf> = path.split(':').filter(|d| d.starts_with('/')).map(PathBuf::from).collect();
    Arc::new(if directories.is_empty() { kernel } else { kernel.with_search_path(directories) })
}
