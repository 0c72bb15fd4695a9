//! The bpftrace language: lexer, parser, abstract syntax tree and its checker.

pub mod ast;
pub mod builtins;
pub mod check;
pub mod constant;
pub mod dump;
pub mod expand;
pub mod front;
pub mod lexer;
pub mod parser;
pub mod pretty;
pub mod settings;
pub mod visit;

pub use check::{CheckEnv, Checked, MissingProbes, Purpose, check};
pub use expand::{AbsentParameters, ExpandInputs, expand};
pub use front::{FrontOptions, compile_front};
pub use parser::{Parsed, parse};
