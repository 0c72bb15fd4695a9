//! What the user can ask for. Keys, the palette and tests all speak this type.

use super::intents::Own;
use super::kind::Kind;
use super::time::Time;
use crate::tui::base::tree::Axis;

/// One intent of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Move a cursor, a selection or a scroll position.
    Go(Go),
    /// The same, extending the selection (editor).
    Extend(Go),
    /// Change text: in the editor, or in the input line of an overlay.
    Edit(Edit),
    /// Enter: take what is selected.
    Accept,
    /// Escape: leave what is open.
    Cancel,
    /// A key of vi's in the script.
    Vi(char),
    /// Something for the whole program.
    App(App),
    /// Something for the view of events.
    Events(Events),
    /// Something for tables of maps and probes.
    Table(Table),
    /// An intent that one place alone has.
    Own(Own),
    /// The same with a word that was chosen for it.
    Told(Own, String),
    /// A process was chosen, by its number.
    Process(u32),
    /// What rows of the events must contain.
    Filter(String),
    /// Stay with the script that is worked on now, or follow it again.
    Pin,
    /// The mouse took something in a pane.
    Pick(Pick, Picked),
    /// The mouse, at a column and row of the screen.
    Mouse(Mouse, (u16, u16)),
}

impl Action {
    /// An intent that one place alone has, with a word for it.
    #[must_use]
    pub fn told(self, word: String) -> Self {
        if let Self::Own(own) = self { Self::Told(own, word) } else { self }
    }
}

/// What the mouse can take in a pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// A place in a text.
    Text {
        /// Line, from 0.
        line: usize,
        /// Character, from 0.
        column: usize,
    },
    /// A row of one of the pane's tables, by its place in the order shown.
    Row {
        /// Which table.
        table: usize,
        /// Which row.
        row: usize,
    },
    /// The heading of a column.
    Heading {
        /// Which table.
        table: usize,
        /// Which column, by its index in the registry.
        column: usize,
    },
    /// A moment of the history.
    Moment {
        /// The entry that the views are held at.
        entry: u64,
        /// The row of the map that has it, where there are rows to choose.
        row: Option<usize>,
    },
    /// Anything else of a table.
    Table(usize),
}

/// How the mouse took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picked {
    /// By a click.
    First,
    /// By a click in the pane that had the keys already.
    Again,
    /// By moving there with the button down.
    Dragged,
}

/// What the mouse does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mouse {
    /// The left button goes down.
    Press,
    /// The mouse moves with the left button down.
    Drag,
    /// The left button goes up.
    Release,
    /// The middle button goes down.
    Middle,
    /// The wheel turns away from the user.
    WheelUp,
    /// The wheel turns towards the user.
    WheelDown,
}

/// Directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Go {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Top,
    Bottom,
    WordLeft,
    WordRight,
}

/// Changes of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A typed character.
    Insert(char),
    /// Pasted text.
    Paste(String),
    /// A new line, indented as the one before.
    Newline,
    /// Indent, or the next stop.
    Tab,
    /// Delete backwards.
    Backspace,
    /// Delete forwards.
    Delete,
    /// Delete the word before the cursor.
    DeleteWord,
    /// Delete up to the end of the line.
    DeleteLineEnd,
    /// Delete back to the start of the line, in lines of input.
    DeleteLineStart,
    /// Take back the last change.
    Undo,
    /// Make it again.
    Redo,
    /// The state that the text had before this one came to be, on whatever branch of undo.
    Older,
    /// The state that came to be next.
    Newer,
    /// Mark everything.
    SelectAll,
    /// Copy what is marked.
    Copy,
    /// Copy and delete what is marked.
    Cut,
    /// Insert what was copied.
    PasteCopied,
    /// Comment lines out or in.
    ToggleComment,
}

