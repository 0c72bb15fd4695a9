//! A script that is open: its text, its file, what is known of it, and its trace.

use std::path::PathBuf;
use std::sync::Arc;

use super::command::CommandOutput;
use super::trace::Trace;
use crate::lang::front::FrontEnd;
use crate::lang::front_end;
use crate::lang::source::SourceText;
use crate::model::budget::Budget;
use crate::session::update::{Revision, ScriptId, TraceId};
use crate::tracer::script::compilation::Given;
use crate::tui::data::assist::Assist;
use crate::tui::data::maps::MapViews;
use crate::tui::data::text::Editor;

/// The script's file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct File {
    /// Where it is saved; absent for a new script without a name.
    pub path: Option<PathBuf>,
    /// Where a script without a name is saved.
    pub unnamed: Option<PathBuf>,
    /// As it is on disk.
    pub saved: Arc<str>,
    /// What the program itself has put in, a bundled script or a preset's: as long as it is as it was, nothing is lost.
    pub given: Arc<str>,
    /// Where unsaved text is kept.
    pub recovery: Option<PathBuf>,
    /// Why it can't be saved, if that is known.
    pub read_only: Option<String>,
    /// The file that the user was told of: it holds text of another program.
    pub told: Option<PathBuf>,
    /// What another program has written to the file while the script was changed here.
    pub outside: Option<Arc<str>>,
}

/// A script that is open.
#[derive(Clone, Debug)]
pub struct Document {
    /// Names it while it is open.
    pub id: ScriptId,
    /// Its text.
    pub editor: Editor,
    /// Completions and hints for it.
    pub assist: Assist,
    /// Its file.
    pub file: File,
    /// Its parameters and options.
    pub given: Given,
    /// What its text would do to the traced system, in words, which it was not given leave to.
    pub wants_leave: Option<String>,
    /// The user was asked for its parameters.
    pub answered: bool,
    /// Its maps.
    pub maps: MapViews,
    /// What runs.
    pub trace: Trace,
    /// What its probes may take of the CPUs' time, where that is its own and not the session's.
    pub budget: Option<Option<Budget>>,
    /// What the command that runs with it writes.
    pub command: CommandOutput,
    /// All its traces so far.
    pub traces: Vec<TraceId>,
    /// The trace of the last submitted text.
    pub submitted_as: TraceId,
    /// Number of the last checked text, and the text.
    pub checked: (Revision, Arc<str>),
    /// The last submitted text.
    pub submitted: Arc<str>,
    /// Text that was last kept for emergencies.
    pub kept: Arc<str>,
    /// The name that the file gets once it has been written.
    pub save_as: Option<PathBuf>,
    /// Quit once the save has succeeded.
    pub quit_after_save: bool,
    /// Open this bundled script once the save has succeeded.
    pub open_after_save: Option<&'static str>,
}

impl Document {
    /// A script of this text, nothing running.
    #[must_use]
    pub fn new(id: ScriptId, text: &str, file: File) -> Self {
        let mut document = Self {
            id,
            editor: Editor::new(text),
            assist: Assist::default(),
            file,
            given: Given::default(),
            wants_leave: None,
            answered: false,
            maps: MapViews::default(),
            trace: Trace::default(),
            budget: None,
            command: CommandOutput::default(),
            traces: Vec::new(),
            submitted_as: TraceId::SESSION,
            checked: (0, "".into()),
            submitted: "".into(),
            kept: text.into(),
            save_as: None,
            quit_after_save: false,
            open_after_save: None,
        };
        document.take_language();
        document
    }

    /// The text with the name of its file, which tells its language.
    #[must_use]
    pub fn source(&self) -> SourceText {
        SourceText::new(&self.source_name(), &self.editor.text())
    }

    /// The path that the script has, or will have when it is saved.
    #[must_use]
    pub fn source_name(&self) -> Arc<str> {
        let path = self.file.path.as_ref().or(self.file.unnamed.as_ref());
        path.map_or_else(|| "untitled".into(), |path| path.to_string_lossy().into())
    }

    /// The language of its file's name.
    #[must_use]
    pub fn language(&self) -> &'static dyn FrontEnd {
        front_end(&SourceText::new(&self.source_name(), ""))
    }

    /// The file has another name: the text is read in the language that this name tells.
    pub fn take_language(&mut self) {
        self.editor.read_as(self.language());
    }

    /// Whether the script differs from its file.
    #[must_use]
    pub fn dirty(&self) -> bool {
        self.editor.differs_from(&self.file.saved)
    }

    /// Whether closing it would lose text.
    #[must_use]
    pub fn is_unsaved(&self) -> bool {
        let untouched = || self.editor.is_blank() || !self.editor.differs_from(&self.file.given);
        self.dirty() && !(self.file.path.is_none() && untouched())
    }

    /// Its name for messages, tabs and the top bar.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.file.path.as_ref().and_then(|p| p.file_name());
        name.map_or_else(|| "untitled".to_owned(), |n| n.to_string_lossy().into_owned())
    }

    /// Whether a trace is, or was, of this script.
    #[must_use]
    pub fn owns(&self, trace: TraceId) -> bool {
        trace != TraceId::SESSION && (self.submitted_as == trace || self.trace.id == trace)
    }
}

/// Parameters and options as one line that [`Given`] is read from again.
pub fn line_of(given: &Given) -> String {
    let quoted = |word: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:,+@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let options = given.named.iter().map(|(name, value)| match value {
        Some(value) => quoted(&format!("--{name}={value}")),
        None => quoted(&format!("--{name}")),
    });
    let limit = given.pid.map(|pid| format!("-p={pid}"));
    given.params.iter().map(|word| quoted(word)).chain(options).chain(limit).collect::<Vec<_>>().join(" ")
}
