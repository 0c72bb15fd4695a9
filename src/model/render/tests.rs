//! Golden text, each row as bpftrace 0.27.1 printed it for the same values.

mod stacks;

use std::sync::Arc;

use super::*;
use crate::model::format::{Conversion, ConversionKind, Format, Length, Piece, Width};
use crate::model::histogram::{Linear, Log2, linear_bucket, linear_buckets, log2_bucket, log2_buckets};
use crate::model::snapshot::{MapKind, MapRow, MapSnapshot};
use crate::model::value::{Frame, Series, Stack, StackStyle, Summary, Value};

fn s(text: &str) -> Value {
    Value::Str(text.as_bytes().into())
}

fn i(v: i64) -> Value {
    Value::Int(v, 8)
}

fn u(v: u64) -> Value {
    Value::Uint(v, 8)
}

fn buf(bytes: &[u8]) -> Value {
    Value::Bytes(bytes.into())
}

fn tuple(items: &[Value]) -> Value {
    Value::Tuple(items.into())
}

fn record(items: &[(&str, Value)]) -> Value {
    Value::Record(items.iter().map(|(n, v)| (Arc::from(*n), v.clone())).collect())
}

/// Only as much of a format's grammar as the tables below use.
fn format(text: &str) -> Format {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        if at > 0 {
            pieces.push(Piece::Literal(rest[..at].into()));
        }
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            pieces.push(Piece::Literal("%".into()));
            rest = after;
            continue;
        }
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        let (flags, mut tail) = rest.split_at(end);
        let digits = flags.trim_start_matches(['-', '+', ' ', '#', '0']);
        let marks = &flags[..flags.len() - digits.len()];
        let (width, precision) = digits.split_once('.').map_or((digits, None), |(w, p)| (w, Some(p)));
        let mut length = Length::None;
        for (prefix, l) in
            [("hh", Length::Char), ("ll", Length::Long), ("h", Length::Short), ("l", Length::Long), ("j", Length::Long)]
        {
            if let Some(after) = tail.strip_prefix(prefix) {
                (length, tail) = (l, after);
                break;
            }
        }
        let kinds = [
            ("rx", ConversionKind::BytesHexEscaped),
            ("rh", ConversionKind::BytesHex),
            ("gr", ConversionKind::Gfp),
            ("r", ConversionKind::Bytes),
            ("d", ConversionKind::Signed),
            ("i", ConversionKind::Signed),
            ("u", ConversionKind::Unsigned),
            ("x", ConversionKind::HexLower),
            ("X", ConversionKind::HexUpper),
            ("o", ConversionKind::Octal),
            ("c", ConversionKind::Char),
            ("p", ConversionKind::Pointer),
            ("s", ConversionKind::Str),
        ];
        let (name, kind) = kinds.into_iter().find(|(name, _)| tail.starts_with(name)).unwrap();
        rest = &tail[name.len()..];
        pieces.push(Piece::Conversion(Conversion {
            left: marks.contains('-'),
            plus: marks.contains('+'),
            space: marks.contains(' '),
            alternate: marks.contains('#'),
            zero: marks.contains('0'),
            width: width.parse().map_or(Width::None, Width::Fixed),
            precision: precision.and_then(|p| p.parse().ok()).map(Width::Fixed),
            length,
            kind,
        }));
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(rest.into()));
    }
    Format { text: text.into(), pieces }
}

fn enumerator(value: i64, name: Option<&str>) -> Value {
    Value::Enum { value, name: name.map(Into::into) }
}

