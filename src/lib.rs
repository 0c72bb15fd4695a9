//! probescope: an interactive tracing workbench for the Linux terminal.
//!
//! Each room is a crate that depends on the rooms below it only; this one shows them all under one name, for programs that use
//! them (`examples/`), and has the commands. None of them knows a terminal, an environment or a home folder: the program
//! reads those and passes values in. See ARCHITECTURE.md.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

pub mod cli;

pub use probescope_ask as ask;
pub use probescope_binary as binary;
pub use probescope_codegen as codegen;
pub use probescope_doors::{disk, stdio, thread};
pub use probescope_engine as engine;
pub use probescope_kernel as kernel;
pub use probescope_lang as lang;
pub use probescope_learn as learn;
pub use probescope_library as library;
pub use probescope_loads as loads;
pub use probescope_model as model;
pub use probescope_output as output;
pub use probescope_probe as probe;
pub use probescope_session as session;
pub use probescope_store as store;
pub use probescope_tracer as tracer;
pub use probescope_tui as tui;
pub use probescope_vitals as vitals;

use probescope_doors::regular;
