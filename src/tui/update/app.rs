//! Intents for the whole program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::action::App;
use super::super::effect::Effect;
use super::super::input::Input;
use super::super::layout::tree::PaneId;
use super::super::palette::{EXPORT, Listed, Palette};
use super::super::state::{Layer, Reader, State};
use super::super::trace::Phase;
use super::guard;
use crate::lang::codes;
use crate::lang::diagnostic::Severity;
use crate::session::update::TraceId;
use crate::tui::document::Document;
use crate::tui::panes::browser::update as browser;
use crate::tui::panes::editor::{completing, documents, names};
use crate::tui::panes::{editor, events};

/// Applies an intent for the whole program.
pub fn act(state: &mut State, app: App) -> Vec<Effect> {
    match app {
        App::Run if state.replayed.is_some() => super::rerun::ask(state),
        App::Run | App::RunHere | App::RunUnsaved if super::given::asks(state, app) => Vec::new(),
        App::Run | App::RunHere => {
            let saved = if state.document.editor.is_blank() { Vec::new() } else { save(state) };
            if let Some(reason) = state.document.file.read_only.clone().filter(|_| state.dirty()) {
                state.tell(Severity::Warning, format!("Not saved: {reason}"));
            }
            saved.into_iter().chain(run(state)).collect()
        }
        App::RunUnsaved => run(state),
        App::RunWithLeave => super::given::run_with_leave(state),
        App::Parameters => {
            super::given::ask(state);
            Vec::new()
        }
        App::ToggleUnsafe => {
            super::given::toggle_unsafe(state);
            Vec::new()
        }
        App::AllowUnsafe(allowed) => {
            super::given::allow(state, allowed);
            Vec::new()
        }
        App::SaveAs | App::SaveAndQuit | App::Quit | App::QuitAnyway => leave_or_save(state, app),
        App::Stop | App::Pause | App::Interrupt => control(state, app),
        App::SaveAndOpen | App::OpenAnyway | App::OpenInTab => super::library::answer(state, app),
        App::OpenTab => documents::ask(state),
        App::CloseAnyway => documents::close_anyway(state),
        App::Themes => super::themes::choose(state),
        App::CopyPane => {
            let text = super::super::export::text_of_pane(state);
            super::super::panes::rows::copy(state, Some(text))
        }
        App::Help
        | App::Palette
        | App::Export
        | App::Scripts
        | App::Snippets
        | App::Browse
        | App::VerifierLog
        | App::ExplainProblem => open(state, app),
        App::FocusNext | App::NextOutput | App::FocusPrevious | App::Focus(_) | App::Zoom => {
            focus(state, app);
            Vec::new()
        }
        App::NextTheme => {
            next_theme(state);
            Vec::new()
        }
        App::NextProblem | App::FixProblem => {
            problem(state, app);
            Vec::new()
        }
        App::Complete => {
            state.focus_on(editor::KIND);
            completing::ask(state, true)
        }
        App::Find => {
            completing::find(state);
            Vec::new()
        }
        App::Definition | App::JumpBack | App::Rename | App::Format => {
            names(state, app);
            Vec::new()
        }
        App::Window(window) => super::windows::act(state, window),
        App::EditOutside => {
            vec![Effect::EditOutside { text: state.document.editor.shared(), name: state.document.source_name() }]
        }
        App::Reload => {
            super::outside::reload(state);
            Vec::new()
        }
        App::StopAll => guard::stop_all(state),
        App::AskStop => guard::ask_to_stop(state),
        App::AskQuit => guard::ask_to_quit(state),
        App::Budget => guard::next_budget(state),
        App::Yes => super::layers::yes(state),
        App::Redraw => vec![Effect::Redraw],
        App::Time(time) => super::time::act(state, time),
        App::Record => super::time::record(state),
        App::ToggleMouse => {
            state.mouse = !state.mouse;
            let whose = if state.mouse { "the workbench" } else { "the terminal: mark text with it as usual" };
            state.tell(Severity::Info, format!("The mouse belongs to {whose}"));
            vec![Effect::TakeMouse(state.mouse)]
        }
    }
}

