//! Known noise on one CPU, and what the meter says of it: runs are counted one by one, and time is compared with the
//! kernel's own account of the same thread, so a busy machine changes neither.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use probescope::engine::latency::{Policy, interrupt_own_threads, set_policy};
use probescope::kernel::Kernel;
use probescope::model::latency::{NoiseClass, TimerSample};
use probescope::tracer::latency::bpf::BpfMeasurement;
use probescope::tracer::latency::{Item, Measurement as _, Mode, Options};

use super::{kernel, last_cpu, measure, samples, short, skip};

fn pin(cpu: u32) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu as usize);
    rustix::thread::sched_setaffinity(None, &set).unwrap();
}

fn thread_clock_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

fn spin_for(ns: u64) {
    let until = thread_clock_ns() + ns;
    while thread_clock_ns() < until {
        std::hint::spin_loop();
    }
}

/// What a source did on a CPU.
#[derive(Default, Debug)]
struct Seen {
    runs: u64,
    net_ns: u64,
}

fn seen(items: &[Item], cpu: u32, class: NoiseClass, name: &str) -> Seen {
    let sources = samples(items).filter(|s| s.cpu == cpu).flat_map(|s| &s.sources);
    let mine = sources.filter(|s| s.class == class && s.name.starts_with(name));
    mine.fold(Seen::default(), |all, s| Seen { runs: all.runs + s.count, net_ns: all.net_ns + s.net_ns })
}

/// Measures while a thread on a CPU, named `noisy`, makes noise; gives what it says that it made, too.
fn during<T: Send + 'static>(
    kernel: &Arc<Kernel>,
    cpu: u32,
    make: impl FnOnce() -> T + Send + 'static,
) -> (Vec<Item>, T) {
    let options = Options { interval: Duration::from_millis(200), ..Options::default() };
    let mut measurement = BpfMeasurement::start(kernel, options).unwrap_or_else(|e| panic!("{e}"));
    let noisy = std::thread::Builder::new().name("noisy".into()).spawn(move || {
        pin(cpu);
        make()
    });
    let noisy = noisy.unwrap();
    let mut items = Vec::new();
    while !noisy.is_finished() {
        items.extend(measurement.poll().unwrap());
        std::thread::sleep(Duration::from_millis(5));
    }
    let made = noisy.join().unwrap();
    items.extend(measurement.finish().unwrap());
    (items, made)
}

#[test]
fn the_time_of_a_thread_is_what_the_kernel_charges_it() {
    let Some((kernel, _alone)) = kernel() else { return };
    let cpu = last_cpu(&kernel);
    const RUNS: u64 = 100;
    let (items, busy_ns) = during(&kernel, cpu, || {
        let began = thread_clock_ns();
        for _ in 0..RUNS {
            spin_for(2_000_000);
            std::thread::sleep(Duration::from_millis(3));
        }
        thread_clock_ns() - began
    });
    let thread = seen(&items, cpu, NoiseClass::Thread, "noisy:");
    assert!(thread.runs >= RUNS, "{thread:?}");
    // The kernel charges interrupts to the thread that they interrupt, unless it was built to tell them apart.
    let interrupts = [NoiseClass::Nmi, NoiseClass::Irq, NoiseClass::Softirq].map(|class| seen(&items, cpu, class, ""));
    let interrupts_ns: u64 = interrupts.iter().map(|seen| seen.net_ns).sum();
    let told = format!("{thread:?} and {interrupts_ns} ns of interrupts, the kernel says {busy_ns} ns");
    assert!(thread.net_ns <= busy_ns + busy_ns / 20, "{told}");
    assert!(thread.net_ns + interrupts_ns >= busy_ns - busy_ns / 20, "{told}");
}

#[test]
fn what_ran_is_no_longer_than_it_was_measured_though_a_thread_never_stops() {
    let Some((kernel, _alone)) = kernel() else { return };
    let cpu = last_cpu(&kernel);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    // It has the CPU before the measurement begins, and after it ends.
    let busy = std::thread::spawn(move || {
        pin(cpu);
        while !stopped.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    });
    for mode in [Mode::Passive, Mode::Timerlat] {
        let options = Options { interval: Duration::from_millis(50), ..short(mode, cpu) };
        let items = measure(&kernel, options, Duration::from_millis(400));
        for sample in samples(&items).filter(|s| s.cpu == cpu) {
            // An interrupt that began before a period is told in it as a whole.
            let most = sample.period_ns + 1_000_000;
            let named: u64 = sample.sources.iter().filter(|s| s.class != NoiseClass::Timer).map(|s| s.net_ns).sum();
            assert!(sample.net_ns.total() <= most, "{mode:?}: {} of {} ns", sample.net_ns.total(), sample.period_ns);
            assert!(named <= most, "{mode:?}: the sources have {named} of {} ns", sample.period_ns);
        }
    }
    stop.store(true, Ordering::Relaxed);
    busy.join().unwrap();
}

