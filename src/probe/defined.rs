//! Events of tracefs on which the kernel runs no tracepoint program, and what to write instead.

use std::collections::HashMap;

use crate::kernel::dynamic::{Definition, DynamicEvent};
use crate::kernel::tracefs::EventName;
use crate::kernel::{Absence, Kernel};

/// The events that others defined, read once for a list or for an attach point.
#[derive(Debug)]
pub struct Defined<'k> {
    kernel: &'k Kernel,
    events: HashMap<EventName, DynamicEvent>,
}

impl<'k> Defined<'k> {
    /// As it is now: such events come and go.
    #[must_use]
    pub fn now(kernel: &'k Kernel) -> Self {
        Self { kernel, events: kernel.dynamic_events() }
    }

    /// Why no program can be had at an event, and what to write instead; `None` for the kernel's tracepoints.
    #[must_use]
    pub fn absence(&self, name: &EventName) -> Option<Absence> {
        let (category, event) = (&*name.0, &*name.1);
        let absent = |reason: &str, remedy: &str| Some(Absence::new("tracepoint", reason, remedy));
        match (category, event) {
            // `ftrace` has the forms of the kernel's own records; they have no place that could be probed.
            ("ftrace", "print" | "raw_data" | "bprint" | "bputs") => {
                absent("it is a form of ftrace's own records, which no program is run at", &read_by_ring(name))
            }
            ("ftrace", "funcgraph_entry" | "funcgraph_exit") => absent(
                "it is a form of ftrace's own records, which no program is run at",
                "`probescope ftrace graph FUNCTION` reads them",
            ),
            ("ftrace", _) => absent(
                "it is a form of ftrace's own records, which no program is run at",
                "probe what writes such records",
            ),
            // `trace_call_bpf` (kernel/trace/bpf_trace.c) runs no program of a tracepoint while one of a kprobe, a
            // tracepoint or a perf event runs on the CPU: those whose lines these are.
            ("bpf_trace", "bpf_trace_printk") => absent(
                "lines of programs on tracepoints, kprobes and perf events don't reach it, as the kernel keeps programs \
                 on tracepoints from running inside one another",
                &format!("write `rawtracepoint:bpf_trace_printk`, which gets all of them; {}", read_by_ring(name)),
            ),
            // They may have gone from the list while the category is still there.
            ("user_events" | "user_events_multi", _) => Some(Self::user(name)),
            ("synthetic", _) => Some(Self::synthetic(name)),
            _ => Some(self.of_definition(name, self.events.get(name)?)),
        }
    }

    fn of_definition(&self, name: &EventName, event: &DynamicEvent) -> Absence {
        let entry = |provider: &str| {
            if event.ret { format!("{}ret{}", &provider[..1], &provider[1..]) } else { provider.into() }
        };
        let (what, instead) = match event.definition {
            Definition::User => return Self::user(name),
            Definition::Synthetic => return Self::synthetic(name),
            Definition::Kprobe => ("a kprobe", format!("{}:{}", entry("kprobe"), event.place)),
            Definition::Fprobe => ("an fprobe", format!("{}:{}", entry("kprobe"), event.place)),
            Definition::Uprobe => ("a uprobe", format!("{}:{}", entry("uprobe"), self.in_binary(&event.place))),
            Definition::Tprobe => ("a probe on a tracepoint", format!("rawtracepoint:{}", event.place)),
            Definition::Eprobe => ("a probe on an event", format!("tracepoint:{}", event.place.replacen('.', ":", 1))),
        };
        let reason = format!("someone defined it as {what}, and the kernel runs no tracepoint program on such events");
        Absence::new("tracepoint", &reason, &format!("write `{instead}`; {}", read_by_ring(name)))
    }

    fn user(name: &EventName) -> Absence {
        let reason = "the kernel runs no program on events that programs write (user_events)";
        Absence::new("tracepoint", reason, &read_by_ring(name))
    }

    fn synthetic(name: &EventName) -> Absence {
        let reason = "histogram triggers make it, and the kernel runs no program on such events";
        Absence::new("tracepoint", reason, &read_by_ring(name))
    }

    /// `PATH:OFFSET` of the file as a script names it: by the function there, else by its address.
    fn in_binary(&self, place: &str) -> String {
        let named = || {
            let (path, offset) = place.rsplit_once(':')?;
            let offset = u64::from_str_radix(offset.strip_prefix("0x")?, 16).ok()?;
            let binary = self.kernel.binary(std::path::Path::new(path)).ok()?;
            let address = binary.address_of(offset)?;
            Some(match binary.function_at(address) {
                Some((function, 0)) => format!("{path}:{}", function.name),
                Some((function, distance)) => format!("{path}:{}+{distance}", function.name),
                None => format!("{path}:{address:#x}"),
            })
        };
        named().unwrap_or_else(|| place.to_owned())
    }
}

/// What reads an event that no program can be had at.
fn read_by_ring(name: &EventName) -> String {
    format!("`probescope ftrace events -e {}:{}` reads it", name.0, name.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Roots;

    #[test]
    fn each_event_without_programs_names_what_has_them() {
        let kernel = Kernel::new(Roots::fixture("/nonexistent"));
        let event = |definition, place: &str, ret| DynamicEvent { definition, place: place.into(), ret };
        let events = [
            ("kprobes", "a", event(Definition::Kprobe, "vfs_read", false)),
            ("kprobes", "b", event(Definition::Kprobe, "vfs_read", true)),
            ("uprobes", "c", event(Definition::Uprobe, "/no/such:0x10", true)),
            ("mine", "d", event(Definition::Eprobe, "syscalls.sys_enter_openat", false)),
            ("mine", "e", event(Definition::Tprobe, "sched_switch", false)),
        ];
        let events = events.into_iter().map(|(c, e, d)| ((c.into(), e.into()), d)).collect();
        let defined = Defined { kernel: &kernel, events };
        let remedy = |c: &str, e: &str| defined.absence(&(c.into(), e.into())).map(|a| a.remedy.to_string());
        let both = |c: &str, e: &str, write: &str| {
            let wanted = format!("write `{write}`; `probescope ftrace events -e {c}:{e}` reads it");
            assert_eq!(remedy(c, e).unwrap(), wanted);
        };
        both("kprobes", "a", "kprobe:vfs_read");
        both("kprobes", "b", "kretprobe:vfs_read");
        both("uprobes", "c", "uretprobe:/no/such:0x10");
        both("mine", "d", "tracepoint:syscalls:sys_enter_openat");
        both("mine", "e", "rawtracepoint:sched_switch");
        let reads =
            |c: &str, e: &str| remedy(c, e).unwrap().contains(&format!("`probescope ftrace events -e {c}:{e}`"));
        assert!(reads("user_events", "x") && reads("synthetic", "x") && reads("ftrace", "print"));
        assert!(reads("bpf_trace", "bpf_trace_printk"));
        assert!(remedy("ftrace", "funcgraph_exit").unwrap().contains("ftrace graph"));
        assert!(remedy("sched", "sched_switch").is_none());
    }
}
