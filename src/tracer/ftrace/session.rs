//! Events of an instance: set up, on, read in order, off, and the books at the end.

use std::path::Path;
use std::sync::Arc;

use super::define::Definition;
use super::instance::{Instance, event_file};
use super::ring::{Item, Rings};
use super::{Comms, FtraceError, Names, Shapes, full_name};
use crate::kernel::Kernel;
use crate::kernel::record::RecordShape;
use crate::kernel::ring::{Abi, PageLayout};
use crate::kernel::tracefs::EventName;

/// A CPU's ring where nothing else is asked for, KiB.
pub const USUAL_KB: u64 = 8 << 10;

/// An event that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Which.
    pub name: EventName,
    /// The kernel's filter; empty for none.
    pub filter: Arc<str>,
    /// Triggers that are added to it.
    pub triggers: Vec<Arc<str>>,
    /// Whether it is turned on: events may be there for their triggers only.
    pub on: bool,
}

/// What is traced.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Events.
    pub events: Vec<Wanted>,
    /// Events that are defined for this trace, with a filter of the kernel each, or none.
    pub definitions: Vec<(Definition, Arc<str>)>,
    /// Only these processes and what they start; all where empty.
    pub pids: Vec<u32>,
    /// With the kernel's stack at each event.
    pub kernel_stacks: bool,
    /// With the program's stack, by frame pointers.
    pub user_stacks: bool,
    /// A CPU's ring, KiB; 0 for [`USUAL_KB`].
    pub ring_kb: u64,
}

impl Options {
    /// The events, and those that are defined.
    pub fn wanted(&self) -> impl Iterator<Item = Wanted> {
        let defined = self.definitions.iter().map(|(definition, filter)| Wanted {
            name: definition.name.clone(),
            filter: Arc::clone(filter),
            triggers: Vec::new(),
            on: true,
        });
        self.events.iter().cloned().chain(defined)
    }
}

/// A record, understood.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// When: ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Where.
    pub cpu: u16,
    /// The thread that it happened in.
    pub pid: i32,
    /// Its name.
    pub comm: &'a Arc<str>,
    /// What it is.
    pub shape: &'a Arc<RecordShape>,
    /// Its bytes.
    pub record: &'a [u8],
    /// Of which order and size numbers are.
    pub abi: Abi,
    /// Names of functions.
    pub names: &'a Names,
}

/// Events that the kernel lost on a CPU before they were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Where.
    pub cpu: u16,
    /// How many; `None` where the kernel tells at the end only.
    pub count: Option<u64>,
    /// When this was known, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
}

/// What a session tells.
#[derive(Clone, Copy, Debug)]
pub enum Told<'a> {
    /// An event.
    Event(Event<'a>),
    /// A loss.
    Lost(Loss),
}

/// What became of all events of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Books {
    /// The CPU.
    pub cpu: u16,
    /// Records that were given on.
    pub delivered: u64,
    /// Records that were overwritten before they were read.
    pub overwritten: u64,
    /// Records that found no room.
    pub dropped: u64,
    /// Records whose format nobody knows, and pages that make no sense.
    pub unknown: u64,
    /// What the kernel says was read of its ring; 0 where it does not say.
    pub kernel_read: u64,
}

impl Books {
    /// Records that were lost.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.overwritten + self.dropped
    }
}

/// Events that are on.
#[derive(Debug)]
pub struct Session {
    // Open files keep the instance busy: they are closed before it goes.
    rings: Rings,
    instance: Option<Instance>,
    shapes: Shapes,
    names: Names,
    comms: Comms,
    books: Vec<Books>,
    /// Told by pages while it ran.
    told_lost: u64,
}

