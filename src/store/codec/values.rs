//! Values to bytes.

use std::sync::Arc;

use super::varint::{put, put_signed};
use super::{Encoder, StackSeen};
use crate::model::render;
use crate::model::value::{Frame, Series, Stack, StackStyle, Summary, Value};

/// What is nested deeper is left out: no script's types are.
pub const DEEPEST: u32 = 64;

/// The type of a value: its kind, and the size of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub u16);

/// Kinds of value; numbers never change their meaning.
#[allow(missing_docs, reason = "each is the variant of its name")]
pub mod kind {
    pub const NONE: u8 = 0;
    pub const BOOL: u8 = 1;
    pub const INT: u8 = 2;
    pub const UINT: u8 = 3;
    pub const POINTER: u8 = 4;
    pub const ENUM: u8 = 5;
    pub const STR: u8 = 6;
    pub const BYTES: u8 = 7;
    pub const ARRAY: u8 = 8;
    pub const TUPLE: u8 = 9;
    pub const RECORD: u8 = 10;
    pub const TEXT: u8 = 11;
    pub const STACK: u8 = 12;
    pub const AVG: u8 = 13;
    pub const STATS: u8 = 14;
    pub const HIST: u8 = 15;
    pub const LHIST: u8 = 16;
    pub const TSERIES: u8 = 17;
}

impl Tag {
    /// Of nothing.
    pub const NONE: Self = Self::new(kind::NONE, 0);

    const fn new(kind: u8, size: u8) -> Self {
        Self(kind as u16 | (size as u16) << 8)
    }

    /// Of a value.
    pub const fn of(value: &Value) -> Self {
        match value {
            Value::None => Self::NONE,
            Value::Bool(_) => Self::new(kind::BOOL, 0),
            Value::Int(_, size) => Self::new(kind::INT, *size),
            Value::Uint(_, size) => Self::new(kind::UINT, *size),
            Value::Pointer(_) => Self::new(kind::POINTER, 0),
            Value::Enum { .. } => Self::new(kind::ENUM, 0),
            Value::Str(_) => Self::new(kind::STR, 0),
            Value::Bytes(_) => Self::new(kind::BYTES, 0),
            Value::Array(_) => Self::new(kind::ARRAY, 0),
            Value::Tuple(_) => Self::new(kind::TUPLE, 0),
            Value::Record(_) => Self::new(kind::RECORD, 0),
            Value::Text(..) => Self::new(kind::TEXT, 0),
            Value::Stack(_) => Self::new(kind::STACK, 0),
            Value::Avg(_) => Self::new(kind::AVG, 0),
            Value::Stats(_) => Self::new(kind::STATS, 0),
            Value::Hist(_) => Self::new(kind::HIST, 0),
            Value::LHist(_) => Self::new(kind::LHIST, 0),
            Value::TSeries(_) => Self::new(kind::TSERIES, 0),
        }
    }

    /// What kind of value.
    pub const fn kind(self) -> u8 {
        self.0 as u8
    }

    /// Size of an integer.
    pub const fn size(self) -> u8 {
        (self.0 >> 8) as u8
    }
}

impl Encoder {
    /// The number of a text.
    pub fn string(&mut self, text: &[u8]) -> u64 {
        u64::from(self.strings.number(text))
    }

    /// The number of a text plus one, 0 for none.
    fn maybe_string(&mut self, text: Option<&Arc<str>>) -> u64 {
        text.map_or(0, |t| self.string(t.as_bytes()) + 1)
    }

    /// Appends a value with its type in front.
    pub fn tagged(&mut self, value: &Value, depth: u32, out: &mut Vec<u8>) {
        if depth > DEEPEST {
            put(out, u64::from(Tag::NONE.0));
            out.push(0);
            return;
        }
        put(out, u64::from(Tag::of(value).0));
        self.value(value, depth, out);
    }

