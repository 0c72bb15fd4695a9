//! The latency meter and the kernel's own tracing on the running kernel: what holds on any machine, however busy. No test here compares times with
//! what they should be; the injected noise of `latency selftest` does, where a person looks on.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "latency/ftrace.rs"]
mod ftrace;
#[path = "latency/injected.rs"]
mod injected;
#[path = "latency/left.rs"]
mod left;
#[path = "latency/long.rs"]
mod long;
#[path = "latency/monitored.rs"]
mod monitored;
#[path = "support/root.rs"]
mod root;
#[path = "latency/rtla.rs"]
mod rtla;
#[path = "support/skip.rs"]
mod skip;
#[path = "latency/stops.rs"]
mod stops;
#[path = "latency/tracers.rs"]
mod tracers;
#[path = "latency/waits.rs"]
mod waits;

use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use probescope::engine::latency;
use probescope::kernel::{Kernel, Roots};
use probescope::model::latency::{CpuSample, NoiseClass, NoiseSample, TimerSample};
use probescope::tracer::latency::bpf::BpfMeasurement;
use probescope::tracer::latency::{Item, Measurement as _, Mode, Options, Policy, Thresholds};

/// Two spinning threads on one CPU would measure each other.
static ALONE: Mutex<()> = Mutex::new(());

/// The kernel, for one test at a time, or a noted reason why nothing can be measured on it.
fn kernel() -> Option<(Arc<Kernel>, MutexGuard<'static, ()>)> {
    if root::missing() {
        return None;
    }
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let kernel = Arc::new(Kernel::new(Roots::running()).mounting_tracefs());
    if let Err(absence) = latency::check(&kernel) {
        skip::skip(&absence.to_string());
        return None;
    }
    Some((kernel, alone))
}

fn measure(kernel: &Arc<Kernel>, options: Options, long: Duration) -> Vec<Item> {
    let mut measurement = BpfMeasurement::start(kernel, options).unwrap_or_else(|e| panic!("{e}"));
    let end = std::time::Instant::now() + long;
    let mut items = Vec::new();
    while std::time::Instant::now() < end {
        items.extend(measurement.poll().unwrap());
        std::thread::sleep(Duration::from_millis(5));
    }
    items.extend(measurement.finish().unwrap());
    items
}

fn samples(items: &[Item]) -> impl Iterator<Item = &CpuSample> {
    items.iter().filter_map(|item| if let Item::Sample(sample) = item { Some(&**sample) } else { None })
}

fn last_cpu(kernel: &Kernel) -> u32 {
    kernel.online_cpus().as_slice().last().copied().unwrap_or(0)
}

fn short(mode: Mode, cpu: u32) -> Options {
    Options {
        mode,
        cpus: vec![cpu],
        period_ns: if mode == Mode::Timerlat { 1_000_000 } else { 100_000_000 },
        runtime_ns: 90_000_000,
        interval: Duration::from_millis(200),
        ..Options::default()
    }
}

#[test]
fn every_gap_is_explained_and_no_residual_is_negative() {
    let Some((kernel, _alone)) = kernel() else { return };
    let items = measure(&kernel, short(Mode::Osnoise, last_cpu(&kernel)), Duration::from_secs(2));
    let mut noise = NoiseSample::default();
    samples(&items).filter_map(|s| s.noise.as_ref()).for_each(|n| noise.add(n));
    assert!(noise.periods > 0 && noise.gaps > 0, "{noise:?}");
    assert_eq!(noise.negative_residuals, 0, "{noise:?}");
    let parts = noise.hardware_ns + noise.net_ns.total();
    assert_eq!(parts + noise.residual_ns.unsigned_abs(), noise.noise_ns, "the parts are the whole");
    assert!(noise.noise_ns <= noise.runtime_ns && noise.max_gap_ns <= noise.max_noise_ns);
    assert!(noise.entries.irq > 0, "a timer interrupts every CPU");
    assert_eq!(noise.lengths.count(), noise.gaps);
}

