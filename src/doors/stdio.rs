//! Standard output and standard error: the one way by which text leaves the program.
//!
//! What goes to a terminal has its control characters written out here, whoever wrote the text; files and pipes get the
//! bytes as they are. Nothing else of the program may name the process's streams: clippy refuses it (`clippy.toml`), and
//! `tests/compiler/architecture.rs` reads the source for it. The workbench paints through [`screen`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this is the one place")]

use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::model::render::{neutralise_bytes, undecided};

/// The text styles of our own messages, tables and help, which a styled stream lets through. No other escape passes: none
/// of them moves the cursor or hides text.
const STYLES: &[&str] =
    &["0m", "1m", "4m", "31m", "32m", "33m", "1;31m", "1;33m", "1;34m", "1;36m", "2;37;40m", "2;30;47m", "0;0;0m"];

/// One of the process's streams, or a file in its place.
pub struct Stream {
    to: Box<dyn Write + Send>,
    terminal: bool,
    styled: bool,
    /// The first bytes of a character whose others come with the next piece.
    begun: Vec<u8>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("terminal", &self.terminal).finish_non_exhaustive()
    }
}

/// Standard output.
#[must_use]
pub fn out() -> Stream {
    Stream::new(io::stdout(), out_is_terminal())
}

/// Standard error.
#[must_use]
pub fn err() -> Stream {
    Stream::new(io::stderr(), err_is_terminal())
}

/// Standard output without a buffer: for what writes in pieces of its own.
///
/// # Errors
/// When the descriptor can't be duplicated.
pub fn out_unbuffered() -> io::Result<Stream> {
    Ok(Stream::new(File::from(rustix::io::dup(io::stdout())?), out_is_terminal()))
}

/// A file that may be a terminal, such as `/dev/tty`.
#[must_use]
pub fn file(file: File) -> Stream {
    let terminal = file.is_terminal();
    Stream::new(file, terminal)
}

/// Standard output for the workbench, which paints cells and sends the terminal commands: its cells are made safe by
/// `tui::screen`, the only user.
#[must_use]
pub fn screen() -> io::Stdout {
    io::stdout()
}

/// Sends the terminal commands past whoever is writing to it, if it takes them now.
pub fn screen_at_once(commands: &str) {
    let out = io::stdout();
    let mut asked = [PollFd::new(&out, PollFlags::OUT)];
    let takes = poll(&mut asked, Some(&Timespec::default())).is_ok() && asked[0].revents() == PollFlags::OUT;
    if takes {
        let _ = rustix::io::write(&out, commands.as_bytes());
    }
}

/// Whether standard output is a terminal.
#[must_use]
pub fn out_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether standard error is a terminal.
#[must_use]
pub fn err_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Writes a line to standard error. One that can't be written is left out.
pub fn say(line: impl fmt::Display) {
    let _ = err().write_all(format!("{line}\n").as_bytes());
}

impl Stream {
    fn new(to: impl Write + Send + 'static, terminal: bool) -> Self {
        Self { to: Box::new(to), terminal, styled: false, begun: Vec::new() }
    }

    /// Lets the styles of our own messages pass.
    #[must_use]
    pub fn styled(mut self) -> Self {
        self.styled = true;
        self
    }

    /// Whether this is a terminal.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Empties a terminal's screen; a file gets nothing.
    ///
    /// # Errors
    /// When that can't be written.
    pub fn clear(&mut self) -> io::Result<()> {
        if self.terminal { self.to.write_all(b"\x1bc") } else { Ok(()) }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.terminal {
            return self.to.write(bytes);
        }
        self.begun.extend_from_slice(bytes);
        let whole = self.begun.len() - undecided(&self.begun);
        let begun = self.begun.split_off(whole);
        let text = std::mem::replace(&mut self.begun, begun);
        if self.styled {
            self.to.write_all(&safe_but_styled(&text))?;
        } else {
            self.to.write_all(neutralise_bytes(&text).as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.begun.is_empty() {
            let _ = self.to.write_all(neutralise_bytes(&self.begun).as_bytes());
            let _ = self.to.flush();
        }
    }
}

/// Text with our own styles and nothing else that a terminal obeys.
fn safe_but_styled(text: &[u8]) -> Vec<u8> {
    let mut safe = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memmem::find(rest, b"\x1b[") {
        let after = &rest[at + 2..];
        let style = STYLES.iter().find(|style| after.starts_with(style.as_bytes()));
        let (before, end) = style.map_or((at + 2, at + 2), |style| (at, at + 2 + style.len()));
        safe.extend_from_slice(neutralise_bytes(&rest[..before]).as_bytes());
        safe.extend_from_slice(&rest[before..end]);
        rest = &rest[end..];
    }
    safe.extend_from_slice(neutralise_bytes(rest).as_bytes());
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(terminal: bool, styled: bool, pieces: &[&[u8]]) -> String {
        let kept = Kept::default();
        let mut stream = Stream::new(kept.clone(), terminal);
        stream.styled = styled;
        pieces.iter().for_each(|piece| stream.write_all(piece).unwrap());
        drop(stream);
        let bytes = kept.0.lock().unwrap().clone();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn a_terminal_gets_no_control_that_is_not_ours() {
        let evil = "a\x1b]0;x\x07\u{9b}2J\u{202e}\r\n\tb".as_bytes();
        let safe = "a\\x1b]0;x\\x07\\u{9b}2J\\u{202e}\\x0d\n\tb";
        assert_eq!(written(true, false, &[evil]), safe);
        assert_eq!(written(true, true, &[evil]), safe);
        assert_eq!(written(false, false, &[evil]).as_bytes(), evil);
        assert_eq!(
            written(true, true, &[b"\x1b[1;31merror\x1b[0m \x1b[2J\x1b[8m\x1b["]),
            "\x1b[1;31merror\x1b[0m \\x1b[2J\\x1b[8m\\x1b["
        );
        assert_eq!(written(true, false, &[b"\x1b[1;31m"]), "\\x1b[1;31m");
    }

    #[test]
    fn characters_that_come_in_pieces_stay_whole() {
        let euro = "€".as_bytes();
        assert_eq!(written(true, false, &[&euro[..1], &euro[1..2], &euro[2..], b"!"]), "€!");
        assert_eq!(written(true, false, &[b"a", &euro[..2]]), "a\\xe2\\x82", "what never comes is written out");
        assert_eq!(written(true, false, &[b"\xff", b"b\xe2", b"c"]), "\\xffb\\xe2c");
        let bidi = "\u{202e}".as_bytes();
        assert_eq!(written(true, false, &[&bidi[..2], &bidi[2..]]), "\\u{202e}");
    }
}
