//! Everything that is shown: plain data, sendable, the same on every run.

use std::path::PathBuf;
use std::sync::Arc;

use super::action::Action;
use super::input::Input;
use super::layout;
use super::palette::Palette;
use super::panes::Kind;
use super::panes::chooser::Chooser;
use super::panes::editor::EditorPane;
use super::theme::Theme;
use super::trace::Trace;
use super::update::windows::Grab;
use super::workspace::Workspace;
use crate::lang::diagnostic::Severity;
use crate::session::update::{Revision, ScriptId, TraceId};
use crate::store::Store;
use crate::tui::panes::browser::state::Browser;
use crate::tui::panes::editor::assist::Assist;
use crate::tui::panes::editor::text::Editor;
use crate::tui::panes::events::log::EventLog;
use crate::tui::panes::maps::views::MapViews;

/// The script in the editor.
pub const SCRIPT: ScriptId = ScriptId(1);

/// Something in front of the panes; the last one has the keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// The probe browser.
    Browser(Box<Browser>),
    /// All keys; scrolled by lines.
    Help(usize),
    /// The list of commands.
    Palette(Palette),
    /// A text to read: the verifier's log, a message, a map in full.
    Reader(Reader),
    /// Leave with unsaved text?
    ConfirmQuit,
    /// Open this bundled script in place of unsaved text?
    ConfirmOpen(&'static str),
    /// Name of a file to save under.
    SaveAs(Input),
    /// Another name for the thing under the cursor.
    Rename(Input),
    /// Text to find in the script, typed in its frame.
    Find(Input),
    /// The filter of the events, typed in the pane's frame.
    Filter(Input),
    /// The next key arranges the panes.
    Window,
    /// A list to choose from.
    Chooser(Chooser),
    /// The name to save the layout under.
    SaveLayout(Input),
    /// Do what can't be undone?
    Confirm(Confirm),
}

/// A text in a frame.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Reader {
    /// Title of the frame.
    pub title: String,
    /// Lines.
    pub lines: Vec<String>,
    /// First line shown.
    pub top: usize,
    /// Whether lines are broken at the frame rather than cut.
    pub wrap: bool,
}

/// A question before something that can't be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirm {
    /// Title of the frame: the question.
    pub title: String,
    /// What would be lost.
    pub about: String,
    /// What is done after a yes, in the pane that has the keys.
    pub yes: Action,
}

/// A passing message in place of the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toast {
    /// How it looks.
    pub severity: Severity,
    /// Text.
    pub text: String,
}

/// The script's file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct File {
    /// Where it is saved; absent for a new script without a name.
    pub path: Option<PathBuf>,
    /// Where a script without a name is saved.
    pub unnamed: Option<PathBuf>,
    /// As it is on disk.
    pub saved: Arc<str>,
    /// Why it can't be saved, if that is known.
    pub read_only: Option<String>,
    /// The file that the user was told of: it holds text of another program.
    pub told: Option<PathBuf>,
}

/// All of it.
#[derive(Debug)]
pub struct State {
    /// Columns and rows of the screen.
    pub size: (u16, u16),
    /// Themes to choose from.
    pub themes: Vec<Arc<Theme>>,
    /// The one in use.
    pub theme: Arc<Theme>,
    /// The open panes.
    pub panes: Workspace,
    /// What the mouse holds.
    pub grab: Option<Grab>,
    /// Name under which the layout was saved or restored last.
    pub layout_name: Option<String>,
    /// Whether the mouse speaks to the program; otherwise the terminal marks text with it.
    pub mouse: bool,
    /// In front of the panes.
    pub layers: Vec<Layer>,
    /// The script.
    pub editor: Editor,
    /// Completions and hints for it.
    pub assist: Assist,
    /// Its file.
    pub file: File,
    /// What has happened so far.
    pub store: Store,
    /// The rows of it that are shown.
    pub events: EventLog,
    /// Tables.
    pub maps: MapViews,
    /// What runs.
    pub trace: Trace,
    /// A passing message.
    pub toast: Option<Toast>,
    /// Why scripts can't be run here, when they can't.
    pub disabled: Option<String>,
    /// The trace of the last submitted text.
    pub submitted_as: TraceId,
    /// Number of the last checked text, and the text.
    pub checked: (Revision, Arc<str>),
    /// The last submitted text.
    pub submitted: Arc<str>,
    /// Number of the last search.
    pub search: u64,
    /// Text that was last kept for emergencies.
    pub kept: Arc<str>,
    /// The name that the file gets once it has been written.
    pub save_as: Option<PathBuf>,
    /// Quit once the save has succeeded.
    pub quit_after_save: bool,
    /// Open this bundled script once the save has succeeded.
    pub open_after_save: Option<&'static str>,
}

impl State {
    /// A workbench on this script, nothing running.
    #[must_use]
    pub fn new(text: &str, file: File, themes: Vec<Arc<Theme>>, size: (u16, u16)) -> Self {
        let theme = themes.first().cloned().unwrap_or_else(|| Arc::new(Theme::monochrome()));
        let panes = Workspace::new(Box::new(EditorPane));
        let mut state = Self {
            size,
            themes,
            theme,
            panes,
            grab: None,
            layout_name: None,
            mouse: true,
            layers: Vec::new(),
            editor: Editor::new(text),
            assist: Assist::default(),
            file,
            store: Store::default(),
            events: EventLog::default(),
            maps: MapViews::default(),
            trace: Trace::default(),
            toast: None,
            disabled: None,
            submitted_as: TraceId::SESSION,
            checked: (0, "".into()),
            submitted: "".into(),
            search: 0,
            kept: text.into(),
            save_as: None,
            quit_after_save: false,
            open_after_save: None,
        };
        layout::set_default(&mut state);
        state
    }

    /// Whether the script differs from its file.
    #[must_use]
    pub fn dirty(&self) -> bool {
        self.editor.differs_from(&self.file.saved)
    }

    /// The script's name for messages and the top bar.
    #[must_use]
    pub fn name(&self) -> String {
        self.file
            .path
            .as_ref()
            .and_then(|p| p.file_name())
            .map_or_else(|| "untitled".to_owned(), |n| n.to_string_lossy().into_owned())
    }

    /// Shows a passing message.
    pub fn tell(&mut self, severity: Severity, text: impl Into<String>) {
        self.toast = Some(Toast { severity, text: text.into() });
    }

    /// Shows a passing message unless a graver one is there, which the user may not have read yet.
    pub fn mention(&mut self, severity: Severity, text: impl Into<String>) {
        if self.toast.as_ref().is_none_or(|toast| toast.severity <= severity) {
            self.tell(severity, text);
        }
    }

    /// Whether a pane of a kind has the keys.
    #[must_use]
    pub fn on(&self, kind: Kind) -> bool {
        self.panes.kind(self.panes.focus()) == Some(kind)
    }

    /// Puts the keys on the pane of a kind that had them last; opens one where there is none.
    pub fn focus_on(&mut self, kind: Kind) {
        let pane = self.panes.of_kind(kind).or_else(|| {
            let new = layout::open(self, kind)?;
            self.panes.tree.add_tab(self.panes.focus(), new);
            Some(new)
        });
        if let Some(pane) = pane {
            self.panes.focus_on(pane);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn state_can_be_sent() {
        fn sendable<T: Send>() {}
        sendable::<super::State>();
    }
}
