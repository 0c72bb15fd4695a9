//! Conversions of a `print fmt`: those of C, and the kernel's forms of `%p`.

use super::Of;
use super::eval;
use super::expr::Expr;
use crate::kernel::ring::Abi;

/// Widest field that is padded.
const WIDEST: usize = 4096;

/// A part of a format.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// As it is.
    Literal(Box<[u8]>),
    /// A value.
    Value(Box<Conversion>),
}

/// A conversion with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion {
    left: bool,
    zero: bool,
    plus: bool,
    alternate: bool,
    width: Option<Expr>,
    precision: Option<Expr>,
    /// Bytes of the number.
    size: u8,
    kind: Kind,
    argument: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Signed,
    Unsigned,
    Hex { upper: bool },
    Octal,
    Char,
    Text,
    Pointer,
    Symbol { offset: bool },
    Address { six: bool, short: bool },
    Mac,
    Uuid,
    Dump,
    Mask,
}

/// Puts a format and its arguments together; `None` where they don't fit.
pub fn of(format: &[u8], arguments: Vec<Expr>, abi: Abi) -> Option<Vec<Piece>> {
    let mut arguments = arguments.into_iter();
    let (mut pieces, mut literal, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(byte) = format.get(at) {
        at += 1;
        if *byte != b'%' {
            literal.push(*byte);
        } else if format.get(at) == Some(&b'%') {
            literal.push(b'%');
            at += 1;
        } else {
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal).into()));
            }
            let conversion = one(format, &mut at, &mut arguments, abi)?;
            pieces.push(Piece::Value(Box::new(conversion)));
        }
    }
    // The kernel ends some formats with a line's end that its own printer takes away.
    while literal.last() == Some(&b'\n') {
        literal.pop();
    }
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal.into()));
    }
    Some(pieces)
}

/// A `*` without an argument for it.
struct NoArgument;

/// A width or a precision, where there is one.
fn number_or_star(
    format: &[u8],
    at: &mut usize,
    arguments: &mut impl Iterator<Item = Expr>,
) -> Result<Option<Expr>, NoArgument> {
    if format.get(*at) == Some(&b'*') {
        *at += 1;
        return arguments.next().map(Some).ok_or(NoArgument);
    }
    let begun = *at;
    let mut number = 0_i64;
    while let Some(digit) = format.get(*at).filter(|b| b.is_ascii_digit()) {
        number = (number * 10 + i64::from(digit - b'0')).min(WIDEST as i64);
        *at += 1;
    }
    Ok((*at > begun).then_some(Expr::Number(number)))
}

fn one(format: &[u8], at: &mut usize, arguments: &mut impl Iterator<Item = Expr>, abi: Abi) -> Option<Conversion> {
    let (mut left, mut zero, mut plus, mut alternate) = (false, false, false, false);
    loop {
        match *format.get(*at)? {
            b'-' => left = true,
            b'0' => zero = true,
            b'+' | b' ' => plus = true,
            b'#' => alternate = true,
            _ => break,
        }
        *at += 1;
    }
    let width = number_or_star(format, at, arguments).ok()?;
    let precision = if format.get(*at) == Some(&b'.') {
        *at += 1;
        Some(number_or_star(format, at, arguments).ok()?.unwrap_or(Expr::Number(0)))
    } else {
        None
    };
    let mut size = 4_u8;
    while let Some(length) = format.get(*at).filter(|b| b"hlLqjzZt".contains(b)) {
        size = match (length, size) {
            (b'h', 2) => 1,
            (b'h', _) => 2,
            (b'l', 4) => abi.long,
            (b'z' | b'Z' | b't', _) => abi.long,
            _ => 8,
        };
        *at += 1;
    }
    let kind = kind(format, at)?;
    let argument = arguments.next()?;
    Some(Conversion { left, zero, plus, alternate, width, precision, size, kind, argument })
}

fn kind(format: &[u8], at: &mut usize) -> Option<Kind> {
    let letter = *format.get(*at)?;
    *at += 1;
    let mut next = |wanted: &[u8]| {
        let found = format.get(*at).copied().filter(|b| wanted.contains(b));
        *at += usize::from(found.is_some());
        found
    };
    Some(match letter {
        b'd' | b'i' => Kind::Signed,
        b'u' => Kind::Unsigned,
        b'x' => Kind::Hex { upper: false },
        b'X' => Kind::Hex { upper: true },
        b'o' => Kind::Octal,
        b'c' => Kind::Char,
        b's' => Kind::Text,
        b'p' => match next(b"sSfFBxKIiMmUhbgdtD") {
            Some(b's' | b'f') => Kind::Symbol { offset: false },
            Some(b'S' | b'F' | b'B') => Kind::Symbol { offset: true },
            Some(b'I' | b'i') => match next(b"46S") {
                Some(b'4') => Kind::Address { six: false, short: false },
                Some(b'6') => Kind::Address { six: true, short: next(b"c").is_some() },
                Some(_) => {
                    while next(b"pfscn46").is_some() {}
                    Kind::Dump
                }
                None => return None,
            },
            Some(b'M' | b'm') => Kind::Mac,
            Some(b'U') => {
                let _ = next(b"bBlL");
                Kind::Uuid
            }
            Some(b'h') => {
                let _ = next(b"CDN");
                Kind::Dump
            }
            Some(b'b') => {
                let _ = next(b"l");
                Kind::Mask
            }
            Some(b'g' | b'd' | b't' | b'D') => return None,
            _ => Kind::Pointer,
        },
        _ => return None,
    })
}

