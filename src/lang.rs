//! Source text to typed program: spans, diagnostics, the bpftrace front end ([`bt`]), types and the
//! typed program that every front end lowers to. This room never fails: it returns a tree and
//! diagnostics, so that the editor works on half-typed scripts.

pub mod bt;
pub mod codes;
pub mod diagnostic;
pub mod format;
pub mod service;
pub mod source;
pub mod typed;
pub mod types;
