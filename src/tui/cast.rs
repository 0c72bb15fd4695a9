//! The screen over time as an asciicast, which asciinema plays.

use std::io;

use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::json;

use crate::store::History as _;
use crate::tui::data::effect::Message;
use crate::tui::desk::draw::draw;
use crate::tui::desk::state::State;
use crate::tui::desk::update;

/// Least time between two frames, ns.
const STEP_NS: u64 = 100_000_000;
/// Frames of one cast at most: longer recordings are shown in larger steps.
const MOST_FRAMES: u64 = 3000;
/// Time without change is cut to this, s.
const IDLE_S: f64 = 2.0;
/// Slices of work for one frame at most.
const MOST_WORK: usize = 10_000;

/// Frames as they come.
#[derive(Debug)]
pub struct Cast {
    out: String,
    shown: Buffer,
}

impl Cast {
    /// A cast of a screen of this size.
    #[must_use]
    pub fn new(size: (u16, u16), title: &str) -> Self {
        let head = json!({"version": 2, "width": size.0, "height": size.1, "title": title, "idle_time_limit": IDLE_S});
        let area = Rect::new(0, 0, size.0, size.1);
        Self { out: format!("{head}\n"), shown: Buffer::empty(area) }
    }

    /// Adds what has changed on the screen by a time.
    ///
    /// # Errors
    /// Never, while memory can be written.
    pub fn frame(&mut self, seconds: f64, state: &State) -> io::Result<()> {
        let mut next = Buffer::empty(self.shown.area);
        draw(state, &mut next);
        let changes = self.shown.diff(&next);
        if changes.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let mut backend = CrosstermBackend::new(&mut bytes);
        backend.draw(changes.into_iter())?;
        backend.flush()?;
        let text = String::from_utf8_lossy(&bytes);
        self.out.push_str(&json!([(seconds * 1e6).round() / 1e6, "o", text]).to_string());
        self.out.push('\n');
        self.shown = next;
        Ok(())
    }

    /// The file.
    #[must_use]
    pub fn finish(self) -> String {
        self.out
    }
}

/// A recording as the workbench plays it from where it is held.
#[must_use]
pub fn played(mut state: State, title: &str) -> String {
    let mut cast = Cast::new(state.size, title);
    let (first, last) = state.store.span().unwrap_or((0, 0));
    let step = STEP_NS.max((last - first) / MOST_FRAMES);
    let mut at = 0;
    loop {
        for _ in 0..MOST_WORK {
            if !update::is_busy(&state) {
                break;
            }
            update::receive(&mut state, Message::GoOn);
        }
        // Memory is written only: there is nothing that could fail.
        let _ = cast.frame(at as f64 / 1e9, &state);
        if !state.moment.playing || first.saturating_add(at) > last.saturating_add(step) {
            return cast.finish();
        }
        at += step;
        update::receive(&mut state, Message::Elapsed(step));
    }
}
