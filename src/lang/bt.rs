//! The bpftrace language: lexer, parser, abstract syntax tree and its checker.

pub mod ast;
