//! Paints the X-ray.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{ORDERS, XrayPane};
use crate::model::xray::{self, XrayRow, word_text};
use crate::tui::base::action::Pick;
use crate::tui::base::paint::{put, put_end, style_row};
use crate::tui::base::text::{fit, fit_end, neutralise, short_count, short_ns, wrap};
use crate::tui::base::theme::Slot;
use crate::tui::pane::Context;
use crate::tui::widgets::frame::pane_frame;

/// Columns of numbers behind the name: heading, cells.
const NUMBERS: [(&str, usize); 4] = [("calls", 8), ("p50", 8), ("p99", 8), ("max", 8)];
/// Cells of a result.
const RESULT: usize = 18;
/// Least room for names.
const LEAST_NAME: usize = 16;

/// Where columns end: the name's, those of numbers that fit, and whether result and arguments do.
struct Places {
    name: usize,
    numbers: Vec<usize>,
    more: bool,
}

fn places(total: usize) -> Places {
    let fitting = NUMBERS.len().min(total.saturating_sub(LEAST_NAME) / (NUMBERS[0].1 + 1));
    let numbers = fitting * (NUMBERS[0].1 + 1);
    let left = total.saturating_sub(numbers + 1);
    let more = left >= LEAST_NAME + RESULT + 20;
    let name = if more { (left * 45 / 100).clamp(LEAST_NAME, 40) } else { left };
    let ends = (1..=fitting).map(|n| name + n * (NUMBERS[0].1 + 1)).collect();
    Places { name, numbers: ends, more }
}

/// Paints the pane.
pub fn draw(pane: &XrayPane, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let (inside, _) = pane_frame(ctx, buf, area);
    let theme = ctx.theme();
    if pane.rows.is_empty() {
        let text = "Alt-R in the probe browser (F2) X-rays the functions that are searched for: how often each is \
                    called, how long it takes, its last arguments and result. Nothing of one has come yet.";
        let room = usize::from(inside.width).saturating_sub(2);
        for (y, line) in wrap(text, room).iter().take(usize::from(inside.height)).enumerate() {
            put(buf, inside, 1, y, line, theme[Slot::Dim]);
        }
        return;
    }
    let places = places(usize::from(inside.width));
    heading(pane, ctx, buf, inside, &places);
    let height = usize::from(inside.height).saturating_sub(1);
    let first = first(pane, height);
    for (y, (index, row)) in pane.rows.iter().enumerate().skip(first).take(height).enumerate() {
        paint(ctx, buf, inside, y + 1, row, &places);
        if index == pane.selected && ctx.focused {
            style_row(buf, inside, y + 1, theme[Slot::Selected]);
        }
    }
}

const fn first(pane: &XrayPane, height: usize) -> usize {
    (pane.selected + 1).saturating_sub(height)
}

fn heading(pane: &XrayPane, ctx: &Context<'_>, buf: &mut Buffer, area: Rect, places: &Places) {
    let look = ctx.theme()[Slot::Heading];
    let sorted = ORDERS.iter().position(|order| *order == pane.order);
    let arrow = if pane.reversed { "↑" } else { "↓" };
    let mark = |column: usize| if sorted == Some(column) { arrow } else { "" };
    put(buf, area, 1, 0, &format!("{}function", mark(0)), look);
    for (n, end) in places.numbers.iter().enumerate() {
        put_end(buf, area, *end, 0, &format!("{}{}", mark(n + 1), NUMBERS[n].0), look);
    }
    if places.more {
        let x = places.numbers.last().copied().unwrap_or(places.name) + 2;
        put(buf, area, x, 0, "result", look);
        put(buf, area, x + RESULT + 1, 0, "last arguments", look);
    }
}

fn paint(ctx: &Context<'_>, buf: &mut Buffer, area: Rect, y: usize, row: &XrayRow, places: &Places) {
    let theme = ctx.theme();
    let name = neutralise(&row.function);
    put(buf, area, 1, y, &fit_end(&name, places.name.saturating_sub(1)), theme[Slot::Probe]);
    let middle = |bucket: Option<(u64, u64)>| {
        bucket.map_or_else(|| "–".to_owned(), |bucket| short_ns(xray::middle(bucket) as f64))
    };
    let cells = [
        short_count(row.calls as f64),
        middle(row.p50_ns),
        middle(row.p99_ns),
        row.max_ns.map_or_else(|| "–".to_owned(), |ns| short_ns(ns as f64)),
    ];
    for (text, end) in cells.iter().zip(&places.numbers) {
        put_end(buf, area, *end, y, text, theme[Slot::Value]);
    }
    if places.more {
        let x = places.numbers.last().copied().unwrap_or(places.name) + 2;
        let result = row.result.map_or_else(|| "–".to_owned(), word_text);
        put(buf, area, x, y, &fit(&result, RESULT), theme[Slot::Type]);
        let x = x + RESULT + 1;
        let room = usize::from(area.width).saturating_sub(x + 1);
        put(buf, area, x, y, &fit(&row.arguments_text(), room), theme[Slot::Dim]);
    }
}

/// What is at a place of the screen; `area` is the pane's frame.
pub fn spot_at(pane: &XrayPane, area: Rect, at: Position) -> Option<Pick> {
    let y = usize::from(at.y.checked_sub(area.y + 1)?);
    let x = usize::from(at.x.checked_sub(area.x + 1)?);
    if y == 0 {
        let places = places(usize::from(area.width).saturating_sub(2));
        let number = places.numbers.iter().position(|end| x < *end).map(|n| n + 1);
        let column = if x < places.name { Some(0) } else { number };
        return column.map(|column| Pick::Heading { table: 0, column });
    }
    let row = first(pane, usize::from(area.height).saturating_sub(3)) + y - 1;
    (row < pane.rows.len()).then_some(Pick::Row { table: 0, row })
}
