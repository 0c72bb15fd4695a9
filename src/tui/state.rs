//! Everything that is shown: plain data, sendable, the same on every run.

use std::path::PathBuf;
use std::sync::Arc;

use super::action::Action;
pub use super::document::{Document, File};
use super::effect::Effect;
use super::input::Input;
use super::journal::Journal;
use super::layout;
use super::layout::tree::PaneId;
use super::palette::Palette;
use super::panes::chooser::Chooser;
use super::panes::editor::EditorPane;
use super::panes::editor::vi::Vi;
use super::panes::latency::measured::Measured;
use super::panes::lens::Lens;
use super::panes::system::loaded::Loaded;
use super::panes::{Kind, News, Pane, events};
use super::theme::Theme;
use super::time::Moment;
use super::update::given::Parameters;
use super::update::windows::Grab;
use super::used::Used;
use super::workspace::Workspace;
use crate::lang::diagnostic::Severity;
use crate::model::budget::Budget;
use crate::model::value::Value;
use crate::session::scopes::Scope;
use crate::session::update::{ScriptId, TraceId};
use crate::store::Store;
use crate::tui::own::Own;
use crate::tui::panes::browser::state::Browser;
use crate::tui::replay::Replayed;

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
    /// The file to open in a tab.
    OpenFile(Input),
    /// The moment to go to.
    GoTo(Input),
    /// The script's parameters.
    Parameters(Parameters),
    /// Do what can't be undone?
    Confirm(Confirm),
    /// The members of types, or of a captured struct.
    Lens(Box<Lens>),
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
    /// Where the user of vi's keys is, if the script is edited by them.
    pub vi: Option<Box<Vi>>,
    /// Name under which the layout was saved or restored last.
    pub layout_name: Option<String>,
    /// Whether the mouse speaks to the program; otherwise the terminal marks text with it.
    pub mouse: bool,
    /// In front of the panes.
    pub layers: Vec<Layer>,
    /// The script that was worked on last.
    pub document: Document,
    /// The other open scripts.
    pub parked: Vec<Document>,
    /// The newest trace that was asked for.
    pub newest: TraceId,
    /// What has happened so far.
    pub store: Store,
    /// It is being recorded to a file.
    pub recording: bool,
    /// The recording that is shown, when one was opened.
    pub replayed: Option<Replayed>,
    /// The moment of it that the panes show.
    pub moment: Moment,
    /// What latency meters have measured of it, and the one that runs.
    pub latency: Measured,
    /// What the kernel has loaded, while a pane shows it.
    pub loaded: Loaded,
    /// Scripts that were saved without a name, the newest first.
    pub saved: Arc<[PathBuf]>,
    /// Probes that were used before.
    pub used: Used,
    /// What clauses from the browser are limited to.
    pub scope: Option<Scope>,
    /// The captured struct that others are compared to.
    pub marked_struct: Option<Value>,
    /// What panes want done although nobody has asked for it.
    pub wanted: Vec<Effect>,
    /// A passing message.
    pub toast: Option<Toast>,
    /// A message that waits until the one before it was read.
    pub next_toast: Option<Toast>,
    /// All that was said so.
    pub journal: Journal,
    /// What probes may take of the CPUs' time.
    pub budget: Option<Budget>,
    /// Why scripts can't be run here, when they can't.
    pub disabled: Option<String>,
    /// The user's home folder, for names of files that begin with `~`.
    pub home: Option<PathBuf>,
    /// The threads of the workbench itself, to tell what they cause.
    pub own: Own,
    /// Unsaved text can't be kept for emergencies, which the user was told.
    pub unkept: bool,
    /// Number of the last search.
    pub search: u64,
}

