//! A folder for each pane, with its state, what it draws and what keys do in it; and the overlays.

pub mod bars;
pub mod browser;
pub mod editor;
pub mod events;
pub mod help;
pub mod maps;
pub mod palette;
pub mod probes;
pub mod reader;
pub(in crate::tui) mod rows;