#[test]
fn printf_matches_bpftrace() {
    let text = |t: &str, n| Value::Text(t.into(), n);
    let hello = || s("hello");
    let rows: Vec<(&str, Vec<Value>, &str)> = vec![
        ("%d|%5d|%-5d|%05d|%+d|% d", vec![i(5); 6], "5|    5|5    |00005|+5|5"),
        ("%x|%#x|%X|%#X|%o|%#o|%u|%i", [255, 255, 255, 255, 8, 8, 7, 9].map(i).to_vec(), "ff|0xff|FF|0XFF|10|010|7|9"),
        ("%d|%u|%x|%ld|%lu", vec![i(-1); 5], "-1|4294967295|ffffffff|-1|18446744073709551615"),
        ("%lx|%lld|%llx|%lo", vec![i(-1); 4], "ffffffffffffffff|-1|ffffffffffffffff|1777777777777777777777"),
        ("%hd|%hhd|%hhx|%hx|%jd", [70000, 300, 300, 0x12345, -1].map(i).to_vec(), "4464|44|2c|2345|-1"),
        ("%hhd|%hd|%hhu|%hu", vec![i(-1); 4], "-1|-1|255|65535"),
        (
            "%d|%ld|%d|%u",
            [0x1_ffff_ffff, 0x1_ffff_ffff, 0x8000_0000, 0x1_0000_0005].map(i).to_vec(),
            "-1|8589934591|-2147483648|5",
        ),
        (
            "%c|%5c|%-5c|%p|%20p|%-20p|",
            [65, 66, 67, 0xffff, 0xdead, 0xbeef].map(i).to_vec(),
            "A|    B|C    |0xffff|              0xdead|0xbeef              |",
        ),
        ("%5c|%-5c|%05c", [0x4142, 66, 66].map(i).to_vec(), "    B|B    |0000B"),
        (
            "%s|%10s|%-10s|%.2s|%10.2s|",
            vec![hello(), hello(), hello(), hello(), hello()],
            "hello|     hello|hello     |hello|     hello|",
        ),
        ("%.5d|%8.3d|%-8.3d|", vec![i(42); 3], "42|      42|42      |"),
        (
            "%r|%rx|%rh|%10r|",
            vec![buf(b"ab\x01c"), buf(b"ab\x01c"), buf(b"ab\x01c"), buf(b"ab")],
            "ab\\x01c|\\x61\\x62\\x01\\x63|61 62 01 63|        ab|",
        ),
        (
            "%r|%-8r|%8rx|%8rh|",
            vec![buf(b"\\\"\t\n\r"), buf(b"ab"), buf(b"a"), buf(b"a")],
            "\\\"\\x09\\x0a\\x0d|ab      |    \\x61|      61|",
        ),
        ("%r", vec![buf("€".as_bytes())], "\\xe2\\x82\\xac"),
        (
            "%s|%s|%s|%s",
            vec![Value::Int(-5, 1), u(5), Value::Bool(true), tuple(&[i(1), s("a"), tuple(&[i(2), i(3)])])],
            "-5|5|true|(1, a, (2, 3))",
        ),
        (
            "%10s|%-10s|%20s|%05s|%-9s|",
            vec![i(5), tuple(&[i(1), i(2)]), tuple(&[s("a"), i(1)]), tuple(&[i(1), i(2)]), tuple(&[s("a"), s("b")])],
            "         5|(         1, 2)|                   (a, 1)|0000(1, 2)|(        a, b)|",
        ),
        (
            "%d|%d|%u|%x|%05d|%5d",
            vec![
                Value::Bool(true),
                Value::Uint(200, 1),
                Value::Bool(true),
                Value::Bool(true),
                Value::Bool(true),
                Value::Bool(true),
            ],
            "1|200|1|1|00001|    1",
        ),
        (
            "%5s|%-8s|%08x|%+5d|%x",
            vec![Value::Bool(true), Value::Bool(false), i(0xbeef), i(3), Value::Int(-1, 1)],
            " true|false   |0000beef|   +3|ffffffff",
        ),
        (
            "%s|%20s|%-20s|",
            vec![
                record(&[("x", i(1)), ("y", s("z"))]),
                record(&[("x", i(1)), ("y", i(2))]),
                record(&[("x", i(1)), ("y", i(2))]),
            ],
            "{ .x = 1, .y = z }|                  { .x = 1, .y = 2 }|{                   .x = 1, .y = 2 }|",
        ),
        (
            "%lx|%lu|%ld",
            vec![Value::Int(-1, 1), Value::Int(-1, 2), Value::Uint(250, 1)],
            "ffffffffffffffff|18446744073709551615|250",
        ),
        (
            "%p|%p|%020p|%p",
            vec![i(0), u(u64::MAX), i(0x123), Value::Pointer(0)],
            "0|0xffffffffffffffff|0000000000000000x123|0",
        ),
        (
            "%s|%d|%x|%lx|%20s",
            vec![
                Value::Pointer(0xffff),
                Value::Pointer(0xffff),
                Value::Pointer(0xff_ffff_ffff),
                Value::Pointer(0xff_ffff_ffff),
                Value::Pointer(0x123),
            ],
            "0xffff|65535|ffffffff|ffffffffff|               0x123",
        ),
        (
            "%+u|% u|%+x|%+s|% s|%05s|%-05d|",
            vec![i(5), i(5), i(5), i(5), i(5), s("a"), i(3)],
            "5|5|5|+5|5|0000a|30000|",
        ),
        ("%+s|%+ld|%+d|%+lu", vec![tuple(&[i(-1), i(5)]), i(-5), i(0), i(5)], "(-1, +5)|-5|+0|5"),
        (
            "%05d|%-+5d|%05ld|%#10x|%#010x|%-08x|%#5o|%#o|%#x",
            vec![i(-5), i(5), i(-77), i(255), i(255), i(255), i(8), i(0), i(0)],
            "000-5|+5   |00-77|      0xff|0000000xff|ff000000|  010|0|0",
        ),
        ("%10s|%-6s|", vec![s("€"), s("€")], "       €|€   |"),
        ("%20s|%-20s|", vec![text("127.0.0.1", 0), text("21", 0)], "           127.0.0.1|21                  |"),
        (
            "%s|%d|%10s|%-10s|%x|%s|%5s",
            vec![
                enumerator(1, Some("AA")),
                enumerator(2, Some("BB")),
                enumerator(1, Some("AA")),
                enumerator(1, Some("AA")),
                enumerator(2, Some("BB")),
                enumerator(7, None),
                enumerator(7, None),
            ],
            "AA|2|        AA|AA        |2|7|    7",
        ),
        ("%10s", vec![Value::Array([4, 3, 2, 1].map(i).as_slice().into())], "         [4,3,2,1]"),
        (
            "%gr|%gr|%gr|%gr|%30gr|%gr",
            vec![i(0), i(0xcc0), i(0x10_0cca), i(1 << 40), i(0xcc0), i(0x140_00c0)],
            "0|GFP_KERNEL|GFP_HIGHUSER|0x8|0x10000000000|                    GFP_KERNEL|__GFP_IO|__GFP_FS|__GFP_ACCOUNT|__GFP_SKIP_ZERO",
        ),
        (
            "%gr|%gr|%gr|%gr",
            [0x820, 0x14_0cca, 0x2800, 0x40_0cc0].map(i).to_vec(),
            "GFP_ATOMIC|GFP_HIGHUSER|__GFP_COMP|0x8|GFP_NOWAIT|GFP_KERNEL_ACCOUNT",
        ),
        ("100%%|%%", vec![], "100%|%"),
    ];
    for (text, values, want) in rows {
        let mut got = String::from("before ");
        printf(&format(text), &values, &mut got);
        assert_eq!(got, format!("before {want}"), "{text}");
    }
}

