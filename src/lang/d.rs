//! The D language: lexer, parser, syntax tree, checker.

pub mod ast;
pub mod check;
mod docs;
pub mod dump;
pub mod front;
pub(crate) mod lexer;
pub mod listing;
pub mod parser;
mod patterns;
mod service;
pub(crate) mod words;

pub use front::{DOptions, compile};
pub use lexer::Macros;
pub use parser::{ParseOptions, Parsed, parse, parse_with};
pub use service::D;
