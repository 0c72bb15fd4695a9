//! How entries lie in a chunk.
//!
//! Numbers are varints, times differences. Texts, frames and stacks are stored once a chunk and named by number;
//! so are shapes: an action with the types of its values. See `docs/recording-format.md`.

pub mod decode;
pub mod maps;
pub mod payload;
pub mod stats;
pub mod strings;
pub mod values;
pub mod varint;

use std::collections::HashMap;
use std::sync::Arc;

use self::strings::{Interner, Strings};
use self::values::Tag;
use crate::model::stats::LossCause;
use crate::model::value::{Frame, Value};

/// An action with the types of its values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Index of the action.
    pub action: u32,
    /// Types of the values.
    pub tags: Box<[Tag]>,
}

/// What entries of a chunk name by number.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Texts and bytes.
    pub strings: Strings,
    /// Frames, encoded.
    pub frames: Strings,
    /// Stacks, encoded: numbers of frames.
    pub stacks: Strings,
    /// Shapes of events.
    pub shapes: Vec<Shape>,
}

impl Tables {
    /// Memory that they take, bytes.
    pub fn bytes(&self) -> usize {
        let shapes: usize = self.shapes.iter().map(|s| size_of::<Shape>() + size_of_val(&*s.tags)).sum();
        self.strings.memory() + self.frames.memory() + self.stacks.memory() + shapes
    }
}

/// Shapes looked up last, by the action's lowest bits.
const SHAPES_CACHED: usize = 64;

/// Builds the tables of one chunk while its entries are encoded.
#[derive(Debug, Default)]
pub struct Encoder {
    strings: Interner,
    frames: Interner,
    stacks: Interner,
    shapes: Vec<Shape>,
    shape_numbers: HashMap<Shape, u32>,
    shapes_used: Vec<u32>,
    /// Stacks by where their frames lie, which are kept so that nothing else comes to lie there.
    stacks_seen: HashMap<(usize, u8), StackSeen>,
    scratch: Vec<u8>,
}

#[derive(Debug)]
struct StackSeen {
    frames: Arc<[Frame]>,
    number: u32,
    /// Line breaks in its text.
    breaks: u32,
}

impl Encoder {
    /// The tables of what was encoded; what comes next begins new ones.
    pub fn take(&mut self) -> Tables {
        self.shape_numbers.clear();
        self.shapes_used.clear();
        self.stacks_seen.clear();
        Tables {
            strings: self.strings.take(),
            frames: self.frames.take(),
            stacks: self.stacks.take(),
            shapes: std::mem::take(&mut self.shapes),
        }
    }

    /// Bytes of all tables.
    pub fn bytes(&self) -> usize {
        self.strings.bytes() + self.frames.bytes() + self.stacks.bytes()
    }

    /// The number of an event's shape.
    fn shape(&mut self, action: u32, values: &[Value]) -> u32 {
        let slot = action as usize % SHAPES_CACHED;
        if let Some(shape) = self.shapes_used.get(slot).and_then(|n| self.shapes.get(*n as usize)) {
            let same = shape.action == action && shape.tags.len() == values.len();
            if same && shape.tags.iter().zip(values).all(|(tag, value)| *tag == Tag::of(value)) {
                return self.shapes_used[slot];
            }
        }
        let shape = Shape { action, tags: values.iter().map(Tag::of).collect() };
        let next = self.shapes.len() as u32;
        let number = *self.shape_numbers.entry(shape).or_insert_with_key(|shape| {
            self.shapes.push(shape.clone());
            next
        });
        self.shapes_used.resize(SHAPES_CACHED, 0);
        self.shapes_used[slot] = number;
        number
    }
}

/// The number of a cause in chunks; numbers never change their meaning.
pub const fn cause_code(cause: LossCause) -> u8 {
    match cause {
        LossCause::RingFull => 0,
        LossCause::MapFull => 1,
        LossCause::ReadFailed => 2,
        LossCause::Truncated => 3,
        LossCause::Nested => 4,
        LossCause::Stack => 5,
        LossCause::DivideByZero => 6,
        LossCause::OutOfBounds => 7,
        LossCause::KretprobeMissed => 8,
        LossCause::HistoryTrimmed => 9,
        LossCause::HelperFailed => 10,
        LossCause::KeyAbsent => 11,
        LossCause::KeyRefused => 12,
        LossCause::Braked => 13,
        LossCause::Throttled => 14,
        LossCause::LoopCut => 15,
        LossCause::KeyCut => 16,
        LossCause::StackCut => 17,
        LossCause::LeftOut => 18,
    }
}

/// The cause of a number.
pub fn cause_of(code: u64) -> Option<LossCause> {
    const CAUSES: [LossCause; 19] = [
        LossCause::RingFull,
        LossCause::MapFull,
        LossCause::ReadFailed,
        LossCause::Truncated,
        LossCause::Nested,
        LossCause::Stack,
        LossCause::DivideByZero,
        LossCause::OutOfBounds,
        LossCause::KretprobeMissed,
        LossCause::HistoryTrimmed,
        LossCause::HelperFailed,
        LossCause::KeyAbsent,
        LossCause::KeyRefused,
        LossCause::Braked,
        LossCause::Throttled,
        LossCause::LoopCut,
        LossCause::KeyCut,
        LossCause::StackCut,
        LossCause::LeftOut,
    ];
    CAUSES.get(usize::try_from(code).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_keep_their_numbers() {
        let known: Vec<LossCause> = (0..).map_while(cause_of).collect();
        assert!(known.iter().enumerate().all(|(code, cause)| usize::from(cause_code(*cause)) == code));
        assert_eq!(known.len(), 19);
    }
}
