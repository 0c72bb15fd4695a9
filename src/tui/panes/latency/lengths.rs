//! Histograms, one over the other: by their logarithm in both directions, so that one in a million is seen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::figures::{time, us};
use super::moment::Shown;
use super::{Compare, Context, LatencyPane};
use crate::model::latency::{CpuTotal, Distribution, Mode, Totals};
use crate::tui::base::paint::put;
use crate::tui::base::text::{fit, grouped};
use crate::tui::base::theme::Slot;
use crate::tui::data::baseline::Baseline;

/// How the histograms are drawn, told apart without colours, too.
const SIGNS: [(&str, Slot); 3] = [("█", Slot::BarLow), ("•", Slot::Warning), ("×", Slot::Error)];
/// Columns of the counts at the left.
const COUNTS: usize = 7;

/// One histogram.
struct Series {
    name: String,
    lengths: Distribution,
    max_ns: u64,
}

/// The lengths of one kind on some CPUs.
fn sum<'a>(totals: impl Iterator<Item = &'a CpuTotal>, mode: Mode, kind: usize) -> (Distribution, u64) {
    let (mut lengths, mut max_ns) = (Distribution::default(), 0);
    for total in totals {
        let of = match mode {
            Mode::Timerlat => {
                total.timer.as_ref().map(|t| [&t.irq, &t.thread, &t.user][kind]).map(|s| (&s.lengths, s.max_ns))
            }
            Mode::Osnoise => total.noise.as_ref().map(|n| (&n.lengths, n.max_gap_ns)),
            Mode::Passive => Some((&total.passive.lengths, total.passive.max_ns)),
        };
        if let Some((more, max)) = of {
            lengths.add(more);
            max_ns = max_ns.max(max);
        }
    }
    (lengths, max_ns)
}

fn series(pane: &LatencyPane, shown: &Shown<'_>, baseline: Option<&Baseline>) -> Vec<Series> {
    let (mode, headline) = (shown.mode(), shown.headline());
    let kinds = shown.kinds(mode);
    let one = shown.cpu(pane);
    let whose = |cpu: Option<u32>| cpu.map_or_else(|| "all CPUs".to_owned(), |cpu| format!("CPU {cpu}"));
    let make = |name: String, totals: &Totals, cpu: Option<u32>, kind: usize| {
        let of = totals.cpus.iter().filter(|(c, _)| cpu.is_none_or(|cpu| **c == cpu)).map(|(_, t)| t);
        let (lengths, max_ns) = sum(of, mode, kind);
        Series { name, lengths, max_ns }
    };
    let chosen = one.filter(|_| !pane.all);
    match pane.compare {
        Compare::Kinds => (0..kinds.len())
            .map(|kind| make(format!("{} {}", kinds[kind], whose(chosen)), shown.totals, chosen, kind))
            .collect(),
        Compare::Cpus => {
            let cpus = shown.cpus(pane);
            let at = cpus.iter().position(|cpu| Some(*cpu) == one).unwrap_or(0);
            let pair = [cpus.get(at), cpus.get((at + 1) % cpus.len().max(1))];
            let kind = kinds[headline];
            pair.into_iter()
                .flatten()
                .map(|cpu| make(format!("{kind} CPU {cpu}"), shown.totals, Some(*cpu), headline))
                .collect()
        }
        Compare::Baseline => {
            let kind = kinds[headline];
            let mut now = make(format!("{kind} now, {}", whose(chosen)), shown.totals, chosen, headline);
            let Some(kept) = baseline else { return vec![now] };
            let origin = kept.origin(&shown.info.kernel).map(|text| format!(", {text}")).unwrap_or_default();
            let baseline = make(format!("{kind} baseline{origin}"), &kept.totals, chosen, headline);
            if kept.trace == Some(shown.info.id) {
                since(&mut now, &baseline);
            }
            vec![now, baseline]
        }
    }
}

/// Leaves what one measurement has counted after its baseline was kept.
fn since(now: &mut Series, baseline: &Series) {
    now.lengths = now.lengths.since(&baseline.lengths);
    if now.max_ns == baseline.max_ns {
        now.max_ns = now.lengths.percentile_ns(100.0).unwrap_or(0).min(now.max_ns);
    }
}

/// The counts in columns whose edges grow by a constant factor.
fn columns(series: &Series, from_ns: f64, factor: f64, columns: usize) -> Vec<u64> {
    let mut counts = vec![0_u64; columns];
    for (ns, times) in series.lengths.iter() {
        let at = ((ns.max(1) as f64 / from_ns).ln() / factor.ln()).max(0.0) as usize;
        if let Some(last) = columns.checked_sub(1) {
            counts[at.min(last)] = counts[at.min(last)].saturating_add(times);
        }
    }
    counts
}

