//! Records of D programs: what a clause recorded is printed as one piece, and what it does to aggregations is done
//! when its turn comes.

mod held;
mod speculations;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use crate::disk::{Output, Readers};
use crate::engine::Trace;
use crate::engine::decode::{Decoder, Header};
use crate::lang::typed::{MapId, Program};
use crate::lang::types::{Aggregation, Type};
use crate::model::d::options::Options;
use crate::model::d::{FAILED_SPECULATIONS, Format, Item, Record, Setting, Style};
use crate::model::histogram::{Linear, Log2, QUANTIZE_BUCKETS, linear_buckets};
use crate::model::render::d::{self, Flow, Row};
use crate::model::render::value_into;
use crate::model::snapshot::MapSnapshot;
use crate::model::value::Value;
use crate::tracer::TracerError;
use crate::tracer::report::{Face, Report, TextKind};
use held::Held;
use speculations::Speculations;

/// What printing goes by.
#[derive(Debug, Default)]
pub struct Records {
    /// How deep the entries and returns of each processor are.
    flows: HashMap<u16, Flow>,
    /// The line above the columns was printed.
    began: bool,
    /// What the values of aggregations are divided by.
    norms: HashMap<u32, i64>,
    /// What was recorded in speculations that are neither committed nor discarded.
    speculations: Speculations,
    /// It was told that speculations have no room left.
    told_of_room: bool,
    /// Aggregations that the program printed itself: they are not printed at its end.
    printed: HashSet<u32>,
    /// The style, once the program has set an option of it.
    style: Option<Style>,
    /// What `setopt` of the record at hand could not set.
    refused: Vec<String>,
    /// Records that wait for the end (`bufpolicy`).
    held: Held,
    /// Where output goes instead (`freopen`).
    reopened: Reopened,
}

/// What stands behind a record.
pub struct Context<'a> {
    pub program: &'a Program,
    pub trace: &'a Trace,
    pub decoder: &'a mut Decoder,
}

impl Context<'_> {
    fn read(&mut self, map: u32) -> Result<MapSnapshot, TracerError> {
        Ok(self.trace.read_map(MapId(map), self.decoder)?)
    }
}

