//! All keys, from the key table.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::reader::{page, scrolled};
use crate::tui::base::action::Action;
use crate::tui::base::key::Scope;
use crate::tui::base::paint::{centred, clear, frame, note, put};
use crate::tui::base::text::{fit, width, wrap};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::pane::{Layer, Turn};

/// The keys of a scope: its heading, and keys with what they do.
pub type Keys = (&'static str, Vec<(String, &'static str)>);

/// The help.
#[derive(Clone, Debug)]
pub struct Help {
    /// By scope.
    pub keys: Vec<Keys>,
    /// First line shown.
    pub top: usize,
}

/// A line of the help.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    /// Heading of a scope.
    Heading(&'static str),
    /// Keys and what they do; the keys are empty where a text goes on.
    Entry(String, String),
    /// Nothing.
    Blank,
}

/// The overlay's frame.
fn place(body: Rect) -> Rect {
    centred(body, 100, body.height.saturating_sub(2).max(3))
}

/// Columns of the keys and of the texts.
fn split(area: Rect) -> (usize, usize) {
    let inside = usize::from(area.width).saturating_sub(2);
    let keys = if inside < 60 { 14 } else { 30 };
    (keys, inside.saturating_sub(keys + 4).max(8))
}

impl Help {
    /// The help, its texts wrapped to what the screen gives.
    fn lines(&self, body: Rect) -> Vec<Line> {
        let (keys, room) = split(place(body));
        let mut out = Vec::new();
        for (title, entries) in &self.keys {
            if !out.is_empty() {
                out.push(Line::Blank);
            }
            out.push(Line::Heading(title));
            for (names, about) in entries {
                let names = fit(names, keys).into_owned();
                let mut about = wrap(about, room).into_iter();
                out.push(Line::Entry(names, about.next().unwrap_or_default()));
                out.extend(about.map(|more| Line::Entry(String::new(), more)));
            }
        }
        out
    }

    /// First line that can be at the top.
    fn last_top(&self, body: Rect) -> usize {
        self.lines(body).len().saturating_sub(usize::from(place(body).height).saturating_sub(2))
    }
}

impl Layer for Help {
    fn scope(&self) -> Scope {
        Scope::Reader
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, body: Rect) {
        if let Action::Go(go) = action {
            self.top = scrolled(self.top, *go, page(turn), self.last_top(body));
        }
    }

    fn draw(&self, data: &Data, buf: &mut Buffer, body: Rect) {
        let theme = &data.theme;
        let area = place(body);
        clear(buf, area, theme[Slot::Overlay]);
        let inside = frame(buf, area, theme, true, "Keys");
        let (keys, _) = split(area);
        let all = self.lines(body);
        let top = self.top.min(self.last_top(body));
        let last = (top + usize::from(inside.height)).min(all.len());
        note(buf, area, &format!("{}–{last} of {}", top + 1, all.len()), theme[Slot::Faint], 8);
        for (y, line) in all.iter().skip(top).take(usize::from(inside.height)).enumerate() {
            match line {
                Line::Heading(title) => {
                    put(buf, inside, 1, y, title, theme[Slot::TitleFocus]);
                }
                Line::Entry(names, about) => {
                    put(buf, inside, 1 + keys - width(names).min(keys), y, names, theme[Slot::Key]);
                    put(buf, inside, keys + 3, y, about, theme[Slot::Overlay]);
                }
                Line::Blank => {}
            }
        }
    }
}
