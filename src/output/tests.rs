//! Golden records, as bpftrace 0.27.1 wrote them for the same values.

use std::sync::Arc;

use super::*;
use crate::model::histogram::{Linear, Log2, linear_bucket, linear_buckets, log2_bucket, log2_buckets};
use crate::model::snapshot::{MapKind, MapRow};
use crate::model::value::{Series, Stack, Summary};

fn i(v: i64) -> Value {
    Value::Int(v, 8)
}

fn s(text: &str) -> Value {
    Value::Str(text.as_bytes().into())
}

fn map(name: &str, kind: MapKind, rows: &[(&[Value], Value)]) -> MapSnapshot {
    MapSnapshot {
        name: name.into(),
        kind,
        keyed: rows.iter().any(|(k, _)| !k.is_empty()),
        rows: rows.iter().map(|(k, v)| MapRow { key: k.to_vec(), value: v.clone() }).collect(),
        capacity: 4096,
        at_ns: 0,
    }
}

fn json_of(map: &MapSnapshot) -> String {
    let mut out = Vec::new();
    Printer::new(OutputFormat::Json, false).map(map, &MapOptions::default(), &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn values_match_bpftrace() {
    let record = Value::Record([(Arc::from("a"), i(1)), (Arc::from("b"), s("c"))].as_slice().into());
    let rows = [
        (i(5), "5"),
        (s("s\x01\n\"\\/\t"), r#""s\u0001\n\"\\/\t""#),
        (
            Value::Tuple([i(1), s("a"), Value::Tuple([i(2), Value::Bool(true)].as_slice().into())].as_slice().into()),
            r#"[1,"a",[2,true]]"#,
        ),
        (record, r#"{"a": 1, "b": "c"}"#),
        (Value::Uint(u64::MAX, 8), r#""18446744073709551615""#),
        (i(-9_223_372_036_854_775_807), r#""-9223372036854775807""#),
        (i(9_007_199_254_740_992), "9007199254740992"),
        (i(9_007_199_254_740_993), r#""9007199254740993""#),
        (i(-9_007_199_254_740_993), r#""-9007199254740993""#),
        (i(9_223_372_036_854_774_784), "9223372036854774784"),
        (i(i64::MAX), r#""9223372036854775807""#),
        (Value::Bytes([0xff].as_slice().into()), "[-1]"),
        (Value::Bytes(b"ab\x01\"".as_slice().into()), "[97,98,1,34]"),
        (Value::Pointer(0x1234), "4660"),
        (Value::Enum { value: 2, name: Some("BB".into()) }, "2"),
        (Value::Text("127.0.0.1".into(), 0), r#""127.0.0.1""#),
        (Value::Stack(Stack::default()), r#""\n""#),
        (s("é"), r#""é""#),
        (Value::Str(b"\xe9t\xc3\xa9".as_slice().into()), r#""\\xe9té""#),
    ];
    for (value, want) in rows {
        let mut out = Vec::new();
        Printer::new(OutputFormat::Json, false).value(&value, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), format!("{{\"type\": \"value\", \"data\": {want}}}\n"));
    }
}

#[test]
fn maps_match_bpftrace() {
    let tuple = Value::Tuple([i(1), Value::Tuple([i(2), s("y")].as_slice().into())].as_slice().into());
    let record = Value::Record([(Arc::from("a"), s("x y")), (Arc::from("b"), i(2))].as_slice().into());
    let stats = |total| Value::Stats(Summary { total, count: 1, signed: true });
    let average = Value::Avg(Summary { total: 7, count: 1, signed: true });
    let rows = [
        (map("@", MapKind::Value, &[(&[], i(5))]), r#"{"type": "map", "data": {"@": 5}}"#),
        (
            map("@b", MapKind::Count, &[(&[i(1)], i(2)), (&[i(2)], i(3))]),
            r#"{"type": "map", "data": {"@b": {"1": 2, "2": 3}}}"#,
        ),
        (map("@c", MapKind::Value, &[(&[s("x"), i(1)], i(5))]), r#"{"type": "map", "data": {"@c": {"x,1": 5}}}"#),
        (
            map("@d", MapKind::Value, &[(&[tuple, i(3)], s("z"))]),
            r#"{"type": "map", "data": {"@d": {"(1,(2,y)),3": "z"}}}"#,
        ),
        (map("@d", MapKind::Value, &[(&[record], i(1))]), r#"{"type": "map", "data": {"@d": {"{.a=x y,.b=2}": 1}}}"#),
        (map("@c", MapKind::Avg, &[(&[i(1)], average)]), r#"{"type": "stats", "data": {"@c": {"1": 7}}}"#),
        (
            map("@d", MapKind::Stats, &[(&[i(1)], stats(5)), (&[i(2)], stats(6))]),
            r#"{"type": "stats", "data": {"@d": {"1": {"count": 1, "average": 5, "total": 5}, "2": {"count": 1, "average": 6, "total": 6}}}}"#,
        ),
        (
            map("@e", MapKind::Stats, &[]),
            r#"{"type": "stats", "data": {"@e": {"count": 0, "average": 0, "total": 0}}}"#,
        ),
        (
            map("@", MapKind::Value, &[(&[Value::Enum { value: 2, name: Some("BB".into()) }], i(1))]),
            r#"{"type": "map", "data": {"@": {"BB": 1}}}"#,
        ),
    ];
    for (map, want) in rows {
        assert_eq!(json_of(&map), format!("{want}\n"));
    }
}

#[test]
fn histograms_have_inclusive_bounds() {
    let log2 = |value| {
        let mut counts = vec![0; log2_buckets(0) as usize];
        counts[log2_bucket(value, 0) as usize] = 1;
        Value::Hist(Arc::new(Log2 { bits: 0, counts }))
    };
    let mut counts = vec![0; linear_buckets(10, 30, 10) as usize];
    for v in [5, 15, 35] {
        counts[linear_bucket(v, 10, 30, 10) as usize] += 1;
    }
    let linear = Value::LHist(Arc::new(Linear { min: 10, max: 30, step: 10, counts }));
    let keyed = map("@b", MapKind::Hist, &[(&[i(1)], log2(5)), (&[i(2)], log2(-1))]);
    assert_eq!(
        json_of(&keyed),
        "{\"type\": \"hist\", \"data\": {\"@b\": {\"1\": [{\"min\": 4, \"max\": 7, \"count\": 1}], \"2\": [{\"max\": -1, \"count\": 1}]}}}\n"
    );
    assert_eq!(
        json_of(&map("@e", MapKind::Hist, &[(&[], log2(1 << 62))])),
        "{\"type\": \"hist\", \"data\": {\"@e\": [{\"min\": 4611686018427387904, \"max\": \"9223372036854775807\", \"count\": 1}]}}\n"
    );
    assert_eq!(
        json_of(&map("@c", MapKind::LHist, &[(&[], linear)])),
        "{\"type\": \"hist\", \"data\": {\"@c\": [{\"max\": 9, \"count\": 1},{\"min\": 10, \"max\": 19, \"count\": 1},{\"min\": 20, \"max\": 29, \"count\": 0},{\"min\": 30, \"count\": 1}]}}\n"
    );
}

#[test]
fn series_carry_local_times() {
    let series = Series {
        interval_ns: 1_000_000_000,
        points: vec![(0, Some(1)), (1_000_000_000, None), (2_000_000_000, Some(-2))],
        signed: true,
    };
    assert_eq!(
        json_of(&map("@", MapKind::TSeries, &[(&[], Value::TSeries(Arc::new(series)))])),
        "{\"type\": \"tseries\", \"data\": {\"@\": [{\"interval_start\":\"1970-01-01 00:00:00.000000000\",\"value\":1},{\"interval_start\":\"1970-01-01 00:00:02.000000000\",\"value\":-2}]}}\n"
    );
}

#[test]
fn every_record_is_one_line_that_json_readers_accept() {
    let mut out = Vec::new();
    let place = json::Place { file: "a \"b\".bt", line: 1, column: 9 };
    json::text_record("printf", b"bad \xff\x1b\n", &mut out);
    json::message("errorf", b"bad 5\n", place, &mut out);
    json::helper_error(b"Bad address", "probe_read_str", -14, place, &mut out);
    json::attached(2, &mut out);
    json::lost(7, &mut out);
    let text = String::from_utf8(out).unwrap();
    let records: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(records.len(), 5);
    assert_eq!(records[0]["data"], "bad \\xff\u{1b}\n");
    assert_eq!(records[1]["filename"], "a \"b\".bt");
    assert_eq!(records[2]["retcode"], -14);
    assert_eq!(records[3]["data"]["probes"], 2);
    assert_eq!(records[4]["data"]["events"], 7);
}

#[test]
fn the_end_prints_maps_by_name_and_skips_empty_ones() {
    let maps = [
        map("@b", MapKind::Value, &[(&[], i(2))]),
        map("@", MapKind::Value, &[(&[], i(1))]),
        map("@c", MapKind::Avg, &[]),
    ];
    let end = |format| {
        let mut out = Vec::new();
        Printer::new(format, false).end(&maps, &MapOptions::default(), &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(end(OutputFormat::Text), "\n\n@: 1\n@b: 2\n");
    assert_eq!(
        end(OutputFormat::Json),
        "{\"type\": \"map\", \"data\": {\"@\": 1}}\n{\"type\": \"map\", \"data\": {\"@b\": 2}}\n{\"type\": \"stats\", \"data\": {\"@c\": {}}}\n"
    );
}

#[test]
fn a_terminal_gets_no_control_characters_and_a_file_gets_every_byte() {
    let escape = s("a\x1b[2J");
    let printed = |terminal| {
        let mut out = Vec::new();
        let mut printer = Printer::new(OutputFormat::Text, terminal);
        printer.value(&escape, &mut out);
        printer.text("cat", b"\x1b\xff", &mut out);
        printer.map(
            &map("@", MapKind::Value, &[(std::slice::from_ref(&escape), i(1))]),
            &MapOptions::default(),
            &mut out,
        );
        out
    };
    assert_eq!(printed(false), b"a\x1b[2J\n\x1b\xff@[a\x1b[2J]: 1\n");
    assert_eq!(printed(true), b"a\\x1b[2J\n\\x1b\\xff@[a\\x1b[2J]: 1\n");
}
