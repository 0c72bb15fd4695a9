//! Histograms as rows of buckets.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::buckets::buckets;
use crate::model::value::Value;
use crate::tui::base::paint::{bar, put, put_end};
use crate::tui::base::text::{fit, grouped, width};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;

/// A histogram over an area. What there is no room for is summed up in its first and last row: a tail
/// is what people look for.
pub(super) fn histogram(data: &Data, value: &Value, buf: &mut Buffer, area: Rect) {
    let shown = fold_ends(&buckets(value), usize::from(area.height));
    let most = shown.iter().filter(|b| b.folded == 1).map(|b| b.count).max().unwrap_or(1);
    let labels = shown.iter().map(|b| width(&b.label)).max().unwrap_or(0);
    let counts = shown.iter().map(|b| width(&grouped(b.count))).max().unwrap_or(0);
    let labels = if shown.iter().any(|bucket| bucket.folded > 1) { labels + 2 } else { labels };
    for (y, Folded { label, count, folded }) in shown.iter().enumerate() {
        if *folded > 1 {
            folded_buckets(data, (label, *count, *folded), (labels + 2, counts), buf, area, y);
        } else {
            bucket(data, (label, *count, most), (0, labels + 2, counts), buf, area, y);
        }
    }
}

/// Several buckets summed up in one row: no bar, which would be compared with those of single ones.
fn folded_buckets(
    data: &Data,
    (label, count, folded): (&str, u64, usize),
    (labels, counts): (usize, usize),
    buf: &mut Buffer,
    area: Rect,
    y: usize,
) {
    let theme = &data.theme;
    put(buf, area, 1, y, "⋮", theme[Slot::Faint]);
    put_end(buf, area, labels, y, label, theme[Slot::Faint]);
    let end = labels + counts + 2;
    put_end(buf, area, end, y, &grouped(count), theme[Slot::Faint]);
    let room = usize::from(area.width).saturating_sub(end + 3);
    put(buf, area, end + 2, y, &fit(&format!("{folded} buckets in one row"), room), theme[Slot::Faint]);
}

/// A row of a histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Folded {
    label: String,
    count: u64,
    /// Buckets that it stands for.
    folded: usize,
}

/// Neighbouring buckets in at most `rows` rows around the largest one, those beyond as one row at each end.
fn fold_ends(all: &[(String, u64)], rows: usize) -> Vec<Folded> {
    if all.len() <= rows || rows == 0 {
        let shown = all[..all.len().min(rows)].iter();
        return shown.map(|(label, count)| Folded { label: label.clone(), count: *count, folded: 1 }).collect();
    }
    // What is negative stays apart from 0 and what is above it.
    if let [(negative, count), above @ ..] = all
        && negative.starts_with("(...")
        && rows > 1
    {
        let below = Folded { label: negative.clone(), count: *count, folded: 1 };
        return std::iter::once(below).chain(fold_ends(above, rows - 1)).collect();
    }
    let peak = (0..all.len()).rev().max_by_key(|at| all[*at].1).unwrap_or(0);
    let first = (all.len() - rows).min(peak.saturating_sub(rows / 3));
    let last = first + rows - 1;
    (first..=last)
        .map(|at| {
            let from = if at == first { 0 } else { at };
            let to = if at == last { all.len() - 1 } else { at };
            let count = all[from..=to].iter().fold(0_u64, |sum, (_, c)| sum.saturating_add(*c));
            Folded { label: spanning(&all[from].0, &all[to].0), count, folded: to - from + 1 }
        })
        .collect()
}

/// The interval from the start of one bucket's to the end of another's: `[16K, 32K)` and `[1M, 2M)` make
/// `[16K, 2M)`, `[1]` and `[4, 8)` make `[1, 8)`.
fn spanning(first: &str, last: &str) -> String {
    if first == last {
        return first.to_owned();
    }
    let start = first.split_once(',').map_or(first.trim_end_matches(']'), |(start, _)| start);
    let end = last.split_once(", ").map_or(last.trim_start_matches('['), |(_, end)| end);
    format!("{start}, {end}")
}

/// One bucket: label, count, bar. `at` is the start, the label's width and the count's.
pub(super) fn bucket(
    data: &Data,
    (label, count, most): (&str, u64, u64),
    (x, labels, counts): (usize, usize, usize),
    buf: &mut Buffer,
    area: Rect,
    y: usize,
) {
    let theme = &data.theme;
    let x = x + labels;
    put_end(buf, area, x, y, label, theme[Slot::Dim]);
    let x = x + counts + 2;
    put_end(buf, area, x, y, &grouped(count), theme[Slot::Value]);
    let columns = usize::from(area.width).saturating_sub(x + 2);
    let part = count as f64 / most.max(1) as f64;
    put(buf, area, x + 1, y, &bar(part, columns), theme.gradient(part));
}

#[cfg(test)]
mod tests {
    use super::Folded;

    /// What is summed up in which rows; how many buckets a row stands for is told by its own test.
    fn fold_ends(all: &[(String, u64)], rows: usize) -> Vec<(String, u64)> {
        super::fold_ends(all, rows).into_iter().map(|Folded { label, count, .. }| (label, count)).collect()
    }

    fn rows(of: &[(&str, u64)]) -> Vec<(String, u64)> {
        of.iter().map(|(label, count)| ((*label).to_owned(), *count)).collect()
    }

    #[test]
    fn a_histogram_that_does_not_fit_sums_up_its_ends() {
        let all = rows(&[("[1]", 3), ("[2, 4)", 1), ("[4, 8)", 90), ("[8, 16)", 5), ("[16, 32)", 0), ("[32, 64)", 1)]);
        assert_eq!(fold_ends(&all, 6), all);
        assert_eq!(fold_ends(&all, 3), rows(&[("[1, 4)", 4), ("[4, 8)", 90), ("[8, 64)", 6)]));
        assert_eq!(fold_ends(&all, 1), rows(&[("[1, 64)", 100)]));
        assert_eq!(fold_ends(&all, 0), rows(&[]));
        let folded: Vec<usize> = super::fold_ends(&all, 3).iter().map(|row| row.folded).collect();
        assert_eq!(folded, [2, 1, 3], "a row of several buckets is known as one");
    }

    #[test]
    fn summed_ends_keep_open_edges() {
        let all = rows(&[("(..., 0)", 1), ("[0]", 2), ("[1]", 8), ("[2, 4)", 1), ("[4, ...)", 1)]);
        assert_eq!(fold_ends(&all, 3), rows(&[("(..., 0)", 1), ("[0, 1]", 10), ("[2, ...)", 2)]), "by its sign");
        assert_eq!(fold_ends(&all, 4), rows(&[("(..., 0)", 1), ("[0]", 2), ("[1]", 8), ("[2, ...)", 2)]));
        assert_eq!(fold_ends(&all, 1), rows(&[("(..., ...)", 13)]));
    }
}
