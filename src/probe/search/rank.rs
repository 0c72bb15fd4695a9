//! The signs by which probes are put in order, beside fuzzy-matcher's score (about 16 a character).

use crate::probe::catalogue::{Part, ProbeKind};

/// What a probe is worth whatever was typed: its kind, whether it can be attached, who made it, how
/// long its name is.
pub(super) fn base(part: &Part, number: u32) -> i32 {
    let Some(probe) = part.probe(number) else { return i32::MIN / 2 };
    let kind = match probe.kind {
        ProbeKind::Tracepoint | ProbeKind::Special => 40,
        ProbeKind::Fentry => 24,
        ProbeKind::Kprobe | ProbeKind::Usdt => 20,
        ProbeKind::Uprobe | ProbeKind::Software => 18,
        ProbeKind::RawTracepoint => 16,
        ProbeKind::Hardware | ProbeKind::Iter => 12,
        ProbeKind::Fexit | ProbeKind::Kretprobe | ProbeKind::Uretprobe => 0,
    };
    // People look for the entry of a call before its exit.
    let exit = if probe.kind == ProbeKind::Tracepoint && probe.name.contains(":sys_exit_") { 12 } else { 0 };
    let absent = if probe.absence.is_some() { 30 } else { 0 };
    let demoted = if part.demoted(number) { 150 } else { 0 };
    kind - exit - absent - demoted - (probe.name.len() as i32).min(120) / 4
}

/// Bonus for where the query stands in a name as a whole; `None` when it does not. Short queries only
/// count at the start of a word.
pub(super) fn place(name: &str, query: &str) -> Option<i32> {
    let start = best_place(name, query)?;
    let own = own_name_start(name);
    let at_word = is_word_start(name, start);
    if query.len() < 3 && !at_word {
        return None;
    }
    let end = start + query.len();
    let whole = end == name.len();
    let word_end = whole || name.as_bytes().get(end).is_some_and(|b| !b.is_ascii_alphanumeric());
    Some(match (start == own, at_word, whole) {
        (true, _, true) => 240,
        (false, true, true) if start > own => 160,
        (true, _, false) if word_end => 110,
        (true, _, false) => 90,
        (false, true, _) if word_end => 70,
        (false, true, _) => 50,
        (false, false, _) => 10,
    })
}

/// Where the query stands in a name at its best: in the probe's own name at the start of a word, then
/// anywhere at the start of a word, then anywhere.
pub(super) fn best_place(name: &str, query: &str) -> Option<usize> {
    let own = own_name_start(name);
    let mut best: Option<(i32, usize)> = None;
    for at in memchr::memmem::find_iter(name.as_bytes(), query.as_bytes()).take(8) {
        let whole = at + query.len() == name.len();
        let score = i32::from(is_word_start(name, at)) * 4 + i32::from(at >= own) * 2 + i32::from(whole);
        if best.is_none_or(|(s, _)| score > s) {
            best = Some((score, at));
        }
    }
    best.map(|(_, at)| at)
}

/// Start of what follows the last colon (`software:cpu-clock:` has an empty last part, which is left
/// out).
fn own_name_start(name: &str) -> usize {
    let trimmed = name.strip_suffix(':').unwrap_or(name);
    trimmed.rfind([':', '/']).map_or(0, |at| at + 1)
}

fn is_word_start(name: &str, at: usize) -> bool {
    let bytes = name.as_bytes();
    at.checked_sub(1).and_then(|before| bytes.get(before)).is_none_or(|b| !b.is_ascii_alphanumeric())
}
