//! Known noise, made on purpose on one CPU, and how much of it was made.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::engine::latency::{Policy, set_policy};
use crate::engine::monotonic_ns;
use crate::thread::{self, Rights};

/// What is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// A real-time thread that takes the CPU for this long, so often a second.
    Burner {
        /// ns of each run.
        busy_ns: u64,
        /// Runs a second.
        hertz: u64,
    },
    /// A thread that sleeps on a timer of its own, so often a second.
    Timers {
        /// Wake-ups a second.
        hertz: u64,
    },
    /// Interrupts sent from another CPU to a thread of ours that has this one half of the time, so often a second.
    Interrupts {
        /// How often a second.
        hertz: u64,
    },
    /// Packets that a thread on this CPU sends over the loopback device, so often a second.
    Packets {
        /// How often a second.
        hertz: u64,
    },
}

/// Noise that is being made; it ends when this is dropped.
pub struct Injector {
    stop: Arc<AtomicBool>,
    made: Arc<Made>,
    handle: Option<JoinHandle<()>>,
}

/// What was made.
#[derive(Debug, Default)]
pub struct Made {
    /// How often.
    pub count: AtomicU64,
    /// How often it may have been made besides: nobody can tell.
    pub uncertain: AtomicU64,
    /// For how long altogether, by the thread's own CPU clock; 0 where it takes no time of its own.
    pub busy_ns: AtomicU64,
    /// The thread that makes it.
    tid: AtomicU32,
}

impl Made {
    /// The name that a measurement has for the thread: other programs may have threads of this name, too.
    #[must_use]
    pub fn thread_name(&self) -> String {
        format!("{NAME}:{}", self.tid.load(Ordering::Relaxed))
    }
}

/// The name of the threads that make noise.
const NAME: &str = "inject";

impl Injector {
    /// Starts it. `cpu` is the CPU that gets the noise, `other` one that may send it.
    ///
    /// # Errors
    /// When the thread cannot be started or set up; in plain words.
    pub fn start(noise: Noise, cpu: u32, other: u32) -> Result<Self, String> {
        let (stop, made) = (Arc::new(AtomicBool::new(false)), Arc::new(Made::default()));
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let (stop_too, made_too) = (Arc::clone(&stop), Arc::clone(&made));
        let handle = thread::spawn(NAME, Rights::All, move || {
            let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
            made_too.tid.store(tid, Ordering::Relaxed);
            let set_up = set_up(noise, cpu, other);
            let failed = set_up.is_err();
            drop(tell.send(set_up));
            if !failed {
                run(noise, cpu, &stop_too, &made_too);
            }
        })
        .map_err(|e| format!("cannot start a thread: {e}"))?;
        let injector = Self { stop, made, handle: Some(handle) };
        told.recv().unwrap_or_else(|_| Err("the thread ended at once".to_owned()))?;
        Ok(injector)
    }

    /// Ends it and tells what was made.
    pub fn finish(mut self) -> Arc<Made> {
        self.end();
        Arc::clone(&self.made)
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(handle) = self.handle.take() {
            drop(handle.join());
        }
    }
}

impl Drop for Injector {
    fn drop(&mut self) {
        self.end();
    }
}

fn set_up(noise: Noise, cpu: u32, other: u32) -> Result<(), String> {
    let from = if matches!(noise, Noise::Interrupts { .. }) { other } else { cpu };
    let mut set = CpuSet::new();
    set.set(from as usize);
    sched_setaffinity(None, &set).map_err(|e| format!("cannot move to CPU {from}: {e}"))?;
    let policy = if matches!(noise, Noise::Interrupts { .. }) { Policy::Other } else { Policy::Fifo(90) };
    set_policy(policy).map_err(|e| format!("cannot be a real-time thread: {e}"))
}

/// ns that this thread has run.
fn cpu_clock() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

