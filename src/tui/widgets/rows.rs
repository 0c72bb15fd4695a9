//! What panes of rows have in common.

use crate::lang::diagnostic::Severity;
use crate::tui::base::action::Go;
use crate::tui::data::effect::Effect;
use crate::tui::pane::Turn;
use ratatui::layout::Rect;

/// Bytes that are put on the clipboard at most: terminals take no more, and may not tell.
const MOST_COPIED: usize = 1 << 20;

/// Puts text on the clipboard, if there is any.
pub(crate) fn copy<D>(turn: &mut Turn<D>, text: Option<String>) {
    let Some(text) = text.filter(|t| !t.is_empty()) else { return };
    if text.len() > MOST_COPIED {
        let bytes = crate::tui::base::text::grouped(text.len() as u64);
        turn.tell(
            Severity::Warning,
            format!("{bytes} bytes are too many for a terminal's clipboard: export them to a file"),
        );
        return;
    }
    turn.tell(Severity::Info, "Copied, and sent to the terminal's clipboard");
    turn.out(Effect::Copy(text));
}

/// Rows that a movement goes by, for pages of so many.
pub(crate) const fn by(go: Go, page: isize) -> isize {
    match go {
        Go::Up => -1,
        Go::Down => 1,
        Go::PageUp => -page,
        Go::PageDown => page,
        Go::Top | Go::Home => -0x7fff_ffff,
        Go::Bottom | Go::End => 0x7fff_ffff,
        _ => 0,
    }
}

/// Rows that a page key moves by in a pane; `area` is its frame.
pub(crate) fn page(area: Rect) -> usize {
    usize::from(area.height.saturating_sub(3)).max(1)
}
