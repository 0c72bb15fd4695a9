//! Paints maps over time.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Widget as _};

use super::feed::Scale;
use super::grid::{Grid, RowOf};
use super::{HeatPane, side};
use crate::store::History as _;
use crate::tui::base::paint::{note, put, put_end};
use crate::tui::base::text::{fit, fit_end, neutralise, short_count, width};
use crate::tui::base::theme::{Slot, Theme};
use crate::tui::pane::Context;
use crate::tui::widgets::frame::pane_frame;

/// Lines that are drawn at most.
const MOST_LINES: usize = 6;
/// Their colours.
const COLOURS: [Slot; MOST_LINES] = [Slot::Value, Slot::Warning, Slot::Good, Slot::Map, Slot::Keyword, Slot::Error];
/// Widths of the pane from which on it has a distribution at its right.
const SIDE_FROM: u16 = 76;
const SIDE: u16 = 34;

/// Where things are in the pane.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// The names of the rows.
    pub labels: Rect,
    /// The picture.
    pub cells: Rect,
    /// The values at the cursor.
    pub side: Rect,
}

impl Places {
    /// In a pane of this frame.
    #[must_use]
    pub fn of(pane: &HeatPane, area: Rect) -> Self {
        let inside = Rect {
            x: area.x + 1.min(area.width),
            y: area.y + 1.min(area.height),
            width: area.width.saturating_sub(2),
            height: area.height.saturating_sub(2),
        };
        // A heading above; the times and what is told below.
        let body = Rect { y: inside.y + 1.min(inside.height), height: inside.height.saturating_sub(3), ..inside };
        let side = if inside.width >= SIDE_FROM { SIDE } else { 0 };
        let labels = match pane.feed.scale() {
            Some(Scale::Keys) => {
                let longest = pane.feed.keys().iter().map(|k| width(&neutralise(k))).max().unwrap_or(0) as u16;
                longest.clamp(3, (inside.width / 4).max(3)) + 2
            }
            _ => 9,
        };
        let labels = labels.min(body.width);
        let cells = body.width.saturating_sub(labels + side);
        Self {
            labels: Rect { width: labels, ..body },
            cells: Rect { x: body.x + labels, width: cells, ..body },
            side: Rect { x: body.x + labels + cells, width: side.min(body.width - labels), ..body },
        }
    }

    /// Columns and rows of the picture.
    #[must_use]
    pub fn room(&self) -> (usize, usize) {
        (usize::from(self.cells.width), usize::from(self.cells.height))
    }
}

/// Paints the pane.
pub fn draw(pane: &HeatPane, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let (inside, taken) = pane_frame(ctx, buf, area);
    let theme = ctx.theme();
    if pane.feed.is_behind() {
        note(buf, area, "looking through the history…", theme[Slot::Faint], taken);
    }
    let places = Places::of(pane, area);
    let grid = pane.grid(places.room());
    if grid.rows.is_empty() {
        return empty(pane, ctx, buf, inside);
    }
    heading(pane, &grid, ctx, buf, inside);
    let lines = is_lines(pane);
    labels(pane, &grid, lines, ctx, buf, places.labels);
    if lines {
        chart(&grid, theme, buf, places.cells);
    } else {
        heat(&grid, theme, buf, places.cells);
    }
    let column = grid.column(pane.at_ns).unwrap_or(0);
    cursor(pane, &grid, column, ctx, buf, places.cells);
    side::draw(pane, &grid, column, ctx, buf, places.side);
    times(&grid, column, ctx, buf, Rect { y: places.cells.bottom(), height: 1, ..places.cells });
    if inside.height > 3 {
        let foot = Rect { y: inside.bottom() - 1, height: 1, ..inside };
        side::told(pane, &grid, column, ctx, buf, foot);
    }
}

/// Whether keys are drawn as lines.
pub(super) fn is_lines(pane: &HeatPane) -> bool {
    pane.lines && pane.feed.scale() == Some(Scale::Keys)
}

