//! A trace for Perfetto: a track for each CPU and each thread that events name, one for losses and marks, and
//! counters of what maps held over time.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use super::Source;
use super::proto::Message;
use super::table::line;
use crate::model::render::neutralise;
use crate::model::snapshot::{MapKind, MapSnapshot};
use crate::model::stats::PartialMap;
use crate::model::value::Value;
use crate::store::{Column, Entry, Payload};

/// All packets are of one sequence.
const SEQUENCE: u64 = 1;
/// The kernel's monotonic clock, by Perfetto's number.
const MONOTONIC: u64 = 3;
const REALTIME: u64 = 1;
/// Keys of a map that get a counter each.
const COUNTERS: usize = 24;

/// Kinds of track event.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// What a track is of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Track {
    Cpu(u16),
    Thread(i64),
    Session,
    Counter(String),
    /// Slices of a thread that do not lie in those of the lanes before.
    Lane(i64, usize),
}

/// What an event says took some time.
struct Slice {
    begin_ns: u64,
    end_ns: u64,
    name: String,
    notes: Message,
}

/// The writer: tracks are told of before their first event.
struct Writer<'a> {
    source: &'a Source<'a>,
    out: Message,
    tracks: HashMap<Track, u64>,
    /// By thread.
    slices: BTreeMap<i64, Vec<Slice>>,
}

/// The trace; `None` where nothing would be seen in it.
#[must_use]
pub fn trace(source: &Source<'_>) -> Option<Vec<u8>> {
    let mut writer = Writer { source, out: Message::default(), tracks: HashMap::new(), slices: BTreeMap::new() };
    writer.clocks();
    writer.events();
    writer.slices();
    writer.counters();
    (!writer.tracks.is_empty()).then(|| writer.out.finish())
}

/// A name for a thread's events: its number and its command, where the values tell them.
fn thread_of(columns: &[Column], values: &[Value]) -> Option<(i64, Option<String>)> {
    let find = |names: &[&str]| {
        let at = columns.iter().position(|c| names.contains(&&*c.name))?;
        values.get(at)
    };
    let tid = find(&["tid", "pid"])?.as_number().and_then(|n| i64::try_from(n).ok())?;
    let comm = find(&["comm"]).map(line);
    Some((tid, comm))
}

/// How long what an event ends took, in ns, where the script computes it as such, or a value says so by its name.
fn duration_of(columns: &[Column], values: &[Value]) -> Option<u64> {
    columns.iter().zip(values).find_map(|(column, value)| {
        let name = column.name.trim_start_matches('$').to_ascii_lowercase();
        let unit = |suffix: &str| name == suffix || name.ends_with(&format!("_{suffix}"));
        let named = [("ns", 1), ("us", 1000), ("ms", 1_000_000)].iter().find(|(s, _)| unit(s)).map(|(_, n)| *n);
        let scale = column.duration_unit_ns.or(named)?;
        let number = u64::try_from(value.as_number()?).ok()?;
        number.checked_mul(scale).filter(|ns| *ns > 0)
    })
}

