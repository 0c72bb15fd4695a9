//! The top bar, the status line and the line of keys.

use super::timeline;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::lang::diagnostic::Severity;
use crate::tui::base::arrange::Placed;
use crate::tui::base::key::{Binding, name};
use crate::tui::base::kind::EVENTS;
use crate::tui::base::paint::{clear, pieces, put, put_end};
use crate::tui::base::text::{fit, fit_end, grouped, neutralise, short_count, short_ns, width};
use crate::tui::base::theme::Slot;
use crate::tui::base::tree::PaneId;
use crate::tui::data::document::line_of;
use crate::tui::data::latency::Phase as Meter;
use crate::tui::data::trace::{Phase, Trace};
use crate::tui::desk::state::State;
use crate::tui::desk::{keys, layout};
use crate::tui::widgets::frame::tab_places;

/// Name, file, phase.
pub fn top(state: &State, buf: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    let bar = theme[Slot::Bar];
    clear(buf, area, bar);
    let x = put(buf, area, 0, 0, " probescope ", theme[Slot::Brand]);
    let (pill, slot) = phase(state);
    let end = usize::from(area.width);
    let start = put_end(buf, area, end, 0, &format!(" {pill} "), theme[slot]);
    let mark = if state.document.is_unsaved() { "● unsaved" } else { "" };
    let room = start.saturating_sub(x + 3 + width(mark));
    let x = put(buf, area, x + 1, 0, &fit_end(&neutralise(&file_label(state)), room), theme[Slot::Figure]);
    let x = if mark.is_empty() { x } else { put(buf, area, x + 1, 0, mark, bar.patch(theme[Slot::Warning])) };
    if state.document.file.read_only.is_some() && x + 11 < start {
        put(buf, area, x + 1, 0, "read-only", bar.patch(theme[Slot::Info]));
    }
}

fn file_label(state: &State) -> String {
    let name = state.document.file.path.as_ref().map_or_else(|| state.name(), |p| p.display().to_string());
    let given = line_of(&state.document.given);
    let allowed = if state.document.given.unsafe_allowed { " unsafe" } else { "" };
    let space = if given.is_empty() { "" } else { " " };
    format!("{name}{space}{given}{allowed}")
}

fn phase(state: &State) -> (String, Slot) {
    let trace = &state.document.trace;
    match trace.phase {
        Phase::Recorded if state.moment.playing => (format!("▶ {}", state.moment.speed.words()), Slot::Running),
        Phase::Recorded if trace.paused => ("recording held".to_owned(), Slot::Paused),
        Phase::Recorded => ("recording".to_owned(), Slot::Stopped),
        _ if state.disabled.is_some() => ("cannot run here".to_owned(), Slot::Stopped),
        Phase::Idle | Phase::Ended if state.latency.meter.phase == Meter::Running => {
            (format!("● measuring {}", state.latency.meter.mode.name()), Slot::Running)
        }
        Phase::Idle => ("nothing runs".to_owned(), Slot::Stopped),
        Phase::Starting => ("starting…".to_owned(), Slot::Paused),
        Phase::Ended => ("■ ended".to_owned(), Slot::Stopped),
        Phase::Running if trace.paused => {
            let waiting = state.panes.of_kind(EVENTS).and_then(|id| state.panes.get(id));
            let waiting = waiting.map_or(0, |events| events.waiting(state));
            let more = if waiting > 0 { format!(" · {} waiting", grouped(waiting)) } else { String::new() };
            (format!("views paused{more}"), Slot::Paused)
        }
        Phase::Running if trace.stale => ("● last good trace".to_owned(), Slot::Paused),
        Phase::Running => {
            let others = state.parked.iter().filter(|d| d.trace.phase == Phase::Running).count();
            let more = if others > 0 { format!(" · {others} more") } else { String::new() };
            let recorded = if state.recording { " · recording" } else { "" };
            (format!("● running{more}{recorded}"), Slot::Running)
        }
    }
}

