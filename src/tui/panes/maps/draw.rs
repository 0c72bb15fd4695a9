//! Live maps: tables with bars, histograms, stacks.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::snapshot::{MapKind, MapRow};
use crate::model::value::{Series, Stack, Value};
use crate::tui::base::action::Pick;
use crate::tui::base::paint::{bar, chart, note, put, put_end, sparkline, style_row};
use crate::tui::base::text::{counted, fit, grouped, short_count, width};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::data::cells::{cell, common_frames, frames, key_fit, key_text};
use crate::tui::data::document::Document;
use crate::tui::data::maps::MapView;
use crate::tui::data::trace::Phase;
use crate::tui::pane::Context;
use crate::tui::panes::maps::buckets::{buckets, percentiles, shape, used};
use crate::tui::panes::maps::histogram::{bucket, histogram};
use crate::tui::widgets::columns::MAP;
use crate::tui::widgets::frame::pane_frame;

/// Most rows of one open row (frames of a stack, buckets of a histogram).
const OPEN_ROWS: usize = 40;
/// Rows of the highest screen.
const TALLEST: usize = 512;
/// Rows of a time series that has a map of its own.
const CHART_ROWS: usize = 5;

/// Rows that all maps together would like to have.
#[must_use]
pub fn wanted(document: &Document) -> usize {
    let views = &document.maps.views;
    views.iter().map(rows_wanted).sum::<usize>() + views.len().saturating_sub(1)
}

fn rows_wanted(view: &MapView) -> usize {
    let rows = &view.snapshot.rows;
    if view.snapshot.keyed {
        let open = view.order.iter().take(TALLEST).filter(|r| view.is_open(**r));
        return 2 + rows.len().max(1) + open.map(|r| open_rows(&rows[*r as usize])).sum::<usize>();
    }
    if let Some(Value::TSeries(_)) = rows.first().map(|r| &r.value) {
        return 1 + CHART_ROWS;
    }
    1 + if view.is_histogram() { rows.first().map_or(0, |r| buckets(&r.value).len()) } else { 0 }
}

fn open_rows(row: &MapRow) -> usize {
    opened(row).len().min(OPEN_ROWS)
}

/// What an open row shows below itself.
fn opened(row: &MapRow) -> Vec<Opened> {
    let mut out = Vec::new();
    for part in &row.key {
        if let Value::Stack(stack) = part {
            out.extend(frames(stack).into_iter().map(Opened::Text));
        }
    }
    if let Value::Stack(stack) = &row.value {
        out.extend(frames(stack).into_iter().map(Opened::Text));
    }
    let shown = buckets(&row.value);
    let most = shown.iter().map(|(_, c)| *c).max().unwrap_or(1);
    out.extend(shown.into_iter().map(|(label, count)| Opened::Bucket(label, count, most)));
    if out.is_empty() {
        out.push(Opened::Text(format!("{} → {}", key_text(&row.key), cell(&row.value))));
    }
    out
}

enum Opened {
    Text(String),
    Bucket(String, u64, u64),
}

/// Paints the pane.
pub fn draw(ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let state = ctx.data;
    let (inside, taken) = pane_frame(ctx, buf, area);
    let theme = &state.theme;
    let views = &ctx.document.maps.views;
    let hidden = ctx.document.maps.hidden();
    if views.is_empty() {
        let text = match ctx.document.trace.phase {
            _ if hidden > 0 => "Only maps that the script clears at its end: H shows them.",
            Phase::Running => "This script has no maps: try @[comm] = count();",
            _ => "Maps of the running script show here, live.",
        };
        put(buf, inside, 1, 0, &fit(text, usize::from(inside.width)), theme[Slot::Dim]);
        return;
    }
    let mut said = Vec::new();
    if let Some(filter) = filter_text(ctx) {
        said.push(filter);
    }
    if views.len() > 1 {
        said.push(format!("{} of {}", ctx.document.maps.selected + 1, views.len()));
    }
    if hidden > 0 {
        said.push(format!("{hidden} hidden (H)"));
    }
    if !said.is_empty() {
        note(buf, area, &said.join(" · "), theme[Slot::Faint], taken);
    }
    let mut y = inside.y;
    for (index, rows) in plan(ctx, usize::from(inside.height)) {
        let part = Rect { y, height: rows as u16, ..inside };
        map(ctx, index, buf, part);
        y += rows as u16 + 1;
    }
}

