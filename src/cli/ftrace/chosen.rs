//! `-e EVENT --filter F --trigger T`: a filter and triggers belong to the event before them, so their order counts.

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

use crate::kernel::Kernel;
use crate::kernel::tracefs::EventName;
use crate::tracer::ftrace::choose::{Pattern, available};
use crate::tracer::ftrace::{FtraceError, Wanted, full_name};

/// One `-e` with what belongs to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct One {
    pattern: String,
    filter: Option<String>,
    triggers: Vec<String>,
}

/// All of them, in order.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    all: Vec<One>,
}

impl Chosen {
    /// True when none was written.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The events that were written, as they were.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|one| one.pattern.as_str())
    }

    /// Events of this kernel. One that is named twice has both filters' events: the kernel has one filter for each, so
    /// that is refused.
    ///
    /// # Errors
    /// When there is no such event.
    pub fn wanted(&self, kernel: &Kernel) -> Result<Vec<Wanted>, FtraceError> {
        let events = available(kernel)?;
        let mut wanted: Vec<Wanted> = Vec::new();
        for one in &self.all {
            for name in Pattern::new(&one.pattern).of(&events)? {
                let filter = one.filter.as_deref().unwrap_or("");
                match wanted.iter_mut().find(|other| other.name == name) {
                    Some(other) if *other.filter != *filter => return Err(twice(&name)),
                    Some(other) => other.triggers.extend(one.triggers.iter().map(|t| t.as_str().into())),
                    None => wanted.push(Wanted {
                        name,
                        filter: filter.into(),
                        triggers: one.triggers.iter().map(|t| t.as_str().into()).collect(),
                        on: true,
                    }),
                }
            }
        }
        Ok(wanted)
    }
}

fn twice(name: &EventName) -> FtraceError {
    let name = full_name(name);
    FtraceError::Options(format!("{name} was named twice, with different filters; the kernel has one: join them by ||"))
}

impl clap::Args for Chosen {
    fn augment_args(command: Command) -> Command {
        let arg = |name: &'static str, value: &'static str, help: &'static str| {
            Arg::new(name).long(name).value_name(value).help(help).action(ArgAction::Append)
        };
        command
            .arg(
                arg("event", "SYS:EVENT", "These events: sys:event with `*`, a whole system, or an event's name")
                    .short('e'),
            )
            .arg(
                arg("filter", "EXPR", "Of the events of the -e before, only those that pass this filter of the kernel")
                    .requires("event"),
            )
            .arg(
                arg(
                    "trigger",
                    "TRIGGER",
                    "A trigger of the kernel for the events of the -e before, as in stacktrace or traceoff:1",
                )
                .requires("event"),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Chosen {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut found: Vec<(usize, &str, String)> = Vec::new();
        for name in ["event", "filter", "trigger"] {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            let places = matches.indices_of(name).into_iter().flatten();
            found.extend(places.zip(values).map(|(at, value)| (at, name, value.clone())));
        }
        found.sort_unstable();
        let mut all: Vec<One> = Vec::new();
        for (_, name, value) in found {
            if name == "event" {
                // `-e a,b` as perf has it.
                all.extend(
                    value.split(',').filter(|p| !p.is_empty()).map(|p| One { pattern: p.to_owned(), ..One::default() }),
                );
                continue;
            }
            let Some(last) = all.last_mut() else {
                let text = format!("--{name} belongs to the -e before it: write -e first\n");
                return Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, text));
            };
            match (name, &last.filter) {
                ("filter", Some(_)) => {
                    let text = format!("{} has a filter already: join both by && or ||\n", last.pattern);
                    return Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, text));
                }
                ("filter", None) => last.filter = Some(value),
                _ => last.triggers.push(value),
            }
        }
        Ok(Self { all })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        chosen: Chosen,
    }

    fn read(words: &[&str]) -> Result<Vec<One>, String> {
        let words = std::iter::once(&"x").chain(words);
        Line::try_parse_from(words).map(|line| line.chosen.all).map_err(|e| e.to_string())
    }

    #[test]
    fn filters_belong_to_the_event_before() {
        let all =
            read(&["-e", "sched", "-e", "irq:a", "--filter", "x>1", "--trigger", "traceoff", "-e", "b,c"]).unwrap();
        let told: Vec<(&str, Option<&str>, usize)> =
            all.iter().map(|o| (o.pattern.as_str(), o.filter.as_deref(), o.triggers.len())).collect();
        assert_eq!(told, [("sched", None, 0), ("irq:a", Some("x>1"), 1), ("b", None, 0), ("c", None, 0)]);
        assert!(read(&["--filter", "x", "-e", "a"]).unwrap_err().contains("write -e first"));
        assert!(read(&["-e", "a", "--filter", "x", "--filter", "y"]).unwrap_err().contains("already"));
    }
}
