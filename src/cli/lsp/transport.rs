//! The protocol's messages on two streams, each with a thread of its own.
//!
//! A message is some header lines, an empty line and as many bytes of JSON as the header says (base protocol of
//! the language server protocol's specification). What the editor sends is bounded before it is held.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use lsp_server::{Connection, Message};

/// Most bytes of a message: many times the largest script.
const LARGEST_MESSAGE: u64 = 64 << 20;
/// Most bytes of a header line.
const LARGEST_LINE: u64 = 4096;
/// Most lines of a header; the protocol knows two.
const HEADER_LINES: usize = 32;

/// Why no further message can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenStream {
    /// The stream itself.
    #[error("cannot read its messages: {0}")]
    Read(String),
    /// The end came inside a message.
    #[error("it ended inside a message")]
    Ended,
    /// A header without the length, or with one that is no number.
    #[error("a message without a Content-Length")]
    NoLength,
    /// A header that does not end.
    #[error("a message's header of more than {HEADER_LINES} lines, or a line of more than {LARGEST_LINE} bytes")]
    Header,
    /// A body that is not held.
    #[error("a message of {0} bytes; at most {LARGEST_MESSAGE} are taken")]
    TooLong(u64),
}

/// The threads of a connection's streams.
pub struct Transport {
    /// Set by the reading thread before it lets go of the connection.
    broken: Arc<OnceLock<BrokenStream>>,
    writer: JoinHandle<std::io::Result<()>>,
}

impl Transport {
    /// Carries messages between the streams and the connection that is given back.
    pub fn start(
        input: impl Read + Send + 'static,
        mut output: impl Write + Send + 'static,
    ) -> std::io::Result<(Connection, Self)> {
        let (service, streams) = Connection::memory();
        let Connection { sender, receiver } = streams;
        let named = |name: &str| thread::Builder::new().name(name.into());
        let broken = Arc::new(OnceLock::new());
        let told = Arc::clone(&broken);
        named("lsp-reader").spawn(move || {
            if let Err(error) = read_all(&mut BufReader::new(input), |message| sender.send(message).is_ok()) {
                let _ = told.set(error);
            }
        })?;
        let writer = named("lsp-writer")
            .spawn(move || receiver.into_iter().try_for_each(|message| message.write(&mut output)))?;
        Ok((service, Self { broken, writer }))
    }

    /// Why the editor's stream broke, when it did; else whether all could be written.
    pub fn end(self) -> Result<std::io::Result<()>, BrokenStream> {
        let written = self.writer.join().unwrap_or(Ok(()));
        // A reader that still waits for the editor has nothing to tell.
        match self.broken.get() {
            Some(error) => Err(error.clone()),
            None => Ok(written),
        }
    }
}

/// Passes messages on until the editor ends the service or its stream.
fn read_all(input: &mut impl BufRead, pass: impl Fn(Message) -> bool) -> Result<(), BrokenStream> {
    while let Some(body) = read_body(input)? {
        let message = match serde_json::from_slice::<Message>(&body) {
            Ok(message) => message,
            Err(error) => {
                // Where the next one begins is known all the same.
                eprintln!("probescope lsp: a message that cannot be read is left out: {error}");
                continue;
            }
        };
        let last = matches!(&message, Message::Notification(note) if note.method == "exit");
        if !pass(message) || last {
            break;
        }
    }
    Ok(())
}

/// The next message's body; `None` at the end of the stream.
fn read_body(input: &mut impl BufRead) -> Result<Option<Vec<u8>>, BrokenStream> {
    let Some(length) = read_header(input)? else { return Ok(None) };
    if length > LARGEST_MESSAGE {
        return Err(BrokenStream::TooLong(length));
    }
    let mut body = Vec::new();
    input.take(length).read_to_end(&mut body).map_err(|e| BrokenStream::Read(e.to_string()))?;
    if body.len() as u64 == length { Ok(Some(body)) } else { Err(BrokenStream::Ended) }
}

/// The length that a header tells; `None` at the end of the stream.
fn read_header(input: &mut impl BufRead) -> Result<Option<u64>, BrokenStream> {
    let mut length = None;
    for number in 0..HEADER_LINES {
        let mut line = Vec::new();
        input.take(LARGEST_LINE).read_until(b'\n', &mut line).map_err(|e| BrokenStream::Read(e.to_string()))?;
        if line.is_empty() {
            return if number == 0 { Ok(None) } else { Err(BrokenStream::Ended) };
        }
        if !line.ends_with(b"\n") {
            return Err(if line.len() as u64 == LARGEST_LINE { BrokenStream::Header } else { BrokenStream::Ended });
        }
        let line = line.trim_ascii();
        if line.is_empty() {
            return length.map(Some).ok_or(BrokenStream::NoLength);
        }
        length = length.or_else(|| content_length(line));
    }
    Err(BrokenStream::Header)
}

fn content_length(line: &[u8]) -> Option<u64> {
    let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
    name.trim().eq_ignore_ascii_case("Content-Length").then(|| value.trim().parse().ok())?
}

#[cfg(test)]
mod tests;
