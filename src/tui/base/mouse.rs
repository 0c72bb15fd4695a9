//! From what the terminal tells of the mouse to actions.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::action::{Action, Mouse};

/// What the mouse asks for; absent for what means nothing here.
#[must_use]
pub fn action(event: MouseEvent) -> Option<Action> {
    let kind = match event.kind {
        MouseEventKind::Down(MouseButton::Left) => Mouse::Press,
        MouseEventKind::Drag(MouseButton::Left) => Mouse::Drag,
        MouseEventKind::Up(MouseButton::Left) => Mouse::Release,
        MouseEventKind::Down(MouseButton::Middle) => Mouse::Middle,
        MouseEventKind::ScrollUp => Mouse::WheelUp,
        MouseEventKind::ScrollDown => Mouse::WheelDown,
        _ => return None,
    };
    Some(Action::Mouse(kind, (event.column, event.row)))
}
