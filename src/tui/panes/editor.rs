//! The script: its text, problems, completions, names, and how it is drawn.

pub mod assist;
pub(in crate::tui) mod completing;
pub mod draw;
pub(in crate::tui) mod names;
pub mod popup;
pub mod text;
pub(in crate::tui) mod update;
