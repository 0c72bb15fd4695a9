//! How many line breaks an event's text has, without making the text.

use super::codec::Encoder;
use super::trace_info::ActionKind;
use crate::model::format::{ConversionKind, Piece};
use crate::model::value::Value;

/// What is known of an action's text ahead of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Breaks {
    /// A format that ends with a text.
    Format {
        /// Line breaks in its texts.
        literal: u32,
        /// It does not end with a line break.
        rest: bool,
        /// What is converted how.
        conversions: Box<[ConversionKind]>,
    },
    /// Values and a line break.
    Values,
    /// The text has to be made.
    Unknown,
}

impl Breaks {
    /// Of an action.
    pub fn of(kind: Option<&ActionKind>) -> Self {
        let Some(ActionKind::Printf { format, .. }) = kind else { return Self::Values };
        let Some(Piece::Literal(end)) = format.pieces.last().filter(|p| **p != Piece::Literal("".into())) else {
            return Self::Unknown;
        };
        let (mut literal, mut conversions) = (0, Vec::new());
        for piece in &format.pieces {
            match piece {
                Piece::Literal(text) => literal += memchr::memchr_iter(b'\n', text.as_bytes()).count() as u32,
                Piece::Conversion(conversion) => conversions.push(conversion.kind),
            }
        }
        Self::Format { literal, rest: !end.ends_with('\n'), conversions: conversions.into() }
    }

    /// Line breaks, and whether something follows the last one; `None` when the text has to be made.
    pub fn count(&self, values: &[Value], encoder: &mut Encoder) -> Option<(u32, bool)> {
        match self {
            Self::Unknown => None,
            Self::Values => {
                let mut breaks = 1;
                for value in values {
                    breaks += in_value(value, ConversionKind::Str, encoder)?;
                }
                Some((breaks, false))
            }
            Self::Format { literal, rest, conversions } => {
                let mut breaks = *literal;
                for (value, kind) in values.iter().zip(conversions) {
                    breaks += in_value(value, *kind, encoder)?;
                }
                Some((breaks, *rest))
            }
        }
    }
}

fn in_value(value: &Value, kind: ConversionKind, encoder: &mut Encoder) -> Option<u32> {
    let in_bytes = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count() as u32;
    let in_number = |bits: u64| u32::from(kind == ConversionKind::Char && bits as u8 == b'\n');
    let escaped = matches!(kind, ConversionKind::Bytes | ConversionKind::BytesHex | ConversionKind::BytesHexEscaped);
    // What `%s` shows as text, and the conversions of bytes where it is no bytes.
    let as_text = escaped || kind == ConversionKind::Str;
    Some(match value {
        Value::None => 0,
        Value::Bool(_) => 0,
        Value::Int(v, _) => in_number(*v as u64),
        Value::Uint(v, _) | Value::Pointer(v) => in_number(*v),
        Value::Enum { value, name } => match name {
            Some(name) if as_text => in_bytes(name.as_bytes()),
            _ => in_number(*value as u64),
        },
        Value::Str(_) if escaped => 0,
        Value::Str(bytes) => in_bytes(bytes),
        Value::Text(text, _) if as_text => in_bytes(text.as_bytes()),
        Value::Text(_, raw) => in_number(*raw),
        Value::Stack(stack) => encoder.stack(stack).1,
        _ => return None,
    })
}
