//! What reading costs on a machine of 128 CPUs whose measuring threads wake up 1000 times a second each: the share of
//! one core that the reader takes, and whether any cycle is lost. The machine is simulated, the reader is the real one.
//!
//! `cargo bench --bench latency [-- SECONDS]`
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(missing_docs, reason = "a program, not a library")]

#[path = "support/allocator.rs"]
mod allocator;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use probescope::kernel::{Kernel, Roots};
use probescope::tracer::latency::bpf::BpfMeasurement;
use probescope::tracer::latency::{Item, Measurement as _, Mode, Options};

const CPUS: u32 = 128;
const HERTZ: u64 = 1000;
/// As the tracer polls.
const POLL: Duration = Duration::from_millis(20);
/// Most that the reader may take of one core, in percent.
const MOST_PERCENT: f64 = 5.0;

/// ns that this thread has run.
fn cpu_clock() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Cycles in what was measured.
fn cycles(items: &[Item]) -> u64 {
    let of =
        |item: &Item| if let Item::Sample(sample) = item { sample.timer.as_ref().map(|t| t.user.count) } else { None };
    items.iter().filter_map(of).sum()
}

fn main() {
    let seconds = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(10);
    let kernel = Arc::new(Kernel::new(Roots::running()));
    let options = Options {
        mode: Mode::Timerlat,
        period_ns: 1_000_000_000 / HERTZ,
        buckets: Some((1_000, 256)),
        ..Options::default()
    };
    let (mut measurement, machine) = BpfMeasurement::simulated(&kernel, CPUS, options).expect("memory");
    let (stop, made) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut read, mut spent, mut longest) = (0, 0, 0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut next = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                machine.cycle(made.fetch_add(1, Ordering::Relaxed));
                next += Duration::from_nanos(1_000_000_000 / HERTZ);
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        });
        while began.elapsed() < Duration::from_secs(seconds) {
            let before = cpu_clock();
            read += cycles(&measurement.poll().expect("nothing fails here"));
            let took = cpu_clock() - before;
            spent += took;
            longest = longest.max(took);
            std::thread::sleep(POLL);
        }
        stop.store(true, Ordering::Relaxed);
    });
    let wall = began.elapsed();
    read += cycles(&measurement.finish().expect("nothing fails here"));
    let wanted = made.load(Ordering::Relaxed) * u64::from(CPUS);
    let percent = spent as f64 / wall.as_nanos() as f64 * 100.0;
    println!("{CPUS} CPUs, {:.0} cycles a second each", made.load(Ordering::Relaxed) as f64 / wall.as_secs_f64());
    println!(
        "reader: {percent:.2} % of a core (at most {MOST_PERCENT} %), longest poll {:.2} ms",
        longest as f64 / 1e6
    );
    println!("cycles: {wanted} made, {read} read, {} lost", wanted - read);
    assert_eq!(read, wanted, "cycles were lost");
}
