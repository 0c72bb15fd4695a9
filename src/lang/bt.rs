//! The bpftrace language: lexer, parser, abstract syntax tree and its checker.

pub mod ast;
pub mod builtins;
pub mod constant;
pub mod lexer;
pub mod parser;

pub use parser::{Parsed, parse};