fn empty(pane: &HeatPane, ctx: &Context<'_>, buf: &mut Buffer, inside: Rect) {
    let theme = ctx.theme();
    if pane.feed.map.is_some() {
        put(buf, inside, 1, 0, "Nothing has come yet.", theme[Slot::Dim]);
        return;
    }
    let lines = ["Maps of numbers and of histograms show here over time:", "@[comm] = count();   @us = hist($us);"];
    for (y, line) in lines.iter().enumerate() {
        let slot = if y == 1 { Slot::Probe } else { Slot::Dim };
        put(buf, inside, 1, y, &fit(line, usize::from(inside.width).saturating_sub(1)), theme[slot]);
    }
}

fn heading(pane: &HeatPane, grid: &Grid, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let mut x = put(buf, area, 1, 0, pane.feed.map.as_deref().unwrap_or("@"), theme[Slot::Map]);
    let keys = pane.feed.keys().len();
    let of = match (pane.feed.scale(), pane.key.and_then(|k| pane.feed.keys().get(usize::from(k)))) {
        (Some(Scale::Keys), _) => format!("{} of {keys} keys", grid.rows.len()),
        (_, Some(key)) => neutralise(key).into_owned(),
        _ if keys > 1 => format!("all {keys} keys"),
        _ => String::new(),
    };
    x = put(buf, area, x + 1, 0, &fit(&of, 40), theme[Slot::Text]);
    if pane.feed.crowded {
        x = put(buf, area, x + 2, 0, &format!("{keys} keys are told apart"), theme[Slot::Warning]);
    }
    if let Some(baseline) = &pane.baseline {
        put(buf, area, x + 2, 0, &fit(&format!("over that of {}", neutralise(&baseline.title)), 40), theme[Slot::Info]);
    }
    let per = grid.times.windows(2).next().map_or(0.0, |t| (t[1] - t[0]) as f64 / 1e9);
    let legend = format!("{} at most in {per:.3} s", short_count(grid.most));
    put_end(buf, area, usize::from(area.width).saturating_sub(1), 0, &legend, theme[Slot::Faint]);
}

fn labels(pane: &HeatPane, grid: &Grid, lines: bool, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let room = usize::from(area.width).saturating_sub(2);
    let tall = if lines { 1 } else { grid.tall(area.height.into()) };
    for (y, row) in grid.rows.iter().enumerate() {
        let label = pane.label(row);
        let look = match COLOURS.get(y) {
            Some(slot) if lines => theme[*slot],
            _ if lines => theme[Slot::Faint],
            _ if y == pane.row && ctx.focused => theme[Slot::Figure],
            _ => theme[Slot::Dim],
        };
        // Of a stack its innermost frames are kept, of other keys what tells them apart: their ends.
        let is_stack =
            matches!(row, RowOf::Key(key) if pane.feed.keys().get(usize::from(*key)).is_some_and(|k| k.contains('\n')));
        let label = if is_stack { fit(&label, room) } else { fit_end(&label, room) };
        put_end(buf, area, room + 1, y * tall + tall / 2, &label, look);
    }
}

/// How hot a value is, 0 to 1: by its logarithm, for a few large values would hide all others.
fn part(value: f64, most: f64) -> f64 {
    if value <= 0.0 || most <= 0.0 { 0.0 } else { (1.0 + value).ln() / (1.0 + most).ln() }
}

/// A column of the picture may be several columns of the screen wide.
pub(super) fn stretch(grid: &Grid, column: usize, columns: usize) -> (usize, usize) {
    let count = grid.cells.len().max(1);
    (column * columns / count, (column + 1) * columns / count)
}

/// The look of a cell: by its ground, or by how dense it is on a terminal of few colours.
pub(super) fn look(theme: &Theme, part: f64) -> (&'static str, Style) {
    if part <= 0.0 {
        return (" ", theme[Slot::Text]);
    }
    if let Some(ground) = theme.heat(part) {
        return (" ", theme[Slot::Text].bg(ground));
    }
    let symbol = match part {
        p if p < 0.3 => "░",
        p if p < 0.6 => "▒",
        p if p < 0.85 => "▓",
        _ => "█",
    };
    (symbol, theme[if part < 0.6 { Slot::BarLow } else { Slot::BarHigh }])
}

