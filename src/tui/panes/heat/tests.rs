//! What pictures over time must be.

use std::sync::Arc;

use super::feed::{Feed, Scale};
use super::grid::{RowOf, View, came, distribution, grid, quantile};
use crate::model::histogram::{Log2, log2_bucket, log2_buckets};
use crate::model::snapshot::{MapKind, MapRow, MapSnapshot};
use crate::model::value::Value;

const SECOND: u64 = 1_000_000_000;

fn hist(values: &[(i64, u64)]) -> Value {
    let mut counts = vec![0; log2_buckets(0) as usize];
    for (value, count) in values {
        counts[log2_bucket(*value, 0) as usize] += count;
    }
    Value::Hist(Arc::new(Log2 { bits: 0, counts }))
}

fn reading(at_ns: u64, kind: MapKind, rows: &[(&str, Value)]) -> MapSnapshot {
    let row =
        |(key, value): &(&str, Value)| MapRow { key: vec![Value::Str(key.as_bytes().into())], value: value.clone() };
    let rows = rows.iter().map(row).collect();
    MapSnapshot { name: "@".into(), kind, keyed: true, rows, capacity: 4096, at_ns }
}

fn count(n: u64) -> Value {
    Value::Uint(n, 8)
}

fn view(from: u64, to: u64, room: (usize, usize)) -> View {
    View { from_ns: from * SECOND, to_ns: to * SECOND, key: None, room }
}

#[test]
fn a_column_holds_what_came_in_its_time() {
    let mut feed = Feed::default();
    for (second, a, b) in [(1, 5, 0), (2, 9, 100), (3, 9, 150), (4, 2, 151)] {
        feed.take(&reading(second * SECOND, MapKind::Count, &[("a", count(a)), ("b", count(b))]));
    }
    let grid = grid(&feed, &view(1, 4, (30, 9)));
    assert_eq!(grid.rows, [RowOf::Key(feed.keys().iter().position(|k| &**k == "b").unwrap() as u16), RowOf::Key(1)]);
    assert_eq!(grid.cells, [[100.0, 4.0], [50.0, 0.0], [1.0, 2.0]], "a was cleared: its 2 are new");
    assert_eq!(grid.column(None), Some(2));
    assert_eq!(grid.column(Some(2 * SECOND)), Some(0), "the column that ends there");
}

#[test]
fn histograms_are_by_value_and_by_key() {
    let mut feed = Feed::default();
    feed.take(&reading(SECOND, MapKind::Hist, &[("a", hist(&[(4, 1)])), ("b", hist(&[(1000, 1)]))]));
    feed.take(&reading(2 * SECOND, MapKind::Hist, &[("a", hist(&[(4, 90), (64, 10)])), ("b", hist(&[(1000, 1)]))]));
    assert_eq!(feed.scale(), Some(Scale::Log2(0)));
    let shown = grid(&feed, &view(0, 2, (2, 40)));
    assert_eq!(shown.rows.len(), 8, "4 to 1023, each power a row");
    assert_eq!((shown.cells[0][0], shown.cells[1][0]), (1.0, 0.0));
    assert_eq!((shown.cells[1][3], shown.cells[1][7]), (10.0, 89.0));
    let few = grid(&feed, &view(0, 2, (2, 3)));
    assert_eq!((few.rows.len(), few.cells[1].iter().sum::<f64>()), (3, 99.0), "rows are joined, nothing is lost");
    let now = distribution(&came(&feed, SECOND, 2 * SECOND), None);
    assert_eq!(now.iter().map(|(_, n)| n).sum::<u64>(), 99);
    let bounds = |part| Scale::Log2(0).bounds(quantile(&now, part).unwrap());
    assert_eq!((bounds(0.5), bounds(0.95)), ((Some(4), Some(8)), (Some(64), Some(128))));
    let only = feed.keys().iter().position(|k| &**k == "b").unwrap() as u16;
    assert!(distribution(&came(&feed, SECOND, 2 * SECOND), Some(only)).is_empty());
}

#[test]
fn many_readings_are_thinned_without_losing_counts() {
    let mut feed = Feed::default();
    for second in 1..=50_000 {
        feed.take(&reading(second * SECOND, MapKind::Count, &[("a", count(second * 3))]));
    }
    assert!(feed.samples().len() <= 2048);
    let last = feed.samples().last().unwrap().at_ns / SECOND;
    let shown = grid(&feed, &view(0, last, (100, 4)));
    let sum: f64 = shown.cells.iter().flatten().sum();
    assert!((sum - last as f64 * 3.0).abs() < 0.5, "{sum} of {last}");
}

#[test]
fn a_map_of_many_keys_is_bounded() {
    let mut feed = Feed::default();
    let names: Vec<String> = (0..10_000).map(|n| format!("key\x1b{n}")).collect();
    let rows: Vec<(&str, Value)> = names.iter().zip(1..).map(|(name, n)| (name.as_str(), count(n))).collect();
    feed.take(&reading(SECOND, MapKind::Count, &rows));
    assert!(feed.crowded && feed.keys().len() == 256);
    assert_eq!(&*feed.keys()[0], "key\x1b9999", "the largest come first");
}

#[test]
fn linear_buckets_have_their_edges() {
    let scale = Scale::Linear(10, 50, 10);
    assert_eq!(scale.bounds(0), (None, Some(10)));
    assert_eq!(scale.bounds(1), (Some(10), Some(20)));
    assert_eq!(scale.bounds(scale.buckets() - 1), (Some(50), None));
}
