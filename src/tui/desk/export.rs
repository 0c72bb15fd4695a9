//! What is shown, as files for other programs.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::draw::draw;
use super::layout;
use super::state::State;
use crate::lang::diagnostic::Severity;
use crate::output::export::{ExportError, Form};
use crate::store::{Cursor, History as _, TraceId};
use crate::tui::base::svg;
use crate::tui::base::text::width;
use crate::tui::data::effect::Effect;
use crate::tui::data::job::{Content, Exported, Job};
use crate::tui::pane::Shown;

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
        && let Some((map, tree)) = state.panes.iter().find_map(|(_, pane)| pane.stacks(id))
    {
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
            skip = width(symbol).saturating_sub(1);
            text.push_str(symbol);
        }
        text.trim_end().to_owned()
    };
    let lines: Vec<String> = (0..part.height).map(line).collect();
    lines.join("\n").trim_end().to_owned()
}
