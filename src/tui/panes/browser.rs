//! The probe browser: results at the left, the selected probe at the right.

pub mod draw;
pub(in crate::tui) mod heat;
pub(in crate::tui) mod keys;
pub(in crate::tui) mod kinds;
pub mod questions;
pub(in crate::tui) mod scope;
pub(in crate::tui) mod several;
pub mod state;
pub(in crate::tui) mod update;
