//! Texts to read, and questions.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::base::action::{Action, App, Events, Go};
use crate::tui::base::key::Scope;
use crate::tui::base::paint::{centred, clear, frame, note, pieces, put};
use crate::tui::base::text::{fit, neutralise, width, wrap};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::data::effect::Effect;
use crate::tui::pane::ask::{Listing, Opening};
use crate::tui::pane::{Ask, Layer, Turn};

/// A text in a frame.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Reader {
    /// Title of the frame.
    pub title: String,
    /// Lines.
    pub lines: Vec<String>,
    /// First line shown.
    pub top: usize,
    /// Whether lines are broken at the frame rather than cut.
    pub wrap: bool,
}

/// Where a text of so many lines begins after a movement.
pub(super) fn scrolled(top: usize, go: Go, page: usize, last: usize) -> usize {
    let to = match go {
        Go::Up => top.saturating_sub(1),
        Go::Down => top + 1,
        Go::PageUp => top.saturating_sub(page),
        Go::PageDown => top + page,
        Go::Top => 0,
        Go::Bottom => last,
        _ => top,
    };
    to.min(last)
}

/// Lines that a page key goes by.
pub(super) fn page(data: &Data) -> usize {
    usize::from(data.size.1).saturating_sub(6).max(1)
}

impl Layer for Reader {
    fn scope(&self) -> Scope {
        Scope::Reader
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, _body: Rect) {
        match action {
            Action::Events(Events::Copy) => turn.out(Effect::Copy(self.lines.join("\n"))),
            Action::Go(go) => self.top = scrolled(self.top, *go, page(turn), self.lines.len().saturating_sub(1)),
            _ => {}
        }
    }

    fn draw(&self, data: &Data, buf: &mut Buffer, body: Rect) {
        let theme = &data.theme;
        let columns = body.width.saturating_sub(4).clamp(20, 110);
        let room = usize::from(columns).saturating_sub(4);
        let lines: Vec<String> = if self.wrap {
            self.lines.iter().flat_map(|l| wrap(&neutralise(l), room)).collect()
        } else {
            self.lines.iter().map(|l| fit(&neutralise(l), room).into_owned()).collect()
        };
        let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).clamp(3, body.height.saturating_sub(2).max(3));
        let area = centred(body, columns, height);
        clear(buf, area, theme[Slot::Overlay]);
        let inside = frame(buf, area, theme, true, &self.title);
        let rows = usize::from(inside.height);
        let top = self.top.min(lines.len().saturating_sub(rows));
        if lines.len() > rows {
            let shown = format!("{}–{} of {}", top + 1, (top + rows).min(lines.len()), lines.len());
            note(buf, area, &shown, theme[Slot::Faint], width(&self.title) + 4);
        }
        for (y, line) in lines.iter().skip(top).take(rows).enumerate() {
            put(buf, inside, 1, y, line, theme[Slot::Overlay]);
        }
    }
}

/// A question before something that can't be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirm {
    /// Title of the frame: the question.
    pub title: String,
    /// What would be lost.
    pub about: String,
    /// What is done after a yes, in the pane that has the keys.
    pub yes: Action,
}

impl Layer for Confirm {
    fn scope(&self) -> Scope {
        Scope::Confirm
    }

    fn app(&mut self, app: App, turn: &mut Turn<&Data>) -> bool {
        if app == App::Yes {
            turn.leave();
            turn.ask(Ask::Act(self.yes.clone()));
        }
        app == App::Yes
    }

    fn act(&mut self, _action: &Action, _turn: &mut Turn<&Data>, _body: Rect) {}

    fn draw(&self, data: &Data, buf: &mut Buffer, body: Rect) {
        let theme = &data.theme;
        // Inside of the frame, with two columns before the text and one after it.
        let lines = wrap(&self.about, usize::from(body.width.min(54)).saturating_sub(5));
        let area = centred(body, 54, u16::try_from(lines.len() + 5).unwrap_or(u16::MAX));
        clear(buf, area, theme[Slot::Overlay]);
        let inside = frame(buf, area, theme, true, &self.title);
        for (y, line) in lines.iter().enumerate() {
            put(buf, inside, 2, y + 1, &fit(line, usize::from(inside.width).saturating_sub(3)), theme[Slot::Overlay]);
        }
        let (key, plain) = (theme[Slot::Key], theme[Slot::Overlay]);
        pieces(buf, inside, 2, lines.len() + 2, &[("y", key), (" yes   ", plain), ("Esc", key), (" no", plain)]);
    }
}

/// What becomes of unsaved text, before the workbench is left or a bundled script is opened over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsaved {
    /// The workbench is to be left.
    Leaving,
    /// This script is to be opened.
    Opening(&'static str),
}

impl Layer for Unsaved {
    fn scope(&self) -> Scope {
        match self {
            Self::Leaving => Scope::Question,
            Self::Opening(_) => Scope::Replace,
        }
    }

    fn app(&mut self, app: App, turn: &mut Turn<&Data>) -> bool {
        let Self::Opening(name) = *self else {
            if app == App::SaveAndQuit {
                turn.leave();
                turn.app(app);
            }
            // Of several scripts the next one is asked for in the same frame.
            return matches!(app, App::SaveAndQuit);
        };
        let how = match app {
            App::SaveAndOpen => Opening::Saved,
            App::OpenAnyway => Opening::Over,
            App::OpenInTab => Opening::Tab,
            _ => return false,
        };
        turn.leave();
        turn.ask(Ask::Take(Listing::Script(name, how)));
        true
    }

    fn act(&mut self, _action: &Action, _turn: &mut Turn<&Data>, _body: Rect) {}

    fn draw(&self, data: &Data, buf: &mut Buffer, body: Rect) {
        let (title, verb, in_tab) = match self {
            Self::Leaving => ("Leave?".to_owned(), "leave", false),
            Self::Opening(name) => (format!("Open {name}?"), "open", true),
        };
        let theme = &data.theme;
        let area = centred(body, 54, 6);
        clear(buf, area, theme[Slot::Overlay]);
        let inside = frame(buf, area, theme, true, &title);
        let text = format!("{} has unsaved changes.", data.name());
        let room = usize::from(inside.width).saturating_sub(3);
        put(buf, inside, 2, 1, &fit(&neutralise(&text), room), theme[Slot::Overlay]);
        let (key, plain) = (theme[Slot::Key], theme[Slot::Overlay]);
        let (save, go) = (format!(" save and {verb}  "), format!(" {verb}  "));
        let mut parts = vec![("s", key), (&*save, plain), ("d", key), (&*go, plain)];
        if in_tab {
            parts.extend([("t", key), (" in a tab  ", plain)]);
        }
        parts.extend([("Esc", key), (" stay", plain)]);
        pieces(buf, inside, 2, 3, &parts);
    }
}
