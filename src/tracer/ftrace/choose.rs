//! From what people write to events: `sched:sched_switch`, `sched:*`, `sched`, `sched_switch`, `sched/sched_switch`.

use std::path::Path;
use std::sync::Arc;

use super::{FtraceError, full_name};
use crate::kernel::Kernel;
use crate::kernel::tracefs::EventName;
use crate::probe::glob::Glob;

/// Forms of the kernel's own records that an instance can receive: programs write them.
pub const MARKERS: &[(&str, &str)] =
    &[("ftrace", "print"), ("ftrace", "raw_data"), ("ftrace", "bprint"), ("ftrace", "bputs")];
/// Largest list of events that is read, bytes.
const MOST_BYTES: usize = 16 << 20;

/// All events as they are now: those that others define come and go.
///
/// # Errors
/// When tracefs is not there or may not be read.
pub fn available(kernel: &Kernel) -> Result<Vec<EventName>, FtraceError> {
    let path = kernel.tracefs()?.join("available_events");
    let text = read(&path)?;
    let pair = |line: &str| line.trim().split_once(':').map(|(c, e)| -> EventName { (c.into(), e.into()) });
    let mut events: Vec<EventName> = text.lines().filter_map(pair).collect();
    events.extend(MARKERS.iter().map(|(c, e)| -> EventName { ((*c).into(), (*e).into()) }));
    events.sort_unstable();
    events.dedup();
    Ok(events)
}

fn read(path: &Path) -> Result<String, FtraceError> {
    let bytes = std::fs::read(path).map_err(|source| FtraceError::File {
        operation: "read",
        path: path.display().to_string(),
        source,
    })?;
    Ok(String::from_utf8_lossy(&bytes[..bytes.len().min(MOST_BYTES)]).into_owned())
}

/// A pattern for events.
#[derive(Debug)]
pub struct Pattern {
    system: Option<Glob>,
    event: Glob,
    written: String,
}

impl Pattern {
    /// As it was written.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let text = text.strip_prefix("tracepoint:").or_else(|| text.strip_prefix("t:")).unwrap_or(text);
        let (system, event) = match text.split_once([':', '/']) {
            Some((system, event)) => (Some(Glob::new(system)), if event.is_empty() { "*" } else { event }),
            None => (None, text),
        };
        Self { system, event: Glob::new(event), written: text.to_owned() }
    }

    /// Whether it means this event. A word alone is an event, or a whole system.
    #[must_use]
    pub fn matches(&self, (system, event): &EventName) -> bool {
        match &self.system {
            Some(wanted) => wanted.matches(system) && self.event.matches(event),
            None => self.event.matches(event) || self.event.matches(system),
        }
    }

    /// The events that it means.
    ///
    /// # Errors
    /// When there are none; with one that is written alike.
    pub fn of(&self, events: &[EventName]) -> Result<Vec<EventName>, FtraceError> {
        let found: Vec<EventName> = events.iter().filter(|name| self.matches(name)).cloned().collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let near = |name: &EventName| {
            let text: Arc<str> = if self.system.is_some() { full_name(name).into() } else { Arc::clone(&name.1) };
            (strsim::damerau_levenshtein(&self.written.replacen('/', ":", 1), &text), full_name(name))
        };
        let nearest = events.iter().map(near).min().filter(|(far, _)| *far <= 1 + self.written.len() / 4);
        let help = match nearest {
            Some((_, name)) => format!("; did you mean {name}?"),
            None if self.written.starts_with("user_events") => {
                "; events that programs write are there while their program runs".to_owned()
            }
            None => "; `probescope ftrace events --list '*'` lists all".to_owned(),
        };
        Err(FtraceError::Options(format!("there is no event {}{help}", self.written)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_an_event_a_system_or_both() {
        let names: Vec<EventName> = [("sched", "sched_switch"), ("sched", "sched_waking"), ("irq", "softirq_entry")]
            .map(|(c, e)| (c.into(), e.into()))
            .to_vec();
        let of =
            |text: &str| Pattern::new(text).of(&names).map(|found| found.iter().map(full_name).collect::<Vec<_>>());
        assert_eq!(of("sched:sched_switch").unwrap(), ["sched:sched_switch"]);
        assert_eq!(of("sched/sched_s*").unwrap(), ["sched:sched_switch"]);
        assert_eq!(of("sched").unwrap().len(), 2);
        assert_eq!(of("sched:").unwrap().len(), 2);
        assert_eq!(of("softirq_entry").unwrap(), ["irq:softirq_entry"]);
        assert_eq!(of("*").unwrap().len(), 3);
        let said = of("sched:sched_swich").unwrap_err().to_string();
        assert!(said.contains("did you mean sched:sched_switch?"), "{said}");
    }
}
