//! The session thread: owns the running trace, reports, samples maps and counters.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::SessionOptions;
use crate::engine::Trace;
use crate::engine::decode::Decoder;
use crate::engine::drain::Batch;
use crate::engine::trace::Detaching;
use crate::session::child::{Held, Running};
use crate::session::compilation::Compiled;
use crate::session::lines::Lines;
use crate::session::report::Face as _;
use crate::session::reporter::Reporter;
use crate::session::update::{Generation, Update};
use crate::session::{names, origin};

/// How often lines are passed on while they come slowly.
const LINES_EVERY: Duration = Duration::from_millis(33);
/// How often maps are read and sent.
const MAPS_EVERY: Duration = Duration::from_millis(200);
/// How many times as long as reading the maps took the next reading waits at least: what is left of
/// this thread's time is the records'.
const MAPS_REST: u32 = 3;
/// How often counters are read and sent.
const STATS_EVERY: Duration = Duration::from_millis(250);

/// A trace that has just been attached.
pub(super) struct Started {
    pub(super) trace: Trace,
    pub(super) compiled: Compiled,
    pub(super) generation: Generation,
    /// Number of the trace, which its batches carry.
    pub(super) number: u64,
    pub(super) child: Option<Held>,
    /// When it began to attach, ns of `CLOCK_MONOTONIC`.
    pub(super) began_ns: u64,
}

/// What reaches the session thread.
pub(super) enum Mail {
    /// A new trace runs.
    Started(Box<Started>),
    /// A trace that was numbered never came to run.
    Forget(u64),
    /// Records of a trace.
    Batch(u64, Batch),
    /// There will be no more records of a trace.
    Drained(u64),
    /// End the trace.
    Stop,
    /// Stop or go on sending maps.
    Pause(bool),
    /// Clear a map.
    Clear(Arc<str>),
    /// A signal for `self:signal` probes.
    Signal(i32),
    /// End the session.
    Quit,
}

pub(super) fn run(options: &SessionOptions, inbox: &Receiver<Mail>, updates: &SyncSender<Update>) {
    let mut session = SessionThread {
        options,
        updates,
        active: None,
        early: HashMap::new(),
        detaching: Vec::new(),
        paused: false,
        quit: false,
    };
    while !session.quit {
        match inbox.recv_timeout(session.patience()) {
            Ok(mail) => session.handle_all(mail, inbox),
            Err(RecvTimeoutError::Timeout) => session.idle(),
            Err(RecvTimeoutError::Disconnected) => break,
        }
        session.tick();
    }
    session.leave(inbox);
}

/// When maps are read again after a reading: large maps, and stacks whose symbols are new, may take
/// longer to read than the time between two readings.
fn next_reading(began: Instant, ended: Instant) -> Instant {
    (began + MAPS_EVERY).max(ended + ended.duration_since(began) * MAPS_REST)
}

/// The running trace and what belongs to it.
struct Active {
    trace: Trace,
    generation: Generation,
    number: u64,
    reporter: Reporter,
    lines: Lines,
    lines_sent: Instant,
    /// When maps are read again; `None` for at once.
    maps_next: Option<Instant>,
    stats_sent: Option<Instant>,
    /// Set when it is ending: what still has to be detached.
    ending: Option<Detaching>,
    child: Option<JoinHandle<()>>,
    traced: Option<PathBuf>,
    has_ring: bool,
}

struct SessionThread<'a> {
    options: &'a SessionOptions,
    updates: &'a SyncSender<Update>,
    active: Option<Active>,
    /// Batches of traces whose start was not told yet (begin probes print before the attach ends).
    early: HashMap<u64, Vec<Batch>>,
    detaching: Vec<JoinHandle<()>>,
    paused: bool,
    quit: bool,
}

