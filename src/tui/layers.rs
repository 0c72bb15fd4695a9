//! What stands in front of the panes, one on top of another: each is a [`super::pane::Layer`], known by its own file and by
//! whoever opens it.

pub mod browser;
pub mod chooser;
pub mod help;
pub mod lens;
pub mod line;
pub mod palette;
pub mod reader;
pub mod window;