#[test]
fn traced_bytes_pass_unchanged_into_bytes_and_replaced_into_text() {
    let values = [i(200), s("a")];
    let mut bytes = Vec::new();
    printf_into(&format("%c%s"), &values, &mut bytes);
    assert_eq!(bytes, [200, b'a']);
    let mut text = String::from("é");
    printf(&format("%c%s"), &values, &mut text);
    assert_eq!(text, "é\u{fffd}a");
}

#[test]
fn a_hostile_width_is_bounded() {
    let wide = Piece::Conversion(Conversion {
        left: false,
        plus: false,
        space: false,
        alternate: false,
        zero: false,
        width: Width::Fixed(u32::MAX),
        precision: None,
        length: Length::None,
        kind: ConversionKind::Signed,
    });
    let format = Format { text: "%d".into(), pieces: vec![wide] };
    let mut out = String::new();
    printf(&format, &[i(7)], &mut out);
    assert!(out.len() <= 64 * 1024 && out.ends_with('7'));
}

fn snapshot(name: &str, kind: MapKind, rows: Vec<(Vec<Value>, Value)>) -> MapSnapshot {
    MapSnapshot {
        name: name.into(),
        kind,
        keyed: rows.iter().any(|(k, _)| !k.is_empty()),
        rows: rows.into_iter().map(|(key, value)| MapRow { key, value }).collect(),
        capacity: 4096,
        at_ns: 0,
    }
}

