//! probescope: an interactive tracing workbench for the Linux terminal.
//!
//! The library knows no terminal, no environment and no home folder: the binary reads those and
//! passes values in. Rooms import only from rooms below them; see ARCHITECTURE.md.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

pub mod binary;
pub mod cli;
pub mod codegen;
pub mod disk;
pub mod engine;
pub mod kernel;
pub mod lang;
pub mod library;
pub mod loads;
pub mod model;
pub mod output;
pub mod probe;
mod regular;
pub mod session;
pub mod stdio;
pub mod store;
pub mod thread;
pub mod tracer;
pub mod tui;

/// The history drops and takes chunks of a few kilobytes all day long. The C library's allocator leaves more and more
/// holes between them, a third of the history after a day; this one's memory stays as it is once the history is full.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