impl Piece {
    /// Adds a record's text.
    pub(super) fn write(&self, of: Of<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Literal(text) => out.extend_from_slice(text),
            Self::Value(conversion) => conversion.write(of, out),
        }
    }
}

impl Conversion {
    fn write(&self, of: Of<'_>, out: &mut Vec<u8>) {
        let of_expr = |expr: &Option<Expr>| expr.as_ref().and_then(|expr| eval::number(of, expr));
        let (width, precision) = (of_expr(&self.width).unwrap_or(0), of_expr(&self.precision));
        let begun = out.len();
        self.bare(of, precision, out);
        let (wanted, has) = ((width.unsigned_abs() as usize).min(WIDEST), out.len() - begun);
        if has >= wanted {
            return;
        }
        let numeric = matches!(self.kind, Kind::Signed | Kind::Unsigned | Kind::Hex { .. } | Kind::Octal);
        if self.left || width < 0 {
            out.resize(begun + wanted, b' ');
        } else if self.zero && numeric && precision.is_none() {
            // Zeros stand behind the sign and `0x`.
            let mut from = begun + usize::from(out.get(begun).is_some_and(|b| b"-+".contains(b)));
            from += if out[from..].starts_with(b"0x") { 2 } else { 0 };
            out.splice(from..from, std::iter::repeat_n(b'0', wanted - has));
        } else {
            out.splice(begun..begun, std::iter::repeat_n(b' ', wanted - has));
        }
    }

    fn bare(&self, of: Of<'_>, precision: Option<i64>, out: &mut Vec<u8>) {
        match self.kind {
            Kind::Text => {
                let begun = out.len();
                eval::text(of, &self.argument, out);
                if let Some(most) = precision.and_then(|p| usize::try_from(p).ok()) {
                    out.truncate((begun + most).min(out.len()));
                }
                return;
            }
            Kind::Address { six, short } => return eval::address(of, &self.argument, six, short, out),
            Kind::Mac => return eval::dump(of, &self.argument, 6, b":", out),
            Kind::Uuid => return eval::uuid(of, &self.argument, out),
            Kind::Dump => return eval::dump(of, &self.argument, 64, b" ", out),
            Kind::Mask => return eval::text(of, &self.argument, out),
            _ => {}
        }
        let Some(number) = eval::number(of, &self.argument) else {
            // Text where a number is wanted is text (`%x` of a table that has no number).
            out.push(b'?');
            return;
        };
        self.number(of, number, precision, out);
    }

    fn number(&self, of: Of<'_>, number: i64, precision: Option<i64>, out: &mut Vec<u8>) {
        let unsigned = super::parse::cut(number, self.size, false).cast_unsigned();
        let begun = out.len();
        match self.kind {
            Kind::Signed => {
                let signed = super::parse::cut(number, self.size, true);
                if self.plus && signed >= 0 {
                    out.push(b'+');
                }
                eval::decimal(signed, out);
            }
            Kind::Unsigned => eval::unsigned(unsigned, out),
            Kind::Hex { upper } => {
                if self.alternate && unsigned != 0 {
                    out.extend_from_slice(b"0x");
                }
                eval::radix(unsigned, 16, upper, out);
            }
            Kind::Octal => {
                if self.alternate && unsigned != 0 {
                    out.push(b'0');
                }
                eval::radix(unsigned, 8, false, out);
            }
            Kind::Char => out.push(number as u8),
            Kind::Symbol { offset } => eval::symbol(of.symbols, number.cast_unsigned(), offset, out),
            _ => eval::hex(number.cast_unsigned(), out),
        }
        if let Some(digits) = precision.and_then(|p| usize::try_from(p).ok()).filter(|d| *d <= 64) {
            let from = begun + usize::from(out.get(begun).is_some_and(|b| b"-+".contains(b)));
            let has = out.len() - from;
            out.splice(from..from, std::iter::repeat_n(b'0', digits.saturating_sub(has)));
        }
    }
}
