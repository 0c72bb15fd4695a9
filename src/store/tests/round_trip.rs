//! Everything that goes into a chunk comes out of it as it was.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::lang::diagnostic::{Code, Diagnostic};
use crate::model::format::{Conversion, ConversionKind, Format, Length, Piece, Width};
use crate::model::histogram::{Linear, Log2};
use crate::model::latency::CpuSample;
use crate::model::snapshot::{MapKind, MapRow, MapSnapshot};
use crate::model::stats::{Loss, PartialMap, ProbeStats, TraceStats};
use crate::model::task::TaskReport;
use crate::model::value::{Frame, Series, Stack, StackStyle, Summary as Sums};

fn text() -> impl Strategy<Value = Arc<str>> {
    prop_oneof!["[a-c\n]{0,3}", "\\PC{0,12}"].prop_map(|t| t.as_str().into())
}

fn bytes() -> impl Strategy<Value = Arc<[u8]>> {
    prop_oneof![vec(any::<u8>(), 0..20), Just(b"bash".to_vec()), Just(b"a\nb\n".to_vec())].prop_map(Into::into)
}

fn counts() -> impl Strategy<Value = Vec<u64>> {
    vec(prop_oneof![Just(0), Just(0), any::<u64>()], 0..40)
}

fn sums() -> impl Strategy<Value = Sums> {
    (any::<i64>(), any::<u64>(), any::<bool>()).prop_map(|(total, count, signed)| Sums { total, count, signed })
}

fn stack() -> impl Strategy<Value = Stack> {
    let frame = (any::<u64>(), proptest::option::of(text()), 0_u64..9, proptest::option::of(text()), any::<bool>())
        .prop_map(|(address, symbol, offset, object, inlined)| Frame { address, symbol, offset, object, inlined });
    let mode = prop_oneof![
        Just(StackStyle::Bpftrace),
        Just(StackStyle::Perf),
        Just(StackStyle::Raw),
        Just(StackStyle::BuildId)
    ];
    (vec(frame, 0..4), mode, any::<bool>()).prop_map(|(frames, mode, missing)| Stack {
        frames: frames.into(),
        mode,
        missing,
    })
}

pub(super) fn value() -> impl Strategy<Value = Value> {
    let size = prop_oneof![Just(1_u8), Just(4), Just(8)];
    let points = vec((any::<u64>(), proptest::option::of(any::<i64>())), 0..4);
    let leaf = prop_oneof![
        Just(Value::None),
        any::<bool>().prop_map(Value::Bool),
        (prop_oneof![any::<i64>(), -20_i64..20], size.clone()).prop_map(|(v, s)| Value::Int(v, s)),
        (prop_oneof![any::<u64>(), 0_u64..20], size).prop_map(|(v, s)| Value::Uint(v, s)),
        any::<u64>().prop_map(Value::Pointer),
        (any::<i64>(), proptest::option::of(text())).prop_map(|(value, name)| Value::Enum { value, name }),
        bytes().prop_map(Value::Str),
        bytes().prop_map(Value::Bytes),
        (text(), any::<u64>()).prop_map(|(t, raw)| Value::Text(t, raw)),
        stack().prop_map(Value::Stack),
        sums().prop_map(Value::Avg),
        sums().prop_map(Value::Stats),
        (0_u8..6, counts()).prop_map(|(bits, counts)| Value::Hist(Arc::new(Log2 { bits, counts }))),
        (any::<[i64; 3]>(), counts()).prop_map(|([min, max, step], counts)| Value::LHist(Arc::new(Linear {
            min,
            max,
            step,
            counts
        }))),
        (any::<u64>(), points, any::<bool>()).prop_map(|(interval_ns, points, signed)| {
            Value::TSeries(Arc::new(Series { interval_ns, points, signed }))
        }),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|v| Value::Array(v.into())),
            (inner.clone(), 0_usize..5).prop_map(|(v, n)| Value::Array(vec![v; n].into())),
            vec(inner.clone(), 0..4).prop_map(|v| Value::Tuple(v.into())),
            vec((text(), inner), 0..4).prop_map(|v| Value::Record(v.into())),
        ]
    })
}

fn row() -> impl Strategy<Value = MapRow> {
    let key = prop_oneof![(0_u64..6).prop_map(|n| Value::Uint(n, 8)), value()];
    let of = prop_oneof![(0_i64..4).prop_map(|n| Value::Int(n, 8)), value()];
    (vec(key, 0..2), of).prop_map(|(key, value)| MapRow { key, value })
}

fn map() -> impl Strategy<Value = MapSnapshot> {
    let kind = prop_oneof![Just(MapKind::Value), Just(MapKind::Count), Just(MapKind::Hist), Just(MapKind::TSeries)];
    ("@[ab]", kind, any::<bool>(), vec(row(), 0..8), any::<u32>(), any::<u64>()).prop_map(
        |(name, kind, keyed, rows, capacity, at_ns)| MapSnapshot {
            name: name.as_str().into(),
            kind,
            keyed,
            rows,
            capacity,
            at_ns,
        },
    )
}