#[test]
fn of_a_noisy_period_what_the_measuring_thread_ran_is_no_noise() {
    let Some((kernel, _alone)) = kernel() else { return };
    let thresholds = Thresholds { noise_ns: 1, ..Thresholds::default() };
    let options = Options { thresholds, ..short(Mode::Osnoise, last_cpu(&kernel)) };
    let items = measure(&kernel, options, Duration::from_secs(1));
    let episodes = items.iter().filter_map(|item| if let Item::Episode(e) = item { Some(e) } else { None });
    let mut seen = 0;
    for episode in episodes {
        let p = &episode.parts;
        let noise = p.hardware_ns + p.nmi_ns + p.irq_ns + p.softirq_ns + p.thread_ns + p.residual_ns.unsigned_abs();
        assert_eq!(noise + p.spun_ns, episode.latency_ns(), "{p:?}");
        assert_eq!(noise, episode.late_ns());
        assert!(episode.is_period() && p.unrecorded_ns == 0 && p.residual_ns >= 0, "{p:?}");
        seen += 1;
    }
    assert!(seen > 0, "no period had any noise");
}

#[test]
fn a_timer_is_served_before_its_thread_runs() {
    let Some((kernel, _alone)) = kernel() else { return };
    let items = measure(&kernel, short(Mode::Timerlat, last_cpu(&kernel)), Duration::from_secs(1));
    let mut timer = TimerSample::default();
    samples(&items).filter_map(|s| s.timer.as_ref()).for_each(|t| timer.add(t));
    assert!(timer.irq.count > 0, "{timer:?}");
    assert_eq!(timer.irq.count, timer.thread.count);
    assert_eq!(timer.irq.count + timer.unseen, timer.user.count);
    assert!(timer.irq.sum_ns <= timer.thread.sum_ns && timer.thread.sum_ns <= timer.user.sum_ns, "{timer:?}");
    assert!(timer.irq.min_ns <= timer.thread.min_ns && timer.irq.max_ns <= timer.user.max_ns, "{timer:?}");
}

#[test]
fn timers_and_interrupts_are_seen_without_any_thread_of_ours() {
    let Some((kernel, _alone)) = kernel() else { return };
    let items = measure(
        &kernel,
        Options { interval: Duration::from_millis(300), ..Options::default() },
        Duration::from_secs(1),
    );
    assert!(samples(&items).any(|s| s.passive.as_ref().is_some_and(|p| p.count > 0)), "no timer expired");
    let sources: Vec<_> = samples(&items).flat_map(|s| s.sources.clone()).collect();
    assert!(sources.iter().any(|s| s.class == NoiseClass::Timer && s.name.contains("tick")), "{sources:?}");
    assert!(sources.iter().any(|s| s.class == NoiseClass::Thread), "{sources:?}");
    assert!(samples(&items).all(|s| s.noise.is_none() && s.timer.is_none()));
}

#[test]
fn a_thread_that_takes_the_cpu_is_named_in_the_episode() {
    let Some((kernel, _alone)) = kernel() else { return };
    let cpu = last_cpu(&kernel);
    let stop = Arc::new(AtomicBool::new(false));
    let (told, stopped) = (Arc::clone(&stop), Arc::clone(&stop));
    let burner = std::thread::Builder::new().name("a-burner".into()).spawn(move || {
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu as usize);
        rustix::thread::sched_setaffinity(None, &set).unwrap();
        while !told.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    });
    let mut options = short(Mode::Osnoise, cpu);
    options.thresholds = Thresholds { gap_ns: 500_000, ..Thresholds::default() };
    let items = measure(&kernel, options, Duration::from_secs(2));
    stopped.store(true, Ordering::Relaxed);
    burner.unwrap().join().unwrap();
    let episodes: Vec<_> = items.iter().filter_map(|i| if let Item::Episode(e) = i { Some(e) } else { None }).collect();
    assert!(!episodes.is_empty(), "nothing took the CPU for long");
    for episode in &episodes {
        let parts = &episode.parts;
        let sum = parts.nmi_ns + parts.irq_ns + parts.softirq_ns + parts.thread_ns + parts.residual_ns.unsigned_abs();
        assert_eq!(sum, episode.latency_ns(), "{episode:?}");
    }
    assert!(episodes.iter().any(|e| e.intervals.iter().any(|i| i.name.starts_with("a-burner:"))), "{episodes:?}");
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let Some((kernel, _alone)) = kernel() else { return };
    let refused = |options| match BpfMeasurement::start(&kernel, options) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it started"),
    };
    let none = refused(short(Mode::Osnoise, 8000));
    assert!(none.contains("CPU 8000 is not online"), "{none}");
    let deadline = Policy::Deadline { runtime_ns: 100_000, period_ns: 1_000_000 };
    let pinned = refused(Options { policy: deadline, ..short(Mode::Timerlat, last_cpu(&kernel)) });
    assert!(pinned.contains("root domain"), "{pinned}");
}

fn probescope(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_probescope")).arg("latency").args(words).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
}

