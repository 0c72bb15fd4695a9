//! Tests that load BPF programs.

use crate::skip::skip;

/// True, and noted as skipped, where programs can't be loaded.
pub fn missing() -> bool {
    let missing = !rustix::process::geteuid().is_root();
    if missing {
        skip("loading BPF programs needs root");
    }
    missing
}