fn names(state: &mut State, app: App) {
    match app {
        App::Definition => names::definition(state),
        App::JumpBack => names::back(state),
        App::Rename => names::ask_name(state),
        _ => names::format(state),
    }
}

fn run(state: &mut State) -> Vec<Effect> {
    if state.document.editor.is_blank() {
        state.tell(Severity::Warning, "The script is empty: press / to choose a probe");
        return Vec::new();
    }
    if let Some(reason) = &state.disabled {
        let reason = format!("Cannot run here: {reason}");
        state.tell(Severity::Error, reason);
        return Vec::new();
    }
    // What is traced from now on goes on behind the recording.
    state.replayed = None;
    state.newest = TraceId(state.newest.0 + 1);
    state.document.submitted_as = state.newest;
    state.document.traces.push(state.newest);
    state.document.submitted = state.document.editor.shared();
    if state.document.trace.phase != Phase::Running {
        state.document.trace.phase = Phase::Starting;
    }
    vec![Effect::Submit {
        script: state.document.id,
        trace: state.document.submitted_as,
        text: Arc::clone(&state.document.submitted),
        name: state.document.source_name(),
    }]
}

/// Writes the text to its file, or to a new one where scripts without a name go.
pub(super) fn save(state: &State) -> Vec<Effect> {
    let fresh = state.document.file.path.is_none();
    let path = state.document.file.path.as_ref().or(state.document.file.unnamed.as_ref());
    // Root may write over a read-only file; that it is read-only was meant.
    path.filter(|_| state.document.file.read_only.is_none())
        .filter(|_| {
            state.dirty() || state.document.file.path.as_ref().is_some_and(|_| state.document.file.saved.is_empty())
        })
        .map(|path| {
            let over = expected(state, path).filter(|_| !fresh);
            Effect::Save { path: path.clone(), text: state.document.editor.shared(), fresh, over }
        })
        .into_iter()
        .collect()
}

/// What a file should hold before it is written over; `None` once the user was told of other text.
pub(super) fn expected(state: &State, path: &Path) -> Option<Arc<str>> {
    let own = state.document.file.path.as_deref() == Some(path);
    let told = state.document.file.told.as_deref() == Some(path);
    (!told).then(|| if own { Arc::clone(&state.document.file.saved) } else { "".into() })
}

/// Keeps the text of a script for emergencies.
fn keep(document: &Document) -> Effect {
    Effect::Keep { path: document.file.recovery.clone(), text: document.editor.shared(), because: None }
}

/// What became of unsaved text that should be kept. A failure is told once, unless a save has failed as well.
pub fn kept(state: &mut State, because: Option<String>, kept: Result<PathBuf, String>) {
    match (because, kept) {
        (Some(why), Ok(path)) => state.tell(Severity::Error, format!("{why}; a copy is kept in {}", path.display())),
        (Some(why), Err(reason)) => {
            state.tell(Severity::Error, format!("{why}; and no copy can be kept: {reason}"));
            state.unkept = true;
        }
        (None, Ok(_)) => state.unkept = false,
        (None, Err(reason)) => {
            if !std::mem::replace(&mut state.unkept, true) {
                state.tell_next(Severity::Warning, format!("Unsaved text would be lost in a crash: {reason}"));
            }
        }
    }
}

/// Another program wrote the file, or there is one already under a new name: it is written over only
/// when that is asked for once more.
pub fn in_the_way(state: &mut State, path: PathBuf) -> Vec<Effect> {
    state.document.quit_after_save = false;
    state.document.open_after_save = None;
    state.document.save_as = None;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let (why, again) = if state.document.file.path.as_deref() == Some(&*path) {
        ("was changed by another program", "Ctrl-S")
    } else {
        ("is there already", "F12")
    };
    state
        .tell(Severity::Warning, format!("Not saved: {name} {why}. {again} again writes over it, F12 saves elsewhere"));
    state.document.file.told = Some(path);
    vec![keep(&state.document)]
}

