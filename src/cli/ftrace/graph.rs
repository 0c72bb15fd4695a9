//! `probescope ftrace graph`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::sinks::{Recording, SinkError};
use super::{PARTIAL, time};
use crate::cli::{CliError, World};
use crate::engine::monotonic_ns;
use crate::kernel::Kernel;
use crate::output::ftrace::graph::{Described, folded, heading, table, table_json, tree, tree_json};
use crate::output::ftrace::{self as output, Style};
use crate::stdio::{self, Stream};
use crate::tracer::ftrace::graph::{self, GraphKeeper, GraphOptions, Root, Trees};
use crate::tracer::ftrace::{Books, Keeper, Names, Session, Told};
use crate::tracer::script::child::{self, Held};

/// How long empty rings are left alone.
const PAUSE: Duration = Duration::from_millis(10);
/// Lines are written in pieces of about this size while there is more to come.
const PIECE: usize = 64 << 10;

/// Print calls of kernel functions as trees, with the time of each and its own without what it called.
///
/// Functions are named with `*`; what they call is traced with them, or with --only nothing else.
/// Times are the kernel's own. Where the kernel has this tracer in the top instance only, it is used
/// there if nobody else does, and left as it was.
///
/// Examples:
///
///   probescope ftrace graph vfs_read --min 10us -d 5s
///
///   probescope ftrace graph 'ext4_*' --only --summary -p 1234 -d 10s
///
///   probescope ftrace graph do_sys_openat2 --args --depth 4 -- cat /etc/passwd
///
///   probescope ftrace graph 'tcp_*' --only -f folded -d 5s > tcp.folded
#[derive(Debug, clap::Args)]
#[command(about = "Print calls of kernel functions as trees, with the time of each", verbatim_doc_comment)]
pub struct Args {
    /// Functions, by name with `*`.
    #[arg(value_name = "GLOB", required = true)]
    functions: Vec<String>,
    /// Nothing but these functions: not what they call.
    #[arg(long)]
    only: bool,
    /// Leave these functions out, and with them what they call.
    #[arg(long, value_name = "GLOB")]
    without: Vec<String>,
    /// Only functions of this module (with --only's meaning).
    #[arg(long, value_name = "MODULE")]
    module: Vec<String>,
    /// Only this process with its threads and what they start; several may be named.
    #[arg(short, long, value_name = "PID")]
    pid: Vec<u32>,
    /// With a command: every thread while it runs.
    #[arg(short, long)]
    all: bool,
    /// Follow calls so deep.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    depth: u32,
    /// Print only calls that took so long, with what they are in: 10us, 1ms.
    #[arg(long, value_name = "TIME", value_parser = time)]
    min: Option<Duration>,
    /// With arguments and returned values, where the kernel records them.
    #[arg(long)]
    args: bool,
    /// Print a table of functions at the end rather than trees.
    #[arg(short, long)]
    summary: bool,
    /// End after so long: 5s, 500ms.
    #[arg(short, long, value_name = "TIME", value_parser = time)]
    duration: Option<Duration>,
    /// Text, JSON, or folded stacks for flame graphs at the end.
    #[arg(short = 'f', long, value_enum, default_value_t)]
    format: GraphForm,
    /// Also record to this file.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Room for calls that wait to be read, KiB a CPU.
    #[arg(long, value_name = "KB", default_value_t = 16384, value_parser = clap::value_parser!(u64).range(64..=1 << 20))]
    buffer_size: u64,
    /// The command, with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Forms of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum GraphForm {
    /// Trees, or a table.
    #[default]
    Text,
    /// A JSON object for each tree, and one for all functions at the end.
    Json,
    /// Folded stacks with ns.
    Folded,
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let kernel = crate::cli::kernel::running(world);
    let held = (!args.command.is_empty()).then(|| Held::start_words(&args.command)).transpose();
    let held = held.map_err(|error| CliError::Refused(error.to_string()))?;
    let mut pids = args.pid.clone();
    pids.extend(held.as_ref().filter(|_| !args.all).map(Held::pid));
    let options = GraphOptions {
        functions: args.functions.clone(),
        without: args.without.clone(),
        only: args.only,
        modules: args.module.clone(),
        pids,
        depth: args.depth,
        arguments: args.args,
        ring_kb: args.buffer_size,
    };
    let names = Names::running(&kernel);
    let stop = crate::cli::latency::stop_flag()?;
    let name = args.functions.join(" ");
    let recording =
        args.record.as_ref().map(|path| Recording::new(path, graph::info(Some(&kernel), &name))).transpose()?;
    let shown = Shown { form: args.format, summary: args.summary, min: args.min };
    let mut show = Show::new(&shown, world, &names, Some(&kernel), recording);
    let (mut session, functions) = graph::start(&kernel, &options)?;
    let ends = if args.duration.is_none() && args.command.is_empty() { "; Ctrl-C ends it" } else { "" };
    let calls = if args.only { "" } else { " with what they call" };
    stdio::say(format_args!("probescope: {functions} functions{calls} are traced{ends}"));
    let mut command = held.map(Held::release).transpose().map_err(|error| CliError::Refused(error.to_string()))?;
    let result = follow(&mut session, &mut show, command.as_mut(), args.duration, &stop);
    if let Some(command) = &mut command {
        command.terminate();
    }
    let (books, left) = session.finish(&mut |told| show.take(told))?;
    result?;
    left.iter().for_each(|left| stdio::say(format_args!("probescope: {left}")));
    show.finish(&books)
}

