//! Events of the kernel's tracing as lines: as its `trace` file has them, or as JSON.

pub mod graph;
pub mod hist;

use std::io::Write as _;

use serde::Serialize;

use super::json;
use crate::kernel::record::{Raw, ShapeKind};
use crate::model::value::Value;
use crate::tracer::ftrace::{Books, Event, Loss};

/// How lines are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// With colours.
    pub colour: bool,
}

const BOLD: &[u8] = b"\x1b[1;36m";
const RED: &[u8] = b"\x1b[1;31m";
const PLAIN: &[u8] = b"\x1b[0m";

/// Adds an event's line: thread, CPU, context, time, name, and what the kernel prints of it.
pub fn event(event: &Event<'_>, style: Style, out: &mut Vec<u8>) {
    let shape = event.shape;
    if &*shape.system == "ftrace" && matches!(&*shape.name, "kernel_stack" | "user_stack") {
        return stack(event, out);
    }
    head(event, out);
    if style.colour {
        out.extend_from_slice(BOLD);
    }
    out.extend_from_slice(shape.name.as_bytes());
    if style.colour {
        out.extend_from_slice(PLAIN);
    }
    out.extend_from_slice(b": ");
    let begun = out.len();
    shape.printed.write(event.abi, &shape.fields, event.record, event.names, out);
    // A text of others is one line.
    while out.len() > begun && out.last() == Some(&b'\n') {
        out.pop();
    }
    out.push(b'\n');
}

/// `            bash-1234    [001] d..2. 12.345678901: `
fn head(event: &Event<'_>, out: &mut Vec<u8>) {
    let width = event.comm.chars().count();
    out.resize(out.len() + 16_usize.saturating_sub(width), b' ');
    out.extend_from_slice(event.comm.as_bytes());
    out.push(b'-');
    let begun = out.len();
    number(i64::from(event.pid), out);
    out.resize(out.len().max(begun + 7), b' ');
    out.extend_from_slice(b" [");
    padded(u64::from(event.cpu), 3, out);
    out.extend_from_slice(b"] ");
    let (flags, depth) = event.shape.context(event.abi, event.record);
    out.extend_from_slice(&context(flags, depth));
    out.push(b' ');
    padded(event.at_ns / 1_000_000_000, 1, out);
    out.push(b'.');
    padded(event.at_ns % 1_000_000_000, 9, out);
    out.extend_from_slice(b": ");
}

fn number(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    padded(number.unsigned_abs(), 1, out);
}

fn padded(mut number: u64, least: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while number > 0 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits[at.min(digits.len() - least)..]);
}

/// Interrupts, rescheduling, what is interrupted, and how often preemption and migration are off, by the kernel's
/// letters.
fn context(flags: u8, depth: u8) -> [u8; 5] {
    let has = |bit: u8| flags & bit != 0;
    let off = match (has(0x01), has(0x80)) {
        (true, true) => b'D',
        (true, false) => b'd',
        (false, true) => b'b',
        _ => b'.',
    };
    // NEED_RESCHED, NEED_RESCHED_LAZY, PREEMPT_RESCHED.
    let resched = match (has(0x04), has(0x02), has(0x20)) {
        (true, true, true) => b'B',
        (true, false, true) => b'N',
        (false, true, true) => b'L',
        (true, true, false) => b'b',
        (true, false, false) => b'n',
        (false, false, true) => b'p',
        (false, true, false) => b'l',
        _ => b'.',
    };
    let inside = match (has(0x40), has(0x08), has(0x10)) {
        (true, true, _) => b'Z',
        (true, false, _) => b'z',
        (_, true, true) => b'H',
        (_, true, false) => b'h',
        (_, false, true) => b's',
        _ => b'.',
    };
    let digit = |n: u8| if n == 0 { b'.' } else { b"0123456789abcdef"[usize::from(n & 15)] };
    [off, resched, inside, digit(depth & 15), digit(depth >> 4)]
}

/// The stack of the event before, a line a frame.
fn stack(event: &Event<'_>, out: &mut Vec<u8>) {
    let Some(Value::Stack(stack)) =
        event.shape.field("caller").map(|field| field.value(event.abi, event.record, event.names))
    else {
        return;
    };
    for frame in stack.frames.iter() {
        let text = match &frame.symbol {
            Some(symbol) => format!("{:>26}=> {symbol}+{:#x}\n", "", frame.offset),
            None => format!("{:>26}=> {:#x}\n", "", frame.address),
        };
        out.extend_from_slice(text.as_bytes());
    }
}

