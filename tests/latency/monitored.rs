//! What only whoever runs the virtual machine can do to it: `tests/kernels` does what a file asks for, named by
//! `PROBESCOPE_MONITOR`.

use std::path::PathBuf;
use std::time::Duration;

use probescope::model::latency::NoiseClass;
use probescope::tracer::latency::bpf::BpfMeasurement;
use probescope::tracer::latency::{Measurement as _, Mode, Options};

use super::{kernel, last_cpu, samples, short, skip};

/// The file whose text is done by the host, which then removes it.
fn monitor() -> Option<PathBuf> {
    let path = std::env::var_os("PROBESCOPE_MONITOR").map(PathBuf::from);
    if path.is_none() {
        skip::skip("it asks the virtual machine's monitor for something: cargo test --test kernels");
    }
    path
}

/// Measures while the host does this so often.
fn while_asked(options: Options, request: &str, times: usize) -> Option<Vec<probescope::tracer::latency::Item>> {
    let monitor = monitor()?;
    let (kernel, _alone) = kernel()?;
    let mut measurement = BpfMeasurement::start(&kernel, options).unwrap_or_else(|e| panic!("{e}"));
    let mut items = Vec::new();
    for _ in 0..times {
        let written = monitor.with_extension("new");
        std::fs::write(&written, request).unwrap();
        std::fs::rename(&written, &monitor).unwrap();
        while monitor.exists() {
            items.extend(measurement.poll().unwrap());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    std::thread::sleep(Duration::from_millis(100));
    items.extend(measurement.finish().unwrap());
    Some(items)
}

#[test]
fn each_nmi_of_the_monitor_is_counted_with_its_handlers() {
    const NMIS: u64 = 3;
    let options = Options { interval: Duration::from_millis(200), ..Options::default() };
    let Some(items) = while_asked(options, "nmi", NMIS as usize) else { return };
    // Each CPU gets it, and each handler that is registered is a run.
    let entries: u64 = samples(&items).map(|s| s.entries.nmi).sum();
    let runs: u64 =
        samples(&items).flat_map(|s| &s.sources).filter(|s| s.class == NoiseClass::Nmi).map(|s| s.count).sum();
    assert!(entries >= NMIS && runs == entries, "{entries} entries, {runs} runs");
}

#[test]
fn a_paused_machine_is_noise_of_the_hardware() {
    let Some((kernel, alone)) = kernel() else { return };
    let options = short(Mode::Osnoise, last_cpu(&kernel));
    drop(alone);
    let Some(items) = while_asked(options, "pause 50", 3) else { return };
    let noise: Vec<_> = samples(&items).filter_map(|s| s.noise.as_ref()).collect();
    let longest = noise.iter().map(|n| n.max_gap_ns).max().unwrap();
    assert!(longest >= 50_000_000, "the longest gap has {longest} ns");
    // The timer that expired meanwhile comes first or second.
    let (hardware, residual): (u64, i64) =
        noise.iter().fold((0, 0), |(h, r), n| (h + n.hardware_ns, r + n.residual_ns));
    assert!(hardware + residual.unsigned_abs() >= 150_000_000, "{hardware} ns of hardware, {residual} ns of residual");
}
