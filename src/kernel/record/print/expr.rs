//! Expressions of a `print fmt`.

/// Numbers and texts of a record.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Number(i64),
    /// Text.
    Text(Box<[u8]>),
    /// A field, by its index.
    Field(usize),
    /// An element of an array.
    Element(usize, Box<Expr>),
    /// Bytes of a field's data.
    Length(usize),
    /// `-`, `!`, `~`.
    Unary(Unary, Box<Expr>),
    /// Two operands.
    Binary(Binary, Box<(Expr, Expr)>),
    /// `a ? b : c`.
    Choice(Box<(Expr, Expr, Expr)>),
    /// A number cut to so many bytes.
    Cast {
        /// Bytes.
        size: u8,
        /// Two's complement.
        signed: bool,
        /// Of this.
        of: Box<Expr>,
    },
    /// `__print_flags`: names of bits with a text between them.
    Flags(Box<Expr>, Box<[u8]>, Vec<(u64, Box<[u8]>)>),
    /// `__print_symbolic`.
    Symbolic(Box<Expr>, Vec<(u64, Box<[u8]>)>),
    /// `__print_hex`: bytes of a field, with or without blanks between them, at most so many.
    Hex(usize, bool, Option<Box<Expr>>),
    /// `__print_array`: elements of so many bytes.
    Array(usize, usize),
    /// `__get_bitmask`, `__get_cpumask`.
    Mask(usize),
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `-`
    Minus,
    /// `!`
    Not,
    /// `~`
    Invert,
}

/// Operators with two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `*`
    Times,
    /// `/`
    Over,
    /// `%`
    Modulo,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `<<`
    Left,
    /// `>>`
    Right,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `&`
    And,
    /// `^`
    Xor,
    /// `|`
    Or,
    /// `&&`
    Both,
    /// `||`
    Either,
}

impl Binary {
    /// Operators with their text, longest first, and how strongly they bind.
    pub const ALL: [(&'static str, Self, u8); 18] = [
        ("<<", Self::Left, 8),
        (">>", Self::Right, 8),
        ("<=", Self::LessEqual, 7),
        (">=", Self::GreaterEqual, 7),
        ("==", Self::Equal, 6),
        ("!=", Self::Unequal, 6),
        ("&&", Self::Both, 2),
        ("||", Self::Either, 1),
        ("*", Self::Times, 10),
        ("/", Self::Over, 10),
        ("%", Self::Modulo, 10),
        ("+", Self::Plus, 9),
        ("-", Self::Minus, 9),
        ("<", Self::Less, 7),
        (">", Self::Greater, 7),
        ("&", Self::And, 5),
        ("^", Self::Xor, 4),
        ("|", Self::Or, 3),
    ];

    /// Of two numbers; `None` for a division by zero.
    pub const fn apply(self, a: i64, b: i64) -> Option<i64> {
        Some(match self {
            Self::Times => a.wrapping_mul(b),
            Self::Over if b == 0 => return None,
            Self::Over => a.wrapping_div(b),
            Self::Modulo if b == 0 => return None,
            Self::Modulo => a.wrapping_rem(b),
            Self::Plus => a.wrapping_add(b),
            Self::Minus => a.wrapping_sub(b),
            Self::Left => a.wrapping_shl((b & 63) as u32),
            // Nearly all shifted fields are unsigned.
            Self::Right => (a.cast_unsigned() >> (b & 63)).cast_signed(),
            Self::Less => (a < b) as i64,
            Self::LessEqual => (a <= b) as i64,
            Self::Greater => (a > b) as i64,
            Self::GreaterEqual => (a >= b) as i64,
            Self::Equal => (a == b) as i64,
            Self::Unequal => (a != b) as i64,
            Self::And => a & b,
            Self::Xor => a ^ b,
            Self::Or => a | b,
            Self::Both => (a != 0 && b != 0) as i64,
            Self::Either => (a != 0 || b != 0) as i64,
        })
    }
}
