//! Parsed `printf` formats.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A format: literal text and conversions in order.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Format {
    /// The format as written, escapes resolved.
    pub text: Arc<str>,
    /// Its pieces.
    pub pieces: Vec<Piece>,
}

/// One piece of a format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// Text as it is (`%%` is already one `%`).
    Literal(Arc<str>),
    /// A value.
    Conversion(Conversion),
}

/// `%[flags][width][.precision][length]kind`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversion {
    /// `-`: left-justify.
    pub left: bool,
    /// `+`: always a sign.
    pub plus: bool,
    /// space: a space where a plus would be.
    pub space: bool,
    /// `#`: alternative form.
    pub alternate: bool,
    /// `0`: pad with zeros.
    pub zero: bool,
    /// Least width in characters.
    pub width: Width,
    /// Digits after the point, or least digits of an integer.
    pub precision: Option<Width>,
    /// C's length modifier.
    pub length: Length,
    /// What is printed.
    pub kind: ConversionKind,
}

/// A width or precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Width {
    /// Not given.
    None,
    /// A number.
    Fixed(u32),
}

/// C's length modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Length {
    /// None: integers are cut to 32 bits.
    #[default]
    None,
    /// `hh`: 8 bits.
    Char,
    /// `h`: 16 bits.
    Short,
    /// `l`, `ll`, `L`, `j`, `z`, `t`: 64 bits.
    Long,
}

/// Conversion characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConversionKind {
    /// `d`, `i`
    Signed,
    /// `u`
    Unsigned,
    /// `x`
    HexLower,
    /// `X`
    HexUpper,
    /// `o`
    Octal,
    /// `c`
    Char,
    /// `p`
    Pointer,
    /// `s`
    Str,
    /// `r`: bytes, printable ones kept, others as `\x00`.
    Bytes,
    /// `rx`: bytes as hex with `\x`.
    BytesHexEscaped,
    /// `rh`: bytes as hex separated by spaces.
    BytesHex,
    /// `gr`: GFP flags.
    Gfp,
}
