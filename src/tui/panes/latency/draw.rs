//! The pane's frame, its two lines of figures and views, and what is below them.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::figures::time;
use super::moment::Shown;
use super::{Context, LatencyPane, View, episodes, heat, lengths, meter, sources, table, task};
use crate::model::latency::{Mode, OwnCost};
use crate::tui::base::action::Pick;
use crate::tui::base::paint::{put, put_end};
use crate::tui::base::text::{fit, grouped, neutralise, width, wrap};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::data::latency::Phase;
use crate::tui::widgets::frame::pane_frame;

/// Rows above the view.
const ABOVE: u16 = 2;
/// The number by which the mouse's heading of views is told.
pub const VIEWS: usize = 9;

/// Paints the pane.
pub fn draw(pane: &LatencyPane, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let (inside, _) = pane_frame(ctx, buf, area);
    if inside.height <= ABOVE {
        return;
    }
    let below = Rect { y: inside.y + ABOVE, height: inside.height - ABOVE, ..inside };
    let shown = Shown::of(ctx.data);
    state_line(pane, ctx, shown.as_ref(), buf, inside);
    views(pane, ctx, shown.as_ref(), buf, inside);
    if pane.view == View::Task {
        return task::draw(pane, ctx, buf, below);
    }
    let Some(shown) = shown else { return nothing(ctx, buf, below) };
    match pane.view {
        View::Cpus => {
            table::draw(pane, ctx, &shown, buf, below);
            if shown.totals.cpus.is_empty() {
                nothing(ctx, buf, Rect { y: below.y + 1, height: below.height.saturating_sub(1), ..below });
            }
        }
        View::Heat | View::Lengths => heat::draw(pane, ctx, &shown, buf, below),
        View::Histograms => lengths::draw(pane, ctx, &shown, buf, below),
        View::Sources => sources::draw(pane, ctx, &shown, buf, below),
        View::Episodes => episodes::draw(pane, ctx, &shown, buf, below),
        View::Task => {}
    }
}

/// Why there is nothing to see.
fn nothing(ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let state = ctx.data;
    let (text, slot) = match &state.latency.meter.phase {
        Phase::Refused(reason) => (format!("Cannot measure: {reason}"), Slot::Error),
        _ if state.disabled.is_some() => {
            let reason = state.disabled.as_deref().unwrap_or_default();
            (format!("Cannot measure here: {reason}"), Slot::Warning)
        }
        Phase::Starting => ("The meter is being started".to_owned(), Slot::Dim),
        Phase::Running => ("Measuring: the first figures come in a moment".to_owned(), Slot::Dim),
        _ if state.replayed.is_some() => {
            ("Nothing was measured until this moment of the recording".to_owned(), Slot::Dim)
        }
        _ => ("Nothing is measured: v measures the system as it is, o and i with threads".to_owned(), Slot::Dim),
    };
    let text = neutralise(&text).into_owned();
    for (y, line) in
        wrap(&text, usize::from(area.width).saturating_sub(2)).iter().take(usize::from(area.height)).enumerate()
    {
        put(buf, area, 1, y, line, ctx.theme()[slot]);
    }
}

/// What measures, with what load, and what bears on the figures.
fn state_line(pane: &LatencyPane, ctx: &Context<'_>, shown: Option<&Shown<'_>>, buf: &mut Buffer, area: Rect) {
    let (state, theme) = (ctx.data, ctx.theme());
    let wide = usize::from(area.width);
    let Some(shown) = shown else {
        put(buf, area, 1, 0, &fit("no measurement", wide), theme[Slot::Faint]);
        return;
    };
    let live = meter::is_live(state, shown);
    let (sign, slot) = if live { ("●", Slot::Good) } else { ("■", Slot::Faint) };
    let x = put(buf, area, 1, 0, sign, theme[slot]) + 1;
    let x = put(buf, area, x, 0, shown.mode().name(), theme[Slot::Probe]) + 1;
    let mut x = put(buf, area, x, 0, &fit(&how(shown), wide.saturating_sub(x)), theme[Slot::Dim]) + 2;
    let mut badges = badges(state, shown, live);
    let over = thresholds(pane, state, Some(shown));
    if !has_room(pane, &over, wide) {
        let warnings = badges.iter().take_while(|(_, slot)| *slot == Slot::Warning).count();
        badges.insert(warnings, (over, Slot::Dim));
    }
    for (text, slot) in badges {
        if x + width(&text) + 1 > wide {
            break;
        }
        x = put(buf, area, x, 0, &text, theme[slot]) + 2;
    }
}

