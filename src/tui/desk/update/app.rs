//! Intents for the whole program.

use std::sync::Arc;

use super::{given, guard, library, outside, rerun, save, themes, time, windows};
use crate::lang::codes;
use crate::lang::diagnostic::Severity;
use crate::tui::base::action::{App, Edit};
use crate::tui::base::input::Input;
use crate::tui::base::kind::{EVENTS, SCRIPT};
use crate::tui::base::tree::PaneId;
use crate::tui::data::effect::Effect;
use crate::tui::data::trace::Phase;
use crate::tui::desk::state::State;
use crate::tui::desk::{documents, export, keys};
use crate::tui::layers::browser::Browser;
use crate::tui::layers::help::Help;
use crate::tui::layers::palette::{EXPORT, Listed, Palette};
use crate::tui::layers::reader::{Reader, Unsaved};
use crate::tui::panes::editor::{completing, names};
use crate::tui::widgets::rows::copy;

/// Applies an intent for the whole program.
pub fn act(state: &mut State, app: App) -> Vec<Effect> {
    match app {
        App::Run if state.replayed.is_some() => return rerun::ask(state),
        App::Run | App::RunHere | App::RunUnsaved if given::asks(state, app) => {}
        App::Run | App::RunHere => {
            let saved = if state.document.editor.is_blank() { Vec::new() } else { save::save(state) };
            if let Some(reason) = state.document.file.read_only.clone().filter(|_| state.dirty()) {
                state.tell(Severity::Warning, format!("Not saved: {reason}"));
            }
            return saved.into_iter().chain(run(state)).collect();
        }
        App::RunUnsaved => return run(state),
        App::RunWithLeave => given::run_with_leave(state),
        App::Parameters => given::ask(state),
        App::ToggleUnsafe => given::toggle_unsafe(state),
        App::AllowUnsafe(allowed) => given::allow(state, allowed),
        App::SaveAs | App::SaveAndQuit | App::Quit | App::QuitAnyway => return leave_or_save(state, app),
        App::Stop | App::Pause | App::Interrupt => return control(state, app),
        // What was asked is answered where it was asked.
        App::SaveAndOpen | App::OpenAnyway | App::OpenInTab | App::Yes => {}
        App::OpenTab => documents::ask(state),
        App::CloseAnyway => return documents::close_anyway(state),
        App::Themes => themes::choose(state),
        App::CopyPane => {
            let text = export::text_of_pane(state);
            state.turn(|turn| copy(turn, Some(text)));
        }
        App::Help
        | App::Palette
        | App::Export
        | App::Scripts
        | App::Snippets
        | App::Browse
        | App::VerifierLog
        | App::ExplainProblem => open(state, app),
        App::FocusNext | App::NextOutput | App::FocusPrevious | App::Focus(_) | App::Zoom => focus(state, app),
        App::NextTheme => themes::next(state),
        App::NextProblem | App::FixProblem => problem(state, app),
        App::Complete => {
            state.focus_on(SCRIPT);
            state.turn(|turn| completing::ask(turn, true));
        }
        App::Find => state.turn(completing::find),
        App::Definition => state.turn(names::definition),
        App::JumpBack => state.turn(names::back),
        App::Rename => state.turn(names::ask_name),
        App::Format => state.turn(names::format),
        App::Window(window) => return windows::act(state, window),
        App::EditOutside => {
            let (text, name) = (state.document.editor.shared(), state.document.source_name());
            return vec![Effect::EditOutside { text, name }];
        }
        App::Reload => outside::reload(state),
        App::StopAll => return guard::stop_all(state),
        App::AskStop => guard::ask_to_stop(state),
        App::AskQuit => guard::ask_to_quit(state),
        App::Budget => return guard::next_budget(state),
        App::Redraw => return vec![Effect::Redraw],
        App::Time(time) => return time::act(state, time),
        App::Record => return time::record(state),
        App::ToggleMouse => {
            state.mouse = !state.mouse;
            let whose = if state.mouse { "the workbench" } else { "the terminal: mark text with it as usual" };
            state.tell(Severity::Info, format!("The mouse belongs to {whose}"));
            return vec![Effect::TakeMouse(state.mouse)];
        }
    }
    Vec::new()
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
    let trace = state.next_trace();
    state.document.submitted_as = trace;
    state.document.traces.push(trace);
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

fn leave_or_save(state: &mut State, app: App) -> Vec<Effect> {
    match app {
        App::Quit if documents::next_unsaved(state) => {
            if state.layer::<Unsaved>() != Some(&Unsaved::Leaving) {
                state.open(Unsaved::Leaving);
            }
            Vec::new()
        }
        App::SaveAs => {
            save::ask_name(state);
            Vec::new()
        }
        App::SaveAndQuit => {
            let effects = save::save(state);
            if effects.is_empty() {
                return leave_or_save(state, App::SaveAs);
            }
            state.document.quit_after_save = true;
            effects
        }
        App::QuitAnyway => {
            let unsaved = state.documents().filter(|d| d.is_unsaved());
            unsaved.map(save::keep).chain([Effect::Quit]).collect()
        }
        _ => vec![Effect::Quit],
    }
}

fn control(state: &mut State, app: App) -> Vec<Effect> {
    match app {
        App::Interrupt if state.on(SCRIPT) && state.document.editor.marked().is_some() => {
            state.document.editor.edit(&Edit::Copy);
            // Whether the terminal took it is nothing that it tells.
            state.tell(Severity::Info, "Copied, and sent to the terminal's clipboard");
            vec![Effect::Copy(state.document.editor.copied())]
        }
        App::Pause => {
            if state.document.trace.paused {
                time::resume(state);
            } else {
                time::pause(state);
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

fn open(state: &mut State, app: App) {
    let commands = || keys::all().filter(|binding| binding.in_palette).collect();
    match app {
        App::Browse if state.layer::<Browser>().is_some() => {}
        App::Browse => state.turn(|turn| Browser::open(turn, false)),
        App::Help => state.open(Help { keys: keys::help(), top: 0 }),
        App::Palette => {
            let saved = Arc::clone(&state.saved);
            state.open(Palette { saved, commands: commands(), ..Palette::default() });
        }
        App::Export => {
            state.open(Palette { input: Input::new(EXPORT), commands: commands(), ..Palette::default() });
        }
        App::Scripts => {
            let (listed, saved) = (Listed::Scripts, Arc::clone(&state.saved));
            state.open(Palette { listed, saved, ..Palette::default() });
        }
        App::Snippets => library::ask_clauses(state),
        App::VerifierLog => verifier_log(state),
        _ => explain(state),
    }
}

fn verifier_log(state: &mut State) {
    if state.document.trace.raw_log.is_empty() {
        state.tell(Severity::Info, "The kernel's verifier has refused nothing");
        return;
    }
    let lines = state.document.trace.raw_log.lines().map(str::to_owned).collect();
    state.open(Reader { title: "Verifier log".into(), lines, top: 0, wrap: false });
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
    state.open(Reader { title, lines, top: 0, wrap: true });
}

fn problem(state: &mut State, app: App) {
    if app == App::NextProblem {
        if state.document.editor.next_problem() {
            state.focus_on(SCRIPT);
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
            let next = state.panes.next_where(|kind| kind != SCRIPT);
            state.panes.focus_on(next);
        }
        // From the script to the output that was looked at last, and to the events at first.
        _ => {
            let output = |id: &PaneId| state.panes.kind(*id) != Some(SCRIPT);
            let had_keys = state.panes.recent().find(|id| output(id) && state.panes.has_had_keys(*id));
            let last = had_keys.or_else(|| first_output(state)).filter(|_| state.on(SCRIPT));
            let other = || {
                if state.on(SCRIPT) { state.panes.next_where(|kind| kind != SCRIPT) } else { state.panes.next(true) }
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
    let events = state.panes.of_kind(EVENTS);
    let shown = state.panes.recent().find(|id| state.panes.kind(*id) != Some(SCRIPT));
    events.filter(is_filled).or(shown).or(events)
}
