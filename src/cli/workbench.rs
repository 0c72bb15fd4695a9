//! No subcommand: the workbench.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use super::script::ScriptArgs;
use super::tracing;
use super::tracing::Tracing;
use super::{CliError, World, config};
use crate::kernel::Kernel;
use crate::lang::diagnostic::Severity;
use crate::lang::source::SourceText;
use crate::lang::typed::Program;
use crate::library;
use crate::model::budget::{Budget, Limit};
use crate::session::front::FrontSettings;
use crate::stdio;
use crate::store::file::RecordingInfo;
use crate::tracer::script::compilation::Given;
use crate::tracer::script::info;
use crate::tui::base::text::counted;
use crate::tui::data::baseline::Baselines;
use crate::tui::data::files::{Latest, saved_scripts};
use crate::tui::data::journal::LogFile;
use crate::tui::data::used::Used;
use crate::tui::data::vi;
use crate::tui::desk::replay;
use crate::tui::desk::replay::Opened;
use crate::tui::desk::state::State;
use crate::tui::layers::reader::Reader;
use crate::tui::run::catalogue::Catalogue;
use crate::tui::run::recording::Recording;
use crate::tui::run::recovery;
use crate::tui::run::recovery::keep;
use crate::tui::run::screen::restore;
use crate::tui::run::terminal::Terminal;
use crate::tui::run::{Ending, Faults, Services, UserEditor, run as open};

mod folders;
mod opened;
mod themes;

pub(super) use opened::bundled;
pub(super) use themes::named as theme_named;

pub(super) use folders::state_folder;
use folders::{layouts, recovery_folder};

/// Options of the workbench.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// The script to open (a new one when it does not exist), then its parameters $1, $2, ...
    #[arg(value_name = "FILE|PARAMETER", allow_negative_numbers = true)]
    pub rest: Vec<String>,
    /// The program itself, instead of a file.
    #[arg(short = 'e', value_name = "PROGRAM", conflicts_with = "rest")]
    pub program: Option<String>,
    /// More parameters of the script, and its named options, as `probescope run` has them.
    #[arg(value_name = "PARAMETER", last = true)]
    pub after: Vec<String>,
    /// Limit traces to what is about a process, by its number or its name; see docs/filters.md.
    #[arg(short = 'p', long = "pid", value_name = "PID|NAME", value_parser = super::process::process)]
    pub pid: Option<u32>,
    /// Run a command with every trace: it starts when everything is attached, and the trace ends with it.
    #[arg(short = 'c', long = "command", value_name = "COMMAND")]
    pub command: Option<String>,
    /// Allow what changes the traced system: system(), signal(), override(). Alt-U allows it to one script.
    #[arg(long = "unsafe")]
    pub allow_unsafe: bool,
    /// Never turn a probe off whose loops take a CPU away.
    #[arg(long)]
    pub no_brake: bool,
    /// Part of all CPUs' time that the probes of a trace may take together, such as `5%`, or `none` (10 %; Alt-Q changes it
    /// later).
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub budget: Option<Limit>,
    /// Record to a file from the beginning on: events with their values and times, maps, losses. See `probescope replay`.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Before a script is attached count for a second how often its probes fire, with a budget of 10 % at most, and say so.
    #[arg(long)]
    pub count_first: bool,
    /// Also count keys that maps did not have among the losses.
    #[arg(short = 'k')]
    pub keen: bool,
    /// Only probes whose full name this regular expression matches.
    #[arg(long, value_name = "REGEX")]
    pub probe_filter: Option<regex::Regex>,
    /// Follow `ustack` by the unwinding tables of the binaries (`.eh_frame`), where they were built without frame pointers:
    /// x86-64 and Linux 5.17 or later. The same as `--config unwind_tables=true`.
    #[arg(long)]
    pub unwind_tables: bool,
    /// Set a value of scripts' config blocks; wins over the script.
    #[arg(long = "config", value_name = "NAME=VALUE", value_parser = super::run::setting)]
    pub config: Vec<(String, String)>,
    /// A theme by name (dark, light, high-contrast, nord, amber, solarized-dark, solarized-light, colour-blind, or one
    /// of the folder `themes` of the configuration) or a file (.toml or .tmTheme).
    #[arg(long, value_name = "THEME")]
    pub theme: Option<String>,
    /// Edit the script by vi's keys.
    #[arg(long)]
    pub vi: bool,
    /// Leave the mouse to the terminal (F11 changes it later).
    #[arg(long)]
    pub no_mouse: bool,
}

impl Args {
    fn file(&self) -> Option<&Path> {
        self.rest.first().filter(|_| self.program.is_none()).map(Path::new)
    }

