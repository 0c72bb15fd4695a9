//! The lines of output.

use std::borrow::Cow;
use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::store::{History as _, PayloadKind};
use crate::tui::base::input::Input;
use crate::tui::base::paint::{highlighted, note, put, put_end, style_row};
use crate::tui::base::text::{char_width, counted, fit, fit_end, grouped, neutralise, neutralise_line, width, wrap};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::data::expression::{Expression, is_meant};
use crate::tui::data::filter::matches;
use crate::tui::data::trace::Phase;
use crate::tui::pane::Context;
use crate::tui::panes::events::log::{EventLog, Shown};
use crate::tui::widgets::columns::EVENTS;
use crate::tui::widgets::frame::pane_frame;

/// Index of the line that is shown at a row of the screen; `area` is the pane's frame.
#[must_use]
pub fn line_at(log: &EventLog, ctx: &Context<'_>, area: Rect, row: u16) -> Option<usize> {
    let inside = Rect { y: area.y + 1, height: area.height.saturating_sub(2), ..area };
    let store = &ctx.data.store;
    let table = below(inside, filter_rows(log, ctx, inside));
    let table = below(table, heading_rows(table));
    let rows = usize::from(table.height);
    let at = usize::from(row.checked_sub(table.y)?);
    let len = log.len(store);
    let index = first_row(len, log.selected(store)?, rows) + at;
    (at < rows && index < len).then_some(index)
}

/// Rows that the filter takes above the table.
fn filter_rows(log: &EventLog, ctx: &Context<'_>, inside: Rect) -> u16 {
    let filtered = typed(ctx).is_some() || !log.filter().is_empty();
    u16::from(filtered && inside.height > 1)
}

/// Rows that the heading takes; small panes have none. Without the frame's columns.
const fn heading_rows(inside: Rect) -> u16 {
    if inside.height > 4 && inside.width >= TIME_FROM { 1 } else { 0 }
}

/// Stands before rows that our own threads caused.
const OWN_MARK: &str = "·";

/// Columns of a pane from which on times, and probes, are shown.
const TIME_FROM: u16 = 44;
const PROBE_FROM: u16 = 64;
const DELTA_FROM: u16 = 100;

/// Paints the pane.
pub fn draw(log: &EventLog, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let state = ctx.data;
    let (mut inside, taken) = pane_frame(ctx, buf, area);
    let theme = &state.theme;
    let store = &state.store;
    note(buf, area, &counts(log, state), theme[Slot::Faint], taken);
    if filter_rows(log, ctx, inside) > 0 {
        draw_filter(log, ctx, buf, inside);
        inside = below(inside, 1);
    }
    if log.held(store) == 0 {
        return welcome(ctx, buf, inside);
    }
    if log.is_empty(store) {
        let words = if log.is_looking(store) { "Looking through the history…" } else { "No line passes the filter." };
        put(buf, inside, 1, 0, words, theme[Slot::Dim]);
        return;
    }
    let heading = heading_rows(Rect { width: area.width, ..inside });
    let rows = usize::from(inside.height - heading);
    let (len, selected) = (log.len(store), log.selected(store).unwrap_or(0));
    let first = first_row(len, selected, rows);
    let shown: Vec<Shown> = (first..len).take(rows).map_while(|i| log.get(i, store)).collect();
    let columns = Columns::of(&shown, log.clock, area.width);
    if heading > 0 {
        columns.heading(log, state, buf, inside);
        inside = below(inside, heading);
    }
    for (y, row) in shown.iter().enumerate() {
        columns.row(log, state, buf, inside, y, row);
        if first + y == selected && ctx.focused {
            style_row(buf, inside, y, theme[Slot::Selected]);
        }
    }
}

const fn below(area: Rect, rows: u16) -> Rect {
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// The filter that is being typed, when it is this pane's.
fn typed<'a>(ctx: &Context<'a>) -> Option<&'a Input> {
    ctx.filter()
}

fn draw_filter(log: &EventLog, ctx: &Context<'_>, buf: &mut Buffer, inside: Rect) {
    let theme = ctx.theme();
    let filtering = typed(ctx);
    let x = put(buf, inside, 0, 0, "filter ", theme[Slot::Key]);
    let text = filtering.map_or_else(|| log.filter(), |i| i.text());
    let end = put(buf, inside, x, 0, &neutralise(text), theme[Slot::Text]);
    // Words pass as words; what looks like a condition over fields and is none says why.
    if is_meant(text)
        && let Err(why) = Expression::parse(text)
    {
        put(buf, inside, end + 3, 0, &fit(&neutralise(&why), 60), theme[Slot::Warning]);
    }
    if let Some(input) = filtering {
        let under = input.text()[input.before().len()..].chars().next().unwrap_or(' ').to_string();
        put(buf, inside, x + width(input.before()), 0, &under, theme[Slot::Cursor]);
    }
}

