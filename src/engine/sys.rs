//! The engine's `unsafe` code, one small module per reason.

pub mod bpf;
pub mod memory;
pub mod objects;
pub mod perf;
pub mod release;
pub mod sched;
pub mod time;
