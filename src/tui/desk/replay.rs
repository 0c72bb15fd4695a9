//! Opening a recording in the workbench: its scripts are the documents, its history is the store, and the views are held
//! at its first moment.

use std::sync::Arc;

use super::state::State;
use super::update::time;
use crate::lang::diagnostic::Severity;
use crate::session::update::ScriptId;
use crate::store::file::Recording;
use crate::store::{History as _, Store, TraceInfo, TraceKind};
use crate::tui::base::kind::EVENTS;
use crate::tui::data::Replayed;
use crate::tui::data::document::{Document, File};
use crate::tui::data::trace::Phase;
use crate::tui::desk::documents;
use crate::tui::layers::reader::Reader;
use crate::tui::pane::News;
use crate::tui::panes::latency;

/// How to go through a recording, told before it is seen.
const KEYS: &str = "Space holds and resumes, `,` and `.` step by event, `<` and `>` by second, `p` plays, `+` and `-` change its speed, \
     `B` goes back to the first moment. Change the script and press Ctrl-S: it is run on what was recorded. Esc closes this.";

/// A recording to open.
#[derive(Debug)]
pub struct Opened {
    /// The recording.
    pub recording: Arc<Recording>,
    /// What is not whole in it, in words; empty when nothing is missing.
    pub damage: String,
    /// A text to read first, its title being its first line.
    pub about: Option<&'static str>,
    /// Whether it plays at once.
    pub play: bool,
}

impl Opened {
    /// What is shown before its scripts are.
    #[must_use]
    pub fn replayed(&self) -> Replayed {
        Replayed { recording: Arc::clone(&self.recording), scripts: Vec::new() }
    }
}

/// Shows a recording in place of what the state showed.
pub fn open(state: &mut State, opened: Opened) {
    let recording = Arc::clone(&opened.recording);
    let store = Store::of_recording(Arc::clone(&recording));
    let scripts: Vec<Arc<TraceInfo>> =
        store.traces().iter().filter(|info| info.kind == TraceKind::Script).map(Arc::clone).collect();
    if let Some(newest) = store.traces().iter().map(|info| info.id).max() {
        state.newest = state.newest.max(newest);
    }
    let first = state.document.id;
    let mut documents = Vec::new();
    for (index, info) in scripts.iter().enumerate() {
        if index > 0 && !documents::open(state, "", File::default()) {
            break;
        }
        state.document = document(state.document.id, info, &state.document.file);
        documents.push((state.document.id, Arc::clone(info)));
    }
    documents::show(state, first);
    state.toast = None;
    if documents.len() < scripts.len() {
        let told = format!("The recording has {} scripts; the first {} have a tab", scripts.len(), documents.len());
        state.tell(Severity::Warning, told);
    }
    state.store = store;
    state.replayed = Some(Replayed { recording, scripts: documents });
    state.data.latency.read(&state.data.store);
    state.hear(News::Appended(0));
    state.focus_on(EVENTS);
    if state.store.traces().iter().any(|info| matches!(info.kind, TraceKind::Latency | TraceKind::Task)) {
        state.focus_on(latency::KIND);
    }
    time::hold(state, state.store.entries().start);
    if opened.play {
        time::play(state);
    }
    if !opened.damage.is_empty() {
        state.tell(Severity::Warning, opened.damage);
    } else if state.store.span().is_none() {
        state.tell(Severity::Info, "This recording holds no entry");
    }
    if let Some(text) = opened.about {
        let (title, text) = text.split_once('\n').unwrap_or((text, ""));
        // The frame breaks lines where its width wants it.
        let paragraphs = text.trim().split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
        let mut lines: Vec<String> = paragraphs.flat_map(|paragraph| [paragraph, String::new()]).collect();
        lines.push(KEYS.to_owned());
        state.open(Reader { title: title.to_owned(), lines, top: 0, wrap: true });
    }
}

/// A script as it was recorded. It is no file: saving it makes one.
fn document(id: ScriptId, info: &TraceInfo, file: &File) -> Document {
    let file = File { unnamed: file.unnamed.clone(), saved: Arc::clone(&info.script), ..File::default() };
    let mut document = Document::new(id, &info.script, file);
    document.submitted = Arc::clone(&info.script);
    shows(&mut document, info);
    document
}

/// What a script shows is a trace that was recorded, or was made of what was recorded.
pub(super) fn shows(document: &mut Document, info: &TraceInfo) {
    document.submitted_as = info.id;
    document.trace.restart(info.id);
    document.trace.phase = Phase::Recorded;
    document.trace.source = Arc::clone(&info.script);
    document.trace.attached = info.probes.len() as u32;
}
