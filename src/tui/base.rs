//! What everything else of the workbench is built on: it knows nothing of scripts that are open, of panes or of the
//! session.

pub mod action;
pub mod arrange;
pub mod discard;
pub mod input;
pub mod intents;
pub mod key;
pub mod kind;
pub mod mouse;
pub mod paint;
pub mod svg;
pub mod syntax;
pub mod text;
pub mod theme;
pub mod time;
mod tmtheme;
pub mod tree;
