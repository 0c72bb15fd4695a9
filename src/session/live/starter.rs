//! The starter's thread: text to attached trace. What comes of it goes to the session's thread, which tells the face.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use super::desk::{Desk, Order};
use super::{Mail, SessionOptions, command};
use crate::engine::TraceOptions;
use crate::engine::attach::Place;
use crate::kernel::process::{Left, left};
use crate::lang::codes::check::NOT_OF_PROCESS;
use crate::lang::codes::run::ASKS_FIRST;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::{SourceText, Span};
use crate::lang::typed::Program;
use crate::model::target::Target;
use crate::model::words;
use crate::session::count;
use crate::session::driver::outlet;
use crate::session::update::{CommandTold, Revision, ScriptId};
use crate::tracer::script::child::Held;
use crate::tracer::script::compilation::{CompileFigures, Compiled, Given};
use crate::tracer::script::names::Sources;
use crate::tracer::script::{ScriptRun, ScriptTracer, failure, info};
use crate::tracer::{Begun, Refusal, TraceId, Tracer, TracerError};

/// What the starter tells the session.
pub(super) enum News {
    /// A text was checked.
    Checked { script: ScriptId, revision: Revision, diagnostics: Vec<Diagnostic> },
    /// A script was compiled, or not; with figures it is now loaded and attached.
    Compiled { trace: TraceId, diagnostics: Vec<Diagnostic>, figures: Option<CompileFigures> },
    /// How often the probes of a script fire, before it is attached to them.
    Counted { trace: TraceId, text: String },
    /// A tracer is started now: it may deliver from here on.
    Starting(TraceId),
    /// A tracer runs.
    Started(Box<Newcomer>),
    /// A tracer could not be started.
    Failed { trace: TraceId, diagnostic: Diagnostic, raw_log: Arc<str> },
    /// What the command of a trace wrote, or how it ended.
    Command { trace: TraceId, told: CommandTold },
    /// The session ends.
    Quit,
}

/// A tracer that has started.
pub(super) struct Newcomer {
    pub(super) trace: TraceId,
    /// Whose trace it replaces.
    pub(super) script: Option<ScriptId>,
    pub(super) begun: Begun,
    /// From the order to the last attach, ns.
    pub(super) elapsed_ns: u64,
}

/// From so many functions on it is asked first.
const MANY: usize = 1000;

const fn is_function(target: &Target) -> bool {
    matches!(target, Target::Kprobe { .. } | Target::Fentry { .. })
}

/// Nobody listens: the session is gone.
struct Gone;

type Told = Result<(), Gone>;

pub(super) fn run(options: &SessionOptions, desk: &Desk, mail: &SyncSender<Mail<News>>) {
    let starter = Starter { asked: Cell::new(None), options, desk, mail };
    loop {
        let told = match desk.take() {
            Order::Quit => return,
            Order::Check { script, revision, source } => {
                let diagnostics =
                    survived(|| (options.compiler)(&source, None, desk.given(script).as_deref()).diagnostics)
                        .unwrap_or_else(|d| vec![d]);
                starter.tell(News::Checked { script, revision, diagnostics })
            }
            Order::Run { script, trace, source } => {
                starter.surviving(trace, || starter.submit(script, trace, &source, desk.given(script).as_deref()))
            }
            Order::Start { trace, tracer } => {
                starter.surviving(trace, || starter.start(Instant::now(), trace, None, tracer))
            }
        };
        if told.is_err() {
            return;
        }
    }
}

/// A script that makes the compiler panic is told of as any other that can't run; the next one is
/// compiled as usual.
fn survived<T>(work: impl FnOnce() -> T) -> Result<T, Diagnostic> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).map_err(|_| failure::fault())
}

/// A table in one line: its heading, then its rows.
fn in_one_line(lines: &[String]) -> String {
    let Some((heading, rows)) = lines.split_first() else { return String::new() };
    let rows: Vec<&str> = rows.iter().map(|row| row.trim_start()).collect();
    format!("{heading} {}", rows.join("; ")).trim_end().to_owned()
}

struct Starter<'a> {
    /// The text that was asked about last: sent again, it is meant.
    asked: Cell<Option<u64>>,
    options: &'a SessionOptions,
    desk: &'a Desk,
    mail: &'a SyncSender<Mail<News>>,
}

