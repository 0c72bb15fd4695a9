//! What drives running traces: one thread that takes what they deliver, looks at them from time to time, ends them,
//! and alone tells of their lifecycle. Headless runs, the workbench and tests differ in their [`Policy`] only.
//!
//! The life of a trace as it is told: [`Policy::started`], then whatever it reports, then [`Policy::ended`], each once
//! and in this order, because one thread does all three.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::time::{Duration, Instant};

use super::update::Ending;
use crate::engine::drain::{self, Handed};
use crate::tracer::report::{Face, Report};
use crate::tracer::{Control, Delivered, Delivery, Outlet, Running, Sample, Started, TraceId, TracerError};

mod clock;
mod leaving;

use clock::Clock;
use leaving::Leaving;

/// How often it is looked at whether traces are over by themselves, and at their counters.
const LOOK: Duration = Duration::from_millis(250);
/// How long to wait for reports that are on their way.
const PATIENCE: Duration = Duration::from_millis(1);
/// Stopped traces that are remembered until they are heard of: one waits for the compiler for each script at most.
const MOST_UNWANTED: usize = 64;
/// What is detached within this time is not spoken of.
const MOMENT: Duration = Duration::from_millis(50);
/// Deliveries that may wait for the driver; what finds no room waits in the drain (see `engine::drain`).
pub(super) const WAITING: usize = 32;

/// What reaches a driver.
#[derive(Debug)]
pub(super) enum Mail<M> {
    /// From a tracer's threads.
    Delivery(TraceId, Delivery),
    /// End a trace as `exit()` does.
    Stop(TraceId),
    /// Stop (or go on) reading a trace's maps.
    Pause(TraceId, bool),
    /// Something for a tracer to do.
    Control(TraceId, Control),
    /// For whoever runs the driver.
    Own(M),
}

/// How one kind of run differs from the others.
pub(super) trait Policy {
    /// Whether maps are read while traces run.
    fn reads_maps(&self) -> bool;

    /// Where a trace's reports go.
    fn face(&mut self, trace: TraceId) -> &mut dyn Face;

    /// A trace runs.
    fn started(&mut self, trace: TraceId, started: &Started) -> Result<(), TracerError>;

    /// A trace has ended; nothing of it is reported after this.
    fn ended(&mut self, trace: TraceId, ending: Ending) -> Result<(), TracerError>;

    /// Something failed while a trace ran; an error ends the driver.
    fn failed(&mut self, trace: TraceId, error: TracerError) -> Result<(), TracerError>;

    /// All has ended, and the kernel goes on detaching so many attach points by itself.
    fn detaching(&mut self, _points: u32) -> Result<(), TracerError> {
        Ok(())
    }

    /// True once all must end without waiting for anything.
    fn is_hurried(&self) -> bool {
        false
    }

    /// Everything that has come was taken.
    fn caught_up(&mut self) -> Result<(), TracerError> {
        Ok(())
    }

    /// Called at each turn.
    fn tick(&mut self) -> Result<(), TracerError> {
        Ok(())
    }

    /// How long to wait for mail before looking at clocks.
    fn patience(&self, _running: bool) -> Duration {
        LOOK
    }
}

/// A running trace.
struct Slot<T> {
    tracer: T,
    /// It was stopped: what is on its way is still taken.
    stopping: bool,
    paused: bool,
    clock: Clock,
}

pub(super) struct Driver<T, P, M> {
    pub(super) policy: P,
    inbox: Receiver<Mail<M>>,
    /// What came while something else was waited for.
    deferred: VecDeque<Mail<M>>,
    traces: BTreeMap<TraceId, Slot<T>>,
    /// Traces that are being started, with what they have delivered already (begin probes report before the attach
    /// ends), and whether they are to be stopped at once.
    starting: BTreeMap<TraceId, Early>,
    /// Traces that were to be stopped before they were heard of; the oldest are forgotten.
    unwanted: BTreeSet<TraceId>,
    /// Traces that want to end.
    ending: Vec<TraceId>,
    looked: Instant,
    detaching: Vec<Leaving>,
}

#[derive(Default)]
struct Early {
    deliveries: Vec<Delivery>,
    stop: bool,
}

