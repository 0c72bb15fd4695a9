//! `probescope vitals`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::xray::span;
use super::{CliError, World, signals, tracing};
use crate::engine::TraceOptions;
use crate::engine::attach::Place;
use crate::engine::names::time::{Clocks, format as time};
use crate::kernel::Kernel;
use crate::lang::source::SourceText;
use crate::model::snapshot::MapSnapshot;
use crate::model::words::counted;
use crate::output::diagnostics::render_all;
use crate::output::failures::errno_name;
use crate::session::front::{self, FrontSettings};
use crate::session::headless::{Headless, Remote};
use crate::session::recorded::Recorded;
use crate::stdio;
use crate::tracer::TracerError;
use crate::tracer::report::{Face, Report};
use crate::tracer::script::compilation::Compiled;
use crate::tracer::script::names::Sources;
use crate::tracer::script::{ScriptRun, ScriptTracer, failure, info};
use crate::vitals::{Form, Meter, Reading, SCRIPT, Second, Unusual, VITALS, Vital, groups};

/// What is wrong here? Rates and times of the usual causes, with what is unusual marked.
///
/// One program watches waits for a CPU, interrupts, throttled control groups, locks of the kernel,
/// disks, memory, TCP, failing calls, processes. What becomes unusual against the minutes before is
/// said when it happens; a table with all of it comes at the end, and names the question that goes
/// deeper.
///
/// Examples:
///
///   probescope vitals -d 10s
///
///   probescope vitals -d 1m --json
#[derive(Debug, clap::Args)]
#[command(about = "What is wrong here? Rates and times of the usual causes", verbatim_doc_comment)]
pub struct Args {
    /// For how long; until Ctrl-C when it is not given.
    #[arg(short, long, value_parser = span)]
    duration: Option<Duration>,
    /// One JSON object a second, and one for the whole at the end.
    #[arg(long)]
    json: bool,
    /// Also record to a file; see `probescope replay`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print the program and end.
    #[arg(long)]
    script: bool,
}

/// How often a second is closed.
const SECOND_NS: u64 = 1_000_000_000;
/// Columns of the course of a vital.
const COURSE: usize = 20;

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    if args.script {
        stdio::out().write_all(SCRIPT.as_bytes()).map_err(CliError::stdout)?;
        return Ok(ExitCode::SUCCESS);
    }
    let kernel = super::kernel::running(world);
    tracing::may_trace(&kernel).map_err(CliError::Refused)?;
    let source = SourceText::new("vitals.bt", SCRIPT);
    let compilation = front::compile(&source, None, &FrontSettings::new(Arc::clone(&kernel)));
    let Some(compiled) = compilation.output else {
        let text = render_all(&source, &compilation.diagnostics, world.colour());
        return Err(CliError::Refused(format!("the program does not compile on this kernel:\n{text}")));
    };
    trace(args, world, &kernel, &source, &compiled)
}

fn trace(
    args: &Args,
    world: &World,
    kernel: &Arc<Kernel>,
    source: &SourceText,
    compiled: &Compiled,
) -> Result<ExitCode, CliError> {
    let headless = Headless::default().reading_maps(true);
    signals::watch(headless.remote()).map_err(|e| CliError::Refused(format!("cannot watch signals: {e}")))?;
    let run = ScriptRun {
        info: info::of(&compiled.program, source, kernel),
        options: TraceOptions { place: Place::new(kernel, None), measure: false, budget: None },
        names: Sources::of_kernel(kernel, &compiled.program),
        child: None,
        attach_only: false,
        reports_maps: false,
        stopping: headless.stopping(),
        ends_with: None,
        as_peer: false,
    };
    let mut teller = Teller::new(args, kernel.online_cpus().len() as usize, absent(compiled), headless.remote());
    let tracer = ScriptTracer::new(compiled.clone(), run);
    let outcome = match &args.record {
        None => headless.run(tracer, &mut teller),
        Some(path) => {
            let info = info::of(&compiled.program, source, kernel);
            let say = |message: &str| stdio::say(format_args!("probescope: {message}"));
            let mut recorded =
                Recorded::new(&mut teller, path, info, say).map_err(|e| CliError::Refused(e.to_string()))?;
            let outcome = headless.run(tracer, &mut recorded);
            recorded.finish(outcome.as_ref().ok().copied()).map_err(|e| CliError::Refused(e.to_string()))?;
            outcome
        }
    };
    match outcome {
        Ok(_) => teller.end().map_err(CliError::stdout).map(|()| ExitCode::SUCCESS),
        Err(TracerError::Write(source)) => Err(CliError::stdout(source)),
        Err(error) => {
            let (diagnostic, _) = failure::explain(&error, compiled);
            Err(CliError::Refused(render_all(source, &[diagnostic], world.colour())))
        }
    }
}

