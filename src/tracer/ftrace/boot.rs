//! What was set up live, for the next boot: as bootconfig, as words of the kernel's command line, and as a script with a unit
//! for systemd; each with what it can't say.

use std::fmt::Write as _;

use super::define::Definition;
use super::full_name;
use super::session::Wanted;

/// Name of the instance.
const INSTANCE: &str = "probescope";
/// A value of bootconfig is shorter than this (`MAX_BUF_LEN` of `trace_boot.c`), bytes.
const LONGEST_VALUE: usize = 256;
/// All of a bootconfig, bytes.
const LONGEST_CONFIG: usize = 32_767;
/// Triggers of the command line.
const MOST_TRIGGERS: usize = 32;

/// What is to be traced from the boot on.
#[derive(Clone, Debug, Default)]
pub struct BootPlan {
    /// Events.
    pub events: Vec<Wanted>,
    /// Events that are defined.
    pub definitions: Vec<Definition>,
    /// A CPU's ring, KiB.
    pub ring_kb: u64,
}

/// A text, and what is missing in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// The text.
    pub text: String,
    /// What it can't say, a sentence each.
    pub dropped: Vec<String>,
}

/// A value in quotes of the kind that it has not itself.
fn quoted(value: &str) -> Result<String, String> {
    if value.len() >= LONGEST_VALUE {
        return Err(format!("`{value}` has {} bytes; a value has 255 at most", value.len()));
    }
    match (value.contains('"'), value.contains('\'')) {
        (false, _) => Ok(format!("\"{value}\"")),
        (true, false) => Ok(format!("'{value}'")),
        (true, true) => Err(format!("`{value}` has both kinds of quotes")),
    }
}

/// A definition's kind, event, and what stands behind.
fn parts(definition: &Definition) -> (char, &str) {
    let kind = definition.line.chars().next().unwrap_or('p');
    (kind, definition.line.split_once(' ').map_or("", |(_, rest)| rest))
}

fn is_kprobe(definition: &Definition) -> bool {
    let (kind, rest) = parts(definition);
    matches!(kind, 'p' | 'r') && !rest.starts_with('/')
}

/// Why another kind is missing.
fn other(definition: &Definition, form: &str) -> String {
    format!("{}: {form} defines kprobes only", definition.line)
}

