//! User-space binaries: where they are, their functions, and their statically defined probes.
//!
//! Binaries are untrusted: files are read in bounded pieces, every offset is checked, and damage gives
//! an error, not a panic.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

use crate as binary;

use probescope_doors::regular;
use probescope_model as model;

pub mod archive;
pub mod cache;
pub mod demangle;
pub mod dwarf;
pub mod elf;
pub mod indirect;
pub mod instructions;
pub mod places;
mod symbols;
pub mod unwind;
pub mod usdt;

use std::path::PathBuf;

/// Why a binary can't be used.
#[derive(Debug, thiserror::Error)]
pub enum BinaryError {
    /// No such program or library.
    #[error("{kind} target file '{name}' does not exist or is not executable")]
    NotFound {
        /// What it was looked for: `uprobe` or `usdt`.
        kind: &'static str,
        /// As asked for.
        name: String,
        /// Names like it.
        suggestions: Vec<String>,
    },
    /// It could not be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// It is not an ELF file of this machine, or is damaged.
    #[error("{} is no usable binary: {problem}", path.display())]
    Malformed {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl BinaryError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound { suggestions, .. } => match suggestions.as_slice() {
                [] => Some("give its full path".into()),
                several => Some(format!("did you mean `{}`?", several.join("`, `"))),
            },
            Self::Read { .. } => Some("check the path and your rights".into()),
            Self::Malformed { .. } => None,
        }
    }
}
