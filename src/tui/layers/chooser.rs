//! A list to choose from: kinds of new panes, saved layouts.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::tui::base::action::{Action, Go};
use crate::tui::base::key::Scope;
use crate::tui::base::paint::{centred, clear, frame, put, style_row};
use crate::tui::base::text::{fit, neutralise, width};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::data::effect::Effect;
use crate::tui::layers::Struck;
use crate::tui::pane::ask::Change;
use crate::tui::pane::{Ask, Layer, Turn};
use crate::tui::widgets::rows::copy;

/// What becomes of a choice.
#[derive(Clone, Debug, PartialEq)]
pub enum Taken {
    /// This is done as if by a key.
    Act(Action),
    /// This is done in the pane that has the keys.
    InPane(Action),
    /// What is shown is filtered by this.
    Filter(String),
    /// This goes on the clipboard.
    Copy(String),
    /// The layout of this name is restored.
    Layout(String),
    /// The theme of this name is used; it is shown as soon as it is selected.
    Theme(String),
    /// The script that is worked on is changed.
    Change(Change),
}

/// Something to choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// As people call it.
    pub title: String,
    /// What it is.
    pub about: String,
    /// What becomes of it.
    pub taken: Taken,
}

/// The list.
#[derive(Clone, Debug, PartialEq)]
pub struct Chooser {
    /// Title of the frame.
    pub title: &'static str,
    /// What there is.
    pub choices: Vec<Choice>,
    /// Selected one.
    pub selected: usize,
    /// The theme that is in use until the choice is made.
    pub before: Option<String>,
}

impl Chooser {
    /// With the first one selected.
    #[must_use]
    pub const fn new(title: &'static str, choices: Vec<Choice>) -> Self {
        Self { title, choices, selected: 0, before: None }
    }

    fn place(&self, body: Rect) -> Rect {
        let rows = u16::try_from(self.choices.len().max(1) + 2).unwrap_or(u16::MAX);
        centred(body, 76, rows.min(body.height.saturating_sub(2)).max(3))
    }

    fn first(&self, rows: usize) -> usize {
        (self.selected + 1).saturating_sub(rows)
    }

    /// Applies an intent; gives the choice once it is made.
    fn answer(&mut self, action: &Action) -> Option<Choice> {
        let last = self.choices.len().saturating_sub(1);
        match action {
            Action::Go(Go::Up) => self.selected = self.selected.checked_sub(1).unwrap_or(last),
            Action::Go(Go::Down) => self.selected = if self.selected == last { 0 } else { self.selected + 1 },
            Action::Go(Go::Top | Go::PageUp) => self.selected = 0,
            Action::Go(Go::Bottom | Go::PageDown) => self.selected = last,
            Action::Accept => return self.choices.get(self.selected).cloned(),
            _ => {}
        }
        None
    }

    /// The choice at a place of the screen.
    fn at(&self, body: Rect, at: (u16, u16)) -> Struck {
        let area = self.place(body);
        if !area.contains(Position::new(at.0, at.1)) {
            return Struck::Outside;
        }
        let rows = usize::from(area.height).saturating_sub(2);
        let line = usize::from(at.1 - area.y).checked_sub(1).filter(|l| *l < rows);
        Struck::inside(line.map(|l| self.first(rows) + l).filter(|i| *i < self.choices.len()))
    }
}

impl Chooser {
    /// Shows the theme that is selected in the list.
    fn preview(&self, turn: &mut Turn<&Data>) {
        if let Some(Taken::Theme(name)) = self.choices.get(self.selected).map(|choice| &choice.taken) {
            turn.ask(Ask::Theme(name.clone(), false));
        }
    }
}

impl Layer for Chooser {
    fn scope(&self) -> Scope {
        Scope::List
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, _body: Rect) {
        let Some(choice) = self.answer(action) else { return self.preview(turn) };
        turn.leave();
        match choice.taken {
            Taken::Act(action) => turn.ask(Ask::Act(action)),
            Taken::InPane(action) => turn.ask(Ask::InPane(action)),
            Taken::Filter(text) => turn.ask(Ask::Filtered(Action::Filter(text))),
            Taken::Copy(text) => copy(turn, Some(text)),
            Taken::Layout(name) => turn.out(Effect::ReadLayout(name)),
            Taken::Theme(name) => turn.ask(Ask::Theme(name, true)),
            Taken::Change(change) => turn.change(change),
        }
    }

    fn cancel(&mut self, turn: &mut Turn<&Data>) {
        if let Some(name) = self.before.take() {
            turn.ask(Ask::Theme(name, false));
        }
    }

    fn press(&mut self, at: (u16, u16), turn: &mut Turn<&Data>, body: Rect) -> Option<Action> {
        match self.at(body, at) {
            Struck::Outside => Some(Action::Cancel),
            Struck::Entry(index) if index == self.selected => Some(Action::Accept),
            Struck::Entry(index) => {
                self.selected = index;
                self.preview(turn);
                None
            }
            Struck::Frame => None,
        }
    }

    fn draw(&self, data: &Data, buf: &mut Buffer, body: Rect) {
        let theme = &data.theme;
        let area = self.place(body);
        clear(buf, area, theme[Slot::Overlay]);
        let inside = frame(buf, area, theme, true, self.title);
        let (rows, columns) = (usize::from(inside.height), usize::from(inside.width));
        let names = self.choices.iter().map(|c| width(&c.title)).max().unwrap_or(0).clamp(8, 24);
        for (y, (i, choice)) in self.choices.iter().enumerate().skip(self.first(rows)).take(rows).enumerate() {
            put(buf, inside, 2, y, &fit(&neutralise(&choice.title), names), theme[Slot::Overlay]);
            let room = columns.saturating_sub(names + 5);
            put(buf, inside, names + 4, y, &fit(&neutralise(&choice.about), room), theme[Slot::Dim]);
            if i == self.selected {
                style_row(buf, inside, y, theme[Slot::Selected]);
            }
        }
    }
}
