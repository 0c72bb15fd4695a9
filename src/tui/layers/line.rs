//! Lines that are typed: in a frame of their own, or in that of a pane.

use std::fmt;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::lang::diagnostic::Severity;
use crate::tui::base::action::{Action, Edit, Go};
use crate::tui::base::input::Input;
use crate::tui::base::key::Scope;
use crate::tui::base::paint::{centred, clear, frame};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::data::effect::{Effect, Message};
use crate::tui::pane::ask::Change;
use crate::tui::pane::{Ask, Layer, Turn, Typed};
use crate::tui::widgets::frame::input_line;

/// What is done with a line, or why it can't be: then it stays open.
pub type Answer = Box<dyn Fn(&str) -> Result<Ask, String> + Send>;

/// A line in a frame of its own.
pub struct Line {
    /// What is typed.
    pub input: Input,
    title: String,
    completes_paths: bool,
    answer: Answer,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("title", &self.title).field("input", &self.input).finish_non_exhaustive()
    }
}

impl Line {
    /// A line of this title.
    #[must_use]
    pub fn new(
        title: impl Into<String>,
        input: Input,
        answer: impl Fn(&str) -> Result<Ask, String> + Send + 'static,
    ) -> Self {
        Self { input, title: title.into(), completes_paths: false, answer: Box::new(answer) }
    }

    /// Names of files are completed in it.
    #[must_use]
    pub fn of_paths(mut self) -> Self {
        self.completes_paths = true;
        self
    }
}

impl Layer for Line {
    fn scope(&self) -> Scope {
        Scope::Input
    }

    fn takes_text(&self) -> bool {
        true
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, _body: Rect) {
        if self.completes_paths && *action == Action::Edit(Edit::Tab) {
            return turn.out(Effect::CompletePath(self.input.before().to_owned()));
        }
        let Some(text) = self.input.answer(action) else { return };
        match (self.answer)(&text) {
            Ok(ask) => {
                turn.leave();
                turn.ask(ask);
            }
            Err(why) => turn.tell(Severity::Warning, why),
        }
    }

    fn answered(&mut self, message: &Message, turn: &mut Turn<&Data>, is_first: bool) {
        let Message::PathCompleted { typed, completed, names } = message else { return };
        // Unless it was changed meanwhile.
        if !is_first || !self.completes_paths || self.input.before() != typed {
            return;
        }
        if completed != typed {
            let behind = self.input.text()[self.input.before().len()..].to_owned();
            self.input = Input::with_cursor(completed, &behind);
        } else if names.is_empty() {
            turn.tell(Severity::Info, "No file there begins so");
        } else {
            turn.tell(Severity::Info, names.join("  "));
        }
    }

    fn draw(&self, data: &Data, buf: &mut Buffer, body: Rect) {
        let area = centred(body, 70, 3);
        clear(buf, area, data.theme[Slot::Overlay]);
        let inside = frame(buf, area, &data.theme, true, &self.title);
        input_line(&data.theme, &self.input, "›", buf, inside, 0);
    }
}

/// The filter of a pane, typed in its frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterLine(pub Input);

impl Layer for FilterLine {
    fn scope(&self) -> Scope {
        Scope::Input
    }

    fn takes_text(&self) -> bool {
        true
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, _body: Rect) {
        match action {
            Action::Edit(
                edit @ (Edit::Insert(_)
                | Edit::Paste(_)
                | Edit::Backspace
                | Edit::Delete
                | Edit::DeleteWord
                | Edit::DeleteLineEnd
                | Edit::DeleteLineStart),
            ) => {
                self.0.edit(edit);
                turn.ask(Ask::Filtered(Action::Filter(self.0.text().to_owned())));
            }
            Action::Go(Go::Up | Go::Down) => turn.ask(Ask::Filtered(action.clone())),
            Action::Go(go) => {
                self.0.go(*go);
            }
            Action::Accept => turn.leave(),
            _ => {}
        }
    }

    fn cancel(&mut self, turn: &mut Turn<&Data>) {
        turn.ask(Ask::Filtered(Action::Filter(String::new())));
    }

    fn draw(&self, _data: &Data, _buf: &mut Buffer, _body: Rect) {}

    fn typed(&self) -> Option<Typed<'_>> {
        Some(Typed::Filter(&self.0))
    }
}

/// Text to find in the script, typed in its frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FindLine(pub Input);

impl Layer for FindLine {
    fn scope(&self) -> Scope {
        Scope::Input
    }

    fn takes_text(&self) -> bool {
        true
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, _body: Rect) {
        let mut step = match action {
            Action::Edit(edit) => self.0.edit(edit).then_some(Go::Right),
            Action::Accept | Action::Go(Go::Down) => Some(Go::Down),
            Action::Go(Go::Up) => Some(Go::Up),
            Action::Go(go) => {
                self.0.go(*go);
                None
            }
            _ => None,
        };
        // Who edits by vi's keys has one for the next place.
        if turn.vi.is_some() && *action == Action::Accept {
            turn.leave();
            step = None;
        }
        turn.change(Change::Find(self.0.text().to_owned(), step));
    }

    fn draw(&self, _data: &Data, _buf: &mut Buffer, _body: Rect) {}

    fn typed(&self) -> Option<Typed<'_>> {
        Some(Typed::Find(&self.0))
    }
}