/// Figures of compiling, attaching, events, losses and cost.
pub fn status(state: &State, buf: &mut Buffer, area: Rect) {
    if timeline::is_shown(state) {
        return timeline::draw(state, buf, area);
    }
    let theme = &state.theme;
    let plain = theme[Slot::Status];
    clear(buf, area, plain);
    let figure = theme[Slot::Figure];
    let mut x = 1;
    if area.y == 0 || state.size.1 < 12 {
        let mark = if state.document.is_unsaved() { "●" } else { "" };
        x = put(buf, area, x, 0, &neutralise(&state.name()), figure);
        x = put(buf, area, x, 0, mark, plain.patch(theme[Slot::Warning])) + 2;
    }
    let room = usize::from(area.width).saturating_sub(x);
    let length = |all: &[Segment]| all.iter().flatten().map(|(t, _)| width(t)).sum::<usize>() + 3 * all.len();
    let said = |words| segments(state, plain, figure, words);
    let fitting = [Words::All, Words::Short].into_iter().map(said).find(|all| length(all) <= room);
    // What does not fit with the fewest words either is left out from the end.
    let shown = fitting.unwrap_or_else(|| said(Words::Few));
    for segment in shown {
        let needed: usize = segment.iter().map(|(t, _)| width(t)).sum();
        let gap = if x > 1 { 3 } else { 0 };
        if x + needed + gap > usize::from(area.width) {
            break;
        }
        if gap > 0 {
            put(buf, area, x, 0, " │ ", plain.patch(theme[Slot::Faint]));
        }
        let parts: Vec<(&str, Style)> = segment.iter().map(|(t, s)| (t.as_str(), *s)).collect();
        x = pieces(buf, area, x + gap, 0, &parts);
    }
}

/// The probe that slows the machine down, if there is one.
fn hot_probe(trace: &Trace, narrow: bool) -> Option<String> {
    let (index, rate) = trace.hottest()?;
    let name = neutralise(&trace.stats.as_ref()?.probes.get(index)?.name);
    let (often, percent) = (short_count(rate.per_second), rate.cpu_percent);
    Some(if narrow {
        format!("hot: {percent:.0} % of a CPU")
    } else {
        format!("hot: {name} fires {often}/s, {percent:.0} % of a CPU")
    })
}

type Segment = Vec<(String, Style)>;

/// How much the status line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Words {
    Few,
    Short,
    All,
}

