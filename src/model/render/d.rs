//! D's output, byte for byte as its users know it: columns, formats, aggregations and their histograms.

mod aggregation;
mod format;

use std::io::Write as _;

use super::value_into;
use crate::model::d::Style;
use crate::model::value::{Frame, Stack, Value};
pub use aggregation::{Order, Row, printa, table};
pub use format::printf;

/// Spaces before a frame of a stack.
const STACK_INDENT: usize = 14;

/// The line above the columns.
pub fn header(style: Style, out: &mut Vec<u8>) {
    if style.quiet {
        return;
    }
    if !style.short {
        let _ = write!(out, "{:>3} {:>6} ", "CPU", "ID");
    }
    let _ = writeln!(out, "{:>32}", "FUNCTION:NAME");
}

/// What stands before a record: processor, number and name of the probe.
pub fn prefix(style: Style, cpu: u32, id: u32, probe: &str, out: &mut Vec<u8>) {
    if style.quiet {
        return;
    }
    if !style.short {
        let _ = write!(out, "{cpu:>3} {id:>6} ");
    }
    let mut parts = probe.rsplit(':');
    let (name, function) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let _ = write!(out, "{:>32} ", format!("{function}:{name}"));
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
        Value::Text(text, _) => {
            if !style.quiet {
                out.extend_from_slice(b"  ");
            }
            let _ = write!(out, "{text:<50}");
        }
        Value::Stack(stack) => self::stack(stack, out),
        other => value_into(other, out),
    }
}

fn text_column(style: Style, text: &[u8], out: &mut Vec<u8>) {
    if style.quiet {
        out.extend_from_slice(text);
        return;
    }
    out.extend_from_slice(b"  ");
    out.extend_from_slice(text);
    out.extend(std::iter::repeat_n(b' ', 33_usize.saturating_sub(text.len())));
}

/// A stack: a line break, then a frame a line.
pub fn stack(stack: &Stack, out: &mut Vec<u8>) {
    out.push(b'\n');
    for frame in stack.frames.iter() {
        out.extend(std::iter::repeat_n(b' ', STACK_INDENT));
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
