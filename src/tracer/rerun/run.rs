//! The run: recorded entries in the order of their time become firings, and what the script says of them reports.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::datum::Datum;
use super::known::Source;
use super::machine::{Machine, Said};
use super::plan::{Driven, Plan, plan};
use super::rewrite::Rewritten;
use super::{Rerun, groups};
use crate::engine::names::time;
use crate::lang::source::Span;
use crate::lang::typed::{ActionKind, MapId, Program};
use crate::model::render::{Clock, MapOptions};
use crate::model::snapshot::MapSnapshot;
use crate::model::stats::LossCause;
use crate::model::value::Value;
use crate::store::{Entry, History, Payload, PayloadKind, TraceId, TraceInfo};
use crate::tracer::report::{Face, Report, TextKind};

/// Maps are shown so many times over the whole recording, and no more often than live ones.
const READINGS: u64 = 200;
const READ_NS: u64 = 100_000_000;
/// Firings of an interval at most: a recording may claim any length.
const MOST_ROUNDS: u64 = 1_000_000;
/// Entries between two looks at whether it is still wanted.
const LOOK_EVERY: u64 = 4096;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Ran {
    /// From `exit(code)`.
    pub code: i32,
    /// Firings that recorded events made.
    pub firings: u64,
    /// Nobody wanted the rest.
    pub stopped: bool,
}

impl Rerun {
    /// Runs the script on a history; `wanted` is asked now and then whether to go on.
    ///
    /// # Errors
    /// When the face can't take what is reported.
    pub fn run(&self, history: &dyn History, face: &mut dyn Face, wanted: &dyn Fn() -> bool) -> io::Result<Ran> {
        let groups = groups(&self.traces);
        let plan = plan(&self.program, &self.source, &groups).plan;
        let mut run = Run::new(self, &plan, face);
        run.over(history, wanted)
    }
}

/// The events of a firing so far, on one CPU.
#[derive(Default)]
struct Gathered {
    next: usize,
    events: Vec<Arc<[Value]>>,
}

struct Run<'a, 'f> {
    program: &'a Program,
    info: &'a TraceInfo,
    plan: &'a Plan<'a>,
    face: &'f mut dyn Face,
    machine: Machine<'a>,
    /// By group and CPU.
    gathered: HashMap<(usize, Option<u16>), Gathered>,
    ran: Ran,
    exited: bool,
    intervals: Vec<u64>,
    rounds: u64,
    read_every_ns: u64,
    next_reading_ns: u64,
    traces: HashSet<TraceId>,
}

impl<'a, 'f> Run<'a, 'f> {
    fn new(rerun: &'a Rerun, plan: &'a Plan<'a>, face: &'f mut dyn Face) -> Self {
        let mut machine = Machine::new(&rerun.program);
        machine.began_ns = rerun.info.began_ns;
        Self {
            program: &rerun.program,
            info: &rerun.info,
            plan,
            face,
            machine,
            gathered: HashMap::new(),
            ran: Ran::default(),
            exited: false,
            intervals: plan.intervals.iter().map(|(period, _)| rerun.info.began_ns.saturating_add(*period)).collect(),
            rounds: 0,
            read_every_ns: READ_NS,
            next_reading_ns: 0,
            traces: rerun.traces().collect(),
        }
    }