/// The filter that holds, or is being typed.
fn filter_text(ctx: &Context<'_>) -> Option<String> {
    match ctx.filter() {
        Some(input) => Some(format!("filter: {}▏", input.text())),
        None => Some(&ctx.document.maps.filter).filter(|f| !f.is_empty()).map(|f| format!("filter: {f}")),
    }
}

/// Which maps are shown, and in how many rows: all when there is room. Otherwise the selected one gets
/// what it wants first (in a zoomed pane before its neighbours get any), then those after it.
fn plan(ctx: &Context<'_>, height: usize) -> Vec<(usize, usize)> {
    let views = &ctx.document.maps.views;
    let wanted: Vec<usize> = views.iter().map(rows_wanted).collect();
    let mut given: Vec<usize> = wanted.iter().map(|w| (*w).min(if *w == 1 { 1 } else { 4 })).collect();
    let selected = ctx.document.maps.selected.min(views.len().saturating_sub(1));
    if ctx.zoomed
        && let (Some(given), Some(wanted)) = (given.get_mut(selected), wanted.get(selected))
    {
        *given = (*wanted).min(height.max(*given));
    }
    let mut shown: Vec<usize> = (0..views.len()).collect();
    let total = |shown: &[usize], given: &[usize]| {
        shown.iter().map(|i| given[*i]).sum::<usize>() + shown.len().saturating_sub(1)
    };
    while shown.len() > 1 && total(&shown, &given) > height {
        let furthest = (0..shown.len()).max_by_key(|at| shown[*at].abs_diff(selected)).unwrap_or(0);
        shown.remove(furthest);
    }
    let mut left = height.saturating_sub(total(&shown, &given));
    let first = shown.iter().position(|i| *i == selected).unwrap_or(0);
    let mut turn: Vec<usize> = shown.clone();
    turn.rotate_left(first);
    while left > 0 && turn.iter().any(|i| given[*i] < wanted[*i]) {
        for (nth, i) in turn.iter().enumerate() {
            let step = if nth == 0 { 2 } else { 1 };
            let more = step.min(left).min(wanted[*i] - given[*i]);
            given[*i] += more;
            left -= more;
        }
    }
    shown.iter().map(|i| (*i, given[*i].min(height))).collect()
}

fn map(ctx: &Context<'_>, index: usize, buf: &mut Buffer, area: Rect) {
    let state = ctx.data;
    let view = &ctx.document.maps.views[index];
    let theme = &state.theme;
    let selected = index == ctx.document.maps.selected && ctx.focused;
    // Of a trace that has ended a rate says nothing.
    let over = ctx.document.trace.is_over();
    let name = &view.snapshot.name;
    let mark = if selected { "›" } else { " " };
    let x = put(buf, area, 0, 0, mark, theme[Slot::Key]);
    let x = put(buf, area, x, 0, name, theme[Slot::Map]) + 1;
    let x = match ctx.document.trace.stats.as_ref().and_then(|stats| stats.part(name)) {
        Some(part) => put(buf, area, x, 0, &format!("{} ", part.mark()), theme[Slot::Warning]) + 1,
        None => x,
    };
    let right = usize::from(area.width).saturating_sub(1);
    if view.snapshot.keyed {
        let count = view.snapshot.rows.len();
        let shown =
            if view.order.len() < count { format!("{} of ", grouped(view.order.len() as u64)) } else { String::new() };
        let keys = format!("{shown}{}", counted(count as u64, "key"));
        let full = view.snapshot.rows.len() as u32 >= view.snapshot.capacity && view.snapshot.capacity > 0;
        let slot = if full { Slot::Error } else { Slot::Faint };
        let keys = if full { format!("{keys}, full") } else { keys };
        let x = put(buf, area, x, 0, &keys, theme[slot]) + 2;
        if !over {
            rate_line(state, view, buf, area, x, right);
        }
        table(state, view, (selected, over), buf, area);
    } else if let Some(row) = view.snapshot.rows.first() {
        let x = scalar(state, view, row, buf, area, x);
        if !over {
            rate_line(state, view, buf, area, x + 2, right);
        }
        if view.is_histogram() {
            let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
            histogram(state, &row.value, buf, below);
        } else if let Value::TSeries(series) = &row.value {
            let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
            series_chart(state, series, buf, below);
        }
    } else {
        put(buf, area, x, 0, "nothing yet", theme[Slot::Faint]);
    }
}

