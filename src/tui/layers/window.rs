//! The keys that arrange panes, shown while the next one is awaited.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::base::action::{Action, App, Window};
use crate::tui::base::key::{Binding, Scope, name};
use crate::tui::base::paint::{clear, frame, put, put_end};
use crate::tui::base::text::{fit, width};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::pane::{Layer, Turn};

/// The list of them.
#[derive(Clone, Debug)]
pub struct Windows {
    /// Those of the key table.
    pub keys: Vec<&'static Binding>,
}

impl Layer for Windows {
    fn scope(&self) -> Scope {
        Scope::Window
    }

    fn is_brief(&self) -> bool {
        true
    }

    /// What arranges panes closes the list; it stays open for what is pressed several times.
    fn app(&mut self, app: App, turn: &mut Turn<&Data>) -> bool {
        turn.leave();
        turn.app(app);
        if matches!(app, App::Window(Window::Resize(_) | Window::Move(_))) {
            turn.open(self.clone());
        }
        true
    }

    fn act(&mut self, _action: &Action, _turn: &mut Turn<&Data>, _body: Rect) {}

    fn press(&mut self, _at: (u16, u16), _turn: &mut Turn<&Data>, _body: Rect) -> Option<Action> {
        Some(Action::Cancel)
    }

    /// Paints them at the lower right.
    fn draw(&self, data: &Data, buf: &mut Buffer, body: Rect) {
        let theme = &data.theme;
        let all = &self.keys;
        let name = |b: &Binding| b.keys.iter().map(|k| name(*k)).collect::<Vec<_>>().join(" ");
        let names = all.iter().map(|b| width(&name(b))).max().unwrap_or(0);
        let texts = all.iter().map(|b| width(b.about)).max().unwrap_or(0);
        let columns = u16::try_from(names + texts + 6).unwrap_or(u16::MAX).min(body.width);
        let rows = u16::try_from(all.len() + 2).unwrap_or(u16::MAX).min(body.height);
        let area = Rect { x: body.right() - columns, y: body.bottom() - rows, width: columns, height: rows };
        clear(buf, area, theme[Slot::Overlay]);
        let inside = frame(buf, area, theme, true, "Arrange the panes");
        for (y, binding) in all.iter().take(usize::from(inside.height)).enumerate() {
            put_end(buf, inside, names + 1, y, &name(binding), theme[Slot::Key]);
            let room = usize::from(inside.width).saturating_sub(names + 3);
            put(buf, inside, names + 3, y, &fit(binding.about, room), theme[Slot::Overlay]);
        }
    }
}