impl Session {
    /// Sets up an instance and turns the events on. Filters and triggers are asked of the kernel before anything is on.
    ///
    /// # Errors
    /// When something of it is refused; nothing stays then.
    pub fn start(kernel: &Arc<Kernel>, options: &Options) -> Result<Self, FtraceError> {
        let mut instance = Self::place(kernel, options)?;
        let events: Vec<Wanted> = options.wanted().collect();
        for wanted in &events {
            let folder = instance.folder().join(event_file(&wanted.name, ""));
            if !folder.is_dir() {
                return Err(FtraceError::Options(format!(
                    "there is no event {} in the instance",
                    full_name(&wanted.name)
                )));
            }
            if !wanted.filter.is_empty() {
                let what = format!("the filter of {}", full_name(&wanted.name));
                instance.filter(&wanted.name, &wanted.filter, what)?;
            }
        }
        for wanted in &events {
            wanted.triggers.iter().try_for_each(|trigger| instance.add_trigger(&wanted.name, trigger))?;
        }
        let cpus = kernel.possible_cpus().len().into();
        instance.prepare(if options.ring_kb == 0 { USUAL_KB } else { options.ring_kb }, cpus)?;
        if options.kernel_stacks {
            instance.set("options/stacktrace", "1")?;
        }
        if options.user_stacks {
            instance.set("options/userstacktrace", "1")?;
        }
        if !options.pids.is_empty() {
            instance.only(&options.pids, false)?;
        }
        let mut shapes = Shapes::running(kernel);
        for wanted in &events {
            shapes.add(&wanted.name);
            // Markers are written whether or not anything is on.
            if wanted.on && &*wanted.name.0 != "ftrace" {
                instance.set(event_file(&wanted.name, "enable"), "1")?;
            }
        }
        if instance.is_own() && options.events.iter().any(|wanted| is_marker(&wanted.name)) {
            instance.set(COPY_MARKERS, "1")?;
        }
        Self::over(kernel, instance, shapes)
    }

    /// An instance; the top one where markers are wanted and this kernel writes them there only.
    fn place(kernel: &Arc<Kernel>, options: &Options) -> Result<Instance, FtraceError> {
        let definitions: Vec<Definition> =
            options.definitions.iter().map(|(definition, _)| definition.clone()).collect();
        let instance = Instance::make(kernel, &definitions)?;
        let markers = options.events.iter().any(|wanted| is_marker(&wanted.name));
        if !markers || instance.has(COPY_MARKERS) {
            return Ok(instance);
        }
        drop(instance);
        Instance::top(kernel, &definitions)
    }

    /// Reads an instance that was set up, and turns it on.
    ///
    /// # Errors
    /// When its rings can't be opened.
    pub fn over(kernel: &Arc<Kernel>, mut instance: Instance, shapes: Shapes) -> Result<Self, FtraceError> {
        let rings = Rings::open(instance.folder(), layout(instance.tracefs()))?;
        let books = rings.cpus().map(|cpu| Books { cpu, ..Books::default() }).collect();
        let (names, comms) = (Names::running(kernel), Comms::running(instance.tracefs()));
        instance.set("tracing_on", "1")?;
        Ok(Self { instance: Some(instance), rings, shapes, names, comms, books, told_lost: 0 })
    }

    /// What pages of others hold.
    #[must_use]
    pub fn recorded(rings: Rings, shapes: Shapes, names: Names, comms: Comms) -> Self {
        let books = rings.cpus().map(|cpu| Books { cpu, ..Books::default() }).collect();
        Self { instance: None, rings, shapes, names, comms, books, told_lost: 0 }
    }

    /// Threads of ours that were started since are left out of it, too.
    ///
    /// # Errors
    /// When the kernel does not take them.
    pub fn leave_out_own_threads(&mut self) -> Result<(), FtraceError> {
        self.instance.as_mut().map_or(Ok(()), Instance::leave_out_own_threads)
    }

