//! Script cases: what they say, what they need, how they are run and compared. Shared by the tests
//! on this kernel (`scripts`) and in guests (`kernels`).

pub mod bundled;
pub mod case;
pub mod needs;
pub mod run;
pub mod tcp_segments;
pub mod workload;

use std::path::Path;

/// All cases of the checkout: those below `tests/scripts` and `tests/d`, and the bundled scripts.
pub fn cases() -> Result<Vec<case::Case>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cases = case::load_all(&root.join("tests/scripts"))?;
    cases.extend(case::load_all(&root.join("tests/d"))?);
    cases.extend(bundled::load_all(&root.join("scripts"))?);
    Ok(cases)
}
