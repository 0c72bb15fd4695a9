//! How fast output is formatted: lines of `printf`, JSON records, and maps.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(missing_docs, reason = "a program, not a library")]

#[path = "support/allocator.rs"]
mod allocator;

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use probescope::model::format::{Conversion, ConversionKind, Format, Length, Piece, Width};
use probescope::model::histogram::{Log2, log2_buckets};
use probescope::model::render::{self, MapOptions};
use probescope::model::snapshot::{MapKind, MapRow, MapSnapshot};
use probescope::model::value::Value;
use probescope::output::{OutputFormat, Printer};

const LINES: u64 = 10_000;

/// `%d %s %d\n`, the line of the burst benchmark.
fn format() -> Format {
    let conversion = |kind| {
        Piece::Conversion(Conversion {
            left: false,
            plus: false,
            space: false,
            alternate: false,
            zero: false,
            width: Width::None,
            precision: None,
            length: Length::Long,
            kind,
        })
    };
    let pieces = vec![
        conversion(ConversionKind::Signed),
        Piece::Literal(" ".into()),
        conversion(ConversionKind::Str),
        Piece::Literal(" ".into()),
        conversion(ConversionKind::Signed),
        Piece::Literal("\n".into()),
    ];
    Format { text: "%ld %s %ld\n".into(), pieces }
}

fn lines(c: &mut Criterion) {
    let format = format();
    let values = [Value::Uint(4711, 4), Value::Str(b"workload".as_slice().into()), Value::Uint(123_456_789_012, 8)];
    let mut group = c.benchmark_group("lines");
    group.throughput(Throughput::Elements(LINES));
    for (name, kind, terminal) in [
        ("text", OutputFormat::Text, false),
        ("terminal", OutputFormat::Text, true),
        ("json", OutputFormat::Json, false),
    ] {
        group.bench_function(name, |b| {
            let mut printer = Printer::new(kind, terminal);
            let mut out = Vec::with_capacity(1 << 20);
            b.iter(|| {
                out.clear();
                for _ in 0..LINES {
                    printer.printf(black_box(&format), black_box(&values), &mut out);
                }
                out.len()
            });
        });
    }
    group.finish();
}

fn maps(c: &mut Criterion) {
    let rows = |value: &dyn Fn(u64) -> Value, count| {
        (0..count)
            .map(|n| MapRow { key: vec![Value::Str(b"comm".as_slice().into()), Value::Uint(n, 4)], value: value(n) })
            .collect()
    };
    let map = |kind, rows| MapSnapshot { name: "@".into(), kind, keyed: true, rows, capacity: 4096, at_ns: 0 };
    let counts = map(MapKind::Count, rows(&|n| Value::Int(n as i64, 8), 4096));
    let histogram = |n| {
        let mut counts = vec![0; log2_buckets(0) as usize];
        counts[10..30].fill(n + 1);
        Value::Hist(Arc::new(Log2 { bits: 0, counts }))
    };
    let histograms = map(MapKind::Hist, rows(&histogram, 100));
    let mut group = c.benchmark_group("maps");
    for (name, map) in [("4096 counts", counts), ("100 histograms", histograms)] {
        group.bench_function(name, |b| {
            let mut out = Vec::with_capacity(1 << 20);
            b.iter(|| {
                out.clear();
                render::map_into(black_box(&map), &MapOptions::default(), &mut out);
                out.len()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, lines, maps);
criterion_main!(benches);
