//! Which lessons work on this machine, and why others do not.

use std::sync::Arc;

use rustix::thread::CapabilitySet;

use crate::kernel::Kernel;
use crate::learn::{self, Lesson};
use crate::loads;

/// How a lesson can be done here.
#[derive(Debug)]
pub(super) struct Ways {
    /// Live, or why not.
    pub live: Result<(), String>,
    /// On a recording.
    pub recorded: bool,
}

/// What was found of this machine.
#[derive(Debug)]
pub(super) struct Preflight {
    kernel: Arc<Kernel>,
    may_trace: bool,
}

/// Whether the program has the recording that a lesson names.
pub(super) fn has_recording(lesson: &Lesson) -> bool {
    lesson.recording.as_deref().is_some_and(|name| learn::recording(name).is_some())
}

impl Preflight {
    /// Looks at the process's rights.
    pub fn new(kernel: Arc<Kernel>) -> Self {
        let own = rustix::thread::capabilities(None).map_or(CapabilitySet::empty(), |own| own.effective);
        let wanted = CapabilitySet::BPF.union(CapabilitySet::PERFMON);
        Self { kernel, may_trace: own.contains(CapabilitySet::SYS_ADMIN) || own.contains(wanted) }
    }

    /// How a lesson can be done here.
    pub fn ways(&self, lesson: &Lesson) -> Ways {
        Ways { live: self.live(lesson), recorded: has_recording(lesson) }
    }

    fn live(&self, lesson: &Lesson) -> Result<(), String> {
        if !lesson.live {
            return Err("it is about a recording".to_owned());
        }
        if loads::find(&lesson.load).is_none() {
            return Err(format!("there is no load `{}`", lesson.load));
        }
        if !self.may_trace {
            return Err("tracing needs root, or CAP_BPF and CAP_PERFMON".to_owned());
        }
        lesson.probes.iter().try_for_each(|probe| self.has(probe))
    }

    /// Whether the kernel has a probe. User probes are looked for when the script is compiled.
    fn has(&self, probe: &str) -> Result<(), String> {
        let words: Vec<&str> = probe.split(':').collect();
        match words.as_slice() {
            ["tracepoint" | "t", category, event] => self
                .kernel
                .tracepoint(category, event)
                .map(|_| ())
                .map_err(|why| format!("there is no {probe} here ({why})")),
            ["kprobe" | "kretprobe" | "fentry" | "fexit", function] => match self.kernel.functions() {
                Ok(table) if table.contains(function) => Ok(()),
                Ok(_) => Err(format!("this kernel has no {probe}")),
                Err(why) => Err(format!("this kernel has no {probe} ({why})")),
            },
            _ => Ok(()),
        }
    }
}
