//! What stands in the frames of the workbench: a folder for each kind of pane, with its state, what it draws and what
//! keys and the mouse do in it.
//!
//! A new kind of pane is a folder here and a row in [`super::desk::registry::KINDS`].

pub mod command;
pub mod editor;
pub mod events;
pub mod flame;
pub mod heat;
pub mod latency;
pub mod log;
pub mod maps;
pub mod probes;
pub mod system;
pub mod xray;
