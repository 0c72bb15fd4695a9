//! Values back from bytes, which may be anybody's.

use std::collections::HashMap;
use std::sync::Arc;

use super::Tables;
use super::values::{DEEPEST, Tag, kind, style_of};
use super::varint::Reader;
use crate::model::histogram::{Linear, Log2};
use crate::model::value::{Frame, Series, Stack, Summary, Value};

/// Bytes that one entry may grow to when it is decoded: texts and stacks are named by number, as often as one likes.
const LARGEST: usize = 1 << 30;

/// Decodes one entry.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    tables: &'a Tables,
    /// What is left.
    pub reader: Reader<'a>,
    room: usize,
    /// Frames that were decoded: stacks have most of theirs in common.
    frames: HashMap<u32, Frame, foldhash::fast::FixedState>,
}

impl<'a> Decoder<'a> {
    /// Of these bytes.
    pub fn new(tables: &'a Tables, bytes: &'a [u8]) -> Self {
        Self { tables, reader: Reader::new(bytes), room: LARGEST, frames: HashMap::default() }
    }

    /// Takes from what the entry may grow to.
    fn take(&mut self, bytes: usize) -> Option<()> {
        self.room = self.room.checked_sub(bytes)?;
        Some(())
    }

    /// A text by its number.
    fn text(&mut self, number: u64) -> Option<&'a [u8]> {
        let text = self.tables.strings.get(u32::try_from(number).ok()?)?;
        self.take(text.len() + 16)?;
        Some(text)
    }

    /// A text that follows.
    pub fn bytes(&mut self) -> Option<Arc<[u8]>> {
        let number = self.reader.number()?;
        self.text(number).map(Arc::from)
    }

    /// A text that follows, as UTF-8.
    pub fn string(&mut self) -> Option<Arc<str>> {
        let number = self.reader.number()?;
        self.text(number).map(utf8)
    }

    /// A text that may be none.
    #[allow(clippy::option_option, reason = "the outer one is of bytes that make no sense")]
    fn maybe_string(&mut self) -> Option<Option<Arc<str>>> {
        match self.reader.number()? {
            0 => Some(None),
            number => self.text(number - 1).map(|t| Some(utf8(t))),
        }
    }

    /// A value with its type in front.
    pub fn tagged(&mut self, depth: u32) -> Option<Value> {
        let tag = Tag(u16::try_from(self.reader.number()?).ok()?);
        self.value(tag, depth)
    }

    /// A value.
    pub fn value(&mut self, tag: Tag, depth: u32) -> Option<Value> {
        if depth > DEEPEST + 1 {
            return None;
        }
        self.take(size_of::<Value>())?;
        let r = &mut self.reader;
        Some(match tag.kind() {
            kind::NONE => {
                r.byte()?;
                Value::None
            }
            kind::BOOL => Value::Bool(r.byte()? != 0),
            kind::INT => Value::Int(r.signed()?, tag.size()),
            kind::UINT => Value::Uint(r.number()?, tag.size()),
            kind::POINTER => Value::Pointer(r.number()?),
            kind::ENUM => Value::Enum { value: r.signed()?, name: self.maybe_string()? },
            kind::STR => Value::Str(self.bytes()?),
            kind::BYTES => Value::Bytes(self.bytes()?),
            kind::TEXT => Value::Text(self.string()?, self.reader.number()?),
            kind::STACK => {
                let number = r.small()?;
                Value::Stack(self.stack(number)?)
            }
            kind::ARRAY => Value::Array(self.array(depth)?),
            kind::TUPLE => {
                let count = r.count(1)?;
                Value::Tuple((0..count).map(|_| self.tagged(depth + 1)).collect::<Option<_>>()?)
            }
            kind::RECORD => {
                let count = r.count(2)?;
                let item = |_| Some((self.string()?, self.tagged(depth + 1)?));
                Value::Record((0..count).map(item).collect::<Option<_>>()?)
            }
            kind::AVG => Value::Avg(summary(r)?),
            kind::STATS => Value::Stats(summary(r)?),
            kind::HIST => {
                let bits = r.byte()?;
                Value::Hist(Arc::new(Log2 { bits, counts: self.counts()? }))
            }
            kind::LHIST => {
                let (min, max, step) = (r.signed()?, r.signed()?, r.signed()?);
                Value::LHist(Arc::new(Linear { min, max, step, counts: self.counts()? }))
            }
            kind::TSERIES => Value::TSeries(Arc::new(series(r)?)),
            _ => return None,
        })
    }

    fn array(&mut self, depth: u32) -> Option<Arc<[Value]>> {
        let count = self.reader.number()?;
        let tag = Tag(u16::try_from(self.reader.number()?).ok()?);
        let count = usize::try_from(count).ok().filter(|n| *n <= self.reader.left())?;
        if tag == Tag::NONE {
            return (0..count).map(|_| self.tagged(depth + 1)).collect();
        }
        (0..count).map(|_| self.value(tag, depth + 1)).collect()
    }

    fn counts(&mut self) -> Option<Vec<u64>> {
        let length = usize::try_from(self.reader.number()?).ok()?;
        self.take(length.checked_mul(8)?)?;
        let filled = self.reader.count(2)?;
        let mut counts = vec![0; length];
        let mut next = 0_usize;
        for _ in 0..filled {
            let at = next.checked_add(usize::try_from(self.reader.number()?).ok()?)?;
            *counts.get_mut(at)? = self.reader.number()?;
            next = at + 1;
        }
        Some(counts)
    }

    /// A stack by its number.
    pub fn stack(&mut self, number: u32) -> Option<Stack> {
        let mut reader = Reader::new(self.tables.stacks.get(number)?);
        let kind = reader.byte()?;
        let mut frames = Vec::new();
        while reader.left() > 0 {
            frames.push(self.frame(reader.small()?)?);
        }
        Some(Stack { frames: frames.into(), mode: style_of(kind >> 1)?, missing: kind & 1 != 0 })
    }

    fn frame(&mut self, number: u32) -> Option<Frame> {
        self.take(size_of::<Frame>())?;
        if let Some(frame) = self.frames.get(&number) {
            return Some(frame.clone());
        }
        let encoded = self.tables.frames.get(number)?;
        let outer = std::mem::replace(&mut self.reader, Reader::new(encoded));
        let frame = self.frame_here();
        self.reader = outer;
        let frame = frame?;
        self.frames.insert(number, frame.clone());
        Some(frame)
    }

    fn frame_here(&mut self) -> Option<Frame> {
        let inlined = self.reader.byte()? != 0;
        let (address, offset) = (self.reader.number()?, self.reader.number()?);
        let (symbol, object) = (self.maybe_string()?, self.maybe_string()?);
        Some(Frame { address, symbol, offset, object, inlined })
    }
}

