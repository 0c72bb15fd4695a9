//! The bpftrace language: lexer, parser, abstract syntax tree and its checker.

pub mod ast;
pub mod builtins;
pub mod check;
pub mod constant;
pub mod dump;
pub mod expand;
pub mod front;
mod latency;
pub mod lexer;
mod limit;
pub mod parser;
pub mod pretty;
mod semantic;
pub mod service;
pub mod settings;
pub mod visit;

pub use check::check;
pub use check::setting::wrong_setting;
pub use expand::{ExpandInputs, expand};
pub use front::Bpftrace;
pub use parser::{Parsed, parse};
