//! `probescope why-failed`: which function of the kernel a system call's error came from.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use super::{CliError, World, signals, tracing};
use crate::engine::TraceOptions;
use crate::engine::attach::Place;
use crate::engine::names::time::Clocks;
use crate::kernel::Kernel;
use crate::lang::constants;
use crate::lang::source::SourceText;
use crate::output::diagnostics::render_all;
use crate::output::failures;
use crate::session::front::{self, FrontSettings};
use crate::session::headless::{Headless, Remote};
use crate::stdio;
use crate::tracer::failures::assemble::Assembler;
use crate::tracer::failures::shapes::Shapes;
use crate::tracer::failures::{self as preset, Asked, FailuresError, Question};
use crate::tracer::report::{Face, Report};
use crate::tracer::script::child::Held;
use crate::tracer::script::compilation::Compiled;
use crate::tracer::script::names::Sources;
use crate::tracer::script::{ScriptRun, ScriptTracer, failure, info};

/// Tell which function of the kernel a failing system call's error came from.
///
/// Inside the chosen system calls every function that may return an error is noted with its
/// arguments and its result. Of a call that fails, what is printed goes from the call down to the
/// function that was the first to return the error. `--script` prints the script that does it.
///
/// Examples:
///
///   probescope why-failed -c 'cat /root/secret'
///
///   probescope why-failed -e EACCES -n openat
#[derive(Debug, clap::Args)]
#[command(about = "Tell which function of the kernel a failing system call's error came from", verbatim_doc_comment)]
pub struct Args {
    /// Only this error, by its name; may be given several times.
    #[arg(short = 'e', long = "errno", value_name = "ERRNO", value_parser = errno)]
    errno: Vec<u16>,
    /// Only this system call.
    #[arg(short = 'n', long = "syscall", value_name = "SYSCALL")]
    syscall: Option<String>,
    /// Only this process, by its number or its name.
    #[arg(short = 'p', long = "pid", value_name = "PID|NAME", value_parser = super::process::process, conflicts_with = "command")]
    pid: Option<u32>,
    /// Run a command and trace it with what it starts; the trace ends with it.
    #[arg(short = 'c', long = "command", value_name = "COMMAND")]
    command: Option<String>,
    /// Only threads of this name.
    #[arg(long, value_name = "NAME")]
    comm: Option<String>,
    /// End after so many failures.
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Print every call, not only those that handed the error up.
    #[arg(long, conflicts_with = "json")]
    tree: bool,
    /// One JSON object for each failure, with all calls.
    #[arg(long)]
    json: bool,
    /// Print the script that would run, and end.
    #[arg(long)]
    script: bool,
}

fn errno(text: &str) -> Result<u16, String> {
    let number = if text.starts_with('E') { constants::find(text) } else { text.parse().ok() };
    let number = number.and_then(|n| u16::try_from(n).ok()).filter(|n| (1..4096).contains(n));
    number.ok_or_else(|| format!("`{text}` is no error; write its name, such as EACCES"))
}

impl From<FailuresError> for CliError {
    fn from(error: FailuresError) -> Self {
        match error {
            FailuresError::Absent(_) => Self::Refused(format!(
                "{error}; which calls fail, of whom and with which error, is told without them by `probescope run syserrors`"
            )),
            _ => Self::Refused(error.to_string()),
        }
    }
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let kernel = super::kernel::running(world);
    let asked = preset::script(&question(args), &kernel)?;
    if args.script {
        stdio::out().write_all(asked.script.as_bytes()).map_err(CliError::stdout)?;
        return Ok(ExitCode::SUCCESS);
    }
    tracing::find_processes(args.pid, args.command.as_deref())?;
    tracing::may_trace(&kernel).map_err(CliError::Refused)?;
    let child = args.command.as_deref().map(Held::start).transpose().map_err(|e| CliError::Refused(e.to_string()))?;
    trace(args, world, &kernel, asked, child)
}

fn question(args: &Args) -> Question {
    Question {
        pid: args.pid,
        of_command: args.command.is_some(),
        comm: args.comm.clone(),
        syscall: args.syscall.clone(),
        except: std::process::id(),
    }
}

