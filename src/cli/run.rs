//! `probescope run`.

mod arguments;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use arguments::{Args, Format};
pub(super) use arguments::{overrides, setting};

use super::destination::Destination;
use super::face::{Settings, StreamFace};
use super::script::Script;
use super::testing::TestPrinter;
use super::{CliError, World, signals};
use crate::codegen::dump;
use crate::disk::{self, Readers};
use crate::engine::attach::Place;
use crate::engine::attach::cpus::has_events;
use crate::engine::{EngineError, TraceOptions};
use crate::kernel::Kernel;
use crate::kernel::target::Sent;
use crate::lang::codes::check::{BAD_SETTING, NO_PROBES};
use crate::lang::diagnostic::{Diagnostic, Severity};
use crate::lang::front::{AbsentParameters, Purpose};
use crate::lang::front_end;
use crate::lang::source::{SourceText, Span};
use crate::lang::typed::dump as types;
use crate::model::budget::Budget;
use crate::model::snapshot::MapSnapshot;
use crate::model::target::Target;
use crate::output::OutputFormat;
use crate::output::diagnostics::render_all;
use crate::session::count;
use crate::session::headless::{Headless, Remote};
use crate::session::recorded::Recorded;
use crate::session::{front, testing};
use crate::stdio;
use crate::store::file::Written;
use crate::thread::{Rights, stay_in_memory};
use crate::tracer::TracerError;
use crate::tracer::report::{Face, Report};
use crate::tracer::script::child::{self, ChildError, Held};
use crate::tracer::script::compilation::Compiled;
use crate::tracer::script::names::Sources;
use crate::tracer::script::{ScriptRun, ScriptTracer, failure, info};

/// The exit code of a setting outside the script that is not possible, as bpftrace has it.
const BAD_ENVIRONMENT: u8 = 2;
/// The exit code when nothing could be loaded or attached, as bpftrace has it.
const NOT_RUN: u8 = 255;

/// A stage of the compiler that is shown in place of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// The script as it was read.
    Tree,
    /// Types of all maps and variables.
    Types,
    /// Intermediate code.
    Code,
    /// Machine code.
    Instructions,
}

/// The exit code of a script that can't be run: what bpftrace finds when it attaches ends as its attaching does.
fn refusal(diagnostics: &[Diagnostic]) -> ExitCode {
    let mut errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
    if errors.clone().any(|d| d.code == BAD_SETTING && d.span == Span::default()) {
        return ExitCode::from(BAD_ENVIRONMENT);
    }
    if errors.clone().all(is_of_the_attach) {
        return ExitCode::from(NOT_RUN);
    }
    if errors.all(|d| d.code == NO_PROBES) {
        nothing_left();
    }
    ExitCode::FAILURE
}

/// A message about the recording, on standard error.
fn say(message: &str) {
    stdio::say(format_args!("probescope: {message}"));
}

/// What bpftrace says of a script without probes, and where: among the script's output.
const NOTHING_LEFT: &str = "No probes to attach";

fn nothing_left() {
    let _ = writeln!(stdio::out(), "{NOTHING_LEFT}");
}

/// True for what bpftrace finds when it attaches a probe, so that it names no place in the script.
pub(super) fn is_of_the_attach(diagnostic: &Diagnostic) -> bool {
    let starts = [
        "Could not determine ",
        "Could not add ",
        "Unable to attach probe",
        "Offset outside ",
        "No probes attached; ",
        "Attachment failed for all probes.",
        "hardware events: ",
    ];
    starts.iter().any(|start| diagnostic.message.starts_with(start))
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let script = args.script.read()?;
    if let Some(help) = script.help() {
        stdio::out().write_all(help.as_bytes()).map_err(CliError::stdout)?;
        return Ok(ExitCode::SUCCESS);
    }
    let plain = |d: &[Diagnostic], s: &SourceText| render_all(s, d, world.colour());
    Runner::new(args, world, &script, &plain).run()
}

/// One run; the bpftrace mode makes its own from its own flags.
pub(super) struct Runner<'a> {
    pub(super) args: &'a Args,
    pub(super) world: &'a World,
    pub(super) script: &'a Script,
    /// How diagnostics are written.
    pub(super) shown: &'a dyn Fn(&[Diagnostic], &SourceText) -> String,
    /// Settings where the script says nothing else.
    pub(super) defaults: &'static [(&'static str, &'static str)],
    /// Settings that win over the script's.
    pub(super) overrides: Vec<(String, String)>,
    pub(super) announce: bool,
    /// Messages and exit codes are bpftrace's.
    pub(super) like_bpftrace: bool,
    /// Writes the maps at the end, in place of how they print.
    pub(super) maps: Option<&'a dyn Fn(&[MapSnapshot]) -> String>,
}

