//! Time series as charts.

use super::stream::Field;
use super::value::number;
use crate::model::value::Series;

/// Columns between the chart's edges, edges included.
const WIDTH: usize = 53;
const SECOND: u64 = 1_000_000_000;

/// What turns wall time into local time for display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Local time minus UTC, seconds.
    pub utc_offset_s: i32,
}

impl Clock {
    /// Days since 1970-01-01, seconds of the day and ns of the second, in local time.
    fn local(&self, wall_ns: u64) -> (i64, i64, i64) {
        let ns = i128::from(wall_ns) + i128::from(self.utc_offset_s) * i128::from(SECOND);
        let seconds = ns.div_euclid(i128::from(SECOND)) as i64;
        (seconds.div_euclid(86400), seconds.rem_euclid(86400), ns.rem_euclid(i128::from(SECOND)) as i64)
    }
}

/// The start of an interval as JSON output gives it: `2026-11-20 22:24:34.000000000`.
#[must_use]
pub fn interval_start(wall_ns: u64, clock: &Clock) -> String {
    let (days, _, _) = clock.local(wall_ns);
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02} {}", time(wall_ns, clock, 9))
}

/// Year, month and day from days since 1970-01-01 in the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years are counted from March so that the leap day is a year's last.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn time(wall_ns: u64, clock: &Clock, places: usize) -> String {
    let (_, of_day, ns) = clock.local(wall_ns);
    let mut text = format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60);
    if places > 0 {
        let fraction = format!("{ns:09}");
        text.push('.');
        text.push_str(&fraction[..places]);
    }
    text
}

/// Appends the chart: its scale, one row an interval, and the scale again.
pub(super) fn chart(series: &Series, clock: &Clock, out: &mut Vec<u8>) {
    let rows = used(series);
    let scale = Scale::of(rows, series.signed);
    let (unit, places) = precision(series, rows.len());
    // The column is as wide as a time; bpftrace pads its title by bytes.
    let times = time(0, clock, places).len() + 1;
    scale.line(times, out);
    Field { width: times, left: true, ..Field::plain() }.token(out, unit.as_bytes());
    out.push(b'|');
    out.resize(out.len() + WIDTH - 2, b'_');
    out.extend_from_slice(b"|\n");
    for (start, value) in rows {
        out.extend_from_slice(time(*start, clock, places).as_bytes());
        out.push(b' ');
        let from = out.len();
        out.push(b'|');
        out.resize(out.len() + WIDTH - 2, b' ');
        out.push(b'|');
        if let Some(column) = scale.zero() {
            out[from + column] = b'.';
        }
        if let Some(column) = value.and_then(|v| scale.column(v)) {
            out[from + column] = b'*';
        }
        out.push(b' ');
        match value {
            Some(v) => number(*v, series.signed, &mut Field::plain(), out),
            None => out.push(b'-'),
        }
        out.push(b'\n');
    }
    out.resize(out.len() + times, b' ');
    out.push(b'v');
    out.resize(out.len() + WIDTH - 2, b'_');
    out.extend_from_slice(b"v\n");
    scale.line(times, out);
}

/// The rows from the first interval with a value on; one row when there is none.
fn used(series: &Series) -> &[(u64, Option<i64>)] {
    let points = &series.points[..];
    let Some(first) = points.iter().position(|(_, v)| v.is_some()) else { return &points[..points.len().min(1)] };
    &points[first..]
}

/// The column's title and decimal places: what the interval needs, and all where only one row is shown.
fn precision(series: &Series, rows: usize) -> (&'static str, usize) {
    let whole = |unit| series.interval_ns.is_multiple_of(unit);
    if rows < 2 {
        ("hh:mm:ss.ns", 9)
    } else if whole(SECOND) {
        ("hh:mm:ss", 0)
    } else if whole(1_000_000) {
        ("hh:mm:ss.ms", 3)
    } else if whole(1000) {
        ("hh:mm:ss.\u{3bc}s", 6)
    } else {
        ("hh:mm:ss.ns", 9)
    }
}

struct Scale {
    range: Option<(i128, i128)>,
    signed: bool,
}

impl Scale {
    /// Smallest and largest value; one to each side of them when they are the same, where the type
    /// has such numbers.
    fn of(rows: &[(u64, Option<i64>)], signed: bool) -> Self {
        let values = || rows.iter().filter_map(|(_, v)| *v).map(|v| widen(v, signed));
        let range = values().min().zip(values().max());
        let (least, most) = if signed { (i64::MIN.into(), i64::MAX.into()) } else { (0, i128::from(u64::MAX)) };
        let wider = |(low, high): (i128, i128)| {
            if low == high { ((low - 1).max(least), (high + 1).min(most)) } else { (low, high) }
        };
        Self { range: range.map(wider), signed }
    }

    fn column(&self, bits: i64) -> Option<usize> {
        let (low, high) = self.range?;
        let place = (widen(bits, self.signed) - low) * (WIDTH as i128 - 1) / (high - low).max(1);
        usize::try_from(place).ok().filter(|p| *p < WIDTH)
    }

    /// Where zero is, when values lie on both sides of it.
    fn zero(&self) -> Option<usize> {
        self.range.filter(|(low, high)| *low < 0 && *high > 0).and_then(|_| self.column(0))
    }

    fn line(&self, indent: usize, out: &mut Vec<u8>) {
        let (low, high) = match self.range {
            Some((low, high)) => (low.to_string(), high.to_string()),
            None => ("null".into(), "null".into()),
        };
        out.resize(out.len() + indent, b' ');
        out.extend_from_slice(low.as_bytes());
        out.resize(out.len() + WIDTH.saturating_sub(low.len() + high.len()), b' ');
        out.extend_from_slice(high.as_bytes());
        out.push(b'\n');
    }
}

fn widen(bits: i64, signed: bool) -> i128 {
    if signed { i128::from(bits) } else { i128::from(bits as u64) }
}
