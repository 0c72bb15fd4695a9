//! The kernel's own tracers and our programs beside each other, on a kernel that has both: our programs watch the
//! tracer's threads, and both tell of the same timers and interrupts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use probescope::kernel::Kernel;
use probescope::model::latency::{CpuSample, Distribution, NoiseClass, NoiseSample, TimerSample};
use probescope::tracer::latency::bpf::BpfMeasurement;
use probescope::tracer::latency::tracefs::{TracefsMeasurement, Workload, available};
use probescope::tracer::latency::{Item, Measurement as _, Mode, Options};

use super::{kernel, last_cpu, samples, short, skip};

/// What both told of the same seconds: the tracer's items, and ours.
fn side_by_side(kernel: &Arc<Kernel>, options: Options, long: Duration) -> Option<(Vec<Item>, Vec<Item>)> {
    if let Err(absence) = available(kernel, options.mode.name()) {
        skip::skip(&absence.to_string());
        return None;
    }
    let passive = Options { interval: options.interval, ..Options::default() };
    let mut ours = BpfMeasurement::start(kernel, passive).unwrap_or_else(|e| panic!("{e}"));
    let mut theirs = TracefsMeasurement::start(kernel, options, Workload::Kernel).unwrap_or_else(|e| panic!("{e}"));
    let end = Instant::now() + long;
    let (mut told, mut seen) = (Vec::new(), Vec::new());
    while Instant::now() < end {
        told.extend(theirs.poll().unwrap());
        seen.extend(ours.poll().unwrap());
        std::thread::sleep(Duration::from_millis(20));
    }
    told.extend(theirs.finish().unwrap());
    seen.extend(ours.finish().unwrap());
    Some((told, seen))
}

#[test]
fn the_timers_of_timerlat_are_as_late_for_our_programs_as_for_itself() {
    let Some((kernel, _alone)) = kernel() else { return };
    let cpu = last_cpu(&kernel);
    let options = short(Mode::Timerlat, cpu);
    let Some((told, seen)) = side_by_side(&kernel, options, Duration::from_secs(10)) else { return };
    let mut theirs = TimerSample::default();
    samples(&told).filter_map(|s| s.timer.as_ref()).for_each(|t| theirs.add(t));
    let mut lengths = Distribution::default();
    let mut count = 0;
    let sources = samples(&seen).filter(|s| s.cpu == cpu).flat_map(|s| &s.sources);
    for source in sources.filter(|s| s.class == NoiseClass::Timer && s.name.starts_with("timerlat_irq")) {
        lengths.add(&source.lengths);
        count += source.count;
    }
    println!(
        "timerlat: {} samples, p50 {:?} p99 {:?}; ours: {count}, p50 {:?} p99 {:?}",
        theirs.irq.count,
        theirs.irq.lengths.percentile_ns(50.0),
        theirs.irq.lengths.percentile_ns(99.0),
        lengths.percentile_ns(50.0),
        lengths.percentile_ns(99.0),
    );
    if let Some(lost) = told.iter().find_map(|item| match item {
        Item::Note(note) if note.contains("were lost") => Some(note),
        _ => None,
    }) {
        return skip::skip(&format!("this machine reads the tracer too slowly: {lost}"));
    }
    assert!(count.abs_diff(theirs.irq.count) * 100 <= count, "{count} of {}", theirs.irq.count);
    for percent in [50.0, 99.0] {
        let ours = lengths.percentile_ns(percent).unwrap().max(1).ilog2();
        // The tracer reads its clock after our program has run: a value beside a border may fall on its other side.
        let theirs = theirs.irq.lengths.percentile_ns(percent).unwrap().max(1);
        let buckets = (theirs - theirs / 8).ilog2()..=(theirs + theirs / 8).ilog2();
        assert!(buckets.contains(&ours), "{percent} %: 2^{ours} ns, and {theirs} ns of the tracer");
    }
}

#[test]
fn osnoise_and_our_programs_count_the_same_interrupts() {
    let Some((kernel, _alone)) = kernel() else { return };
    let cpu = last_cpu(&kernel);
    // A run time as long as the period: the tracer counts all of the time. A record of each gap would be more than is
    // read on a slow machine.
    let options = Options {
        period_ns: 1_000_000_000,
        runtime_ns: 1_000_000_000,
        gap_ns: 10_000_000_000,
        interval: Duration::from_millis(20),
        ..short(Mode::Osnoise, cpu)
    };
    let Some((told, seen)) = side_by_side(&kernel, options, Duration::from_secs(12)) else { return };
    let mut theirs = NoiseSample::default();
    let rows: Vec<_> = samples(&told).filter(|s| s.noise.as_ref().is_some_and(|n| n.periods > 0)).collect();
    let end = |sample: &CpuSample| sample.began_ns + sample.period_ns;
    rows.iter().filter_map(|s| s.noise.as_ref()).for_each(|n| theirs.add(n));
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { panic!("the tracer has told of no period") };
    // Ours of the same stretch: from the beginning of the first period to the end of the last one.
    let from = end(first) - first.noise.as_ref().map_or(0, |n| n.runtime_ns);
    let ours = samples(&seen).filter(|s| s.cpu == cpu && end(s) > from && end(s) <= end(last));
    let irqs: u64 = ours.map(|s| s.entries.irq).sum();
    println!("osnoise: {} interrupts in {} periods; ours: {irqs}", theirs.entries.irq, theirs.periods);
    assert!(irqs.abs_diff(theirs.entries.irq) * 100 <= irqs, "{irqs} and {}", theirs.entries.irq);
}
