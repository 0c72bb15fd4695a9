//! The keys of the script.

use crossterm::event::{KeyCode, KeyModifiers};

use super::KIND;
use crate::tui::base::action::{Action, App, Edit, Go};
use crate::tui::base::intents::intents;
use crate::tui::base::key::{
    BACKSPACE, Binding, DELETE, DOWN, END, ENTER, ESC, HOME, Key, LEFT, PAGE_DOWN, PAGE_UP, RIGHT, Scope, TAB, UP, alt,
    bind, ch, control, ctrl, f, shift,
};

intents! {
    /// What the script alone can be asked for.
    in "script";
    /// List the states of the text.
    History = "history",
    /// Edit by vi's keys, or not any more.
    ViKeys = "vi keys",
    /// Open the members of the arguments of the probe at the cursor.
    Lens = "lens",
}

/// All of them.
pub static BINDINGS: &[Binding] = &[
    bind(
        Scope::Pane(KIND),
        &[ctrl('s'), f(5)],
        Action::App(App::Run),
        "run",
        "Save, compile and attach the script",
        true,
    ),
    bind(
        Scope::Pane(KIND),
        &[ch('/')],
        Action::Edit(Edit::Insert('/')),
        "probes",
        "Browse the probes, where a new clause can begin (// is still a comment)",
        false,
    ),
    bind(Scope::Pane(KIND), &[ESC], Action::App(App::FocusNext), "panes", "Go to the output", false),
    bind(Scope::Pane(KIND), &[ENTER], Action::Edit(Edit::Newline), "", "New line, indented", false),
    bind(Scope::Pane(KIND), &[TAB], Action::Edit(Edit::Tab), "", "Complete the word, or indent", false),
    bind(
        Scope::Pane(KIND),
        &[ctrl(' '), alt('/')],
        Action::App(App::Complete),
        "",
        "Offer what could be typed at the cursor",
        true,
    ),
    bind(Scope::Pane(KIND), &[ctrl('f')], Action::App(App::Find), "", "Find text in the script", true),
    bind(Scope::Pane(KIND), &[BACKSPACE, ctrl('h')], Action::Edit(Edit::Backspace), "", "Delete backwards", false),
    bind(Scope::Pane(KIND), &[DELETE], Action::Edit(Edit::Delete), "", "Delete forwards", false),
    bind(
        Scope::Pane(KIND),
        &[ctrl('w'), Key { code: KeyCode::Backspace, modifiers: KeyModifiers::ALT }, control(KeyCode::Backspace)],
        Action::Edit(Edit::DeleteWord),
        "",
        "Delete a word backwards",
        false,
    ),
    bind(Scope::Pane(KIND), &[ctrl('z'), ctrl('u')], Action::Edit(Edit::Undo), "", "Undo", true),
    bind(Scope::Pane(KIND), &[ctrl('y'), ctrl('r')], Action::Edit(Edit::Redo), "", "Redo", true),
    bind(
        Scope::Pane(KIND),
        &[Key { code: KeyCode::Char('z'), modifiers: KeyModifiers::CONTROL.union(KeyModifiers::ALT) }],
        Intent::History.action(),
        "",
        "Choose among all states of the text, those that were undone too",
        true,
    ),
    bind(Scope::Pane(KIND), &[], Intent::ViKeys.action(), "", "Edit the script by vi's keys, or not any more", true),
    bind(Scope::Pane(KIND), &[], Action::Edit(Edit::Older), "", "Undo in the order of time, across branches", true),
    bind(Scope::Pane(KIND), &[], Action::Edit(Edit::Newer), "", "Redo in the order of time, across branches", true),
    bind(Scope::Pane(KIND), &[ctrl('a')], Action::Edit(Edit::SelectAll), "", "Mark the whole script", true),
    bind(Scope::Pane(KIND), &[ctrl('x')], Action::Edit(Edit::Cut), "", "Cut what is marked", false),
    bind(Scope::Pane(KIND), &[ctrl('v')], Action::Edit(Edit::PasteCopied), "", "Insert what was cut or copied", false),
    bind(
        Scope::Pane(KIND),
        &[ctrl('/'), ctrl('7')],
        Action::Edit(Edit::ToggleComment),
        "",
        "Comment lines out, or in again",
        true,
    ),
    bind(Scope::Pane(KIND), &[f(4)], Action::App(App::NextProblem), "problem", "Go to the next problem", true),
    bind(
        Scope::Pane(KIND),
        &[f(3)],
        Action::App(App::ExplainProblem),
        "",
        "Show the problem under the cursor in full",
        true,
    ),
    bind(
        Scope::Pane(KIND),
        &[alt('f'), control(KeyCode::Enter)],
        Action::App(App::FixProblem),
        "",
        "Apply the fix of the problem under the cursor",
        true,
    ),
    bind(
        Scope::Pane(KIND),
        &[alt('d'), ctrl(']'), ctrl('5')],
        Action::App(App::Definition),
        "",
        "Go to where the name under the cursor is defined",
        true,
    ),
    bind(Scope::Pane(KIND), &[alt('b')], Action::App(App::JumpBack), "", "Go back to where that jump began", true),
    bind(
        Scope::Pane(KIND),
        &[alt('r')],
        Action::App(App::Rename),
        "",
        "Give the name under the cursor another one, everywhere",
        true,
    ),
    bind(Scope::Pane(KIND), &[alt('s')], Intent::Lens.action(), "", "Open the members of the probe's arguments", true),
    bind(Scope::Pane(KIND), &[alt('i')], Action::App(App::Format), "", "Format the script", true),
    bind(Scope::Pane(KIND), &[UP], Action::Go(Go::Up), "", "Line up", false),
    bind(Scope::Pane(KIND), &[DOWN], Action::Go(Go::Down), "", "Line down", false),
    bind(Scope::Pane(KIND), &[LEFT], Action::Go(Go::Left), "", "Character left", false),
    bind(Scope::Pane(KIND), &[RIGHT], Action::Go(Go::Right), "", "Character right", false),
    bind(Scope::Pane(KIND), &[PAGE_UP], Action::Go(Go::PageUp), "", "Page up", false),
    bind(Scope::Pane(KIND), &[PAGE_DOWN], Action::Go(Go::PageDown), "", "Page down", false),
    bind(Scope::Pane(KIND), &[HOME], Action::Go(Go::Home), "", "Start of the line, or of its text", false),
    bind(Scope::Pane(KIND), &[END, ctrl('e')], Action::Go(Go::End), "", "End of the line", false),
    bind(
        Scope::Pane(KIND),
        &[control(KeyCode::Left), Key { code: KeyCode::Left, modifiers: KeyModifiers::ALT }],
        Action::Go(Go::WordLeft),
        "",
        "Word left",
        false,
    ),
    bind(
        Scope::Pane(KIND),
        &[control(KeyCode::Right), Key { code: KeyCode::Right, modifiers: KeyModifiers::ALT }],
        Action::Go(Go::WordRight),
        "",
        "Word right",
        false,
    ),
    bind(Scope::Pane(KIND), &[control(KeyCode::Home)], Action::Go(Go::Top), "", "Start of the script", false),
    bind(Scope::Pane(KIND), &[control(KeyCode::End)], Action::Go(Go::Bottom), "", "End of the script", false),
    bind(Scope::Pane(KIND), &[shift(KeyCode::Up)], Action::Extend(Go::Up), "", "Mark upwards", false),
    bind(Scope::Pane(KIND), &[shift(KeyCode::Down)], Action::Extend(Go::Down), "", "Mark downwards", false),
    bind(Scope::Pane(KIND), &[shift(KeyCode::Left)], Action::Extend(Go::Left), "", "Mark to the left", false),
    bind(Scope::Pane(KIND), &[shift(KeyCode::Right)], Action::Extend(Go::Right), "", "Mark to the right", false),
    bind(
        Scope::Pane(KIND),
        &[shift(KeyCode::Home)],
        Action::Extend(Go::Home),
        "",
        "Mark to the start of the line",
        false,
    ),
    bind(Scope::Pane(KIND), &[shift(KeyCode::End)], Action::Extend(Go::End), "", "Mark to the end of the line", false),
];
