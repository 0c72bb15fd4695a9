//! Typed program to BPF object: a pure function of the program and the target's facts. No system
//! calls, the same bytes every time.
//!
//! `lower` turns the typed program into [`ir`] functions; [`verifier`] writes what the kernel's verifier needs beyond plain
//! code; `regs` gives virtual registers a place; `emit` writes instructions; `elf` and `btf` write the object. [`artifact`]
//! is the result.

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
