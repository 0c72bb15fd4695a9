//! The records of `-f json`: one object a line, in the form that bpftrace 0.27.1 writes.
//!
//! Two differences are on purpose. bpftrace writes each byte of non-ASCII text as `\uffffffXX`, which no reader can turn
//! back; here text that is UTF-8 stays as it is and other bytes are written out as `\xXX` (see [`exact`]). And bpftrace
//! takes all spaces out of a map's keys, so that `a b` and `ab` get one name; here names tell keys apart ([`key`]).

pub(super) mod key;

use std::io::Write as _;

use crate::model::render::{self, MapOptions, exact};
use crate::model::snapshot::{MapKind, MapSnapshot};
use crate::model::stats::{LossCause, PartialMap};
use crate::model::value::{Summary, Value};

/// `{"type": KIND, "data": TEXT}`.
pub fn text_record(kind: &str, text: &[u8], out: &mut Vec<u8>) {
    open(kind, out);
    string(text, out);
    out.extend_from_slice(b"}\n");
}

/// `{"type": KIND, "data": ...}` of plain data.
pub fn record(kind: &str, data: &impl serde::Serialize, out: &mut Vec<u8>) {
    open(kind, out);
    // Plain data with texts as keys: never fails.
    out.extend(serde_json::to_vec(data).unwrap_or_else(|_| b"null".to_vec()));
    out.extend_from_slice(b"}\n");
}

/// `print(value)`.
pub fn value_record(value: &Value, out: &mut Vec<u8>) {
    open("value", out);
    self::value(value, out);
    out.extend_from_slice(b"}\n");
}

/// `{"type": "attached_probes", ...}`.
pub fn attached(probes: u64, out: &mut Vec<u8>) {
    let line = format!("{{\"type\": \"attached_probes\", \"count\": {probes}, \"data\": {{\"probes\": {probes}}}}}\n");
    out.extend_from_slice(line.as_bytes());
}

/// `{"type": "lost_events", ...}`.
pub fn lost(events: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(
        format!("{{\"type\": \"lost_events\", \"count\": {events}, \"data\": {{\"events\": {events}}}}}\n").as_bytes(),
    );
}

/// What was lost at one place of the script.
#[derive(Clone, Copy, Debug)]
pub struct Lost<'a> {
    /// Why.
    pub cause: LossCause,
    /// Which probe or map.
    pub site: &'a str,
    /// Where it stands.
    pub place: Place<'a>,
    /// How many.
    pub count: u64,
}

/// `{"type": "losses", "data": [...]}`: all that was lost, by cause and place, in the words of every face. `partial` is
/// whether results lack something because of it, so that the exit code is 3. Nothing where nothing was lost.
pub fn losses(losses: &[Lost<'_>], out: &mut Vec<u8>) {
    if losses.is_empty() {
        return;
    }
    open("losses", out);
    out.push(b'[');
    for (i, loss) in losses.iter().enumerate() {
        out.extend_from_slice(if i > 0 { b", {\"cause\": " } else { b"{\"cause\": " });
        string(loss.cause.words().as_bytes(), out);
        let _ = write!(out, ", \"count\": {}, \"partial\": {}, \"site\": ", loss.count, loss.cause.is_partial());
        string(loss.site.as_bytes(), out);
        out.extend_from_slice(b", \"filename\": ");
        string(loss.place.file.as_bytes(), out);
        let _ = write!(out, ", \"line\": {}, \"col\": {}}}", loss.place.line, loss.place.column);
    }
    out.extend_from_slice(b"]}\n");
}

/// A place in the script, as messages carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// File name, `stdin` for `-e`.
    pub file: &'a str,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// A message with its place: `errorf`, `warnf` and `runtime_error`.
pub fn message(kind: &str, text: &[u8], place: Place<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{{\"type\": \"{kind}\", \"msg\": ").as_bytes());
    string(text, out);
    close_place(place, out);
}

/// A helper that failed: its name, and the kernel's answer as a negative error number.
pub fn helper_error(text: &[u8], helper: &str, code: i32, place: Place<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\": \"helper_error\", \"msg\": ");
    string(text, out);
    out.extend_from_slice(b", \"helper\": ");
    string(helper.as_bytes(), out);
    out.extend_from_slice(format!(", \"retcode\": {code}").as_bytes());
    close_place(place, out);
}

