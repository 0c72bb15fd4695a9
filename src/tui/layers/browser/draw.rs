//! The probe browser: results at the left, the selected probe at the right.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::base::paint::{centred, clear, frame, highlighted, note, put, put_end, style_row};
use crate::tui::base::text::{fit, grouped, neutralise, short_count, width, wrap};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::data::effect::{Detail, Hit};
use crate::tui::layers::browser::heat::others;
use crate::tui::layers::browser::state::Browser;
use crate::tui::widgets::frame::input_line;

/// Least width that shows results and details side by side.
const SIDE_BY_SIDE: u16 = 76;

/// Programs of others that are named.
const MOST_OTHERS: usize = 3;

/// Where the overlay, the results and the details are; those that find no room are absent.
struct Places {
    frame: Rect,
    list: Option<Rect>,
    details: Option<Rect>,
}

fn layout(body: Rect) -> Places {
    let frame = centred(body, body.width.saturating_sub(4).clamp(10, 150), body.height.saturating_sub(2).max(4));
    let below = Rect {
        x: frame.x + 1,
        y: frame.y + 3,
        width: frame.width.saturating_sub(2),
        height: frame.height.saturating_sub(4),
    };
    if frame.height < 5 {
        return Places { frame, list: None, details: None };
    }
    let (list, details) = if below.width >= SIDE_BY_SIDE {
        let left = (u32::from(below.width) * 55 / 100) as u16;
        let details = Rect { x: below.x + left + 1, width: below.width - left - 1, ..below };
        (Rect { width: left, ..below }, Some(details))
    } else if below.height >= 9 {
        let top = below.height / 2;
        let details = Rect { y: below.y + top + 1, height: below.height - top - 1, ..below };
        (Rect { height: top, ..below }, Some(details))
    } else {
        (below, None)
    };
    Places { frame, list: Some(list), details }
}

/// What the mouse points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// A result, by its index.
    Result(usize),
    /// The details.
    Details,
    /// Anything else of the overlay.
    Elsewhere,
}

/// What is at a place of the screen; absent outside of the overlay.
#[must_use]
pub fn spot_at(browser: &Browser, body: Rect, (column, row): (u16, u16)) -> Option<Spot> {
    let at = ratatui::layout::Position::new(column, row);
    let places = layout(body);
    if !places.frame.contains(at) {
        return None;
    }
    if places.details.is_some_and(|d| d.contains(at)) {
        return Some(Spot::Details);
    }
    let Some(list) = places.list.filter(|l| l.contains(at)) else { return Some(Spot::Elsewhere) };
    let rows = usize::from(list.height) - missing(browser, list).len();
    let line = usize::from(row - list.y);
    let index = (browser.selected + 1).saturating_sub(rows) + line;
    let on = line < rows && index < browser.found.hits.len();
    Some(if on { Spot::Result(index) } else { Spot::Elsewhere })
}

/// Paints the overlay.
pub fn draw(data: &Data, browser: &Browser, buf: &mut Buffer, body: Rect) {
    let theme = &data.theme;
    let places = layout(body);
    clear(buf, places.frame, theme[Slot::Overlay]);
    let title = data.scope.as_ref().map_or_else(
        || "Probes".to_owned(),
        |scope| format!("Probes, only in {}", fit(&neutralise(&scope.name()), usize::from(places.frame.width) / 3)),
    );
    let inside = frame(buf, places.frame, theme, true, &title);
    note(buf, places.frame, &counts(browser), theme[Slot::Faint], width(&title) + 6);
    input_line(theme, &browser.input, "/", buf, inside, 0);
    let Some(list) = places.list else { return };
    put(buf, inside, 0, 1, &"─".repeat(usize::from(inside.width)), theme[Slot::Border]);
    results(data, browser, buf, list);
    let Some(details) = places.details else { return };
    if details.y == list.y {
        let left = usize::from(list.width);
        for y in 0..usize::from(list.height) {
            put(buf, inside, left, y + 2, "│", theme[Slot::Border]);
        }
        put(buf, inside, left, 1, "┬", theme[Slot::Border]);
    } else {
        let y = usize::from(list.height) + 2;
        put(buf, inside, 0, y, &"─".repeat(usize::from(inside.width)), theme[Slot::Border]);
    }
    detail(data, browser, buf, details);
}