impl Writer<'_> {
    fn packet(&mut self, at_ns: u64, field: u32, message: &Message) {
        let mut packet = Message::default();
        packet.number(8, at_ns);
        packet.number(58, MONOTONIC);
        packet.number(10, SEQUENCE);
        packet.message(field, message);
        self.out.message(1, &packet);
    }

    /// What the times are of: both clocks at the begin of the trace.
    fn clocks(&mut self) {
        let began = self.source.trace.began_ns;
        let mut snapshot = Message::default();
        for (id, at) in [(MONOTONIC, began), (REALTIME, self.source.trace.wall_ns(began).max(0) as u64)] {
            let mut clock = Message::default();
            clock.number(1, id);
            clock.number(2, at);
            snapshot.message(1, &clock);
        }
        snapshot.number(2, MONOTONIC);
        self.packet(began, 6, &snapshot);
    }

    fn track(&mut self, track: Track, name: &str) -> u64 {
        if let Some(uuid) = self.tracks.get(&track) {
            return *uuid;
        }
        let uuid = self.tracks.len() as u64 + 1;
        let mut descriptor = Message::default();
        descriptor.number(1, uuid);
        descriptor.text(2, name);
        match &track {
            Track::Thread(tid) => {
                let mut thread = Message::default();
                thread.signed(1, *tid);
                thread.signed(2, *tid);
                thread.text(5, name);
                descriptor.message(4, &thread);
            }
            Track::Counter(_) => descriptor.message(8, &Message::default()),
            Track::Lane(tid, _) => {
                let thread = self.tracks.get(&Track::Thread(*tid)).copied();
                thread.into_iter().for_each(|uuid| descriptor.number(5, uuid));
            }
            _ => {}
        }
        self.tracks.insert(track, uuid);
        self.packet(self.source.trace.began_ns, 60, &descriptor);
        uuid
    }

    fn events(&mut self) {
        let (history, source) = (self.source.history, self.source);
        history.visit(history.entries(), &mut |_, entry| {
            let head = entry.head();
            if head.at_ns > source.at_ns {
                return ControlFlow::Break(());
            }
            let own = head.trace == source.trace.id || head.trace == crate::store::TraceId::SESSION;
            if own
                && head.kind.has_rows()
                && let Some(entry) = entry.entry()
            {
                self.event(&entry);
            }
            ControlFlow::Continue(())
        });
    }

    fn event(&mut self, entry: &Entry) {
        let Payload::Event { action, values } = &entry.payload else { return self.text(entry) };
        let trace = self.source.trace;
        let columns = trace.action(*action).map_or(&[][..], |a| &a.columns);
        let probe = trace.probe(Some(*action));
        let name = if probe.is_empty() { "event" } else { probe };
        let thread = thread_of(columns, values);
        let uuid = match (&thread, entry.cpu) {
            (Some((tid, comm)), _) => {
                let comm = comm.as_deref().unwrap_or("thread");
                self.track(Track::Thread(*tid), &format!("{comm} {tid}"))
            }
            (None, Some(cpu)) => self.track(Track::Cpu(cpu), &format!("CPU {cpu}")),
            (None, None) => self.track(Track::Session, "probescope"),
        };
        if let (Some(ns), Some((tid, _))) = (duration_of(columns, values), &thread) {
            let mut notes = Message::default();
            annotate(&mut notes, columns, values);
            let begin_ns = entry.at_ns.saturating_sub(ns);
            let slice = Slice { begin_ns, end_ns: entry.at_ns, name: name.to_owned(), notes };
            self.slices.entry(*tid).or_default().push(slice);
        } else {
            let mut event = named(INSTANT, uuid, name);
            annotate(&mut event, columns, values);
            self.packet(entry.at_ns, 11, &event);
        }
        // The CPU that it happened on, where it stands with its thread.
        if let (Some(_), Some(cpu)) = (&thread, entry.cpu) {
            let uuid = self.track(Track::Cpu(cpu), &format!("CPU {cpu}"));
            self.packet(entry.at_ns, 11, &named(INSTANT, uuid, name));
        }
    }

    /// Slices of a track lie in one another or apart: those that only overlap go to lanes of their own. Events of one
    /// thread of a process that are told of by the process's number do, and rounded durations.
    fn slices(&mut self) {
        for (tid, mut slices) in std::mem::take(&mut self.slices) {
            slices.sort_by_key(|s| (s.begin_ns, std::cmp::Reverse(s.end_ns)));
            let mut lanes: Vec<Vec<u64>> = Vec::new();
            for slice in slices {
                let mut lane = 0;
                loop {
                    if lane == lanes.len() {
                        lanes.push(Vec::new());
                    }
                    self.end_before(tid, lane, &mut lanes[lane], slice.begin_ns);
                    if lanes[lane].last().is_none_or(|end| *end >= slice.end_ns) {
                        break;
                    }
                    lane += 1;
                }
                let uuid = self.lane(tid, lane);
                let mut begin = named(SLICE_BEGIN, uuid, &slice.name);
                begin.join(slice.notes);
                self.packet(slice.begin_ns, 11, &begin);
                lanes[lane].push(slice.end_ns);
            }
            for (lane, mut open) in lanes.into_iter().enumerate() {
                self.end_before(tid, lane, &mut open, u64::MAX);
            }
        }
    }

    fn lane(&mut self, tid: i64, lane: usize) -> u64 {
        if lane == 0 {
            return self.track(Track::Thread(tid), "thread");
        }
        self.track(Track::Lane(tid, lane), "at the same time")
    }

    /// Ends the innermost slices of a lane that are over by a time.
    fn end_before(&mut self, tid: i64, lane: usize, open: &mut Vec<u64>, at_ns: u64) {
        while let Some(end_ns) = open.last().copied().filter(|end| *end <= at_ns) {
            open.pop();
            let mut end = Message::default();
            end.number(9, SLICE_END);
            end.number(11, self.lane(tid, lane));
            self.packet(end_ns, 11, &end);
        }
    }

    /// What is no event with values: text, losses, marks.
    fn text(&mut self, entry: &Entry) {
        let mut text = Vec::new();
        crate::store::write_text(Some(self.source.trace), entry, &mut text);
        let text = String::from_utf8_lossy(&text);
        let uuid = self.track(Track::Session, "probescope");
        self.packet(entry.at_ns, 11, &named(INSTANT, uuid, text.trim_end()));
    }

    /// A counter for each number of the maps, as they were read.
    fn counters(&mut self) {
        let (history, source) = (self.source.history, self.source);
        let largest = history.maps_at(source.trace.id, source.at_ns);
        let chosen: BTreeMap<String, Vec<String>> = largest
            .iter()
            .flat_map(|maps| maps.iter())
            .map(|map| (map.name.as_ref().to_owned(), keys_of(map)))
            .collect();
        let parts = source.parts();
        history.readings(source.trace.id, 0..source.at_ns.saturating_add(1), &mut |_, maps| {
            for map in maps {
                let Some(keys) = chosen.get(&*map.name) else { continue };
                for row in &map.rows {
                    let key: Vec<String> = row.key.iter().map(line).collect();
                    let name =
                        if map.keyed { format!("{}[{}]", map.name, key.join(", ")) } else { map.name.to_string() };
                    let Some(value) = row.value.as_number().filter(|_| keys.contains(&name)) else { continue };
                    let uuid = self.track(Track::Counter(name.clone()), &shown(&name, super::part(&parts, &map.name)));
                    let mut event = Message::default();
                    event.number(9, COUNTER);
                    event.number(11, uuid);
                    event.signed(30, i64::try_from(value).unwrap_or(i64::MAX));
                    self.packet(map.at_ns, 11, &event);
                }
            }
            ControlFlow::Continue(())
        });
    }
}

