//! The only ways to terminals ([`stdio`]), files that are written ([`disk`]), files that a script names ([`regular`]), and
//! threads ([`thread`]). Clippy and `tests/compiler/architecture.rs` refuse others.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

use probescope_model as model;

pub mod disk;
pub mod regular;
pub mod stdio;
pub mod thread;