impl Records {
    /// Prints a record.
    pub fn record(
        &mut self,
        record: &Record,
        header: Header,
        values: &[Value],
        context: &mut Context<'_>,
        face: &mut dyn Face,
    ) -> Result<(), TracerError> {
        let style = self.style(context);
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.began, true) && !style.bare {
            d::header(style, &mut out);
        }
        let mut own = Vec::new();
        let (id, name) = probe(context.program, header, values);
        let who = d::Firing { cpu: u32::from(header.cpu), id, probe: name };
        // What only ends speculations prints nothing of its own.
        if record.items.is_empty() || record.items.iter().any(|item| !ends_speculation(item)) {
            if style.bare {
                self.line(record, values, context, &mut own)?;
            } else if style.flowindent {
                self.flows.entry(header.cpu).or_default().prefix(style, &who, header.action, &mut own);
            } else {
                d::prefix(style, &who, &mut own);
            }
            if !style.bare {
                for item in &record.items {
                    self.item(item, values, context, &mut own)?;
                }
            }
            if !style.bare && (!style.quiet || style.flowindent) {
                own.push(b'\n');
            }
        }
        let settled = self.speculations.settle(record, values, own);
        out.extend(self.held.take(style.policy, settled).unwrap_or_default());
        self.tell_of_room(face)?;
        self.print(&out, face)?;
        for refused in std::mem::take(&mut self.refused) {
            let clause = record.clause;
            let text = format!("dtrace: error in dt_clause_{clause} for probe ID {id} ({}): {refused}\n\n", who.probe);
            face.report(&Report::Text { kind: TextKind::Fault, text: text.as_bytes() })?;
        }
        for item in &record.items {
            if let Item::Reopen { format, first } = item {
                self.reopen(format, values.get(*first..).unwrap_or(&[]), style, face)?;
            }
        }
        Ok(())
    }

    /// How records are printed now.
    fn style(&self, context: &Context<'_>) -> Style {
        self.style.unwrap_or(context.program.style)
    }

    /// To where output goes now.
    fn print(&mut self, text: &[u8], face: &mut dyn Face) -> Result<(), TracerError> {
        if text.is_empty() {
            return Ok(());
        }
        if let Some(file) = &mut self.reopened.0 {
            return file.write_all(text).map_err(TracerError::Write);
        }
        face.report(&Report::Text { kind: TextKind::Record, text })?;
        Ok(())
    }

    /// `freopen`: an empty name leads back to where output went first.
    fn reopen(
        &mut self,
        format: &Format,
        values: &[Value],
        style: Style,
        face: &mut dyn Face,
    ) -> Result<(), TracerError> {
        let mut path = Vec::new();
        d::printf(style, format, values, &mut path);
        if path.is_empty() {
            self.reopened.turn(None).map_err(TracerError::Write)?;
            return Ok(());
        }
        let path = std::path::PathBuf::from(String::from_utf8_lossy(&path).into_owned());
        match Output::growing(&path, Readers::Everyone) {
            Ok(file) => self.reopened.turn(Some(file)).map_err(TracerError::Write)?,
            Err(error) => {
                let text = format!("dtrace: failed to freopen() \"{}\": {error}\n", path.display());
                face.report(&Report::Text { kind: TextKind::Fault, text: text.as_bytes() })?;
            }
        }
        Ok(())
    }

    /// `setopt`
    fn set_option(&mut self, name: &str, value: Option<&str>, style: Style) {
        let mut options = Options {
            quiet: style.quiet,
            flowindent: style.flowindent,
            aggsortkey: style.order.by_key,
            aggsortrev: style.order.reversed,
            aggsortpos: style.order.position as u32,
            aggsortkeypos: style.order.key_position as u32,
            stackindent: style.stack_indent,
            ..Options::default()
        };
        match options.set_dynamic(name, value) {
            Ok(()) => {
                let changed = options.styled(style);
                self.style = Some(Style { raw_bytes: style.raw_bytes, policy: style.policy, ..changed });
            }
            Err(why) => {
                let value = value.unwrap_or("1");
                self.refused.push(format!("couldn't set option \"{name}\" to \"{value}\": {why}"));
            }
        }
    }

    /// Tells once that speculations are full.
    fn tell_of_room(&mut self, face: &mut dyn Face) -> Result<(), TracerError> {
        if self.speculations.dropped() == 0 || std::mem::replace(&mut self.told_of_room, true) {
            return Ok(());
        }
        let text =
            b"dtrace: speculations hold 16 MiB: what is recorded in them is lost until one is committed or discarded\n";
        face.report(&Report::Text { kind: TextKind::Fault, text })?;
        Ok(())
    }

    /// What a record prints, as lines of their own.
    fn line(
        &mut self,
        record: &Record,
        values: &[Value],
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), TracerError> {
        let mut text = Vec::new();
        for item in &record.items {
            text.clear();
            self.item(item, values, context, &mut text)?;
            let blank = |b: &u8| *b == b' ' || *b == b'\n';
            if let Item::Trace(_) | Item::Symbol(_) | Item::Printa { format: None, .. } = item {
                let first = text.iter().position(|b| !blank(b)).unwrap_or(text.len());
                let end = text.iter().rposition(|b| !blank(b)).map_or(first, |last| last + 1);
                if !out.is_empty() && !out.ends_with(b"\n") && first < end {
                    out.push(b' ');
                }
                out.extend_from_slice(&text[first..end]);
            } else {
                out.extend_from_slice(&text);
            }
        }
        if !out.ends_with(b"\n") {
            out.push(b'\n');
        }
        Ok(())
    }

    fn item(
        &mut self,
        item: &Item,
        values: &[Value],
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), TracerError> {
        let style = self.style(context);
        let number = |at: usize| values.get(at).and_then(Value::as_number).unwrap_or(0) as i64;
        match item {
            Item::Trace(at) => d::trace(style, values.get(*at).unwrap_or(&Value::None), out),
            Item::Symbol(at) => d::symbol(values.get(*at).unwrap_or(&Value::None), out),
            Item::Printf { format, first } => {
                d::printf(style, format, values.get(*first..).unwrap_or(&[]), out);
            }
            Item::Printa { format, maps } => {
                let snapshots = maps.iter().map(|m| context.read(*m)).collect::<Result<Vec<_>, _>>()?;
                let empty = empty_histograms(context.program, maps);
                let mut rows = self.rows(maps, &snapshots, &empty);
                style.order.sort(&mut rows);
                if let Some(format) = format {
                    d::printa(style, format, &rows, out);
                } else {
                    out.push(b'\n');
                    d::table(style, &rows, out);
                }
                self.printed.extend(maps);
            }
            Item::Clear(map) => context.trace.zero_map(MapId(*map))?,
            Item::Trunc(map, None) => context.trace.clear_map(MapId(*map))?,
            Item::Trunc(map, Some(at)) => match number(*at) {
                0 => context.trace.clear_map(MapId(*map))?,
                keep => context.trace.truncate_map(MapId(*map), keep)?,
            },
            Item::Normalize(map, at) => {
                self.norms.insert(*map, number(*at));
            }
            Item::Denormalize(map) => {
                self.norms.remove(map);
            }
            Item::System { format, first } => {
                let mut command = Vec::new();
                d::printf(style, format, values.get(*first..).unwrap_or(&[]), &mut command);
                match super::reporter::shell(OsStr::from_bytes(&command)) {
                    Ok((_, said)) => out.extend(said),
                    Err(error) => {
                        let _ = write!(out, "system( ): cannot run /bin/sh: {error}");
                    }
                }
            }
            Item::SetOption { name, value } => {
                let value = match value {
                    Some(Setting::Constant(text)) => Some(text.to_string()),
                    Some(Setting::Value(at)) => {
                        let mut text = Vec::new();
                        value_into(values.get(*at).unwrap_or(&Value::None), &mut text);
                        Some(String::from_utf8_lossy(&text).into_owned())
                    }
                    None => None,
                };
                self.set_option(name, value.as_deref(), style);
            }
            Item::Speculate(_) | Item::Commit(_) | Item::Discard(_) | Item::Reopen { .. } | Item::Nothing => {}
        }
        Ok(())
    }

    /// The aggregations' rows, those of one key side by side.
    fn rows<'s>(&self, maps: &[u32], snapshots: &'s [MapSnapshot], empty: &'s [Option<Value>]) -> Vec<Row<'s>> {
        let norm = |map: u32| self.norms.get(&map).copied().unwrap_or(1);
        let mut rows: Vec<Row<'s>> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (position, (map, snapshot)) in maps.iter().zip(snapshots).enumerate() {
            for row in &snapshot.rows {
                let place = *places.entry(format!("{:?}", row.key)).or_insert_with(|| {
                    let none = |(at, map): (usize, &u32)| (empty.get(at).and_then(Option::as_ref), norm(*map));
                    rows.push(Row { key: &row.key, values: maps.iter().enumerate().map(none).collect() });
                    rows.len() - 1
                });
                if let Some(cell) = rows.get_mut(place).and_then(|r| r.values.get_mut(position)) {
                    *cell = (Some(&row.value), norm(*map));
                }
            }
        }
        rows
    }

    /// Tells of a fault that ended a clause.
    pub fn fault(
        &mut self,
        (clause, lines): (u32, &[u32]),
        header: Header,
        values: &[Value],
        program: &Program,
        face: &mut dyn Face,
    ) -> Result<(), TracerError> {
        let number = |at: usize| values.get(at).and_then(Value::as_number).unwrap_or(0);
        let (id, name) = probe(program, header, &[]);
        let line = lines.partition_point(|start| i128::from(*start) <= number(0) >> 8);
        let what = match number(0) & 255 {
            4 => "divide-by-zero".to_owned(),
            3 => "illegal operation".to_owned(),
            5 => "out of scratch space".to_owned(),
            10 => format!("invalid size ({:#x})", number(1)),
            11 => format!("index out of bounds ({})", number(1) as i64),
            _ => format!("invalid address ({:#x})", number(1)),
        };
        let mut text = Vec::new();
        let _ = writeln!(text, "dtrace: error in dt_clause_{clause} for probe ID {id} ({name}): {what} at line {line}");
        face.report(&Report::Text { kind: TextKind::Fault, text: &text })?;
        Ok(())
    }

    /// The end of the trace: a line break, then the aggregations that were not printed.
    pub fn end(&mut self, context: &mut Context<'_>, face: &mut dyn Face) -> Result<(), TracerError> {
        let mut out = self.held.release();
        out.push(b'\n');
        let mut maps: Vec<u32> = (0..context.program.maps.len() as u32).collect();
        if self.style(context).order.reversed {
            maps.reverse();
        }
        for map in maps {
            let is_aggregation = matches!(context.program.maps[map as usize].value, Type::Agg(_));
            if !is_aggregation || self.printed.contains(&map) {
                continue;
            }
            let snapshots = [context.read(map)?];
            let mut rows = self.rows(&[map], &snapshots, &[]);
            let style = self.style(context);
            style.order.sort(&mut rows);
            d::table(style, &rows, &mut out);
        }
        self.print(&out, face)?;
        let failed = context.program.maps.iter().position(|m| &*m.name == FAILED_SPECULATIONS);
        let Some(map) = failed else { return Ok(()) };
        let snapshot = context.read(map as u32)?;
        let count = snapshot.rows.first().and_then(|row| row.value.as_number()).unwrap_or(0);
        if count > 0 {
            let plural = if count == 1 { "" } else { "s" };
            let text = format!("dtrace: {count} failed speculation{plural} (no speculative buffer available)\n");
            face.report(&Report::Text { kind: TextKind::Fault, text: text.as_bytes() })?;
        }
        Ok(())
    }
}