/// Adds a loss's line.
pub fn lost(loss: &Loss, style: Style, out: &mut Vec<u8>) {
    let count =
        loss.count.map_or_else(|| "events (how many is known at the end)".to_owned(), |n| format!("{n} events"));
    let (on, off): (&[u8], &[u8]) = if style.colour { (RED, PLAIN) } else { (b"", b"") };
    out.extend_from_slice(on);
    let _ = write!(out, "CPU {} LOST {count}: its ring was full", loss.cpu);
    out.extend_from_slice(off);
    out.push(b'\n');
}

/// Adds `{"type": "ftrace_event", "data": {…}}` on a line.
pub fn event_json(event: &Event<'_>, out: &mut Vec<u8>) {
    let shape = event.shape;
    let _ =
        write!(out, "{{\"type\": \"ftrace_event\", \"data\": {{\"time_ns\": {}, \"cpu\": {}", event.at_ns, event.cpu);
    let _ = write!(out, ", \"pid\": {}, \"comm\": ", event.pid);
    json::string(event.comm.as_bytes(), out);
    out.extend_from_slice(b", \"event\": ");
    json::string(format!("{}:{}", shape.system, shape.name).as_bytes(), out);
    let (flags, depth) = shape.context(event.abi, event.record);
    out.extend_from_slice(b", \"context\": \"");
    out.extend_from_slice(&context(flags, depth));
    out.extend_from_slice(b"\", \"fields\": {");
    for (at, field) in shape.fields.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(b", ");
        }
        json::string(field.name.as_bytes(), out);
        out.extend_from_slice(b": ");
        match field.read(event.abi, event.record) {
            Raw::Int(number) => drop(write!(out, "{number}")),
            Raw::Uint(number) if field.kind == ShapeKind::Pointer => drop(write!(out, "\"{number:#x}\"")),
            Raw::Uint(number) => drop(write!(out, "{number}")),
            Raw::Text(text) => json::string(text, out),
            Raw::Missing => out.extend_from_slice(b"null"),
            Raw::Elements(_) => elements(&field.value(event.abi, event.record, event.names), out),
        }
    }
    out.push(b'}');
    if shape.printed.is_known() {
        out.extend_from_slice(b", \"text\": ");
        let mut text = Vec::new();
        shape.printed.write(event.abi, &shape.fields, event.record, event.names, &mut text);
        json::string(text.trim_ascii_end(), out);
    }
    out.extend_from_slice(b"}}\n");
}

fn elements(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Stack(stack) => {
            out.push(b'[');
            for (at, frame) in stack.frames.iter().enumerate() {
                if at > 0 {
                    out.extend_from_slice(b", ");
                }
                let text = match &frame.symbol {
                    Some(symbol) => format!("{symbol}+{:#x}", frame.offset),
                    None => format!("{:#x}", frame.address),
                };
                json::string(text.as_bytes(), out);
            }
            out.push(b']');
        }
        other => json::value(other, out),
    }
}

/// Adds a loss as JSON.
pub fn lost_json(loss: &Loss, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Lost {
        cpu: u16,
        events: Option<u64>,
        at_ns: u64,
    }
    json::record("lost_events", &Lost { cpu: loss.cpu, events: loss.count, at_ns: loss.at_ns }, out);
}

/// What became of all events, in a few words; the second part is there where something was lost.
#[must_use]
pub fn books(books: &[Books]) -> (String, Option<String>) {
    let sum = |of: fn(&Books) -> u64| books.iter().map(of).sum::<u64>();
    let (delivered, lost, unknown) = (sum(|b| b.delivered), sum(Books::lost), sum(|b| b.unknown));
    let by_cpu = books.iter().filter(|b| b.lost() > 0).map(|b| format!("CPU {}: {}", b.cpu, b.lost()));
    let by_cpu = by_cpu.collect::<Vec<_>>().join(", ");
    let mut bad = Vec::new();
    if lost > 0 {
        bad.push(format!("{lost} more were lost, as rings were full ({by_cpu}): a larger --buffer-size, a filter or fewer events help"));
    }
    if unknown > 0 {
        bad.push(format!(
            "{unknown} could not be read: the kernel has no format for them, or their pages make no sense"
        ));
    }
    (format!("{delivered} events"), (!bad.is_empty()).then(|| bad.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_the_kernels_letters() {
        assert_eq!(&context(0, 0), b".....");
        assert_eq!(&context(0x01, 2), b"d..2.");
        assert_eq!(&context(0x01 | 0x04 | 0x20 | 0x08, 0x10), b"dNh.1");
        assert_eq!(&context(0x10 | 0x08 | 0x80, 1), b"b.H1.");
    }

    #[test]
    fn numbers_keep_their_zeros() {
        let text = |n, least| {
            let mut out = Vec::new();
            padded(n, least, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            (text(5, 3), text(0, 1), text(1234, 3), text(0, 9)),
            ("005".into(), "0".into(), "1234".into(), "000000000".into())
        );
    }
}
