//! What the command of a trace (`-c`) has written: kept for its pane.

use std::collections::VecDeque;

use crate::session::update::{CommandLine, CommandTold, TraceId};

/// Lines that are kept.
const MOST: usize = 10_000;
/// Bytes of them.
const MOST_BYTES: usize = 4 << 20;

/// The newest lines, and how the command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandOutput {
    /// The trace that it ran with.
    pub trace: TraceId,
    lines: VecDeque<CommandLine>,
    bytes: usize,
    /// Older lines that are not kept any more.
    pub dropped: u64,
    /// How it ended, once it has.
    pub ended: Option<String>,
}

impl CommandOutput {
    /// Takes what is told; the command of another trace begins anew.
    pub fn take(&mut self, trace: TraceId, told: CommandTold) {
        if self.trace != trace {
            *self = Self { trace, ..Self::default() };
        }
        match told {
            CommandTold::Lines(lines) => {
                for line in lines {
                    self.bytes += line.text.len();
                    self.lines.push_back(line);
                    while self.lines.len() > MOST || self.bytes > MOST_BYTES {
                        self.bytes -= self.lines.pop_front().map_or(0, |oldest| oldest.text.len());
                        self.dropped += 1;
                    }
                }
            }
            CommandTold::Ended(how) => self.ended = Some(how),
        }
    }

    /// The lines that are kept, oldest first.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &CommandLine> + ExactSizeIterator {
        self.lines.iter()
    }

    /// Whether a command has said anything, its end included.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.ended.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(many: usize, long: usize) -> CommandTold {
        CommandTold::Lines((0..many).map(|n| CommandLine { is_error: false, text: format!("{n:>long$}") }).collect())
    }

    #[test]
    fn the_newest_lines_are_kept_and_the_others_counted() {
        let mut output = CommandOutput::default();
        output.take(TraceId(1), lines(MOST + 5, 1));
        assert_eq!((output.lines().len(), output.dropped), (MOST, 5));
        assert_eq!(output.lines().next().map(|l| l.text.as_str()), Some("5"));
        output.take(TraceId(1), lines(2000, 4096));
        assert!(output.lines().map(|l| l.text.len()).sum::<usize>() <= MOST_BYTES);
        output.take(TraceId(1), CommandTold::Ended("exit code 0".to_owned()));
        assert!(output.ended.is_some());
        output.take(TraceId(2), lines(1, 1));
        assert_eq!((output.lines().len(), output.dropped, output.ended.clone()), (1, 0, None), "another run");
    }
}
