//! What takes minutes: `cargo test --test latency -- --ignored --nocapture`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use probescope::engine::latency::interrupt_own_threads;
use probescope::model::latency::NoiseSample;
use probescope::tracer::latency::bpf::BpfMeasurement;
use probescope::tracer::latency::{Measurement as _, Mode, Options};

use super::{kernel, last_cpu, samples, short, skip};

/// Gaps in which something ran.
const WANTED: u64 = 1_000_000;

#[test]
#[ignore = "a million gaps take minutes"]
fn of_a_million_gaps_none_is_shorter_than_what_ran_in_it() {
    let Some((kernel, _alone)) = kernel() else { return };
    let online = kernel.online_cpus().as_slice().to_vec();
    let [first, .., last] = online[..] else {
        skip::skip("interrupts between CPUs need two of them");
        return;
    };
    assert_eq!(last, last_cpu(&kernel));
    let end = Arc::new(AtomicBool::new(false));
    // Barriers of the process interrupt the measuring thread, which is one of its threads, as often as they can.
    let told = Arc::clone(&end);
    let sender = std::thread::spawn(move || {
        let mut set = rustix::thread::CpuSet::new();
        set.set(first as usize);
        rustix::thread::sched_setaffinity(None, &set).unwrap();
        while !told.load(Ordering::Relaxed) {
            interrupt_own_threads();
        }
    });
    // Each reading of the clock is a gap.
    let options = Options { gap_ns: 1, ..short(Mode::Osnoise, last) };
    let mut measurement = BpfMeasurement::start(&kernel, options).unwrap_or_else(|e| panic!("{e}"));
    let mut noise = NoiseSample::default();
    let ran = |noise: &NoiseSample| noise.gaps - noise.hardware;
    while ran(&noise) < WANTED {
        let items = measurement.poll().unwrap();
        samples(&items).filter_map(|s| s.noise.as_ref()).for_each(|n| noise.add(n));
        std::thread::sleep(Duration::from_millis(20));
    }
    end.store(true, Ordering::Relaxed);
    sender.join().unwrap();
    println!(
        "{} gaps, something ran in {} of them: {} negative residuals",
        noise.gaps,
        ran(&noise),
        noise.negative_residuals
    );
    let parts = noise.hardware_ns + noise.net_ns.total();
    assert_eq!(noise.negative_residuals, 0);
    assert_eq!(parts + noise.residual_ns.unsigned_abs(), noise.noise_ns, "the parts are the whole");
}
