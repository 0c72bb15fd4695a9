//! Maps and events as tables: comma-separated values and JSON.

use std::fmt::Write as _;

use serde_json::{Map as Object, Value as Json, json};

use crate::model::histogram::{Linear, Log2, log2_bounds};
use crate::model::render::{self, neutralise_bytes};
use crate::model::snapshot::{MapKind, MapSnapshot};
use crate::model::stats::PartialMap;
use crate::model::value::{Stack, Value};
use crate::output::json::key;

/// A cell of comma-separated values: quoted where it must be, control characters written out.
pub(super) fn cell(text: &str) -> String {
    let text = text.replace(['\n', '\t'], " ");
    quoted(render::neutralise(text.trim_end()).into_owned())
}

/// A traced value as a cell: values that differ have cells that differ, so bytes of text that would be lost are written out
/// (see [`render::exact`]).
pub(super) fn value_cell(value: &Value) -> String {
    let text = match value {
        Value::Str(bytes) => render::exact(bytes, is_written_out).into_owned(),
        Value::Array(_) | Value::Tuple(_) | Value::Record(_) => {
            controls_written_out(&key::name(std::slice::from_ref(value), false))
        }
        other => return cell(&line(other)),
    };
    quoted(text)
}

/// Text that was made exact already, for a cell: nothing of it is doubled.
fn controls_written_out(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_written_out(c) {
            c.encode_utf8(&mut [0; 4]).bytes().for_each(|b| out.push_str(&format!("\\x{b:02x}")));
        } else {
            out.push(c);
        }
    }
    out
}

fn is_written_out(c: char) -> bool {
    render::is_harmful(c) || matches!(c, '\n' | '\t')
}

fn quoted(text: String) -> String {
    if text.contains([',', '"', ' ']) || text.is_empty() { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// JSON in which every character that a terminal obeys, or that reorders its neighbours, is written as `\uXXXX`: it stands in
/// strings alone, and reads back as it was.
#[must_use]
pub(super) fn safe_json(text: String) -> String {
    // None of them is beyond the first plane.
    let is_harmful = |c: char| render::is_harmful(c) && (c as u32) < 0x1_0000;
    if !text.contains(is_harmful) {
        return text;
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_harmful(c) {
            let _ = write!(safe, "\\u{:04x}", c as u32);
        } else {
            safe.push(c);
        }
    }
    safe
}

/// A table of a pane: numbers stay numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Headings.
    pub columns: Vec<&'static str>,
    /// Rows, a value a column.
    pub rows: Vec<Vec<Json>>,
}

impl Table {
    /// As comma-separated values.
    #[must_use]
    pub fn csv(&self) -> String {
        let text = |value: &Json| match value {
            Json::Null => String::new(),
            Json::String(text) => cell(text),
            other => cell(&other.to_string()),
        };
        let heading = self.columns.iter().map(|c| cell(c)).collect::<Vec<_>>().join(",");
        let rows = self.rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join(","));
        std::iter::once(heading).chain(rows).map(|line| line + "\n").collect()
    }

    /// As JSON: an object a row.
    #[must_use]
    pub fn json(&self) -> String {
        let object = |row: &Vec<Json>| {
            let named = self.columns.iter().zip(row).map(|(c, v)| ((*c).to_owned(), v.clone()));
            Json::Object(named.collect())
        };
        let all = Json::Array(self.rows.iter().map(object).collect());
        safe_json(serde_json::to_string_pretty(&all).unwrap_or_default() + "\n")
    }
}

/// A value on one line.
pub(super) fn line(value: &Value) -> String {
    match value {
        Value::Stack(stack) => frames(stack).join(";"),
        other => {
            let mut out = Vec::new();
            render::value_into(other, &mut out);
            neutralise_bytes(&out).into_owned()
        }
    }
}

fn frames(stack: &Stack) -> Vec<String> {
    let name = |f: &crate::model::value::Frame| {
        f.symbol.as_ref().map_or_else(|| format!("{:#x}", f.address), |s| s.as_ref().to_owned())
    };
    stack.frames.iter().map(name).collect()
}

/// The used buckets of a histogram: where each begins and ends, and its count.
#[must_use]
pub fn buckets(value: &Value) -> Vec<(Option<i64>, Option<i64>, u64)> {
    let all: Vec<(Option<i64>, Option<i64>, u64)> = match value {
        Value::Hist(h) => log2(h),
        Value::LHist(h) => linear(h),
        _ => Vec::new(),
    };
    all.into_iter().filter(|(.., count)| *count > 0).collect()
}

fn log2(h: &Log2) -> Vec<(Option<i64>, Option<i64>, u64)> {
    let bounds = |b: usize| log2_bounds(b as u32, h.bits);
    h.counts.iter().enumerate().map(|(b, count)| (bounds(b).0, bounds(b).1, *count)).collect()
}

fn linear(h: &Linear) -> Vec<(Option<i64>, Option<i64>, u64)> {
    let edge = |b: usize| h.min.saturating_add(h.step.saturating_mul(b as i64));
    let last = h.counts.len().saturating_sub(1);
    let bounds = |b: usize| match b {
        0 => (None, Some(h.min)),
        b if b == last => (Some(h.max), None),
        b => (Some(edge(b - 1)), Some(edge(b))),
    };
    h.counts.iter().enumerate().map(|(b, count)| (bounds(b).0, bounds(b).1, *count)).collect()
}

fn number(value: Option<i64>) -> String {
    value.map_or_else(String::new, |v| v.to_string())
}