/// An outlet that delivers to a driver.
pub(super) fn outlet<M: Send + 'static>(trace: TraceId, mail: SyncSender<Mail<M>>) -> Outlet {
    Outlet::new(move |delivery, wait| match delivery {
        Delivery::Records(batch) => {
            let wrap = |batch| Mail::Delivery(trace, Delivery::Records(batch));
            let handed = drain::send(&mail, batch, wait, wrap, |mail| match mail {
                Mail::Delivery(_, Delivery::Records(batch)) => Some(batch),
                _ => None,
            });
            match handed {
                Handed::Taken => Delivered::Taken,
                Handed::Back(batch) => Delivered::Back(Delivery::Records(batch)),
                Handed::Gone => Delivered::Gone,
            }
        }
        other => mail.send(Mail::Delivery(trace, other)).map_or(Delivered::Gone, |()| Delivered::Taken),
    })
}

impl<T: Running, P: Policy, M> Driver<T, P, M> {
    pub(super) fn new(policy: P, inbox: Receiver<Mail<M>>) -> Self {
        Self {
            policy,
            inbox,
            deferred: VecDeque::new(),
            traces: BTreeMap::new(),
            starting: BTreeMap::new(),
            unwanted: BTreeSet::new(),
            ending: Vec::new(),
            looked: Instant::now(),
            detaching: Vec::new(),
        }
    }

    /// Whether any trace runs.
    pub(super) fn is_running(&self) -> bool {
        !self.traces.is_empty()
    }

    /// A running trace's tracer.
    pub(super) fn tracer(&self, trace: TraceId) -> Option<&T> {
        self.traces.get(&trace).map(|slot| &slot.tracer)
    }

    /// A trace is being started elsewhere: what it delivers meanwhile is kept.
    pub(super) fn expect(&mut self, trace: TraceId) {
        let stop = self.unwanted.remove(&trace);
        self.starting.insert(trace, Early { deliveries: Vec::new(), stop });
    }

    /// A trace did not start.
    pub(super) fn forget(&mut self, trace: TraceId) {
        self.starting.remove(&trace);
    }

    /// A trace has started: tells so, then takes what it has delivered already.
    pub(super) fn begin(&mut self, trace: TraceId, tracer: T, started: &Started) -> Result<(), TracerError> {
        self.begin_in_place_of(None, trace, tracer, started)
    }

    /// As [`Driver::begin`], and another trace ends now, without its last words.
    pub(super) fn begin_in_place_of(
        &mut self,
        before: Option<TraceId>,
        trace: TraceId,
        mut tracer: T,
        started: &Started,
    ) -> Result<(), TracerError> {
        self.policy.started(trace, started)?;
        if let Some(before) = before {
            self.replace(before)?;
        }
        if let Err(error) = tracer.announced() {
            self.policy.failed(trace, error)?;
        }
        let over = tracer.is_over();
        let slot = Slot { tracer, stopping: false, paused: false, clock: Clock::default() };
        self.traces.insert(trace, slot);
        let early = self.starting.remove(&trace).unwrap_or_default();
        for delivery in early.deliveries {
            self.delivered(trace, delivery)?;
        }
        if over || early.stop {
            self.stop(trace)?;
        }
        self.end_those_that_want()
    }

    /// Waits for mail and acts on it, and on clocks. Gives what is for the caller.
    pub(super) fn turn(&mut self) -> Result<Option<M>, TracerError> {
        if self.policy.is_hurried() {
            self.stop_all()?;
        }
        self.look()?;
        let mut own = None;
        match self.next()? {
            Some(Mail::Delivery(trace, delivery)) => self.delivered(trace, delivery)?,
            Some(Mail::Stop(trace)) => self.asked_to_stop(trace)?,
            Some(Mail::Pause(trace, paused)) => {
                if let Some(slot) = self.traces.get_mut(&trace) {
                    slot.paused = paused;
                }
            }
            Some(Mail::Control(trace, control)) => self.control(trace, &control)?,
            Some(Mail::Own(mail)) => own = Some(mail),
            None => {}
        }
        self.end_those_that_want()?;
        Ok(own)
    }

