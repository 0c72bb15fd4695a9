//! rtla's options for what is beside the measurement: events of the kernel, control groups, idle states.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::arguments::{Backend, Plan, times};
use crate::cli::CliError;
use crate::disk::{self, Readers};
use crate::engine::latency::action::{Action, Context};
use crate::kernel::Kernel;
use crate::kernel::guard::{Guard, JOURNALS};
use crate::model::latency::{Episode, EpisodeKind};
use crate::output::latency::report::Stacks;
use crate::stdio;
use crate::tracer::latency::events::{Event, EventTrace};
use crate::tracer::latency::places::cgroup_file;

/// What osnoise and timerlat share.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Extra {
    /// Also record these events of the kernel, for what -t and the trace action save: sys:event, or sys.
    #[arg(short, long, value_name = "SYS:EVENT")]
    event: Vec<String>,
    /// Of the event before, only those that pass this filter of the kernel.
    #[arg(long, value_name = "FILTER", requires = "event")]
    filter: Vec<String>,
    /// A trigger of the kernel for the event before; the histogram of one is saved to SYS_EVENT_hist.txt.
    #[arg(long, value_name = "TRIGGER", requires = "event")]
    trigger: Vec<String>,
    /// Room for these events, in kB a CPU.
    #[arg(long, value_name = "KB")]
    trace_buffer_size: Option<u64>,
    /// Move this process with its measuring threads to a control group; without a name, threads of the kernel's tracer
    /// to the group of this process.
    #[arg(short = 'C', long, value_name = "GROUP", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub cgroup: Option<String>,
    /// Say at the end what each BPF program costs.
    #[arg(short = 'D', long)]
    pub debug: bool,
}

/// How much of stacks is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum StackFormat {
    /// Up to the first address without a name.
    #[default]
    Truncate,
    /// Without addresses that have no name.
    Skip,
    /// All of them.
    Full,
}

/// What only timerlat has.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Sleepers {
    /// Wake each thread so many us after the one before.
    #[arg(short = 'A', long, value_name = "US", value_parser = times())]
    pub aligned: Option<u64>,
    /// Keep the measured CPUs from idle states deeper than this one; -1 from all.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    deepest_idle_state: Option<i64>,
    /// How much of stacks is printed.
    #[arg(long, value_enum, value_name = "FORM", default_value = "truncate")]
    stack_format: StackFormat,
    /// rtla's: measure another program's threads (timerlat_fd). Refused with the reason.
    #[arg(short = 'U', long, hide = true)]
    user_load: bool,
    /// When a threshold is passed, first run the program action_handler of this BPF object on the CPU that was late,
    /// with the record of the kernel's timerlat_sample event.
    #[arg(long, value_name = "OBJECT")]
    bpf_action: Option<PathBuf>,
}

fn refuse<T>(why: impl Into<String>) -> Result<T, CliError> {
    Err(CliError::Refused(why.into()))
}

impl Sleepers {
    /// How much of stacks is printed.
    pub const fn stacks(&self) -> Stacks {
        match self.stack_format {
            StackFormat::Truncate => Stacks::Truncate,
            StackFormat::Skip => Stacks::Skip,
            StackFormat::Full => Stacks::Full,
        }
    }
}

impl Extra {
    /// The events with the filter and the trigger of each.
    fn events(&self) -> Result<Vec<Event>, CliError> {
        let pairs = |what: &str, texts: &[String]| {
            if texts.is_empty() || texts.len() == self.event.len() {
                return Ok(());
            }
            refuse(format!("with several events write --{what} once for each, in their order"))
        };
        pairs("filter", &self.filter)?;
        pairs("trigger", &self.trigger)?;
        let event = |(at, name): (usize, &String)| Event {
            name: name.clone(),
            filter: self.filter.get(at).cloned(),
            trigger: self.trigger.get(at).cloned(),
        };
        Ok(self.event.iter().enumerate().map(event).collect())
    }
}

/// What runs beside a measurement and is undone after it.
pub struct Beside {
    events: Option<EventTrace>,
    action: Option<Action>,
    // Restores the idle states.
    _guard: Option<Guard>,
}