/// A face whose maps at the end are written by others.
struct WithMaps<'a> {
    face: StreamFace,
    maps: &'a dyn Fn(&[MapSnapshot]) -> String,
}

impl Face for WithMaps<'_> {
    fn comes_from(&mut self, action: u32, at_ns: u64, cpu: Option<u16>) {
        self.face.comes_from(action, at_ns, cpu);
    }

    fn report(&mut self, report: &Report<'_>) -> std::io::Result<()> {
        let Report::End { maps, .. } = report else { return self.face.report(report) };
        self.face.flush()?;
        stdio::out().write_all((self.maps)(maps).as_bytes())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.face.flush()
    }
}

/// A face whose trace ends some time after everything is attached.
struct Lasting<'a> {
    face: &'a mut dyn Face,
    duration: Duration,
    remote: Remote,
}

impl Face for Lasting<'_> {
    fn comes_from(&mut self, action: u32, at_ns: u64, cpu: Option<u16>) {
        self.face.comes_from(action, at_ns, cpu);
    }

    fn report(&mut self, report: &Report<'_>) -> std::io::Result<()> {
        if matches!(report, Report::Attached(_)) {
            signals::stop_after(self.remote.clone(), self.duration)?;
        }
        self.face.report(report)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.face.flush()
    }
}

impl<'a> Runner<'a> {
    /// A run of this program's own, with its settings and messages.
    pub(super) fn new(
        args: &'a Args,
        world: &'a World,
        script: &'a Script,
        shown: &'a dyn Fn(&[Diagnostic], &SourceText) -> String,
    ) -> Self {
        let (defaults, overrides) = (&[], args.overrides());
        Self { args, world, script, shown, defaults, overrides, announce: false, like_bpftrace: false, maps: None }
    }
}