    /// The next piece of mail, unless none comes for a while.
    fn next(&mut self) -> Result<Option<Mail<M>>, TracerError> {
        if let Some(mail) = self.deferred.pop_front() {
            return Ok(Some(mail));
        }
        match self.inbox.try_recv() {
            Ok(mail) => return Ok(Some(mail)),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
        }
        self.policy.caught_up()?;
        // A trace that is over already ends without waiting for anybody.
        match self.inbox.recv_timeout(self.policy.patience(self.is_running())) {
            Ok(mail) => Ok(Some(mail)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            // Nobody can deliver anything any more.
            Err(RecvTimeoutError::Disconnected) => {
                self.stop_all()?;
                Ok(None)
            }
        }
    }

    fn delivered(&mut self, trace: TraceId, delivery: Delivery) -> Result<(), TracerError> {
        let Some(slot) = self.traces.get_mut(&trace) else {
            // The last words of a trace that was replaced are dropped.
            if let Some(early) = self.starting.get_mut(&trace) {
                early.deliveries.push(delivery);
            }
            return Ok(());
        };
        match delivery {
            Delivery::Records(batch) => {
                if let Err(error) = slot.tracer.take(&batch, self.policy.face(trace)) {
                    self.policy.failed(trace, error)?;
                }
                if slot.tracer.wants_end() && !slot.stopping {
                    self.ending.push(trace);
                }
            }
            Delivery::Findings(findings) => {
                let face = self.policy.face(trace);
                if let Err(error) = findings.iter().try_for_each(|finding| face.report(&Report::Finding(finding))) {
                    self.policy.failed(trace, error.into())?;
                }
            }
            Delivery::Over => self.ending.push(trace),
            Delivery::Drained if slot.stopping => self.finish(trace)?,
            // Its thread has failed: nothing more comes, so it may as well end.
            Delivery::Drained => self.ending.push(trace),
        }
        Ok(())
    }

    fn control(&mut self, trace: TraceId, control: &Control) -> Result<(), TracerError> {
        let Some(slot) = self.traces.get_mut(&trace) else { return Ok(()) };
        if let Err(error) = slot.tracer.control(control) {
            self.policy.failed(trace, error)?;
        }
        // What was cleared is seen at once.
        if self.policy.reads_maps() && matches!(control, Control::Clear(_)) {
            self.sample(trace, Sample::Maps)?;
        }
        Ok(())
    }

    fn end_those_that_want(&mut self) -> Result<(), TracerError> {
        for trace in std::mem::take(&mut self.ending) {
            self.stop(trace)?;
        }
        Ok(())
    }

    fn stop_all(&mut self) -> Result<(), TracerError> {
        let all: Vec<TraceId> = self.traces.keys().copied().collect();
        all.into_iter().try_for_each(|trace| self.stop(trace))
    }

    /// Ends a trace, or sees to it that it ends when it has started.
    fn asked_to_stop(&mut self, trace: TraceId) -> Result<(), TracerError> {
        if let Some(early) = self.starting.get_mut(&trace) {
            early.stop = true;
        } else if !self.traces.contains_key(&trace) {
            self.unwanted.insert(trace);
            if self.unwanted.len() > MOST_UNWANTED {
                self.unwanted.pop_first();
            }
        }
        self.stop(trace)
    }

    /// Ends a trace: its end probes run now, the rest when everything that it reported has been taken.
    pub(super) fn stop(&mut self, trace: TraceId) -> Result<(), TracerError> {
        let Some(slot) = self.traces.get(&trace).filter(|slot| !slot.stopping) else { return Ok(()) };
        // What is printed of a map is read when the report arrives: end probes must not have changed it before.
        if slot.tracer.is_quiet() && !self.policy.is_hurried() {
            self.sample(trace, Sample::Counters)?;
            self.settle(trace)?;
        }
        let Some(slot) = self.traces.get_mut(&trace) else { return Ok(()) };
        slot.stopping = true;
        let stopped = slot.tracer.stop(self.policy.face(trace));
        let drains = slot.tracer.drains();
        if let Err(error) = stopped {
            self.policy.failed(trace, error)?;
        }
        if drains { Ok(()) } else { self.finish(trace) }
    }

    /// Takes everything that a trace has reported so far. Other mail waits meanwhile.
    pub(super) fn settle(&mut self, trace: TraceId) -> Result<(), TracerError> {
        let Some(request) = self.tracer(trace).and_then(Running::ask) else { return Ok(()) };
        // What was sent before the answer is in the inbox by then: so much, and not what others go on sending.
        let mut left = WAITING;
        while left > 0 {
            let Some(tracer) = self.tracer(trace) else { return Ok(()) };
            // Asked before looking.
            let all = tracer.answered(request);
            match self.inbox.recv_timeout(if all { Duration::ZERO } else { PATIENCE }) {
                Ok(Mail::Delivery(of, Delivery::Records(batch))) => {
                    self.delivered(of, Delivery::Records(batch))?;
                    left -= usize::from(all);
                }
                Ok(mail) => {
                    let ends = match &mail {
                        Mail::Stop(of) | Mail::Delivery(of, Delivery::Drained) => *of == trace,
                        _ => false,
                    };
                    self.deferred.push_back(mail);
                    if ends {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Timeout) if !all => {}
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Everything of a trace was taken.
    fn finish(&mut self, trace: TraceId) -> Result<(), TracerError> {
        if self.policy.reads_maps() {
            self.sample(trace, Sample::Maps)?;
        }
        let Some(mut slot) = self.traces.remove(&trace) else { return Ok(()) };
        let code = slot.tracer.finish(self.policy.face(trace)).or_else(|error| {
            self.policy.failed(trace, error)?;
            Ok::<i32, TracerError>(0)
        })?;
        self.policy.ended(trace, Ending::Done(code))?;
        self.detach(slot.tracer);
        Ok(())
    }

    /// Nothing new happens in any trace from here on; all that has happened is taken, and maps and counters are read. They
    /// leave next, without last words.
    pub(super) fn halt(&mut self) -> Result<(), TracerError> {
        let running: Vec<TraceId> =
            self.traces.iter().filter(|(_, slot)| !slot.stopping).map(|(trace, _)| *trace).collect();
        running.into_iter().try_for_each(|trace| self.halt_one(trace))
    }

    fn halt_one(&mut self, trace: TraceId) -> Result<(), TracerError> {
        let Some(slot) = self.traces.get_mut(&trace) else { return Ok(()) };
        slot.tracer.halt();
        slot.stopping = true;
        self.settle(trace)?;
        self.sample(trace, Sample::Counters)?;
        if self.policy.reads_maps() { self.sample(trace, Sample::Maps) } else { Ok(()) }
    }

    /// Another trace has taken this one's place. What is known of this one is of all that happened until now.
    fn replace(&mut self, trace: TraceId) -> Result<(), TracerError> {
        self.halt_one(trace)?;
        let Some(slot) = self.traces.remove(&trace) else { return Ok(()) };
        self.policy.ended(trace, Ending::Replaced)?;
        self.detach(slot.tracer);
        Ok(())
    }

    /// Lets go of a tracer in a thread: detaching may take a while.
    fn detach(&mut self, tracer: T) {
        let left = Box::new(tracer).leave();
        self.detaching.retain(|leaving| !leaving.is_over());
        // Where no thread can be started what is left is dropped: it is detached all the same.
        self.detaching.extend(Leaving::begin(left));
    }

    /// Looks at clocks.
    fn look(&mut self) -> Result<(), TracerError> {
        self.policy.tick()?;
        let now = Instant::now();
        if self.policy.reads_maps() {
            let due = |slot: &Slot<T>| !slot.paused && !slot.stopping && slot.clock.is_due(now);
            let due: Vec<TraceId> = self.traces.iter().filter(|(_, slot)| due(slot)).map(|(id, _)| *id).collect();
            for trace in due {
                self.sample(trace, Sample::Maps)?;
            }
        }
        if now.duration_since(self.looked) < LOOK {
            return Ok(());
        }
        self.looked = now;
        for trace in self.traces.keys().copied().collect::<Vec<_>>() {
            self.sample(trace, Sample::Counters)?;
            if self.tracer(trace).is_some_and(Running::is_over) {
                self.stop(trace)?;
            }
        }
        Ok(())
    }

    fn sample(&mut self, trace: TraceId, what: Sample) -> Result<(), TracerError> {
        let Some(slot) = self.traces.get_mut(&trace) else { return Ok(()) };
        let began = Instant::now();
        let result = slot.tracer.sample(what, self.policy.face(trace));
        if what == Sample::Maps {
            slot.clock.read(began, Instant::now());
        }
        result.or_else(|error| self.policy.failed(trace, error))
    }

    /// Ends everything without last words and waits until this process holds nothing of it. The kernel may go on detaching:
    /// that is told where it takes more than a moment. Mail that is still on its way is thrown away, so that nobody who sends
    /// it blocks.
    pub(super) fn leave(mut self) -> Result<(), TracerError> {
        for (_, slot) in std::mem::take(&mut self.traces) {
            self.detach(slot.tracer);
        }
        let leaving = std::mem::take(&mut self.detaching);
        let until = Instant::now() + MOMENT;
        while leaving.iter().any(|one| one.is_held() || (!one.is_over() && Instant::now() < until)) {
            let _ = self.inbox.recv_timeout(Duration::from_millis(5));
        }
        match leaving.iter().map(Leaving::points).sum() {
            0 => Ok(()),
            points => self.policy.detaching(points),
        }
    }
}
