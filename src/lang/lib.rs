//! Source text to typed program: spans, diagnostics, the bpftrace front end ([`bt`]), the D language ([`d`]), types
//! and the typed program that every front end lowers to. This room never fails: it returns a tree and
//! diagnostics, so that the editor works on half-typed scripts.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

use crate as lang;

use probescope_binary as binary;
use probescope_kernel as kernel;
use probescope_model as model;
use probescope_probe as probe;

pub mod bounds;
pub mod bt;
pub mod codes;
pub mod constants;
pub mod d;
pub mod diagnostic;
pub mod facts;
pub mod format;
pub mod front;
pub mod literal;
pub mod narrow;
pub mod service;
pub mod source;
#[cfg(test)]
mod tests;
pub mod typed;
pub mod types;

use front::{Checked, FrontEnd, FrontOptions};
use source::SourceText;

/// The languages there are; the first is that of texts whose names don't tell.
pub const FRONT_ENDS: &[&dyn FrontEnd] = &[&bt::Bpftrace, &d::D];

/// The language of a script, by the ending of its name.
#[must_use]
pub fn front_end(source: &SourceText) -> &'static dyn FrontEnd {
    let ending = source.name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let named = FRONT_ENDS.iter().find(|front| front.extensions().contains(&ending));
    *named.unwrap_or(&FRONT_ENDS[0])
}

/// Parses, expands and checks a script of any language.
#[must_use]
pub fn compile(source: &SourceText, options: &FrontOptions<'_>) -> Checked {
    front_end(source).compile(source, options)
}
