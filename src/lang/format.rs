//! `printf` formats: text to pieces, with errors that point into the string literal.

use std::ops::Range;
use std::sync::Arc;

use super::codes::parse as codes;
use super::diagnostic::{Code, Diagnostic};
use super::literal::decode_str;
use super::source::{SourceText, Span};
use crate::model::format::{Conversion, ConversionKind, Format, Length, Piece, Width};

/// The largest width or precision: enough for every terminal, too little to fill memory.
pub const MAX_WIDTH: u32 = 10_000;

/// Why a format could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FormatError {
    /// Which mistake.
    pub code: Code,
    /// Where: inside the literal when its text was written without escapes, else the literal.
    pub span: Span,
    /// Plain words.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// Bytes of the format (escapes resolved) at fault.
    range: Range<usize>,
    literal: Span,
}

impl FormatError {
    /// As a diagnostic. With the source at hand the place is exact also behind escapes.
    #[must_use]
    pub fn diagnostic(&self, source: &SourceText) -> Diagnostic {
        let span = locate(source, self.literal, &self.range).unwrap_or(self.span);
        Diagnostic::error(self.code, span, self.message.clone()).help(self.help.clone())
    }
}

/// The place in the source of a range of a literal's value.
fn locate(source: &SourceText, literal: Span, range: &Range<usize>) -> Option<Span> {
    let mut offsets = Vec::new();
    decode_str(source.slice(literal), Some(&mut offsets));
    let start = *offsets.get(range.start)?;
    let end = offsets.get(range.end).copied().unwrap_or(offsets.last()? + 1);
    let place = |at: usize| literal.start + u32::try_from(at).unwrap_or(0);
    Some(Span::new(place(start), place(end)))
}

/// Parses the format of so many values. What is no conversion stands for itself where the values fit the others, as
/// in `"90% --timeout 60"`; where they do not, it is told as the mistake.
///
/// # Errors
/// As [`parse_format`] does.
pub fn parse_format_of(text: &str, span: Span, values: usize) -> Result<Format, FormatError> {
    let fits =
        |format: &Format| format.pieces.iter().filter(|piece| matches!(piece, Piece::Conversion(_))).count() == values;
    let strict = parse_format(text, span);
    if strict.as_ref().map_or_else(|error| error.code == codes::FORMAT_TOO_WIDE, &fits) {
        return strict;
    }
    parse(text, span, true).ok().filter(fits).map_or(strict, Ok)
}

/// Parses a format. `text` has its escapes resolved; `span` is the literal's, quotes included.
///
/// # Errors
/// [`FormatError`] for a conversion that is unknown, unfinished or too wide.
pub fn parse_format(text: &str, span: Span) -> Result<Format, FormatError> {
    parse(text, span, false)
}