#[test]
fn the_committed_programs_are_what_clang_makes_of_the_sources() {
    let clang = Command::new("clang").arg("--version").output();
    let version = clang.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let strip = Command::new("llvm-strip").arg("--version").output().is_ok();
    // Another version may choose other instructions for the same source.
    if !version.contains("clang version 14.") || !strip {
        skip::skip("the programs are compiled again with clang 14 and llvm-strip (Debian: clang llvm) only");
        return;
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let copy = std::env::temp_dir().join(format!("probescope-bpf-{}", std::process::id()));
    std::fs::create_dir_all(copy.join("bpf")).unwrap();
    let sources = ["kernel.h", "latency.h", "latency.bpf.c", "task.h", "task.bpf.c"].map(|name| format!("bpf/{name}"));
    std::fs::create_dir_all(copy.join("tests/fixtures/latency")).unwrap();
    for name in sources.iter().map(String::as_str).chain(["Makefile", "tests/fixtures/latency/action.bpf.c"]) {
        std::fs::copy(root.join(name), copy.join(name)).unwrap();
    }
    let made = Command::new("make").arg("-s").arg("-C").arg(&copy).arg("bpf").output().unwrap();
    let objects = ["bpf/latency.bpf.o", "bpf/task.bpf.o", "tests/fixtures/latency/action.bpf.o"];
    let fresh = objects.map(|name| std::fs::read(copy.join(name)));
    let _ = std::fs::remove_dir_all(&copy);
    assert!(made.status.success(), "{}", text(&made));
    for (name, fresh) in objects.into_iter().zip(fresh) {
        assert!(fresh.unwrap() == std::fs::read(root.join(name)).unwrap(), "run `make bpf` and commit {name}");
    }
}

#[test]
fn a_recorded_measurement_is_replayed_without_measuring() {
    let Some(_alone) = kernel() else { return };
    let file = std::env::temp_dir().join(format!("probescope-latency-{}.psrec", std::process::id()));
    let path = file.to_str().unwrap();
    let words = format!(
        "timerlat top -u --backend bpf -T 1 -q -d 2s --on-threshold shell,command=true --on-threshold continue --record {path}"
    );
    let measured = probescope(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(measured.status.code(), Some(0), "{}", text(&measured));
    let replay = |more: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_probescope")).arg("replay").args(more).arg(path).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let told = replay(&["-f", "text"]);
    assert!(told.contains("hit stop tracing, analyzing it") && told.contains("Thread latency:"), "{told}");
    // The table at the end is the one that was printed, but for the time that it took and rtla's reports before it.
    let rows = |text: &str| {
        text.lines().filter(|l| l.contains(" #") && l.contains('|')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rows(&told), rows(&String::from_utf8_lossy(&measured.stdout)), "{told}");
    let json = replay(&["-f", "json"]);
    let kinds: Vec<String> = json
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert!(kinds.iter().any(|k| k == "cpu_sample") && kinds.iter().any(|k| k == "episode"), "{kinds:?}");
    let _ = std::fs::remove_file(file);
}

#[test]
fn the_parts_of_a_tasks_time_are_its_wall_time() {
    let Some(_alone) = kernel() else { return };
    let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let pid = busy.id().to_string();
    let output = probescope(&["task", "-p", &pid, "-d", "1s", "--json"]);
    busy.kill().unwrap();
    busy.wait().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let threads = told["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 1, "{told}");
    let (wall, parts) = (threads[0]["wall_ns"].as_u64().unwrap(), threads[0]["parts"].as_array().unwrap());
    let sum: u64 = parts.iter().map(|part| part.as_u64().unwrap()).sum();
    assert!(sum.abs_diff(wall) <= wall / 100, "{sum} of {wall}");
    assert!(parts[1].as_u64().unwrap() > 0 && !told["verdict"]["words"].as_str().unwrap().is_empty(), "{told}");
}

#[test]
fn whom_to_watch_is_checked_before_anything_is_loaded() {
    for (words, why) in [
        (&["task", "-p", "4194305"][..], "there is no process 4194305"),
        (&["task", "--cgroup", "/proc"], "is no control group of version 2"),
        (&["timerlat", "top", "--bpf-action", "x.o"], "x.o: No such file"),
        (&["timerlat", "top", "-e", "no:such", "-d", "1s"], "there is no event `no:such`"),
        (&["osnoise", "top", "--json=cyclictest"], "use timerlat"),
    ] {
        let output = probescope(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {}", text(&output));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(why) || root::missing(), "{words:?}: {said}");
    }
}
