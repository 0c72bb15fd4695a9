//! Intents in overlays other than the browser.

use super::super::action::{Action, Edit, Events, Go};
use super::super::effect::Effect;
use super::super::files::typed_path;
use super::super::input::Input;
use super::super::palette::{Entry, Listed};
use super::super::state::{Layer, Reader, State};
use super::app_of;
use crate::lang::diagnostic::Severity;
use crate::tui::panes::browser::{scope, update as browser};
use crate::tui::panes::editor::{documents, vi};

/// Applies an intent in the overlay that has the keys.
pub fn act(state: &mut State, action: &Action) -> Vec<Effect> {
    if *action == Action::Cancel {
        return match state.layers.pop() {
            Some(Layer::Filter(_)) => filter_by(state, ""),
            Some(Layer::Chooser(chooser)) => super::themes::give_back(state, &chooser),
            _ => Vec::new(),
        };
    }
    if *action == Action::Edit(Edit::Tab)
        && let Some(input) = path_line(state)
    {
        return vec![Effect::CompletePath(input.before().to_owned())];
    }
    let page = usize::from(state.size.1).saturating_sub(6).max(1);
    let body = super::layout::of(state).body;
    match state.layers.last_mut() {
        Some(Layer::Browser(_)) => browser::act(state, action),
        Some(Layer::Lens(_)) => crate::tui::panes::lens::update::act(state, action),
        Some(Layer::Help(top)) => {
            scroll(top, action, page, super::super::panes::help::last_top(body));
            Vec::new()
        }
        Some(Layer::Reader(reader)) => read(reader, action, page),
        Some(Layer::Palette(_)) => palette(state, action),
        Some(Layer::SaveAs(_)) => save_as(state, action),
        Some(Layer::Filter(_)) => filter(state, action),
        Some(Layer::Rename(_)) => crate::tui::panes::editor::names::renaming(state, action),
        Some(Layer::Find(_)) => crate::tui::panes::editor::completing::finding(state, action),
        Some(Layer::Chooser(_)) => super::windows::choosing(state, action),
        Some(Layer::SaveLayout(_)) => super::windows::naming(state, action),
        Some(Layer::GoTo(_)) => super::time::typed(state, action),
        Some(Layer::Parameters(_)) => super::given::typed(state, action),
        Some(Layer::OpenFile(_)) => documents::naming(state, action),
        Some(Layer::ConfirmQuit | Layer::ConfirmOpen(_) | Layer::Confirm(_) | Layer::Window) | None => Vec::new(),
    }
}

/// Does what was asked about.
pub fn yes(state: &mut State) -> Vec<Effect> {
    match state.layers.pop() {
        Some(Layer::Confirm(confirm)) => super::act(state, &confirm.yes),
        other => {
            state.layers.extend(other);
            Vec::new()
        }
    }
}

fn scroll(top: &mut usize, action: &Action, page: usize, last: usize) {
    let Action::Go(go) = action else { return };
    *top = match go {
        Go::Up => top.saturating_sub(1),
        Go::Down => *top + 1,
        Go::PageUp => top.saturating_sub(page),
        Go::PageDown => *top + page,
        Go::Top => 0,
        Go::Bottom => last,
        _ => *top,
    }
    .min(last);
}

fn read(reader: &mut Reader, action: &Action, page: usize) -> Vec<Effect> {
    if *action == Action::Events(Events::Copy) {
        return vec![Effect::Copy(reader.lines.join("\n"))];
    }
    let last = reader.lines.len().saturating_sub(1);
    scroll(&mut reader.top, action, page, last);
    Vec::new()
}