/// A counter's name, with what its map is of.
fn shown(name: &str, part: Option<&PartialMap>) -> String {
    let name = neutralise(name);
    part.map_or_else(|| name.to_string(), |part| format!("{name} ({})", part.sentence()))
}

/// The counters of a map: its largest keys.
fn keys_of(map: &MapSnapshot) -> Vec<String> {
    if matches!(map.kind, MapKind::TSeries) {
        return Vec::new();
    }
    let name = |row: &crate::model::snapshot::MapRow| {
        let key: Vec<String> = row.key.iter().map(line).collect();
        if map.keyed { format!("{}[{}]", map.name, key.join(", ")) } else { map.name.to_string() }
    };
    let numbers = map.rows.iter().rev().filter(|r| r.value.as_number().is_some());
    // Stacks make no names of counters.
    numbers.filter(|r| !r.key.iter().any(|v| matches!(v, Value::Stack(_)))).take(COUNTERS).map(name).collect()
}

fn named(kind: u64, track: u64, name: &str) -> Message {
    let mut event = Message::default();
    event.number(9, kind);
    event.number(11, track);
    event.text(23, &neutralise(name));
    event
}

/// The values of an event, by the names of their columns.
fn annotate(event: &mut Message, columns: &[Column], values: &[Value]) {
    for (column, value) in columns.iter().zip(values) {
        let mut annotation = Message::default();
        annotation.text(10, &column.name);
        match value {
            Value::Int(v, _) => annotation.signed(4, *v),
            Value::Uint(v, _) => annotation.number(3, *v),
            Value::Pointer(v) => annotation.number(7, *v),
            Value::Bool(b) => annotation.number(2, u64::from(*b)),
            other => annotation.text(6, &line(other)),
        }
        event.message(4, &annotation);
    }
}
