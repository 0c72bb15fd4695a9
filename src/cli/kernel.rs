//! The running kernel as subcommands see it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::World;
use crate::kernel::guard::{self, JOURNALS};
use crate::kernel::{Kernel, Roots};
use crate::stdio;

/// The running kernel, with tracefs mounted once it is needed, where that is allowed, and the caller's `PATH`. Settings
/// that a killed process has left changed are restored first.
#[must_use]
pub fn running(world: &World) -> Arc<Kernel> {
    for told in guard::recover(Path::new(JOURNALS)).unwrap_or_default() {
        stdio::say(format_args!("probescope: left by a run that was killed: {told}"));
    }
    // Where tracefs can't be mounted, everything that needs it tells why.
    let kernel = Kernel::new(Roots::running()).mounting_tracefs();
    let path = world.variable("PATH").unwrap_or("");
    let directories: Vec<PathBuf> = path.split(':').filter(|d| d.starts_with('/')).map(PathBuf::from).collect();
    let kernel = kernel.with_debug_roots(world.debug_roots.clone()).without(world.unused.clone());
    let kernel = match &world.function_list {
        Some(path) => kernel.with_function_list(path.clone()),
        None => kernel,
    };
    Arc::new(if directories.is_empty() { kernel } else { kernel.with_search_path(directories) })
}