impl State {
    /// A workbench on this script, nothing running.
    #[must_use]
    pub fn new(text: &str, file: File, themes: Vec<Arc<Theme>>, size: (u16, u16)) -> Self {
        let theme = themes.first().cloned().unwrap_or_else(|| Arc::new(Theme::monochrome()));
        let panes = Workspace::new(Box::new(EditorPane { script: ScriptId(1) }));
        let mut state = Self {
            size,
            themes,
            theme,
            panes,
            grab: None,
            vi: None,
            layout_name: None,
            mouse: true,
            layers: Vec::new(),
            document: Document::new(ScriptId(1), text, file),
            parked: Vec::new(),
            newest: TraceId::SESSION,
            store: Store::default(),
            replayed: None,
            recording: false,
            budget: Some(Budget::DEFAULT),
            moment: Moment::default(),
            latency: Measured::default(),
            loaded: Loaded::default(),
            saved: Arc::default(),
            used: Used::default(),
            scope: None,
            marked_struct: None,
            wanted: Vec::new(),
            toast: None,
            next_toast: None,
            journal: Journal::default(),
            disabled: None,
            home: None,
            own: Own::default(),
            unkept: false,
            search: 0,
        };
        layout::set_default(&mut state);
        state
    }

    /// Whether the script differs from its file.
    #[must_use]
    pub fn dirty(&self) -> bool {
        self.document.dirty()
    }

    /// The script's name for messages and the top bar.
    #[must_use]
    pub fn name(&self) -> String {
        self.document.name()
    }

    /// Every open script.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        std::iter::once(&self.document).chain(&self.parked)
    }

    /// The same, to change.
    pub fn documents_mut(&mut self) -> impl Iterator<Item = &mut Document> {
        std::iter::once(&mut self.document).chain(&mut self.parked)
    }

    /// Tells every pane what has changed in the history.
    pub fn hear(&mut self, news: News) {
        for id in self.panes.ids() {
            let Some(mut pane) = self.panes.take(id) else { continue };
            pane.hear(news, self);
            self.panes.put(id, pane);
        }
    }

    /// An open script.
    #[must_use]
    pub fn document(&self, script: ScriptId) -> Option<&Document> {
        self.documents().find(|d| d.id == script)
    }

    /// Makes an open script the one that is worked on; false when it is not open.
    pub fn bring(&mut self, script: ScriptId) -> bool {
        if self.document.id == script {
            return true;
        }
        let Some(at) = self.parked.iter().position(|d| d.id == script) else { return false };
        std::mem::swap(&mut self.document, &mut self.parked[at]);
        true
    }

    /// Does something with another open script in place of the one that is worked on.
    pub fn with<T>(&mut self, script: ScriptId, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let before = self.document.id;
        if !self.bring(script) {
            return None;
        }
        let done = work(self);
        self.bring(before);
        Some(done)
    }

    /// Shows a passing message.
    pub fn tell(&mut self, severity: Severity, text: impl Into<String>) {
        let text = text.into();
        self.journal.say(severity, &text);
        self.toast = Some(Toast { severity, text });
    }

    /// Shows a passing message unless a graver one is there, which the user may not have read yet.
    pub fn mention(&mut self, severity: Severity, text: impl Into<String>) {
        let text = text.into();
        if self.toast.as_ref().is_none_or(|toast| toast.severity <= severity) {
            self.tell(severity, text);
        } else {
            self.journal.say(severity, &text);
        }
    }

    /// Shows a passing message that answers nothing the user did: behind the one that is there.
    pub fn tell_next(&mut self, severity: Severity, text: impl Into<String>) {
        let text = text.into();
        if self.toast.is_none() {
            return self.tell(severity, text);
        }
        self.journal.say(severity, &text);
        self.next_toast = Some(Toast { severity, text });
    }

    /// The pane whose filter is typed: the one that has the keys, else the events.
    #[must_use]
    pub fn filtered(&self) -> Option<PaneId> {
        let focus = self.panes.focus();
        let takes = self.panes.get(focus).is_none_or(Pane::takes_filter);
        if takes { Some(focus) } else { self.panes.of_kind(events::KIND) }
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