/// With `lenient`, a percent sign that begins no conversion is itself.
fn parse(text: &str, span: Span, lenient: bool) -> Result<Format, FormatError> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut scanner = Scanner { text, at: 0, literal: span };
    while let Some(rest) = text.get(scanner.at..).filter(|r| !r.is_empty()) {
        let plain = rest.find('%').unwrap_or(rest.len());
        literal.push_str(rest.get(..plain).unwrap_or(""));
        scanner.at += plain;
        if scanner.at >= text.len() {
            break;
        }
        if rest.get(plain..).is_some_and(|r| r.starts_with("%%")) {
            literal.push('%');
            scanner.at += 2;
            continue;
        }
        if let Some(sign) = scanner.lone_sign() {
            literal.push_str(sign);
            continue;
        }
        let start = scanner.at;
        // `% --t`: a blank and another sign are words behind a percent sign, rather than flags.
        let is_text = lenient
            && rest.get(plain + 1..).is_some_and(|r| r.starts_with([' ']) && r[1..].starts_with(['-', ' ', '+', '#']));
        let conversion = match scanner.conversion() {
            Ok(conversion) if !is_text => conversion,
            Err(error) if !lenient || error.code == codes::FORMAT_TOO_WIDE => return Err(error),
            _ => {
                literal.push('%');
                scanner.at = start + 1;
                continue;
            }
        };
        if !literal.is_empty() {
            pieces.push(Piece::Literal(std::mem::take(&mut literal).into()));
        }
        pieces.push(Piece::Conversion(conversion));
    }
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal.into()));
    }
    Ok(Format { text: Arc::from(text), pieces })
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    literal: Span,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn accept(&mut self, what: &str) -> bool {
        let there = self.text.get(self.at..).is_some_and(|r| r.starts_with(what));
        if there {
            self.at += what.len();
        }
        there
    }

    /// A percent sign that no letter follows is itself; one with a width is the second half of a pair.
    fn lone_sign(&mut self) -> Option<&'static str> {
        let bytes = self.text.as_bytes().get(self.at + 1..).unwrap_or_default();
        let options = bytes.iter().take_while(|b| matches!(b, b'-' | b'+' | b' ' | b'#' | b'0'..=b'9' | b'.' | b'*'));
        let skipped = options.count();
        match bytes.get(skipped) {
            Some(b'%') => {
                self.at += skipped + 2;
                Some("%")
            }
            Some(b) if b.is_ascii_alphabetic() => None,
            _ => {
                self.at += 1;
                Some("%")
            }
        }
    }

    /// One conversion; the scanner stands at its `%`.
    fn conversion(&mut self) -> Result<Conversion, FormatError> {
        let start = self.at;
        self.at += 1;
        let mut conversion = Conversion {
            left: false,
            plus: false,
            space: false,
            alternate: false,
            zero: false,
            width: Width::None,
            precision: None,
            length: Length::None,
            kind: ConversionKind::Signed,
        };
        while let Some(flag @ (b'-' | b'+' | b' ' | b'#' | b'0')) = self.peek() {
            match flag {
                b'-' => conversion.left = true,
                b'+' => conversion.plus = true,
                b' ' => conversion.space = true,
                b'#' => conversion.alternate = true,
                _ => conversion.zero = true,
            }
            self.at += 1;
        }
        conversion.width = self.width(start)?;
        if self.accept(".") {
            let precision = self.width(start)?;
            conversion.precision = Some(if precision == Width::None { Width::Fixed(0) } else { precision });
        }
        conversion.length = self.length();
        conversion.kind = self.kind(start)?;
        Ok(conversion)
    }

    fn width(&mut self, start: usize) -> Result<Width, FormatError> {
        // bpftrace reads a `*` and leaves it unused: it takes no argument.
        if self.accept("*") {
            return Ok(Width::None);
        }
        let from = self.at;
        let mut value = 0_u32;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            value = value.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
            self.at += 1;
        }
        if value > MAX_WIDTH {
            let message =
                format!("the width {} is over the limit of {MAX_WIDTH}", self.text.get(from..self.at).unwrap_or(""));
            return Err(self.error(codes::FORMAT_TOO_WIDE, start, message, "use a smaller width"));
        }
        Ok(if self.at == from { Width::None } else { Width::Fixed(value) })
    }

    fn length(&mut self) -> Length {
        if self.accept("hh") {
            Length::Char
        } else if self.accept("h") {
            Length::Short
        } else if ["ll", "l", "L", "j", "z", "t"].iter().any(|l| self.accept(l)) {
            Length::Long
        } else {
            Length::None
        }
    }

    fn kind(&mut self, start: usize) -> Result<ConversionKind, FormatError> {
        const KINDS: &[(&str, ConversionKind)] = &[
            ("rx", ConversionKind::BytesHexEscaped),
            ("rh", ConversionKind::BytesHex),
            ("gr", ConversionKind::Gfp),
            ("r", ConversionKind::Bytes),
            ("d", ConversionKind::Signed),
            ("i", ConversionKind::Signed),
            ("u", ConversionKind::Unsigned),
            ("x", ConversionKind::HexLower),
            ("X", ConversionKind::HexUpper),
            ("o", ConversionKind::Octal),
            ("c", ConversionKind::Char),
            ("p", ConversionKind::Pointer),
            ("s", ConversionKind::Str),
        ];
        if let Some((_, kind)) = KINDS.iter().find(|(text, _)| self.accept(text)) {
            return Ok(*kind);
        }
        let Some(found) = self.text.get(self.at..).and_then(|r| r.chars().next()) else {
            let message = "the format ends inside a conversion".to_owned();
            return Err(self.error(codes::UNFINISHED_CONVERSION, start, message, "write `%%` for a percent sign"));
        };
        self.at += found.len_utf8();
        let shown: String = self.text.get(start..self.at).unwrap_or("").chars().flat_map(char::escape_debug).collect();
        let help = match found {
            'f' | 'e' | 'g' | 'F' | 'E' | 'G' | 'a' => "there are no fractions; print integers with %d",
            'n' => "%n is not supported; write a line break as \\n",
            _ => "known are %d %u %x %X %o %c %p %s, %r %rx %rh for buffers, %gr for GFP flags; a percent sign is %%",
        };
        Err(self.error(codes::BAD_CONVERSION, start, format!("`{shown}` is no conversion that formats know"), help))
    }

    fn error(&self, code: Code, start: usize, message: String, help: &str) -> FormatError {
        let range = start..self.at;
        // Without escapes the value lies byte for byte between the quotes.
        let exact = self.literal.end.saturating_sub(self.literal.start) as usize == self.text.len() + 2;
        let span = if exact {
            let place = |at: usize| self.literal.start + 1 + u32::try_from(at).unwrap_or(0);
            Span::new(place(range.start), place(range.end))
        } else {
            self.literal
        };
        FormatError { code, span, message, help: help.to_owned(), range, literal: self.literal }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Format {
        parse_format(text, Span::default()).unwrap()
    }

    /// A format back to text, to see that nothing was lost.
    fn spelled(format: &Format) -> String {
        let width = |w: Width| match w {
            Width::None => String::new(),
            Width::Fixed(n) => n.to_string(),
        };
        let mut out = String::new();
        for piece in &format.pieces {
            match piece {
                Piece::Literal(text) => write!(out, "<{text}>").unwrap(),
                Piece::Conversion(c) => {
                    let flags = [(c.left, '-'), (c.plus, '+'), (c.space, ' '), (c.alternate, '#'), (c.zero, '0')];
                    let flags: String = flags.iter().filter(|(set, _)| *set).map(|(_, f)| *f).collect();
                    let precision = c.precision.map_or(String::new(), |p| format!(".{}", width(p)));
                    write!(out, "%{flags}{}{precision} {:?} {:?}", width(c.width), c.length, c.kind).unwrap();
                }
            }
        }
        out
    }

    #[test]
    fn a_percent_sign_that_begins_no_conversion_is_itself_where_the_values_say_so() {
        let parts = |text: &str, values| parse_format_of(text, Span::default(), values).map(|f| f.pieces.len());
        assert_eq!(parts("90% --timeout 60", 0), Ok(1));
        assert_eq!(parts("5%k %y|%d", 1), Ok(2));
        assert_eq!(parts("%d% -d", 2), Ok(2));
        assert!(parts("%q", 1).is_err());
        // As in bpftrace, which wants a value for it.
        assert_eq!(parts("50% done", 0), Ok(3));
    }

    #[test]
    fn conversions_keep_flags_width_precision_and_length() {
        for (text, wanted) in [
            ("plain", "<plain>"),
            ("100%%", "<100%>"),
            ("%%d", "<%d>"),
            ("%d", "% None Signed"),
            ("%-10s|", "%-10 None Str<|>"),
            ("%+ #08llx", "%+ #08 Long HexLower"),
            ("%-10.10s", "%-10.10 None Str"),
            ("%.s", "%.0 None Str"),
            ("%*.*d", "%.0 None Signed"),
            ("100%\n|%5%|%é%", "<100%\n|%|%é%>"),
            ("%hhu %hd", "% Char Unsigned< >% Short Signed"),
            ("%zu%jd%td%Lx", "% Long Unsigned% Long Signed% Long Signed% Long HexLower"),
            ("%r %rx %rh %gr", "% None Bytes< >% None BytesHexEscaped< >% None BytesHex< >% None Gfp"),
            ("%c%p%o%X%i", "% None Char% None Pointer% None Octal% None HexUpper% None Signed"),
        ] {
            assert_eq!(spelled(&parsed(text)), wanted, "{text}");
        }
    }

    #[test]
    fn errors_point_into_the_literal() {
        for (script, code, at) in [
            (r#"printf("%q")"#, 120, "%q"),
            (r#"printf("a\n\t%5.2f\n")"#, 120, "%5.2f"),
            (r#"printf("\x41%l")"#, 121, "%l"),
            (r#"printf("%99999d")"#, 122, "%99999"),
        ] {
            let source = SourceText::new("t", script);
            let literal = Span::new(7, u32::try_from(script.len()).unwrap() - 1);
            let (value, _) = decode_str(source.slice(literal), None);
            let error = parse_format(&value, literal).unwrap_err();
            assert_eq!((error.code.0, source.slice(error.diagnostic(&source).span)), (code, at), "{script}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_format_or_an_error(text in "[%a-z0-9*.#+ é-]{0,40}") {
            match parse_format(&text, Span::default()) {
                Ok(format) => prop_assert_eq!(&*format.text, text.as_str()),
                Err(error) => prop_assert!(text.get(error.range.clone()).is_some()),
            }
        }
    }
}
