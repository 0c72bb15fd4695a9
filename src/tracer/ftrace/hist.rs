//! Histograms that the kernel keeps (`hist` triggers): from what is asked to triggers, and from the kernel's text to tables.
//!
//! Triggers stand in an instance of ours. Synthetic events are the whole kernel's: ours begin with [`OURS`], and the guard
//! takes them away.

pub mod sql;
mod table;

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Serialize;

use super::choose::{Pattern, available};
use super::define::Definition;
use super::instance::{Instance, event_file};
use super::{FtraceError, full_name};
use crate::kernel::tracefs::EventName;
use crate::kernel::{Absence, Kernel};

pub use table::{HistTable, parse};

/// Synthetic events of ours begin so.
pub const OURS: &str = "psc_";
/// Largest text of a histogram that is read, bytes.
const MOST: usize = 64 << 20;

/// What is asked of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HistPlan {
    /// Keys, with the kernel's modifiers: `pid`, `call_site.sym`, `bytes_req.log2`.
    pub keys: Vec<String>,
    /// What is summed; `hitcount` is always there.
    pub values: Vec<String>,
    /// Rows in this order: `hitcount.descending`.
    pub sort: Vec<String>,
    /// Rows at most; 0 for the kernel's own limit.
    pub size: u32,
    /// Variables and what they are: `ts0=common_timestamp.usecs`.
    pub variables: Vec<String>,
    /// What happens at a match, a maximum, a change: `onmatch(sched.sched_waking).trace(…)`.
    pub actions: Vec<String>,
    /// Only events that pass.
    pub filter: String,
}

impl HistPlan {
    /// The trigger.
    #[must_use]
    pub fn trigger(&self) -> String {
        let mut text = format!("hist:keys={}", self.keys.join(","));
        let mut part = |name: &str, list: &[String]| {
            if !list.is_empty() {
                let _ = write!(text, ":{name}={}", list.join(","));
            }
        };
        part("vals", &self.values);
        part("sort", &self.sort);
        if self.size > 0 {
            let _ = write!(text, ":size={}", self.size);
        }
        for variable in &self.variables {
            let _ = write!(text, ":{variable}");
        }
        for action in &self.actions {
            let _ = write!(text, ":{action}");
        }
        if !self.filter.is_empty() {
            let _ = write!(text, " if {}", self.filter);
        }
        text
    }
}

/// Everything that is set up for an answer: synthetic events, triggers, and whose histogram is the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recipe {
    /// Synthetic events: name and fields, as `dynamic_events` takes them behind `s:`.
    pub synthetic: Vec<(String, String)>,
    /// Triggers in the order in which they are set.
    pub triggers: Vec<(String, String)>,
    /// The event whose histogram is read.
    pub read: String,
}

impl Recipe {
    /// Of one event.
    #[must_use]
    pub fn of(event: &str, plan: &HistPlan) -> Self {
        Self { synthetic: Vec::new(), triggers: vec![(event.to_owned(), plan.trigger())], read: event.to_owned() }
    }

    /// How long threads wait for a CPU once they are woken, us, by thread.
    #[must_use]
    pub fn wakeup_latency(filter: &str) -> Self {
        let name = format!("{OURS}wakeup_latency");
        let condition = if filter.is_empty() { String::new() } else { format!(" if {filter}") };
        Self {
            synthetic: vec![(name.clone(), "u64 lat; pid_t pid; char comm[16]".to_owned())],
            triggers: vec![
                ("sched:sched_waking".to_owned(), format!("hist:keys=pid:ts0=common_timestamp.usecs{condition}")),
                (
                    "sched:sched_switch".to_owned(),
                    format!(
                        "hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).trace({name},$lat,next_pid,next_comm)"
                    ),
                ),
                (format!("synthetic:{name}"), "hist:keys=lat.log2:sort=lat".to_owned()),
            ],
            read: format!("synthetic:{name}"),
        }
    }

    /// The writes that do the same, for a shell.
    #[must_use]
    pub fn shell(&self) -> String {
        let mut text = String::from("cd /sys/kernel/tracing\n");
        for (name, fields) in &self.synthetic {
            let _ = writeln!(text, "echo '{name} {fields}' >> synthetic_events");
        }
        for (event, trigger) in &self.triggers {
            let _ = writeln!(text, "echo '{trigger}' >> events/{}/trigger", event.replacen(':', "/", 1));
        }
        let _ = writeln!(text, "cat events/{}/hist", self.read.replacen(':', "/", 1));
        text
    }
}

