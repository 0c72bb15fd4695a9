//! A list to choose from: kinds of new panes, saved layouts.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::super::action::{Action, Go};
use super::super::layout::tree::Axis;
use super::super::paint::{centred, clear, frame, put, style_row};
use super::super::state::State;
use super::super::text::{fit, neutralise, width};
use super::super::theme::Slot;

/// What becomes of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A pane of this kind splits the frame.
    Split(Axis),
    /// A pane of this kind becomes a tab of the frame.
    Tab,
    /// The layout of this name is restored.
    Layout,
    /// The theme of this name is used; it is shown as soon as it is selected.
    Theme,
    /// The events are filtered by this.
    Filter,
    /// The values of this field are listed.
    Values,
    /// This goes on the clipboard.
    Copy,
    /// The text of the script becomes that of this state.
    Stage,
    /// The clause of the event gets this predicate.
    Predicate,
}

/// Something to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// As people call it.
    pub title: String,
    /// What it is.
    pub about: String,
    /// Its name.
    pub name: String,
    /// What becomes of it.
    pub taken: Taken,
}

/// The list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chooser {
    /// Title of the frame.
    pub title: &'static str,
    /// What there is.
    pub choices: Vec<Choice>,
    /// Selected one.
    pub selected: usize,
    /// What is in use until the choice is made.
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
    pub fn answer(&mut self, action: &Action) -> Option<Choice> {
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

    /// The choice at a place of the screen by its index, `Some(None)` on the rest of the overlay.
    #[must_use]
    pub fn at(&self, body: Rect, at: (u16, u16)) -> Option<Option<usize>> {
        let area = self.place(body);
        if !area.contains(Position::new(at.0, at.1)) {
            return None;
        }
        let rows = usize::from(area.height).saturating_sub(2);
        let line = usize::from(at.1 - area.y).checked_sub(1).filter(|l| *l < rows);
        Some(line.map(|l| self.first(rows) + l).filter(|i| *i < self.choices.len()))
    }
}

/// Paints the overlay.
pub fn draw(state: &State, chooser: &Chooser, buf: &mut Buffer, body: Rect) {
    let theme = &state.theme;
    let area = chooser.place(body);
    clear(buf, area, theme[Slot::Overlay]);
    let inside = frame(buf, area, theme, true, chooser.title);
    let (rows, columns) = (usize::from(inside.height), usize::from(inside.width));
    let names = chooser.choices.iter().map(|c| width(&c.title)).max().unwrap_or(0).clamp(8, 24);
    for (y, (i, choice)) in chooser.choices.iter().enumerate().skip(chooser.first(rows)).take(rows).enumerate() {
        put(buf, inside, 2, y, &fit(&neutralise(&choice.title), names), theme[Slot::Overlay]);
        let room = columns.saturating_sub(names + 5);
        put(buf, inside, names + 4, y, &fit(&neutralise(&choice.about), room), theme[Slot::Dim]);
        if i == chooser.selected {
            style_row(buf, inside, y, theme[Slot::Selected]);
        }
    }
}