fn scalar(data: &Data, view: &MapView, row: &MapRow, buf: &mut Buffer, area: Rect, x: usize) -> usize {
    let theme = &data.theme;
    if view.is_histogram() {
        let total = row.value.as_number().unwrap_or(0);
        let x = put(buf, area, x, 0, &counted(total as u64, "value"), theme[Slot::Value]) + 2;
        return summary(data, &row.value, buf, area, x);
    }
    let room = usize::from(area.width).saturating_sub(x + 1);
    let text = match row.value.as_number() {
        Some(n) if n >= 0 && !matches!(row.value, Value::Text(..) | Value::Stats(_) | Value::Pointer(_)) => {
            grouped(n as u64)
        }
        _ => cell(&row.value),
    };
    put(buf, area, x, 0, &fit(&text, room), theme[Slot::Value])
}

fn summary(data: &Data, value: &Value, buf: &mut Buffer, area: Rect, x: usize) -> usize {
    let Some((half, most)) = percentiles(value) else { return x };
    put(buf, area, x, 0, &format!("p50 < {half}  p99 < {most}"), data.theme[Slot::Dim])
}

/// The rate of a whole map: the last figure and a sparkline, at the right.
fn rate_line(data: &Data, view: &MapView, buf: &mut Buffer, area: Rect, from: usize, right: usize) {
    if !view.has_rate() || view.history.len() < 2 {
        return;
    }
    let rate = format!("{}/s", short_count(*view.history.back().unwrap_or(&0) as f64));
    let room = right.saturating_sub(from + width(&rate) + 2).min(30);
    if room < 6 {
        return;
    }
    let spark = sparkline(view.history.iter().copied(), room);
    let x = put_end(buf, area, right, 0, &rate, data.theme[Slot::Value]);
    put_end(buf, area, x.saturating_sub(1), 0, &spark, data.theme[Slot::Spark]);
}

/// Least columns of bars: they give way to keys.
const BARS: usize = 10;

/// Columns of a table: end of the key, end of the value, end of the rate, start and width of the
/// bar, and the buckets that the rows' histograms share as their axis.
struct Columns {
    /// Frames that all stacks share, and that are left out.
    skip: usize,
    axis: std::ops::Range<usize>,
    key: usize,
    value: usize,
    rate: Option<usize>,
    bar: (usize, usize),
}

/// Measures of a table of so many columns; a trace that is `over` has no rates.
fn columns(view: &MapView, total: usize, over: bool) -> Columns {
    let rows = || view.order.iter().take(200).filter_map(|r| view.snapshot.rows.get(*r as usize));
    let skip = common_frames(rows().map(|r| &r.key[..]));
    let keys = rows().map(|r| width(&key_fit(&r.key, skip, total))).max().unwrap_or(3).max(3);
    let values = rows().map(|r| width(&shown_value(view, r))).max().unwrap_or(5).clamp(5, total / 2);
    let rate = if view.has_rate() && !over && total > 36 { usize::from(MAP[2].width) } else { 0 };
    let axis = used(rows().map(|r| &r.value));
    let bars = match (has_bars(view), view.is_histogram()) {
        (true, true) => axis.len().max(BARS).min(total / 3),
        (true, false) => BARS,
        _ => 0,
    };
    let room = total.saturating_sub(4 + values + rate + if total > 30 { bars } else { 0 });
    let key = 2 + keys.min(room.max(6));
    let value = key + 2 + values;
    let end = value + rate;
    Columns {
        skip,
        axis,
        key,
        value,
        rate: (rate > 0).then_some(end),
        bar: (end + 2, if bars > 0 { total.saturating_sub(end + 3) } else { 0 }),
    }
}

/// Plain values are often times or addresses, of which bars say nothing.
fn has_bars(view: &MapView) -> bool {
    view.snapshot.kind != MapKind::Value && view.largest() > 0
}

fn shown_value(view: &MapView, row: &MapRow) -> String {
    match row.value.as_number() {
        Some(n) if n >= 0 && (view.has_rate() || matches!(row.value, Value::Uint(..) | Value::Int(..))) => {
            grouped(n as u64)
        }
        _ => match &row.value {
            // They stand below their key.
            Value::Stack(stack) => told(stack),
            value => cell(value),
        },
    }
}

