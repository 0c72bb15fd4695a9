//! What a clause of a D program records: one report with the values of all its actions, and what is to be done
//! with each.

pub mod options;

use std::sync::Arc;

/// A clause's record. Its first value is the processor's number.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The clause's number.
    pub clause: u32,
    /// In the order of the statements.
    pub items: Vec<Item>,
}

/// One recorded action. Numbers are indices into the record's values.
#[derive(Clone, Debug)]
pub enum Item {
    /// `trace(e)`, and stacks and symbols that stand alone.
    Trace(usize),
    /// A symbol that stands alone, or is traced.
    Symbol(usize),
    /// `printf(format, ...)`.
    Printf {
        /// The format.
        format: Arc<Format>,
        /// The first of its values.
        first: usize,
    },
    /// `printa([format,] @a, ...)`.
    Printa {
        /// The format; a table without one.
        format: Option<Arc<Format>>,
        /// The aggregations, as maps.
        maps: Vec<u32>,
    },
    /// `clear(@a)`.
    Clear(u32),
    /// `trunc(@a[, n])`.
    Trunc(u32, Option<usize>),
    /// `normalize(@a, n)`.
    Normalize(u32, usize),
    /// `denormalize(@a)`.
    Denormalize(u32),
    /// `speculate(id)`: the record waits for a commit; 0 when the speculation is not in use.
    Speculate(usize),
    /// `commit(id)`.
    Commit(usize),
    /// `discard(id)`.
    Discard(usize),
    /// `system(format, ...)`.
    System {
        /// The format.
        format: Arc<Format>,
        /// The first of its values.
        first: usize,
    },
    /// `freopen(format, ...)`: where output goes from here on; back to where it went first, for an empty name.
    Reopen {
        /// The format of the path.
        format: Arc<Format>,
        /// The first of its values.
        first: usize,
    },
    /// `setopt(name[, value])`.
    SetOption {
        /// The option.
        name: Arc<str>,
        /// What it is set to; 1 without one.
        value: Option<Setting>,
    },
    /// `exit(n)` and what else shows as an empty record.
    Nothing,
}

/// What an option is set to.
#[derive(Clone, Debug)]
pub enum Setting {
    /// A text of the program.
    Constant(Arc<str>),
    /// A value of the record.
    Value(usize),
}

/// The map that counts calls of `speculation` that found none free.
pub const FAILED_SPECULATIONS: &str = "failed speculations";

/// How records are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Style {
    /// The program is one of D.
    pub records: bool,
    /// The order of aggregations' rows.
    pub order: crate::model::render::d::Order,
    /// Only what the program prints itself.
    pub quiet: bool,
    /// The columns of processors and numbers of probes are left out, as D's own tests have it.
    pub short: bool,
    /// A record is a line with what the program printed: what shows it tells time, processor and probe beside it.
    pub bare: bool,
    /// Indents by entry and return.
    pub flowindent: bool,
    /// Texts print as bytes, this many; 0 for as text.
    pub raw_bytes: u16,
    /// Blanks before the frames of stacks.
    pub stack_indent: u16,
    /// Which records are printed.
    pub policy: Policy,
}

/// Which records are printed, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Policy {
    /// All, as they come.
    #[default]
    Switch,
    /// The last ones, when the program ends.
    Ring {
        /// How much text they are.
        bytes: u64,
    },
    /// The first ones, when the program ends.
    Fill {
        /// How much text they are.
        bytes: u64,
    },
}

/// A format of `printf` or `printa`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Format {
    /// In order.
    pub pieces: Vec<Piece>,
}

/// One piece of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Literal(Arc<str>),
    /// A value.
    Conversion(Conversion),
}

/// A width or a precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// A number.
    Fixed(u32),
    /// `*`: the next value.
    Value,
}

/// `%[flags][width][.precision][length]kind`
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Conversion {
    /// `-`
    pub left: bool,
    /// `+`
    pub plus: bool,
    /// space
    pub space: bool,
    /// `#`
    pub alternate: bool,
    /// `0`
    pub zero: bool,
    /// `'`
    pub group: bool,
    /// `@`: an aggregation's value.
    pub aggregation: bool,
    /// Least width.
    pub width: Option<Count>,
    /// Least digits of a number, most characters of a text.
    pub precision: Option<Count>,
    /// `h`, `l`, `ll`, `w`, ...
    pub length: Arc<str>,
    /// The conversion's letter.
    pub kind: char,
}