    /// Appends a value without its type.
    pub fn value(&mut self, value: &Value, depth: u32, out: &mut Vec<u8>) {
        match value {
            // Nothing takes a byte, too: what a chunk decodes to is bounded by its length.
            Value::None => out.push(0),
            Value::Bool(b) => out.push(u8::from(*b)),
            Value::Int(v, _) => put_signed(out, *v),
            Value::Uint(v, _) | Value::Pointer(v) => put(out, *v),
            Value::Enum { value, name } => {
                put_signed(out, *value);
                let name = self.maybe_string(name.as_ref());
                put(out, name);
            }
            Value::Str(bytes) | Value::Bytes(bytes) => {
                let number = self.string(bytes);
                put(out, number);
            }
            Value::Text(text, raw) => {
                let number = self.string(text.as_bytes());
                put(out, number);
                put(out, *raw);
            }
            Value::Stack(stack) => {
                let (number, _) = self.stack(stack);
                put(out, u64::from(number));
            }
            Value::Array(items) => self.array(items, depth, out),
            Value::Tuple(items) => {
                put(out, items.len() as u64);
                items.iter().for_each(|item| self.tagged(item, depth + 1, out));
            }
            Value::Record(items) => {
                put(out, items.len() as u64);
                for (name, item) in items.iter() {
                    let name = self.string(name.as_bytes());
                    put(out, name);
                    self.tagged(item, depth + 1, out);
                }
            }
            Value::Avg(summary) | Value::Stats(summary) => self::summary(summary, out),
            Value::Hist(hist) => {
                out.push(hist.bits);
                counts(&hist.counts, out);
            }
            Value::LHist(hist) => {
                [hist.min, hist.max, hist.step].iter().for_each(|n| put_signed(out, *n));
                counts(&hist.counts, out);
            }
            Value::TSeries(series) => self::series(series, out),
        }
    }

    /// Elements: of one type, which is then written once, or each with its own.
    fn array(&mut self, items: &[Value], depth: u32, out: &mut Vec<u8>) {
        put(out, items.len() as u64);
        let common = items.first().map(Tag::of).filter(|tag| *tag != Tag::NONE && depth < DEEPEST);
        let common = common.filter(|tag| items.iter().all(|item| Tag::of(item) == *tag)).unwrap_or(Tag::NONE);
        put(out, u64::from(common.0));
        for item in items {
            if common == Tag::NONE {
                self.tagged(item, depth + 1, out);
            } else {
                self.value(item, depth + 1, out);
            }
        }
    }

    /// The number of a stack, and the line breaks in its text.
    pub fn stack(&mut self, stack: &Stack) -> (u32, u32) {
        let kind = style_code(stack.mode) << 1 | u8::from(stack.missing);
        let key = (stack.frames.as_ptr() as usize, kind);
        if let Some(seen) = self.stacks_seen.get(&key).filter(|s| s.frames.len() == stack.frames.len()) {
            return (seen.number, seen.breaks);
        }
        let mut encoded = vec![kind];
        let mut scratch = std::mem::take(&mut self.scratch);
        for frame in stack.frames.iter() {
            scratch.clear();
            self.frame(frame, &mut scratch);
            put(&mut encoded, u64::from(self.frames.number(&scratch)));
        }
        self.scratch = scratch;
        let number = self.stacks.number(&encoded);
        let breaks = memchr::memchr_iter(b'\n', render::stack_text(stack).as_bytes()).count() as u32;
        self.stacks_seen.insert(key, StackSeen { frames: Arc::clone(&stack.frames), number, breaks });
        (number, breaks)
    }

    fn frame(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        out.push(u8::from(frame.inlined));
        put(out, frame.address);
        put(out, frame.offset);
        for text in [&frame.symbol, &frame.object] {
            let number = self.maybe_string(text.as_ref());
            put(out, number);
        }
    }
}

/// The number of a stack's form.
const fn style_code(style: StackStyle) -> u8 {
    match style {
        StackStyle::Bpftrace => 0,
        StackStyle::Perf => 1,
        StackStyle::Raw => 2,
        StackStyle::BuildId => 3,
    }
}

/// The form of a number.
pub const fn style_of(code: u8) -> Option<StackStyle> {
    Some(match code {
        0 => StackStyle::Bpftrace,
        1 => StackStyle::Perf,
        2 => StackStyle::Raw,
        3 => StackStyle::BuildId,
        _ => return None,
    })
}

fn summary(summary: &Summary, out: &mut Vec<u8>) {
    out.push(u8::from(summary.signed));
    put_signed(out, summary.total);
    put(out, summary.count);
}

/// Counts of buckets: how many, how many are not 0, and those with the zeros before each.
fn counts(counts: &[u64], out: &mut Vec<u8>) {
    put(out, counts.len() as u64);
    put(out, counts.iter().filter(|n| **n != 0).count() as u64);
    let mut zeros = 0;
    for count in counts {
        if *count == 0 {
            zeros += 1;
        } else {
            put(out, std::mem::take(&mut zeros));
            put(out, *count);
        }
    }
}

fn series(series: &Series, out: &mut Vec<u8>) {
    out.push(u8::from(series.signed));
    put(out, series.interval_ns);
    put(out, series.points.len() as u64);
    let mut expected = 0_u64;
    for (start, value) in &series.points {
        put_signed(out, start.wrapping_sub(expected) as i64);
        expected = start.wrapping_add(series.interval_ns);
        out.push(u8::from(value.is_some()));
        if let Some(value) = value {
            put_signed(out, *value);
        }
    }
}
