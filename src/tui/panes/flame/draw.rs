//! Paints the flame graph.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::FlamePane;
use super::place::{Cell, in_sight, row};
use crate::model::flame::{Compare, FlameTree, FrameKind, NodeId, ROOT};
use crate::tui::base::paint::{note, put, put_end};
use crate::tui::base::text::{fit, grouped, neutralise, width};
use crate::tui::base::theme::{Slot, Theme};
use crate::tui::pane::Context;
use crate::tui::widgets::frame::pane_frame;

/// Change of share at which the colour is full.
const FULL_CHANGE: f64 = 0.1;

/// Where the frames are, in a pane's frame: below its heading, above what is told of the chosen one.
#[must_use]
pub fn body(area: Rect) -> Rect {
    let inside = Rect {
        x: area.x + 1.min(area.width),
        y: area.y + 1.min(area.height),
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(2),
    };
    let (head, foot) = edges(inside.height);
    Rect { y: inside.y + head, height: inside.height - head - foot, ..inside }
}

/// Rows above and below the frames.
const fn edges(height: u16) -> (u16, u16) {
    match height {
        0..3 => (0, 0),
        3..6 => (0, 1),
        _ => (1, 1),
    }
}

/// Paints the pane.
pub fn draw(pane: &FlamePane, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let (inside, taken) = pane_frame(ctx, buf, area);
    let theme = ctx.theme();
    let Some(tree) = pane.feed.tree() else { return empty(ctx, buf, inside) };
    let (head, foot) = edges(inside.height);
    if head > 0 {
        heading(pane, tree, ctx, buf, inside);
    }
    if pane.feed.is_busy() {
        note(buf, area, &format!("{:.0} % read", pane.feed.progress().min(1.0) * 100.0), theme[Slot::Faint], taken);
    }
    let body = body(area);
    if tree.is_empty() {
        let words = match pane.feed.compare() {
            Compare::Growth => "No stack since the baseline.",
            _ if pane.feed.shape.only.is_some() => "No stack has that frame; a shows all again.",
            _ => "No stacks yet.",
        };
        put(buf, body, 1, 0, words, theme[Slot::Dim]);
        return;
    }
    for cell in in_sight(pane, body) {
        frame(pane, tree, ctx, buf, body, &cell);
    }
    if foot > 0 {
        told(pane, tree, ctx, buf, Rect { y: inside.bottom() - 1, height: 1, ..inside });
    }
}

fn empty(ctx: &Context<'_>, buf: &mut Buffer, inside: Rect) {
    let theme = ctx.theme();
    let lines = [
        "Stacks of a map show here as soon as there is one:",
        "profile:hz:99 { @[comm, ustack, kstack] = count(); }",
        "Ctrl-K, then \"flame\": profile, off-CPU and waker graphs",
    ];
    for (y, line) in lines.iter().enumerate() {
        let slot = if y == 1 { Slot::Probe } else { Slot::Dim };
        put(buf, inside, 1, y, &fit(line, usize::from(inside.width).saturating_sub(1)), theme[slot]);
    }
}

/// The map, the sum of its values, and what differs from the plain view.
fn heading(pane: &FlamePane, tree: &FlameTree, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let shape = &pane.feed.shape;
    let x = put(buf, area, 1, 0, pane.feed.map.as_deref().unwrap_or("@"), theme[Slot::Map]) + 1;
    let mut x = put(buf, area, x, 0, &grouped(tree.total(ROOT)), theme[Slot::Value]);
    // What is typed comes first: it stays in sight in a narrow pane.
    let mut words = searched(pane, tree, ctx);
    if let Some(base) = &pane.feed.baseline {
        let seconds = pane
            .feed
            .reading()
            .zip(pane.feed.map.as_deref())
            .and_then(|(now, map)| Some(now.map(map)?.at_ns.checked_sub(base.map(map)?.at_ns)? as f64 / 1e9));
        let since = match (pane.feed.compare(), seconds) {
            (Compare::Growth, Some(seconds)) => format!("since the baseline, {seconds:.0} s"),
            _ => "beside the baseline".to_owned(),
        };
        words.push((since, Slot::Info));
    }
    if shape.inverted {
        words.push(("callers".to_owned(), Slot::Info));
    }
    if let Some(only) = &shape.only {
        words.push((format!("only {}", fit(&neutralise(only), 24)), Slot::Warning));
    }
    if tree.cut() > 0 {
        words.push((format!("{} stacks cut: too many frames", grouped(tree.cut())), Slot::Warning));
    }
    if !shape.hidden.is_empty() {
        words.push((format!("{} left out", shape.hidden.len()), Slot::Warning));
    }
    for (text, slot) in words {
        x = put(buf, area, x, 0, "  ", theme[Slot::Faint]);
        let room = usize::from(area.width).saturating_sub(x);
        x = put(buf, area, x, 0, &fit(&text, room), theme[slot]);
    }
}