fn stats() -> impl Strategy<Value = TraceStats> {
    let loss = (text(), any::<(u32, u32)>(), any::<u64>()).prop_map(|(site, span, count)| Loss {
        cause: LossCause::Nested,
        site,
        span,
        count,
    });
    let probe = ("[ab]", any::<u32>(), any::<Option<u64>>(), any::<Option<u64>>(), 0_u64..3).prop_map(
        |(name, attached, runs, run_time_ns, misses)| ProbeStats {
            name: name.as_str().into(),
            attached,
            runs,
            run_time_ns,
            misses,
        },
    );
    let part = ("@[ab]", any::<[u64; 2]>(), any::<bool>(), any::<Option<u64>>()).prop_map(
        |(map, [ran, throttled], braked, detached_ns)| PartialMap {
            map: map.as_str().into(),
            ran,
            throttled,
            braked,
            detached_ns,
        },
    );
    (any::<[u64; 2]>(), vec(loss, 0..3), vec(probe, 0..3), vec(part, 0..2))
        .prop_map(|([at_ns, delivered], losses, probes, parts)| TraceStats { at_ns, delivered, losses, probes, parts })
}

fn payload() -> impl Strategy<Value = Payload> {
    let span = || any::<(u32, u32)>().prop_map(|(start, end)| Span { start, end });
    prop_oneof![
        4 => (0_u32..4, vec(value(), 0..4)).prop_map(|(action, values)| Payload::Event { action, values }),
        1 => (0_u32..70, bytes()).prop_map(|(action, text)| Payload::Text { action, text }),
        1 => (0_u32..70, map()).prop_map(|(action, map)| Payload::Print { action, map: Arc::new(map) }),
        2 => vec(map(), 0..3).prop_map(|maps| Payload::Maps(maps.into())),
        2 => stats().prop_map(|stats| Payload::Stats(Arc::new(stats))),
        1 => (any::<u64>(), text(), span()).prop_map(|(count, site, span)| Payload::Lost {
            cause: LossCause::MapFull,
            count,
            site,
            span
        }),
        1 => (any::<u32>(), any::<i32>(), span()).prop_map(|(helper, code, span)| Payload::Failure {
            cause: LossCause::HelperFailed,
            helper,
            code,
            span
        }),
        1 => (text(), span()).prop_map(|(t, span)| {
            Payload::Diagnostic(Arc::new(Diagnostic::warning(Code(7), span, &*t).help("do so").fix(span, "x")))
        }),
        1 => (any::<i32>(), any::<bool>())
            .prop_map(|(code, prints_maps)| Payload::Lifecycle(Lifecycle::Ended { code, prints_maps })),
        1 => text().prop_map(|reason| Payload::Lifecycle(Lifecycle::Failed { reason })),
        1 => text().prop_map(Payload::Mark),
        1 => any::<(u32, u64)>().prop_map(|(cpu, began_ns)| {
            Payload::CpuSample(Arc::new(CpuSample { cpu, began_ns, ..CpuSample::default() }))
        }),
        1 => any::<(u64, String)>().prop_map(|(watched_ns, chosen)| {
            Payload::Task(Arc::new(TaskReport { chosen, watched_ns, ..TaskReport::default() }))
        }),
    ]
}

pub(super) fn entry() -> impl Strategy<Value = Entry> {
    let at = prop_oneof![any::<u64>(), 1000_u64..1100];
    (0_u32..3, at, any::<Option<u16>>(), payload()).prop_map(|(trace, at_ns, cpu, payload)| Entry {
        trace: TraceId(trace),
        at_ns,
        cpu,
        payload,
    })
}

/// Formats of all kinds, for trace 1.
fn formats() -> impl Strategy<Value = Arc<TraceInfo>> {
    let kinds = [
        ConversionKind::Signed,
        ConversionKind::HexLower,
        ConversionKind::Char,
        ConversionKind::Str,
        ConversionKind::Bytes,
        ConversionKind::BytesHex,
        ConversionKind::Pointer,
    ];
    let conversion = proptest::sample::select(kinds.to_vec()).prop_map(|kind| {
        Piece::Conversion(Conversion {
            left: false,
            plus: false,
            space: false,
            alternate: false,
            zero: false,
            width: Width::None,
            precision: None,
            length: Length::None,
            kind,
        })
    });
    let piece = prop_oneof![conversion, "[x\n]{0,2}".prop_map(|t| Piece::Literal(t.as_str().into()))];
    vec(vec(piece, 0..4), 3).prop_map(|formats| {
        let action = |pieces| ActionInfo {
            kind: ActionKind::Printf { format: Format { text: "".into(), pieces }, sink: PrintfSink::Out },
            span: Span::default(),
            expanded: Vec::new(),
            probe: "p".into(),
            columns: Vec::new(),
            origin: None,
        };
        let actions = formats.into_iter().map(action).collect();
        Arc::new(TraceInfo { id: TraceId(1), actions, ..TraceInfo::default() })
    })
}