    /// Its instance's folder.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.instance.as_ref().map(Instance::folder)
    }

    /// Takes what has come. Gives how many events were told, and whether there may be more at once.
    ///
    /// # Errors
    /// When the rings can't be read, or whoever is told can't go on.
    pub fn poll<E: From<FtraceError>>(
        &mut self,
        tell: &mut dyn FnMut(Told<'_>) -> Result<(), E>,
    ) -> Result<(u64, bool), E> {
        let more = self.rings.fill()?;
        Ok((self.give(tell)?, more))
    }

    fn give<E>(&mut self, tell: &mut dyn FnMut(Told<'_>) -> Result<(), E>) -> Result<u64, E> {
        let Self { rings, shapes, names, comms, books, told_lost, .. } = self;
        let abi = shapes.abi();
        rings.give(&mut |item| {
            let (Item::Record(cpu, _) | Item::Lost { cpu, .. } | Item::Bad(cpu, _)) = item;
            let Some(book) = books.iter_mut().find(|book| book.cpu == cpu) else { return Ok(()) };
            match item {
                Item::Record(cpu, record) => {
                    let Some(shape) = shapes.of(record.data) else {
                        book.unknown += 1;
                        return Ok(());
                    };
                    book.delivered += 1;
                    learn(shape, abi, record.data, record.at, comms);
                    let pid = shape.pid(abi, record.data).unwrap_or(-1);
                    let comm = &comms.name(pid, record.at);
                    tell(Told::Event(Event {
                        at_ns: record.at,
                        cpu,
                        pid,
                        comm,
                        shape,
                        record: record.data,
                        abi,
                        names,
                    }))
                }
                Item::Lost { cpu, count, at } => {
                    *told_lost += count.unwrap_or(0);
                    tell(Told::Lost(Loss { cpu, count, at_ns: at }))
                }
                Item::Bad(..) => {
                    book.unknown += 1;
                    Ok(())
                }
            }
        })
    }

    /// Turns it off, tells the rest, and closes the books. The instance goes.
    ///
    /// # Errors
    /// As [`Session::poll`]. The instance goes all the same.
    pub fn finish<E: From<FtraceError>>(
        mut self,
        tell: &mut dyn FnMut(Told<'_>) -> Result<(), E>,
    ) -> Result<(Vec<Books>, Vec<String>), E> {
        if let Some(instance) = &mut self.instance {
            instance.turn_off()?;
        }
        while self.rings.fill()? {
            self.give(tell)?;
        }
        self.rings.end();
        self.give(tell)?;
        let Self { instance, rings, mut books, .. } = self;
        // Open files keep the instance busy.
        drop(rings);
        let Some(instance) = instance else { return Ok((books, Vec::new())) };
        books.iter_mut().for_each(|book| stats(instance.folder(), book));
        Ok((books, instance.end()))
    }

    /// Losses that pages have told of so far.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.told_lost
    }
}

/// How pages are laid out here.
#[must_use]
pub fn layout(tracefs: &Path) -> PageLayout {
    let text = std::fs::read_to_string(tracefs.join("events/header_page")).unwrap_or_default();
    PageLayout::parse(Abi::NATIVE, &text).unwrap_or(PageLayout::usual(Abi::NATIVE))
}

/// What programs write to `trace_marker`.
fn is_marker(name: &EventName) -> bool {
    &*name.0 == "ftrace" && matches!(&*name.1, "print" | "raw_data" | "bprint" | "bputs")
}

/// What is written to `trace_marker` goes to the top instance, and to those that ask for a copy (Linux 6.16).
const COPY_MARKERS: &str = "options/copy_trace_marker";

/// Names that an event tells.
fn learn(shape: &RecordShape, abi: Abi, record: &[u8], at: u64, comms: &mut Comms) {
    let pairs: &[(&str, &str)] = match (&*shape.system, &*shape.name) {
        ("sched", "sched_switch") => &[("prev_pid", "prev_comm"), ("next_pid", "next_comm")],
        ("sched", "sched_process_exit" | "sched_process_free" | "sched_wakeup_new") => &[("pid", "comm")],
        ("sched", "sched_process_fork") => &[("child_pid", "child_comm")],
        ("task", "task_rename") => &[("pid", "newcomm")],
        _ => return,
    };
    for (pid, name) in pairs {
        let pid = shape.number(pid, abi, record);
        if let (Some(pid), Some(crate::kernel::record::Raw::Text(name))) =
            (pid.filter(|pid| *pid != 0), shape.field(name).map(|field| field.read(abi, record)))
        {
            comms.learn(pid as i32, name, at);
        }
    }
}

/// The kernel's own count.
fn stats(folder: &Path, book: &mut Books) {
    let path = folder.join(format!("per_cpu/cpu{}/stats", book.cpu));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let of = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.and_then(|value| value.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    book.overwritten = of("overrun");
    book.dropped = of("dropped events") + of("commit overrun");
    book.kernel_read = of("read events");
}