/// How long a stack is.
fn told(stack: &Stack) -> String {
    match stack.frames.len() {
        0 => cell(&Value::Stack(stack.clone())),
        1 => "1 frame".to_owned(),
        frames => format!("{} frames", grouped(frames as u64)),
    }
}

fn table(data: &Data, view: &MapView, (selected, over): (bool, bool), buf: &mut Buffer, area: Rect) {
    let theme = &data.theme;
    let at = columns(view, usize::from(area.width), over);
    let look = theme[Slot::Heading];
    let arrow = if view.descending { "↓" } else { "↑" };
    let title = |column: usize, name: &str| {
        if selected && view.sorted_by() == column { format!("{arrow}{name}") } else { name.to_owned() }
    };
    let value_name = if view.is_histogram() { "values" } else { MAP[1].title };
    put(buf, area, 2, 1, &title(0, MAP[0].title), look);
    put_end(buf, area, at.value, 1, &title(1, value_name), look);
    if let Some(end) = at.rate {
        put_end(buf, area, end, 1, &title(2, MAP[2].title), look);
    }
    let rows = usize::from(area.height);
    let most = view.largest();
    for (y, place, row) in places(view, selected, rows) {
        let contents = &view.snapshot.rows[row as usize];
        if selected && place == view.row {
            style_row(buf, area, y, theme[Slot::Selected]);
        }
        table_row(data, view, row as usize, contents, &at, most, buf, area, y);
        if view.is_open(row) {
            for (below, line) in opened(contents).iter().take(OPEN_ROWS).enumerate() {
                if y + 1 + below < rows {
                    open_line(data, line, buf, area, y + 1 + below);
                }
            }
        }
    }
}

/// The rows of a table that are shown in `rows` lines, its two headings among them: line, place in
/// the order shown, index. The selected row is among them, with what is open below it if that fits.
fn places(view: &MapView, selected: bool, rows: usize) -> Vec<(usize, usize, u32)> {
    let height = |row: u32| match view.snapshot.rows.get(row as usize) {
        Some(contents) if view.is_open(row) => 1 + open_rows(contents),
        _ => 1,
    };
    let room = rows.saturating_sub(2).max(1);
    let mut first = 0;
    if selected {
        let wanted = view.row.min(view.order.len().saturating_sub(1));
        let mut used = 0;
        for place in (0..=wanted).rev() {
            used += view.order.get(place).map_or(0, |r| height(*r));
            if used > room && place < wanted {
                break;
            }
            first = place;
        }
    }
    let mut y = 2;
    let mut out = Vec::new();
    for (place, row) in view.order.iter().enumerate().skip(first) {
        if y >= rows {
            break;
        }
        if view.snapshot.rows.get(*row as usize).is_some() {
            out.push((y, place, *row));
            y += height(*row);
        }
    }
    out
}

/// What is at a place of the screen; `area` is the pane's frame.
#[must_use]
pub fn spot_at(ctx: &Context<'_>, area: Rect, (column, row): (u16, u16)) -> Option<Pick> {
    let at = usize::from(row.checked_sub(area.y + 1)?);
    let mut top = 0;
    let height = usize::from(area.height).saturating_sub(2);
    for (table, rows) in plan(ctx, height) {
        if at < top + rows {
            let view = ctx.document.maps.views.get(table)?;
            let line = at.checked_sub(top)?;
            let over = ctx.document.trace.is_over();
            let columns = columns(view, usize::from(area.width).saturating_sub(2), over);
            let column = usize::from(column.saturating_sub(area.x + 1));
            let selected = table == ctx.document.maps.selected && ctx.focused;
            let shown = places(view, selected, rows).into_iter().rev();
            return Some(match line {
                _ if !view.snapshot.keyed => Pick::Table(table),
                0 => Pick::Table(table),
                1 if column <= columns.key => Pick::Heading { table, column: 0 },
                1 if column <= columns.value || columns.rate.is_none() => Pick::Heading { table, column: 1 },
                1 => Pick::Heading { table, column: 2 },
                _ => shown
                    .into_iter()
                    .find(|(y, ..)| *y <= line)
                    .map_or(Pick::Table(table), |(_, row, _)| Pick::Row { table, row }),
            });
        }
        top += rows + 1;
    }
    None
}

