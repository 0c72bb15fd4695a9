//! D's output, byte for byte as its users know it: columns, formats, aggregations and their histograms.

mod aggregation;
mod format;

use std::io::Write as _;

use super::value_into;
use crate::model::d::Style;
use crate::model::value::{Frame, Stack, Value};
pub use aggregation::{Order, Row, printa, table, weight};
pub use format::printf;

/// The line above the columns.
pub fn header(style: Style, out: &mut Vec<u8>) {
    if style.flowindent {
        let _ = if style.short {
            writeln!(out, "{:<41}", "FUNCTION")
        } else {
            writeln!(out, "{:>3} {:<41}", "CPU", "FUNCTION")
        };
        return;
    }
    if style.quiet {
        return;
    }
    if !style.short {
        let _ = write!(out, "{:>3} {:>6} ", "CPU", "ID");
    }
    let _ = writeln!(out, "{:>32}", "FUNCTION:NAME");
}

/// What a record is of.
#[derive(Clone, Copy, Debug)]
pub struct Firing<'a> {
    /// The processor.
    pub cpu: u32,
    /// The probe's number.
    pub id: u32,
    /// The probe's name, with all its four fields.
    pub probe: &'a str,
}

impl<'a> Firing<'a> {
    fn field(&self, from_the_end: usize) -> &'a str {
        self.probe.rsplit(':').nth(from_the_end).unwrap_or("")
    }
}

/// What stands before a record: processor, number and name of the probe.
pub fn prefix(style: Style, firing: &Firing<'_>, out: &mut Vec<u8>) {
    if style.quiet {
        return;
    }
    if !style.short {
        let _ = write!(out, "{:>3} {:>6} ", firing.cpu, firing.id);
    }
    let _ = write!(out, "{:>32} ", format!("{}:{}", firing.field(1), firing.field(0)));
}

/// How deep a processor is in the functions whose entries and returns are shown (`flowindent`).
#[derive(Clone, Debug, Default)]
pub struct Flow {
    depth: usize,
    /// Probe and action of the last record.
    last: Option<(u32, u32)>,
}

/// Deepest indentation.
const DEEPEST: usize = 400;

impl Flow {
    /// What stands before a record of this processor.
    pub fn prefix(&mut self, style: Style, firing: &Firing<'_>, action: u32, out: &mut Vec<u8>) {
        let is =
            |word: &str| firing.field(0).strip_suffix(word).is_some_and(|rest| rest.is_empty() || rest.ends_with('-'));
        let of_calls = firing.probe.starts_with("syscall:");
        let again = self.last.is_some_and(|(id, last)| id == firing.id && last != action);
        self.last = Some((firing.id, action));
        let (mark, inner) = match (is("entry") && !again, is("return")) {
            (true, _) => (Some(if of_calls { " => " } else { " -> " }), 2),
            (_, true) => {
                self.depth = self.depth.saturating_sub(2);
                (Some(if of_calls { " <= " } else { " <- " }), 0)
            }
            _ => (None, 0),
        };
        let blanks = " ".repeat(self.depth);
        let name = match mark {
            Some(mark) => format!("{blanks}{mark}{}", firing.field(1)),
            None => {
                format!("{blanks}| {}:{}", firing.field(1), firing.field(0))
            }
        };
        if !style.short {
            let _ = write!(out, "{:>3} ", firing.cpu);
        }
        let _ = write!(out, "{name:<41} ");
        self.depth = (self.depth + inner).min(DEEPEST);
    }
}

/// A value of `trace()`.
pub fn trace(style: Style, value: &Value, out: &mut Vec<u8>) {
    let width = |size: u8| match size {
        1 => 3,
        2 => 5,
        4 => 10,
        _ => 19,
    };
    match value {
        Value::Int(n, _) if style.quiet => {
            let _ = write!(out, "{n}");
        }
        Value::Uint(n, _) | Value::Pointer(n) if style.quiet => {
            let _ = write!(out, "{n}");
        }
        Value::Int(n, size) => {
            let _ = write!(out, " {n:>width$}", width = width(*size));
        }
        Value::Uint(n, size) => {
            let width = if *size >= 8 { 20 } else { width(*size) };
            let _ = write!(out, " {n:>width$}");
        }
        Value::Pointer(n) => {
            let _ = write!(out, " {n:>20}");
        }
        Value::Str(text) => text_column(style, text, out),
        Value::Text(text, _) => text_column(style, text.as_bytes(), out),
        Value::Stack(stack) => self::stack(style.stack_indent, stack, out),
        Value::Bytes(bytes) => raw_bytes(bytes, out),
        other => value_into(other, out),
    }
}

/// A symbol, which has its column in quiet programs, too.
pub fn symbol(value: &Value, out: &mut Vec<u8>) {
    let mut text = Vec::new();
    value_into(value, &mut text);
    let _ = write!(out, "  {:<50}", String::from_utf8_lossy(&text));
}

/// Bytes as numbers, 16 a line, and as text beside them.
pub fn raw_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let _ = write!(out, "\n{:11}", "");
    for digit in "0123456789abcdef".chars() {
        let _ = write!(out, "  {digit}");
    }
    out.extend_from_slice(b"  0123456789abcdef\n");
    for (line, chunk) in bytes.chunks(16).enumerate() {
        let _ = write!(out, "{:5}{:>5x}:", "", line * 16);
        for byte in chunk {
            let _ = write!(out, " {byte:02x}");
        }
        out.extend(std::iter::repeat_n(b' ', (16 - chunk.len()) * 3 + 2));
        out.extend(chunk.iter().map(|b| if (b' '..=b'~').contains(b) { *b } else { b'.' }));
        out.push(b'\n');
    }
}

fn text_column(style: Style, text: &[u8], out: &mut Vec<u8>) {
    if style.raw_bytes > 0 {
        let mut bytes = text.to_vec();
        bytes.resize(usize::from(style.raw_bytes), 0);
        raw_bytes(&bytes, out);
        return;
    }
    if style.quiet {
        out.extend_from_slice(text);
        return;
    }
    out.extend_from_slice(b"  ");
    out.extend_from_slice(text);
    out.extend(std::iter::repeat_n(b' ', 33_usize.saturating_sub(text.len())));
}

/// A stack: a line break, then a frame a line.
pub fn stack(indent: u16, stack: &Stack, out: &mut Vec<u8>) {
    out.push(b'\n');
    for frame in stack.frames.iter() {
        out.extend(std::iter::repeat_n(b' ', usize::from(indent)));
        self::frame(frame, out);
        out.push(b'\n');
    }
}

fn frame(frame: &Frame, out: &mut Vec<u8>) {
    let object = frame.object.as_deref().map(|o| o.rsplit('/').next().unwrap_or(o));
    let _ = match (&frame.symbol, object) {
        (Some(symbol), object) => {
            let object = object.unwrap_or("vmlinux");
            if frame.offset == 0 {
                write!(out, "{object}`{symbol}")
            } else {
                write!(out, "{object}`{symbol}+0x{:x}", frame.offset)
            }
        }
        (None, Some(object)) => write!(out, "{object}`0x{:x}", frame.address),
        (None, None) => write!(out, "0x{:x}", frame.address),
    };
}

#[cfg(test)]
mod tests;
