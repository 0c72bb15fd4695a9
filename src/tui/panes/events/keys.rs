//! The keys of the events.

use super::KIND;
use crate::tui::base::action::{Action, Events, Go};
use crate::tui::base::intents::intents;
use crate::tui::base::key::{Binding, ENTER, LEFT, RIGHT, Scope, bind, ch};

intents! {
    /// What this pane alone can be asked for.
    in "events";
    /// Filter by a value of the chosen event.
    Field = "field",
    /// List the values of a field.
    Values = "values",
    /// Compare structs to that of the chosen event.
    MarkStruct = "mark struct",
    /// Give the clause of the chosen event a predicate.
    Predicate = "predicate",
    /// Copy a value.
    Cell = "cell",
    /// Hide what probescope itself causes.
    Own = "own",
}

/// All of them.
pub static BINDINGS: &[Binding] = &[
    bind(
        Scope::Pane(KIND),
        &[ch('f')],
        Action::Events(Events::Filter),
        "filter",
        "Filter the lines: words, -without, ~letters in order",
        true,
    ),
    bind(
        Scope::Pane(KIND),
        &[ch('F')],
        Action::Events(Events::Follow),
        "follow",
        "Follow the newest line, or stay",
        true,
    ),
    bind(Scope::Pane(KIND), &[ch('c')], Action::Events(Events::Clear), "", "Forget the lines so far", true),
    bind(Scope::Pane(KIND), &[ch('y')], Action::Events(Events::Copy), "", "Copy the selected line", true),
    bind(
        Scope::Pane(KIND),
        &[ch('T')],
        Action::Events(Events::Clock),
        "clock",
        "Show times of the day, or times since the trace began",
        true,
    ),
    bind(
        Scope::Pane(KIND),
        &[ch('o')],
        Intent::Own.action(),
        "own",
        "Hide the lines that name a thread of probescope itself (marked ·), or show them",
        true,
    ),
    bind(Scope::Pane(KIND), &[ENTER], Action::Accept, "open", "Show the selected line in full", false),
    bind(Scope::Pane(KIND), &[LEFT, ch('h')], Action::Go(Go::Left), "", "Scroll left", false),
    bind(Scope::Pane(KIND), &[RIGHT], Action::Go(Go::Right), "", "Scroll right", false),
    bind(
        Scope::Pane(KIND),
        &[ch('=')],
        Intent::Field.action(),
        "",
        "Show only events with a value of the chosen one",
        true,
    ),
    bind(
        Scope::Pane(KIND),
        &[ch('w')],
        Intent::Predicate.action(),
        "",
        "Let the clause fire only with a value of the chosen event",
        true,
    ),
    bind(
        Scope::Pane(KIND),
        &[ch('D')],
        Intent::Values.action(),
        "",
        "List the values of a field with their counts",
        true,
    ),
    bind(Scope::Pane(KIND), &[ch('M')], Intent::MarkStruct.action(), "", "Compare captured structs to this one", true),
    bind(Scope::Pane(KIND), &[ch('Y')], Intent::Cell.action(), "", "Copy a value of the chosen event", true),
];
