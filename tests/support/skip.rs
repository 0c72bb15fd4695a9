//! Tests that can't run here. Rust's harness has no word for "skipped" and hides what a passing test
//! prints, so the reasons go to a file, from which the lists of results are set right.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Names the file, if any, that takes a line `TEST: REASON` for each test that was skipped.
const FILE: &str = "PROBESCOPE_SKIPPED";

/// Notes that the present test can't run here, and why.
pub fn skip(reason: &str) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("skipped: {name}: {reason}");
    let Some(path) = std::env::var_os(FILE) else { return };
    let mut file = OpenOptions::new().append(true).create(true).open(path).expect("the file of skipped tests opens");
    // One write, so that tests side by side don't mix their lines.
    file.write_all(format!("{name}: {reason}\n").as_bytes()).expect("the file of skipped tests is written");
}