impl BootPlan {
    /// As bootconfig, for an initrd (`bootconfig -a`, with `bootconfig` on the command line).
    #[must_use]
    pub fn bootconfig(&self) -> Exported {
        let mut dropped = Vec::new();
        let mut text = String::new();
        for definition in &self.definitions {
            let (kind, rest) = parts(definition);
            let rest = if kind == 'r' {
                let (place, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
                format!("{place}%return {arguments}").trim_end().to_owned()
            } else {
                rest.to_owned()
            };
            match quoted(&rest) {
                Ok(value) if is_kprobe(definition) => {
                    let _ = writeln!(text, "ftrace.event.kprobes.{}.probes = {value}", definition.name.1);
                }
                Ok(_) => dropped.push(other(definition, "bootconfig")),
                Err(why) => dropped.push(why),
            }
        }
        let _ = writeln!(text, "ftrace.instance.{INSTANCE} {{");
        let _ = writeln!(text, "\ttrace_clock = mono\n\tbuffer_size = {}KB", self.ring_kb);
        for wanted in &self.events {
            self.event(wanted, &mut text, &mut dropped);
        }
        for definition in self.definitions.iter().filter(|definition| is_kprobe(definition)) {
            let _ = writeln!(text, "\tevent.kprobes.{}.enable", definition.name.1);
        }
        text.push_str("}\n");
        if text.len() > LONGEST_CONFIG {
            dropped.push(format!("the kernel takes {LONGEST_CONFIG} bytes; these are {}", text.len()));
        }
        Exported { text, dropped }
    }

    fn event(&self, wanted: &Wanted, text: &mut String, dropped: &mut Vec<String>) {
        let _ = writeln!(text, "\tevent.{}.{} {{\n\t\tenable", wanted.name.0, wanted.name.1);
        if !wanted.filter.is_empty() {
            match quoted(&wanted.filter) {
                Ok(value) => drop(writeln!(text, "\t\tfilter = {value}")),
                Err(why) => dropped.push(format!("the filter of {}: {why}", full_name(&wanted.name))),
            }
        }
        let mut actions = Vec::new();
        for trigger in &wanted.triggers {
            match quoted(trigger) {
                Ok(value) => actions.push(value),
                Err(why) => dropped.push(format!("a trigger of {}: {why}", full_name(&wanted.name))),
            }
        }
        if !actions.is_empty() {
            let _ = writeln!(text, "\t\tactions = {}", actions.join(", "));
        }
        text.push_str("\t}\n");
    }

    /// As words of the kernel's command line, which every kernel takes; they go to the top instance.
    #[must_use]
    pub fn command_line(&self) -> Exported {
        let mut dropped = Vec::new();
        let mut events: Vec<String> = self.events.iter().map(|wanted| full_name(&wanted.name)).collect();
        let mut probes = Vec::new();
        for definition in &self.definitions {
            let (kind, rest) = parts(definition);
            if !is_kprobe(definition) || rest.contains(',') {
                dropped.push(other(definition, "the command line"));
                continue;
            }
            let words: Vec<&str> = rest.split_whitespace().collect();
            probes.push(format!("{kind}:kprobes/{},{}", definition.name.1, words.join(",")));
            events.push(format!("kprobes:{}", definition.name.1));
        }
        let mut triggers = Vec::new();
        for wanted in &self.events {
            let name = full_name(&wanted.name);
            if !wanted.filter.is_empty() {
                dropped.push(format!("the filter of {name}: the command line has none, all of its events come"));
            }
            for trigger in &wanted.triggers {
                if trigger.contains([',', '"']) || triggers.len() >= MOST_TRIGGERS {
                    dropped.push(format!(
                        "a trigger of {name}, {trigger}: the command line parts triggers at commas, and takes 32"
                    ));
                } else {
                    triggers.push(format!("{}.{trigger}", wanted.name.1));
                }
            }
        }
        let mut words = vec!["trace_clock=mono".to_owned(), format!("trace_buf_size={}K", self.ring_kb)];
        if !events.is_empty() {
            words.push(format!("trace_event={}", events.join(",")));
        }
        if !triggers.is_empty() {
            words.push(format!("trace_trigger=\"{}\"", triggers.join(",")));
        }
        if !probes.is_empty() {
            words.push(format!("kprobe_event=\"{}\"", probes.join(";")));
        }
        Exported { text: words.join(" ") + "\n", dropped }
    }

    /// As a shell script that sets it up, and its unit for systemd; nothing is missing, but it begins when systemd does.
    #[must_use]
    pub fn script(&self) -> Exported {
        let quote = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        let mut text = String::from(
            "#!/bin/sh\n# Sets up tracing; `undo` as its word takes it away.\nset -e\ncd /sys/kernel/tracing\n",
        );
        let mut undo = String::new();
        for definition in &self.definitions {
            let _ = writeln!(text, "define() {{ echo {} >> dynamic_events; }}", quote(&definition.line));
            text.push_str("[ \"$1\" = undo ] || define\n");
            let _ = writeln!(undo, "echo '-:{}/{}' >> dynamic_events", definition.name.0, definition.name.1);
        }
        let _ = writeln!(text, "if [ \"$1\" = undo ]; then\nrmdir instances/{INSTANCE}\n{undo}exit 0\nfi");
        let _ = writeln!(text, "mkdir instances/{INSTANCE}\ncd instances/{INSTANCE}\necho mono > trace_clock");
        let _ = writeln!(text, "echo {} > buffer_size_kb", self.ring_kb);
        for wanted in &self.events {
            let folder = format!("events/{}/{}", wanted.name.0, wanted.name.1);
            if !wanted.filter.is_empty() {
                let _ = writeln!(text, "echo {} > {folder}/filter", quote(&wanted.filter));
            }
            for trigger in &wanted.triggers {
                let _ = writeln!(text, "echo {} >> {folder}/trigger", quote(trigger));
            }
            let _ = writeln!(text, "echo 1 > {folder}/enable");
        }
        for definition in &self.definitions {
            let _ = writeln!(text, "echo 1 > events/{}/{}/enable", definition.name.0, definition.name.1);
        }
        text.push_str(
            "\n# /etc/systemd/system/probescope-trace.service:\n# [Unit]\n# DefaultDependencies=no\n# Before=sysinit.target\n\
             # RequiresMountsFor=/sys/kernel/tracing\n# [Service]\n# Type=oneshot\n# RemainAfterExit=yes\n\
             # ExecStart=/usr/local/sbin/probescope-trace\n# ExecStop=/usr/local/sbin/probescope-trace undo\n# [Install]\n# WantedBy=sysinit.target\n",
        );
        let dropped = vec!["what happens before systemd starts this unit".to_owned()];
        Exported { text, dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::super::define;
    use super::*;

    fn plan() -> BootPlan {
        let wanted = |system: &str, event: &str, filter: &str, triggers: &[&str]| Wanted {
            name: (system.into(), event.into()),
            filter: filter.into(),
            triggers: triggers.iter().map(|t| (*t).into()).collect(),
            on: true,
        };
        BootPlan {
            events: vec![
                wanted("sched", "sched_switch", "prev_comm ~ \"a*\"", &["hist:keys=prev_pid,next_pid", "stacktrace"]),
                wanted("irq", "softirq_entry", "", &[]),
            ],
            definitions: ["p:mine vfs_read $arg1", "r:its vfs_read", "f:fp vfs_read"]
                .iter()
                .map(|text| define::read(text, 1, 0).unwrap())
                .collect(),
            ring_kb: 1024,
        }
    }

    #[test]
    fn each_form_says_what_it_lacks() {
        let config = plan().bootconfig();
        let wanted = "ftrace.event.kprobes.mine.probes = \"vfs_read $arg1\"\nftrace.event.kprobes.its.probes = \"vfs_read%return\"\n\
            ftrace.instance.probescope {\n\ttrace_clock = mono\n\tbuffer_size = 1024KB\n\tevent.sched.sched_switch {\n\t\tenable\n\
            \t\tfilter = 'prev_comm ~ \"a*\"'\n\t\tactions = \"hist:keys=prev_pid,next_pid\", \"stacktrace\"\n\t}\n\
            \tevent.irq.softirq_entry {\n\t\tenable\n\t}\n\tevent.kprobes.mine.enable\n\tevent.kprobes.its.enable\n}\n";
        assert_eq!(config.text, wanted);
        assert_eq!(config.dropped.len(), 1, "{:?}", config.dropped);
        let line = plan().command_line();
        assert_eq!(
            line.text,
            "trace_clock=mono trace_buf_size=1024K trace_event=sched:sched_switch,irq:softirq_entry,kprobes:mine,kprobes:its \
             trace_trigger=\"sched_switch.stacktrace\" kprobe_event=\"p:kprobes/mine,vfs_read,$arg1;r:kprobes/its,vfs_read\"\n"
        );
        assert_eq!(line.dropped.len(), 3, "{:?}", line.dropped);
        let script = plan().script();
        assert!(script.text.contains("echo 'prev_comm ~ \"a*\"' > events/sched/sched_switch/filter"));
        assert!(script.text.contains("echo 'f:psc_1/fp vfs_read' >> dynamic_events"));
    }
}
