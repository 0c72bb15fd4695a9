//! The D language: lexer, parser and syntax tree.

pub mod ast;
pub mod dump;
pub(crate) mod lexer;
pub mod parser;
pub(crate) mod words;

pub use lexer::Macros;
pub use parser::{ParseOptions, Parsed, parse, parse_with};