/// How a test ended, with what it printed.
pub fn test_result(name: &str, passed: bool, duration_ns: u64, text: &[u8], out: &mut Vec<u8>) {
    open("test_result", out);
    out.push(b'{');
    string(name.as_bytes(), out);
    out.extend_from_slice(format!(": {{\"duration\": {duration_ns}, \"passed\": {passed}, \"output\": ").as_bytes());
    string(text, out);
    out.extend_from_slice(b"}}}\n");
}

/// What a benchmark measured.
pub fn benchmark_result(name: &str, average_ns: u64, runs: u64, out: &mut Vec<u8>) {
    open("benchmark_result", out);
    out.push(b'{');
    string(name.as_bytes(), out);
    out.extend_from_slice(format!(": {{\"average\": {average_ns}, \"iters\": {runs}}}}}}}\n").as_bytes());
}

fn close_place(place: Place<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b", \"filename\": ");
    string(place.file.as_bytes(), out);
    out.extend_from_slice(format!(", \"line\": {}, \"col\": {}}}\n", place.line, place.column).as_bytes());
}

fn open(kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\": \"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\", \"data\": ");
}

/// A whole map in one record; nothing when it has no entries, but for averages and statistics.
///
/// What is of a part of the firings says so beside its data: `sample` with how many ran and how many there were,
/// `partial` where a probe was turned off, `detached_after_s` where one was detached: nothing is known of what came after.
pub fn map(snapshot: &MapSnapshot, options: &MapOptions, part: Option<&PartialMap>, out: &mut Vec<u8>) {
    let rows = render::shown_rows(snapshot, options.top);
    if rows.is_empty() && !matches!(snapshot.kind, MapKind::Avg | MapKind::Stats) {
        return;
    }
    open(kind_name(snapshot.kind), out);
    out.push(b'{');
    string(snapshot.name.as_bytes(), out);
    out.extend_from_slice(b": ");
    match rows.first() {
        Some(row) if !snapshot.keyed => entry(&row.value, options, out),
        _ => {
            out.push(b'{');
            for (i, (row, name)) in rows.iter().zip(key::names(&rows)).enumerate() {
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                quoted(&name, out);
                out.extend_from_slice(b": ");
                entry(&row.value, options, out);
            }
            out.push(b'}');
        }
    }
    out.push(b'}');
    if let Some(part) = part {
        if part.throttled > 0 {
            let (ran, fired) = (part.ran, part.ran.saturating_add(part.throttled));
            let _ = write!(out, ", \"sample\": {{\"ran\": {ran}, \"fired\": {fired}}}");
        }
        if part.braked {
            out.extend_from_slice(b", \"partial\": true");
        }
        if let Some(ns) = part.detached_ns {
            let _ = write!(out, ", \"detached_after_s\": {:.3}", ns as f64 / 1e9);
        }
    }
    out.extend_from_slice(b"}\n");
}

/// An emptied map at the end of the trace: only averages and statistics leave a record.
pub(super) fn emptied(snapshot: &MapSnapshot, out: &mut Vec<u8>) {
    if matches!(snapshot.kind, MapKind::Avg | MapKind::Stats) {
        open("stats", out);
        out.push(b'{');
        string(snapshot.name.as_bytes(), out);
        out.extend_from_slice(b": {}}}\n");
    }
}

const fn kind_name(kind: MapKind) -> &'static str {
    match kind {
        MapKind::Hist | MapKind::LHist => "hist",
        MapKind::Avg | MapKind::Stats => "stats",
        MapKind::TSeries => "tseries",
        _ => "map",
    }
}