fn trace(
    args: &Args,
    world: &World,
    kernel: &Arc<Kernel>,
    asked: Asked,
    child: Option<Held>,
) -> Result<ExitCode, CliError> {
    for limit in &asked.limits {
        say(limit);
    }
    let source = SourceText::new("why-failed.bt", &asked.script);
    let compilation = front::compile(&source, child.as_ref().map(Held::pid), &FrontSettings::new(Arc::clone(kernel)));
    let Some(compiled) = compilation.output else {
        let text = render_all(&source, &compilation.diagnostics, world.colour());
        return Err(CliError::Refused(format!("the script does not compile on this kernel:\n{text}")));
    };
    let headless = Headless::default();
    let remote = headless.remote();
    signals::watch(remote.clone()).map_err(|e| CliError::Refused(format!("cannot watch signals: {e}")))?;
    let run = ScriptRun {
        info: info::of(&compiled.program, &source, kernel),
        options: TraceOptions { place: Place::new(kernel, None), measure: false, budget: None },
        names: Sources::of_kernel(kernel, &compiled.program),
        child,
        attach_only: false,
        reports_maps: false,
        stopping: headless.stopping(),
        ends_with: args.pid,
        as_peer: false,
    };
    let mut face = Teller {
        args,
        assembler: Assembler::new(Shapes::new(kernel)),
        clocks: Clocks::now(),
        at_ns: 0,
        told: 0,
        lost: 0,
        remote,
        functions: functions(&compiled),
    };
    let outcome = headless.run(ScriptTracer::new(compiled.clone(), run), &mut face);
    face.end();
    match outcome {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            let (diagnostic, _) = failure::explain(&error, &compiled);
            Err(CliError::Refused(render_all(&source, &[diagnostic], world.colour())))
        }
    }
}

fn say(message: &str) {
    stdio::say(format_args!("probescope: {message}"));
}

/// The functions that are traced: the most that one probe is on.
fn functions(compiled: &Compiled) -> usize {
    compiled.program.probes.iter().map(|probe| probe.targets.len()).max().unwrap_or(0)
}

/// Prints failures as they come.
struct Teller<'a> {
    args: &'a Args,
    assembler: Assembler,
    clocks: Clocks,
    at_ns: u64,
    told: u64,
    lost: u64,
    remote: Remote,
    functions: usize,
}

impl Teller<'_> {
    fn is_enough(&self) -> bool {
        self.args.count.is_some_and(|count| self.told >= count)
    }

    fn end(&self) {
        if self.lost > 0 {
            say(&format!("{} calls and returns were lost: trees may have gaps", self.lost));
        }
        if self.told == 0 {
            say("no system call that was asked for has failed");
        }
    }

    fn tell(&mut self, failed: &crate::model::failure::Failure) -> io::Result<()> {
        let text = if self.args.json {
            serde_json::to_string(failed)? + "\n"
        } else {
            failures::text(failed, &self.clocks, self.args.tree) + "\n"
        };
        stdio::out().write_all(text.as_bytes())?;
        self.told += 1;
        if self.is_enough() {
            self.remote.hurry();
        }
        Ok(())
    }
}

impl Face for Teller<'_> {
    fn comes_from(&mut self, _action: u32, at_ns: u64, _cpu: Option<u16>) {
        self.at_ns = at_ns;
    }

    fn report(&mut self, report: &Report<'_>) -> io::Result<()> {
        match report {
            Report::Printf { format, values, .. } => {
                let Some(failed) = self.assembler.take(self.at_ns, format, values) else { return Ok(()) };
                let wanted = self.args.errno.is_empty() || self.args.errno.contains(&failed.errno);
                if wanted && !self.is_enough() { self.tell(&failed) } else { Ok(()) }
            }
            Report::Attached(_) => {
                let until = if self.args.command.is_some() { "" } else { "; Ctrl-C ends it" };
                say(&format!("{} functions are traced{until}", self.functions));
                Ok(())
            }
            Report::Unattached(probe) => {
                say(&format!("{}: {}", probe.probe, probe.reason));
                Ok(())
            }
            Report::Lost { cause, count, .. } if !cause.is_incomplete() => {
                self.lost += count;
                self.assembler.lost();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        stdio::out().flush()
    }
}
