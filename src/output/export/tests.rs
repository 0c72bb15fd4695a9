//! What other programs read of the files.

mod tools;

use std::io::Read as _;

use super::*;
use crate::model::snapshot::{MapKind, MapRow};
use crate::model::stats::{PartialMap, TraceStats};
use crate::model::value::{Frame, Stack, Value};
use crate::store::{
    ActionInfo, ActionKind, ChunkBuilder, Column, ColumnKind, Entry, Payload, Store, TraceId, TraceKind,
};

mod hostile;

fn frame(name: &str, address: u64) -> Frame {
    Frame { address, symbol: Some(name.into()), offset: 0, object: None, inlined: false }
}

/// A history of two readings of a map, some events and a loss.
fn store() -> (Store, Arc<TraceInfo>) {
    let column = Column::new;
    let info = Arc::new(TraceInfo {
        id: TraceId(1),
        kind: TraceKind::Script,
        name: "a<b>.bt".into(),
        script: "BEGIN { }\n".into(),
        actions: vec![ActionInfo {
            kind: ActionKind::Value,
            span: crate::lang::source::Span::default(),
            expanded: Vec::new(),
            probe: "kprobe:vfs_read".into(),
            columns: vec![
                column("tid", ColumnKind::Integer),
                column("comm", ColumnKind::Text),
                column("dur_us", ColumnKind::Integer),
            ],
            origin: None,
        }],
        began_ns: 1000,
        host: "box".into(),
        ..TraceInfo::default()
    });
    let mut builder = ChunkBuilder::new();
    builder.declare(&info);
    let map = |at_ns: u64, count: u64| {
        let stack = Stack { frames: [frame("read", 1 << 63), frame("sys\"1;\n", 1 << 63)].into(), ..Stack::default() };
        let key = vec![Value::Str(b"nginx, inc"[..].into()), Value::Stack(stack)];
        let row = MapRow { key, value: Value::Uint(count, 8) };
        let kind = MapKind::Count;
        let stacks = MapSnapshot { name: "@s".into(), kind, keyed: true, rows: vec![row], capacity: 9, at_ns };
        let total = MapRow { key: Vec::new(), value: Value::Uint(count * 2, 8) };
        let total = MapSnapshot { name: "@n".into(), kind, keyed: false, rows: vec![total], capacity: 1, at_ns };
        Entry { trace: TraceId(1), at_ns, cpu: None, payload: Payload::Maps([stacks, total].into()) }
    };
    let event = |at_ns: u64, tid: u64| {
        let values = vec![Value::Uint(tid, 4), Value::Str(b"x\x1b[2J"[..].into()), Value::Uint(5, 8)];
        Entry { trace: TraceId(1), at_ns, cpu: Some(2), payload: Payload::Event { action: 0, values } }
    };
    builder.push(&map(2000, 3));
    builder.push(&event(9000, 77));
    builder.push(&event(9500, 78));
    builder.push(&event(9600, 77));
    builder.push(&map(10_000, 9));
    let mut store = Store::default();
    store.declare(Arc::clone(&info));
    store.append(builder.finish().unwrap());
    (store, info)
}

/// The same of a trace whose probe was throttled, and detached in the end.
fn throttled() -> (Store, Arc<TraceInfo>) {
    let (mut store, info) = store();
    let part = |map: &str| PartialMap {
        map: map.into(),
        ran: 1000,
        throttled: 3000,
        braked: false,
        detached_ns: Some(5_600_000_000),
    };
    let stats = TraceStats { at_ns: 9_900, parts: vec![part("@s"), part("@n")], ..TraceStats::default() };
    let mut builder = ChunkBuilder::new();
    builder.declare(&info);
    builder.push(&Entry { trace: TraceId(1), at_ns: 10_100, cpu: None, payload: Payload::Stats(Arc::new(stats)) });
    store.append(builder.finish().unwrap());
    (store, info)
}