fn entry(value: &Value, options: &MapOptions, out: &mut Vec<u8>) {
    match value {
        Value::Hist(h) => buckets(&render::log2_rows(h), options.div, out),
        Value::LHist(h) => buckets(&render::linear_rows(h), 1, out),
        Value::TSeries(series) => {
            out.push(b'[');
            let points = series.points.iter().filter_map(|(start, v)| Some((*start, (*v)?)));
            for (i, (start, v)) in points.enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                let start = render::interval_start(start, &options.clock);
                out.extend_from_slice(format!("{{\"interval_start\":\"{start}\",\"value\":").as_bytes());
                integer(widen(v, series.signed), out);
                out.push(b'}');
            }
            out.push(b']');
        }
        Value::Stats(s) if options.div > 1 => stats(s, options.div, out),
        other => self::value(&render::divide(other, options.div), out),
    }
}

fn buckets(rows: &[render::Bucket], div: u64, out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, row) in rows.iter().enumerate() {
        out.extend_from_slice(if i > 0 { b",{" } else { b"{" });
        for (name, bound) in [("min", row.min), ("max", row.max)] {
            if let Some(bound) = bound {
                out.extend_from_slice(format!("\"{name}\": ").as_bytes());
                integer(i128::from(bound), out);
                out.extend_from_slice(b", ");
            }
        }
        out.extend_from_slice(b"\"count\": ");
        integer(i128::from(row.count / div.max(1)), out);
        out.push(b'}');
    }
    out.push(b']');
}

/// A value as JSON: text in quotes, tuples and arrays as arrays, records as objects, enums as
/// numbers, bytes as an array of signed numbers.
pub fn value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::None => out.extend_from_slice(b"null"),
        Value::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
        Value::Int(v, _) | Value::Enum { value: v, .. } => integer(i128::from(*v), out),
        Value::Uint(v, _) | Value::Pointer(v) => integer(i128::from(*v), out),
        Value::Str(bytes) => string(bytes, out),
        Value::Text(text, _) => string(text.as_bytes(), out),
        Value::Stack(stack) => string(render::stack_text(stack).as_bytes(), out),
        Value::Bytes(bytes) => list(bytes.iter(), out, |b, out| integer(i128::from(*b as i8), out)),
        Value::Array(items) | Value::Tuple(items) => list(items.iter(), out, self::value),
        Value::Record(items) => {
            out.push(b'{');
            for (i, (name, item)) in items.iter().enumerate() {
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                string(name.as_bytes(), out);
                out.extend_from_slice(b": ");
                self::value(item, out);
            }
            out.push(b'}');
        }
        Value::Avg(s) => integer(widen(s.average(), s.signed), out),
        Value::Stats(s) => stats(s, 1, out),
        Value::Hist(_) | Value::LHist(_) | Value::TSeries(_) => entry(value, &MapOptions::default(), out),
    }
}

fn list<T>(items: impl Iterator<Item = T>, out: &mut Vec<u8>, write: impl Fn(T, &mut Vec<u8>)) {
    out.push(b'[');
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

fn stats(s: &Summary, div: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"count\": ");
    integer(i128::from(s.count), out);
    out.extend_from_slice(b", \"average\": ");
    integer(widen(s.average(), s.signed) / i128::from(div.max(1)), out);
    out.extend_from_slice(b", \"total\": ");
    integer(widen(s.total, s.signed), out);
    out.push(b'}');
}

fn widen(bits: i64, signed: bool) -> i128 {
    if signed { i128::from(bits) } else { i128::from(bits as u64) }
}

/// A number; as a string where a reader that keeps numbers as doubles would change it.
fn integer(value: i128, out: &mut Vec<u8>) {
    let quote: &[u8] = if value as f64 as i128 == value && value < i128::from(u64::MAX) { b"" } else { b"\"" };
    out.extend_from_slice(quote);
    out.extend_from_slice(value.to_string().as_bytes());
    out.extend_from_slice(quote);
}

/// A JSON string. Text that is UTF-8 reads back as it was; bytes that are not are written out, see [`exact`].
pub fn string(text: &[u8], out: &mut Vec<u8>) {
    quoted(&exact(text, |_| false), out);
}

/// A JSON string that reads back as the text.
fn quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for b in text.bytes() {
        match b {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            0..0x20 => out.extend_from_slice(format!("\\u{b:04x}").as_bytes()),
            _ => out.push(b),
        }
    }
    out.push(b'"');
}