fn text_of(map: &MapSnapshot, top: u64, div: u64) -> String {
    let mut out = Vec::new();
    map_into(map, &MapOptions { top, div, ..MapOptions::default() }, &mut out);
    String::from_utf8(out).unwrap()
}

fn summary(total: i64, count: u64) -> Summary {
    Summary { total, count, signed: true }
}

#[test]
fn maps_match_bpftrace() {
    let one = |value: Value| snapshot("@", MapKind::Value, vec![(vec![], value)]);
    let nested = record(&[("a", i(1)), ("b", s("x")), ("c", record(&[("d", i(2))]))]);
    let rows = [
        (one(i(5)), "@: 5\n"),
        (one(s("str")), "@: str\n"),
        (one(tuple(&[i(1), s("x"), tuple(&[i(2), Value::Bool(true)])])), "@: (1, x, (2, true))\n"),
        (one(nested), "@: { .a = 1, .b = x, .c = { .d = 2 } }\n"),
        (one(buf(b"ab\x02\n")), "@: ab\\x02\\x0a\n"),
        (one(u(u64::MAX)), "@: 18446744073709551615\n"),
        (snapshot("@a", MapKind::Value, vec![(vec![s("a"), s("b")], i(1))]), "@a[a, b]: 1\n"),
        (snapshot("@", MapKind::Value, vec![(vec![i(1), tuple(&[i(2), i(3)])], i(1))]), "@[1, (2, 3)]: 1\n"),
        (
            snapshot("@", MapKind::Value, vec![(vec![Value::Array([4, 3].map(i).as_slice().into())], i(1))]),
            "@[[4,3]]: 1\n",
        ),
        (
            snapshot("@d", MapKind::Value, vec![(vec![record(&[("a", s("x y")), ("b", i(2))])], i(1))]),
            "@d[{ .a = x y, .b = 2 }]: 1\n",
        ),
        (snapshot("@e", MapKind::Avg, vec![(vec![], Value::Avg(summary(7, 2)))]), "@e: 3\n"),
        (snapshot("@b", MapKind::Avg, vec![(vec![], Value::Avg(summary(-11, 2)))]), "@b: -5\n"),
        (
            snapshot("@f", MapKind::Stats, vec![(vec![], Value::Stats(summary(8, 2)))]),
            "@f: { .count = 2, .average = 4, .total = 8 }\n",
        ),
        (snapshot("@", MapKind::Count, vec![]), "@: 0\n"),
        (snapshot("@e", MapKind::Stats, vec![]), "@e: { .count = 0, .average = 0, .total = 0 }\n"),
        (snapshot("@h", MapKind::Hist, vec![]), ""),
        (snapshot("@v", MapKind::Value, vec![]), ""),
    ];
    for (map, want) in rows {
        assert_eq!(text_of(&map, 0, 0), want);
    }
}

#[test]
fn print_keeps_the_largest_and_divides_what_bpftrace_divides() {
    let rows = |values: &[Value]| values.iter().enumerate().map(|(n, v)| (vec![i(n as i64 + 1)], v.clone())).collect();
    let counts = snapshot("@", MapKind::Count, rows(&[i(-9), i(-5), i(3)]));
    assert_eq!(text_of(&counts, 2, 0), "@[2]: -5\n@[3]: 3\n");
    assert_eq!(text_of(&counts, 0, 2), "@[1]: -4\n@[2]: -2\n@[3]: 1\n");
    let averages = snapshot("@", MapKind::Avg, rows(&[Value::Avg(summary(5, 1)), Value::Avg(summary(8, 1))]));
    assert_eq!(text_of(&averages, 0, 2), "@[1]: 2\n@[2]: 4\n");
    let stats = snapshot("@", MapKind::Stats, rows(&[Value::Stats(summary(5, 1)), Value::Stats(summary(6, 1))]));
    assert_eq!(text_of(&stats, 1, 2), "@[2]: { .count = 1, .average = 3, .total = 6 }\n");
}