fn run(noise: Noise, cpu: u32, stop: &AtomicBool, made: &Made) {
    let hertz = match noise {
        Noise::Burner { hertz, .. }
        | Noise::Timers { hertz }
        | Noise::Interrupts { hertz }
        | Noise::Packets { hertz } => hertz,
    };
    let period = Duration::from_nanos(1_000_000_000 / hertz.max(1));
    if matches!(noise, Noise::Interrupts { .. }) {
        return interrupt(cpu, period, stop, made);
    }
    let sockets = sockets(noise);
    let began = cpu_clock();
    let mut next = Instant::now() + period;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        // A machine that comes late has more to do than to sleep no time, which takes no timer.
        next = (next + period).max(Instant::now() + period / 2);
        match noise {
            Noise::Burner { busy_ns, .. } => burn(busy_ns),
            Noise::Timers { .. } | Noise::Interrupts { .. } => {}
            Noise::Packets { .. } => send(sockets.as_ref()),
        }
        made.count.fetch_add(1, Ordering::Relaxed);
    }
    made.busy_ns.store(cpu_clock() - began, Ordering::Relaxed);
}

fn burn(busy_ns: u64) {
    let end = monotonic_ns() + busy_ns;
    while monotonic_ns() < end {
        std::hint::spin_loop();
    }
}

/// A memory barrier of the process interrupts the CPUs that its threads run on at that moment: a real-time thread spins
/// half of the time, and only what is sent while it does counts.
fn interrupt(cpu: u32, period: Duration, stop: &AtomicBool, made: &Made) {
    const HALF: u64 = 5_000_000;
    let (spins, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _ = thread::scoped(scope, (NAME, Rights::All), 1 << 20, || {
            if set_up(Noise::Timers { hertz: 1 }, cpu, cpu).is_err() {
                return;
            }
            while !ended.load(Ordering::Relaxed) {
                spins.store(true, Ordering::SeqCst);
                burn(HALF);
                spins.store(false, Ordering::SeqCst);
                std::thread::sleep(Duration::from_nanos(HALF));
            }
        });
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(period);
            if spins.load(Ordering::SeqCst) {
                crate::engine::latency::interrupt_own_threads();
                // A thread that is about to sleep may have been interrupted or not.
                let sent = if spins.load(Ordering::SeqCst) { &made.count } else { &made.uncertain };
                sent.fetch_add(1, Ordering::Relaxed);
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
}

fn sockets(noise: Noise) -> Option<(UdpSocket, UdpSocket)> {
    if !matches!(noise, Noise::Packets { .. }) {
        return None;
    }
    let to = UdpSocket::bind("127.0.0.1:0").ok()?;
    let from = UdpSocket::bind("127.0.0.1:0").ok()?;
    from.connect(to.local_addr().ok()?).ok()?;
    to.set_nonblocking(true).ok()?;
    Some((from, to))
}

fn send(sockets: Option<&(UdpSocket, UdpSocket)>) {
    let Some((from, to)) = sockets else { return };
    // What could not be sent is seen as packets that are missing.
    let _ = from.send(&[0; 64]);
    let _ = to.recv(&mut [0; 64]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_another_program_with_the_same_name_is_not_ours() {
        use crate::model::latency::{CpuSample, Distribution, NoiseClass, SourceStat, Totals};
        let made = Made { tid: AtomicU32::new(71), ..Made::default() };
        let run = |name: &str, count| SourceStat {
            class: NoiseClass::Thread,
            name: name.into(),
            count,
            net_ns: count,
            max_ns: count,
            lengths: Distribution::default(),
        };
        let sources = vec![run("injected:9", 1), run("inject:7", 2), run("inject:711", 3), run("inject:71", 4)];
        let mut totals = Totals::default();
        totals.add(&CpuSample { cpu: 1, sources, ..CpuSample::default() });
        let found = totals.exact_source(1, NoiseClass::Thread, &made.thread_name());
        assert_eq!(found.map(|s| s.count), Some(4));
    }
}
