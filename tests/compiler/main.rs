//! The compiler and what stands below it, as a library: one test binary, because each links all of the crate.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod architecture;
mod bombs;
mod codegen_kernel;
mod codes;
mod dwarf;
mod extremes;
mod fuzz_corpora;
mod generated_scripts;
#[path = "lowering/kernel.rs"]
mod kernel;
mod language;
mod lowering;
mod lowering_scripts;
#[path = "../support/root.rs"]
mod root;
#[path = "../support/skip.rs"]
mod skip;
mod tour;
