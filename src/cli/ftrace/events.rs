//! `probescope ftrace events` and `record`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::chosen::Chosen;
use super::sinks::{EventFile, Lines, SinkError, Sinks};
use super::{Form, PARTIAL, list, time};
use crate::cli::{CliError, World};
use crate::kernel::Kernel;
use crate::output::ftrace as output;
use crate::stdio;
use crate::tracer::ftrace::{Books, Keeper, Options, Session, define};
use crate::tracer::script::child::{self, Held};

/// How long empty rings are left alone.
const PAUSE: Duration = Duration::from_millis(10);

/// Print events of the kernel as they happen, or list them.
///
/// With a command, or with -p, only what happens in it and in what it starts is traced; -a traces all
/// the same. The kernel's own filters and triggers choose; what it refuses is shown at its column
/// before anything is on. Events that programs (user_events, trace_marker) or others (kprobe, uprobe,
/// synthetic events) define are read like all others.
///
/// Examples:
///
///   probescope ftrace events -e sched:sched_switch --filter 'next_pid != 0' -d 2s
///
///   probescope ftrace events -e 'block:*' -e kmem:kmalloc --filter 'bytes_req > 4096' -f json
///
///   probescope ftrace events -e syscalls -k --record ls.psrec -- ls
///
///   probescope ftrace events -D 'p vfs_read file count' -D 'r vfs_read ret=$retval' -- cat /etc/passwd
///
///   probescope ftrace events --list 'sched:*switch*'
#[derive(Debug, clap::Args)]
#[command(about = "Print events of the kernel as they happen, or list them", verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// List events that match with their fields, filters and triggers, and who has set those, rather than trace.
    #[arg(long, value_name = "GLOB", num_args = 0..=1, default_missing_value = "*", conflicts_with_all = ["event", "record", "duration"])]
    list: Option<String>,
    /// Text or JSON.
    #[arg(short = 'f', long, value_enum, default_value_t)]
    format: Form,
    /// Also record to this file.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Record events of the kernel to a file, which replay, export and the workbench open.
///
/// Examples:
///
///   probescope ftrace record -e sched -e irq -o sched.psrec -d 10s
///
///   probescope ftrace record -k -e block:block_rq_issue -o io.psrec -- dd if=/dev/sda of=/dev/null count=1000
///
///   probescope export io.psrec -f flame-svg -o io.svg
#[derive(Debug, clap::Args)]
#[command(about = "Record events of the kernel to a file", verbatim_doc_comment)]
pub struct Record {
    #[command(flatten)]
    chosen: Chosen,
    /// The file.
    #[arg(short, long, value_name = "FILE", default_value = "ftrace.psrec")]
    output: PathBuf,
    #[command(flatten)]
    common: Common,
}

/// What both take.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a command line")]
struct Common {
    /// Only this process with its threads and what they start; several may be named.
    #[arg(short, long, value_name = "PID")]
    pid: Vec<u32>,
    /// With a command: everything that happens while it runs.
    #[arg(short, long)]
    all: bool,
    /// Define an event for this trace, in the kernel's form: 'p vfs_read file count', 'r vfs_read $retval',
    /// 'f vfs_read $arg*', 't sched_switch', 'e sched.sched_switch p=$prev_pid', 'p /bin/bash:0x1234'.
    #[arg(short = 'D', long, value_name = "DEFINITION")]
    define: Vec<String>,
    /// End after so long: 5s, 500ms.
    #[arg(short, long, value_name = "TIME", value_parser = time)]
    duration: Option<Duration>,
    /// With the kernel's stack at each event.
    #[arg(short = 'k', long)]
    stack: bool,
    /// With the program's stack at each event, by frame pointers.
    #[arg(short = 'u', long)]
    user_stack: bool,
    /// Room for events that wait to be read, KiB a CPU.
    #[arg(long, value_name = "KB", default_value_t = 8192, value_parser = clap::value_parser!(u64).range(64..=1 << 20))]
    buffer_size: u64,
    /// The command, with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs `events`.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let kernel = crate::cli::kernel::running(world);
    if let Some(glob) = &args.list {
        return list::run(&kernel, glob, args.format, world);
    }
    let lines = Some(Lines::new(args.format, world));
    trace(&kernel, &args.chosen, &args.common, lines, args.record.as_ref(), args.format)
}

