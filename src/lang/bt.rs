//! The bpftrace language: lexer, parser, abstract syntax tree and its checker.

pub mod ast;
pub mod builtins;
pub mod constant;
pub mod dump;
pub mod expand;
pub mod lexer;
pub mod parser;
pub mod pretty;
pub mod visit;

pub use expand::{ExpandInputs, expand};
pub use parser::{Parsed, parse};