fn hist(bits: u8, values: &[i64]) -> Value {
    let mut counts = vec![0; log2_buckets(bits) as usize];
    for v in values {
        counts[log2_bucket(*v, bits) as usize] += 1;
    }
    Value::Hist(Arc::new(Log2 { bits, counts }))
}

fn lhist(min: i64, max: i64, step: i64, values: &[i64]) -> Value {
    let mut counts = vec![0; linear_buckets(min, max, step) as usize];
    for v in values {
        counts[linear_bucket(*v, min, max, step) as usize] += 1;
    }
    Value::LHist(Arc::new(Linear { min, max, step, counts }))
}

/// Full bars are written `FULL`, halves `HALF`, empty ones `NONE`, to keep the tables readable.
fn bars(text: &str) -> String {
    text.replace("FULL", &"@".repeat(52))
        .replace("HALF", &format!("{}{}", "@".repeat(26), " ".repeat(26)))
        .replace("THIRD", &format!("{}{}", "@".repeat(17), " ".repeat(35)))
        .replace("NONE", &" ".repeat(52))
}

#[test]
fn histograms_match_bpftrace() {
    let one = |v: Value| snapshot("@", MapKind::Hist, vec![(vec![], v)]);
    let rows = [
        (
            one(hist(0, &[0, 1, 2, 3])),
            "@:\n[0]                    1 |HALF|\n[1]                    1 |HALF|\n[2, 4)                 2 |FULL|\n\n",
        ),
        (
            one(hist(0, &[-1, 1])),
            "@:\n(..., 0)               1 |FULL|\n[0]                    0 |NONE|\n[1]                    1 |FULL|\n\n",
        ),
        (
            one(hist(0, &[1, 1, 1, 4])),
            "@:\n[1]                    3 |FULL|\n[2, 4)                 0 |NONE|\n[4, 8)                 1 |THIRD|\n\n",
        ),
        (one(hist(0, &[1000, 1024])), "@:\n[512, 1K)              1 |FULL|\n[1K, 2K)               1 |FULL|\n\n"),
        (one(hist(0, &[1 << 19])), "@:\n[512K, 1M)             1 |FULL|\n\n"),
        (one(hist(0, &[1 << 29])), "@:\n[512M, 1G)             1 |FULL|\n\n"),
        (one(hist(0, &[1 << 40])), "@:\n[1T, 2T)               1 |FULL|\n\n"),
        (one(hist(0, &[1 << 59])), "@:\n[512P, 1E)             1 |FULL|\n\n"),
        (one(hist(0, &[i64::MAX])), "@:\n[4E, 8E)               1 |FULL|\n\n"),
        (
            one(hist(1, &[2, 4, 5, 7])),
            "@:\n[2]                    1 |HALF|\n[3]                    0 |NONE|\n[4, 6)                 2 |FULL|\n[6, 8)                 1 |HALF|\n\n",
        ),
        (one(hist(1, &[1024, 1536])), "@:\n[1024, 1536)           1 |FULL|\n[1536, 2K)             1 |FULL|\n\n"),
        (one(hist(2, &[7, 9])), "@:\n[7]                    1 |FULL|\n[8, 10)                1 |FULL|\n\n"),
        (one(hist(3, &[127, 130])), "@:\n[120, 128)             1 |FULL|\n[128, 144)             1 |FULL|\n\n"),
        (one(hist(4, &[1100])), "@:\n[1088, 1152)           1 |FULL|\n\n"),
        (one(hist(5, &[63, 64])), "@:\n[63]                   1 |FULL|\n[64, 66)               1 |FULL|\n\n"),
        (one(hist(5, &[1 << 33])), "@:\n[8192M, 8448M)         1 |FULL|\n\n"),
        (one(lhist(0, 100, 10, &[-5, 5])), "@:\n(..., 0)               1 |FULL|\n[0, 10)                1 |FULL|\n\n"),
        (
            one(lhist(0, 100, 10, &[95, 150])),
            "@:\n[90, 100)              1 |FULL|\n[100, ...)             1 |FULL|\n\n",
        ),
        (
            one(lhist(0, 25, 10, &[15, 22, 25])),
            "@:\n[10, 20)               1 |HALF|\n[20, ...)              2 |FULL|\n\n",
        ),
        (one(lhist(0, 8192, 1024, &[2048])), "@:\n[2K, 3K)               1 |FULL|\n\n"),
        (one(lhist(0, 10, 1, &[1])), "@:\n[1]                    1 |FULL|\n\n"),
        (one(lhist(0, 5_000_000, 1_000_000, &[3_000_000])), "@:\n[3000000, 4000000)       1 |FULL|\n\n"),
        (one(lhist(0, 5 << 20, 1 << 20, &[1 << 20])), "@:\n[1M, 2M)               1 |FULL|\n\n"),
        (one(lhist(0, 3000 << 10, 1500 << 10, &[1500 << 10])), "@:\n[1500K, 3000K)         1 |FULL|\n\n"),
    ];
    for (map, want) in rows {
        assert_eq!(text_of(&map, 0, 0), bars(want));
    }
    let divided = text_of(&one(hist(0, &[1, 1, 1, 4])), 0, 2);
    assert_eq!(
        divided,
        bars(
            "@:\n[1]                    1 |FULL|\n[2, 4)                 0 |NONE|\n[4, 8)                 0 |NONE|\n\n"
        )
    );
    let linear = text_of(&one(lhist(0, 10, 5, &[1, 1, 7])), 0, 2);
    assert_eq!(linear, bars("@:\n[0, 5)                 2 |FULL|\n[5, 10)                1 |HALF|\n\n"));
}