fn counts(browser: &Browser) -> String {
    let found = &browser.found;
    if browser.accept_next && browser.is_stale() {
        return "searching…".to_owned();
    }
    let growing = if found.complete { "" } else { ", still reading" };
    let (usable, matched, total) =
        (grouped(found.usable as u64), grouped(found.matched as u64), grouped(found.total as u64));
    if found.matched == found.total {
        return format!("{usable} of {total} can attach here{growing}");
    }
    format!("{usable} of {matched} found can attach here, {total} in all{growing}")
}

fn results(data: &Data, browser: &Browser, buf: &mut Buffer, area: Rect) {
    let theme = &data.theme;
    let hits = &browser.found.hits;
    let rows = usize::from(area.height);
    if hits.is_empty() {
        let (text, slot) = if browser.found.generation == browser.awaited && browser.found.complete {
            ("No probe has these letters.", Slot::Dim)
        } else {
            ("Searching…", Slot::Faint)
        };
        put(buf, area, 1, 0, text, theme[slot]);
        let room = usize::from(area.width).saturating_sub(3);
        let reasons = browser.found.absent.iter().flat_map(|r| wrap(&neutralise(r), room));
        for (y, line) in reasons.take(rows.saturating_sub(2)).enumerate() {
            put(buf, area, 1, y + 2, &line, theme[Slot::Disabled]);
        }
        return;
    }
    let missing = missing(browser, area);
    let rows = rows - missing.len();
    for (y, line) in missing.iter().enumerate() {
        put(buf, area, 1, rows + y, line, theme[Slot::Disabled]);
    }
    let first = (browser.selected + 1).saturating_sub(rows);
    for (y, (i, hit)) in hits.iter().enumerate().skip(first).take(rows).enumerate() {
        if i == browser.selected {
            style_row(buf, area, y, theme[Slot::Selected]);
            put(buf, area, 0, y, "›", theme[Slot::Key]);
        }
        let used = data.used.get(&hit.name);
        let mark = match used {
            _ if browser.marked.iter().any(|d| d.name == hit.name) => "✓",
            Some(used) if used.is_favourite => "★",
            Some(_) => "·",
            None => "",
        };
        put(buf, area, 1, y, mark, theme[Slot::Key]);
        result(data, hit, buf, area, y);
        hits_of(data, hit, buf, area, y);
    }
}

/// How often it fired in the second in which that was counted.
fn hits_of(data: &Data, hit: &Hit, buf: &mut Buffer, area: Rect, y: usize) {
    let Some(hits) = data.loaded.hits.get(&hit.name) else { return };
    let text = format!(" {}/s", short_count(*hits as f64));
    let slot = if *hits == 0 { Slot::Dim } else { Slot::Value };
    put_end(buf, area, usize::from(area.width).saturating_sub(1), y, &text, data.theme[slot]);
}

/// What is missing from the list altogether stands below it, in its own words and whole: kinds
/// without a single probe.
fn missing(browser: &Browser, area: Rect) -> Vec<String> {
    let (rows, room) = (usize::from(area.height), usize::from(area.width).saturating_sub(3));
    let mut out = Vec::new();
    if !browser.found.complete {
        return out;
    }
    for reason in &browser.found.absent {
        let lines = wrap(&neutralise(reason), room);
        if (out.len() + lines.len()) * 3 > rows {
            break;
        }
        out.extend(lines);
    }
    out
}

/// One result: kind dimmed, name plain, matched letters bright; cut so that the end stays.
fn result(data: &Data, hit: &Hit, buf: &mut Buffer, area: Rect, y: usize) {
    let theme = &data.theme;
    let name = neutralise(&hit.name);
    let room = usize::from(area.width).saturating_sub(3);
    let length = name.chars().count();
    let cut = if width(&name) > room { length - room.min(length) + 1 } else { 0 };
    let kind = name.find(':').map_or(0, |at| name[..at].chars().count());
    let mut x = 2;
    if cut > 0 {
        x = put(buf, area, x, y, "…", theme[Slot::Faint]);
    }
    for (i, c) in name.chars().enumerate().skip(cut) {
        let plain = if hit.leads {
            theme[Slot::Type]
        } else if hit.absent.is_some() {
            theme[Slot::Disabled]
        } else if i <= kind {
            theme[Slot::Dim]
        } else {
            theme[Slot::Probe]
        };
        let matched = hit.matched.binary_search(&(i as u32)).is_ok();
        x = highlighted(buf, area, x, y, c.encode_utf8(&mut [0; 4]), |_| matched, plain, theme[Slot::Matched]);
    }
}