#[test]
fn every_form_says_what_part_of_the_firings_it_is_of() {
    let (store, info) = throttled();
    let source = Source { history: &store, trace: &info, at_ns: u64::MAX, map: None };
    for form in Form::ALL {
        // The events of a throttled probe have the warning among them.
        if matches!(form, Form::EventsCsv | Form::EventsJson) {
            continue;
        }
        let mut bytes = source.write(*form).unwrap();
        if *form == Form::Pprof {
            let mut unpacked = Vec::new();
            flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).unwrap();
            bytes = unpacked;
        }
        let text = String::from_utf8_lossy(&bytes);
        let (ran, after) = if *form == Form::Json {
            ("\"ran\": 1000", "\"detached_after_s\": 5.6")
        } else {
            ("1,000 of 4,000", "after 5.6 s")
        };
        assert!(text.contains(ran) && text.contains(after), "{form:?}: {text}");
    }
    let csv = String::from_utf8(source.write(Form::Csv).unwrap()).unwrap();
    assert!(csv.starts_with("map,key1,key2,from,to,value,ran,fired,note\n"), "{csv}");
    let columns: Vec<usize> =
        csv.lines().map(|line| line.split('"').step_by(2).map(|part| part.matches(',').count()).sum()).collect();
    assert!(columns.iter().all(|n| *n == columns[0]), "{csv}");
}

fn written(form: Form) -> Vec<u8> {
    let (store, info) = store();
    Source { history: &store, trace: &info, at_ns: u64::MAX, map: None }.write(form).unwrap()
}

fn text(form: Form) -> String {
    String::from_utf8(written(form)).unwrap()
}

/// The fields of a message: numbers, or bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        match tag & 7 {
            0 => out.push((tag >> 3, varint(&mut bytes), Vec::new())),
            2 => {
                let length = varint(&mut bytes) as usize;
                out.push((tag >> 3, 0, bytes[..length].to_vec()));
                bytes = &bytes[length..];
            }
            wire => panic!("wire type {wire}"),
        }
    }
    out
}

fn of(message: &[(u64, u64, Vec<u8>)], field: u64) -> Vec<&(u64, u64, Vec<u8>)> {
    message.iter().filter(|(f, ..)| *f == field).collect()
}

#[test]
fn folded_stacks_have_one_line_each_whatever_names_hold() {
    assert_eq!(text(Form::Folded), "nginx, inc;sys\"1: ;read 9\n");
}

#[test]
fn a_flame_graph_is_xml_with_every_frame() {
    let svg = text(Form::Flame);
    assert!(svg.contains("<title>read (9, 100.00 %)</title>") && svg.contains("a&lt;b&gt;.bt @s"));
    assert!(svg.contains("sys&quot;1;") && !svg.contains("sys\"1"));
    assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
}

#[test]
fn pprof_reads_the_profile() {
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&written(Form::Pprof)[..]).read_to_end(&mut unpacked).unwrap();
    let profile = fields(&unpacked);
    let strings: Vec<String> = of(&profile, 6).iter().map(|f| String::from_utf8(f.2.clone()).unwrap()).collect();
    assert_eq!(strings[0], "");
    let samples = of(&profile, 2);
    assert_eq!(samples.len(), 1);
    let sample = fields(&samples[0].2);
    assert_eq!(of(&sample, 2)[0].2, [9], "its value");
    let locations = of(&sample, 1)[0].2.clone();
    assert_eq!(locations.len(), 3, "innermost first");
    let functions: Vec<_> = of(&profile, 5).iter().map(|f| fields(&f.2)).collect();
    let innermost = functions.iter().find(|f| of(f, 1)[0].1 == u64::from(locations[0])).unwrap();
    assert_eq!(strings[of(innermost, 2)[0].1 as usize], "read");
    let known: Vec<u64> = of(&profile, 4).iter().map(|l| of(&fields(&l.2), 1)[0].1).collect();
    assert!(locations.iter().all(|l| known.contains(&u64::from(*l))));
}