/// Widths of the table's columns; 0 for one that is left out.
struct Columns {
    time: usize,
    delta: usize,
    probe: usize,
}

impl Columns {
    /// For rows in sight, in a pane of so many columns with its frame.
    fn of(rows: &[Shown], clock: bool, total: u16) -> Self {
        let time = rows.iter().map(|r| r.time(clock).len()).max().unwrap_or(0).max(EVENTS[0].width.into());
        // All probes of the traces in sight count, so that the column stays as it is while lines pass.
        let most = (usize::from(total) / 3).max(EVENTS[2].width.into());
        let traces = rows.first().into_iter().chain(rows.last()).filter_map(|r| r.info.as_ref());
        let names = traces.flat_map(|i| &i.actions).map(|action| width(&short_name(&action.probe, most)));
        let probe = names.max().unwrap_or(0);
        let probe = if probe == 0 { 0 } else { probe.max(EVENTS[2].title.len()) };
        let from = |least, width| if total < least { 0 } else { width };
        Self {
            time: from(TIME_FROM, time),
            delta: from(DELTA_FROM, usize::from(EVENTS[1].width)),
            probe: from(PROBE_FROM, probe),
        }
    }

    /// Column at which the probe starts.
    fn probe(&self) -> usize {
        let part = |width: usize| if width == 0 { 0 } else { width + 2 };
        1 + part(self.time) + part(self.delta)
    }

    /// Column at which the output starts.
    fn output(&self) -> usize {
        let part = |width: usize| if width == 0 { 0 } else { width + 2 };
        self.probe() + part(self.probe)
    }

    fn heading(&self, log: &EventLog, data: &Data, buf: &mut Buffer, area: Rect) {
        let look = data.theme[Slot::Heading];
        if self.time > 0 {
            put_end(buf, area, 1 + self.time, 0, EVENTS[0].title, look);
        }
        if self.delta > 0 {
            put_end(buf, area, self.probe() - 2, 0, EVENTS[1].title, look);
        }
        if self.probe > 0 {
            put(buf, area, self.probe(), 0, EVENTS[2].title, look);
        }
        let x = put(buf, area, self.output(), 0, EVENTS[3].title, look);
        if log.left > 0 {
            put(buf, area, x + 1, 0, &format!("from column {}", log.left + 1), data.theme[Slot::Faint]);
        }
    }

    fn row(&self, log: &EventLog, data: &Data, buf: &mut Buffer, area: Rect, y: usize, row: &Shown) {
        let theme = &data.theme;
        if self.time > 0 {
            put_end(buf, area, 1 + self.time, y, &row.time(log.clock), theme[Slot::Faint]);
        }
        if self.delta > 0 {
            put_end(buf, area, self.probe() - 2, y, &row.delta(), theme[Slot::Faint]);
        }
        let entry = data.store.entry(row.row.entry);
        let is_own = entry.is_some_and(|entry| data.own.has_caused(row.info.as_deref(), &entry));
        if is_own {
            put(buf, area, 0, y, OWN_MARK, theme[Slot::Warning]);
        }
        if self.probe > 0 {
            put(buf, area, self.probe(), y, &short_name(row.probe(), self.probe), theme[Slot::Dim]);
        }
        let x = self.output();
        let (text, look) = (row.text(), if is_own { Slot::Faint } else { look_of(row.row.kind) });
        let text = neutralise_line(&text);
        let skipped = skip_columns(&text, log.left);
        let found =
            if log.filter().is_empty() || log.is_expression() { Vec::new() } else { matches(log.filter(), skipped) };
        let at = |i: usize| {
            let byte = skipped.char_indices().nth(i).map_or(0, |(b, _)| b);
            found.iter().any(|r| r.contains(&byte))
        };
        if found.is_empty() {
            put(buf, area, x, y, skipped, theme[look]);
        } else {
            highlighted(buf, area, x, y, skipped, at, theme[look], theme[Slot::Matched]);
        }
        let last = usize::from(area.width).saturating_sub(1);
        if wider_than(skipped, (last + 1).saturating_sub(x)) {
            // The cell before may hold a wide character, which takes the last one too.
            let before = buf.cell((area.x + last as u16 - u16::from(last > x), area.y + y as u16));
            let last = last - usize::from(last > x && before.is_some_and(|c| width(c.symbol()) > 1));
            put(buf, area, last, y, "…", theme[Slot::Faint]);
        }
    }
}

/// What the script printed looks plain, what is said of it stands out.
const fn look_of(kind: PayloadKind) -> Slot {
    match kind {
        PayloadKind::Lost | PayloadKind::Failure | PayloadKind::Diagnostic => Slot::Warning,
        PayloadKind::Mark => Slot::Heading,
        _ => Slot::Text,
    }
}

/// A probe's name in a column: in full, else without its kind and place, else its end.
fn short_name(name: &str, columns: usize) -> Cow<'_, str> {
    if width(name) <= columns && !name.contains(char::is_control) {
        return Cow::Borrowed(name);
    }
    let short = name.rfind(':').map_or(name, |at| &name[at + 1..]);
    Cow::Owned(fit_end(&neutralise(short), columns).into_owned())
}

