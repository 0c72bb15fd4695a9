//! The frame of a pane, and a line of typed text.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::base::input::Input;
use crate::tui::base::paint::{frame, put};
use crate::tui::base::text::{fit, neutralise, short_count, width};
use crate::tui::base::theme::{Slot, Theme};
use crate::tui::base::tree::PaneId;
use crate::tui::pane::{Context, Tab};

/// Titles of the panes in a frame as tabs on its upper edge; returns the column after them.
fn tabs(ctx: &Context<'_>, buf: &mut Buffer, area: Rect) -> usize {
    let theme = ctx.theme();
    let mut end = 1;
    for (x, pane, label) in tab_places(ctx.tabs, ctx.pane, usize::from(area.width)) {
        let style = if pane == ctx.pane && ctx.focused {
            theme[Slot::TitleFocus]
        } else if pane == ctx.pane {
            theme[Slot::Heading]
        } else {
            theme[Slot::Faint]
        };
        end = put(buf, area, x, 0, &label, style);
    }
    end
}

/// The tabs that fit, each with its column and label; the shown one is among them.
#[must_use]
pub fn tab_places(tabs: &[Tab], shown: PaneId, columns: usize) -> Vec<(usize, PaneId, String)> {
    let label = |tab: &Tab| {
        let title = neutralise(&tab.title);
        let count =
            if tab.count > 0 && columns > 50 { format!(" {}", short_count(tab.count as f64)) } else { String::new() };
        (tab.pane, format!(" {title}{count} "))
    };
    let labels: Vec<(PaneId, String)> = tabs.iter().map(label).collect();
    let room = columns.saturating_sub(2);
    let length = |labels: &[(PaneId, String)]| labels.iter().map(|(_, l)| width(l)).sum::<usize>();
    let at = labels.iter().position(|(id, _)| *id == shown).unwrap_or(0);
    // What stands before the shown one gives way to it.
    let first = (0..at).find(|first| length(&labels[*first..=at]) <= room).unwrap_or(at);
    let mut x = 1;
    let mut out = Vec::new();
    for (id, label) in labels.into_iter().skip(first) {
        let next = x + width(&label);
        if next + 1 > columns && !out.is_empty() {
            break;
        }
        out.push((x, id, fit(&label, room).into_owned()));
        x = next;
    }
    out
}

/// The frame of a pane: its title, or the titles of all panes that share it as tabs. Returns the inside
/// and the column after the titles.
pub fn pane_frame(ctx: &Context<'_>, buf: &mut Buffer, area: Rect) -> (Rect, usize) {
    let tabbed = ctx.tabs.len() > 1;
    let title = ctx.tabs.first().filter(|_| !tabbed).map_or("", |tab| &tab.title);
    let title = neutralise(title);
    let inside = frame(buf, area, ctx.theme(), ctx.focused, &title);
    let taken = if tabbed { tabs(ctx, buf, area) } else { width(&title) + 3 };
    if let Some(part) = ctx.document.trace.of_part().filter(|_| ctx.counts && area.height > 2 && area.width > 20) {
        let room = usize::from(area.width).saturating_sub(6);
        let text = format!(" {} ", fit(&neutralise(&part), room));
        put(buf, area, 2, usize::from(area.height) - 1, &text, ctx.theme()[Slot::Warning]);
    }
    (inside, taken)
}

/// A line of typed text with its cursor.
pub fn input_line(theme: &Theme, input: &Input, prompt: &str, buf: &mut Buffer, area: Rect, y: usize) {
    let x = put(buf, area, 1, y, prompt, theme[Slot::Key]) + 1;
    let room = usize::from(area.width).saturating_sub(x + 1).max(1);
    let before = width(input.before());
    let skip = before.saturating_sub(room - 1);
    let shown = neutralise(input.text());
    let cut: String = shown.chars().skip(skip).collect();
    let plain = theme[Slot::Text];
    let look = ratatui::style::Style { bg: None, ..plain };
    put(buf, area, x, y, &cut, if input.is_proposal() { look.patch(theme[Slot::Marked]) } else { look });
    let under = input.text()[input.before().len()..].chars().next().unwrap_or(' ').to_string();
    put(buf, area, x + before - skip, y, &under, theme[Slot::Cursor]);
}
