//! The lines of output.

pub mod draw;
pub mod log;
pub(in crate::tui) mod update;
