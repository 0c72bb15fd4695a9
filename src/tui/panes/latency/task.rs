//! Where the time of chosen threads goes: its parts side by side, what kept them in words, and the worst waits.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::{Context, LatencyPane};
use crate::model::latency::{Episode, NoiseClass};
use crate::model::task::verdict::verdict;
use crate::model::task::{Part, TaskReport};
use crate::output::task;
use crate::tui::base::paint::put;
use crate::tui::base::text::{fit, neutralise, wrap};
use crate::tui::base::theme::{Slot, Theme};
use crate::tui::data::Data;
use crate::tui::data::latency::Phase;

/// Waits that are listed.
const WORST: usize = 20;
/// Rows above the text: what is watched, the bar, and what its colours mean.
const ABOVE: usize = 4;

/// A letter of a part, where there are no colours.
const fn letter(part: Part) -> &'static str {
    match part {
        Part::Unknown => "?",
        Part::Running => "R",
        Part::Irqs => "I",
        Part::Softirqs => "S",
        Part::Sleeping => "z",
        Part::Blocked => "B",
        Part::Io => "O",
        Part::Waking => "W",
        Part::Queued => "Q",
        Part::Preempted => "P",
        Part::Throttled => "T",
        Part::Stopped => "X",
    }
}

fn style(theme: &Theme, part: Part) -> Style {
    theme[match part {
        Part::Unknown | Part::Sleeping | Part::Stopped => Slot::Dim,
        Part::Running => Slot::Good,
        Part::Irqs => Slot::Number,
        Part::Softirqs => Slot::Map,
        Part::Blocked | Part::Io => Slot::Builtin,
        Part::Waking => Slot::Macro,
        Part::Queued | Part::Preempted => Slot::Warning,
        Part::Throttled => Slot::Error,
    }]
}

/// The text below the bar.
fn lines(report: &TaskReport, columns: usize) -> Vec<(Slot, String)> {
    let told = verdict(report);
    let mut lines: Vec<(Slot, String)> = Vec::new();
    let mut say = |slot: Slot, text: &str| {
        lines.extend(wrap(&neutralise(text), columns).into_iter().map(|line| (slot, line)));
    };
    say(Slot::Heading, &told.words);
    let wall = report.parts().total().max(1);
    for share in told.shares.iter().skip(1).filter(|share| share.ns * 100 >= wall) {
        say(Slot::Text, &format!("also: {}", share.words));
    }
    for line in task::details(report, WORST).lines() {
        let slot = match line.chars().next() {
            Some('#') => Slot::Heading,
            _ if line.contains("->") => Slot::Function,
            _ => Slot::Text,
        };
        lines.push((slot, neutralise(line).into_owned()));
    }
    lines
}

/// The furthest that the text scrolls to.
pub fn last_scroll(report: &TaskReport, area: Rect) -> usize {
    let inside = usize::from(area.height).saturating_sub(4 + ABOVE).max(1);
    lines(report, usize::from(area.width).saturating_sub(4)).len().saturating_sub(inside)
}

/// Paints the view.
pub fn draw(pane: &LatencyPane, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let wide = usize::from(area.width).saturating_sub(2);
    let Some(report) = ctx.data.latency.task(&ctx.data.store, ctx.data.moment.cursor) else {
        for (y, line) in wrap(&nothing(ctx.data), wide).iter().take(usize::from(area.height)).enumerate() {
            put(buf, area, 1, y, line, theme[Slot::Dim]);
        }
        return;
    };
    let parts = report.parts();
    let wall = parts.total().max(1);
    let ended = ctx.data.latency.watched.phase == Phase::Ended;
    let many = report.threads.len();
    let title = format!(
        "{}: {many} thread{}, {} {}",
        neutralise(&report.chosen),
        if many == 1 { "" } else { "s" },
        if ended { "was watched for" } else { "watched for" },
        task::time(report.watched_ns),
    );
    put(buf, area, 1, 0, &fit(&title, wide), theme[Slot::Probe]);
    let mut x = 1;
    let mut legend = 1;
    for part in Part::ALL {
        let ns = parts.get(part);
        let columns = (u128::from(ns) * wide as u128 / u128::from(wall)) as usize;
        x = put(buf, area, x, 1, &letter(part).repeat(columns), style(theme, part).add_modifier(Modifier::REVERSED));
        if u128::from(ns) * 200 >= u128::from(wall) {
            let text = format!("{} {} {:.1} %", letter(part), part.words(), ns as f64 * 100.0 / wall as f64);
            if legend + text.len() <= wide {
                legend = put(buf, area, legend, 2, &text, style(theme, part)) + 2;
            }
        }
    }
    let below = Rect { x: area.x + 1, y: area.y + ABOVE as u16, width: area.width.saturating_sub(2), ..area };
    let height = usize::from(area.height).saturating_sub(ABOVE);
    for (y, (slot, line)) in lines(report, wide).into_iter().skip(pane.scroll).take(height).enumerate() {
        put(buf, below, 0, y, &fit(&line, wide), theme[slot]);
    }
}

/// Why there is nothing to see.
fn nothing(data: &Data) -> String {
    match &data.latency.watched.phase {
        Phase::Starting | Phase::Running => "Watching: the first figures come in a moment".to_owned(),
        Phase::Refused(reason) => format!("Cannot watch: {}", neutralise(reason)),
        _ if data.replayed.is_some() => "No thread was watched until this moment of the recording".to_owned(),
        _ => {
            "Nobody is watched. Enter asks for a process by its name or number; t takes the thread under the cursor in the \
             sources (5), or the blocker of an episode (6): where the time of its process goes, and what keeps it, is told \
             here."
                .to_owned()
        }
    }
}

/// The number of a thread by its name `comm:pid`, with what comes after it.
pub fn pid_of(name: &str) -> Option<u32> {
    let (_, rest) = name.rsplit_once(':')?;
    rest.split(' ').next()?.parse().ok().filter(|pid| *pid > 0)
}

/// Who kept an episode's CPU: its blocker, or the thread that had it longest.
pub fn of_episode(episode: &Episode) -> Option<u32> {
    let longest = || {
        let threads = episode.intervals.iter().filter(|i| i.class == NoiseClass::Thread);
        threads.max_by_key(|i| super::figures::inside(episode, i)).and_then(|i| pid_of(&i.name))
    };
    episode.blocker.as_ref().map(|blocker| blocker.pid).filter(|pid| *pid > 0).or_else(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_number_is_in_its_name() {
        assert_eq!(pid_of("rcu_preempt:16"), Some(16));
        assert_eq!(pid_of("kworker/0:1:57 vmstat_update"), Some(57));
        assert_eq!(pid_of("a:b:77"), Some(77));
        assert_eq!(pid_of("swapper:0"), None);
    }
}