impl Starter<'_> {
    fn tell(&self, news: News) -> Told {
        self.mail.send(Mail::Own(news)).map_err(|_| Gone)
    }

    fn refused(&self, trace: TraceId, refusal: Refusal) -> Told {
        let Refusal { diagnostic, raw_log, .. } = refusal;
        self.tell(News::Failed { trace, diagnostic, raw_log })
    }

    fn surviving(&self, trace: TraceId, work: impl FnOnce() -> Told) -> Told {
        let failed = |diagnostic| self.tell(News::Failed { trace, diagnostic, raw_log: Arc::from("") });
        survived(work).unwrap_or_else(failed)
    }

    /// Compiles, loads, attaches, and hands the tracer to the session. On any failure the script's running trace stays
    /// as it is.
    fn submit(&self, script: ScriptId, trace: TraceId, source: &SourceText, given: Option<&Given>) -> Told {
        let mut began = Instant::now();
        if let Some(pid) = self.options.limit(given).filter(|pid| self.is_absent(*pid)) {
            let text = format!("cannot trace process {pid}: there is no such process");
            let diagnostic = Diagnostic::error(NOT_OF_PROCESS, Span::default(), text);
            return self.tell(News::Failed { trace, diagnostic, raw_log: Arc::from("") });
        }
        let start = |line: &str| command::start(line, trace, self.mail.clone());
        let child = match self.options.command.as_deref().map(start).transpose() {
            Ok(child) => child,
            Err(error) => return self.refused(trace, *Box::from(TracerError::Command(error))),
        };
        let compilation = (self.options.compiler)(source, child.as_ref().map(Held::pid), given);
        let figures = compilation.output.as_ref().map(|compiled| compiled.figures);
        self.tell(News::Compiled { trace, diagnostics: compilation.diagnostics, figures })?;
        let Some(mut compiled) = compilation.output else { return Ok(()) };
        if let Some(question) = self.question(&compiled.program, script, source) {
            return self.tell(News::Failed { trace, diagnostic: question, raw_log: Arc::from("") });
        }
        if self.options.count_first {
            let lines = count::first(&self.options.kernel, self.options.limit(given), &compiled.program, source);
            self.tell(News::Counted { trace, text: in_one_line(&lines) })?;
            began = Instant::now();
        }
        Arc::make_mut(&mut compiled.program).style.bare = true;
        let tracer = self.tracer(compiled, script, source, (child, self.options.limit(given)));
        self.start(began, trace, Some(script), Box::new(tracer))
    }

    fn is_absent(&self, pid: u32) -> bool {
        left(&self.options.kernel.roots().proc, pid) == Left::Nothing
    }

    /// What is asked before a script is attached to very many places: its text must be sent once more.
    fn question(&self, program: &Program, script: ScriptId, source: &SourceText) -> Option<Diagnostic> {
        let many =
            program.probes.iter().find(|probe| probe.targets.iter().filter(|t| is_function(t)).count() >= MANY)?;
        let mut hasher = DefaultHasher::new();
        (script, &source.text).hash(&mut hasher);
        let text = hasher.finish();
        if self.asked.replace(Some(text)) == Some(text) {
            return None;
        }
        let count = words::grouped(many.targets.len() as u64);
        let message = format!("not attached yet: these are {count} functions of the kernel");
        let help = "run it once more to attach to them all (attaching takes a while, every call of one costs time), or \
                    name fewer";
        Some(Diagnostic::error(ASKS_FIRST, many.head, message).help(help))
    }

    fn tracer(
        &self,
        compiled: Compiled,
        script: ScriptId,
        source: &SourceText,
        (child, pid): (Option<Held>, Option<u32>),
    ) -> ScriptTracer {
        let kernel = &self.options.kernel;
        let names = Sources::of_kernel(kernel, &compiled.program);
        let run = ScriptRun {
            info: info::of(&compiled.program, source, kernel),
            options: TraceOptions {
                place: Place::new(kernel, pid),
                measure: self.options.measure,
                budget: self.desk.budget(script),
            },
            names,
            child,
            attach_only: false,
            reports_maps: false,
            stopping: Arc::default(),
            ends_with: None,
            as_peer: false,
        };
        ScriptTracer::new(compiled, run)
    }

    fn start(&self, began: Instant, trace: TraceId, script: Option<ScriptId>, tracer: Box<dyn Tracer>) -> Told {
        self.tell(News::Starting(trace))?;
        match tracer.start(outlet(trace, self.mail.clone())) {
            Ok(mut begun) => {
                begun.info.id = trace;
                let elapsed_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                self.tell(News::Started(Box::new(Newcomer { trace, script, begun, elapsed_ns })))
            }
            Err(refusal) => self.refused(trace, *refusal),
        }
    }
}