#[test]
fn each_timer_of_a_thread_is_a_timer_and_a_run() {
    let Some((kernel, _alone)) = kernel() else { return };
    let cpu = last_cpu(&kernel);
    const TIMERS: u64 = 300;
    let (items, ()) = during(&kernel, cpu, || (0..TIMERS).for_each(|_| std::thread::sleep(Duration::from_millis(2))));
    let timers = seen(&items, cpu, NoiseClass::Timer, "hrtimer_wakeup");
    let interrupts = seen(&items, cpu, NoiseClass::Irq, "local_timer");
    let runs = seen(&items, cpu, NoiseClass::Thread, "noisy:");
    assert!(timers.runs >= TIMERS && runs.runs >= TIMERS, "{timers:?} {runs:?}");
    assert!(interrupts.runs >= TIMERS / 2, "timers that expire together have one interrupt: {interrupts:?}");
}

#[test]
fn each_packet_on_the_loopback_device_is_a_softirq_of_its_sender() {
    let Some((kernel, _alone)) = kernel() else { return };
    let cpu = last_cpu(&kernel);
    const PACKETS: u64 = 1000;
    let (items, sent) = during(&kernel, cpu, || {
        let (to, from) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        from.connect(to.local_addr().unwrap()).unwrap();
        (0..PACKETS).filter(|_| from.send(&[0; 64]).is_ok() && to.recv(&mut [0; 64]).is_ok()).count() as u64
    });
    let softirqs = seen(&items, cpu, NoiseClass::Softirq, "NET_RX:");
    assert!(sent == PACKETS && softirqs.runs >= sent, "{sent} sent, {softirqs:?}");
}

#[test]
fn each_interrupt_that_another_cpu_sends_is_counted() {
    let Some((kernel, _alone)) = kernel() else { return };
    let online = kernel.online_cpus().as_slice().to_vec();
    let [first, .., last] = online[..] else {
        skip::skip("interrupts between CPUs need two of them");
        return;
    };
    let (spins, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (spins_too, ended_too) = (Arc::clone(&spins), Arc::clone(&ended));
    // A barrier of the process interrupts the CPUs that its threads run on.
    let target = std::thread::spawn(move || {
        pin(last);
        // Nothing ordinary takes the CPU from it while it means to spin.
        set_policy(Policy::Fifo(90)).unwrap();
        while !ended_too.load(Ordering::SeqCst) {
            spins_too.store(true, Ordering::SeqCst);
            spin_for(5_000_000);
            spins_too.store(false, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let (items, sent) = during(&kernel, first, move || {
        let mut sent = 0_u64;
        for _ in 0..2000 {
            let before = spins.load(Ordering::SeqCst);
            interrupt_own_threads();
            sent += u64::from(before && spins.load(Ordering::SeqCst));
            std::thread::sleep(Duration::from_micros(200));
        }
        sent
    });
    ended.store(true, Ordering::SeqCst);
    target.join().unwrap();
    let received = seen(&items, last, NoiseClass::Irq, "call_function");
    // The target may be off its CPU just then: then nobody interrupts it.
    assert!(sent > 0 && received.runs * 10 >= sent * 8, "{sent} sent, {received:?}");
}

#[test]
fn at_no_share_of_cycles_is_the_thread_before_its_timer() {
    let Some((kernel, _alone)) = kernel() else { return };
    let cpu = last_cpu(&kernel);
    let items = measure(&kernel, short(Mode::Timerlat, cpu), Duration::from_secs(2));
    let mut timer = TimerSample::default();
    samples(&items).filter_map(|s| s.timer.as_ref()).for_each(|t| timer.add(t));
    for percent in [1.0, 10.0, 50.0, 90.0, 99.0] {
        let at = |stat: &probescope::model::latency::LatencyStat| stat.lengths.percentile_ns(percent).unwrap();
        // Lengths are kept to 3 %.
        let (irq, thread, user) = (at(&timer.irq), at(&timer.thread), at(&timer.user));
        assert!(irq <= thread + thread / 16 && thread <= user + user / 16, "{percent} %: {irq} {thread} {user}");
    }
    assert_eq!(timer.irq.count + timer.unseen, timer.user.count, "each cycle is a sample");
}