#[test]
fn the_firefox_profilers_tables_are_consistent() {
    let profile: serde_json::Value = serde_json::from_str(&text(Form::Firefox)).unwrap();
    let thread = &profile["threads"][0];
    for table in ["samples", "stackTable", "frameTable", "funcTable"] {
        let length = thread[table]["length"].as_u64().unwrap() as usize;
        for (name, column) in thread[table].as_object().unwrap() {
            if let Some(column) = column.as_array() {
                assert_eq!(column.len(), length, "{table}.{name}");
            }
        }
    }
    assert_eq!(thread["samples"]["weight"][0], 9);
    let mut names = Vec::new();
    let mut stack = thread["samples"]["stack"][0].as_u64();
    while let Some(at) = stack {
        let frame = thread["stackTable"]["frame"][at as usize].as_u64().unwrap() as usize;
        let func = thread["frameTable"]["func"][frame].as_u64().unwrap() as usize;
        let name = thread["funcTable"]["name"][func].as_u64().unwrap() as usize;
        names.push(thread["stringArray"][name].as_str().unwrap().to_owned());
        stack = thread["stackTable"]["prefix"][at as usize].as_u64();
    }
    assert_eq!(names, ["read", "sys\"1;\n", "nginx, inc"]);
}

#[test]
fn perfetto_gets_tracks_before_events_slices_with_their_ends_and_counters() {
    let trace = written(Form::Perfetto);
    let mut known = std::collections::HashSet::new();
    let (mut open, mut slices, mut counters, mut instants) = (std::collections::HashMap::new(), Vec::new(), 0, 0);
    for (field, _, packet) in fields(&trace) {
        assert_eq!(field, 1);
        let packet = fields(&packet);
        let at = of(&packet, 8)[0].1;
        assert_eq!((of(&packet, 58)[0].1, of(&packet, 10)[0].1), (3, 1));
        for descriptor in of(&packet, 60) {
            assert!(known.insert(of(&fields(&descriptor.2), 1)[0].1), "a track is told of once");
        }
        for event in of(&packet, 11) {
            let event = fields(&event.2);
            let track = of(&event, 11)[0].1;
            assert!(known.contains(&track));
            match of(&event, 9)[0].1 {
                1 => assert!(open.insert(track, at).is_none()),
                2 => slices.push((open.remove(&track).unwrap(), at)),
                3 => instants += 1,
                4 => counters += 1,
                kind => panic!("{kind}"),
            }
        }
    }
    assert_eq!(slices, [(4000, 9000), (4600, 9600), (4500, 9500)], "5 µs before each event, those of 77 in two lanes");
    assert!(open.is_empty());
    assert_eq!((instants, counters), (3, 2), "each on its CPU; @n twice, the stacks not");
}

#[test]
fn tables_quote_what_has_commas() {
    let csv = text(Form::Csv);
    assert!(csv.starts_with("map,key1,key2,from,to,value\n"), "{csv}");
    assert!(csv.contains("@s,\"nginx, inc\",\"read;sys\"\"1;\",,,9\n"), "{csv}");
    let events = text(Form::EventsCsv);
    assert!(events.starts_with("time_ns,wall_ns,cpu,kind,probe,tid,comm,dur_us,text\n"), "{events}");
    assert!(events.contains("9000,9000,2,event,kprobe:vfs_read,77,x\\x1b[2J,5,"), "{events}");
    assert!(!events.contains('\x1b'));
    let json: serde_json::Value = serde_json::from_str(&text(Form::Json)).unwrap();
    assert_eq!(json["maps"]["@s"]["contents"][0]["value"], 9);
    assert_eq!(json["maps"]["@n"]["contents"], 18);
}

#[test]
fn a_report_holds_the_script_and_its_results() {
    let report = text(Form::Report);
    for part in
        ["# a&lt;b>.bt", "| Host | box |", "```bpftrace\nBEGIN { }\n```", "## @s", "| nginx, inc |", "## Output"]
    {
        assert!(report.contains(part), "{part} in {report}");
    }
}

#[test]
fn what_is_not_there_is_named() {
    let (store, info) = store();
    let source = Source { history: &store, trace: &info, at_ns: u64::MAX, map: Some("@n") };
    assert_eq!(
        source.write(Form::Folded).unwrap_err().to_string(),
        "folded needs a map whose keys have a stack (kstack, ustack); there are @n"
    );
    let source = Source { map: Some("nothing"), ..source };
    assert_eq!(source.write(Form::Csv).unwrap_err().to_string(), "there is no map nothing; there are @s, @n");
    let quiet = Store::default();
    let source = Source { history: &quiet, map: None, ..source };
    assert_eq!(
        source.write(Form::Perfetto).unwrap_err().to_string(),
        "perfetto needs events, or numbers in maps; the trace has no events, and there are no maps"
    );
}