fn palette(state: &mut State, action: &Action) -> Vec<Effect> {
    let Some(Layer::Palette(palette)) = state.layers.last_mut() else { return Vec::new() };
    match action {
        Action::Edit(edit) if palette.input.edit(edit) => {
            palette.selected = 0;
        }
        Action::Go(Go::Up) => palette.selected = palette.selected.saturating_sub(1),
        Action::Go(Go::Down) => {
            palette.selected = (palette.selected + 1).min(palette.entries().len().saturating_sub(1));
        }
        Action::Go(go) => {
            palette.input.go(*go);
        }
        Action::Accept => {
            let chosen = palette.entries().into_iter().nth(palette.selected).map(|(entry, _)| entry);
            let typed = palette.input.text().trim().to_owned();
            let lists_all = palette.listed == Listed::All;
            state.layers.pop();
            // Who edits by vi's keys types its commands behind any colon.
            if lists_all && state.vi.is_some() && vi::is_command(&typed) {
                return vi::run_command(&typed, state);
            }
            return match chosen {
                Some(Entry::Command(binding)) => carry_out(state, &binding.action, binding.scope),
                Some(Entry::Export(exported)) => super::super::export::ask(state, exported),
                Some(Entry::Preset(preset)) => super::library::answer_preset(state, preset),
                Some(Entry::Script(script)) => super::library::ask(state, &script),
                Some(Entry::Saved(path)) => documents::open_path(state, Some(path)),
                Some(Entry::Process(pid, _)) => super::in_pane(state, state.panes.focus(), &Action::Process(pid)),
                Some(Entry::Scope(chosen)) => scope::take(state, chosen),
                Some(Entry::Clauses(clauses)) => super::library::insert_clauses(state, clauses),
                None => Vec::new(),
            };
        }
        _ => {}
    }
    Vec::new()
}

/// A command of the palette acts in the pane that it belongs to.
fn carry_out(state: &mut State, action: &Action, scope: super::super::keys::Scope) -> Vec<Effect> {
    use super::super::keys::Scope;
    if let Some(app) = app_of(action) {
        return super::app::act(state, app);
    }
    if let Scope::Pane(kind) = scope {
        state.focus_on(kind);
    }
    super::act(state, action)
}

/// The line in which a path is typed.
fn path_line(state: &mut State) -> Option<&mut Input> {
    match state.layers.last_mut() {
        Some(Layer::OpenFile(input) | Layer::SaveAs(input)) => Some(input),
        _ => None,
    }
}

/// Takes what completes the path that is typed, unless it was changed meanwhile.
pub(super) fn path_completed(state: &mut State, typed: &str, completed: &str, names: &[String]) {
    let Some(input) = path_line(state).filter(|input| input.before() == typed) else { return };
    let goes_on = completed != typed;
    if goes_on {
        let behind = input.text()[input.before().len()..].to_owned();
        *input = Input::with_cursor(completed, &behind);
    } else if names.is_empty() {
        state.tell(Severity::Info, "No file there begins so");
    } else {
        state.tell(Severity::Info, names.join("  "));
    }
}

fn save_as(state: &mut State, action: &Action) -> Vec<Effect> {
    let Some(Layer::SaveAs(input)) = state.layers.last_mut() else { return Vec::new() };
    let Some(name) = input.answer(action) else { return Vec::new() };
    let path = typed_path(&name, state.home.as_deref());
    state.layers.pop();
    if path.as_os_str().is_empty() {
        state.tell(Severity::Info, "Not saved: no name given");
        return Vec::new();
    }
    // The file gets its new name when it has been written.
    state.document.save_as = Some(path.clone());
    let over = super::app::expected(state, &path);
    vec![Effect::Save { path, text: state.document.editor.shared(), fresh: false, over }]
}

/// Filters what the pane that has the keys shows, else the events.
pub(super) fn filter_by(state: &mut State, text: &str) -> Vec<Effect> {
    in_filtered(state, &Action::Filter(text.to_owned()))
}

/// Applies an intent in the pane whose filter is typed.
fn in_filtered(state: &mut State, action: &Action) -> Vec<Effect> {
    let pane = state.filtered();
    pane.map_or_else(Vec::new, |pane| super::in_pane(state, pane, action))
}

fn filter(state: &mut State, action: &Action) -> Vec<Effect> {
    let Some(Layer::Filter(input)) = state.layers.last_mut() else { return Vec::new() };
    match action {
        Action::Edit(
            Edit::Insert(_)
            | Edit::Paste(_)
            | Edit::Backspace
            | Edit::Delete
            | Edit::DeleteWord
            | Edit::DeleteLineEnd
            | Edit::DeleteLineStart,
        ) => {
            if let Action::Edit(edit) = action {
                input.edit(edit);
            }
            let text = input.text().to_owned();
            filter_by(state, &text);
        }
        Action::Go(Go::Up | Go::Down) => return in_filtered(state, action),
        Action::Go(go) => {
            input.go(*go);
        }
        Action::Accept => {
            state.layers.pop();
        }
        _ => {}
    }
    Vec::new()
}
