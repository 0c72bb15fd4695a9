//! The terminal: taken over, painted on, given back.
//!
//! Nothing is ever asked of the terminal: a question such as "where is the cursor" costs a round
//! trip over a slow line, and some terminals never answer.

use std::io::{self, BufWriter, Stdout, Write};
use std::mem;

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::render::is_harmful;
use crate::stdio;

use super::terminal::{Colours, Sixteen, Terminal};

/// Buttons, drags and the wheel, told in the form that has no limit of columns (xterm's DEC private
/// modes 1000, 1002 and 1006). Motion without a button (1003) is not wanted: it floods slow lines.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// The terminal as it was before, in the commands that [`restore`] sends.
pub const GIVEN_BACK: &str = "\x1b[?2026l\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[?1049l\x1b[?25h";

/// The terminal in raw mode on its alternate screen, until dropped.
#[derive(Debug)]
pub struct Screen {
    backend: CrosstermBackend<Sixteen<BufWriter<Stdout>>>,
    terminal: Terminal,
    /// What the terminal shows.
    shown: Buffer,
    /// What is painted next.
    next: Buffer,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// When it can't be set to raw mode or written to.
    pub fn enter(size: (u16, u16), mouse: bool, terminal: Terminal) -> io::Result<Self> {
        enable_raw_mode()?;
        let area = Rect::new(0, 0, size.0, size.1);
        let writer = BufWriter::with_capacity(1 << 16, stdio::screen());
        let backend = CrosstermBackend::new(Sixteen::new(writer, terminal.colours == Colours::Sixteen));
        let mut screen = Self { backend, terminal, shown: Buffer::empty(area), next: Buffer::empty(area) };
        queue!(screen.backend, EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)?;
        screen.take_mouse(mouse)?;
        screen.forget()?;
        Ok(screen)
    }

    /// Takes the terminal over again, after another program had it; the next painting is a whole one.
    ///
    /// # Errors
    /// As [`Screen::enter`].
    pub fn enter_again(&mut self, mouse: bool) -> io::Result<()> {
        // Raw mode is set once only unless it was given back before.
        disable_raw_mode()?;
        enable_raw_mode()?;
        queue!(self.backend, EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)?;
        self.take_mouse(mouse)?;
        self.forget()
    }

    /// Lets the mouse speak to the program, or gives it back to the terminal.
    ///
    /// # Errors
    /// When the terminal can't be written to.
    pub fn take_mouse(&mut self, mouse: bool) -> io::Result<()> {
        execute!(self.backend, Print(if mouse { MOUSE_ON } else { MOUSE_OFF }))
    }

    /// Takes a new size; the next painting is a whole one.
    ///
    /// # Errors
    /// When the terminal can't be written to.
    pub fn resize(&mut self, size: (u16, u16)) -> io::Result<()> {
        let area = Rect::new(0, 0, size.0, size.1);
        self.shown = Buffer::empty(area);
        self.next = Buffer::empty(area);
        self.forget()
    }

    /// Empties the terminal; the next painting is a whole one.
    ///
    /// # Errors
    /// When the terminal can't be written to.
    pub fn forget(&mut self) -> io::Result<()> {
        self.shown.reset();
        queue!(self.backend, Clear(ClearType::All))
    }

    /// Paints what has changed, at once where the terminal can.
    ///
    /// # Errors
    /// When the terminal can't be written to.
    pub fn paint(&mut self, draw: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        self.next.reset();
        draw(&mut self.next);
        self.terminal.fit(&mut self.next);
        make_safe(&mut self.next);
        queue!(self.backend, BeginSynchronizedUpdate)?;
        let changes = self.shown.diff(&self.next);
        self.backend.draw(changes.into_iter())?;
        queue!(self.backend, EndSynchronizedUpdate)?;
        Write::flush(&mut self.backend)?;
        mem::swap(&mut self.shown, &mut self.next);
        Ok(())
    }

    /// Puts text on the terminal's clipboard (OSC 52), which also works over ssh.
    ///
    /// # Errors
    /// When the terminal can't be written to.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(self.backend, CopyToClipboard::to_clipboard_from(text.as_bytes()))
    }
}

/// No cell holds what a terminal obeys: panes write pictures of it, and whatever one has missed ends here.
fn make_safe(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if cell.symbol().chars().any(|c| is_harmful(c) || matches!(c, '\n' | '\t')) {
            cell.set_symbol("\u{fffd}");
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back. Safe to call more than once, and from a panic hook.
pub fn restore() {
    let _ = execute!(
        stdio::screen(),
        EndSynchronizedUpdate,
        Print(MOUSE_OFF),
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
}