#[test]
fn series_match_bpftrace() {
    // 2026-11-20 22:26:37 UTC.
    let start = 1_795_213_597_000_000_000;
    let drawn = |interval_ns, values: &[Option<i64>]| {
        let points = values.iter().enumerate().map(|(n, v)| (start + n as u64 * interval_ns, *v)).collect();
        let series = Series { interval_ns, points, signed: true };
        text_of(&snapshot("@", MapKind::TSeries, vec![(vec![], Value::TSeries(Arc::new(series)))]), 0, 0)
    };
    let gap = " ".repeat(51);
    let lines = "_".repeat(51);
    let scale = |indent: usize, low: &str, high: &str| {
        format!("{}{low}{}{high}\n", " ".repeat(indent), " ".repeat(53 - low.len() - high.len()))
    };
    assert_eq!(
        drawn(1_000_000_000, &[None, Some(0), None, Some(2), None]),
        format!(
            "@:\n{s}hh:mm:ss |{lines}|\n22:26:38 *{gap}| 0\n22:26:39 |{gap}| -\n22:26:40 |{gap}* 2\n22:26:41 |{gap}| -\n         v{lines}v\n{s}\n",
            s = scale(9, "0", "2")
        )
    );
    let middle = format!("|{}*{}|", " ".repeat(25), " ".repeat(25));
    assert_eq!(
        drawn(100_000_000, &[Some(5)]),
        format!(
            "@:\n{s}hh:mm:ss.ns        |{lines}|\n22:26:37.000000000 {middle} 5\n                   v{lines}v\n{s}\n",
            s = scale(19, "4", "6")
        )
    );
    let proportional =
        drawn(300_000_000, &[Some(123_456_789), Some(370_370_367), Some(493_827_156), Some(740_740_734)]);
    let columns: Vec<_> = proportional.lines().filter_map(|l| l.find('*')).collect();
    assert_eq!(columns, [13, 33, 44, 65]);
    let micro = drawn(100_000, &[Some(-2), Some(4)]);
    assert!(micro.contains("hh:mm:ss.\u{3bc}s    |_"), "{micro}");
    assert!(micro.contains("22:26:37.000100 |"), "{micro}");
    assert!(drawn(1_000_000, &[None]).contains("null"));
}

#[test]
fn intervals_start_at_local_calendar_time() {
    let clock = |utc_offset_s| Clock { utc_offset_s };
    // 29 February 2000, midnight UTC.
    let leap = 951_782_400_000_000_000;
    assert_eq!(interval_start(leap + 5, &clock(0)), "2000-02-29 00:00:00.000000005");
    assert_eq!(interval_start(leap, &clock(-3600)), "2000-02-28 23:00:00.000000000");
    assert_eq!(interval_start(leap + 86_400_000_000_000, &clock(0)), "2000-03-01 00:00:00.000000000");
}
