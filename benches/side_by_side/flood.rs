//! The workbench under a million events a second from one CPU: frames, keys, what it uses, and whether every event is
//! delivered or counted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use probescope::model::stats::LossCause;
use probescope::store::History as _;
use probescope::store::file::Recording;

use super::terminal::{FRAME_END, Workbench};

const SCRIPT: &str = "tracepoint:syscalls:sys_enter_getppid { printf(\"%d %s %lu\\n\", pid, comm, nsecs); }\n";
const EVENTS_PER_S: u64 = 1_000_000;
/// A letter that nothing else on the screen has.
const LETTER: &str = "¤";
const MEASURED: Duration = Duration::from_secs(10);
const BETWEEN_KEYS: Duration = Duration::from_millis(70);

/// Calls getppid(2) at a steady rate on one CPU.
struct Load {
    stop: Arc<AtomicBool>,
    calls: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Load {
    fn start() -> Self {
        let (stop, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (ends, counted) = (Arc::clone(&stop), Arc::clone(&calls));
        let thread = std::thread::spawn(move || {
            let start = Instant::now();
            let mut made = 0;
            while !ends.load(Ordering::Relaxed) {
                let due = start.elapsed().as_nanos() as u64 * EVENTS_PER_S / 1_000_000_000;
                for _ in made..due {
                    let _ = rustix::process::getppid();
                }
                made = made.max(due);
                counted.store(made, Ordering::Relaxed);
            }
        });
        Self { stop, calls, thread }
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Ends it; how many calls it made.
    fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.join();
        self.calls.load(Ordering::Relaxed)
    }
}

/// What a while of it was like.
#[derive(Default)]
struct Measured {
    frames: usize,
    /// From each key to the whole frame that shows it, ms.
    echoes: Vec<f64>,
    unanswered: usize,
}

impl Measured {
    fn p99(&self) -> f64 {
        let mut sorted = self.echoes.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() * 99 / 100).copied().unwrap_or(f64::NAN)
    }
}

/// Types a letter now and then and takes it back, while frames are counted.
fn type_for(workbench: &mut Workbench, length: Duration) -> Measured {
    let mut measured = Measured::default();
    let until = Instant::now() + length;
    while Instant::now() < until {
        let pressed = workbench.press(LETTER);
        let mut seen = Vec::new();
        let mut shown = None;
        let next = pressed + BETWEEN_KEYS;
        while let Ok((at, bytes)) = workbench.output.recv_timeout(next.saturating_duration_since(Instant::now())) {
            measured.frames += memchr::memmem::find_iter(&bytes, FRAME_END).count();
            seen.extend_from_slice(&bytes);
            let whole = memchr::memmem::rfind(&seen, FRAME_END).unwrap_or(0);
            if shown.is_none() && memchr::memmem::find(&seen[..whole], LETTER.as_bytes()).is_some() {
                shown = Some(at);
                workbench.press("\x7f");
            }
        }
        if let Some(at) = shown {
            measured.echoes.push((at - pressed).as_secs_f64() * 1e3);
        } else {
            measured.unanswered += 1;
            workbench.press("\x7f");
        }
    }
    measured
}

fn phase(name: &str, workbench: &mut Workbench, load: &Load) {
    let (begun, calls) = (Instant::now(), load.calls());
    let used = workbench.use_of().map_or(f64::NAN, |used| used.0);
    let recorder = workbench.thread_use("psc-recorder");
    let measured = type_for(workbench, MEASURED);
    let took = begun.elapsed().as_secs_f64();
    let share = |before: f64, after: f64| (after - before) / took / 10.0;
    let (now, resident) = workbench.use_of().unwrap_or((f64::NAN, f64::NAN));
    println!(
        "  {name}: {:.2} M events/s, {:.1} frames/s (30 wanted), key echoed p99 {:.1} ms (33 wanted; {} of {} keys within \
         {} ms), {:.0} % of a core (100 wanted), {resident:.0} MB",
        (load.calls() - calls) as f64 / took / 1e6,
        measured.frames as f64 / took,
        measured.p99(),
        measured.echoes.len(),
        measured.echoes.len() + measured.unanswered,
        BETWEEN_KEYS.as_millis(),
        share(used, now),
    );
    let recorder = share(recorder, workbench.thread_use("psc-recorder"));
    if recorder > 0.0 {
        println!("    of it the recorder's thread: {recorder:.0} % of a core (25 wanted)");
    }
}

/// Every call was delivered or counted, by the counters at the end of the recording.
fn account(home: &Path, calls: u64) -> Option<String> {
    let file = std::fs::read_dir(home)
        .ok()?
        .flatten()
        .map(|e| e.path())
        .find(|p| p.extension().is_some_and(|e| e == "psrec"))?;
    let recording = Recording::open(&file).ok()?;
    let trace = recording.traces().last()?.id;
    let stats = recording.stats_at(trace, u64::MAX)?;
    let counted = |cause| stats.losses.iter().filter(|l| l.cause == cause).map(|l| l.count).sum::<u64>();
    let (lost, throttled) = (counted(LossCause::RingFull), counted(LossCause::Throttled));
    let bytes = std::fs::metadata(&file).ok()?.len();
    let held = recording.entries().count();
    Some(format!(
        "  of {calls} calls {} delivered, {lost} lost, {throttled} throttled to keep the workbench's budget, {} neither; \
         recorded {held} entries, {:.1} bytes each",
        stats.delivered,
        calls as i128 - i128::from(stats.delivered) - i128::from(lost) - i128::from(throttled),
        bytes as f64 / held.max(1) as f64,
    ))
}

/// The figures, with what they are held against.
pub fn workbench() {
    println!("\nthe workbench on a terminal of 120x40 under {EVENTS_PER_S} events a second from one CPU");
    let Ok(mut workbench) = Workbench::open_on(SCRIPT) else {
        println!("  left out: no pseudo-terminal can be opened");
        return;
    };
    let _ = workbench.frame_with(b"bench.bt");
    workbench.press("\x13");
    if workbench.frame_with(b"running").is_none() {
        println!("  left out: the script does not run here");
        return workbench.close();
    }
    // The script has the keys: letters are echoed in its first line.
    workbench.press("\x1b1");
    std::thread::sleep(Duration::from_secs(1));
    let load = Load::start();
    std::thread::sleep(Duration::from_secs(2));
    while workbench.output.try_recv().is_ok() {}
    phase("tracing", &mut workbench, &load);
    workbench.press("\x1b2");
    std::thread::sleep(Duration::from_millis(300));
    workbench.press("R");
    std::thread::sleep(Duration::from_secs(1));
    workbench.press("\x1b1");
    std::thread::sleep(Duration::from_millis(300));
    while workbench.output.try_recv().is_ok() {}
    phase("recording", &mut workbench, &load);
    let calls = load.stop();
    std::thread::sleep(Duration::from_secs(2));
    workbench.press("\x1b2");
    std::thread::sleep(Duration::from_millis(300));
    workbench.press("R");
    std::thread::sleep(Duration::from_secs(3));
    match account(&workbench.home, calls) {
        Some(told) => println!("{told}"),
        None => println!("  no recording was written to {}", workbench.home.display()),
    }
    workbench.close();
}