    fn over(&mut self, history: &dyn History, wanted: &dyn Fn() -> bool) -> io::Result<Ran> {
        let (first_ns, last_ns) = history.span().unwrap_or_default();
        self.read_every_ns = READ_NS.max(last_ns.saturating_sub(first_ns) / READINGS);
        let began_ns = self.info.began_ns.min(first_ns);
        self.next_reading_ns = began_ns.saturating_add(self.read_every_ns);
        for clause in &self.plan.begin {
            self.fire(clause, began_ns, None, &|_| Datum::None)?;
        }
        let mut outcome = Ok(());
        let mut seen = 0_u64;
        history.visit(history.entries(), &mut |_, entry| {
            seen += 1;
            if seen.is_multiple_of(LOOK_EVERY) && !wanted() {
                self.ran.stopped = true;
                return ControlFlow::Break(());
            }
            let head = entry.head();
            let matters = matches!(head.kind, PayloadKind::Event | PayloadKind::Lost);
            if !matters || !self.traces.contains(&head.trace) {
                return ControlFlow::Continue(());
            }
            let Some(entry) = entry.entry() else { return ControlFlow::Continue(()) };
            outcome = self.entry(&entry);
            if outcome.is_err() || self.exited { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        outcome?;
        if !self.exited && !self.ran.stopped {
            self.rounds_until(last_ns)?;
        }
        let end_ns = if self.exited { self.machine.at_ns } else { last_ns };
        self.exited = false;
        for clause in &self.plan.end {
            self.fire(clause, end_ns, None, &|_| Datum::None)?;
        }
        self.finish(end_ns)?;
        Ok(self.ran)
    }

    fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        self.rounds_until(entry.at_ns)?;
        if self.exited {
            return Ok(());
        }
        match &entry.payload {
            Payload::Event { action, values } => {
                let values: Arc<[Value]> = values.as_slice().into();
                let driven = &self.plan.driven;
                for (index, clause) in driven.iter().enumerate() {
                    if clause.group.trace() == entry.trace {
                        self.event(index, clause, *action, &values, entry)?;
                    }
                }
            }
            // What was lost then is missing here.
            Payload::Lost { cause, count, site, .. } => {
                self.face.comes_from(u32::MAX, entry.at_ns, None);
                let span = Span::default();
                self.face.report(&Report::Lost { cause: *cause, count: *count, site, span })?;
            }
            _ => {}
        }
        self.read_until(entry.at_ns)
    }

    /// Puts events together to a firing, and runs the clause when it is whole.
    fn event(
        &mut self,
        index: usize,
        clause: &'a Driven<'a>,
        action: u32,
        values: &Arc<[Value]>,
        entry: &Entry,
    ) -> io::Result<()> {
        let actions = &clause.group.actions;
        let Some(at) = actions.iter().position(|of| *of == action) else { return Ok(()) };
        let gathered = self.gathered.entry((index, entry.cpu)).or_default();
        // One that is out of turn belongs to another firing; of the one before something was lost.
        if gathered.next != at {
            *gathered = Gathered::default();
            if at != 0 {
                return Ok(());
            }
        }
        gathered.events.push(Arc::clone(values));
        gathered.next += 1;
        if gathered.next < actions.len() {
            return Ok(());
        }
        let events = std::mem::take(gathered).events;
        if let Some(only) = &clause.only {
            let probe = clause.group.value("probe").map(|source| recorded(source, &events, entry));
            let is_of = |name: &Arc<str>| matches!(&probe, Some(Value::Text(text, _)) if text == name);
            if !only.iter().any(is_of) {
                return Ok(());
            }
        }
        self.ran.firings += 1;
        self.fire(&clause.clause, entry.at_ns, entry.cpu, &|source| match recorded(source, &events, entry) {
            Value::None => Datum::None,
            value => Datum::Shown(value),
        })
    }

    /// Runs a clause for one firing.
    fn fire(
        &mut self,
        clause: &Rewritten,
        at_ns: u64,
        cpu: Option<u16>,
        value: &dyn Fn(&Source) -> Datum,
    ) -> io::Result<()> {
        let mut locals = vec![Datum::None; clause.locals];
        for (local, source, ty) in &clause.slots {
            if let (Some(slot), Datum::Shown(value)) = (locals.get_mut(local.0 as usize), value(source)) {
                *slot = Datum::of(&value, ty);
            }
        }
        self.machine.at_ns = at_ns;
        self.machine.wall_ns = self.info.wall_ns(at_ns).max(0) as u64;
        self.machine.cpu = cpu.map_or(0, u64::from);
        self.machine.fire(clause.predicate.as_ref(), &clause.body, locals);
        for said in std::mem::take(&mut self.machine.said) {
            self.say(&said, at_ns, cpu)?;
        }
        Ok(())
    }

    fn say(&mut self, said: &Said, at_ns: u64, cpu: Option<u16>) -> io::Result<()> {
        let index = said.action.0;
        let Some(action) = self.program.actions.get(index as usize) else { return Ok(()) };
        self.face.comes_from(index, at_ns, cpu);
        let shown = said.values.iter().zip(&action.values).map(|(value, ty)| value.shown(ty, self.program));
        let values: Vec<Value> = shown.collect();
        match &action.kind {
            ActionKind::Printf { format, sink } => self.face.report(&Report::Printf {
                action: index,
                format,
                values: &values,
                sink: *sink,
                span: action.span,
                expanded: &action.expanded,
            }),
            ActionKind::PrintValue => {
                self.face.report(&Report::Value { action: index, value: values.first().unwrap_or(&Value::None) })
            }
            ActionKind::PrintMap { top, div, .. } => {
                let options = self.options(*top, *div);
                said.map.as_ref().map_or(Ok(()), |snapshot| self.face.report(&Report::Map { snapshot, options }))
            }
            ActionKind::PrintMapEntry { .. } => {
                let options = self.options(0, 0);
                said.map.as_ref().map_or(Ok(()), |snapshot| self.face.report(&Report::Map { snapshot, options }))
            }
            ActionKind::Time(format) => {
                let text = time::format(format, self.info.wall_ns(at_ns));
                self.face.report(&Report::Text { kind: TextKind::Time, text: text.as_bytes() })
            }
            ActionKind::RuntimeError(message) => {
                self.face.report(&Report::RuntimeError { message, span: action.span, expanded: &action.expanded })
            }
            ActionKind::Exit => {
                if !self.exited {
                    self.ran.code = values.first().and_then(Value::as_number).unwrap_or(0) as i32;
                }
                self.exited = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    const fn options(&self, top: u64, div: u64) -> MapOptions {
        MapOptions { top, div, clock: Clock { utc_offset_s: self.info.utc_offset_s } }
    }

    /// Fires the intervals that were due by a time, in their order.
    fn rounds_until(&mut self, at_ns: u64) -> io::Result<()> {
        while !self.exited && self.rounds < MOST_ROUNDS {
            let next = self.intervals.iter().copied().enumerate().min_by_key(|(_, due)| *due);
            let Some((which, due)) = next.filter(|(_, due)| *due <= at_ns) else { return Ok(()) };
            self.read_until(due)?;
            self.rounds += 1;
            let (period, clause) = &self.plan.intervals[which];
            self.intervals[which] = due.saturating_add((*period).max(1));
            self.fire(clause, due, None, &|_| Datum::None)?;
        }
        Ok(())
    }

    fn snapshots(&self, at_ns: u64) -> Arc<[MapSnapshot]> {
        let maps = (0..).zip(&self.program.maps).zip(&self.machine.maps);
        let shown = maps.filter(|((index, _), _)| !self.plan.stale.contains(&MapId(*index)));
        shown.map(|((_, map), elements)| elements.snapshot(map, self.program, None, at_ns)).collect()
    }

    /// Shows the maps as they were at the moments that have passed by a time.
    fn read_until(&mut self, at_ns: u64) -> io::Result<()> {
        if self.next_reading_ns > at_ns || self.program.maps.is_empty() {
            return Ok(());
        }
        self.next_reading_ns = at_ns.saturating_add(self.read_every_ns);
        let maps = self.snapshots(at_ns);
        self.face.comes_from(u32::MAX, at_ns, None);
        self.face.report(&Report::Maps(&maps))
    }

    fn finish(&mut self, end_ns: u64) -> io::Result<()> {
        self.face.comes_from(u32::MAX, end_ns, None);
        let refused: Vec<(Arc<str>, u64)> = (self.program.maps.iter().zip(&self.machine.maps))
            .map(|(map, elements)| (Arc::clone(&map.name), elements.refused))
            .filter(|(_, refused)| *refused > 0)
            .collect();
        for (site, count) in &refused {
            self.face.report(&Report::Lost {
                cause: LossCause::MapFull,
                count: *count,
                site,
                span: Span::default(),
            })?;
        }
        if self.machine.zero_divisors > 0 {
            let (cause, count) = (LossCause::DivideByZero, self.machine.zero_divisors);
            self.face.report(&Report::Lost { cause, count, site: &"".into(), span: Span::default() })?;
        }
        if self.machine.broken_off > 0 {
            let message =
                format!("{} firings ran through a loop without an end and were broken off", self.machine.broken_off);
            self.face.report(&Report::Failed { message: &message, span: Span::default() })?;
        }
        let maps = self.snapshots(end_ns);
        if !maps.is_empty() {
            self.face.report(&Report::Maps(&maps))?;
        }
        let wanted = self.program.config.print_maps_on_exit;
        let printed: &[MapSnapshot] = if wanted { &maps } else { &[] };
        let options = self.options(0, 0);
        self.face.report(&Report::End { maps: printed, options })
    }
}

/// A recorded value of a firing.
fn recorded(source: &Source, events: &[Arc<[Value]>], entry: &Entry) -> Value {
    match source {
        Source::Column { event, column, part } => {
            let value = events.get(*event).and_then(|values| values.get(*column));
            match (value, part) {
                (Some(Value::Tuple(parts)), Some(part)) => parts.get(*part).cloned().unwrap_or(Value::None),
                (Some(value), None) => value.clone(),
                _ => Value::None,
            }
        }
        Source::Time => Value::Uint(entry.at_ns, 8),
        Source::Cpu => Value::Uint(entry.cpu.map_or(0, u64::from), 4),
        Source::Fixed(value) => value.clone(),
    }
}
