//! What the kernel says of a filter, a trigger or a definition that it does not take: the words and the column of its
//! `error_log`.

use std::fmt;
use std::io;
use std::path::Path;

use crate::model::render::neutralise;

/// Largest log that is read, bytes: the kernel keeps eight errors.
const MOST: usize = 64 << 10;

/// Something that the kernel did not take.
#[derive(Debug)]
pub struct Refused {
    /// What was to be done: `the filter of sched:sched_switch`.
    pub what: String,
    /// What was written.
    pub text: String,
    /// What the kernel's log says, where it says something of this.
    pub said: Option<Said>,
    /// What the write gave.
    pub source: io::Error,
}

/// An entry of the error log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The kernel's words.
    pub words: String,
    /// The command as the log has it.
    pub command: String,
    /// The column of its caret in the command, in characters from 0.
    pub column: usize,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.said {
            Some(said) => {
                let (words, command) = (neutralise(&said.words), neutralise(&said.command));
                write!(
                    f,
                    "the kernel does not take {}: {words}\n  {command}\n  {:>2$}",
                    self.what,
                    '^',
                    said.column + 1
                )
            }
            None => write!(f, "the kernel does not take {}: {}\n  {}", self.what, self.source, neutralise(&self.text)),
        }
    }
}

impl std::error::Error for Refused {}

/// The newest entry of a log that is about what was written.
pub(super) fn newest(log: &str, text: &str) -> Option<Said> {
    let lines: Vec<&str> = log.lines().collect();
    let at = lines.iter().rposition(|line| line.starts_with('[') && line.contains("error: "))?;
    let words = lines[at].rsplit_once("error: ")?.1.trim().to_owned();
    let command = lines.get(at + 1)?.strip_prefix("  Command: ")?;
    let caret = lines.get(at + 2)?.strip_prefix("           ")?;
    let column = caret.find('^')?;
    let short = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    // An entry of somebody else's, or of before.
    let (ours, its) = (short(text), short(command));
    let about = !its.is_empty() && (ours.contains(&its) || its.contains(&ours));
    about.then(|| Said { words, command: command.to_owned(), column: column.min(command.chars().count()) })
}

/// What is said of a write that was refused.
pub(super) fn of(folder: &Path, what: String, text: &str, source: io::Error) -> Refused {
    let log = std::fs::read(folder.join("error_log")).unwrap_or_default();
    let log = String::from_utf8_lossy(&log[log.len().saturating_sub(MOST)..]).into_owned();
    Refused { what, text: text.to_owned(), said: newest(&log, text), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_where_the_kernel_puts_it() {
        let log = "[   31.230] hist:sched:sched_switch: error: Couldn't find field\n  Command: keys=nope\n                \x20    ^\n\
                   [  131.230] event filter parse error: error: Field not found\n  Command: prev_pid > 1 && foo == 2\n                       \x20   ^\n";
        let said = newest(log, "prev_pid > 1 && foo == 2").unwrap();
        assert_eq!((said.words.as_str(), said.column), ("Field not found", 16));
        let refused = Refused {
            what: "the filter of sched:sched_switch".into(),
            text: "prev_pid > 1 && foo == 2".into(),
            said: Some(said),
            source: io::Error::from_raw_os_error(22),
        };
        let text = refused.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1].find("foo"), lines[2].find('^'), "{text}");
        assert_eq!(newest(log, "something else"), None, "it is of another command");
        assert_eq!(newest("", "x"), None);
        assert_eq!(newest("[1] a: error: b\n", "x"), None);
    }
}
