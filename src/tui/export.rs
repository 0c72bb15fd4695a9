//! What is shown, as files for other programs. They are made and written by a thread of their own.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::draw::draw;
use super::effect::{Effect, Message};
use super::files;
use super::layout;
use super::panes::events::expression::{Expression, Fields};
use super::panes::events::filter::Terms;
use super::panes::flame::FlamePane;
use super::state::State;
use super::svg;
use crate::lang::diagnostic::Severity;
use crate::model::flame::FlameTree;
use crate::model::stats::PartialMap;
use crate::output::export::events::Events;
use crate::output::export::table::Table;
use crate::output::export::{ExportError, Form, Source, of_stacks};
use crate::store::{Cursor, Entry, History as _, Store, TraceId, TraceInfo};
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

/// What a pane shows, as data.
#[derive(Clone, Debug, Default)]
pub enum Shown {
    /// Nothing but its picture.
    #[default]
    Picture,
    /// A map of a trace.
    Map(TraceId, Arc<str>),
    /// Lines of the history: of these traces or of all, those that pass.
    Lines(Option<Vec<TraceId>>, String),
    /// A table.
    Table(Table),
}

/// A file to be made.
#[derive(Debug)]
pub struct Job {
    name: String,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// It is made already.
    Ready(Vec<u8>),
    Stacks {
        form: Form,
        map: Arc<str>,
        tree: Arc<FlameTree>,
        trace: Arc<TraceInfo>,
        /// What the stacks are of, where that is not all firings.
        part: Option<PartialMap>,
    },
    Trace {
        form: Form,
        store: Store,
        trace: Arc<TraceInfo>,
        at_ns: u64,
        map: Option<Arc<str>>,
    },
    Lines {
        json: bool,
        store: Store,
        traces: Option<Vec<TraceId>>,
        filter: String,
        at_ns: u64,
    },
    Table {
        json: bool,
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

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
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

/// What is to be exported; where there is nothing of that kind, says so.
pub fn ask(state: &mut State, exported: Exported) -> Vec<Effect> {
    match job(state, exported) {
        Ok(job) => {
            state.tell(Severity::Info, format!("Writing {} …", job.name));
            vec![Effect::Export(Arc::new(job))]
        }
        Err(why) => {
            state.tell(Severity::Warning, format!("Nothing to export: {why}"));
            Vec::new()
        }
    }
}

fn job(state: &State, exported: Exported) -> Result<Job, String> {
    let name = state.document.name();
    let name = name.strip_suffix(".bt").unwrap_or(&name);
    let focus = state.panes.focus();
    let kind = state.panes.kind(focus).map_or("pane", |k| k.0);
    let (name, content) = match exported {
        Exported::Screen => (format!("{name}.screen.svg"), Content::Ready(picture(state, None))),
        Exported::PanePicture => {
            let area = layout::of(state).panes.area(focus);
            (format!("{name}.{kind}.svg"), Content::Ready(picture(state, area)))
        }
        Exported::PaneCsv | Exported::PaneJson => {
            let json = exported == Exported::PaneJson;
            let shown = state.panes.get(focus).map_or(Shown::Picture, |pane| pane.shown(state));
            let ending = match (&shown, json) {
                (Shown::Lines(..), true) => "jsonl",
                (_, true) => "json",
                (_, false) => "csv",
            };
            (format!("{name}.{kind}.{ending}"), of_pane(state, shown, json)?)
        }
        Exported::Trace(form) => {
            let content = trace(state, state.document.trace.id, form, None).ok_or(ExportError::NoTrace.to_string())?;
            (format!("{name}.{}", form.ending()), content)
        }
    };
    Ok(Job { name, content })
}

/// The time that the panes show.
fn at_ns(state: &State) -> u64 {
    match state.moment.cursor {
        Cursor::Live => u64::MAX,
        held @ Cursor::At { .. } => state.store.time_at(held),
    }
}

fn of_pane(state: &State, shown: Shown, json: bool) -> Result<Content, String> {
    match shown {
        Shown::Picture => Err("this pane has no table; its picture can be exported".to_owned()),
        Shown::Map(id, map) => {
            let form = if json { Form::Json } else { Form::Csv };
            trace(state, id, form, Some(map)).ok_or_else(|| ExportError::NoTrace.to_string())
        }
        Shown::Lines(traces, filter) => {
            Ok(Content::Lines { json, store: state.store.snapshot(), traces, filter, at_ns: at_ns(state) })
        }
        Shown::Table(table) => Ok(Content::Table { json, table }),
    }
}

fn trace(state: &State, id: TraceId, form: Form, map: Option<Arc<str>>) -> Option<Content> {
    let trace = Arc::clone(state.store.trace(id)?);
    // A flame graph is written as it is shown: what is hidden there is hidden in the file.
    if form.needs_stacks()
        && let Some(pane) = state.panes.view::<FlamePane>()
        && let Some(tree) = pane.feed.shared().filter(|t| !t.is_empty())
        && pane.feed.reading().is_some_and(|r| r.trace == id)
    {
        let map = pane.feed.map.clone().unwrap_or_else(|| "@".into());
        let stats = state.store.stats_at(id, at_ns(state));
        let part = stats.and_then(|stats| stats.part(&map).cloned());
        return Some(Content::Stacks { form, map, tree, trace, part });
    }
    Some(Content::Trace { form, store: state.store.snapshot(), trace, at_ns: at_ns(state), map })
}

/// The screen, or a part of it.
fn picture(state: &State, part: Option<Rect>) -> Vec<u8> {
    let (cut, _) = cut(state, part);
    svg::render(&cut, &state.theme, &format!("probescope: {}", state.document.name())).into_bytes()
}

/// What is painted of the screen, or of a part of it.
fn cut(state: &State, part: Option<Rect>) -> (Buffer, Rect) {
    let whole = Rect::new(0, 0, state.size.0, state.size.1);
    let mut buffer = Buffer::empty(whole);
    draw(state, &mut buffer);
    let part = part.unwrap_or(whole).intersection(whole);
    let mut cut = Buffer::empty(Rect::new(0, 0, part.width, part.height));
    for y in 0..part.height {
        for x in 0..part.width {
            cut[(x, y)] = buffer[(part.x + x, part.y + y)].clone();
        }
    }
    (cut, part)
}

/// The text of the pane that has the keys, without its frame.
#[must_use]
pub fn text_of_pane(state: &State) -> String {
    let area = layout::of(state).panes.area(state.panes.focus());
    let inside = area.map(|a| Rect {
        x: a.x + 1.min(a.width),
        y: a.y + 1.min(a.height),
        width: a.width.saturating_sub(2),
        height: a.height.saturating_sub(2),
    });
    let (cut, part) = cut(state, inside);
    let line = |y: u16| {
        let mut text = String::new();
        let mut skip = 0;
        for x in 0..part.width {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let symbol = cut[(x, y)].symbol();
            skip = super::text::width(symbol).saturating_sub(1);
            text.push_str(symbol);
        }
        text.trim_end().to_owned()
    };
    let lines: Vec<String> = (0..part.height).map(line).collect();
    lines.join("\n").trim_end().to_owned()
}
