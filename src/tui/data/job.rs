//! Files for other programs: what can be exported, and a file that is to be made. They are made and written by a thread of
//! their own.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::effect::Message;
use super::expression::{Expression, Fields};
use super::files;
use super::filter::Terms;
use crate::model::flame::FlameTree;
use crate::model::stats::PartialMap;
use crate::output::export::events::Events;
use crate::output::export::table::Table;
use crate::output::export::{ExportError, Form, Source, of_stacks};
use crate::store::{Entry, History as _, Store, TraceId, TraceInfo};
use crate::thread::{self, Rights};

/// What can be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exported {
    /// The pane that has the keys, as comma-separated values.
    PaneCsv,
    /// The same as JSON.
    PaneJson,
    /// A picture of it.
    PanePicture,
    /// A picture of the whole screen.
    Screen,
    /// The trace of the script that is worked on, at the moment shown.
    Trace(Form),
}

impl Exported {
    /// All of them, as the palette lists them.
    pub fn all() -> impl Iterator<Item = Self> {
        let traces = Form::ALL.iter().map(|f| Self::Trace(*f));
        [Self::PaneCsv, Self::PaneJson, Self::PanePicture, Self::Screen].into_iter().chain(traces)
    }

    /// What it is.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::PaneCsv => "This pane as comma-separated values (CSV)",
            Self::PaneJson => "This pane as JSON",
            Self::PanePicture => "Picture of this pane as SVG",
            Self::Screen => "Picture of the screen as SVG",
            Self::Trace(form) => form.about(),
        }
    }
}

/// A file to be made.
#[derive(Debug)]
pub struct Job {
    /// The file's name.
    pub name: String,
    /// What it is made of.
    pub content: Content,
}

/// What a file is made of.
#[derive(Debug)]
pub enum Content {
    /// It is made already.
    Ready(Vec<u8>),
    /// Stacks of a map.
    Stacks {
        /// In which form.
        form: Form,
        /// The map.
        map: Arc<str>,
        /// Its stacks.
        tree: Arc<FlameTree>,
        /// The trace.
        trace: Arc<TraceInfo>,
        /// What the stacks are of, where that is not all firings.
        part: Option<PartialMap>,
    },
    /// A trace at a moment.
    Trace {
        /// In which form.
        form: Form,
        /// The history.
        store: Store,
        /// The trace.
        trace: Arc<TraceInfo>,
        /// The moment.
        at_ns: u64,
        /// A map of it alone.
        map: Option<Arc<str>>,
    },
    /// Lines of the history.
    Lines {
        /// As JSON, else as comma-separated values.
        json: bool,
        /// The history.
        store: Store,
        /// Of these traces, or of all.
        traces: Option<Vec<TraceId>>,
        /// Those that pass.
        filter: String,
        /// Until this moment.
        at_ns: u64,
    },
    /// A table.
    Table {
        /// As JSON, else as comma-separated values.
        json: bool,
        /// Its cells.
        table: Table,
    },
}

impl PartialEq for Job {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Job {}

impl Job {
    /// The file's name and what it holds.
    ///
    /// # Errors
    /// When there is nothing of that form.
    pub fn make(&self) -> Result<Vec<u8>, ExportError> {
        Ok(match &self.content {
            Content::Ready(bytes) => bytes.clone(),
            Content::Stacks { form, map, tree, trace, part } => of_stacks(*form, map, tree, trace, part.as_ref())?,
            Content::Trace { form, store, trace, at_ns, map } => {
                Source { history: store, trace, at_ns: *at_ns, map: map.as_deref() }.write(*form)?
            }
            Content::Lines { json, store, traces, filter, at_ns } => {
                let of = |t: &&Arc<TraceInfo>| traces.as_ref().is_none_or(|ids| ids.contains(&t.id));
                let infos: Vec<Arc<TraceInfo>> = store.traces().iter().filter(of).map(Arc::clone).collect();
                let terms = Terms::new(filter);
                let expression = Expression::parse(filter).ok();
                let passes = |info: &TraceInfo, entry: &Entry, text: &str| match &expression {
                    Some(expression) => expression.passes(&Fields { info: Some(info), entry, text }),
                    None => terms.pass(info.probe(entry.payload.action()), text),
                };
                let events = Events { history: store, traces: &infos, at_ns: *at_ns, passes: &passes };
                if *json { events.json_lines() } else { events.csv() }.into_bytes()
            }
            Content::Table { json, table } => if *json { table.json() } else { table.csv() }.into_bytes(),
        })
    }

    fn write(&self) -> String {
        match self.make() {
            Err(error) => format!("Nothing to export: {error}"),
            Ok(bytes) => match files::export(&self.name, &bytes) {
                Ok(path) => format!("Written: {} ({} bytes)", path.display(), bytes.len()),
                Err(e) => format!("Not written: {}: {e}", self.name),
            },
        }
    }
}

/// Makes and writes a file; what became of it is told.
///
/// # Errors
/// When there is no thread for it.
pub fn start(job: Arc<Job>, tell: impl FnOnce(Message) + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::spawn("psc-export", Rights::Files, move || tell(Message::Notice(job.write())))
}
