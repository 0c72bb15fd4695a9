//! What was lost, in words: a line of our own, or in bpftrace's form with the script's line below.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::Arc;

use super::{StreamFace, json_place};
use crate::cli::excerpt;
use crate::lang::source::{SourceText, Span};
use crate::model::helper;
use crate::model::stats::LossCause;
use crate::model::words;
use crate::output::json;
use crate::stdio;

/// One place is told of so often at once, and no more, where bpftrace would say it at every firing.
const MOST_AT_ONCE: u64 = 100;

/// The losses that are told in words of our own: a line at the first, and a line whenever what was lost
/// at that place since the last line is as much as all before. A place that loses a little in every
/// second has a few lines in an hour so, and the last one comes when the face goes.
#[derive(Debug, Default)]
pub(super) struct Told(BTreeMap<(u32, u32, &'static str), Count>);

/// How often something was lost in one place.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    told: u64,
    untold: u64,
}

impl Count {
    /// How often since the last line; with the whole, where there was a line before.
    fn words(self) -> String {
        match self.told {
            0 => format!("{} times", self.untold),
            told => format!("{} times more, {} in all", self.untold, told + self.untold),
        }
    }
}

/// How bpftrace words a loss.
enum Wording {
    /// A fault of the script.
    Fault(&'static str),
    /// A helper of the kernel failed: its name, what it returned, and words where the system's own do not do.
    Helper { name: &'static str, code: i32, text: Option<&'static str> },
}

impl Wording {
    /// The words for what only was counted: the helper that most such failures are of.
    fn of_count(cause: LossCause) -> Option<Self> {
        let helper = match cause {
            LossCause::MapFull => (2, -7),
            LossCause::KeyRefused => (2, -12),
            LossCause::KeyAbsent => (1, 0),
            LossCause::ReadFailed => (4, -14),
            _ => (0, 0),
        };
        Self::of(cause, helper)
    }

    /// The words for a failure of a helper, by number, and with what that returned.
    fn of(cause: LossCause, (helper, code): (u32, i32)) -> Option<Self> {
        let text = match cause {
            LossCause::DivideByZero => {
                return Some(Self::Fault(
                    "Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the result.",
                ));
            }
            LossCause::OutOfBounds => {
                return Some(Self::Fault("Array access out of bounds. This can lead to unexpected results."));
            }
            LossCause::MapFull => Some(
                "Map full; can't update element. Try increasing max_map_keys config or manually setting the max \
                 entries in a map declaration e.g. `let @a = hash(5000)`",
            ),
            LossCause::KeyAbsent => Some("Can't lookup map element because it does not exist."),
            LossCause::ReadFailed | LossCause::KeyRefused => None,
            _ => return None,
        };
        Some(Self::Helper { name: helper::name(helper), code, text })
    }
}

/// All that was lost, for one record at the end.
#[derive(Debug, Default)]
pub(super) struct Account(BTreeMap<(u32, u32, LossCause), (Arc<str>, u64)>);

impl Account {
    fn add(&mut self, (line, column): (u32, u32), cause: LossCause, site: &Arc<str>, count: u64) {
        let (_, sum) = self.0.entry((line, column, cause)).or_insert_with(|| (Arc::clone(site), 0));
        *sum = sum.saturating_add(count);
    }

    /// The record, where anything was lost.
    pub(super) fn take(&mut self, source: &SourceText, out: &mut Vec<u8>) {
        let losses: Vec<json::Lost<'_>> = self
            .0
            .iter()
            .map(|((line, column, cause), (site, count))| json::Lost {
                cause: *cause,
                site,
                place: json_place(source, *line, *column),
                count: *count,
            })
            .collect();
        json::losses(&losses, out);
        self.0.clear();
    }
}

impl StreamFace {
    pub(super) fn lost(&mut self, cause: LossCause, count: u64, site: &Arc<str>, span: Span) {
        let place = self.place(span);
        self.account.add(place, cause, site, count);
        let of_keys = matches!(cause, LossCause::KeyCut | LossCause::StackCut);
        // What was left out was told when the rest was attached.
        if self.settings.sent.includes(cause)
            || cause == LossCause::LeftOut
            || (of_keys && (self.settings.like_bpftrace || self.json()))
        {
            return;
        }
        if cause == LossCause::RingFull {
            self.events_lost += count;
        }
        if cause == LossCause::RingFull && self.json() {
            json::lost(count, &mut self.buffer);
            return;
        }
        let unimportant = matches!(
            cause,
            LossCause::ReadFailed | LossCause::Truncated | LossCause::HelperFailed | LossCause::KeyAbsent
        );
        if !self.settings.warnings {
            return;
        }
        if unimportant && !self.settings.keen {
            // One line at the end: the value in its place is 0 or empty. A text that was cut ends in dots.
            if cause == LossCause::ReadFailed && self.tells_in_own_words() {
                let (line, column) = place;
                self.told.0.entry((line, column, cause.words())).or_default().untold += count;
            }
            return;
        }
        match Wording::of_count(cause).filter(|_| self.settings.like_bpftrace || self.json()) {
            Some(wording) => (0..count.min(MOST_AT_ONCE)).for_each(|_| self.worded(&wording, span)),
            None if self.settings.quiet && !self.settings.like_bpftrace => {}
            None if cause == LossCause::RingFull => {
                stdio::say(format_args!("Lost {count} events"));
            }
            None => {
                let (line, column) = place;
                let place = (line, column, cause.words());
                let lost = self.told.0.entry(place).or_default();
                lost.untold += count;
                if lost.untold >= lost.told {
                    let lost = std::mem::replace(lost, Count { told: lost.told + lost.untold, untold: 0 });
                    self.warn(place, lost);
                }
            }
        }
    }

    fn tells_in_own_words(&self) -> bool {
        !self.settings.like_bpftrace && !self.settings.quiet && !self.json()
    }

    /// Adds the record of all that was lost.
    pub(super) fn account(&mut self) {
        if self.json() && !self.settings.like_bpftrace {
            self.account.take(&self.source, &mut self.buffer);
        }
    }

    /// A failure that came in its place: what was printed before it must be seen before it.
    pub(super) fn failure(&mut self, cause: LossCause, helper: (u32, i32), span: Span) -> io::Result<()> {
        if !self.settings.warnings {
            return Ok(());
        }
        let Some(wording) = Wording::of(cause, helper) else { return Ok(()) };
        if !self.json() {
            self.write_out()?;
        }
        self.worded(&wording, span);
        Ok(())
    }

    /// Tells what no line has told yet.
    pub(super) fn tell_rest(&mut self) {
        if self.settings.like_bpftrace && self.settings.warnings && self.events_lost > 0 {
            stdio::say(format_args!("WARNING: Total lost event count: {}", self.events_lost));
        }
        for (place, lost) in std::mem::take(&mut self.told).0 {
            if lost.untold > 0 {
                self.warn(place, lost);
            }
        }
    }

    fn warn(&self, (line, column, words): (u32, u32, &str), lost: Count) {
        stdio::say(format_args!("{}:{line}:{column}: warning: {words}: {}", self.source.name, lost.words()));
    }

    fn worded(&mut self, wording: &Wording, span: Span) {
        if self.json() {
            let (line, column) = self.place(span);
            let place = json_place(&self.source, line, column);
            match *wording {
                Wording::Fault(text) => json::message("runtime_error", text.as_bytes(), place, &mut self.buffer),
                Wording::Helper { name, code, .. } => {
                    json::helper_error(error_text(code).as_bytes(), name, code, place, &mut self.buffer);
                }
            }
            return;
        }
        let text = match *wording {
            Wording::Fault(text) => text.to_owned(),
            Wording::Helper { name, code, text } => {
                let text = text.map_or_else(|| error_text(code), Into::into);
                format!("{text}\nAdditional Info - helper: {name}, retcode: {code}")
            }
        };
        let place = self.place_text(span);
        let _ = write!(stdio::err(), "{place}: WARNING: {text}\n{}", excerpt::marked(&self.source, span));
    }
}

/// The system's words for what a helper returned.
fn error_text(code: i32) -> Arc<str> {
    words::error_text(u64::from(code.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::Count;

    #[test]
    fn later_lines_say_what_is_new_and_the_whole() {
        assert_eq!(Count { told: 0, untold: 1 }.words(), "1 times");
        assert_eq!(Count { told: 3, untold: 4 }.words(), "4 times more, 7 in all");
    }
}