/// Buckets of a linear histogram without a value, at most: as many as D's levels can be.
const MOST_EMPTY_BUCKETS: u32 = (1 << 16) + 2;

/// What histograms without a value print, where a key is in other aggregations only.
fn empty_histograms(program: &Program, maps: &[u32]) -> Vec<Option<Value>> {
    let empty = |map: &u32| match &program.maps.get(*map as usize)?.value {
        Type::Agg(Aggregation::Quantize) => {
            Some(Value::Hist(Arc::new(Log2 { bits: 0, counts: vec![0; QUANTIZE_BUCKETS] })))
        }
        Type::Agg(Aggregation::LHist { min, max, step }) => {
            let buckets = linear_buckets(*min, *max, *step).min(MOST_EMPTY_BUCKETS) as usize;
            Some(Value::LHist(Arc::new(Linear { min: *min, max: *max, step: *step, counts: vec![0; buckets] })))
        }
        _ => None,
    };
    maps.iter().map(empty).collect()
}

const fn ends_speculation(item: &Item) -> bool {
    matches!(item, Item::Commit(_) | Item::Discard(_))
}

/// Number and name of the probe that a record is of.
fn probe<'p>(program: &'p Program, header: Header, values: &[Value]) -> (u32, &'p str) {
    let name = |place: usize| program.probe_names.get(place).map_or("", |name| name);
    let own = values.first().and_then(Value::as_number).unwrap_or(0) as u32;
    if own != 0 {
        return (own, program.probe_ids.iter().position(|id| *id == own).map_or("", name));
    }
    let place = header.name as usize;
    (program.probe_ids.get(place).copied().unwrap_or(0), name(place))
}

/// Where `freopen` has led output to; the file is whole once that ends.
#[derive(Debug, Default)]
struct Reopened(Option<Output>);

impl Reopened {
    fn turn(&mut self, to: Option<Output>) -> std::io::Result<()> {
        std::mem::replace(&mut self.0, to).map_or(Ok(()), Output::commit)
    }
}

impl Drop for Reopened {
    fn drop(&mut self) {
        let _ = self.turn(None);
    }
}
