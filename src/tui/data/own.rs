//! What the workbench itself causes: in a trace of switches or system calls its own threads are there, too.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::value::Value;
use crate::store::{Column, Entry, TraceInfo};
use crate::tui::data::expression::{named, plain, text_of};

/// What threads of probescope are called: the first one by the program's name, the others begin so.
const PREFIX: &str = "psc-";
/// The program's name.
const PROGRAM: &str = "probescope";

/// The threads of this process, those that have ended included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    threads: Arc<BTreeSet<i128>>,
    /// What the first one is called: the program may have another name.
    program: Arc<str>,
}

impl Own {
    /// Takes in the threads that there are now; true when there are new ones.
    pub fn look(&mut self) -> bool {
        let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let now: BTreeSet<i128> = entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
        if now.is_subset(&self.threads) {
            return false;
        }
        Arc::make_mut(&mut self.threads).extend(now);
        let pid = std::process::id();
        self.program = std::fs::read_to_string(format!("/proc/self/task/{pid}/comm")).unwrap_or_default().trim().into();
        true
    }

    /// Whether an event tells that one of our threads did it, or that something was done to one: by a field that is
    /// a process, a thread or its name.
    #[must_use]
    pub fn has_caused(&self, info: Option<&TraceInfo>, entry: &Entry) -> bool {
        named(info, entry).into_iter().any(|(column, value)| self.is_named(column, value))
    }

    fn is_called(&self, comm: &str) -> bool {
        comm.starts_with(PREFIX) || comm.starts_with(PROGRAM) || (!comm.is_empty() && comm == &*self.program)
    }

    fn is_named(&self, column: &Column, value: &Value) -> bool {
        let last = |name: &str| plain(name).rsplit(['.', '>']).next().unwrap_or_default().to_owned();
        let names = [last(&column.name), last(&column.source)];
        let is_it =
            |name: &String, word: &str| name == word || name.strip_suffix(word).is_some_and(|rest| rest.ends_with('_'));
        let is = |word: &str| names.iter().any(|name| is_it(name, word));
        if is("pid") || is("tid") {
            return value.as_number().is_some_and(|number| self.threads.contains(&number));
        }
        is("comm") && self.is_called(&text_of(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_threads_are_known_by_number_and_by_name() {
        let mut own = Own::default();
        assert!(own.look() && !own.look());
        let column = |name: &str| Column { name: name.into(), ..Column::default() };
        let (pid, other) = (Value::Pointer(u64::from(std::process::id())), Value::Pointer(1));
        for name in ["pid", "tid", "args.next_pid", "args->prev_tid", "$child_pid", "ctx.task.pid"] {
            assert!(own.is_named(&column(name), &pid), "{name}");
            assert!(!own.is_named(&column(name), &other), "{name}");
        }
        assert!(!own.is_named(&column("stupid"), &pid) && !own.is_named(&column("ret"), &pid));
        assert!(
            own.is_called("psc-drain") && own.is_called("probescope") && !own.is_called("bash") && !own.is_called("")
        );
    }
}