pub(super) fn sorted(entries: &[Entry]) -> Vec<Entry> {
    let mut sorted = entries.to_vec();
    sorted.sort_by_key(|e| e.at_ns);
    sorted
}

fn all(history: &dyn History) -> Vec<Entry> {
    history.entries().map(|n| history.entry(n).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn entries_come_back_from_memory_and_from_bytes(entries in vec(entry(), 1..150)) {
        let mut builder = ChunkBuilder::new();
        entries.iter().for_each(|e| builder.push(e));
        let chunk = builder.finish().unwrap();
        let expected = sorted(&entries);
        let back: Vec<Entry> = (0..chunk.len()).map(|n| chunk.entry(n).unwrap()).collect();
        prop_assert_eq!(&back, &expected);
        prop_assert_eq!(chunk.counted().map(|c| c.entry).collect::<Vec<_>>(), expected.clone());
        let mut written = Vec::new();
        chunk.write(&mut written);
        let read = Chunk::read(&written).unwrap();
        prop_assert_eq!(read.summary(), chunk.summary());
        prop_assert_eq!(read.counted().map(|c| c.entry).collect::<Vec<_>>(), expected);
        for n in 0..chunk.len() {
            prop_assert_eq!(read.head(n), chunk.head(n));
            prop_assert_eq!(read.rows_before(n), chunk.rows_before(n));
        }
        for at in entries.iter().flat_map(|e| [e.at_ns, e.at_ns.saturating_add(1)]) {
            prop_assert_eq!(chunk.seek(at) as usize, back.iter().filter(|e| e.at_ns < at).count());
        }
    }

    #[test]
    fn small_chunks_are_joined_without_a_change(
        entries in vec(entry(), 1..150),
        cuts in vec(1_usize..6, 150),
        info in formats(),
    ) {
        let mut expected = sorted(&entries);
        let (mut builder, mut store) = (ChunkBuilder::new(), Store::default());
        builder.declare(&info);
        store.declare(info);
        let mut rest = &entries[..];
        for cut in cuts {
            let (now, later) = rest.split_at(cut.min(rest.len()));
            now.iter().for_each(|e| builder.push(e));
            builder.finish().into_iter().for_each(|c| store.append(c));
            rest = later;
        }
        prop_assert!(rest.is_empty());
        let mut back = all(&store);
        prop_assert!(back.iter().map(|e| e.at_ns).is_sorted());
        // Entries of one time may stand in either order.
        let order = |e: &Entry| (e.at_ns, format!("{e:?}"));
        back.sort_by_key(order);
        expected.sort_by_key(order);
        prop_assert_eq!(back, expected);
    }

    #[test]
    fn rows_are_counted_as_they_print(values in vec((0_u32..5, vec(value(), 0..4)), 1..60), info in formats()) {
        let (mut builder, mut store) = (ChunkBuilder::new(), Store::default());
        builder.declare(&info);
        store.declare(Arc::clone(&info));
        let mut text = Vec::new();
        for (n, (action, values)) in values.iter().enumerate() {
            let payload = Payload::Event { action: *action, values: values.clone() };
            let entry = Entry { trace: TraceId(1), at_ns: n as u64, cpu: None, payload };
            builder.push(&entry);
            write_text(Some(&info), &entry, &mut text);
            if n % 7 == 0 {
                store.append(builder.finish().unwrap());
            }
        }
        builder.finish().into_iter().for_each(|c| store.append(c));
        let mut expected: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
        if expected.last() == Some(&&b""[..]) {
            expected.pop();
        }
        let rows: Vec<Vec<u8>> = store.lines().map(|n| store.line_at(n).unwrap().text).collect();
        prop_assert_eq!(rows, expected);
    }

    #[test]
    fn any_bytes_are_read_without_a_fault(entries in vec(entry(), 1..20), flips in vec((any::<usize>(), any::<u8>()), 1..6)) {
        let mut builder = ChunkBuilder::new();
        entries.iter().for_each(|e| builder.push(e));
        let mut written = Vec::new();
        builder.finish().unwrap().write(&mut written);
        for (at, with) in flips {
            let at = at % written.len();
            written[at] ^= with;
        }
        if let Some(chunk) = Chunk::read(&written) {
            (0..chunk.len()).for_each(|n| drop(chunk.entry(n)));
            let _ = (chunk.counted().count(), chunk.row(0), chunk.seek(1050));
        }
    }
}
