//! BPF object to running trace: load, attach, drain, decode, symbolise, losses, cost. All of libbpf
//! is here.

pub mod attach;
pub mod error;
pub mod load;
mod sys;

pub use error::EngineError;