/// Whether text takes more columns than this; looks no further than it must.
fn wider_than(text: &str, columns: usize) -> bool {
    text.chars()
        .scan(0, |used, c| {
            *used += char_width(c);
            Some(*used)
        })
        .any(|used| used > columns)
}

/// The selected row is in view; near the end the view is full.
fn first_row(len: usize, selected: usize, rows: usize) -> usize {
    let last_page = len.saturating_sub(rows);
    if selected >= last_page { last_page } else { selected.saturating_sub(rows / 2) }
}

fn skip_columns(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        if used >= columns {
            return &text[at..];
        }
        used += char_width(c);
    }
    if columns == 0 { text } else { "" }
}

fn counts(log: &EventLog, data: &Data) -> String {
    let store = &data.store;
    let held = log.held(store);
    let mut out = if log.is_filtered() {
        let more = if log.is_looking(store) { "…" } else { "" };
        format!("{}{more} of {}", grouped(log.len(store) as u64), counted(held as u64, "line"))
    } else {
        counted(held as u64, "line")
    };
    if held == 0 {
        out.clear();
    }
    if store.trimmed_entries() > 0 {
        let _ = write!(out, " · {} older dropped", grouped(store.trimmed_entries()));
    }
    if log.hides_own() {
        let maps = if data.document.maps.views.is_empty() { "" } else { " (maps count them)" };
        let _ = write!(out, " · without probescope's own{maps}");
    }
    if !log.follows() {
        let _ = write!(out, " · {} below", grouped(log.below(store) as u64));
    }
    out
}

/// Nothing was printed yet: why that may be.
fn waiting(ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let (state, document) = (ctx.data, ctx.document);
    let theme = &state.theme;
    let room = usize::from(area.width).saturating_sub(2);
    put(buf, area, 1, 0, &fit("Attached; no line was printed yet.", room), theme[Slot::Dim]);
    let silent = document.trace.silent();
    let Some(stats) = document.trace.stats.as_ref().filter(|_| !silent.is_empty()) else { return };
    put(buf, area, 1, 2, &fit("No events yet, 0 hits:", room), theme[Slot::Warning]);
    let rows = usize::from(area.height).saturating_sub(3);
    for (y, index) in silent.iter().take(rows).enumerate() {
        let name = neutralise(&stats.probes[*index].name).into_owned();
        put(buf, area, 3, y + 3, &fit(&name, room.saturating_sub(2)), theme[Slot::Probe]);
    }
    let hint = "Does what they trace happen now? A predicate counts as a hit, whether it lets an event pass or not.";
    for (y, line) in wrap(hint, room).iter().enumerate() {
        put(buf, area, 1, 4 + silent.len().min(rows) + y, line, theme[Slot::Dim]);
    }
}

fn welcome(ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let (state, document) = (ctx.data, ctx.document);
    let theme = &state.theme;
    if document.trace.phase == Phase::Running {
        return waiting(ctx, buf, area);
    }
    if document.trace.phase != Phase::Idle {
        return;
    }
    let (mut area, room) = (area, usize::from(area.width).saturating_sub(2));
    if let Some(reason) = &state.disabled {
        let lines = wrap(
            &neutralise(&format!(
                "Scripts cannot run here: {reason}. `probescope demo` plays recorded traces, which needs no rights."
            )),
            room,
        );
        for (y, line) in lines.iter().enumerate() {
            put(buf, area, 1, y, line, theme[Slot::Warning]);
        }
        let used = (lines.len() as u16 + 1).min(area.height);
        area = Rect { y: area.y + used, height: area.height - used, ..area };
    }
    let (height, width) = (usize::from(area.height), usize::from(area.width));
    let box_width = 36;
    let x = width.saturating_sub(box_width) / 2;
    let top = height.saturating_sub(WELCOME.len() + 2) / 2;
    if height > WELCOME.len() + 1 {
        put(buf, area, x, top, "Trace the running kernel", theme[Slot::Heading]);
    }
    let from = if height > WELCOME.len() + 1 { top + 2 } else { 0 };
    for (i, (key, what)) in WELCOME.iter().enumerate() {
        put_end(buf, area, x + 6, from + i, key, theme[Slot::Key]);
        put(buf, area, x + 8, from + i, what, theme[Slot::Dim]);
    }
}

/// The first steps, in their order, and the ways out.
const WELCOME: [(&str, &str); 8] = [
    ("/", "find a probe: try openat"),
    ("Enter", "insert a clause for it"),
    ("Ctrl-S", "save, compile and attach"),
    ("Esc", "go to the output, and back"),
    ("Ctrl-O", "open one of the bundled scripts"),
    ("Ctrl-K", "every command by name"),
    ("F1", "every key"),
    ("Ctrl-Q", "leave"),
];