/// How high a count stands of so many eighths... of so many rows, by its logarithm.
fn height(count: u64, most: u64, rows: usize) -> usize {
    if count == 0 {
        return 0;
    }
    let part = (count as f64).ln_1p() / (most as f64).ln_1p().max(f64::MIN_POSITIVE);
    ((part * rows as f64).ceil() as usize).clamp(1, rows)
}

/// Paints the histograms.
pub fn draw(pane: &LatencyPane, ctx: &Context<'_>, shown: &Shown<'_>, buf: &mut Buffer, area: Rect) {
    let theme = ctx.theme();
    let baseline = ctx.data.latency.baselines.get(shown.mode());
    let all = series(pane, shown, baseline);
    let (wide, high) = (usize::from(area.width), usize::from(area.height));
    let legend = all.len() + usize::from(pane.compare == Compare::Baseline && baseline.is_none());
    let (plot, rows) = (wide.saturating_sub(COUNTS + 1), high.saturating_sub(legend + 1));
    for (y, (series, (sign, slot))) in all.iter().zip(SIGNS).enumerate() {
        let x = put(buf, area, 1, y, sign, theme[slot]) + 1;
        let at = |percent| series.lengths.percentile_ns(percent).map_or_else(|| "-".to_owned(), us);
        let text = format!(
            "{}  n {}  p50 {}  p99 {}  p99.9 {}  max {} µs",
            series.name,
            grouped(series.lengths.count()),
            at(50.0),
            at(99.0),
            at(99.9),
            us(series.max_ns)
        );
        put(buf, area, x, y, &fit(&text, wide.saturating_sub(x)), theme[Slot::Text]);
    }
    if legend > all.len() {
        put(buf, area, 1, all.len(), "b keeps what is measured now as the baseline", theme[Slot::Dim]);
    }
    let edges = all
        .iter()
        .filter(|s| s.lengths.count() > 0)
        .flat_map(|s| [s.lengths.percentile_ns(0.0).unwrap_or(1), s.lengths.percentile_ns(100.0).unwrap_or(1)]);
    let (low, top) = edges.fold((u64::MAX, 0), |(low, top), ns| (low.min(ns), top.max(ns)));
    if low > top || plot < 4 || rows < 2 {
        put(buf, area, 1, legend, "nothing was measured yet", theme[Slot::Dim]);
        return;
    }
    let from = low.max(1) as f64;
    let factor = ((top.max(2) as f64 * 1.01 / from).powf(1.0 / plot as f64)).max(1.0001);
    let counted: Vec<Vec<u64>> = all
        .iter()
        .map(|s| {
            let mut counts = columns(s, from, factor, plot);
            if pane.tail {
                // How many are at least so long.
                (0..counts.len().saturating_sub(1))
                    .rev()
                    .for_each(|x| counts[x] = counts[x].saturating_add(counts[x + 1]));
            }
            counts
        })
        .collect();
    let most = counted.iter().flatten().copied().max().unwrap_or(1).max(1);
    let below = Rect { y: area.y + legend as u16, height: rows as u16, ..area };
    let what = if pane.tail { "longer" } else { "count" };
    put(
        buf,
        below,
        0,
        0,
        &fit(&format!("{:>6}", crate::tui::base::text::short_count(most as f64)), COUNTS),
        theme[Slot::Faint],
    );
    put(buf, below, 0, 1, &format!("{what:>6}"), theme[Slot::Faint]);
    put(buf, below, 0, rows - 1, &format!("{:>6}", 1), theme[Slot::Faint]);
    for (n, counts) in counted.iter().enumerate() {
        let (sign, slot) = SIGNS[n % SIGNS.len()];
        for (x, count) in counts.iter().enumerate() {
            let top = height(*count, most, rows);
            // The first is filled, the others are lines over it.
            let from = if n == 0 { 0 } else { top.saturating_sub(1) };
            for up in from..top {
                put(buf, below, COUNTS + x, rows - 1 - up, sign, theme[slot]);
            }
        }
    }
    axis(ctx, buf, Rect { y: area.bottom() - 1, height: 1, ..area }, from, factor, plot);
}

/// Times below the columns, as many as there is room for.
fn axis(ctx: &Context<'_>, buf: &mut Buffer, area: Rect, from: f64, factor: f64, plot: usize) {
    let mut free = 0;
    for power in 0..12 {
        for step in [1.0, 2.0, 5.0] {
            let ns = step * 10_f64.powi(power);
            let x = (ns / from).ln() / factor.ln();
            if x < 0.0 || x >= plot as f64 || (x as usize) < free {
                continue;
            }
            let end =
                put(buf, area, COUNTS + x as usize, 0, &format!("└{}", time(ns as u64)), ctx.theme()[Slot::Faint]);
            free = end + 1 - COUNTS;
        }
    }
}
