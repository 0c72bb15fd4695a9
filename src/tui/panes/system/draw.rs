//! Tables of what is loaded.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::rows::{Column, columns, count, rows};
use super::{Context, SystemPane, View};
use crate::tui::base::action::Pick;
use crate::tui::base::paint::{note, put, put_end, style_row};
use crate::tui::base::text::{fit, wrap};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::widgets::frame::pane_frame;

/// Cells that a column without a width gets at least.
const LEAST: usize = 12;

/// Paints the pane.
pub fn draw(pane: &SystemPane, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let (inside, _) = pane_frame(ctx, buf, area);
    let uncounted = ctx.data.loaded.now.as_ref().and_then(|now| now.uncounted.as_deref());
    if let Some(reason) = uncounted.filter(|_| pane.view == View::Programs) {
        note(buf, area, reason, ctx.theme()[Slot::Warning], 20);
    }
    if let Some(text) = instead(pane, ctx.data) {
        let room = usize::from(inside.width).saturating_sub(2);
        for (y, line) in wrap(&text, room).iter().enumerate().take(usize::from(inside.height)) {
            put(buf, inside, 1, y, line, ctx.theme()[Slot::Dim]);
        }
        return;
    }
    let places = places(columns(pane.view), usize::from(inside.width).saturating_sub(1));
    heading(pane, ctx, buf, inside, &places);
    let height = usize::from(inside.height).saturating_sub(1);
    let first = first(pane, height);
    for (y, (place, row)) in rows(pane, ctx.data).iter().enumerate().skip(first).take(height).enumerate() {
        for (column, start, width) in &places {
            let shown = columns(pane.view).get(*column).zip(row.cells.get(*column));
            let Some((about, text)) = shown else { continue };
            let style = ctx.theme()[slot(pane.view, *column, text)];
            if about.is_number {
                put_end(buf, inside, start + width, y + 1, &fit(text, *width), style);
            } else {
                put(buf, inside, *start, y + 1, &fit(text, *width), style);
            }
        }
        if place == pane.selected && ctx.focused {
            style_row(buf, inside, y + 1, ctx.theme()[Slot::Selected]);
        }
    }
}

/// What is said where there are no rows, and why.
fn instead(pane: &SystemPane, data: &Data) -> Option<String> {
    let loaded = &data.loaded;
    if let Some(reason) = &loaded.refused {
        return Some(reason.clone());
    }
    let of = match pane.view {
        View::Entries(id) => match &loaded.contents {
            Some((of, Ok(contents))) if *of == id => {
                return contents.entries.is_empty().then(|| "The map is empty.".to_owned());
            }
            Some((of, Err(reason))) if *of == id => return Some(reason.clone()),
            _ => "The map is being read …",
        },
        View::Code(id) => match &loaded.code {
            Some((of, Ok(_))) if *of == id => return None,
            Some((of, Err(reason))) if *of == id => return Some(reason.clone()),
            _ => "The program is being read …",
        },
        View::Programs | View::Maps if loaded.now.is_none() => "Programs and maps are being read …",
        View::Programs if count(pane, data) == 0 => "No BPF program is loaded.",
        View::Maps if count(pane, data) == 0 => "There is no BPF map.",
        View::Programs | View::Maps => return None,
    };
    Some(of.to_owned())
}

/// Instructions are coloured by what they are: lines of the source, others.
fn slot(view: View, column: usize, text: &str) -> Slot {
    match (view, column) {
        (View::Code(_), _) if text.starts_with(';') => Slot::Comment,
        (View::Programs | View::Maps, 2) => Slot::Probe,
        (View::Entries(_), 0) => Slot::Probe,
        (View::Programs | View::Maps, 1 | 7 | 8) => Slot::Dim,
        _ => Slot::Value,
    }
}

/// Columns that fit: which, where each begins, how wide it is.
fn places(columns: &[Column], room: usize) -> Vec<(usize, usize, usize)> {
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    let least = |c: &Column| if c.width == 0 { LEAST } else { c.width };
    let taken = |shown: &[usize]| shown.iter().map(|i| least(&columns[*i]) + 1).sum::<usize>();
    while taken(&shown) > room && shown.len() > 1 {
        let Some(last) = shown.iter().copied().max_by_key(|i| (columns[*i].rank, *i)) else { break };
        shown.retain(|i| *i != last);
    }
    let open = shown.iter().filter(|i| columns[**i].width == 0).count().max(1);
    let more = room.saturating_sub(taken(&shown)) / open;
    let mut start = 1;
    let mut out = Vec::new();
    for i in shown {
        let width = least(&columns[i]) + if columns[i].width == 0 { more } else { 0 };
        out.push((i, start, width));
        start += width + 1;
    }
    out
}

fn heading(pane: &SystemPane, ctx: &Context<'_>, buf: &mut Buffer, area: Rect, places: &[(usize, usize, usize)]) {
    let is_sorted = matches!(pane.view, View::Programs | View::Maps);
    let (sort, down) = (pane.sort[pane.order()], pane.descending[pane.order()]);
    for (column, start, width) in places {
        let Some(about) = columns(pane.view).get(*column) else { continue };
        let mark = if !is_sorted || *column != sort {
            ""
        } else if down {
            "↓"
        } else {
            "↑"
        };
        let text = format!("{mark}{}", about.title);
        let style = ctx.theme()[Slot::Heading];
        if about.is_number {
            put_end(buf, area, start + width, 0, &fit(&text, *width), style);
        } else {
            put(buf, area, *start, 0, &fit(&text, *width), style);
        }
    }
}

/// The first row in sight.
const fn first(pane: &SystemPane, height: usize) -> usize {
    (pane.selected + 1).saturating_sub(height)
}

/// What is at a place of the screen; `area` is the pane's frame.
pub fn spot_at(pane: &SystemPane, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
    let y = usize::from(at.y.checked_sub(area.y + 1)?);
    let x = usize::from(at.x.checked_sub(area.x + 1)?);
    let room = usize::from(area.width).saturating_sub(2);
    if y == 0 {
        let places = places(columns(pane.view), room.saturating_sub(1));
        let under = places.into_iter().find(|(_, start, width)| (*start..=start + width).contains(&x));
        return under.map(|(column, ..)| Pick::Heading { table: 0, column });
    }
    let row = first(pane, usize::from(area.height).saturating_sub(3)) + y - 1;
    (row < count(pane, ctx.data)).then_some(Pick::Row { table: 0, row })
}