/// Histograms that are being kept.
#[derive(Debug)]
pub struct HistSession {
    instance: Instance,
    read: EventName,
    trigger: String,
}

/// Why there are none here.
fn absent() -> FtraceError {
    let reason = "this kernel was built without CONFIG_HIST_TRIGGERS (no `hist` among available triggers)";
    Absence::new("hist triggers", reason, "count in a script: @[args.prev_pid] = count(), hist(x)").into()
}

/// Whether this kernel has them, by the words of an event's trigger file.
fn check(kernel: &Kernel) -> Result<(), FtraceError> {
    let path = kernel.tracefs()?.join("events/sched/sched_switch/trigger");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lacks = text.starts_with("# Available triggers") && !text.split_whitespace().any(|word| word == "hist");
    let readme = || std::fs::read_to_string(kernel.tracefs().unwrap_or_default().join("README")).unwrap_or_default();
    if lacks && !readme().contains("hist trigger") { Err(absent()) } else { Ok(()) }
}

fn name_of(event: &str) -> EventName {
    let (system, event) = event.split_once([':', '/']).unwrap_or(("", event));
    (system.into(), event.into())
}

impl HistSession {
    /// Sets a recipe up and turns it on.
    ///
    /// # Errors
    /// With the kernel's words and column where it refuses a part of it; nothing stays then.
    pub fn start(kernel: &Arc<Kernel>, recipe: &Recipe) -> Result<Self, FtraceError> {
        let definitions: Vec<Definition> = recipe
            .synthetic
            .iter()
            .map(|(name, fields)| Definition {
                line: format!("s:{name} {fields}"),
                name: ("synthetic".into(), name.as_str().into()),
            })
            .collect();
        check(kernel)?;
        let mut instance = Instance::make(kernel, &definitions)?;
        let events = available(kernel)?;
        let triggers: Vec<(EventName, &str)> = recipe
            .triggers
            .iter()
            .map(|(event, trigger)| {
                let name = name_of(event);
                let ours = recipe.synthetic.iter().any(|(made, _)| *made == *name.1);
                let found = if ours { name } else { one(event, &events)? };
                Ok((found, trigger.as_str()))
            })
            .collect::<Result<_, FtraceError>>()?;
        // Times of all CPUs are compared.
        instance.set("trace_clock", "mono")?;
        // It stays on meanwhile: events of an instance that is off have no time. Nothing is written to its ring.
        for (name, trigger) in &triggers {
            instance.add_trigger(name, trigger)?;
        }
        let read = triggers.iter().rev().find(|(name, _)| full_name(name).ends_with(&*name_of(&recipe.read).1));
        let (read, trigger) = read.map(|(name, trigger)| (name.clone(), (*trigger).to_owned())).unwrap_or_default();
        Ok(Self { instance, read, trigger })
    }

    /// The histogram as it is now.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn table(&self) -> Result<HistTable, FtraceError> {
        let path = self.instance.folder().join(event_file(&self.read, "hist"));
        let bytes = std::fs::read(&path).map_err(|source| FtraceError::File {
            operation: "read",
            path: path.display().to_string(),
            source,
        })?;
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]);
        Ok(parse(&text, &self.trigger))
    }

    /// Takes it all away. Gives what could not be.
    #[must_use]
    pub fn end(self) -> Vec<String> {
        self.instance.end()
    }
}

/// The one event that was named.
fn one(text: &str, events: &[EventName]) -> Result<EventName, FtraceError> {
    let mut found = Pattern::new(text).of(events)?;
    if found.len() > 1 {
        return Err(FtraceError::Options(format!("{text} are {} events: a histogram is kept of one", found.len())));
    }
    found.pop().ok_or_else(|| FtraceError::Options(format!("there is no event {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_the_kernels_trigger() {
        let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let plan = HistPlan {
            keys: words(&["prev_pid", "prev_comm"]),
            values: words(&["hitcount", "prev_prio"]),
            sort: words(&["hitcount.descending"]),
            size: 4096,
            filter: "prev_pid > 0".into(),
            ..HistPlan::default()
        };
        let wanted =
            "hist:keys=prev_pid,prev_comm:vals=hitcount,prev_prio:sort=hitcount.descending:size=4096 if prev_pid > 0";
        assert_eq!(plan.trigger(), wanted);
        let recipe = Recipe::of("sched:sched_switch", &plan);
        assert!(recipe.shell().contains(&format!("echo '{wanted}' >> events/sched/sched_switch/trigger")));
    }
}
