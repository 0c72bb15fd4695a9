//! BPF object to running trace: load, attach, drain, decode, symbolise, losses, cost. All of libbpf
//! is here.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

use crate as engine;

use probescope_binary as binary;
use probescope_codegen as codegen;
use probescope_doors::{regular, thread};
use probescope_kernel as kernel;
use probescope_lang as lang;
use probescope_model as model;
use probescope_probe as probe;

pub mod attach;
pub mod brake;
pub mod budget;
mod cost;
pub mod decode;
pub mod detach;
pub mod dispatch;
pub mod drain;
mod error;
mod files;
mod generated;
pub mod inventory;
pub mod latency;
pub mod load;
pub mod maps;
pub mod names;
mod parts;
pub mod processes;
mod reports;
mod rights;
mod sessions;
pub mod symbols;
mod sys;
pub mod task;
pub mod trace;
mod unwind;

pub use error::EngineError;
pub use sys::bpf::enable_run_statistics;
pub use trace::{Trace, TraceOptions};

/// Now, ns of `CLOCK_MONOTONIC`.
#[must_use]
pub fn monotonic_ns() -> u64 {
    clock(rustix::time::ClockId::Monotonic)
}

/// Now, ns of `CLOCK_BOOTTIME`.
#[must_use]
pub fn boot_ns() -> u64 {
    clock(rustix::time::ClockId::Boottime)
}

/// Now on the wall clock, ns since 1970 (UTC).
#[must_use]
pub fn wall_ns() -> u64 {
    clock(rustix::time::ClockId::Realtime)
}

fn clock(id: rustix::time::ClockId) -> u64 {
    let now = rustix::time::clock_gettime(id);
    (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
}