fn follow(
    session: &mut Session,
    show: &mut Show<'_>,
    mut command: Option<&mut child::Running>,
    duration: Option<Duration>,
    stop: &AtomicBool,
) -> Result<(), SinkError> {
    let end = duration.map(|duration| Instant::now() + duration);
    while !stop.load(Ordering::Acquire) && end.is_none_or(|end| Instant::now() < end) {
        let ended = command.as_mut().is_some_and(|command| !matches!(command.ended(), Ok(None)));
        let (_, more) = session.poll(&mut |told| show.take(told))?;
        show.flush()?;
        if ended {
            break;
        }
        if !more {
            let left = end.map_or(PAUSE, |end| end.saturating_duration_since(Instant::now()));
            std::thread::sleep(left.min(PAUSE));
        }
    }
    Ok(())
}

/// How calls are shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// In which form.
    pub form: GraphForm,
    /// As a table rather than as trees.
    pub summary: bool,
    /// Only calls that took so long.
    pub min: Option<Duration>,
}

/// What is shown and kept of the calls.
pub struct Show<'a> {
    form: GraphForm,
    summary: bool,
    min_ns: u64,
    style: Style,
    trees: Trees,
    described: Described<'a>,
    keeper: GraphKeeper<'a>,
    recording: Option<Recording>,
    buffer: Vec<u8>,
    output: Stream,
    printed: bool,
}

impl<'a> Show<'a> {
    /// Shows nothing yet.
    pub fn new(
        shown: &Shown,
        world: &World,
        names: &'a Names,
        kernel: Option<&'a Kernel>,
        recording: Option<Recording>,
    ) -> Self {
        let colour = world.stdout_is_terminal && world.variable("NO_COLOR").is_none_or(str::is_empty);
        Self {
            form: shown.form,
            summary: shown.summary,
            min_ns: shown.min.map_or(0, |min| u64::try_from(min.as_nanos()).unwrap_or(u64::MAX)),
            style: Style { colour },
            trees: Trees::default(),
            described: Described::new(names, kernel),
            keeper: GraphKeeper::new(names),
            recording,
            buffer: Vec::with_capacity(2 * PIECE),
            output: stdio::out().styled(),
            printed: false,
        }
    }

    /// Takes what is told.
    ///
    /// # Errors
    /// When lines can't be written.
    pub fn take(&mut self, told: Told<'_>) -> Result<(), SinkError> {
        match told {
            Told::Event(event) => {
                if let Some(root) = self.trees.event(&event) {
                    self.root(root);
                }
            }
            Told::Lost(loss) => {
                if let Some(recording) = &mut self.recording {
                    recording.push(Keeper::loss(&loss));
                }
                match self.form {
                    GraphForm::Text if !self.summary => output::lost(&loss, self.style, &mut self.buffer),
                    GraphForm::Json => output::lost_json(&loss, &mut self.buffer),
                    _ => {}
                }
            }
        }
        if self.buffer.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    fn root(&mut self, root: Root) {
        if let Some(recording) = &mut self.recording {
            self.keeper.root(&root, &mut |finding| recording.push(finding));
        }
        if self.summary || self.form == GraphForm::Folded {
            return;
        }
        let Root { cpu, pid, comm, call } = root;
        let Some(call) = call.at_least(self.min_ns) else { return };
        let root = Root { cpu, pid, comm, call };
        if self.form == GraphForm::Json {
            return tree_json(&root, &mut self.described, &mut self.buffer);
        }
        if !std::mem::replace(&mut self.printed, true) {
            self.buffer.extend_from_slice(heading().as_bytes());
        }
        tree(&root, &mut self.described, self.style, &mut self.buffer);
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        if let Some(recording) = &mut self.recording {
            recording.flush();
        }
        if !self.buffer.is_empty() {
            self.output.write_all(&self.buffer).map_err(SinkError::Write)?;
            self.buffer.clear();
        }
        self.output.flush().map_err(SinkError::Write)
    }

    /// Writes the rest, and says what was lost.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn finish(mut self, books: &[Books]) -> Result<ExitCode, CliError> {
        let lost: u64 = books.iter().map(Books::lost).sum();
        for root in self.trees.finish() {
            self.root(root);
        }
        match self.form {
            GraphForm::Json => table_json(&self.trees, &mut self.described, lost, &mut self.buffer),
            GraphForm::Folded => folded(&self.trees, &mut self.described, &mut self.buffer),
            GraphForm::Text if self.summary => {
                table(&self.trees, &mut self.described, self.style, &mut self.buffer);
            }
            GraphForm::Text => {}
        }
        self.flush()?;
        let (all, bad) = output::books(books);
        let counted = self.trees.counted();
        let open = counted.unfinished;
        let mut words = format!("{all}, {} calls", counted.returns - counted.begun_before);
        if open > 0 {
            words.push_str(&format!(", {open} without a return that was seen"));
        }
        if counted.begun_before > 0 {
            words.push_str(&format!(", {} returns without an entry", counted.begun_before));
        }
        match &bad {
            Some(bad) => stdio::say(format_args!("probescope: {words}; {bad}")),
            None => stdio::say(format_args!("probescope: {words}, none lost")),
        }
        let code = if bad.is_some() { PARTIAL } else { 0 };
        if let Some(mut recording) = self.recording.take() {
            recording.push(self.keeper.maps(&self.trees, monotonic_ns()));
            recording.finish(i32::from(code))?;
        }
        Ok(ExitCode::from(code))
    }
}
