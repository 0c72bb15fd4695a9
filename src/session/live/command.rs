//! What a trace's command writes: read by a thread of its own and passed on in lines, as fast as the face takes them.
//! The screen belongs to the face.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::mpsc::{SyncSender, TryRecvError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};

use super::Mail;
use super::starter::News;
use crate::session::update::{CommandLine, CommandTold, MOST_OF_LINE};
use crate::thread::{self, Rights};
use crate::tracer::TraceId;
use crate::tracer::script::child::{Captured, ChildError, Held};

/// How often it is looked for the command's end while it writes nothing.
const LOOK_NS: i64 = 50_000_000;

/// Starts the command of a trace, held back, with its outputs passed on to the session.
pub(super) fn start(line: &str, trace: TraceId, mail: SyncSender<Mail<News>>) -> Result<Held, ChildError> {
    let (held, captured) = Held::start_captured(line)?;
    let tell = move |told| mail.send(Mail::Own(News::Command { trace, told })).is_ok();
    let failed = |source| ChildError::Run { command: line.to_owned(), source };
    thread::spawn("psc-command", Rights::Nothing, move || pass_on(&captured, tell)).map_err(failed)?;
    Ok(held)
}

/// One of the outputs.
struct Stream<'a> {
    end: Option<&'a OwnedFd>,
    is_error: bool,
    /// Of a line that goes on.
    rest: Vec<u8>,
}

impl Stream<'_> {
    /// What is there now, as lines; without an end of line only when the stream ends.
    fn take(&mut self) -> Vec<CommandLine> {
        let Some(end) = self.end else { return Vec::new() };
        let mut buffer = [0; 16 << 10];
        match read(end, &mut buffer) {
            Ok(0) => self.end = None,
            Ok(length) => self.rest.extend_from_slice(&buffer[..length]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.end = None,
        }
        self.lines()
    }

    fn lines(&mut self) -> Vec<CommandLine> {
        let mut lines = Vec::new();
        let mut from = 0;
        while from < self.rest.len() {
            let rest = &self.rest[from..];
            let (length, skipped) = match rest.iter().take(MOST_OF_LINE + 1).position(|byte| *byte == b'\n') {
                Some(at) => (at, 1),
                None if rest.len() >= MOST_OF_LINE => (MOST_OF_LINE, 0),
                None if self.end.is_none() => (rest.len(), 0),
                None => break,
            };
            let text = String::from_utf8_lossy(&rest[..length]).into_owned();
            lines.push(CommandLine { is_error: self.is_error, text });
            from += length + skipped;
        }
        self.rest.drain(..from);
        lines
    }
}

/// Reads until both outputs have ended, or nobody listens. The end of the command is told once what it had written by
/// then is; what it leaves behind may go on to write.
fn pass_on(captured: &Captured, tell: impl Fn(CommandTold) -> bool) {
    let stream = |end, is_error| Stream { end: Some(end), is_error, rest: Vec::new() };
    let mut streams = [stream(&captured.output, false), stream(&captured.errors, true)];
    let mut told_end = false;
    loop {
        // Asked before the outputs are read: what the command wrote is there when it has ended.
        let status = if told_end { Err(TryRecvError::Empty) } else { captured.ended.try_recv() };
        let mut lines = Vec::new();
        // Once more after the end, until nothing waits.
        while let Some(ready) = ready(&streams, if status.is_ok() { 0 } else { LOOK_NS }) {
            for (stream, _) in streams.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
                lines.extend(stream.take());
            }
            if status.is_err() || lines.len() > MOST_LINES {
                break;
            }
        }
        if !lines.is_empty() && !tell(CommandTold::Lines(lines)) {
            return;
        }
        match status {
            Ok(status) => {
                told_end = true;
                if !tell(CommandTold::Ended(words(status))) {
                    return;
                }
            }
            // It was never let go.
            Err(TryRecvError::Disconnected) if !told_end => return,
            Err(_) => {}
        }
        if told_end && streams.iter().all(|stream| stream.end.is_none()) {
            return;
        }
    }
}

/// Lines that are told at once: what two full pipes hold, and more.
const MOST_LINES: usize = 1 << 18;

/// Which streams can be read; `None` when none can within the time.
fn ready(streams: &[Stream<'_>; 2], wait_ns: i64) -> Option<[bool; 2]> {
    let wanted = PollFlags::IN | PollFlags::HUP;
    let mut places = Vec::new();
    let mut polled: Vec<PollFd<'_>> = Vec::new();
    for (place, stream) in streams.iter().enumerate() {
        if let Some(end) = stream.end {
            places.push(place);
            polled.push(PollFd::new(end, wanted));
        }
    }
    let wait = Timespec { tv_sec: 0, tv_nsec: wait_ns };
    if poll(&mut polled, Some(&wait)).ok()? == 0 {
        return None;
    }
    let mut ready = [false; 2];
    for (place, polled) in places.into_iter().zip(&polled) {
        ready[place] = !polled.revents().is_empty();
    }
    Some(ready)
}

/// How it ended.
fn words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    /// What is told of a command, until its end.
    fn told(line: &str) -> (Vec<(bool, String)>, String) {
        let (held, captured) = Held::start_captured(line).expect("forks");
        let (teller, heard) = sync_channel(16);
        std::thread::spawn(move || pass_on(&captured, |told| teller.send(told).is_ok()));
        let waiting = std::thread::spawn(move || held.release().expect("runs").wait().expect("ends"));
        let mut lines = Vec::new();
        loop {
            match heard.recv().expect("it ends") {
                CommandTold::Lines(more) => lines.extend(more.into_iter().map(|l| (l.is_error, l.text))),
                CommandTold::Ended(how) => {
                    waiting.join().expect("no panic");
                    return (lines, how);
                }
            }
        }
    }

    #[test]
    fn both_outputs_come_in_lines_with_the_exit_code_behind_them() {
        let (lines, how) = told("sh -c 'echo one; echo two >&2; printf three; exit 7'");
        assert_eq!(how, "exit code 7");
        let of = |error: bool| lines.iter().filter(|l| l.0 == error).map(|l| l.1.as_str()).collect::<Vec<_>>();
        assert_eq!((of(false), of(true)), (vec!["one", "three"], vec!["two"]));
        assert_eq!(told("sh -c 'kill -9 $$'").1, "ended by signal 9");
    }

    #[test]
    fn all_lines_come_and_long_ones_are_broken() {
        let (lines, _) = told("seq 20000");
        assert_eq!((lines.len(), lines[19_999].1.as_str()), (20_000, "20000"));
        let (lines, _) = told("head -c 10000 /dev/zero");
        assert_eq!(
            lines.iter().map(|l| l.1.len()).collect::<Vec<_>>(),
            [MOST_OF_LINE, MOST_OF_LINE, 10_000 - 2 * MOST_OF_LINE]
        );
    }
}
