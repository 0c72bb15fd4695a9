//! Reading a `print fmt`: a format in quotes, then its arguments.

use super::super::shape::FieldShape;
use super::conversion::{self, Piece};
use super::expr::{Binary, Expr, Unary};
use crate::kernel::ring::Abi;

/// Deepest nesting that is followed.
const DEEPEST: u32 = 120;
/// Most rows of a table of names.
const MOST_ROWS: usize = 4096;

/// The pieces of a format; `None` where something in it is not known.
pub fn pieces(text: &str, fields: &[FieldShape], abi: Abi) -> Option<Vec<Piece>> {
    let mut parser = Parser { rest: text.trim(), fields, abi, depth: 0 };
    let format = parser.quoted()?;
    let mut arguments = Vec::new();
    while parser.take(",") {
        arguments.push(parser.expr(0)?);
    }
    parser.blank();
    if parser.rest.is_empty() { conversion::of(&format, arguments, abi) } else { None }
}

struct Parser<'a> {
    rest: &'a str,
    fields: &'a [FieldShape],
    abi: Abi,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn blank(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, token: &str) -> bool {
        self.blank();
        let taken = self.rest.strip_prefix(token);
        self.rest = taken.unwrap_or(self.rest);
        taken.is_some()
    }

    fn expect(&mut self, token: &str) -> Option<()> {
        self.take(token).then_some(())
    }

    fn word(&mut self) -> Option<&'a str> {
        self.blank();
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let starts = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        starts.then(|| {
            self.rest = rest;
            word
        })
    }

    /// Texts that follow each other are one.
    fn quoted(&mut self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        let mut any = false;
        while self.take("\"") {
            any = true;
            let bytes = self.rest.as_bytes();
            let mut at = 0;
            loop {
                match *bytes.get(at)? {
                    b'"' => break,
                    b'\\' => {
                        let escaped = match *bytes.get(at + 1)? {
                            b'n' => b'\n',
                            b't' => b'\t',
                            b'r' => b'\r',
                            b'0' => 0,
                            other => other,
                        };
                        text.push(escaped);
                        at += 2;
                    }
                    byte => {
                        text.push(byte);
                        at += 1;
                    }
                }
            }
            self.rest = self.rest.get(at + 1..)?;
        }
        any.then_some(text)
    }

    fn expr(&mut self, weakest: u8) -> Option<Expr> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let mut left = self.unary()?;
        while let Some((text, operator, binding)) = self.operator(weakest) {
            self.expect(text)?;
            let right = self.expr(binding + 1)?;
            left = folded(operator, left, right);
        }
        if weakest == 0 && self.take("?") {
            let yes = self.expr(0)?;
            self.expect(":")?;
            let no = self.expr(0)?;
            left = match left {
                Expr::Number(0) => no,
                Expr::Number(_) => yes,
                left => Expr::Choice(Box::new((left, yes, no))),
            };
        }
        self.depth -= 1;
        Some(left)
    }

    fn operator(&mut self, weakest: u8) -> Option<(&'static str, Binary, u8)> {
        self.blank();
        Binary::ALL.into_iter().find(|(text, ..)| self.rest.starts_with(text)).filter(|(_, _, b)| *b >= weakest.max(1))
    }

    fn unary(&mut self) -> Option<Expr> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let found = self.unary_inside();
        self.depth -= 1;
        found
    }

    fn unary_inside(&mut self) -> Option<Expr> {
        self.blank();
        for (text, operator) in [("-", Unary::Minus), ("!", Unary::Not), ("~", Unary::Invert)] {
            if self.take(text) {
                return Some(match (operator, self.unary()?) {
                    (Unary::Minus, Expr::Number(n)) => Expr::Number(n.wrapping_neg()),
                    (Unary::Invert, Expr::Number(n)) => Expr::Number(!n),
                    (Unary::Not, Expr::Number(n)) => Expr::Number(i64::from(n == 0)),
                    (operator, of) => Expr::Unary(operator, Box::new(of)),
                });
            }
        }
        // The address of a field is printed as what stands there.
        if self.take("&") {
            return self.unary();
        }
        if self.rest.starts_with('(') {
            return self.parenthesis();
        }
        if self.rest.starts_with('"') {
            return self.quoted().map(|text| Expr::Text(text.into()));
        }
        if self.rest.starts_with('\'') {
            let mut chars = self.rest[1..].chars();
            let (c, end) = (chars.next()?, chars.next()?);
            self.rest = chars.as_str();
            return (end == '\'').then_some(Expr::Number(i64::from(u32::from(c))));
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            return self.number();
        }
        let word = self.word()?;
        if word == "REC" {
            self.expect("->")?;
            return self.field_name().and_then(|field| self.subscript(field));
        }
        self.call(word)
    }

    /// `(expression)`, `(type)expression`, `(REC)->field`.
    fn parenthesis(&mut self) -> Option<Expr> {
        let before = self.rest;
        self.expect("(")?;
        if self.take("REC") {
            if self.take(")") {
                self.expect("->")?;
                return self.field_name().and_then(|field| self.subscript(field));
            }
            self.rest = before.get(1..)?;
        }
        if let Some((size, signed)) = self.cast() {
            let of = self.unary()?;
            return Some(match of {
                Expr::Number(n) => Expr::Number(cut(n, size, signed)),
                // A field read as it lies needs no cast to something as wide.
                of if size >= 8 => of,
                of @ (Expr::Text(_) | Expr::Field(_)) if size == 0 => of,
                of => Expr::Cast { size, signed, of: Box::new(of) },
            });
        }
        self.rest = before.get(1..)?;
        let inside = self.expr(0)?;
        self.expect(")")?;
        // `((type)x)[n]` and `(x)->y` are not known.
        self.blank();
        (!self.rest.starts_with('[') && !self.rest.starts_with("->")).then_some(inside)
    }

    /// `type)` with stars: its bytes and whether it is signed. Gives nothing, and may have gone on, where it is none.
    fn cast(&mut self) -> Option<(u8, bool)> {
        let mut words = Vec::new();
        while let Some(word) = self.word() {
            words.push(word);
        }
        let mut pointer = false;
        while self.take("*") {
            pointer = true;
        }
        if !self.take(")") || words.is_empty() {
            return None;
        }
        words.retain(|word| !matches!(*word, "const" | "volatile" | "__force"));
        let unsigned = words.contains(&"unsigned");
        if pointer {
            return Some((8, false));
        }
        let last = words.last().copied().unwrap_or("int");
        Some(match last {
            "char" | "s8" | "__s8" => (1, !unsigned),
            "u8" | "__u8" | "bool" => (1, false),
            "short" | "s16" | "__s16" => (2, !unsigned),
            "u16" | "__u16" => (2, false),
            "u32" | "__u32" | "unsigned" | "gfp_t" | "dev_t" | "uint32_t" | "blk_opf_t" | "blk_mode_t" | "fmode_t" => {
                (4, false)
            }
            "int" if words.contains(&"short") => (2, !unsigned),
            "int" if words.contains(&"long") => (8, !unsigned),
            "int" => (4, !unsigned),
            "s32" | "__s32" | "pid_t" | "int32_t" => (4, true),
            "long" => (if words.iter().filter(|w| **w == "long").count() > 1 { 8 } else { self.abi.long }, !unsigned),
            "size_t" | "uintptr_t" | "sector_t" | "u64" | "__u64" | "uint64_t" | "loff_t" | "s64" | "__s64"
            | "ktime_t" | "int64_t" | "pgoff_t" | "ino_t" => (8, !unsigned),
            _ if words.first() == Some(&"enum") => (4, true),
            _ => return None,
        })
    }

    fn number(&mut self) -> Option<Expr> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let digits = digits.trim_end_matches(['u', 'U', 'l', 'L']);
        let parsed = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hex) => u64::from_str_radix(hex, 16),
            None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8),
            None => digits.parse::<u64>(),
        };
        self.rest = rest;
        parsed.ok().map(|n| Expr::Number(n.cast_signed()))
    }

    fn field_name(&mut self) -> Option<usize> {
        let name = self.word()?;
        self.fields.iter().position(|field| &*field.name == name)
    }

    fn subscript(&mut self, field: usize) -> Option<Expr> {
        if self.take("[") {
            let at = self.expr(0)?;
            self.expect("]")?;
            return Some(Expr::Element(field, Box::new(at)));
        }
        self.blank();
        // Members of members are not told by formats.
        (!self.rest.starts_with("->") && !self.rest.starts_with('.')).then_some(Expr::Field(field))
    }

    /// A field as an argument: by its name, or as `REC->name`.
    fn of_field(&mut self) -> Option<usize> {
        let before = self.rest;
        if self.word() == Some("REC") {
            self.expect("->")?;
        } else {
            self.rest = before;
        }
        self.field_name()
    }

    fn call(&mut self, name: &str) -> Option<Expr> {
        self.expect("(")?;
        let made = match name {
            "__get_str"
            | "__get_rel_str"
            | "__get_dynamic_array"
            | "__get_rel_dynamic_array"
            | "__get_sockaddr"
            | "__get_rel_sockaddr" => Expr::Field(self.of_field()?),
            "__get_dynamic_array_len" | "__get_rel_dynamic_array_len" => Expr::Length(self.of_field()?),
            "__get_bitmask" | "__get_cpumask" | "__get_rel_bitmask" | "__get_rel_cpumask" => {
                Expr::Mask(self.of_field()?)
            }
            "__print_flags" | "__print_flags_u64" => {
                let of = self.expr(0)?;
                self.expect(",")?;
                let between = self.quoted()?;
                Expr::Flags(Box::new(of), between.into(), self.table()?)
            }
            "__print_symbolic" | "__print_symbolic_u64" => {
                let of = self.expr(0)?;
                Expr::Symbolic(Box::new(of), self.table()?)
            }
            "__print_hex" | "__print_hex_str" => self.hex(name == "__print_hex")?,
            "__print_array" => self.array()?,
            "sizeof" => {
                let field = self.of_field()?;
                Expr::Length(field)
            }
            _ => return None,
        };
        self.expect(")")?;
        Some(made)
    }

    fn data(&mut self) -> Option<usize> {
        match self.expr(0)? {
            Expr::Field(field) => Some(field),
            Expr::Cast { of, .. } => {
                if let Expr::Field(field) = *of {
                    Some(field)
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    fn hex(&mut self, blanks: bool) -> Option<Expr> {
        let field = self.data()?;
        self.expect(",")?;
        let length = self.expr(0)?;
        Some(Expr::Hex(field, blanks, Some(Box::new(length))))
    }

    fn array(&mut self) -> Option<Expr> {
        let field = self.data()?;
        self.expect(",")?;
        self.expr(0)?;
        self.expect(",")?;
        let Expr::Number(size @ (1 | 2 | 4 | 8)) = self.expr(0)? else { return None };
        Some(Expr::Array(field, size as usize))
    }

    /// `, { 1, "ONE" }, …`. Rows whose number is a name that nobody told are left out.
    fn table(&mut self) -> Option<Vec<(u64, Box<[u8]>)>> {
        let mut rows = Vec::new();
        while self.take(",") {
            self.expect("{")?;
            let (before, depth) = (self.rest, self.depth);
            let number = match self.expr(0) {
                Some(Expr::Number(number)) => Some(number),
                Some(_) => None,
                None => {
                    (self.rest, self.depth) = (before, depth);
                    self.rest = self.rest.get(self.rest.find([',', '}'])?..)?;
                    None
                }
            };
            self.expect(",")?;
            self.blank();
            let text = if self.rest.starts_with('"') { self.quoted() } else { None };
            if text.is_none() {
                // `((void *)0)` ends a table.
                self.rest = self.rest.get(self.rest.find('}')?..)?;
            }
            self.expect("}")?;
            if let (Some(number), Some(text)) = (number, text) {
                if rows.len() >= MOST_ROWS {
                    return None;
                }
                rows.push((number.cast_unsigned(), text.into()));
            }
        }
        Some(rows)
    }
}

/// An operation, done where both operands are known.
fn folded(operator: Binary, left: Expr, right: Expr) -> Expr {
    if let (Expr::Number(a), Expr::Number(b)) = (&left, &right)
        && let Some(value) = operator.apply(*a, *b)
    {
        return Expr::Number(value);
    }
    Expr::Binary(operator, Box::new((left, right)))
}

/// A number cut to so many bytes.
pub fn cut(number: i64, size: u8, signed: bool) -> i64 {
    let size = usize::from(size);
    let extended = super::super::shape::extend(number.cast_unsigned(), size);
    if signed || !matches!(size, 1..8) { extended } else { extended & ((1_i64 << (8 * size)) - 1) }
}