/// The load in a few words.
fn how(shown: &Shown<'_>) -> String {
    let Some(meter) = shown.meter else { return String::new() };
    let cpus = format!("{} CPU{}", meter.cpus.len(), if meter.cpus.len() == 1 { "" } else { "s" });
    match meter.mode {
        Mode::Passive => format!("{} {cpus}", meter.backend),
        Mode::Osnoise => {
            let percent = meter.runtime_ns * 100 / meter.period_ns.max(1);
            format!("{} {cpus} {percent} % {}", meter.backend, meter.policy)
        }
        Mode::Timerlat => format!("{} {cpus} {} {}", meter.backend, time(meter.period_ns), meter.policy),
    }
}

/// What whoever reads the figures should see beside them, the most important first.
fn badges(data: &Data, shown: &Shown<'_>, live: bool) -> Vec<(String, Slot)> {
    let mut out = Vec::new();
    if !live && data.latency.meter.is_on() && shown.info.id != data.latency.meter.trace {
        out.push((format!("{} is being started", data.latency.meter.mode.name()), Slot::Warning));
    }
    if !live && data.latency.meter.phase == Phase::Ended && data.replayed.is_none() {
        out.push(("stopped: v, o or i measure again".to_owned(), Slot::Warning));
    }
    let about = shown.meter.into_iter().flat_map(|meter| &meter.badges);
    out.extend(about.filter(|b| b.short != "limits").map(|b| (neutralise(&b.short).into_owned(), Slot::Warning)));
    let (stolen, measured) =
        shown.totals.cpus.values().fold((0, 0), |(s, m), cpu| (s + cpu.steal_ns, m + cpu.measured_ns));
    if stolen > 0 {
        out.push((format!("steal {:.1} %", stolen as f64 * 100.0 / measured.max(1) as f64), Slot::Warning));
    }
    let OwnCost { misses, run_time_ns, .. } = shown.totals.cost;
    if let Some(mean) = shown.totals.cost.mean_ns() {
        let percent = run_time_ns as f64 * 100.0 / measured.max(1) as f64;
        out.push((format!("own cost {percent:.2} %, {mean} ns a run"), Slot::Dim));
    }
    if misses > 0 {
        out.push((format!("{} missed", grouped(misses)), Slot::Error));
    }
    out.push(("h: what bears on this".to_owned(), Slot::Faint));
    out
}

/// The views' names, each with its column; the thresholds at the right.
fn views(pane: &LatencyPane, ctx: &Context<'_>, shown: Option<&Shown<'_>>, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let wide = usize::from(area.width);
    let text = thresholds(pane, ctx.data, shown);
    for (x, view, label) in places(pane.view, wide, &text) {
        let slot = if view == pane.view { Slot::TitleFocus } else { Slot::Faint };
        put(buf, area, x, 1, &label, theme[slot]);
    }
    if has_room(pane, &text, wide) {
        put_end(buf, area, wide - 1, 1, &text, theme[Slot::Dim]);
    }
}

/// From which latency on an episode is kept.
fn thresholds(pane: &LatencyPane, data: &Data, shown: Option<&Shown<'_>>) -> String {
    let mode = shown.map_or(Mode::Passive, Shown::mode);
    let is_own = shown.is_some_and(|shown| shown.info.id == data.latency.meter.trace);
    let mut thresholds = if is_own {
        data.latency.meter.thresholds
    } else {
        shown.and_then(|s| s.meter).map_or_else(Default::default, |meter| meter.thresholds)
    };
    let all = meter::thresholds(mode);
    let named = all.iter().enumerate().map(|(n, (name, place))| {
        let ns = *place(&mut thresholds);
        let value = if ns == 0 { "off".to_owned() } else { time(ns) };
        let mark = if n == pane.threshold % all.len() && all.len() > 1 { "›" } else { "" };
        format!("{mark}{name} {value}")
    });
    format!("over {}", named.collect::<Vec<_>>().join(", "))
}