/// What is looked for, and how much has it.
fn searched(pane: &FlamePane, tree: &FlameTree, ctx: &Context<'_>) -> Vec<(String, Slot)> {
    let mut words = Vec::new();
    if ctx.filter().is_some() && ctx.focused {
        words.push((format!("search {}▏", neutralise(pane.search.text())), Slot::Key));
    } else if !pane.search.text().is_empty() {
        words.push((format!("search {}", neutralise(pane.search.text())), Slot::Key));
    }
    if let Some(error) = &pane.search.error {
        words.push((error.clone(), Slot::Error));
    } else if pane.search.is_on() {
        words.push((format!("in {} of it", percent(pane.search.found, tree.total(ROOT))), Slot::Matched));
    }
    words
}

fn percent(part: u64, all: u64) -> String {
    format!("{:.1} %", if all == 0 { 0.0 } else { part as f64 / all as f64 * 100.0 })
}

/// What is known of the chosen frame.
fn told(pane: &FlamePane, tree: &FlameTree, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let node = pane.selected;
    let all = tree.total(ROOT);
    let mut figures = format!("{} · {}", grouped(tree.total(node)), percent(tree.total(node), all));
    if tree.own(node) > 0 {
        figures += &format!(" · itself {}", percent(tree.own(node), all));
    }
    if pane.zoom != ROOT && node != pane.zoom {
        figures += &format!(" · {} of the zoom", percent(tree.total(node), tree.total(pane.zoom)));
    }
    if pane.feed.compare() != Compare::Nothing {
        figures += &format!(" · {:+.1} points", tree.change(node) * 100.0);
    }
    let end = usize::from(area.width).saturating_sub(1);
    let start = if width(&figures) + 12 < end { put_end(buf, area, end, 0, &figures, theme[Slot::Value]) } else { end };
    let name = tree.name_of(node);
    let object = name.object.as_ref().map(|o| format!(" {}", neutralise(o.rsplit('/').next().unwrap_or(o))));
    let room = start.saturating_sub(2);
    let shown: String = neutralise(&name.text).chars().take(room + 1).collect();
    let x = put(buf, area, 1, 0, &fit(&shown, room), theme[Slot::Function]);
    if let Some(object) = object.filter(|o| x + width(o) < start) {
        put(buf, area, x, 0, &object, theme[Slot::Faint]);
    }
}

fn frame(pane: &FlamePane, tree: &FlameTree, ctx: &Context<'_>, buf: &mut Buffer, body: Rect, cell: &Cell) {
    let theme = ctx.theme();
    let at = Rect { x: body.x + cell.x, y: row(pane, body, cell.depth), width: cell.width, height: 1 };
    if !body.contains(at.as_position()) {
        return;
    }
    let look = if cell.node == pane.selected && ctx.focused {
        theme[Slot::Cursor].add_modifier(Modifier::BOLD)
    } else {
        let above = cell.node != pane.zoom && tree.depth(cell.node) <= tree.depth(pane.zoom);
        let look = look(pane, tree, theme, cell.node);
        if above { look.add_modifier(Modifier::DIM) } else { look }
    };
    let columns = usize::from(cell.width);
    let text = &tree.name_of(cell.node).text;
    // Names may be long; only what can be seen is looked at.
    let shown: String = neutralise(text).chars().take(columns + 1).collect();
    let shown = if columns > 3 { format!(" {}", fit(&shown, columns - 1)) } else { " ".repeat(columns) };
    put(buf, at, 0, 0, &shown, look);
    buf.set_style(at.intersection(buf.area), look);
    if columns < 3 || look.bg.is_none() {
        // Without grounds of their own frames are parted by a line.
        put(buf, at, 0, 0, "▏", look);
    }
}

/// How a frame looks: by its kind, or by its change; neighbours differ a little.
fn look(pane: &FlamePane, tree: &FlameTree, theme: &Theme, node: NodeId) -> Style {
    let name = tree.name_of(node);
    if pane.search.is_on() {
        if pane.search.is_found(tree, node) {
            return theme[Slot::FlameMatch];
        }
    } else if pane.feed.compare() != Compare::Nothing && tree.base(ROOT) > 0 {
        let change = tree.change(node) / FULL_CHANGE;
        let slot = if change > 0.0 { Slot::FlameGrown } else { Slot::FlameShrunk };
        return theme.between(Slot::FlameKey, slot, change.abs());
    }
    let slot = match name.kind {
        FrameKind::Key => Slot::FlameKey,
        FrameKind::Kernel => Slot::FlameKernel,
        FrameKind::User => Slot::FlameUser,
        FrameKind::Inlined => Slot::FlameInlined,
    };
    let tint = name.text.bytes().take(64).fold(7_u32, |h, b| h.wrapping_mul(31).wrapping_add(u32::from(b)));
    theme.tinted(slot, (tint % 5) as i16 - 2)
}
