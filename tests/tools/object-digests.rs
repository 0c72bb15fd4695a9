//! Compiles all script cases, all bundled scripts and statements in loops for several kernels, and prints a digest of each
//! object: whoever changes the compiler without wanting other code compares the output of two commits.
//!
//! `cargo run --example object-digests > before`, the same after the change, then `diff`. The front end asks the running
//! kernel; what its probes and types allow is the same in both runs. `object-digests NAME` writes the code of the
//! scripts with this in their names instead.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a tool of the maintainers says where it stopped by panicking")]

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};

use probescope::codegen;
use probescope::kernel::target::TargetFacts;
use probescope::kernel::{Kernel, Roots};
use probescope::lang::diagnostic::has_errors;
use probescope::lang::front::FrontOptions;
use probescope::lang::front_end;
use probescope::lang::source::SourceText;
use probescope::lang::typed::{MissingProbes, Program};

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../compiler/generated_scripts"]
mod generated {
    pub mod branchy_statements;
    pub mod random;
}

use generated::branchy_statements::{COUNT, LOOPS, script};

/// Kernels that differ in what they offer or in what their verifiers compare.
const KERNELS: [(u32, u32); 6] = [(5, 10), (6, 1), (6, 6), (6, 12), (6, 18), (7, 2)];

/// Files of scripts below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|ending| ending == "bt" || ending == "d") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Names and texts of all scripts.
fn scripts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["scripts", "tests/scripts", "tests/d"].map(|folder| files(&root.join(folder)));
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        fs::read_to_string(&path).ok().map(|text| (name, text))
    };
    let mut all: Vec<(String, String)> = folders.into_iter().flatten().filter_map(read).collect();
    for piece in 0..COUNT {
        for (at, around) in LOOPS.iter().enumerate() {
            all.push((
                format!("generated/{piece}-in-loop-{at}.bt"),
                script(around, &[piece, piece, (piece + 7) % COUNT]),
            ));
        }
    }
    all
}

/// The typed program, where this kernel has what the script asks for.
fn checked(name: &str, text: &str, kernel: &Kernel) -> Option<(Program, SourceText)> {
    let source = SourceText::new(name, text);
    // D refuses arguments that a program does not name, and has no `$target` without a process.
    let is_d = Path::new(name).extension().is_some_and(|ending| ending == "d");
    let is_named = |number: &String| !is_d || text.contains(&format!("${number}"));
    let parameters: Vec<String> = ["1", "2", "3"].map(str::to_owned).into_iter().filter(is_named).collect();
    let mut options = FrontOptions::new(kernel);
    options.unsafe_allowed = true;
    options.params = &parameters;
    options.pid = is_d.then_some(1);
    options.missing_probes = MissingProbes::Ignore;
    let checked = front_end(&source).compile(&source, &options);
    (!has_errors(&checked.diagnostics)).then_some((checked.program, source))
}

fn main() {
    let wanted = std::env::args().nth(1);
    let kernel = Kernel::new(Roots::running()).mounting_tracefs();
    for (name, text) in scripts() {
        if wanted.as_ref().is_some_and(|wanted| !name.contains(wanted.as_str())) {
            continue;
        }
        let Some((program, source)) = checked(&name, &text, &kernel) else { continue };
        for (major, minor) in KERNELS {
            let facts = TargetFacts::of_version(major, minor, 2);
            if wanted.is_some() {
                let code = codegen::dump::code(&program, &facts, &source).unwrap_or_else(|e| e.to_string());
                println!("{name} {major}.{minor}\n{code}");
                continue;
            }
            let digest = codegen::compile_with_source(&program, &facts, &source).map_or(0, |artifact| {
                let mut hasher = DefaultHasher::new();
                hasher.write(&artifact.object);
                hasher.finish()
            });
            println!("{digest:016x} {major}.{minor} {name}");
        }
    }
}
