//! What every view and printer renders: plain data, no behaviour beyond arithmetic on itself.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

use crate as model;

pub mod bpf;
pub mod budget;
pub mod bytes;
pub mod d;
pub mod event;
pub mod failure;
pub mod flame;
pub mod format;
pub mod helper;
pub mod histogram;
pub mod latency;
pub mod render;
pub mod snapshot;
mod stack_end;
pub mod stats;
pub mod target;
pub mod task;
pub mod value;
pub mod words;
pub mod xray;