fn utf8(bytes: &[u8]) -> Arc<str> {
    match str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => String::from_utf8_lossy(bytes).into(),
    }
}

fn summary(r: &mut Reader<'_>) -> Option<Summary> {
    let signed = r.byte()? != 0;
    Some(Summary { total: r.signed()?, count: r.number()?, signed })
}

fn series(r: &mut Reader<'_>) -> Option<Series> {
    let signed = r.byte()? != 0;
    let interval_ns = r.number()?;
    let count = r.count(2)?;
    let mut points = Vec::with_capacity(count);
    let mut expected = 0_u64;
    for _ in 0..count {
        let start = expected.wrapping_add(r.signed()? as u64);
        expected = start.wrapping_add(interval_ns);
        let value = if r.byte()? != 0 { Some(r.signed()?) } else { None };
        points.push((start, value));
    }
    Some(Series { interval_ns, points, signed })
}

/// Passes over a value without looking at it.
pub fn skip(tag: Tag, r: &mut Reader<'_>, depth: u32) -> Option<()> {
    match tag.kind() {
        kind::NONE | kind::BOOL => r.byte().map(drop),
        kind::INT | kind::UINT | kind::POINTER | kind::STR | kind::BYTES | kind::STACK => r.skip(),
        kind::ENUM | kind::TEXT => r.skip().and_then(|()| r.skip()),
        _ => skip_compound(tag, r, depth),
    }
}

fn skip_compound(tag: Tag, r: &mut Reader<'_>, depth: u32) -> Option<()> {
    if depth > DEEPEST + 1 {
        return None;
    }
    match tag.kind() {
        kind::ARRAY => {
            let count = r.number()?;
            let common = Tag(u16::try_from(r.number()?).ok()?);
            for _ in 0..usize::try_from(count).ok().filter(|n| *n <= r.left())? {
                if common == Tag::NONE { skip_tagged(r, depth + 1)? } else { skip(common, r, depth + 1)? }
            }
        }
        kind::TUPLE => {
            for _ in 0..r.count(1)? {
                skip_tagged(r, depth + 1)?;
            }
        }
        kind::RECORD => {
            for _ in 0..r.count(2)? {
                r.skip()?;
                skip_tagged(r, depth + 1)?;
            }
        }
        kind::AVG | kind::STATS => {
            r.byte()?;
            r.skip()?;
            r.skip()?;
        }
        kind::HIST => {
            r.byte()?;
            skip_counts(r)?;
        }
        kind::LHIST => {
            for _ in 0..3 {
                r.skip()?;
            }
            skip_counts(r)?;
        }
        kind::TSERIES => {
            series(r)?;
        }
        _ => return None,
    }
    Some(())
}

fn skip_tagged(r: &mut Reader<'_>, depth: u32) -> Option<()> {
    let tag = Tag(u16::try_from(r.number()?).ok()?);
    skip(tag, r, depth)
}

fn skip_counts(r: &mut Reader<'_>) -> Option<()> {
    r.skip()?;
    for _ in 0..2 * r.count(2)? {
        r.skip()?;
    }
    Some(())
}