impl Runner<'_> {
    /// The process that the trace is limited to, by the command's flag or among the script's parameters.
    fn pid(&self) -> Option<u32> {
        self.args.pid.or(self.script.pid)
    }

    /// Looks for the process of `-p` and the program of `-c` before anything is compiled or attached.
    fn find_processes(&self) -> Result<(), CliError> {
        let (pid, command) = (self.pid(), self.args.command.as_deref());
        if let Some(command) = command.filter(|_| self.like_bpftrace) {
            super::tracing::find_processes(pid, None)?;
            let name = command.split(' ').next().unwrap_or_default();
            if child::find(name).is_some() {
                return Ok(());
            }
            let why = "does not exist or is not executable (No such file or directory)";
            return Err(CliError::Refused(format!("Failed to fork child: Path '{name}' {why}")));
        }
        super::tracing::find_processes(pid, command)
    }

    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        let kernel = super::kernel::running(self.world);
        self.find_processes()?;
        let child = self.args.command.as_deref().map(|command| self.start(command)).transpose();
        let child = child.map_err(|e| CliError::Refused(e.to_string()))?;
        let compiled = match self.compile(&kernel, child.as_ref().map(Held::pid)) {
            Ok(compiled) => compiled,
            Err(code) => return Ok(code),
        };
        if self.args.count_first {
            let lines = count::first(&kernel, self.pid(), &compiled.program, &self.script.source);
            stdio::say(format_args!("{}", lines.join("\n")));
        }
        let output = Destination::open(self.args.output.as_deref())?;
        match self.trace(&kernel, &compiled, child, &output) {
            Ok(code) => output.finish().map(|()| ExitCode::from(code as u8)),
            Err(TracerError::Engine(EngineError::NoProbes)) => {
                nothing_left();
                Ok(ExitCode::FAILURE)
            }
            Err(error @ TracerError::Engine(_)) => {
                let (diagnostic, log) = failure::explain(&error, &compiled);
                self.tell(&[diagnostic]);
                if self.args.keen && !log.is_empty() {
                    let _ = stdio::err().write_all(log.as_bytes());
                }
                Ok(ExitCode::from(NOT_RUN))
            }
            Err(TracerError::Write(source)) => Err(CliError::Write { path: self.output_name(), source }),
            Err(error) => Err(CliError::Refused(error.to_string())),
        }
    }

    /// The command of `-c`; bpftrace splits it at every blank but a last one, and knows no quotes.
    fn start(&self, command: &str) -> Result<Held, ChildError> {
        if self.like_bpftrace {
            Held::start_words(&command.split_terminator(' ').map(str::to_owned).collect::<Vec<_>>())
        } else {
            Held::start(command)
        }
    }

    /// Prints stages of the compiler and writes the object; nothing is loaded.
    pub(super) fn show_stages(&self, stages: &[Shown], object: Option<&Path>) -> Result<ExitCode, CliError> {
        let kernel = super::kernel::running(self.world);
        let compiled = match self.compile(&kernel, None) {
            Ok(compiled) => compiled,
            Err(code) => return Ok(code),
        };
        let facts = kernel.target_facts(self.pid(), 0);
        let source = &self.script.source;
        for stage in stages {
            let (title, text) = match stage {
                Shown::Tree => ("AST after: parse", Ok(front_end(source).format(source).unwrap_or_default())),
                Shown::Types => ("AST after: TypeResolver", Ok(types::dump(&compiled.program))),
                Shown::Code => ("Intermediate code", dump::ir(&compiled.program, &facts)),
                Shown::Instructions => ("Disassembly", dump::code(&compiled.program, &facts, source)),
            };
            let text = text.map_err(|e| CliError::Refused(e.to_string()))?;
            let text = format!("{title}\n-------------------\n{text}\n");
            stdio::out().write_all(text.as_bytes()).map_err(CliError::stdout)?;
        }
        if let Some(path) = object {
            disk::write(path, &compiled.artifact.object, Readers::Everyone).map_err(|e| CliError::write(path, e))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn tell(&self, diagnostics: &[Diagnostic]) {
        // What `nothing_left` says is said there, and bpftrace's dry run is content with nothing to run.
        let known = |d: &&Diagnostic| d.message == NOTHING_LEFT || (self.of_no_use(d) && self.args.dry_run);
        let told: Vec<Diagnostic> = diagnostics.iter().filter(|d| !known(d)).cloned().collect();
        let text = (self.shown)(&told, &self.script.source);
        let _ = stdio::err().styled().write_all(text.as_bytes());
    }

    /// The compiled script, or what the program ends with.
    fn compile(&self, kernel: &Arc<Kernel>, child: Option<u32>) -> Result<Compiled, ExitCode> {
        let mut settings = self.script.settings(Arc::clone(kernel));
        settings.pid = self.pid();
        settings.child_program = self.args.command.as_deref().and_then(child::file);
        let own = &self.world.config;
        let (config, brake) =
            if self.like_bpftrace { (Vec::new(), true) } else { (own.settings(), own.trace.brake != Some(false)) };
        settings.unsafe_allowed =
            self.args.allow_unsafe || (!self.like_bpftrace && own.trace.allow_unsafe == Some(true));
        settings.defaults = self.defaults.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        settings.defaults.extend(config);
        settings.overrides.clone_from(&self.overrides);
        settings.purpose = self.args.purpose();
        settings.absent_keys = self.args.keen;
        settings.sent = self.sent();
        settings.brake = !self.args.no_brake && brake;
        settings.budget = self.budget().is_some();
        settings.like_bpftrace = self.like_bpftrace;
        settings.absent_parameters = if self.like_bpftrace { AbsentParameters::All } else { AbsentParameters::Unasked };
        settings.probe_filter.clone_from(&self.args.probe_filter);
        let compilation = front::compile(&self.script.source, child, &settings);
        self.tell(&compilation.diagnostics);
        compilation.output.ok_or_else(|| {
            let mut errors = compilation.diagnostics.iter().filter(|d| d.severity == Severity::Error);
            let content = self.args.dry_run && errors.all(|d| self.of_no_use(d));
            if content { ExitCode::SUCCESS } else { refusal(&compilation.diagnostics) }
        })
    }

    /// True for what is said of a script whose probes all belong to another kind of run.
    fn of_no_use(&self, diagnostic: &Diagnostic) -> bool {
        self.like_bpftrace && diagnostic.code == NO_PROBES && diagnostic.message.starts_with("No probes attached; ")
    }

    fn trace(
        &self,
        kernel: &Arc<Kernel>,
        compiled: &Compiled,
        child: Option<Held>,
        output: &Destination,
    ) -> Result<i32, TracerError> {
        if self.args.purpose() != Purpose::Trace {
            return self.test(kernel, compiled, output);
        }
        stay_in_memory();
        let headless =
            Headless::default().reading_maps(self.args.record.is_some()).once_attached(self.rights(kernel, compiled));
        let tracer = self.tracer(kernel, compiled, child, headless.stopping());
        let mut face = StreamFace::new(self.settings(output), self.script.source.clone(), output.hand());
        if let Some(maps) = self.maps {
            signals::watch(headless.remote())?;
            return headless.run(tracer, &mut WithMaps { face, maps });
        }
        let mut lasting;
        let face: &mut dyn Face = match self.args.duration {
            None => &mut face,
            Some(duration) => {
                lasting = Lasting { face: &mut face, duration, remote: headless.remote() };
                &mut lasting
            }
        };
        let Some(path) = &self.args.record else {
            signals::watch(headless.remote())?;
            return headless.run(tracer, face);
        };
        let info = info::of(&compiled.program, &self.script.source, kernel);
        let mut recorded = match Recorded::new(face, path, info, say) {
            Ok(recorded) => recorded,
            Err(error) => {
                say(&error.to_string());
                return Ok(1);
            }
        };
        signals::watch(headless.remote())?;
        let outcome = headless.run(tracer, &mut recorded);
        match recorded.finish(outcome.as_ref().ok().copied()) {
            Ok(Written { unwritten: 0, .. }) => {}
            Ok(Written { unwritten, .. }) => say(&format!("{unwritten} entries came faster than they were recorded")),
            // That was told when it happened.
            Err(_) => return outcome.map(|code| if code == 0 { 1 } else { code }),
        }
        outcome
    }

    /// What gives up the rights that are not needed once everything is attached. A script that may change the system runs
    /// commands with all of them; user probes of a process whose first thread ends are attached anew.
    fn rights(&self, kernel: &Kernel, compiled: &Compiled) -> Option<fn()> {
        let keeps_all = self.args.allow_unsafe || self.world.config.trace.allow_unsafe == Some(true);
        // A CPU that comes later gets its events then.
        let paranoid = kernel.proc_text("sys/kernel/perf_event_paranoid").and_then(|text| text.parse::<i32>().ok());
        let opens_events = paranoid.is_some_and(|level| level > 2) && has_events(&compiled.artifact);
        let attaches = || compiled.program.probes.iter().flat_map(|probe| &probe.targets).any(Target::is_of_user);
        let attaches_anew = self.pid().is_some() && attaches();
        let give_up: fn() = if self.budget().is_some() || opens_events || attaches_anew {
            || Rights::Statistics.keep()
        } else {
            || Rights::Trace.keep()
        };
        (!keeps_all).then_some(give_up)
    }

    /// The flag's, else the configuration's: tests and benchmarks, and bpftrace's runs, have none.
    fn budget(&self) -> Option<Budget> {
        let own = self.world.config.trace.budget.filter(|_| !self.like_bpftrace);
        self.args.budget.or(own).and_then(|limit| limit.0).filter(|_| self.args.purpose() == Purpose::Trace)
    }

    /// Runs the script's tests or benchmarks.
    fn test(&self, kernel: &Arc<Kernel>, compiled: &Compiled, output: &Destination) -> Result<i32, TracerError> {
        let bench = self.args.purpose() == Purpose::Bench;
        let mut printer = TestPrinter::new(self.settings(output), self.script.source.clone(), bench, output.hand());
        let tracer = self.tracer(kernel, compiled, None, Arc::default());
        let code = testing::run(tracer, self.args.purpose(), &mut printer)?;
        printer.close()?;
        Ok(code)
    }

    fn tracer(
        &self,
        kernel: &Arc<Kernel>,
        compiled: &Compiled,
        child: Option<Held>,
        stopping: Arc<AtomicBool>,
    ) -> ScriptTracer {
        let place = Place::new(kernel, self.pid()).counting_as_bpftrace(kernel, &compiled.program, &compiled.artifact);
        let purpose = self.args.purpose();
        let run = ScriptRun {
            info: info::of(&compiled.program, &self.script.source, kernel),
            options: TraceOptions { place, measure: purpose == Purpose::Bench, budget: self.budget() },
            names: Sources::of_kernel(kernel, &compiled.program),
            child,
            attach_only: self.args.dry_run && purpose == Purpose::Trace,
            reports_maps: purpose == Purpose::Trace,
            stopping,
            ends_with: None,
            as_peer: self.like_bpftrace,
        };
        ScriptTracer::new(compiled.clone(), run)
    }

    /// bpftrace tells of each failure when it comes, this program's own command counts them by place.
    const fn sent(&self) -> Sent {
        match (self.like_bpftrace, self.args.keen) {
            (false, _) => Sent::Nothing,
            (true, false) => Sent::Faults,
            (true, true) => Sent::Helpers,
        }
    }

    fn settings(&self, output: &Destination) -> Settings {
        Settings {
            format: match self.args.format {
                Format::Text => OutputFormat::Text,
                Format::Json => OutputFormat::Json,
            },
            terminal: output.is_terminal(),
            buffering: self.args.buffering,
            quiet: self.args.quiet,
            times: self.args.times,
            keen: self.args.keen,
            announce: self.announce,
            warnings: !self.args.no_warnings,
            like_bpftrace: self.like_bpftrace,
            sent: self.sent(),
        }
    }

    fn output_name(&self) -> String {
        self.args.output.as_ref().map_or_else(|| "standard output".to_owned(), |p| p.display().to_string())
    }
}