/// The answer to a save.
pub fn saved(state: &mut State, path: &Path, text: &Arc<str>, error: Option<String>) -> Vec<Effect> {
    let leaving = std::mem::take(&mut state.document.quit_after_save);
    let next = state.document.open_after_save.take();
    let renamed = state.document.save_as.take().is_some_and(|name| name == path);
    if let Some(error) = error {
        state.document.kept = "".into();
        state.tell(Severity::Error, error.clone());
        let path = state.document.file.recovery.clone();
        return vec![Effect::Keep { path, text: Arc::clone(text), because: Some(error) }];
    }
    let named = renamed || state.document.file.path.as_deref() == Some(path);
    if named || state.document.file.path.is_none() {
        state.document.file.path = Some(path.to_owned());
        state.document.file.saved = Arc::clone(text);
        state.document.file.read_only = None;
        state.document.take_language();
    }
    state.document.file.told = None;
    let unnamed = state.document.file.unnamed.as_deref().and_then(Path::parent);
    if path.parent() == unnamed && unnamed.is_some() && !state.saved.iter().any(|known| known == path) {
        state.saved = std::iter::once(path.to_owned()).chain(state.saved.iter().cloned()).collect();
    }
    state.document.editor.end_step();
    state.document.kept = Arc::clone(text);
    let mut effects = vec![Effect::Discard(state.document.file.recovery.clone())];
    if leaving && !state.dirty() {
        effects.extend(leave_or_save(state, App::Quit));
    }
    if let Some(name) = next {
        effects.extend(super::library::open(state, name));
    }
    effects
}

fn leave_or_save(state: &mut State, app: App) -> Vec<Effect> {
    match app {
        App::Quit if documents::next_unsaved(state) => {
            if !state.layers.contains(&Layer::ConfirmQuit) {
                state.layers.push(Layer::ConfirmQuit);
            }
            Vec::new()
        }
        App::SaveAs => {
            let path = state.document.file.path.as_ref().map_or_else(String::new, |p| p.to_string_lossy().into_owned());
            state.layers.push(Layer::SaveAs(Input::proposing(&path)));
            Vec::new()
        }
        App::SaveAndQuit => {
            state.layers.retain(|l| *l != Layer::ConfirmQuit);
            let effects = save(state);
            if effects.is_empty() {
                return leave_or_save(state, App::SaveAs);
            }
            state.document.quit_after_save = true;
            effects
        }
        App::QuitAnyway => {
            let unsaved = state.documents().filter(|d| d.is_unsaved());
            unsaved.map(keep).chain([Effect::Quit]).collect()
        }
        _ => vec![Effect::Quit],
    }
}

fn control(state: &mut State, app: App) -> Vec<Effect> {
    match app {
        App::Interrupt if state.on(editor::KIND) && state.document.editor.marked().is_some() => {
            state.document.editor.edit(&super::super::action::Edit::Copy);
            // Whether the terminal took it is nothing that it tells.
            state.tell(Severity::Info, "Copied, and sent to the terminal's clipboard");
            vec![Effect::Copy(state.document.editor.copied())]
        }
        App::Pause => {
            if state.document.trace.paused {
                super::time::resume(state);
            } else {
                super::time::pause(state);
            }
            Vec::new()
        }
        _ if matches!(state.document.trace.phase, Phase::Running | Phase::Starting) => {
            state.tell(Severity::Info, "Stopping the trace");
            vec![Effect::Stop(state.document.trace.to_stop(state.document.submitted_as))]
        }
        _ => {
            state.tell(Severity::Info, "Nothing is running; Ctrl-Q leaves");
            Vec::new()
        }
    }
}

fn open(state: &mut State, app: App) -> Vec<Effect> {
    match app {
        App::Browse => return browser::open(state, false),
        App::Help => state.layers.push(Layer::Help(0)),
        App::Palette => {
            let saved = Arc::clone(&state.saved);
            state.layers.push(Layer::Palette(Palette { saved, ..Palette::default() }));
        }
        App::Export => {
            let input = Input::new(EXPORT);
            state.layers.push(Layer::Palette(Palette { input, ..Palette::default() }));
        }
        App::Scripts => {
            let (listed, saved) = (Listed::Scripts, Arc::clone(&state.saved));
            state.layers.push(Layer::Palette(Palette { listed, saved, ..Palette::default() }));
        }
        App::Snippets => super::library::ask_clauses(state),
        App::VerifierLog => verifier_log(state),
        _ => explain(state),
    }
    Vec::new()
}

