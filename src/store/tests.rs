//! What readers of a history rely on.

use std::sync::Arc;

use super::*;
use crate::lang::source::Span;
use crate::lang::typed::PrintfSink;
use crate::model::format::{Conversion, ConversionKind, Format, Length, Piece, Width};
use crate::model::stats::LossCause;
use crate::model::value::Value;

mod round_trip;

/// A trace whose one action prints a value with `%s` between two texts.
pub(crate) fn info(id: u32, before: &str, after: &str) -> Arc<TraceInfo> {
    let conversion = Conversion {
        left: false,
        plus: false,
        space: false,
        alternate: false,
        zero: false,
        width: Width::None,
        precision: None,
        length: Length::None,
        kind: ConversionKind::Str,
    };
    let literal = |text: &str| Piece::Literal(text.into());
    let format =
        Format { text: "".into(), pieces: vec![literal(before), Piece::Conversion(conversion), literal(after)] };
    let action = ActionInfo {
        kind: ActionKind::Printf { format, sink: PrintfSink::Out },
        span: Span::default(),
        expanded: Vec::new(),
        probe: "kprobe:f".into(),
        columns: Vec::new(),
        origin: None,
    };
    Arc::new(TraceInfo { id: TraceId(id), actions: vec![action], ..TraceInfo::default() })
}

pub(crate) fn event(trace: u32, at_ns: u64, text: &str) -> Entry {
    let values = vec![Value::Str(text.as_bytes().into())];
    Entry { trace: TraceId(trace), at_ns, cpu: Some(1), payload: Payload::Event { action: 0, values } }
}

pub(crate) fn mark(at_ns: u64, name: &str) -> Entry {
    Entry { trace: TraceId::SESSION, at_ns, cpu: None, payload: Payload::Mark(name.into()) }
}

pub(crate) fn lost(trace: u32, at_ns: u64, count: u64) -> Entry {
    let payload = Payload::Lost { cause: LossCause::RingFull, count, site: "kprobe:f".into(), span: Span::new(1, 2) };
    Entry { trace: TraceId(trace), at_ns, cpu: None, payload }
}

/// A store of these traces, with a chunk for each list.
fn store(infos: &[Arc<TraceInfo>], chunks: &[&[Entry]]) -> Store {
    let (mut builder, mut store) = (ChunkBuilder::new(), Store::default());
    for info in infos {
        builder.declare(info);
        store.declare(Arc::clone(info));
    }
    for entries in chunks {
        entries.iter().for_each(|e| builder.push(e));
        store.append(builder.finish().unwrap());
    }
    store
}

fn rows(history: &dyn History) -> Vec<String> {
    history.lines().map(|n| String::from_utf8(history.line_at(n).unwrap().text).unwrap()).collect()
}

#[test]
fn a_row_goes_on_in_the_next_event_of_its_trace() {
    let parts = [event(1, 10, "a"), event(2, 11, "other"), event(1, 12, "b\nc\n"), mark(13, "here")];
    let store = store(&[info(1, "", ""), info(2, "<", ">\n")], &[&parts[..1], &parts[1..]]);
    assert_eq!(rows(&store), ["ab", "<other>", "c", "here"]);
    let row = store.line_at(2).unwrap();
    assert_eq!((row.entry, row.part, row.at_ns, row.kind), (2, 0, 12, PayloadKind::Event));
    assert_eq!([0, 1, 2, 3].map(|entry| store.line_of(entry)), [0, 1, 2, 3]);
}

#[test]
fn steps_stop_where_they_are_told() {
    let s = 1_000_000_000;
    let first = [event(1, 0, "a"), event(1, s / 2, "b"), lost(1, s, 5)];
    let second = [event(1, s + s / 2, "c"), mark(2 * s, "m"), event(1, 9 * s, "d")];
    let store = store(&[info(1, "", "\n")], &[&first, &second]);
    assert_eq!(store.step(0, Stop::Event, Direction::Forward), Some(1));
    assert_eq!(store.step(3, Stop::Event, Direction::Back), Some(2));
    assert_eq!(store.step(0, Stop::Event, Direction::Back), None);
    assert_eq!(store.step(0, Stop::Mark, Direction::Forward), Some(4));
    assert_eq!(store.step(4, Stop::Mark, Direction::Forward), None);
    assert_eq!(store.step(5, Stop::Trouble, Direction::Back), Some(2));
    assert_eq!(store.step(0, Stop::Second, Direction::Forward), Some(2));
    assert_eq!(store.step(5, Stop::Second, Direction::Back), Some(4));
    assert_eq!(store.step(1, Stop::Second, Direction::Back), Some(0));
    assert_eq!(store.seek_time(s + 1), 3);
    assert_eq!(store.seek_time(99 * s), 6);
    let cursor = store.cursor(3).unwrap();
    assert_eq!(store.entry_at(cursor), Some(3));
    assert_eq!(store.entry_at(Cursor::At { at_ns: 3 * s, entry: 77 }), Some(4), "what stands at its time");
    assert_eq!(store.entry_at(Cursor::Live), Some(5));
}

#[test]
fn a_timeline_counts_everything_once() {
    let first: Vec<Entry> = (0..100).map(|n| event(1, n * 10, "x")).chain([lost(1, 999, 7)]).collect();
    let second: Vec<Entry> = (0..50).map(|n| event(1, 5000 + n, "x")).chain([mark(6000, "m")]).collect();
    let store = store(&[info(1, "", "\n")], &[&first, &second]);
    let (from, to) = store.span().unwrap();
    let buckets = store.timeline(from, to, 7);
    assert_eq!(buckets.iter().map(|b| b.events).sum::<u64>(), 150);
    assert_eq!(buckets.iter().map(|b| b.lost).sum::<u64>(), 7);
    assert_eq!(buckets.iter().map(|b| b.marks).sum::<u32>(), 1);
    assert_eq!(buckets[3], Bucket::default(), "nothing happened then");
}

#[test]
fn what_is_dropped_is_counted_by_trace() {
    let few = [event(1, 1, "a"), event(2, 2, "b"), event(1, 3, "c")];
    let mut store = store(&[info(1, "", "\n"), info(2, "", "\n")], &[&few, &[event(1, 9, "last")]]);
    store.set_budget(1);
    assert_eq!(store.trimmed().iter().map(|(t, n)| (t.0, *n)).collect::<Vec<_>>(), [(1, 2), (2, 1)]);
    assert_eq!((store.entries(), store.lines(), rows(&store)), (3..4, 3..4, vec!["last".to_owned()]));
    assert_eq!(store.entry(2), None);
}

#[test]
fn a_mark_stands_in_its_place_however_far_back_it_is_set() {
    let mut builder = ChunkBuilder::new();
    let mut store = Store::default();
    for first in (0..120_000).step_by(15_000) {
        (first..first + 15_000).for_each(|n| builder.push(&event(1, n, "x")));
        store.append(builder.finish().unwrap());
    }
    let bytes = store.bytes();
    builder.push(&mark(7, "far back"));
    store.append(builder.finish().unwrap());
    assert_eq!(store.entry(8), Some(mark(7, "far back")));
    assert_eq!(store.entries(), 0..120_001);
    assert_eq!(store.step(100_000, Stop::Mark, Direction::Back), Some(8));
    let counted: usize = store.chunks().map(|chunk| chunk.bytes()).sum();
    assert!(store.bytes() == counted && counted > bytes);
}