/// Widest field that is padded.
const WIDEST: u32 = 10_000;

impl Format {
    /// Reads a format.
    ///
    /// # Errors
    /// What is wrong with it, in plain words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut format = Self::default();
        let mut literal = String::new();
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            if c != '%' {
                literal.push(c);
                continue;
            }
            if rest.next_if_eq(&'%').is_some() {
                literal.push('%');
                continue;
            }
            let conversion = conversion(&mut rest)?;
            if !literal.is_empty() {
                format.pieces.push(Piece::Literal(std::mem::take(&mut literal).into()));
            }
            format.pieces.push(Piece::Conversion(conversion));
        }
        if !literal.is_empty() {
            format.pieces.push(Piece::Literal(literal.into()));
        }
        Ok(format)
    }

    /// Its conversions.
    pub fn conversions(&self) -> impl Iterator<Item = &Conversion> {
        self.pieces.iter().filter_map(|p| if let Piece::Conversion(c) = p { Some(c) } else { None })
    }
}

type Rest<'t> = std::iter::Peekable<std::str::Chars<'t>>;

fn number(rest: &mut Rest<'_>) -> Result<u32, String> {
    let mut value = 0_u32;
    while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
        value = value.saturating_mul(10).saturating_add(digit);
        rest.next();
    }
    if value > WIDEST { Err(format!("a width of {value} is over the limit of {WIDEST}")) } else { Ok(value) }
}

fn conversion(rest: &mut Rest<'_>) -> Result<Conversion, String> {
    let mut c = Conversion::default();
    loop {
        match rest.peek() {
            Some('-') => c.left = true,
            Some('+') => c.plus = true,
            Some(' ') => c.space = true,
            Some('#') => c.alternate = true,
            Some('0') => c.zero = true,
            Some('\'') => c.group = true,
            Some('@') => c.aggregation = true,
            _ => break,
        }
        rest.next();
    }
    loop {
        match rest.peek() {
            Some('*') => {
                if c.width.is_some() {
                    return Err("format conversion has more than one * specified for the output width".into());
                }
                rest.next();
                c.width = Some(Count::Value);
            }
            Some('1'..='9') => {
                if c.width.is_some() {
                    return Err("format conversion redeclares the width".into());
                }
                let width = number(rest)?;
                if rest.peek() == Some(&'$') {
                    return Err("format conversion specifies an argument by number, which is not supported".into());
                }
                c.width = Some(Count::Fixed(width));
            }
            Some('@') => {
                rest.next();
                c.aggregation = true;
            }
            // As wide as an address is in hexadecimal.
            Some('?') => {
                if c.width.is_some() {
                    return Err("format conversion redeclares the width".into());
                }
                rest.next();
                c.width = Some(Count::Fixed(16));
            }
            Some('.') => {
                if c.precision.is_some() {
                    return Err("format conversion has more than one precision".into());
                }
                rest.next();
                c.precision =
                    Some(if rest.next_if_eq(&'*').is_some() { Count::Value } else { Count::Fixed(number(rest)?) });
                if rest.peek() == Some(&'$') {
                    return Err("format conversion specifies an argument by number, which is not supported".into());
                }
                if matches!(rest.peek(), Some('*' | '0'..='9')) {
                    return Err("format conversion has a width behind its precision".into());
                }
            }
            _ => break,
        }
    }
    let mut length = String::new();
    while let Some(letter) = rest.next_if(|l| matches!(l, 'h' | 'l' | 'L' | 'w')) {
        length.push(letter);
    }
    c.length = length.into();
    c.kind = match rest.next() {
        None => return Err("format conversion lacks its letter".into()),
        Some('%' | '-' | '+' | '#' | ' ') => return Err("format conversion `%` takes no flags".into()),
        Some(letter) if "aAcCdeEfgGikopsSTuxXYY".contains(letter) => letter,
        Some(letter) => return Err(format!("unknown format conversion %{letter}")),
    };
    Ok(c)
}