    /// How scripts are compiled and run.
    fn tracing(&self, kernel: &Arc<Kernel>, world: &World) -> Tracing {
        let mut settings = FrontSettings::new(Arc::clone(kernel));
        settings.pid = self.pid;
        settings.unsafe_allowed = self.allow_unsafe || world.config.trace.allow_unsafe == Some(true);
        settings.brake = !self.no_brake && world.config.trace.brake != Some(false);
        settings.defaults = world.config.settings();
        settings.overrides = super::run::overrides(&self.config, self.unwind_tables);
        settings.absent_keys = self.keen;
        settings.probe_filter.clone_from(&self.probe_filter);
        Tracing { settings, command: self.command.clone(), budget: self.budget(world), count_first: self.count_first }
    }

    fn budget(&self, world: &World) -> Option<Budget> {
        self.budget.or(world.config.trace.budget).map_or(Some(Budget::DEFAULT), |limit| limit.0)
    }

    /// The parameters and options of the script.
    fn given(&self, source: &SourceText) -> Given {
        let script = ScriptArgs { program: None, rest: Vec::new(), after: self.after.clone() };
        script.given(self.rest.get(1..).unwrap_or_default(), source)
    }
}

/// Opens the workbench.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    if let Some(why) = args.file().and_then(opened::not_a_script) {
        return Err(CliError::Refused(why));
    }
    run_on(args, world, None)
}