fn heat(grid: &Grid, theme: &Theme, buf: &mut Buffer, area: Rect) {
    let area = area.intersection(buf.area);
    let tall = grid.tall(area.height.into());
    for (column, cells) in grid.cells.iter().enumerate() {
        let (from, to) = stretch(grid, column, usize::from(area.width));
        for y in 0..(cells.len() * tall).min(area.height.into()) {
            let (symbol, style) = look(theme, part(cells[y / tall], grid.most));
            for x in from..to {
                let cell = &mut buf[(area.x + x as u16, area.y + y as u16)];
                cell.set_symbol(symbol).set_style(style);
            }
        }
    }
}

fn chart(grid: &Grid, theme: &Theme, buf: &mut Buffer, area: Rect) {
    let points: Vec<Vec<(f64, f64)>> = (0..grid.rows.len().min(MOST_LINES))
        .map(|row| grid.cells.iter().enumerate().map(|(x, cells)| (x as f64, cells[row])).collect())
        .collect();
    let lines = points.iter().zip(COLOURS).rev().map(|(points, slot)| {
        let style = Style { bg: None, ..theme[slot] };
        Dataset::default().marker(Marker::Braille).graph_type(GraphType::Line).style(style).data(points)
    });
    Chart::new(lines.collect())
        .style(theme[Slot::Text])
        .x_axis(Axis::default().bounds([0.0, (grid.cells.len() as f64 - 1.0).max(1.0)]))
        .y_axis(Axis::default().bounds([0.0, grid.most.max(1.0)]))
        .render(area, buf);
}

fn cursor(pane: &HeatPane, grid: &Grid, column: usize, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let area = area.intersection(buf.area);
    if !ctx.focused || area.is_empty() {
        return;
    }
    let (from, to) = stretch(grid, column, usize::from(area.width));
    let row = pane.row.min(grid.rows.len().saturating_sub(1));
    let at = Rect { x: area.x + from as u16, width: (to - from).max(1) as u16, ..area };
    let tall = if is_lines(pane) { 1 } else { grid.tall(area.height.into()) };
    let cell = Rect { y: area.y + (row * tall) as u16, height: tall as u16, ..at }.intersection(area);
    buf.set_style(cell, Style::new().add_modifier(Modifier::REVERSED));
    let mark = Rect { x: at.x + at.width / 2, width: 1, ..at };
    for y in 0..area.height {
        let here = &mut buf[(mark.x.min(area.right() - 1), area.y + y)];
        if here.symbol() == " " {
            here.set_symbol("┊").set_fg(ctx.theme()[Slot::Faint].fg.unwrap_or_default());
        }
    }
}

/// Times below the picture: of its begin, of its end, and of the cursor, by seconds since the trace began.
fn times(grid: &Grid, column: usize, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let began = ctx.data.store.trace(ctx.document.trace.id).map_or(0, |t| t.began_ns);
    let text = |ns: u64| format!("{:.1} s", ns.saturating_sub(began) as f64 / 1e9);
    let columns = usize::from(area.width);
    let (Some(first), Some(last)) = (grid.times.first(), grid.times.last()) else { return };
    let (left, right, here) = (text(*first), text(*last), text(grid.times[column + 1]));
    put(buf, area, 0, 0, &left, theme[Slot::Faint]);
    let (from, _) = stretch(grid, column, columns);
    let x = from.saturating_sub(here.len() / 2).min(columns.saturating_sub(here.len()));
    if x + here.len() + right.len() < columns {
        put_end(buf, area, columns, 0, &right, theme[Slot::Faint]);
    }
    if columns > here.len() {
        put(buf, area, x, 0, &here, theme[Slot::Figure]);
    }
}
