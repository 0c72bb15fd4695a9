//! Stopping at a threshold: the first cycle that passes it ends the run, as `cyclictest -b` does.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use probescope::engine::latency::{Policy, set_policy};
use probescope::tracer::latency::bpf::BpfMeasurement;
use probescope::tracer::latency::{Item, Measurement as _, Mode, Options};

use super::{kernel, last_cpu, probescope, skip, text};

/// us; a blocker holds the CPU for much longer, so that the machine's own noise decides nothing.
const LIMIT_US: u64 = 20_000;

/// A real-time thread that takes the CPU from all others for 60 ms, now and then; ended when dropped.
struct Blocker {
    stop: Arc<AtomicBool>,
    handle: Option<JoinHandle<()>>,
}

impl Blocker {
    fn start(cpu: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let handle = std::thread::spawn(move || {
            let mut set = rustix::thread::CpuSet::new();
            set.set(cpu as usize);
            rustix::thread::sched_setaffinity(None, &set).unwrap();
            set_policy(Policy::Fifo(98)).unwrap();
            while !told.load(Ordering::Relaxed) {
                let end = Instant::now() + Duration::from_millis(60);
                while Instant::now() < end {
                    std::hint::spin_loop();
                }
                // Time for a measurement to begin.
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        Self { stop, handle: Some(handle) }
    }
}

impl Drop for Blocker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(handle) = self.handle.take() {
            let _ = handle.join();
        }
    }
}

#[test]
fn the_first_cycle_over_the_limit_is_the_last_one() {
    let Some((kernel, _alone)) = kernel() else { return };
    let cpu = last_cpu(&kernel).to_string();
    let _blocker = Blocker::start(last_cpu(&kernel));
    let limit = LIMIT_US.to_string();
    let output =
        probescope(&["timerlat", "hist", "-u", "--backend", "bpf", "-c", &cpu, "-T", &limit, "-d", "60s", "--json"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let episodes = told["episodes"].as_array().unwrap();
    assert_eq!(episodes.len(), 1, "{told}");
    let (began, ended) = (&episodes[0]["began_ns"], &episodes[0]["ended_ns"]);
    let late_us = (ended.as_u64().unwrap() - began.as_u64().unwrap()) / 1000;
    assert!(late_us >= LIMIT_US, "{late_us} us");
    // Whatever passed the limit, the interrupt of that very cycle is known.
    assert!(episodes[0]["parts"]["irq_latency_ns"].is_u64(), "{}", episodes[0]);
    // The longest of all cycles is the one that ended the run: none before it was over the limit.
    let timer = &told["totals"]["cpus"][&cpu]["timer"];
    let longest = timer["user"]["max_ns"].as_u64().unwrap() / 1000;
    assert!(longest >= late_us && timer["user"]["count"].as_u64().unwrap() >= 1, "{late_us} of {longest} us: {timer}");
}

#[test]
fn cyclictest_stops_at_the_same_blocker() {
    let Some((kernel, _alone)) = kernel() else { return };
    if Command::new("cyclictest").arg("--help").output().is_err() {
        skip::skip("there is no cyclictest (package rt-tests)");
        return;
    }
    let cpu = last_cpu(&kernel).to_string();
    let _blocker = Blocker::start(last_cpu(&kernel));
    let limit = LIMIT_US.to_string();
    let theirs = Command::new("cyclictest")
        .args(["-q", "-m", "-p", "95", "-t", "1", "-a", &cpu, "-i", "1000", "-D", "60", "-b", &limit])
        .output()
        .unwrap();
    let said = text(&theirs);
    let value = said.lines().find_map(|line| line.strip_prefix("# Break value: ")).expect(&said);
    assert!(value.trim().parse::<u64>().unwrap() >= LIMIT_US, "{said}");
    let ours = probescope(&["timerlat", "top", "-q", "-u", "--backend", "bpf", "-c", &cpu, "-T", &limit, "-d", "60s"]);
    assert_eq!(ours.status.code(), Some(2), "{}", text(&ours));
    assert!(text(&ours).contains("hit stop tracing, analyzing it"), "{}", text(&ours));
}

/// A reader that gets no CPU beside real-time threads cannot end them.
#[test]
fn threads_end_in_time_though_nobody_reads() {
    let Some((kernel, _alone)) = kernel() else { return };
    let cpu = last_cpu(&kernel);
    let options = Options {
        mode: Mode::Timerlat,
        cpus: vec![cpu],
        period_ns: 1_000_000,
        at_most: Some(Duration::from_millis(100)),
        ..Options::default()
    };
    let mut measurement = BpfMeasurement::start(&kernel, options).unwrap();
    let runs = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let names = tasks.map(|task| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default());
        names.into_iter().any(|name| name.trim() == format!("timerlat/{cpu}"))
    };
    let patience = Instant::now() + Duration::from_secs(60);
    while runs() {
        assert!(Instant::now() < patience, "the thread goes on without its reader");
        std::thread::sleep(Duration::from_millis(50));
    }
    let items = measurement.finish().unwrap();
    let counted = |item: &Item| matches!(item, Item::Sample(s) if s.timer.as_ref().is_some_and(|t| t.user.count > 0));
    assert!(items.iter().any(counted), "what it measured is there: {items:?}");
}