/// Opens the workbench on a recording, or on a script.
pub(super) fn run_on(args: &Args, world: &World, opened: Option<Opened>) -> Result<ExitCode, CliError> {
    if !world.stdout_is_terminal || !std::io::stdin().is_terminal() {
        return Err(CliError::Refused(
            "the workbench needs a terminal; `probescope run FILE` traces without one".to_owned(),
        ));
    }
    if world.variable("TERM") == Some("dumb") {
        return Err(CliError::Refused(
            "the workbench needs a terminal that can place its cursor, and TERM=dumb says that this one can't; \
             `probescope run FILE` traces without it"
                .to_owned(),
        ));
    }
    let state_folder = state_folder(world);
    tracing::find_processes(args.pid, args.command.as_deref())?;
    let (mut text, mut file) = opened::script(args.file(), state_folder.as_deref())?;
    if let Some(program) = &args.program {
        text.clone_from(program);
    }
    let terminal = Terminal::of(|name| world.variable(name));
    let themes::Themes { known, chosen, broken } = themes::read(args, world, terminal.colours)?;
    let recovery = recovery_folder(world, state_folder.as_deref());
    file.recovery = recovery.as_ref().ok().map(|folder| folder.file(file.path.as_deref(), 1));
    let mut state = State::new(&text, file, known, (80, 24));
    state.document.given = args.given(&state.document.source());
    state.mouse = !args.no_mouse && world.config.workbench.mouse != Some(false);
    if args.vi || world.config.workbench.vi == Some(true) {
        vi::turn(&mut state.data.vi);
    }
    state.home.clone_from(&world.home);
    state.budget = args.budget(world);
    state.used = state_folder.as_ref().map_or_else(Used::default, |folder| Used::read(&folder.join("probes")));
    state.latency.baselines = state_folder.as_deref().map_or_else(Baselines::default, Baselines::read);
    // Before any pane of the layout is there: one of latency would begin to measure.
    state.replayed = opened.as_ref().map(Opened::replayed);
    if let Some(script) = args.file().and_then(bundled) {
        state.tell(Severity::Info, library::copied(&script));
    } else if let Some(path) = args.file().filter(|p| !p.exists()) {
        state.tell(Severity::Info, format!("{} is a new script: Ctrl-S makes it", path.display()));
    }
    if let Some(chosen) = chosen {
        state.theme = chosen;
    }
    let layouts = layouts(&mut state, world, state_folder.as_deref());
    state.saved = state_folder.as_deref().map(saved_scripts).unwrap_or_default().into();
    if args.file().is_none() && args.program.is_none() && opened.is_none() && !state.saved.is_empty() {
        let many = counted(state.saved.len() as u64, "script");
        state.tell(Severity::Info, format!("{many} saved without a name before: Ctrl-O lists them"));
    }
    match (&recovery, args.file()) {
        _ if opened.is_some() || args.program.is_some() => {}
        (Ok(folder), Some(path)) => recovery::offer(&mut state, folder.adopt(path, &text).into_iter().collect()),
        (Ok(folder), None) => recovery::offer(&mut state, folder.adopt_unnamed()),
        (Err(_), _) => {}
    }
    let kernel = super::kernel::running(world);
    let session = tracing::session(&kernel, args.tracing(&kernel, world));
    let session = match session {
        Ok(session) => Some(session),
        Err(reason) => {
            state.disabled = Some(reason);
            None
        }
    };
    if let Some(opened) = opened {
        replay::open(&mut state, opened);
    }
    let wrong = config::read(world).err().map(|e| e.to_string()).into_iter().chain(broken);
    tell_of_configuration(&mut state, wrong);
    let latest =
        Arc::new(Mutex::new(Latest { path: state.document.file.recovery.clone(), text: text.as_str().into() }));
    guard_panics(&latest);
    let log = match state_folder.as_deref().map(LogFile::open) {
        Some(Ok((log, path))) => {
            state.journal.file = Some(Ok(path));
            Some(log)
        }
        Some(Err(why)) => {
            state.journal.file = Some(Err(why.to_string()));
            None
        }
        None => None,
    };
    let recording = args.record.as_deref().map(|path| record(&kernel, path)).transpose()?;
    if let Some(path) = &args.record {
        state.recording = true;
        state.mention(Severity::Info, format!("Recording to {}", path.display()));
    }
    let finder =
        Catalogue::spawn(Arc::clone(&kernel)).map_err(|e| CliError::Refused(format!("cannot start a thread: {e}")))?;
    let named = |name: &str| world.variable(name).map(str::trim).filter(|editor| !editor.is_empty());
    let temporary = named("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let editor = named("VISUAL").or_else(|| named("EDITOR"));
    let editor = editor.map(|command| UserEditor { command: command.to_owned(), temporary });
    let faults = match world.variable("PROBESCOPE_FAULTS") {
        None => Faults::None,
        Some("busy") => Faults::Busy,
        Some(_) => Faults::Panic,
    };
    let services = Services {
        session,
        kernel,
        finder: Box::new(finder),
        recovery,
        layouts,
        recording,
        log,
        latest,
        terminal,
        editor,
        faults,
    };
    let left = open(state, services).map_err(|e| CliError::Refused(format!("the terminal failed: {e}")))?;
    for line in &left.farewell {
        stdio::say(format_args!("probescope: {line}"));
    }
    match left.ending {
        Ending::Left => Ok(ExitCode::SUCCESS),
        Ending::Signal(number) => Ok(ExitCode::from(128_u8.saturating_add(u8::try_from(number).unwrap_or(0)))),
    }
}

/// A recording that waits for the first trace.
fn record(kernel: &Kernel, path: &Path) -> Result<Recording, CliError> {
    let begun = info::of(&Program::default(), &SourceText::new("", ""), kernel);
    let recording = Recording::to(path.to_owned(), &RecordingInfo::beginning_with(&begun));
    recording.map_err(|error| CliError::Refused(error.to_string()))
}

/// What is wrong in the configuration, to read before anything else: the defaults hold in its place.
fn tell_of_configuration(state: &mut State, wrong: impl Iterator<Item = String>) {
    let lines: Vec<String> =
        wrong.flat_map(|w| w.lines().map(str::to_owned).chain([String::new()]).collect::<Vec<_>>()).collect();
    if !lines.is_empty() {
        let title = "Not used of the configuration".into();
        state.open(Reader { title, lines, top: 0, wrap: true });
    }
}

/// A panic gives the terminal back first and keeps the script, then reports as usual.
fn guard_panics(latest: &Arc<Mutex<Latest>>) {
    let report = std::panic::take_hook();
    let (latest, screen) = (Arc::clone(latest), std::thread::current().id());
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() != screen {
            return;
        }
        restore();
        let kept = rescue(&latest);
        report(info);
        // Last, below a backtrace of any length.
        if let Some(path) = kept {
            stdio::say(format_args!("probescope: the script is kept in {}", path.display()));
        }
    }));
}

/// Keeps the script as it was last; tells where.
fn rescue(latest: &Mutex<Latest>) -> Option<PathBuf> {
    let Latest { path, text } = latest.lock().unwrap_or_else(PoisonError::into_inner).clone();
    path.filter(|path| !text.is_empty() && keep(path, &text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_keeps_the_script_even_when_it_held_the_text() {
        let folder = std::env::temp_dir().join(format!("probescope-rescue-{}", std::process::id()));
        let path = folder.join("unsaved/a.bt");
        std::fs::create_dir_all(folder.join("unsaved")).unwrap();
        let latest = Arc::new(Mutex::new(Latest { path: Some(path.clone()), text: "BEGIN { }".into() }));
        let held = Arc::clone(&latest);
        let died = std::thread::spawn(move || {
            let _held = held.lock().unwrap();
            panic!("on purpose: the lock is poisoned");
        });
        assert!(died.join().is_err());
        assert_eq!(rescue(&latest).as_ref(), Some(&path));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "BEGIN { }");
        std::fs::remove_dir_all(folder).unwrap();
        assert_eq!(rescue(&Mutex::new(Latest { path: Some(path), ..Latest::default() })), None, "nothing to keep");
    }
}
