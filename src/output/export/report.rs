//! A report in Markdown: the machine, the script, what it found and what was lost.

use std::fmt::Write as _;

use super::Source;
use super::table::line;
use crate::model::render::{self, neutralise};
use crate::model::snapshot::{MapKind, MapSnapshot};
use crate::store::PayloadKind;

/// Rows of a map, largest last as they print; more are counted.
const ROWS: usize = 25;
/// Lines of the script's own output, from the end.
const LINES: u64 = 40;

/// Text between fences that it cannot close.
fn fenced(language: &str, text: &str, out: &mut String) {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let shown: String = text.lines().map(|line| format!("{}\n", neutralise(&line.replace('\t', "    ")))).collect();
    let _ = write!(out, "{fence}{language}\n{shown}{fence}\n\n");
}

/// A cell of a table.
fn cell(text: &str) -> String {
    let text: String = neutralise(&text.replace(['\n', '\t'], " ")).chars().take(200).collect();
    text.replace('\\', "\\\\").replace('|', "\\|").replace('`', "\\`").replace('<', "&lt;")
}

/// The report.
#[must_use]
pub fn text(source: &Source<'_>, maps: &[MapSnapshot]) -> String {
    let trace = source.trace;
    let mut out = format!("# {}\n\n", cell(if trace.name.is_empty() { "probescope" } else { &trace.name }));
    let last = source.history.span().map_or(trace.began_ns, |(_, last)| last);
    let seconds = source.at_ns.min(last).saturating_sub(trace.began_ns) as f64 / 1e9;
    let began = trace.wall_ns(trace.began_ns) / 1_000_000_000;
    let _ = writeln!(out, "| | |\n|---|---|");
    for (what, value) in [
        ("Host", trace.host.to_string()),
        ("Kernel", trace.kernel.to_string()),
        ("Began", utc(began)),
        ("Traced for", format!("{seconds:.1} s")),
        ("Probes", trace.probes.len().to_string()),
    ] {
        if !value.is_empty() {
            let _ = writeln!(out, "| {what} | {} |", cell(&value));
        }
    }
    out.push('\n');
    if !trace.script.is_empty() {
        out.push_str("## Script\n\n");
        fenced("bpftrace", &trace.script, &mut out);
    }
    for map in maps {
        section(source, map, &mut out);
    }
    events(source, &mut out);
    losses(source, &mut out);
    out
}

/// A moment in UTC, from seconds since 1970.
fn utc(seconds: i64) -> String {
    let days = seconds.div_euclid(86_400);
    let of_day = seconds.rem_euclid(86_400);
    // Days since 0000-03-01, in eras of 400 years.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (h, m, s) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02} UTC")
}

fn section(source: &Source<'_>, map: &MapSnapshot, out: &mut String) {
    let _ = write!(out, "## {}\n\n", cell(&map.name));
    if let Some(part) = super::part(&source.parts(), &map.name) {
        let _ = write!(out, "**Of {}.**\n\n", cell(&part.sentence()));
    }
    if map.rows.is_empty() {
        out.push_str("Empty.\n\n");
        return;
    }
    if matches!(map.kind, MapKind::Hist | MapKind::LHist | MapKind::TSeries) || !map.keyed {
        let mut printed = Vec::new();
        render::map_into(map, &source.trace.map_options(None), &mut printed);
        fenced("text", &String::from_utf8_lossy(&printed), out);
        return;
    }
    let columns = source.trace.maps.iter().find(|m| m.name == map.name).map_or(&[][..], |m| &m.key);
    let parts = map.rows.iter().map(|r| r.key.len()).max().unwrap_or(1);
    let name = |i: usize| columns.get(i).map_or_else(|| "key".to_owned(), |c| cell(&c.name));
    let heads: Vec<String> = (0..parts).map(name).collect();
    let _ = writeln!(out, "| {} | value |", heads.join(" | "));
    let _ = writeln!(out, "|{}---:|", "---|".repeat(parts));
    for row in map.rows.iter().rev().take(ROWS) {
        let keys: Vec<String> =
            (0..parts).map(|i| row.key.get(i).map_or_else(String::new, |v| cell(&line(v)))).collect();
        let _ = writeln!(out, "| {} | {} |", keys.join(" | "), cell(&line(&row.value)));
    }
    out.push('\n');
    if map.rows.len() > ROWS {
        let _ = write!(out, "The largest {ROWS} of {} keys.\n\n", map.rows.len());
    }
}

fn events(source: &Source<'_>, out: &mut String) {
    let history = source.history;
    let end = history.last_at(source.at_ns).map_or(0, |last| history.line_of(last) + 1).min(history.lines().end);
    let first = history.lines().start;
    let mut lines = Vec::new();
    for number in (first..end).rev().take(LINES as usize * 4) {
        let Some(row) = history.line_at(number) else { continue };
        if row.trace == source.trace.id && row.kind.is_output() {
            let at = row.at_ns.saturating_sub(source.trace.began_ns) as f64 / 1e9;
            lines.push(format!("{at:10.6}  {}", row.shown()));
        }
        if lines.len() as u64 >= LINES {
            break;
        }
    }
    if lines.is_empty() {
        return;
    }
    lines.reverse();
    let _ = write!(out, "## Output\n\nThe last {} lines, by seconds since the trace began.\n\n", lines.len());
    fenced("text", &lines.join("\n"), out);
}

fn losses(source: &Source<'_>, out: &mut String) {
    let segments = source.history.index().segments();
    let lost: u64 = segments.iter().map(|s| s.summary.lost).sum();
    let warnings: u32 = segments.iter().map(|s| s.summary.warnings).sum();
    let events: u64 = segments.iter().map(|s| u64::from(s.summary.count(PayloadKind::Event))).sum();
    let _ = write!(out, "## Complete?\n\n{events} events kept, {lost} reports or values lost, {warnings} warnings.\n");
}