/// Runs `record`.
pub fn record(args: &Record, world: &World) -> Result<ExitCode, CliError> {
    let kernel = crate::cli::kernel::running(world);
    trace(&kernel, &args.chosen, &args.common, None, Some(&args.output), Form::Text)
}

fn trace(
    kernel: &Arc<Kernel>,
    chosen: &Chosen,
    common: &Common,
    lines: Option<Lines>,
    record: Option<&PathBuf>,
    form: Form,
) -> Result<ExitCode, CliError> {
    if chosen.is_empty() && common.define.is_empty() {
        let text = "name events with -e, as in -e sched:sched_switch; --list '*' of `ftrace events` lists them";
        return Err(CliError::Refused(text.to_owned()));
    }
    let events = if chosen.is_empty() { Vec::new() } else { chosen.wanted(kernel)? };
    let mut definitions = Vec::new();
    for (number, text) in common.define.iter().enumerate() {
        // What stands behind ` if ` is a filter of the event, as at other probes on events.
        let (line, filter) = text.split_once(" if ").unwrap_or((text, ""));
        definitions.push((define::read(line, std::process::id(), number)?, Arc::from(filter.trim())));
    }
    let held = (!common.command.is_empty()).then(|| Held::start_words(&common.command)).transpose();
    let held = held.map_err(|error| CliError::Refused(error.to_string()))?;
    let mut pids = common.pid.clone();
    pids.extend(held.as_ref().filter(|_| !common.all).map(Held::pid));
    let options = Options {
        events,
        definitions,
        pids,
        kernel_stacks: common.stack,
        user_stacks: common.user_stack,
        ring_kb: common.buffer_size,
    };
    let stop = crate::cli::latency::stop_flag()?;
    let name = chosen.patterns().chain(common.define.iter().map(String::as_str)).collect::<Vec<_>>().join(", ");
    let mut session = Session::start(kernel, &options)?;
    let recording = record.map(|path| EventFile::new(path, Keeper::new(kernel, &options, &name))).transpose()?;
    session.leave_out_own_threads()?;
    let mut sinks = Sinks { lines, recording };
    if form == Form::Text {
        let ends = if common.duration.is_none() && common.command.is_empty() { "; Ctrl-C ends it" } else { "" };
        stdio::say(format_args!("probescope: {} events are on{ends}", options.wanted().count()));
    }
    let mut command = held.map(Held::release).transpose().map_err(|error| CliError::Refused(error.to_string()))?;
    let result = follow(&mut session, &mut sinks, command.as_mut(), common.duration, &stop);
    if let Some(command) = &mut command {
        command.terminate();
    }
    let (books, left) = session.finish(&mut |told| sinks.take(told))?;
    result?;
    left.iter().for_each(|left| stdio::say(format_args!("probescope: {left}")));
    let lost = told(&books, form);
    sinks.finish(i32::from(if lost { PARTIAL } else { 0 }))?;
    Ok(if lost { ExitCode::from(PARTIAL) } else { ExitCode::SUCCESS })
}

/// Takes events until the end.
fn follow(
    session: &mut Session,
    sinks: &mut Sinks,
    mut command: Option<&mut child::Running>,
    duration: Option<Duration>,
    stop: &AtomicBool,
) -> Result<(), SinkError> {
    let end = duration.map(|duration| Instant::now() + duration);
    while !stop.load(Ordering::Acquire) && end.is_none_or(|end| Instant::now() < end) {
        // Asked before the rings are read: what it did last is in them then.
        let ended = command.as_mut().is_some_and(|command| !matches!(command.ended(), Ok(None)));
        let (_, more) = session.poll(&mut |told| sinks.take(told))?;
        sinks.flush()?;
        if ended {
            return Ok(());
        }
        if !more {
            let left = end.map_or(PAUSE, |end| end.saturating_duration_since(Instant::now()));
            std::thread::sleep(left.min(PAUSE));
        }
    }
    Ok(())
}

/// Says what came and what was lost; true where something was.
fn told(books: &[Books], form: Form) -> bool {
    let (all, lost) = output::books(books);
    match &lost {
        Some(lost) => stdio::say(format_args!("probescope: {all}; {lost}")),
        None if form == Form::Text => stdio::say(format_args!("probescope: {all}, none lost")),
        None => {}
    }
    lost.is_some()
}
