//! What stands in front of the panes, one on top of another: each is a [`super::pane::Layer`], known by its own file and by
//! whoever opens it.

/// What of an overlay with a list is at a place of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Struck {
    /// Nothing of it.
    Outside,
    /// Its frame, or what holds no entry.
    Frame,
    /// The entry of this index.
    Entry(usize),
}

impl Struck {
    /// An entry, where there is one.
    #[must_use]
    pub fn inside(entry: Option<usize>) -> Self {
        entry.map_or(Self::Frame, Self::Entry)
    }
}

pub mod browser;
pub mod chooser;
pub mod help;
pub mod lens;
pub mod line;
pub mod palette;
pub mod reader;
pub mod window;