#[allow(clippy::too_many_arguments, reason = "a row, its place and the table's measures")]
fn table_row(
    data: &Data,
    view: &MapView,
    index: usize,
    row: &MapRow,
    at: &Columns,
    most: i128,
    buf: &mut Buffer,
    area: Rect,
    y: usize,
) {
    let theme = &data.theme;
    put(buf, area, 2, y, &key_fit(&row.key, at.skip, at.key.saturating_sub(2)), theme[Slot::Text].bg_none());
    put_end(buf, area, at.value, y, &fit(&shown_value(view, row), at.value - at.key), theme[Slot::Value]);
    if let (Some(end), Some(rate)) = (at.rate, view.rate(index)) {
        let text = if rate.abs() < 0.05 { "·".to_owned() } else { short_count(rate) };
        put_end(buf, area, end, y, &text, theme[Slot::Dim]);
    }
    let (x, columns) = at.bar;
    if columns < 4 {
        return;
    }
    if view.is_histogram() {
        // The figures beside the shape may take half of the room.
        let counts = shape(&row.value, &at.axis, columns.saturating_sub(columns.min(25) * 9 / 10).max(columns / 2));
        let x = put(buf, area, x, y, &sparkline(counts.into_iter(), columns), theme[Slot::Spark].bg_none()) + 2;
        if let Some((half, tail)) = percentiles(&row.value) {
            let text = format!("p50<{half} p99<{tail}");
            if x + width(&text) < usize::from(area.width) {
                put(buf, area, x, y, &text, theme[Slot::Faint].bg_none());
            }
        }
    } else if let Value::TSeries(series) = &row.value {
        let values: Vec<Option<i64>> = series.points.iter().map(|(_, v)| *v).collect();
        let shape = chart(&values, columns, 1).concat();
        put(buf, area, x, y, &shape, theme[Slot::Spark].bg_none());
    } else if let (Some(n), true) = (row.value.as_number(), most > 0) {
        let part = n as f64 / most as f64;
        put(buf, area, x, y, &bar(part, columns), theme.gradient(part));
    }
}

fn open_line(data: &Data, line: &Opened, buf: &mut Buffer, area: Rect, y: usize) {
    let theme = &data.theme;
    match line {
        Opened::Text(text) => {
            let x = put(buf, area, 4, y, "│ ", theme[Slot::Faint]);
            let room = usize::from(area.width).saturating_sub(x);
            put(buf, area, x, y, &fit(text, room), theme[Slot::Function].bg_none());
        }
        Opened::Bucket(label, count, most) => {
            let x = put(buf, area, 4, y, "│", theme[Slot::Faint]);
            bucket(data, (label, *count, *most), (x, 14, 9), buf, area, y);
        }
    }
}

/// A time series as a chart, its largest and least value at its left, its length below the newest.
fn series_chart(data: &Data, series: &Series, buf: &mut Buffer, area: Rect) {
    let theme = &data.theme;
    let values: Vec<Option<i64>> = series.points.iter().map(|(_, v)| *v).collect();
    let rows = usize::from(area.height).min(CHART_ROWS);
    if rows == 0 {
        return;
    }
    let known = || values.iter().flatten().copied();
    let (high, low) = (known().max().unwrap_or(0).to_string(), known().min().unwrap_or(0).min(0).to_string());
    let labels = width(&high).max(width(&low)) + 2;
    put_end(buf, area, labels, 0, &high, theme[Slot::Dim]);
    if rows > 1 {
        put_end(buf, area, labels, rows - 1, &low, theme[Slot::Dim]);
    }
    // Each value is as wide as room allows.
    let columns = usize::from(area.width).saturating_sub(labels + 2);
    let wide = (columns / values.len().max(1)).clamp(1, 4);
    let stretched: Vec<Option<i64>> = values.iter().flat_map(|v| std::iter::repeat_n(*v, wide)).collect();
    for (y, line) in chart(&stretched, columns, rows).iter().enumerate() {
        put(buf, area, labels + 1, y, line, theme[Slot::Spark]);
    }
}

/// Looks without their background, for rows that have one already.
trait NoBackground {
    fn bg_none(self) -> Self;
}

impl NoBackground for ratatui::style::Style {
    fn bg_none(self) -> Self {
        Self { bg: None, ..self }
    }
}
