//! The rows of each view as texts, sorted.

use std::cmp::Ordering;

use super::{SystemPane, View};
use crate::model::bpf::{BpfMap, BpfProgram, Holder};
use crate::tui::base::text::{grouped, neutralise, short_count};
use crate::tui::data::Data;

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub title: &'static str,
    /// Cells on the screen; 0 for those that share what is left.
    pub width: usize,
    /// Numbers end at the right.
    pub is_number: bool,
    /// What is left out first where room is short: the highest.
    pub rank: u8,
}

const fn text(title: &'static str, width: usize, rank: u8) -> Column {
    Column { title, width, is_number: false, rank }
}

const fn number(title: &'static str, width: usize, rank: u8) -> Column {
    Column { title, width, is_number: true, rank }
}

const PROGRAMS: &[Column] = &[
    number("id", 6, 0),
    text("type", 12, 3),
    text("name", 15, 0),
    number("cpu %", 8, 0),
    number("events/s", 9, 1),
    number("ns/event", 8, 1),
    number("bytes", 10, 5),
    text("held by", 20, 4),
    text("attached to", 0, 2),
];

const MAPS: &[Column] = &[
    number("id", 6, 0),
    text("type", 16, 1),
    text("name", 15, 0),
    number("key", 5, 3),
    number("value", 7, 3),
    number("entries", 9, 2),
    number("bytes", 12, 1),
    text("held by", 20, 4),
    text("key → value", 0, 5),
];

const ENTRIES: &[Column] = &[text("key", 0, 0), text("value", 0, 0)];
const CODE: &[Column] = &[text("instruction", 0, 0)];

/// The columns of a view.
#[must_use]
pub const fn columns(view: View) -> &'static [Column] {
    match view {
        View::Programs => PROGRAMS,
        View::Maps => MAPS,
        View::Entries(_) => ENTRIES,
        View::Code(_) => CODE,
    }
}

/// A row.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The object's id.
    pub id: u32,
    /// A text a column, safe to draw.
    pub cells: Vec<String>,
    /// What is sorted by where the column is a number.
    numbers: Vec<Option<f64>>,
}

/// How many rows a view has.
pub fn count(pane: &SystemPane, data: &Data) -> usize {
    let loaded = &data.loaded;
    match pane.view {
        View::Programs => loaded.now.as_ref().map_or(0, |now| now.programs.len()),
        View::Maps => loaded.now.as_ref().map_or(0, |now| now.maps.len()),
        View::Entries(id) => match &loaded.contents {
            Some((of, Ok(contents))) if *of == id => contents.entries.len(),
            _ => 0,
        },
        View::Code(id) => match &loaded.code {
            Some((of, Ok(lines))) if *of == id => lines.len(),
            _ => 0,
        },
    }
}

/// The rows in the order shown.
pub fn rows(pane: &SystemPane, data: &Data) -> Vec<Row> {
    let loaded = &data.loaded;
    let mut rows: Vec<Row> = match (pane.view, &loaded.now) {
        (View::Programs, Some(now)) => now.programs.iter().map(|p| program(p, data)).collect(),
        (View::Maps, Some(now)) => now.maps.iter().map(map).collect(),
        (View::Entries(id), _) => return entries(data, id),
        (View::Code(id), _) => return code(data, id),
        _ => return Vec::new(),
    };
    let (column, order) = (pane.sort[pane.order()], pane.descending[pane.order()]);
    let is_number = columns(pane.view).get(column).is_some_and(|c| c.is_number);
    let compare = |a: &Row, b: &Row| -> Ordering {
        let number = |row: &Row| row.numbers.get(column).copied().flatten().unwrap_or(-1.0);
        if is_number { number(a).total_cmp(&number(b)) } else { a.cells.get(column).cmp(&b.cells.get(column)) }
    };
    // By id among equals, whichever way the rest goes.
    rows.sort_by(|a, b| if order { compare(b, a) } else { compare(a, b) });
    rows
}

fn safe(text: &str) -> String {
    neutralise(text).into_owned()
}

fn holders(holders: &[Holder]) -> String {
    holders.iter().map(|h| format!("{}/{}", safe(&h.comm), h.pid)).collect::<Vec<_>>().join(", ")
}

fn bytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "–".to_owned(), grouped)
}

fn program(program: &BpfProgram, data: &Data) -> Row {
    let rate = data.loaded.rate(program.id);
    let figure = |value: Option<f64>, text: fn(f64) -> String| value.map_or_else(|| "–".to_owned(), text);
    let (percent, per_second) = (rate.map(|r| r.cpu_percent), rate.map(|r| r.events_per_second));
    let ns = rate.map(|r| r.ns_per_event).filter(|_| per_second.is_some_and(|n| n > 0.0));
    let number = |value: u64| Some(value as f64);
    Row {
        id: program.id,
        cells: vec![
            program.id.to_string(),
            safe(&program.kind),
            safe(&program.name),
            figure(percent, |v| format!("{v:.3}")),
            figure(per_second, short_count),
            figure(ns, |v| format!("{v:.0}")),
            bytes(program.memory_bytes),
            holders(&program.holders),
            safe(&program.attached.join(", ")),
        ],
        numbers: vec![
            number(program.id.into()),
            None,
            None,
            percent,
            per_second,
            ns,
            program.memory_bytes.and_then(number),
        ],
    }
}

fn map(map: &BpfMap) -> Row {
    let types = [&map.key_type, &map.value_type].map(|ty| ty.as_deref().unwrap_or("?"));
    let types = if types == ["?", "?"] { String::new() } else { types.join(" → ") };
    let number = |value: u64| Some(value as f64);
    Row {
        id: map.id,
        cells: vec![
            map.id.to_string(),
            safe(&map.kind),
            safe(&map.name),
            map.key_bytes.to_string(),
            map.value_bytes.to_string(),
            grouped(map.max_entries.into()),
            bytes(map.memory_bytes),
            holders(&map.holders),
            safe(&types),
        ],
        numbers: vec![
            number(map.id.into()),
            None,
            None,
            number(map.key_bytes.into()),
            number(map.value_bytes.into()),
            number(map.max_entries.into()),
            map.memory_bytes.and_then(number),
        ],
    }
}

fn entries(data: &Data, id: u32) -> Vec<Row> {
    let Some((of, Ok(contents))) = &data.loaded.contents else { return Vec::new() };
    let shown = contents.entries.iter().filter(|_| *of == id);
    let cells = |entry| vec![safe(&contents.key_text(entry)), safe(&contents.value_text(entry))];
    shown.map(|entry| Row { id, cells: cells(entry), numbers: Vec::new() }).collect()
}

fn code(data: &Data, id: u32) -> Vec<Row> {
    let Some((of, Ok(lines))) = &data.loaded.code else { return Vec::new() };
    let shown = lines.iter().filter(|_| *of == id);
    shown.map(|line| Row { id, cells: vec![safe(line)], numbers: Vec::new() }).collect()
}
