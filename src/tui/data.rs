//! What panes read: the open scripts, the history, what was measured and said. And what is asked of the outside
//! ([`effect`]).

use std::path::PathBuf;
use std::sync::Arc;

use crate::lang::diagnostic::Severity;
use crate::model::budget::Budget;
use crate::model::value::Value;
use crate::session::scopes::Scope;
use crate::session::update::{ScriptId, TraceId};
use crate::store::file::Recording;
use crate::store::{Store, TraceInfo};
use crate::tui::base::theme::Theme;
use crate::tui::base::time::Moment;

pub mod assist;
pub mod baseline;
pub mod cells;
pub mod command;
pub mod document;
pub mod effect;
pub mod expression;
pub mod files;
pub mod filter;
pub mod inspect;
pub mod job;
pub mod journal;
pub mod latency;
pub mod loaded;
pub mod maps;
pub mod own;
pub mod text;
pub mod trace;
pub mod used;
pub mod vi;

use document::{Document, File};
use journal::Journal;
use latency::Measured;
use loaded::Loaded;
use own::Own;
use used::Used;
use vi::Vi;

/// A passing message in place of the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toast {
    /// How it looks.
    pub severity: Severity,
    /// Text.
    pub text: String,
}

/// The recording that is shown.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What was recorded.
    pub recording: Arc<Recording>,
    /// Its scripts, each with its trace.
    pub scripts: Vec<(ScriptId, Arc<TraceInfo>)>,
}

/// All that panes and layers read. They change nothing of it, but ask for it.
#[derive(Debug)]
pub struct Data {
    /// Columns and rows of the screen.
    pub size: (u16, u16),
    /// Themes to choose from.
    pub themes: Vec<Arc<Theme>>,
    /// The one in use.
    pub theme: Arc<Theme>,
    /// Where the user of vi's keys is, if the script is edited by them.
    pub vi: Option<Box<Vi>>,
    /// Whether the mouse speaks to the program; otherwise the terminal marks text with it.
    pub mouse: bool,
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
    /// The events leave out what these threads cause.
    pub hides_own: bool,
    /// Unsaved text can't be kept for emergencies, which the user was told.
    pub unkept: bool,
    /// Number of the last search.
    pub search: u64,
}

impl Data {
    /// A script, nothing running.
    #[must_use]
    pub fn new(text: &str, file: File, themes: Vec<Arc<Theme>>, size: (u16, u16)) -> Self {
        let theme = themes.first().cloned().unwrap_or_else(|| Arc::new(Theme::monochrome()));
        Self {
            size,
            themes,
            theme,
            vi: None,
            mouse: true,
            document: Document::new(ScriptId(1), text, file),
            parked: Vec::new(),
            newest: TraceId::SESSION,
            store: Store::default(),
            recording: false,
            replayed: None,
            moment: Moment::default(),
            latency: Measured::default(),
            loaded: Loaded::default(),
            saved: Arc::default(),
            used: Used::default(),
            scope: None,
            marked_struct: None,
            toast: None,
            next_toast: None,
            journal: Journal::default(),
            budget: Some(Budget::DEFAULT),
            disabled: None,
            home: None,
            own: Own::default(),
            hides_own: false,
            unkept: false,
            search: 0,
        }
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

    /// An open script.
    #[must_use]
    pub fn document(&self, script: ScriptId) -> Option<&Document> {
        self.documents().find(|d| d.id == script)
    }

    /// The script that a view stays with, else the one that is worked on.
    #[must_use]
    pub fn document_of(&self, pinned: Option<ScriptId>) -> &Document {
        pinned.and_then(|script| self.document(script)).unwrap_or(&self.document)
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

    /// The number of the next trace.
    pub fn next_trace(&mut self) -> TraceId {
        self.newest = TraceId(self.newest.0 + 1);
        self.newest
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
}
