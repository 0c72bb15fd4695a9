//! The protocol's messages on two streams, each with a thread of its own.
//!
//! A message is some header lines, an empty line and as many bytes of JSON as the header says (base protocol of
//! the language server protocol's specification). What the editor sends is bounded before it is held.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use crate::thread::{self, Rights};

use lsp_server::{Connection, ErrorCode, Message};
use serde_json::{Value, json};

/// Most bytes of a message: many times the largest script.
const LARGEST_MESSAGE: u64 = 64 << 20;
/// Most bytes of a header line.
const LARGEST_LINE: u64 = 4096;
/// Most lines of a header; the protocol knows two.
const HEADER_LINES: usize = 32;
/// Most bytes of what is quoted of an editor's mistake.
const LONGEST_QUOTE: usize = 60;

/// Why no further message can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenStream {
    /// The stream itself.
    #[error("cannot read its messages: {0}")]
    Read(String),
    /// The end came inside a message.
    #[error("it ended inside a message")]
    Ended,
    /// A header without the length.
    #[error("a message without a Content-Length")]
    NoLength,
    /// A length that is no number.
    #[error("a Content-Length that is no number: `{0}`")]
    BadLength(String),
    /// Something else where a header belongs: the editor and the service don't count alike.
    #[error("a message begins with a header (`Content-Length: 123`), not with `{0}`")]
    NoHeader(String),
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
        output: impl Write + Send + 'static,
    ) -> std::io::Result<(Connection, Self)> {
        let (service, streams) = Connection::memory();
        let Connection { sender, receiver } = streams;
        let broken = Arc::new(OnceLock::new());
        let told = Arc::clone(&broken);
        let output = Arc::new(Mutex::new(output));
        let answers = Arc::clone(&output);
        thread::spawn("lsp-reader", Rights::Nothing, move || {
            let refuse = |answer: &Value| {
                // The writer meets a stream that takes no more, too, and tells of it.
                let _ = write_body(&mut *answers.lock().unwrap_or_else(PoisonError::into_inner), answer);
            };
            let pass = |message| sender.send(message).is_ok();
            if let Err(error) = read_all(&mut BufReader::new(input), pass, refuse) {
                refuse(&refusal(Value::Null, ErrorCode::ParseError, &error.to_string()));
                let _ = told.set(error);
            }
        })?;
        let writer = thread::spawn("lsp-writer", Rights::Nothing, move || {
            let write = |message: Message| message.write(&mut *output.lock().unwrap_or_else(PoisonError::into_inner));
            receiver.into_iter().try_for_each(write)
        })?;
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

/// Passes messages on until the editor ends the service or its stream. Those that can't be read are answered by
/// `refuse`: where the next one begins is known all the same.
fn read_all(
    input: &mut impl BufRead,
    pass: impl Fn(Message) -> bool,
    refuse: impl Fn(&Value),
) -> Result<(), BrokenStream> {
    while let Some(body) = read_body(input)? {
        let message = match parse(&body) {
            Ok(message) => message,
            Err(answer) => {
                refuse(&answer);
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

/// A message, or the answer to what is none.
fn parse(body: &[u8]) -> Result<Message, Value> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|e| refusal(Value::Null, ErrorCode::ParseError, &format!("the message is no JSON: {e}")))?;
    let id = value.get("id").cloned().unwrap_or_default();
    let known = id.is_string() || id.is_number();
    let told = if known { id.clone() } else { Value::Null };
    let invalid = || refusal(told, ErrorCode::InvalidRequest, "the message is no request, notification or response");
    // An identity of another kind would make a notification of a request.
    if known || id.is_null() { serde_json::from_value(value).map_err(|_| invalid()) } else { Err(invalid()) }
}

/// The answer of JSON-RPC to a message that could not be read; the identity is null where it is not known.
fn refusal(id: Value, code: ErrorCode, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code as i32, "message": message } })
}

fn write_body(output: &mut impl Write, body: &Value) -> std::io::Result<()> {
    let body = body.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    output.flush()
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
        look_ahead(input)?;
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
        length = length.or(content_length(line)?);
    }
    Err(BrokenStream::Header)
}

/// Refuses what can't begin a header line before the rest of the line has come, which may be never.
fn look_ahead(input: &mut impl BufRead) -> Result<(), BrokenStream> {
    let ahead = input.fill_buf().map_err(|e| BrokenStream::Read(e.to_string()))?;
    match ahead.first() {
        Some(b'\r' | b'\n') | None => Ok(()),
        Some(c) if c.is_ascii_alphanumeric() || *c == b'-' => Ok(()),
        Some(_) => Err(BrokenStream::NoHeader(quote(ahead))),
    }
}

/// The length, of a header that tells it.
fn content_length(line: &[u8]) -> Result<Option<u64>, BrokenStream> {
    let Some(colon) = line.iter().position(|c| *c == b':') else { return Err(BrokenStream::NoHeader(quote(line))) };
    let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
    if !name.iter().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_')) {
        return Err(BrokenStream::NoHeader(quote(line)));
    }
    if !name.eq_ignore_ascii_case(b"Content-Length") {
        return Ok(None);
    }
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| BrokenStream::BadLength(quote(value)))
}

/// The first bytes of a mistake, to be shown: one line without control characters.
fn quote(bytes: &[u8]) -> String {
    let line = bytes.split(|c| *c == b'\n').next().unwrap_or(bytes);
    let shown = |b: &u8| if matches!(b, b' '..=b'~') { char::from(*b) } else { '.' };
    line.iter().take(LONGEST_QUOTE).map(shown).collect::<String>().trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
