//! Names of kinds of panes.

/// Names a kind of pane, in the key table and in files of layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(pub &'static str);
