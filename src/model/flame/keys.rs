//! Keys of maps as a tree of stacks takes them: their stacks, their other parts, and the numbers that they are known by.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::model::render;
use crate::model::value::{Stack, Value};

/// Bytes of a name that are kept.
const LONGEST_NAME: usize = 4096;

/// Whether an address lies in the kernel's half.
pub(super) const fn is_kernel(address: u64) -> bool {
    address >> 63 == 1
}

/// A name that is not longer than can be of use.
pub(super) fn kept(text: &Arc<str>) -> Arc<str> {
    if text.len() <= LONGEST_NAME {
        return Arc::clone(text);
    }
    let end = (0..=LONGEST_NAME).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &text[..end]).into()
}

/// The stacks of a key, and its other parts.
pub(super) fn split<'v>(key: &'v [Value], stacks: &mut Vec<&'v Stack>, parts: &mut Vec<&'v Value>) {
    for part in key {
        match part {
            Value::Stack(stack) => stacks.push(stack),
            Value::Tuple(items) if items.iter().any(|v| matches!(v, Value::Stack(_))) => split(items, stacks, parts),
            other => parts.push(other),
        }
    }
}

pub(super) fn frames_of(part: &Value) -> usize {
    match part {
        Value::Stack(stack) => stack.frames.len(),
        Value::Tuple(items) => items.iter().map(frames_of).sum(),
        _ => 0,
    }
}

/// A part of a key as it prints.
pub(super) fn part_text(value: &Value) -> Arc<str> {
    let mut out = Vec::new();
    render::value_into(value, &mut out);
    let text = String::from_utf8_lossy(&out);
    if text.is_empty() { "(empty)".into() } else { kept(&text.as_ref().into()) }
}

pub(super) fn hash(value: &Value, into: &mut impl Hasher) {
    std::mem::discriminant(value).hash(into);
    match value {
        Value::Stack(stack) => {
            for frame in stack.frames.iter() {
                frame.hash(into);
            }
        }
        Value::Str(bytes) => bytes.hash(into),
        Value::Int(v, _) => v.hash(into),
        Value::Uint(v, _) => v.hash(into),
        Value::Tuple(items) => items.iter().for_each(|v| hash(v, into)),
        other => part_text(other).hash(into),
    }
}
