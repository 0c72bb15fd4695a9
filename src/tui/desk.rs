//! The workbench as a whole: its state, the registry of panes, how it lies on the screen, and how what is asked changes it.

pub mod bars;
pub mod documents;
pub mod draw;
pub mod export;
pub mod keys;
pub mod layout;
pub mod layouts;
pub mod registry;
pub mod replay;
pub mod state;
pub mod timeline;
pub mod update;
pub mod workspace;
mod xray;
