//! What was lost, in words: a line of our own, or in bpftrace's form with the script's line below.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use super::{StreamFace, json_place};
use crate::cli::excerpt;
use crate::lang::source::Span;
use crate::model::stats::LossCause;
use crate::output::json;

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
    /// A helper of the kernel failed: name, error number, the system's text for it, and bpftrace's.
    Helper { name: &'static str, code: i32, error: &'static str, text: &'static str },
}

const fn wording(cause: LossCause) -> Option<Wording> {
    Some(match cause {
        LossCause::DivideByZero => Wording::Fault(
            "Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the result.",
        ),
        LossCause::OutOfBounds => Wording::Fault("Array access out of bounds. This can lead to unexpected results."),
        LossCause::MapFull => Wording::Helper {
            name: "map_update_elem",
            code: -7,
            error: "Argument list too long",
            text: "Map full; can't update element. Try increasing max_map_keys config or manually setting the max \
                   entries in a map declaration e.g. `let @a = hash(5000)`",
        },
        LossCause::KeyAbsent => Wording::Helper {
            name: "map_lookup_elem",
            code: 0,
            error: "Success",
            text: "Can't lookup map element because it does not exist.",
        },
        LossCause::ReadFailed => {
            Wording::Helper { name: "probe_read", code: -14, error: "Bad address", text: "Bad address" }
        }
        _ => return None,
    })
}

impl StreamFace {
    pub(super) fn lost(&mut self, cause: LossCause, count: u64, span: Span) {
        if cause == LossCause::RingFull && self.json() {
            json::lost(count, &mut self.buffer);
            return;
        }
        let unimportant = matches!(
            cause,
            LossCause::ReadFailed | LossCause::Truncated | LossCause::HelperFailed | LossCause::KeyAbsent
        );
        if (unimportant && !self.settings.keen) || !self.settings.warnings {
            return;
        }
        match wording(cause).filter(|_| self.settings.like_bpftrace || self.json()) {
            Some(wording) => (0..count.min(MOST_AT_ONCE)).for_each(|_| self.worded(&wording, span)),
            None if self.settings.quiet => {}
            None if cause == LossCause::RingFull => {
                let _ = writeln!(io::stderr(), "Lost {count} events");
            }
            None => {
                let (line, column) = self.place(span);
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

    /// Tells what no line has told yet.
    pub(super) fn tell_rest(&mut self) {
        for (place, lost) in std::mem::take(&mut self.told).0 {
            if lost.untold > 0 {
                self.warn(place, lost);
            }
        }
    }

    fn warn(&self, (line, column, words): (u32, u32, &str), lost: Count) {
        let _ = writeln!(io::stderr(), "{}:{line}:{column}: warning: {words}: {}", self.source.name, lost.words());
    }

    fn worded(&mut self, wording: &Wording, span: Span) {
        if self.json() {
            let (line, column) = self.place(span);
            let place = json_place(&self.source, line, column);
            match *wording {
                Wording::Fault(text) => json::message("runtime_error", text.as_bytes(), place, &mut self.buffer),
                Wording::Helper { name, code, error, .. } => {
                    json::helper_error(error.as_bytes(), name, code, place, &mut self.buffer);
                }
            }
            return;
        }
        let text = match *wording {
            Wording::Fault(text) => text.to_owned(),
            Wording::Helper { name, code, text, .. } => {
                format!("{text}\nAdditional Info - helper: {name}, retcode: {code}")
            }
        };
        let place = self.place_text(span);
        let _ = write!(io::stderr(), "{place}: WARNING: {text}\n{}", excerpt::marked(&self.source, span));
    }
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
