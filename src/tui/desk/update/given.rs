//! What a script is given besides its text: its parameters, its options, and leave to change the traced system.

use super::super::state::State;
use crate::lang::codes;
use crate::lang::diagnostic::{Diagnostic, Severity};
use crate::lang::front::Wanted;
use crate::tracer::script::child;
use crate::tracer::script::compilation::Given;
use crate::tui::base::action::{Action, App};
use crate::tui::base::input::Input;
use crate::tui::data::document::{Document, line_of};
use crate::tui::layers::line::Line;
use crate::tui::layers::reader::Confirm;
use crate::tui::pane::Ask;
use crate::tui::pane::ask::Listing;

/// Lines of a script that are told in a question, and characters of each.
const MOST_LINES: usize = 4;
const MOST_OF_LINE: usize = 60;

/// Asks for parameters that the script cannot do without, once, before it is run by `then`; true when it asks.
pub fn asks(state: &mut State, then: App) -> bool {
    let wanted = state.document.language().wanted(&state.document.source());
    let given = state.document.given.params.len();
    if wanted.positional as usize <= given || state.document.answered {
        return false;
    }
    open(state, &wanted, Some(then));
    true
}

/// Asks for parameters and options.
pub fn ask(state: &mut State) {
    let wanted = state.document.language().wanted(&state.document.source());
    open(state, &wanted, None);
}

fn open(state: &mut State, wanted: &Wanted, then: Option<App>) {
    let title = in_words(wanted);
    let input = Input::proposing(&line_of(&state.document.given));
    state.open(Line::new(title, input, move |line| {
        let words = child::words(line).map_err(|why| why.to_string())?;
        Ok(Ask::Take(Listing::Parameters(words, then)))
    }));
}

/// What a script wants, for the title of the line that is typed.
fn in_words(wanted: &Wanted) -> String {
    let numbers = (1..=wanted.positional).map(|n| format!("${n}"));
    let options = wanted.options.iter().map(|option| {
        let dashes = if option.name.len() == 1 { "-" } else { "--" };
        format!("{dashes}{}", option.name)
    });
    let all: Vec<String> = numbers.chain(options).collect();
    if all.is_empty() {
        return "Parameters ($1 and on), --options".to_owned();
    }
    format!("The script takes {}", all.join(" "))
}

/// Gives the script what was typed, and goes on.
pub(super) fn take(state: &mut State, words: Vec<String>, then: Option<App>) {
    let unsafe_allowed = state.document.given.unsafe_allowed;
    let wanted = state.document.language().wanted(&state.document.source());
    state.document.given = Given { unsafe_allowed, ..Given::from_words(words, &wanted) };
    state.document.answered = true;
    // What was said of the text was said without them.
    state.document.kept = "".into();
    match then {
        Some(app) => state.asks.push(Ask::Act(Action::App(app))),
        None => state.tell(Severity::Info, "Ctrl-S runs the script with them"),
    }
}

/// What a text would do to the traced system, where nothing but the leave to is missing.
pub(super) fn wants_leave(document: &Document, diagnostics: &[Diagnostic]) -> Option<String> {
    let acts = |d: &&Diagnostic| codes::is_refused_act(d.code);
    let errors = || diagnostics.iter().filter(|d| d.severity == Severity::Error);
    if errors().next().is_none() || errors().any(|d| !acts(&d)) {
        return None;
    }
    let text = &document.submitted;
    let told = errors().map(|d| {
        let start = (d.span.start as usize).min(text.len());
        let number = text.get(..start).unwrap_or("").matches('\n').count();
        let line = text.lines().nth(number).unwrap_or("").trim();
        format!("line {}: {}", number + 1, line.chars().take(MOST_OF_LINE).collect::<String>())
    });
    let told: Vec<String> = told.take(MOST_LINES + 1).collect();
    let more = if told.len() > MOST_LINES { " And more." } else { "" };
    Some(format!("{}.{more}", told[..told.len().min(MOST_LINES)].join("; ")))
}

/// Asks whether the script may do what it wants, once it was refused for want of leave.
pub(super) fn ask_leave(state: &mut State) {
    let Some(told) = state.document.wants_leave.take().filter(|_| state.layers.is_empty()) else { return };
    state.open(Confirm {
        title: format!("{} acts on this system. Run it?", state.name()),
        about: format!("{told} What it does is not undone, and it runs with your rights. Alt-U takes the leave back."),
        yes: Action::App(App::RunWithLeave),
    });
}

/// Gives the leave that was asked for, and runs the script.
pub(super) fn run_with_leave(state: &mut State) {
    state.document.given.unsafe_allowed = true;
    state.document.kept = "".into();
    state.asks.push(Ask::Act(Action::App(App::RunUnsaved)));
}

/// Lets the script change the traced system, after a question, or takes that back.
pub(super) fn toggle_unsafe(state: &mut State) {
    if state.document.given.unsafe_allowed {
        allow(state, false);
        return;
    }
    state.open(Confirm {
        title: format!("Let {} change the system?", state.name()),
        about: "It may run commands, send signals, write to memory and fail kernel functions, as --unsafe allows."
            .to_owned(),
        yes: Action::App(App::AllowUnsafe(true)),
    });
}

/// Allows it, or not any more.
pub(super) fn allow(state: &mut State, allowed: bool) {
    state.document.given.unsafe_allowed = allowed;
    state.document.kept = "".into();
    let may = if allowed { "may change the system (unsafe)" } else { "may not change the system any more" };
    let name = state.name();
    state.tell(Severity::Info, format!("{name} {may}, from its next run on"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::codes::check::NEEDS_UNSAFE;
    use crate::lang::codes::run::NOT_RUN;
    use crate::lang::source::Span;
    use crate::session::update::ScriptId;
    use crate::tui::data::document::File;

    #[test]
    fn a_script_that_lacks_nothing_but_leave_says_what_it_would_do() {
        let mut document = Document::new(ScriptId(1), "", File::default());
        document.submitted = "BEGIN\n{\n    system(\"reboot\");\n}\n".into();
        let at = document.submitted.find("system").unwrap() as u32;
        let acts = Diagnostic::error(NEEDS_UNSAFE, Span::new(at, at + 6), "unsafe".to_owned());
        let told = wants_leave(&document, std::slice::from_ref(&acts)).unwrap();
        assert_eq!(told, "line 3: system(\"reboot\");.");
        let other = Diagnostic::error(NOT_RUN, Span::new(0, 1), "else".to_owned());
        assert_eq!(wants_leave(&document, &[acts, other]), None, "another error is to be mended first");
        assert_eq!(wants_leave(&document, &[]), None);
    }

    #[test]
    fn parameters_are_read_from_the_line_that_they_are_shown_as() {
        let words = ["12", "a b", "it's", "", "--pid=7", "--failed", "-x"].map(str::to_owned).to_vec();
        let wanted = Wanted { positional: 1, takes_words: true, ..Wanted::default() };
        let given = Given::from_words(words, &wanted);
        assert_eq!(given.params, ["12", "a b", "it's", "", "-x"]);
        assert_eq!(given.named, [("pid".to_owned(), Some("7".to_owned())), ("failed".to_owned(), None)]);
        let again = Given::from_words(child::words(&line_of(&given)).unwrap(), &wanted);
        assert_eq!(again, given);
        let limited = Given { pid: Some(7), ..Given::default() };
        assert_eq!(Given::from_words(child::words(&line_of(&limited)).unwrap(), &Wanted::default()), limited);
    }
}