impl Words {
    /// The words of a figure by how many there is room for.
    const fn of(self, all: &'static str, short: &'static str, few: &'static str) -> &'static str {
        match self {
            Self::All => all,
            Self::Short => short,
            Self::Few => few,
        }
    }
}

/// The most telling ones first: the last ones go when room is short.
fn segments(state: &State, plain: Style, figure: Style, words: Words) -> Vec<Segment> {
    let trace = &state.document.trace;
    let theme = &state.theme;
    let mut out = Vec::new();
    let (errors, warnings) = state.document.editor.problems();
    for (count, what, slot) in [(errors, "error", Slot::Error), (warnings, "warning", Slot::Warning)] {
        if count > 0 {
            let s = if count == 1 { "" } else { "s" };
            out.push(vec![(format!("{count} {what}{s}"), plain.patch(theme[slot]))]);
        }
    }
    if let Some(why) = trace.partial.as_ref().filter(|_| trace.phase != Phase::Starting) {
        let text = if words < Words::All { "partial".to_owned() } else { format!("partial: {}", neutralise(why)) };
        out.push(vec![(text, plain.patch(theme[Slot::Warning]))]);
    }
    if let Some(hot) = hot_probe(trace, words < Words::All).filter(|_| trace.phase == Phase::Running) {
        out.push(vec![(hot, plain.patch(theme[Slot::Warning]))]);
    }
    if matches!(trace.phase, Phase::Running | Phase::Ended | Phase::Recorded) {
        out.extend(traced(state, plain, figure, words));
    }
    if let Some(figures) = &trace.figures {
        out.push(vec![
            (words.of("compiled in ", "", "").into(), plain),
            (short_ns(figures.compile_ns as f64), figure),
            (", ".into(), plain),
            (figures.instructions.to_string(), figure),
            (words.of(" instructions", " insns", " insns").into(), plain),
        ]);
    }
    if out.is_empty() {
        let text = state.disabled.clone().map_or_else(
            || {
                let key = if state.document.editor.at_clause_start() { "/" } else { "F2" };
                format!("Press {key} to choose a probe, Ctrl-S to run the script")
            },
            |reason| format!("Cannot run here: {reason}"),
        );
        out.push(vec![(fit(&text, usize::from(state.size.0).saturating_sub(6)).into_owned(), plain)]);
    }
    out
}

/// What is attached, comes in, is lost and costs.
fn traced(state: &State, plain: Style, figure: Style, words: Words) -> Vec<Segment> {
    let (trace, theme) = (&state.document.trace, &state.theme);
    let s = if trace.attached == 1 { "" } else { "s" };
    let time = if words == Words::All { format!(" in {}", short_ns(trace.attach_ns as f64)) } else { String::new() };
    let mut out = vec![vec![
        (words.of("attached ", "attached ", "").into(), plain),
        (format!("{} probe{s}", grouped(trace.attached.into())), figure),
        (time, plain),
    ]];
    if trace.is_over() {
        let mut told = vec![
            (grouped(trace.delivered()), figure),
            (if trace.delivered() == 1 { " event".into() } else { " events".into() }, plain),
        ];
        if let Some(ns) = trace.duration_ns() {
            told.extend([(" in ".into(), plain), (short_ns(ns as f64), figure)]);
        }
        out.push(told);
    } else if let Some(rate) = trace.event_rate() {
        out.push(vec![(short_count(rate), figure), (words.of(" events/s", " events/s", "/s").into(), plain)]);
    }
    let count = |n: u64| if words == Words::Few { short_count(n as f64) } else { grouped(n) };
    let lost = trace.lost();
    let look = if lost > 0 { plain.patch(theme[Slot::Error]) } else { plain.patch(theme[Slot::Good]) };
    let mut losses = vec![("lost ".into(), plain), (count(lost), look)];
    let incomplete = trace.incomplete();
    if incomplete > 0 {
        let what = words.of(" incomplete", " incomplete", " partial");
        losses.push((format!(", {}{what}", count(incomplete)), plain.patch(theme[Slot::Warning])));
    }
    out.push(losses);
    out.extend(budget(state, plain, figure, words));
    if let (Some((ns, _)), Some(total), true) = (trace.cost(), trace.total_cost_ns(), trace.is_over()) {
        out.push(vec![
            (words.of("cost ", "", "").into(), plain),
            (format!("{ns:.0} ns"), figure),
            (words.of("/event, ", "/event, ", ", ").into(), plain),
            (short_ns(total as f64), figure),
            (words.of(" in all", " in all", "").into(), plain),
        ]);
    } else if let Some((ns, percent)) = trace.cost() {
        out.push(vec![
            (words.of("cost ", "", "").into(), plain),
            (format!("{ns:.0} ns"), figure),
            (words.of("/event, ", "/event, ", ", ").into(), plain),
            (format!("{percent:.2} %"), figure),
            (words.of(" of a CPU", " CPU", "").into(), plain),
        ]);
    }
    out
}

/// What probes may take, and the firings that were left out to keep it.
fn budget(state: &State, plain: Style, figure: Style, words: Words) -> Option<Segment> {
    let throttled = state.document.trace.throttled();
    let budget = state.document.budget.unwrap_or(state.budget).filter(|_| words == Words::All || throttled > 0)?;
    let mut out = vec![(words.of("budget ", "budget ", "≤").into(), plain), (budget.to_string(), figure)];
    if throttled > 0 {
        let warning = plain.patch(state.theme[Slot::Warning]);
        out.push((format!(", a sample: {} throttled", short_count(throttled as f64)), warning));
    }
    Some(out)
}

/// A passing message, or the keys that mean something now.
pub fn footer(state: &State, buf: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    let plain = theme[Slot::Footer];
    clear(buf, area, plain);
    if let Some(toast) = &state.toast {
        let (mark, slot) = match toast.severity {
            Severity::Error => ("✗", Slot::Error),
            Severity::Warning => ("▲", Slot::Warning),
            Severity::Info => ("›", Slot::Info),
        };
        let x = put(buf, area, 1, 0, mark, theme[slot]);
        put(
            buf,
            area,
            x + 1,
            0,
            &fit(&neutralise(&toast.text), usize::from(area.width).saturating_sub(4)),
            theme[slot],
        );
        return;
    }
    for (x, binding) in shown_keys(state, usize::from(area.width)) {
        let x = put(buf, area, x, 0, &name(binding.keys[0]), theme[Slot::Key]);
        put(buf, area, x + 1, 0, word(state, binding), plain);
    }
}

fn word(state: &State, binding: &Binding) -> &'static str {
    keys::short(state, binding)
}

/// The keys that fit on the line of keys, each with its column.
fn shown_keys(state: &State, columns: usize) -> Vec<(usize, &'static Binding)> {
    let mut x = 1;
    let mut out = Vec::new();
    for binding in keys::footer(state) {
        let needed = width(&name(binding.keys[0])) + 1 + width(word(state, binding));
        if x + needed > columns {
            break;
        }
        out.push((x, binding));
        x += needed + 2;
    }
    out
}

/// What is at a column of the line of keys.
#[must_use]
pub fn key_at(state: &State, column: usize, columns: usize) -> Option<&'static Binding> {
    let shown = shown_keys(state, columns);
    let (x, binding) = shown.into_iter().rev().find(|(x, _)| *x <= column)?;
    (column < x + width(&name(binding.keys[0])) + 1 + width(word(state, binding))).then_some(binding)
}

/// The pane whose title is at a column of the upper edge of a frame.
#[must_use]
pub fn tab_at(state: &State, placed: &Placed, column: u16) -> Option<PaneId> {
    let (at, columns) = (usize::from(column.checked_sub(placed.area.x)?), usize::from(placed.area.width));
    let places = tab_places(&layout::tabs(state, placed), placed.shown, columns);
    places.into_iter().find(|(x, _, label)| (*x..x + width(label)).contains(&at)).map(|(_, pane, _)| pane)
}