impl Beside {
    /// Starts what was asked for.
    pub fn start(plan: &Plan, kernel: &Kernel) -> Result<Self, CliError> {
        if plan.sleepers.user_load {
            return refuse(
                "-U needs another program that waits in the kernel's timerlat_fd; without it our own threads measure: \
                 leave -U out, or watch the program itself with `probescope latency task -p PID`",
            );
        }
        let by_tracer = plan.backend == Backend::Tracefs || plan.kernel_threads;
        if plan.sleepers.bpf_action.is_some() && by_tracer && !has_sample_event(kernel) {
            return refuse(
                "BPF actions are not supported in tracefs-only mode: this kernel's timerlat tracer has no event \
                 timerlat_sample (Linux 6.15); use --backend bpf",
            );
        }
        let action = plan.sleepers.bpf_action.as_deref().map(|path| Action::load(kernel, path));
        if let Some(group) = plan.extra.cgroup.as_deref().filter(|group| !group.is_empty()) {
            join(kernel, group)?;
        }
        let events = plan.extra.events()?;
        if events.is_empty() && plan.extra.trace_buffer_size.is_some() {
            return refuse("--trace-buffer-size is for events (-e): the flight recorder has a fixed size");
        }
        let events = if events.is_empty() {
            None
        } else {
            Some(EventTrace::start(kernel, &events, plan.extra.trace_buffer_size)?)
        };
        let guard = plan.sleepers.deepest_idle_state.map(|deepest| hold_awake(kernel, &plan.options.cpus, deepest));
        let action = action.transpose().map_err(|e| CliError::Refused(e.to_string()))?;
        Ok(Self { events, action, _guard: guard.transpose()? })
    }

    /// Runs the program that is to see each episode.
    pub fn act(&self, episode: &Episode, sequence: u64) {
        let Some(action) = &self.action else { return };
        let (context, latency_ns) = match (episode.kind, episode.parts.irq_latency_ns) {
            (EpisodeKind::Irq, Some(ns)) => (Context::Irq, ns),
            (EpisodeKind::User, _) => (Context::User, episode.latency_ns()),
            _ => (Context::Thread, episode.latency_ns()),
        };
        if let Err(e) = action.run(episode.cpu, latency_ns, sequence as u32, context) {
            stdio::say(format_args!("probescope: {e}"));
        }
    }

    /// The events so far.
    pub fn events(&self) -> Option<String> {
        self.events.as_ref().map(EventTrace::text)
    }

    /// Saves the histograms of triggers.
    pub fn save_histograms(&self) {
        for (name, file, text) in self.events.iter().flat_map(EventTrace::histograms) {
            let _ = writeln!(stdio::out(), "  Saving event {name} hist to {file}");
            if let Err(e) = disk::write(Path::new(&file), text.as_bytes(), Readers::Everyone) {
                stdio::say(format_args!("probescope: cannot write {file}: {e}"));
            }
        }
    }
}

/// Whether the kernel's timerlat tracer tells its samples by an event, which is what actions are written for.
fn has_sample_event(kernel: &Kernel) -> bool {
    kernel.tracefs().is_ok_and(|tracefs| tracefs.join("events/osnoise/timerlat_sample").exists())
}

/// Moves this process to a control group.
fn join(kernel: &Kernel, group: &str) -> Result<(), CliError> {
    let file = cgroup_file(kernel, group)?;
    disk::set(&file, std::process::id().to_string())
        .map_err(|e| CliError::Refused(format!("cannot move to the control group {group} ({}): {e}", file.display())))
}

/// Disables the idle states deeper than one.
fn hold_awake(kernel: &Kernel, cpus: &[u32], deepest: i64) -> Result<Guard, CliError> {
    if deepest < -1 {
        return refuse("--deepest-idle-state must be >= -1");
    }
    let failed = |what: &Path, e: &std::io::Error| CliError::Refused(format!("cannot write {}: {e}", what.display()));
    let mut guard = Guard::new(Path::new(JOURNALS)).map_err(|e| failed(Path::new(JOURNALS), &e))?;
    for cpu in cpus {
        let folder = kernel.roots().sys.join(format!("devices/system/cpu/cpu{cpu}/cpuidle"));
        let states = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut numbers: Vec<i64> =
            states.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("state")?.parse().ok()).collect();
        if numbers.is_empty() {
            return refuse(format!(
                "CPU {cpu} has no idle states to disable ({} is empty): the hypervisor, or the idle loop itself, decides",
                folder.display()
            ));
        }
        numbers.sort_unstable();
        for number in numbers.into_iter().filter(|number| *number > deepest) {
            let path = folder.join(format!("state{number}/disable"));
            guard.set(&path, "1").map_err(|e| failed(&path, &e))?;
        }
    }
    Ok(guard)
}