impl SessionThread<'_> {
    /// How long to wait for mail before looking at clocks.
    fn patience(&self) -> Duration {
        if self.active.is_some() { LINES_EVERY } else { Duration::from_secs(1) }
    }

    /// Handles a piece of mail and what else has come, for a while: records may come faster than the
    /// work between two looks at the inbox, and must not queue behind it.
    fn handle_all(&mut self, first: Mail, inbox: &Receiver<Mail>) {
        let until = Instant::now() + LINES_EVERY;
        self.handle(first);
        while !self.quit && Instant::now() < until {
            let Ok(mail) = inbox.try_recv() else { return };
            self.handle(mail);
        }
    }

    fn handle(&mut self, mail: Mail) {
        match mail {
            Mail::Started(started) => self.replace(*started),
            Mail::Forget(number) => {
                self.early.remove(&number);
            }
            Mail::Batch(number, batch) => self.batch(number, batch),
            Mail::Drained(number) => {
                self.early.remove(&number);
                if self.active.as_ref().is_some_and(|a| a.number == number && a.ending.is_some()) {
                    self.ended();
                }
            }
            Mail::Stop => self.finish(),
            Mail::Pause(paused) => self.paused = paused,
            Mail::Clear(name) => self.clear(&name),
            Mail::Signal(number) => {
                let result = self.active.as_ref().map(|a| a.trace.signal(number));
                if let Some(Err(error)) = result {
                    self.notice(error.to_string());
                }
            }
            Mail::Quit => self.quit = true,
        }
    }

    fn replace(&mut self, started: Started) {
        let Started { trace, compiled, generation, number, child, began_ns } = started;
        if let Some(old) = self.active.take() {
            self.detach_in_background(old.trace, old.ending);
        }
        let names = names::of_kernel(&self.options.kernel, &compiled.program);
        let origin = origin::of(&compiled.program, &names.clocks(), began_ns);
        let reporter = Reporter::new(Decoder::new(Arc::clone(&compiled.program), names));
        let child = child.and_then(|held| self.release(held));
        self.active = Some(Active {
            trace,
            generation,
            number,
            reporter,
            lines: Lines::new(origin),
            lines_sent: Instant::now(),
            maps_next: None,
            stats_sent: None,
            ending: None,
            child,
            traced: self.options.traced_process(),
            has_ring: compiled.artifact.ring.is_some(),
        });
        for batch in self.early.remove(&number).unwrap_or_default() {
            self.batch(number, batch);
        }
        self.early.retain(|n, _| *n > number);
    }

    /// Lets the child go and waits for its end in a thread that nobody has to join.
    fn release(&self, held: Held) -> Option<JoinHandle<()>> {
        let running: Result<Running, _> = held.release();
        match running {
            Ok(mut running) => std::thread::Builder::new()
                .name("child".to_owned())
                .spawn(move || {
                    let _ = running.wait();
                })
                .ok(),
            Err(error) => {
                self.notice(error.to_string());
                None
            }
        }
    }

    fn batch(&mut self, number: u64, batch: Batch) {
        let Some(active) = self.active.as_mut().filter(|a| a.number == number) else {
            // A trace that was replaced has a smaller number; its last words are dropped.
            if self.active.as_ref().is_none_or(|a| number > a.number) {
                self.early.entry(number).or_default().push(batch);
            }
            return;
        };
        let result = active.reporter.batch(&batch, &active.trace, &mut active.lines);
        let exit = active.reporter.exit_code().is_some() && active.ending.is_none();
        if active.lines.is_full() {
            self.send_lines();
        }
        if let Err(error) = result {
            self.notice(error.to_string());
        }
        if exit {
            self.finish();
        }
    }

    /// Ends the running trace: end probes run now, the rest when the drain has ended.
    fn finish(&mut self) {
        let Some(active) = self.active.as_mut().filter(|a| a.ending.is_none()) else { return };
        let result = active.trace.finish();
        let has_ring = active.has_ring;
        match result {
            Ok(detaching) => active.ending = Some(detaching),
            Err(error) => {
                active.ending = Some(Detaching::default());
                self.notice(error.to_string());
            }
        }
        if !has_ring {
            self.ended();
        }
    }

    /// Everything of the ending trace has arrived: its last maps and counters.
    fn ended(&mut self) {
        if let Some(active) = &mut self.active {
            let _ = active.lines.flush();
        }
        self.send_lines();
        self.send_maps();
        self.send_stats();
        let Some(active) = self.active.take() else { return };
        let code = active.reporter.exit_code().unwrap_or(0);
        let _ = self.updates.send(Update::Ended { generation: active.generation, code });
        self.detach_in_background(active.trace, active.ending);
    }

    fn detach_in_background(&mut self, trace: Trace, ending: Option<Detaching>) {
        self.detaching.retain(|t| !t.is_finished());
        let thread = std::thread::Builder::new().name("detach".to_owned()).spawn(move || drop((ending, trace)));
        match thread {
            Ok(thread) => self.detaching.push(thread),
            // The closure was dropped, and with it the trace: it is detached already.
            Err(error) => self.notice(format!("cannot start a thread: {error}")),
        }
    }

    fn clear(&mut self, name: &str) {
        let Some(active) = &self.active else { return };
        let maps = &active.trace.program().maps;
        let Some(index) = maps.iter().position(|m| &*m.name == name) else { return };
        if let Err(error) = active.trace.clear_map(crate::lang::typed::MapId(index as u32)) {
            self.notice(error.to_string());
        }
        self.send_maps();
    }

    /// Nothing came for a while: what has no line break yet becomes a line.
    fn idle(&mut self) {
        let Some(active) = &mut self.active else { return };
        let _ = active.lines.flush();
        let over = active.trace.exiting()
            || active.traced.as_ref().is_some_and(|folder| !folder.exists())
            || active.child.as_ref().is_some_and(JoinHandle::is_finished);
        if over {
            self.finish();
        }
    }

    fn tick(&mut self) {
        let Some(active) = &self.active else { return };
        let due = |last: Option<Instant>, every| last.is_none_or(|t| t.elapsed() >= every);
        let lines = active.lines_sent.elapsed() >= LINES_EVERY;
        let maps = !self.paused && active.maps_next.is_none_or(|next| Instant::now() >= next);
        let stats = due(active.stats_sent, STATS_EVERY);
        if lines {
            self.send_lines();
        }
        if maps {
            self.send_maps();
        }
        if stats {
            self.send_stats();
        }
    }

    fn send_lines(&mut self) {
        let Some(active) = &mut self.active else { return };
        active.lines_sent = Instant::now();
        if let Some(chunk) = active.lines.take() {
            self.send(Update::Lines(Arc::new(chunk)));
        }
    }

    fn send_maps(&mut self) {
        let Some(active) = &mut self.active else { return };
        if active.trace.program().maps.is_empty() {
            active.maps_next = Some(Instant::now() + MAPS_EVERY);
            return;
        }
        let began = Instant::now();
        let read = active.trace.read_maps(active.reporter.decoder());
        active.maps_next = Some(next_reading(began, Instant::now()));
        match read {
            Ok(maps) => self.send(Update::Maps(maps.into())),
            Err(error) => self.notice(error.to_string()),
        }
    }

    fn send_stats(&mut self) {
        let Some(active) = &mut self.active else { return };
        active.stats_sent = Some(Instant::now());
        let stats = active.trace.stats();
        self.send(Update::Stats(Arc::new(stats)));
    }

    /// Sends and waits while the face is behind; a face that is gone ends the session.
    fn send(&mut self, update: Update) {
        if self.updates.send(update).is_err() {
            self.quit = true;
        }
    }

    fn notice(&self, text: String) {
        let _ = self.updates.send(Update::Notice(text));
    }

    /// Detaches and waits for it. Mail that is still on its way is thrown away, so that drains and
    /// the compiler do not block.
    fn leave(mut self, inbox: &Receiver<Mail>) {
        if let Some(active) = self.active.take() {
            self.detach_in_background(active.trace, active.ending);
        }
        let threads = std::mem::take(&mut self.detaching);
        while threads.iter().any(|t| !t.is_finished()) {
            let _ = inbox.recv_timeout(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_that_take_long_are_read_less_often() {
        let began = Instant::now();
        let took = |ms| next_reading(began, began + Duration::from_millis(ms)) - began;
        assert_eq!(took(1), Duration::from_millis(200));
        assert_eq!(took(1000), Duration::from_secs(4));
    }
}
