//! What came at the cursor: the values beside the picture, percentiles with their error below it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::HeatPane;
use super::draw::is_lines;
use super::feed::Scale;
use super::grid::{Grid, RowOf, came, distribution, quantile};
use crate::tui::base::paint::{bar, put, put_end};
use crate::tui::base::text::{edge, fit, short_count, width};
use crate::tui::base::theme::Slot;
use crate::tui::pane::Context;

/// Percentiles that are told.
const PARTS: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// Paints the values of the cursor's column, row by row, and those that are compared with them.
pub fn draw(pane: &HeatPane, grid: &Grid, column: usize, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    if area.width < 12 {
        return;
    }
    let theme = ctx.theme();
    let Some(cells) = grid.cells.get(column) else { return };
    let most = cells.iter().copied().fold(0.0, f64::max);
    let columns = usize::from(area.width).saturating_sub(10);
    let before = pane.baseline.as_ref().map(|b| of_rows(grid, &b.distribution));
    let most_before = before.iter().flatten().copied().fold(0.0, f64::max);
    let tall = if is_lines(pane) { 1 } else { grid.tall(area.height.into()) };
    for y in 0..(cells.len() * tall).min(area.height.into()) {
        let (row, value) = (y / tall, &cells[y / tall]);
        let part = |value: f64, most: f64| if most > 0.0 { value / most } else { 0.0 };
        put(buf, area, 1, y, &bar(part(*value, most), columns), theme.gradient(part(*value, most)));
        // Shapes are compared, not amounts: each has its own largest row at the full width.
        if let Some(was) = before.as_ref().and_then(|b| b.get(row)).filter(|was| **was > 0.0) {
            let x = (part(*was, most_before) * (columns as f64 - 1.0)).round() as usize;
            put(buf, area, 1 + x, y, "┃", theme[Slot::Warning]);
        }
        if *value > 0.0 && y % tall == tall / 2 {
            put_end(buf, area, usize::from(area.width), y, &short_count(*value), theme[Slot::Value]);
        }
    }
}

/// A distribution by the rows of the picture.
fn of_rows(grid: &Grid, distribution: &[(u32, u64)]) -> Vec<f64> {
    let sum = |row: &RowOf| match row {
        RowOf::Buckets(range) => distribution.iter().filter(|(b, _)| range.contains(b)).map(|(_, n)| *n as f64).sum(),
        RowOf::Key(_) => 0.0,
    };
    grid.rows.iter().map(sum).collect()
}

/// A percentile: the middle of its bucket and how far off it may be, or the bound where the bucket has one only.
fn estimate(scale: Scale, bucket: u32) -> String {
    match scale.bounds(bucket) {
        (Some(least), Some(end)) if end - least <= 1 => edge(least),
        (Some(least), Some(end)) => {
            let (middle, off) = (i128::midpoint(least.into(), end.into()), (i128::from(end) - i128::from(least)) / 2);
            let percent = off as f64 / (middle.abs() as f64).max(1.0) * 100.0;
            format!("{} ±{percent:.0} %", short_count(middle as f64))
        }
        (Some(least), None) => format!("≥{}", edge(least)),
        (None, Some(end)) => format!("<{}", edge(end)),
        (None, None) => "?".to_owned(),
    }
}

fn percentiles(scale: Scale, of: &[(u32, u64)]) -> String {
    let each =
        PARTS.iter().filter_map(|(name, part)| Some(format!("{name} {}", estimate(scale, quantile(of, *part)?))));
    each.collect::<Vec<_>>().join("  ")
}

/// Tells of the cell at the cursor, and of its column.
pub fn told(pane: &HeatPane, grid: &Grid, column: usize, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let room = usize::from(area.width);
    let row = pane.row.min(grid.rows.len() - 1);
    let scale = pane.feed.scale().unwrap_or(Scale::Keys);
    let value = grid.cells.get(column).and_then(|c| c.get(row)).copied().unwrap_or(0.0);
    let what = match &grid.rows[row] {
        RowOf::Key(_) => pane.label(&grid.rows[row]),
        RowOf::Buckets(range) => match (scale.bounds(range.start).0, scale.bounds(range.end - 1).1) {
            (Some(least), Some(end)) => format!("{}..{}", edge(least), edge(end)),
            (None, Some(end)) => format!("<{}", edge(end)),
            (least, None) => least.map_or_else(String::new, |l| format!("≥{}", edge(l))),
        },
    };
    let mut x = put(buf, area, 1, 0, &fit(&what, room / 3), theme[Slot::Function]);
    x = put(buf, area, x + 1, 0, &short_count(value), theme[Slot::Value]);
    if scale == Scale::Keys {
        return;
    }
    let now = distribution(&came(&pane.feed, grid.times[column], grid.times[column + 1]), pane.key);
    let total: u64 = now.iter().map(|(_, n)| n).sum();
    let text = format!("of {}: {}", short_count(total as f64), percentiles(scale, &now));
    if total > 0 {
        x = put(buf, area, x + 1, 0, &fit(&text, room.saturating_sub(x + 2)), theme[Slot::Text]);
    }
    if let Some(baseline) = &pane.baseline {
        let text = format!("┃ {}", percentiles(scale, &baseline.distribution));
        if x + 2 + width(&text) < room {
            put(buf, area, x + 2, 0, &text, theme[Slot::Warning]);
        }
    }
}