/// Whether the thresholds stand beside the views' names.
fn has_room(pane: &LatencyPane, thresholds: &str, wide: usize) -> bool {
    let end = places(pane.view, wide, thresholds).last().map_or(0, |(x, _, label)| x + width(label));
    end + width(thresholds) + 3 <= wide
}

/// Where the names of the views are: all of them where there is room, else the chosen one's where the thresholds stand
/// beside it, too, else numbers.
fn places(chosen: View, room: usize, thresholds: &str) -> Vec<(usize, View, String)> {
    let numbered = |is_named: &dyn Fn(View) -> bool| -> Vec<(View, String)> {
        let label = |(n, view): (usize, View)| {
            let text = if is_named(view) { format!("{} {}", n + 1, view.title()) } else { (n + 1).to_string() };
            (view, text)
        };
        View::ALL.into_iter().enumerate().map(label).collect()
    };
    let placed = |labels: Vec<(View, String)>, gap: usize| {
        let mut next = 1;
        let place = |(view, text): (View, String)| {
            let x = next;
            next += width(&text) + gap;
            (x, view, text)
        };
        labels.into_iter().map(place).collect::<Vec<_>>()
    };
    let all = placed(numbered(&|_| true), 2);
    let close = placed(numbered(&|_| true), 1);
    let one = placed(numbered(&|view| view == chosen), 2);
    let end = |places: &[(usize, View, String)]| places.last().map_or(0, |(x, _, text)| x + width(text));
    let beside = width(thresholds) + 3;
    [(all, 1), (close, 1), (one, beside)]
        .into_iter()
        .find(|(places, beside)| end(places) + beside <= room)
        .map_or_else(|| placed(numbered(&|_| false), 2), |(places, _)| places)
}

/// What is at a place of the screen; `area` is the pane's frame.
pub fn spot_at(pane: &LatencyPane, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
    let (x, y) = (usize::from(at.x.checked_sub(area.x + 1)?), usize::from(at.y.checked_sub(area.y + 1)?));
    if y == 1 {
        let over = thresholds(pane, ctx.data, Shown::of(ctx.data).as_ref());
        let places = places(pane.view, usize::from(area.width).saturating_sub(2), &over);
        let found = places.iter().position(|(from, _, label)| (*from..from + width(label)).contains(&x));
        return found.map(|column| Pick::Heading { table: VIEWS, column });
    }
    let shown = Shown::of(ctx.data)?;
    let line = y.checked_sub(usize::from(ABOVE))?;
    let height = usize::from(area.height).saturating_sub(2 + usize::from(ABOVE));
    match pane.view {
        View::Cpus => table::row_at(pane, &shown, height, line).map(|row| Pick::Row { table: 0, row }),
        View::Heat | View::Lengths => {
            let entry = heat::entry_at(pane, ctx.data, area, at.x)?;
            let row = if pane.view == View::Heat { heat::row_at(pane, &shown, height, line) } else { None };
            Some(Pick::Moment { entry, row })
        }
        View::Episodes if pane.shown.is_none() => {
            let rows = height.saturating_sub(1).max(1);
            let many = episodes::worst(&shown).len();
            let first = (pane.episode.min(many.saturating_sub(1)) + 1).saturating_sub(rows);
            let row = first + line.checked_sub(1)?;
            (row < many).then_some(Pick::Row { table: 0, row })
        }
        View::Sources => {
            let rows = height.saturating_sub(2).max(1);
            let many = sources::count(pane, &shown);
            let first = (pane.source.min(many.saturating_sub(1)) + 1).saturating_sub(rows);
            let row = first + line.checked_sub(2)?;
            (row < many).then_some(Pick::Row { table: 0, row })
        }
        _ => None,
    }
}
