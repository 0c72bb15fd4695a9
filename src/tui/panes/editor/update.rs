//! Changes of a script: what is asked of its text.

use super::keys::Intent;
use super::{completing, history, names};
use crate::lang::diagnostic::Severity;
use crate::tui::base::action::{Action, Edit, Pick, Picked};
use crate::tui::data::Data;
use crate::tui::data::effect::Effect;
use crate::tui::data::vi::{self, Wanted};
use crate::tui::layers::browser::Browser;
use crate::tui::layers::lens;
use crate::tui::pane::ask::{Change, Listing};
use crate::tui::pane::{Ask, Turn};

/// Changes the script that is worked on.
pub fn change(turn: &mut Turn<&mut Data>, change: Change) {
    match change {
        Change::Text(action, page) => {
            if !completing::popup(turn, &action) {
                act(turn, &action, page);
            }
        }
        Change::Replace(span, text) => turn.document.editor.replace(span, &text),
        Change::Paste(text) => {
            turn.document.editor.edit(&Edit::Paste(text));
        }
        Change::Insert(clause) => turn.document.editor.insert_clause(&clause),
        Change::Stage(number) => history::take(turn, number),
        Change::Rename(name) => names::rename(turn, &name),
        Change::Find(query, step) => completing::find_next(turn, &query, step),
    }
}

/// Applies an intent in the script, of which so many rows are seen.
fn act(turn: &mut Turn<&mut Data>, action: &Action, page: usize) {
    match action {
        Action::Edit(Edit::Insert('/'))
            if turn.document.editor.at_clause_start() && turn.document.editor.marked().is_none() =>
        {
            Browser::open(turn, true);
        }
        Action::Edit(Edit::Tab) if completing::tab_completes(turn) => completing::ask(turn, true),
        Action::Edit(edit) => {
            turn.document.editor.edit(edit);
            match edit {
                Edit::Copy | Edit::Cut => {
                    let copied = turn.document.editor.copied();
                    turn.out(Effect::Copy(copied));
                }
                _ => completing::typed(turn, edit),
            }
        }
        Action::Go(go) => {
            turn.document.assist.popup = None;
            turn.document.editor.go(*go, false, page);
        }
        Action::Extend(go) => turn.document.editor.go(*go, true, page),
        Action::Vi(key) => press(turn, *key, page),
        Action::Pick(Pick::Text { line, column }, how) => {
            turn.document.assist.popup = None;
            turn.document.editor.go_to((*line, *column), *how == Picked::Dragged);
        }
        _ => {
            if let Some(intent) = Intent::of(action) {
                own(turn, intent);
            }
        }
    }
}

/// Takes a key of vi's.
fn press(turn: &mut Turn<&mut Data>, key: char, page: usize) {
    let Some(mut vi) = turn.vi.take() else { return };
    turn.document.assist.popup = None;
    let wanted = vi.press(key, &mut turn.document.editor, page);
    turn.vi = Some(vi);
    carry_out(turn, wanted);
}

/// Does what a line of vi's command line says.
pub fn vi_command(turn: &mut Turn<&mut Data>, line: &str) {
    let wanted = vi::run_command(line, &mut turn.document.editor);
    carry_out(turn, wanted);
}

fn carry_out(turn: &mut Turn<&mut Data>, wanted: Option<Wanted>) {
    match wanted {
        Some(Wanted::App(app)) => turn.app(app),
        Some(Wanted::Copy(text)) => turn.out(Effect::Copy(text)),
        Some(Wanted::Open(name)) => turn.ask(Ask::Take(Listing::Typed(name))),
        Some(Wanted::Tell(severity, text)) => turn.tell(severity, text),
        None => {}
    }
}

fn own(turn: &mut Turn<&mut Data>, intent: Intent) {
    match intent {
        Intent::ViKeys => {
            vi::turn(&mut turn.vi);
            let how = if turn.vi.is_some() { "The script is edited by vi's keys" } else { "Letters are text again" };
            turn.tell(Severity::Info, how);
        }
        Intent::History => history::open(turn),
        Intent::Lens => lens_here(turn),
    }
}

/// Asks for the members of the arguments of the probe in whose clause the cursor is.
fn lens_here(turn: &mut Turn<&mut Data>) {
    if !turn.document.language().extensions().contains(&"bt") {
        turn.tell(Severity::Info, "The struct lens knows scripts in bpftrace's language only");
    } else if let Some(probe) = lens::update::probe_at_cursor(&turn.document) {
        turn.out(Effect::Lens(probe.into()));
    } else {
        turn.tell(Severity::Info, "Put the cursor between the braces of a clause: its probe's arguments are opened");
    }
}
