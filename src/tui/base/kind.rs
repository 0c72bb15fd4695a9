//! Kinds of panes, told apart by their names.

/// Which kind a pane is of, by its name; layout files have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(pub &'static str);

/// A script's text: what the workbench is about, and the one kind of which there is a pane for each script.
pub const SCRIPT: Kind = Kind("script");
/// What scripts print: the output that is looked at first.
pub const EVENTS: Kind = Kind("events");
/// What the command of a trace writes; its pane comes when there is something.
pub const COMMAND: Kind = Kind("command");
