//! A position in the text and the few ways it moves.

/// Byte cursor over a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    pub pos: usize,
}

impl<'t> Cursor<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, pos: 0 }
    }

    /// A cursor over the part of `text` before `end`, standing at `pos`.
    pub fn within(text: &'t str, pos: usize, end: usize) -> Self {
        Self { text: text.get(..end).unwrap_or(text), pos }
    }

    pub fn at_end(&self) -> bool {
        self.pos >= self.text.len()
    }

    pub fn rest(&self) -> &'t str {
        self.text.get(self.pos..).unwrap_or("")
    }

    pub fn byte(&self) -> u8 {
        self.peek(0)
    }

    /// The byte `ahead` of here; 0 past the end.
    pub fn peek(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.pos + ahead).copied().unwrap_or(0)
    }

    pub fn starts_with(&self, what: &str) -> bool {
        self.rest().starts_with(what)
    }

    pub fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        let bytes = self.text.as_bytes();
        while bytes.get(self.pos).is_some_and(|b| wanted(*b)) {
            self.pos += 1;
        }
    }

    /// One whole character.
    pub fn skip_char(&mut self) {
        self.pos += self.rest().chars().next().map_or(0, char::len_utf8);
    }

    /// To the end of this line, over lines continued by a backslash; stands on the newline after.
    pub fn skip_line(&mut self) {
        loop {
            let line = self.rest();
            let end = line.find('\n').unwrap_or(line.len());
            let body = line.get(..end).unwrap_or("").trim_end_matches('\r');
            self.pos += end;
            if self.at_end() || !body.ends_with('\\') {
                return;
            }
            self.pos += 1;
        }
    }

    /// To the end of this line; stands on its newline after.
    pub fn skip_line_plain(&mut self) {
        self.pos += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    /// Past `what`, or to the end; tells whether it was there.
    pub fn skip_past(&mut self, what: &str) -> bool {
        let found = self.rest().find(what);
        self.pos = found.map_or(self.text.len(), |at| self.pos + at + what.len());
        found.is_some()
    }

    /// Past a `"` string that begins here; false when its line or the text ends first.
    pub fn skip_string(&mut self) -> bool {
        self.pos += 1;
        while !self.at_end() {
            match self.byte() {
                b'"' => {
                    self.pos += 1;
                    return true;
                }
                b'\n' => return false,
                b'\\' => {
                    self.pos += 1;
                    if self.byte() != b'\n' {
                        self.skip_char();
                    }
                }
                _ => self.skip_char(),
            }
        }
        false
    }

    /// True when only blanks stand between the start of the line and here.
    pub fn at_line_start(&self) -> bool {
        self.text
            .as_bytes()
            .get(..self.pos)
            .unwrap_or(&[])
            .iter()
            .rev()
            .take_while(|b| **b != b'\n')
            .all(|b| matches!(b, b' ' | b'\t'))
    }
}

pub(super) const fn is_word_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}

pub(super) const fn is_symbolic_number(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

pub(super) const fn is_blank(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c)
}
