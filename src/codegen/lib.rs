//! Typed program to BPF object: a pure function of the program and the target's facts. No system
//! calls, the same bytes every time.
//!
//! `lower` turns the typed program into [`ir`] functions; [`verifier`] writes what the kernel's verifier needs beyond plain
//! code; `regs` gives virtual registers a place; `emit` writes instructions; `elf` and `btf` write the object. [`artifact`]
//! is the result.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

use crate as codegen;

use probescope_binary as binary;
use probescope_kernel as kernel;
use probescope_lang as lang;
use probescope_model as model;
use probescope_probe as probe;

pub mod artifact;
pub mod backend;
pub mod builder;
pub mod cfg;
mod compile;
pub mod dump;
pub mod error;
pub mod ir;
pub mod lower;
pub mod verifier;
pub mod verifier_log;

pub use compile::{compile, compile_with_source};
