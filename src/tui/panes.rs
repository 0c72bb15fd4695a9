//! One file per thing that is drawn.

pub mod bars;
pub mod browser;
pub mod editor;
pub mod events;
pub mod help;
pub mod maps;
pub mod palette;
pub mod popup;
pub mod probes;
pub mod reader;