fn verifier_log(state: &mut State) {
    if state.document.trace.raw_log.is_empty() {
        state.tell(Severity::Info, "The kernel's verifier has refused nothing");
        return;
    }
    let lines = state.document.trace.raw_log.lines().map(str::to_owned).collect();
    state.layers.push(Layer::Reader(Reader { title: "Verifier log".into(), lines, top: 0, wrap: false }));
}

fn explain(state: &mut State) {
    let Some(problem) = state.document.editor.problem_here() else {
        state.tell(Severity::Info, "No problem on this line; F4 goes to the next one");
        return;
    };
    let mut lines = vec![problem.message.clone()];
    for label in &problem.labels {
        let line = state.document.editor.text()[..(label.span.start as usize).min(state.document.editor.text().len())]
            .matches('\n')
            .count();
        lines.push(String::new());
        lines.push(format!("Line {}: {}", line + 1, label.message));
    }
    if let Some(help) = &problem.help {
        lines.push(String::new());
        lines.push(help.clone());
    }
    if let Some(fix) = &problem.fix {
        lines.push(String::new());
        lines.push(format!("Alt-F writes `{}` instead.", fix.replacement));
    }
    lines.push(String::new());
    lines.push(format!("probescope explain {} tells more.", codes::shown(problem.code)));
    let title = format!("{:?} {}", problem.severity, codes::shown(problem.code));
    state.layers.push(Layer::Reader(Reader { title, lines, top: 0, wrap: true }));
}

fn problem(state: &mut State, app: App) {
    if app == App::NextProblem {
        if state.document.editor.next_problem() {
            state.focus_on(editor::KIND);
        } else {
            state.tell(Severity::Info, "No problems");
        }
        return;
    }
    match state.document.editor.problem_here().and_then(|d| d.fix.clone()) {
        Some(fix) => state.document.editor.replace(fix.span, &fix.replacement),
        None => state.tell(Severity::Info, "No ready fix for this line"),
    }
}

fn focus(state: &mut State, app: App) {
    match app {
        App::Zoom => state.panes.toggle_zoom(),
        App::Focus(kind) => state.focus_on(kind),
        App::FocusPrevious => state.panes.focus_on(state.panes.next(false)),
        App::NextOutput => {
            let next = state.panes.next_where(|kind| kind != editor::KIND);
            state.panes.focus_on(next);
        }
        // From the script to the output that was looked at last, and to the events at first.
        _ => {
            let output = |id: &PaneId| state.panes.kind(*id) != Some(editor::KIND);
            let had_keys = state.panes.recent().find(|id| output(id) && state.panes.has_had_keys(*id));
            let last = had_keys.or_else(|| first_output(state)).filter(|_| state.on(editor::KIND));
            let other = || {
                if state.on(editor::KIND) {
                    state.panes.next_where(|kind| kind != editor::KIND)
                } else {
                    state.panes.next(true)
                }
            };
            let next = last.unwrap_or_else(other);
            if next == state.panes.focus() {
                state.tell(Severity::Info, "No other pane is open: Alt-W v opens one, Alt-N goes to the next script");
            }
            state.panes.focus_on(next);
        }
    }
}

/// The output to look at first: the events where there are some, else what has something to show.
fn first_output(state: &State) -> Option<PaneId> {
    let is_filled = |id: &PaneId| state.panes.get(*id).is_some_and(|pane| pane.is_filled(state));
    let events = state.panes.of_kind(events::KIND);
    let shown = state.panes.recent().find(|id| state.panes.kind(*id) != Some(editor::KIND));
    events.filter(is_filled).or(shown).or(events)
}

fn next_theme(state: &mut State) {
    let at = state.themes.iter().position(|t| t.name == state.theme.name).map_or(0, |i| i + 1);
    let Some(next) = state.themes.get(at % state.themes.len().max(1)) else { return };
    state.theme = Arc::clone(next);
    let name = Arc::clone(&next.name);
    state.tell(Severity::Info, format!("Theme: {name}"));
}
