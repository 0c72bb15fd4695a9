//! The probe browser: results at the left, the selected probe at the right.

pub mod draw;
pub mod questions;
pub mod state;
pub(in crate::tui) mod update;
