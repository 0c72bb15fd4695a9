//! Live maps: tables with bars, histograms, stacks.

pub mod draw;
pub(in crate::tui) mod update;
pub mod views;