/// Keys of vitals that nothing feeds here, since this kernel does not have their probes.
fn absent(compiled: &Compiled) -> Vec<&'static str> {
    let written: Vec<&str> = compiled.program.maps.iter().map(|map| &*map.name).collect();
    let is_there = |vital: &Vital| vital.map == crate::vitals::rows::THROTTLED || written.contains(&vital.map);
    VITALS.iter().filter(|vital| !is_there(vital)).map(|vital| vital.key).collect()
}

/// Tells of each second as it passes.
struct Teller<'a> {
    args: &'a Args,
    absent: Vec<&'static str>,
    meter: Meter,
    whole: Meter,
    clocks: Clocks,
    remote: Remote,
    maps: Vec<MapSnapshot>,
    closed_ns: Option<u64>,
    seconds: Vec<Second>,
    /// What the figures lack, by place and cause.
    lost: BTreeMap<String, u64>,
}

impl<'a> Teller<'a> {
    fn new(args: &'a Args, cpus: usize, absent: Vec<&'static str>, remote: Remote) -> Self {
        Self {
            args,
            meter: Meter::new(cpus, absent.clone()),
            whole: Meter::new(cpus, absent.clone()),
            absent,
            clocks: Clocks::now(),
            remote,
            maps: Vec::new(),
            closed_ns: None,
            seconds: Vec::new(),
            lost: BTreeMap::new(),
        }
    }

    fn take(&mut self, maps: &[MapSnapshot]) -> io::Result<()> {
        let Some(at_ns) = maps.iter().map(|map| map.at_ns).max() else { return Ok(()) };
        self.maps = maps.to_vec();
        if self.closed_ns.is_some_and(|closed| at_ns.saturating_sub(closed) < SECOND_NS * 9 / 10) {
            return Ok(());
        }
        let throttled = throttled();
        if self.closed_ns.is_none() {
            self.whole.take(at_ns, maps, throttled);
        }
        self.closed_ns = Some(at_ns);
        let Some(second) = self.meter.take(at_ns, maps, throttled) else { return Ok(()) };
        if self.args.json {
            writeln!(stdio::out(), "{}", object("second", &second))?;
        } else {
            self.tell_unusual(&second)?;
        }
        if self.seconds.len() == 3600 {
            self.seconds.remove(0);
        }
        self.seconds.push(second);
        Ok(())
    }

    fn tell_unusual(&self, second: &Second) -> io::Result<()> {
        for reading in &second.readings {
            let Some(unusual) = reading.unusual else { continue };
            let usual = match unusual {
                Unusual::Above(usual) => format!(", {} before", figure(reading.vital, usual)),
                Unusual::Bad => String::new(),
            };
            let at = time("%H:%M:%S", self.clocks.wall(second.at_ns, 1));
            let (name, now) = (reading.vital.name, figure(reading.vital, reading.figure()));
            writeln!(stdio::out(), "{at}  {name}: {now}{usual}")?;
        }
        Ok(())
    }

    /// The table of the whole time.
    fn end(&mut self) -> io::Result<()> {
        let Some(at_ns) = self.maps.iter().map(|map| map.at_ns).max() else { return Ok(()) };
        let maps = std::mem::take(&mut self.maps);
        let Some(whole) = self.whole.take(at_ns, &maps, throttled()) else {
            return writeln!(stdio::out(), "the time was too short: a second is wanted");
        };
        if self.args.json {
            let mut object = object("whole", &whole);
            object["lost"] = json!(self.lost);
            return writeln!(stdio::out(), "{object}");
        }
        let text = self.table(&whole);
        stdio::out().write_all(text.as_bytes())?;
        for (what, count) in &self.lost {
            stdio::say(format_args!("not in these figures: {what}, {}", counted(*count, "time")));
        }
        Ok(())
    }

    fn table(&self, whole: &Second) -> String {
        let mut out = format!(
            "{:<22} {:>12} {:>10} {:>10} {:>10}  {:<COURSE$} {}\n",
            "", "PER SECOND", "P50 µs", "P99 µs", "MAX µs", "COURSE", "UNUSUAL"
        );
        for reading in &whole.readings {
            let times = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
            let is_time = reading.vital.form == Form::Times;
            let cell = |value: Option<u64>| if is_time { times(value) } else { String::new() };
            let _ = writeln!(
                out,
                "{:<22} {:>12} {:>10} {:>10} {:>10}  {:<COURSE$} {}",
                reading.vital.name,
                rate(reading),
                cell(reading.p50_us),
                cell(reading.p99_us),
                cell(reading.max_us),
                self.course(reading.vital),
                self.marks(reading),
            );
        }
        for key in &self.absent {
            let name = VITALS.iter().find(|vital| vital.key == *key).map_or(*key, |vital| vital.name);
            let _ = writeln!(out, "{name:<22} {:>12}  this kernel has no probe for it", "-");
        }
        out
    }

