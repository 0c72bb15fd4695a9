//! What each probe does, costs and loses.

pub mod draw;
pub(in crate::tui) mod update;
