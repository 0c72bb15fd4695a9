//! `latency selftest`: known noise is made, and what was measured of it is told.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::inject::{Injector, Made, Noise};
use crate::cli::{CliError, World};
use crate::kernel::Kernel;
use crate::model::latency::{NoiseClass, SourceStat, Totals};
use crate::stdio;
use crate::tracer::latency::bpf::BpfMeasurement;
use crate::tracer::latency::{Item, Measurement as _, Mode, Options};

/// Make known noise on a CPU and compare what was measured of it with what was made.
///
/// At least 95 % of each kind has to be charged to its right source. Exit codes: 0 it is, 1 it is not, or nothing
/// could be measured.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The CPU that gets the noise; the last one when it is not given.
    #[arg(short, long, value_name = "CPU")]
    cpu: Option<u32>,
    /// Seconds for each kind of noise.
    #[arg(short, long, value_name = "SECONDS", default_value_t = 3)]
    duration: u64,
}

/// What has to be charged right, in percent.
const ENOUGH: f64 = 95.0;

/// How a case came out.
struct Outcome {
    name: &'static str,
    made: f64,
    measured: f64,
    unit: &'static str,
    charged_to: String,
}

impl Outcome {
    /// The smaller part of the other, in percent: too much is as wrong as too little.
    fn percent(&self) -> f64 {
        let (low, high) =
            if self.made < self.measured { (self.made, self.measured) } else { (self.measured, self.made) };
        if high > 0.0 { low * 100.0 / high } else { 0.0 }
    }
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World, stop: &Arc<AtomicBool>) -> Result<ExitCode, CliError> {
    let kernel = crate::cli::kernel::running(world);
    let online = kernel.online_cpus().as_slice().to_vec();
    let cpu = args.cpu.or_else(|| online.last().copied()).unwrap_or(0);
    let other = online.iter().copied().find(|c| *c != cpu);
    let long = Duration::from_secs(args.duration.clamp(1, 600));
    let mut text = format!(
        "{:<34} {:>14} {:>14} {:>9}  charged to\n",
        format!("injected on CPU {cpu}"),
        "made",
        "measured",
        "right"
    );
    let mut good = true;
    for case in CASES {
        if stop.load(Ordering::Acquire) {
            return Ok(ExitCode::FAILURE);
        }
        let other = match (case.needs_other, other) {
            (true, None) => {
                let _ = writeln!(text, "{:<34} not made: it needs a second CPU", case.name);
                continue;
            }
            (_, other) => other.unwrap_or(cpu),
        };
        let outcome = (case.run)(&kernel, cpu, other, long)?;
        let right = outcome.percent() >= ENOUGH;
        good &= right;
        let _ = writeln!(
            text,
            "{:<34} {:>11.1} {:2} {:>11.1} {:2} {:>7.1} %  {}{}",
            outcome.name,
            outcome.made,
            outcome.unit,
            outcome.measured,
            outcome.unit,
            outcome.percent(),
            outcome.charged_to,
            if right { "" } else { "  WRONG" },
        );
    }
    let verdict = if good { "all charged right" } else { "not all charged right" };
    let _ = writeln!(text, "{verdict} (at least {ENOUGH} %)");
    std::io::Write::write_all(&mut stdio::out(), text.as_bytes()).map_err(CliError::stdout)?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Case {
    name: &'static str,
    needs_other: bool,
    run: fn(&Arc<Kernel>, u32, u32, Duration) -> Result<Outcome, CliError>,
}

const CASES: [Case; 5] = [
    Case { name: "real-time thread, 500 us at 100 Hz", needs_other: false, run: burner },
    Case { name: "timers at 1000 Hz", needs_other: false, run: timers },
    Case { name: "interrupts from another CPU", needs_other: true, run: interrupts },
    Case { name: "packets on lo at 2000 Hz", needs_other: false, run: packets },
    Case { name: "a CPU that is taken for 20 ms", needs_other: false, run: paused },
];

/// What was measured, and what was made meanwhile.
struct Measured {
    cpu: u32,
    totals: Totals,
    made: Arc<Made>,
}

impl Measured {
    /// How often noise was made.
    fn count(&self) -> f64 {
        self.made.count.load(Ordering::Relaxed) as f64
    }

    /// What was measured of the thread that made it.
    fn thread(&self) -> Option<&SourceStat> {
        self.totals.exact_source(self.cpu, NoiseClass::Thread, &self.made.thread_name())
    }

    /// The thread's time, in ms: what its own clock says beside what was measured.
    fn times(&self) -> (f64, f64) {
        let busy_ns = self.made.busy_ns.load(Ordering::Relaxed);
        (busy_ns as f64 / 1e6, self.thread().map_or(0.0, |s| s.net_ns as f64 / 1e6))
    }
}

/// How often a source runs on this machine anyway, in as much time as was measured.
fn background(
    kernel: &Arc<Kernel>,
    (cpu, other): (u32, u32),
    long: Duration,
    count: impl Fn(&Totals) -> u64,
    during: &Totals,
) -> Result<f64, CliError> {
    let idle = measured(kernel, None, (cpu, other), Mode::Passive, long)?.totals;
    let time = |totals: &Totals| totals.cpus.get(&cpu).map_or(0, |total| total.measured_ns);
    let share = time(during) as f64 / time(&idle).max(1) as f64;
    Ok(count(&idle) as f64 * share)
}

/// Measures, while noise is made if any is given.
fn measured(
    kernel: &Arc<Kernel>,
    noise: Option<Noise>,
    (cpu, other): (u32, u32),
    mode: Mode,
    long: Duration,
) -> Result<Measured, CliError> {
    let options = Options {
        mode,
        cpus: vec![cpu],
        period_ns: 100_000_000,
        runtime_ns: 99_000_000,
        interval: Duration::from_millis(100),
        ..Options::default()
    };
    let mut measurement = BpfMeasurement::start(kernel, options)?;
    let injector = noise.map(|noise| Injector::start(noise, cpu, other)).transpose().map_err(CliError::Refused)?;
    let mut totals = Totals::default();
    let end = Instant::now() + long;
    let mut take = |items: Vec<Item>| {
        for item in items {
            if let Item::Sample(sample) = item {
                totals.add(&sample);
            }
        }
    };
    while Instant::now() < end {
        take(measurement.poll()?);
        std::thread::sleep(Duration::from_millis(10));
    }
    let made = injector.map(Injector::finish).unwrap_or_default();
    take(measurement.finish()?);
    Ok(Measured { cpu, totals, made })
}

fn burner(kernel: &Arc<Kernel>, cpu: u32, other: u32, long: Duration) -> Result<Outcome, CliError> {
    let noise = Noise::Burner { busy_ns: 500_000, hertz: 100 };
    let told = measured(kernel, Some(noise), (cpu, other), Mode::Osnoise, long)?;
    let (made, measured) = told.times();
    Ok(Outcome {
        name: CASES[0].name,
        made,
        measured,
        unit: "ms",
        charged_to: told.thread().map_or("nothing".to_owned(), |s| format!("Thread {}", s.name)),
    })
}

fn timers(kernel: &Arc<Kernel>, cpu: u32, other: u32, long: Duration) -> Result<Outcome, CliError> {
    let told = measured(kernel, Some(Noise::Timers { hertz: 1000 }), (cpu, other), Mode::Passive, long)?;
    let source = told.totals.source(cpu, NoiseClass::Timer, "hrtimer_wakeup");
    let thread = told.thread();
    Ok(Outcome {
        name: CASES[1].name,
        made: told.count(),
        // Other sleepers have timers there, too: those of the injector are known by its runs.
        measured: thread.map_or(0, |s| s.count).min(source.map_or(0, |s| s.count)) as f64,
        unit: "",
        charged_to: source
            .map_or("nothing".to_owned(), |s| format!("Timer {}, Thread {}", s.name, told.made.thread_name())),
    })
}

fn interrupts(kernel: &Arc<Kernel>, cpu: u32, other: u32, long: Duration) -> Result<Outcome, CliError> {
    let noise = Noise::Interrupts { hertz: 4000 };
    let Measured { totals, made, .. } = measured(kernel, Some(noise), (cpu, other), Mode::Passive, long)?;
    // One target may be told by either vector.
    let sources = |totals: &Totals| -> Vec<SourceStat> {
        let names = ["call_function:", "call_function_single:", "ipi:"];
        names.iter().filter_map(|name| totals.source(cpu, NoiseClass::Irq, name).cloned()).collect()
    };
    let runs = |totals: &Totals| sources(totals).iter().map(|s| s.count).sum::<u64>();
    let others = background(kernel, (cpu, other), long / 3, runs, &totals)?;
    let measured = (runs(&totals) as f64 - others).max(0.0);
    let (least, uncertain) = (made.count.load(Ordering::Relaxed), made.uncertain.load(Ordering::Relaxed));
    Ok(Outcome {
        name: CASES[2].name,
        made: measured.clamp(least as f64, (least + uncertain) as f64),
        measured,
        unit: "",
        charged_to: sources(&totals).iter().map(|s| format!("IRQ {}", s.name)).collect::<Vec<_>>().join(", "),
    })
}

fn packets(kernel: &Arc<Kernel>, cpu: u32, other: u32, long: Duration) -> Result<Outcome, CliError> {
    let told = measured(kernel, Some(Noise::Packets { hertz: 2000 }), (cpu, other), Mode::Passive, long)?;
    let runs = |totals: &Totals| totals.source(cpu, NoiseClass::Softirq, "NET_RX:").map_or(0, |s| s.count);
    let others = background(kernel, (cpu, other), long / 3, runs, &told.totals)?;
    let source = told.totals.source(cpu, NoiseClass::Softirq, "NET_RX:");
    Ok(Outcome {
        name: CASES[3].name,
        made: told.count(),
        measured: (runs(&told.totals) as f64 - others).max(0.0),
        unit: "",
        charged_to: source.map_or("nothing".to_owned(), |s| format!("Softirq {}", s.name)),
    })
}

/// A thread that takes the CPU for long stretches, as one that pauses everything else: the longest is told whole.
fn paused(kernel: &Arc<Kernel>, cpu: u32, other: u32, long: Duration) -> Result<Outcome, CliError> {
    let noise = Noise::Burner { busy_ns: 20_000_000, hertz: 5 };
    let told = measured(kernel, Some(noise), (cpu, other), Mode::Osnoise, long)?;
    let (made, measured) = told.times();
    Ok(Outcome {
        name: CASES[4].name,
        made,
        measured,
        unit: "ms",
        charged_to: told
            .thread()
            .map_or("nothing".to_owned(), |s| format!("Thread {}, longest {:.1} ms", s.name, s.max_ns as f64 / 1e6)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_is_as_wrong_as_too_little() {
        let outcome = |made, measured| Outcome { name: "", made, measured, unit: "", charged_to: String::new() };
        for (made, measured, percent) in [(100.0, 95.0, 95.0), (95.0, 100.0, 95.0), (0.0, 0.0, 0.0), (10.0, 0.0, 0.0)] {
            assert!((outcome(made, measured).percent() - percent).abs() < 1e-9);
        }
    }
}