/// Maps: a line for each key, and for each bucket of its histogram. Where some are of a part of the firings, columns say how
/// many ran, how many there were, and the rest in words.
#[must_use]
pub fn maps_csv(maps: &[MapSnapshot], of: &[PartialMap]) -> String {
    let of_these = |map: &MapSnapshot| super::part(of, &map.name);
    let is_partial = maps.iter().any(|map| of_these(map).is_some());
    let parts = maps.iter().flat_map(|m| m.rows.iter().map(|r| r.key.len())).max().unwrap_or(0);
    let mut out = "map".to_owned();
    for part in 1..=parts {
        let _ = write!(out, ",key{part}");
    }
    out.push_str(if is_partial { ",from,to,value,ran,fired,note\n" } else { ",from,to,value\n" });
    for map in maps {
        let end = match of_these(map) {
            Some(part) => {
                format!(",{},{},{}", part.ran, part.ran.saturating_add(part.throttled), cell(&part.sentence()))
            }
            None if is_partial => ",,,".to_owned(),
            None => String::new(),
        };
        for row in &map.rows {
            let mut start = cell(&map.name);
            for part in 0..parts {
                start.push(',');
                start.push_str(&row.key.get(part).map_or_else(String::new, value_cell));
            }
            match &row.value {
                Value::Hist(_) | Value::LHist(_) => {
                    for (from, to, count) in buckets(&row.value) {
                        let _ = writeln!(out, "{start},{},{},{count}{end}", number(from), number(to));
                    }
                }
                Value::TSeries(series) => {
                    for (at, value) in &series.points {
                        let _ = writeln!(out, "{start},{at},{},{}{end}", at + series.interval_ns, number(*value));
                    }
                }
                value => {
                    let _ = writeln!(out, "{start},,,{}{end}", value_cell(value));
                }
            }
        }
    }
    out
}

/// A value as JSON; numbers stay numbers, stacks are lists of frames.
pub(super) fn value_json(value: &Value) -> Json {
    match value {
        Value::None => Json::Null,
        Value::Bool(b) => json!(b),
        Value::Int(v, _) => json!(v),
        Value::Uint(v, _) => json!(v),
        Value::Enum { value, name: None } => json!(value),
        Value::Stack(stack) => json!(frames(stack)),
        Value::Array(items) | Value::Tuple(items) => Json::Array(items.iter().map(value_json).collect()),
        Value::Record(items) => {
            Json::Object(items.iter().map(|(n, v)| (n.as_ref().to_owned(), value_json(v))).collect())
        }
        Value::Avg(s) | Value::Stats(s) => json!({"count": s.count, "average": s.average(), "total": s.total}),
        Value::Hist(_) | Value::LHist(_) => {
            let bucket =
                |(from, to, count): (Option<i64>, Option<i64>, u64)| json!({"from": from, "to": to, "count": count});
            Json::Array(buckets(value).into_iter().map(bucket).collect())
        }
        Value::TSeries(s) => {
            let point = |(at, value): &(u64, Option<i64>)| json!({"start_ns": at, "value": value});
            Json::Array(s.points.iter().map(point).collect())
        }
        Value::Str(bytes) => json!(render::exact(bytes, |_| false)),
        other => json!(line(other)),
    }
}

const fn kind_of(kind: MapKind) -> &'static str {
    match kind {
        MapKind::Value => "value",
        MapKind::Count => "count",
        MapKind::Sum => "sum",
        MapKind::Min => "min",
        MapKind::Max => "max",
        MapKind::Avg => "avg",
        MapKind::Stats => "stats",
        MapKind::Hist => "hist",
        MapKind::LHist => "lhist",
        MapKind::TSeries => "tseries",
    }
}

/// Maps with what they are of: `sample` with how many firings ran and how many there were, `partial` where a probe was turned
/// off, `detached_after_s` where one was detached.
#[must_use]
pub fn maps_json(trace: &crate::store::TraceInfo, maps: &[MapSnapshot], of: &[PartialMap]) -> String {
    let mut all = Object::new();
    for map in maps {
        let rows: Vec<Json> = map
            .rows
            .iter()
            .map(|row| {
                let key: Vec<Json> = row.key.iter().map(value_json).collect();
                if map.keyed { json!({"key": key, "value": value_json(&row.value)}) } else { value_json(&row.value) }
            })
            .collect();
        let key: Vec<&str> = trace
            .maps
            .iter()
            .find(|m| m.name == map.name)
            .map_or_else(Vec::new, |m| m.key.iter().map(|c| &*c.name).collect());
        let contents = if map.keyed { Json::Array(rows) } else { rows.into_iter().next().unwrap_or(Json::Null) };
        let time = trace.wall_ns(map.at_ns);
        let mut object = json!({"kind": kind_of(map.kind), "read_ns": time, "key": key, "contents": contents});
        if let Some(part) = super::part(of, &map.name) {
            if part.throttled > 0 {
                object["sample"] = json!({"ran": part.ran, "fired": part.ran.saturating_add(part.throttled)});
            }
            if part.braked {
                object["partial"] = json!(true);
            }
            if let Some(ns) = part.detached_ns {
                object["detached_after_s"] = json!(ns as f64 / 1e9);
            }
        }
        all.insert(map.name.as_ref().to_owned(), object);
    }
    let whole = json!({
        "script": &*trace.name,
        "host": &*trace.host,
        "kernel": &*trace.kernel,
        "maps": all,
    });
    serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n"
}