fn detail(data: &Data, browser: &Browser, buf: &mut Buffer, area: Rect) {
    let theme = &data.theme;
    let Some(hit) = browser.hit() else { return };
    let room = usize::from(area.width).saturating_sub(2);
    let mut y = 0;
    for line in wrap(&neutralise(&hit.name), room) {
        put(buf, area, 1, y, &line, theme[Slot::TitleFocus]);
        y += 1;
    }
    let known = browser.detail();
    let reason = hit.absent.as_deref().or_else(|| known.and_then(|d| d.absent.as_deref()));
    if let Some(reason) = reason {
        for line in wrap(&neutralise(reason), room) {
            put(buf, area, 1, y, &line, theme[Slot::Warning]);
            y += 1;
        }
    }
    let others = data.loaded.now.as_ref().map_or_else(Vec::new, |now| others(now, &hit.name));
    for other in others.iter().take(MOST_OTHERS) {
        let text = neutralise(other);
        put(buf, area, 1, y, &fit(&format!("also traced by {text}"), room), theme[Slot::Warning]);
        y += 1;
    }
    if hit.leads {
        put(buf, area, 1, y, "Enter lists its probes", theme[Slot::Faint]);
        y += 1;
    }
    if let Some(known) = known {
        let y = described(data, browser, known, buf, area, y);
        // What can't be attached is not inserted either.
        if reason.is_none() {
            clause(data, known, buf, area, y + 1);
        }
    }
}

/// What a probe is and its fields; returns the row after them.
fn described(data: &Data, browser: &Browser, known: &Detail, buf: &mut Buffer, area: Rect, from: usize) -> usize {
    let theme = &data.theme;
    let room = usize::from(area.width).saturating_sub(2);
    let mut y = from;
    for line in wrap(&neutralise(&known.about), room).iter().filter(|l| !l.is_empty()) {
        put(buf, area, 1, y, line, theme[Slot::Dim]);
        y += 1;
    }
    y += 1;
    let widest = known.fields.iter().map(|f| width(&f.name)).max().unwrap_or(0).min(room * 6 / 10);
    for field in known.fields.iter().skip(browser.detail_top) {
        put(buf, area, 1, y, &fit(&neutralise(&field.name), widest), theme[Slot::Field]);
        let left = room.saturating_sub(widest + 2);
        put(buf, area, widest + 3, y, &fit(&neutralise(&field.ty), left), theme[Slot::Type]);
        y += 1;
    }
    if let Some(result) = &known.result {
        put(buf, area, 1, y, &fit("retval", widest), theme[Slot::Field]);
        put(buf, area, widest.max(6) + 3, y, &neutralise(result), theme[Slot::Type]);
        y += 1;
    }
    y
}

/// The clause that Enter inserts, in the script's colours.
fn clause(data: &Data, known: &Detail, buf: &mut Buffer, area: Rect, from: usize) {
    let theme = &data.theme;
    let lines = crate::tui::base::syntax::parts(known.skeleton.trim_end_matches('\n'));
    if from + lines.len() >= usize::from(area.height) || known.skeleton.is_empty() {
        return;
    }
    put(buf, area, 1, from, "Enter inserts", theme[Slot::Faint]);
    for (i, (line, parts)) in lines.into_iter().enumerate() {
        let y = from + 1 + i;
        put(buf, area, 1, y, line, theme[Slot::Overlay]);
        for (range, slot) in parts {
            let style = ratatui::style::Style { bg: None, ..theme[slot] };
            put(buf, area, 1 + width(&line[..range.start]), y, &line[range], style);
        }
        let room = usize::from(area.width);
        if 1 + width(line) > room {
            put(buf, area, room.saturating_sub(1), y, "…", theme[Slot::Faint]);
        }
    }
}
