//! Where everything is on the screen, by its size and by what there is to show.

use ratatui::layout::Rect;

use super::state::{Pane, State};

/// Areas of one frame; an absent one is not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    /// The top bar.
    pub bar: Option<Rect>,
    /// The status line.
    pub status: Option<Rect>,
    /// The line of keys.
    pub footer: Option<Rect>,
    /// Each pane's frame, by [`Pane::ALL`].
    pub panes: [Option<Rect>; 4],
    /// Output panes share one place, so their titles stand in one frame as tabs.
    pub tabs: bool,
    /// All that is between the bars.
    pub body: Rect,
}

impl Layout {
    /// A pane's frame.
    #[must_use]
    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        self.panes[pane as usize]
    }
}

/// Least size on which anything can be shown.
pub const LEAST: (u16, u16) = (12, 3);

/// The areas for this state.
#[must_use]
pub fn of(state: &State) -> Layout {
    let (width, height) = state.size;
    let mut out = Layout { body: Rect::new(0, 0, width, height), ..Layout::default() };
    if width < LEAST.0 || height < LEAST.1 {
        return out;
    }
    let mut body = out.body;
    if height >= 12 {
        out.bar = Some(Rect { height: 1, ..body });
        body.y += 1;
        body.height -= 1;
    }
    if height >= 6 {
        body.height -= 1;
        out.footer = Some(Rect { y: body.bottom(), height: 1, ..body });
    }
    if height >= 5 {
        body.height -= 1;
        out.status = Some(Rect { y: body.bottom(), height: 1, ..body });
    }
    out.body = body;
    if state.zoom || body.height < 9 || body.width < 30 {
        out.panes[state.focus as usize] = Some(body);
        out.tabs = state.focus != Pane::Editor;
    } else if body.width >= 100 && body.height >= 16 {
        side_by_side(state, body, &mut out);
    } else {
        stacked(state, body, &mut out);
    }
    out
}

fn stacked(state: &State, body: Rect, out: &mut Layout) {
    let lines = u16::try_from(state.editor.lines().len() + 2).unwrap_or(u16::MAX);
    let problems = if state.editor.diagnostics().is_empty() { 0 } else { 3 };
    let most = body.height * 55 / 100;
    let top = (lines + problems).clamp(body.height * 45 / 100, most.max(4));
    out.panes[Pane::Editor as usize] = Some(Rect { height: top, ..body });
    out.panes[state.front as usize] = Some(Rect { y: body.y + top, height: body.height - top, ..body });
    out.tabs = true;
}

fn side_by_side(state: &State, body: Rect, out: &mut Layout) {
    let left = (body.width * 44 / 100).clamp(46, 92);
    out.panes[Pane::Editor as usize] = Some(Rect { width: left, ..body });
    let right = Rect { x: body.x + left, width: body.width - left, ..body };
    let shown = |pane: Pane, filled: bool| filled || state.focus == pane;
    let maps = shown(Pane::Maps, !state.maps.views.is_empty());
    let probes = shown(Pane::Probes, state.trace.stats.is_some());
    let events = shown(Pane::Events, state.events.held() > 0) || !(maps || state.trace.stats.is_some());
    let mut rest = right;
    if probes {
        let rows = state
            .trace
            .stats
            .as_ref()
            .map_or(1, |s| s.probes.len() + s.losses.len() + usize::from(!s.losses.is_empty()));
        let most = if maps || events { rest.height / 3 } else { rest.height };
        let height = u16::try_from(rows + 3).unwrap_or(u16::MAX).clamp(4, most.max(4));
        rest.height -= height;
        out.panes[Pane::Probes as usize] = Some(Rect { y: rest.bottom(), height, ..rest });
    }
    match (events, maps) {
        (true, true) => {
            let wanted = u16::try_from(crate::tui::panes::maps::draw::wanted(state) + 2).unwrap_or(u16::MAX);
            let height = wanted.clamp(5, (rest.height * 7 / 10).max(5));
            rest.height -= height;
            out.panes[Pane::Maps as usize] = Some(Rect { y: rest.bottom(), height, ..rest });
            out.panes[Pane::Events as usize] = Some(rest);
        }
        (false, true) => out.panes[Pane::Maps as usize] = Some(rest),
        (true, false) => out.panes[Pane::Events as usize] = Some(rest),
        (false, false) => {
            if let Some(probes) = &mut out.panes[Pane::Probes as usize] {
                *probes = right;
            }
        }
    }
}