/// Intents for the whole program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum App {
    /// Save, compile, attach; where a recording is shown, run on what was recorded.
    Run,
    /// Save, compile and attach the script of a recording.
    RunHere,
    /// Ask for the script's parameters and options.
    Parameters,
    /// Ask whether the script may change the traced system, or take that back.
    ToggleUnsafe,
    /// It may, or not any more.
    AllowUnsafe(bool),
    /// Compile and attach the script as it is, and leave its file alone.
    RunUnsaved,
    /// The same, with leave to change the traced system.
    RunWithLeave,
    /// Save under a new name.
    SaveAs,
    /// Detach; views stay.
    Stop,
    /// Detach everything at once.
    StopAll,
    /// Give the probes more of the CPUs' time, or again little.
    Budget,
    /// Freeze or unfreeze the views.
    Pause,
    /// List what can be written to files.
    Export,
    /// Copy what the pane shows.
    CopyPane,
    /// List the themes.
    Themes,
    /// Go through time.
    Time(Time),
    /// Record what is kept and what comes to a file, or complete the recording.
    Record,
    /// Leave the program.
    Quit,
    /// Leave it with unsaved text.
    QuitAnyway,
    /// Save, then leave.
    SaveAndQuit,
    /// Show all keys.
    Help,
    /// Open the list of commands.
    Palette,
    /// Offer what could be typed at the cursor.
    Complete,
    /// Find text in the script.
    Find,
    /// Open the list of bundled scripts.
    Scripts,
    /// Open the list of clauses of the bundled scripts.
    Snippets,
    /// Save, then open the chosen script.
    SaveAndOpen,
    /// Open the chosen script in place of unsaved text.
    OpenAnyway,
    /// Open the probe browser.
    Browse,
    /// Use the next theme.
    NextTheme,
    /// Go to the next pane.
    FocusNext,
    /// Go to the next pane that is no script.
    NextOutput,
    /// Go to the previous pane.
    FocusPrevious,
    /// Go to a pane.
    Focus(Kind),
    /// Give the pane the whole screen, or take it back.
    Zoom,
    /// Take the text that another program has written to the file.
    Reload,
    /// Edit the text in the user's own editor.
    EditOutside,
    /// Stop the trace, once that is confirmed.
    AskStop,
    /// Leave; where something runs, once that is confirmed.
    AskQuit,
    /// Paint everything anew.
    Redraw,
    /// Take the mouse from the terminal, or give it back.
    ToggleMouse,
    /// Put the cursor on the next problem.
    NextProblem,
    /// Show what the kernel's verifier said.
    VerifierLog,
    /// Show the help of the problem under the cursor, in full.
    ExplainProblem,
    /// Apply the fix that the problem under the cursor offers.
    FixProblem,
    /// Put the cursor where the thing under it is defined.
    Definition,
    /// Put it back where the last such jump began.
    JumpBack,
    /// Ask for another name of the thing under the cursor.
    Rename,
    /// Lay the script out anew.
    Format,
    /// Open a script in a tab of its own.
    OpenTab,
    /// Open the chosen bundled script in a tab of its own.
    OpenInTab,
    /// Close the script although its text is not saved.
    CloseAnyway,
    /// Arrange the panes.
    Window(Window),
    /// Yes, do what was asked about.
    Yes,
    /// Ctrl-C: copies what is marked, otherwise stops the trace.
    Interrupt,
}

/// Intents for the arrangement of panes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// Wait for the key that says what to do.
    Keys,
    /// Go to the pane at a side.
    Go(Side),
    /// Go to the next tab of the frame.
    NextTab,
    /// Go to the previous one.
    PreviousTab,
    /// Open a pane of a kind: in a frame beside this one, or as a tab of it.
    Open(Kind, Option<Axis>),
    /// Split the frame, and choose what the new one shows.
    Split(Axis),
    /// A new pane in the same frame.
    NewTab,
    /// Close the pane.
    Close,
    /// Move the pane past its neighbour at a side.
    Move(Side),
    /// Move the pane into the next frame, as a tab.
    Join,
    /// Make the pane larger to the right or below, or smaller.
    Resize(Side),
    /// Give the frames around it the same room.
    Even,
    /// Save the layout under a name.
    SaveLayout,
    /// Choose a saved layout.
    OpenLayout,
    /// Go back to the default layout.
    Default,
    /// Take the last change back.
    Undo,
}

/// A side of a pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Side {
    Left,
    Right,
    Above,
    Below,
}

impl Side {
    /// How what is at this side lies.
    #[must_use]
    pub const fn axis(self) -> Axis {
        match self {
            Self::Left | Self::Right => Axis::Across,
            Self::Above | Self::Below => Axis::Down,
        }
    }

    /// Whether it comes first in reading order.
    #[must_use]
    pub const fn is_before(self) -> bool {
        matches!(self, Self::Left | Self::Above)
    }
}

/// Intents for the view of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Events {
    /// Edit the filter.
    Filter,
    /// Keep the newest line in sight, or stay.
    Follow,
    /// Ask whether to forget the lines so far.
    Clear,
    /// Forget them.
    ClearNow,
    /// Copy the selected line.
    Copy,
    /// Show times of the day, or times since the start.
    Clock,
}

/// Intents for tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Sort by the next column.
    Sort,
    /// Sort the other way round.
    Reverse,
    /// Ask whether to empty the map in the kernel.
    Clear,
    /// Empty it.
    ClearNow,
    /// Copy the map as text.
    Copy,
    /// Select the next map.
    NextMap,
    /// Select the previous map.
    PreviousMap,
}