    fn course(&self, vital: &Vital) -> String {
        let figures = self.seconds.iter().map(|second| {
            second.readings.iter().find(|reading| reading.vital.key == vital.key).map_or(0.0, Reading::figure)
        });
        course(&figures.collect::<Vec<_>>())
    }

    /// In how many seconds it was unusual, and what to ask.
    fn marks(&self, whole: &Reading) -> String {
        let of =
            |second: &Second| second.readings.iter().any(|r| r.vital.key == whole.vital.key && r.unusual.is_some());
        let marked = self.seconds.iter().filter(|second| of(second)).count();
        let commonest = whole.commonest.map_or(String::new(), |(errno, rate)| {
            format!("mostly {} ({rate:.0}/s)  ", errno_name(u16::try_from(errno).unwrap_or(0)))
        });
        let asked = format!("probescope ask --run {}", whole.vital.deeper);
        match marked {
            0 => commonest,
            n => format!("{commonest}in {n} of {} s: {asked}", self.seconds.len()),
        }
    }
}

impl Face for Teller<'_> {
    fn report(&mut self, report: &Report<'_>) -> io::Result<()> {
        match report {
            Report::Maps(maps) => self.take(maps),
            Report::Attached(probes) => {
                stdio::say(format_args!("{probes} probes watch; Ctrl-C ends it"));
                let Some(duration) = self.args.duration else { return Ok(()) };
                signals::stop_after(self.remote.clone(), duration)
            }
            Report::Unattached(probe) => {
                stdio::say(format_args!("probescope: {}: {}", probe.probe, probe.reason));
                Ok(())
            }
            Report::Lost { cause, count, site, .. } => {
                *self.lost.entry(format!("{site}: {}", cause.words())).or_default() += count;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        stdio::out().flush()
    }
}

/// How often control groups were throttled in all; none without groups that have a limit.
fn throttled() -> Option<u64> {
    groups::all(std::path::Path::new("/sys/fs/cgroup"))
}

fn rate(reading: &Reading) -> String {
    match reading.vital.form {
        Form::CpuTime => format!("{:.1} % CPU", reading.rate * 100.0),
        _ if reading.rate < 10.0 => format!("{:.1}", reading.rate),
        _ => format!("{:.0}", reading.rate),
    }
}

fn figure(vital: &Vital, figure: f64) -> String {
    match vital.form {
        Form::CpuTime => format!("{:.1} % of the CPUs", figure * 100.0),
        Form::Times => format!("99 % within {}", span_of(figure)),
        Form::Count | Form::ByErrno => format!("{figure:.1} a second"),
    }
}

/// Microseconds as people say them.
fn span_of(us: f64) -> String {
    match us {
        us if us < 1_000.0 => format!("{us:.0} µs"),
        us if us < 1_000_000.0 => format!("{:.1} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

/// Eighths of the largest figure, the newest last.
fn course(figures: &[f64]) -> String {
    let shown = &figures[figures.len().saturating_sub(COURSE)..];
    let most = shown.iter().copied().fold(0.0, f64::max);
    let step = |figure: &f64| {
        if most <= 0.0 {
            return '▁';
        }
        ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][((figure / most) * 7.0).round().clamp(0.0, 7.0) as usize]
    };
    shown.iter().map(step).collect()
}

fn object(kind: &str, second: &Second) -> serde_json::Value {
    let vitals: serde_json::Map<String, serde_json::Value> = second
        .readings
        .iter()
        .map(|reading| {
            let mut object = json!({ "rate": reading.rate });
            if reading.vital.form == Form::Times {
                object["p50_us"] = json!(reading.p50_us);
                object["p99_us"] = json!(reading.p99_us);
                object["max_us"] = json!(reading.max_us);
            }
            if let Some((errno, rate)) = reading.commonest {
                object["commonest"] = json!({ "errno": errno, "rate": rate });
            }
            if let Some(unusual) = reading.unusual {
                object["unusual"] = match unusual {
                    Unusual::Above(usual) => json!({ "usual": usual }),
                    Unusual::Bad => json!({}),
                };
                object["ask"] = json!(reading.vital.deeper);
            }
            (reading.vital.key.to_owned(), object)
        })
        .collect();
    json!({ "kind": kind, "at_ns": second.at_ns, "span_ns": second.span_ns, "vitals": vitals })
}
