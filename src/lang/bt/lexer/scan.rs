//! The scanner: which tokens can come depends on where in a script it stands.

use super::cursor::{Cursor, is_blank, is_symbolic_number, is_word_start};
use super::preprocess::Preprocessor;
use super::token::{PUNCTUATION, Token, TokenKind};
use super::{Lexed, span};
use crate::lang::codes::parse as codes;
use crate::lang::diagnostic::Diagnostic;

/// Where in a script the scanner stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Between top-level items.
    Between,
    /// In a probe's list of attach points.
    Points,
    /// After the list: a predicate or the body.
    Probe,
    /// In `config`, `import`, `macro`, `fn` or `let`.
    Item,
    /// In a C definition.
    C,
}

/// Words that begin an item which is no probe.
const ITEM_WORDS: &[&str] = &["config", "import", "macro", "fn", "let"];
/// Words that begin a C definition.
const C_WORDS: &[&str] = &["struct", "union", "enum", "typedef"];

/// Providers by their long names: one of these and a colon at the start of a line begins a probe.
const PROVIDERS: &[&str] = &[
    "kprobe",
    "kretprobe",
    "uprobe",
    "uretprobe",
    "usdt",
    "tracepoint",
    "rawtracepoint",
    "fentry",
    "fexit",
    "kfunc",
    "kretfunc",
    "profile",
    "interval",
    "software",
    "hardware",
    "watchpoint",
    "iter",
    "self",
];

/// Providers whose second part is a path, where `/` belongs to the point.
const PATH_PROVIDERS: &[&str] = &["uprobe", "uretprobe", "usdt", "u", "ur"];

pub(super) struct Lexer<'t> {
    pub text: &'t str,
    pub cursor: Cursor<'t>,
    pub out: Lexed,
    pub preprocessor: Preprocessor,
    expand: bool,
    mode: Mode,
    depth: u32,
    /// Parentheses open in a predicate: braces in them don't end the probe.
    parentheses: u32,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str, expand: bool) -> Self {
        Self {
            text,
            cursor: Cursor::new(text),
            out: Lexed::default(),
            preprocessor: Preprocessor::default(),
            expand,
            mode: Mode::Between,
            depth: 0,
            parentheses: 0,
        }
    }

    pub fn run(mut self) -> Lexed {
        if self.cursor.starts_with("\u{feff}") {
            self.cursor.skip_char();
        }
        loop {
            self.cursor.skip_while(is_blank);
            if self.cursor.at_end() {
                break;
            }
            self.step();
        }
        self.finish_conditions();
        let end = self.text.len();
        self.push(TokenKind::Eof, end, end);
        self.out
    }

    fn step(&mut self) {
        let start = self.cursor.pos;
        if self.cursor.byte() == b'#' && self.cursor.at_line_start() {
            return self.directive();
        }
        if self.cursor.starts_with("//") {
            self.cursor.skip_line_plain();
            return self.push(TokenKind::Comment, start, self.cursor.pos);
        }
        if self.cursor.starts_with("/*") {
            if !self.cursor.skip_past("*/") {
                self.error(
                    codes::UNCLOSED_COMMENT,
                    start,
                    start + 2,
                    "this comment is never closed",
                    "close it with `*/`",
                );
            }
            return self.push(TokenKind::Comment, start, self.cursor.pos);
        }
        if self.mode != Mode::Between && self.mode != Mode::Points && self.probe_begins_here() {
            self.push(TokenKind::Unclosed, start, start);
            self.depth = 0;
            self.parentheses = 0;
            self.mode = Mode::Between;
        }
        match self.mode {
            Mode::Between => self.between(),
            Mode::Points => self.point_or_punctuation(),
            Mode::Probe | Mode::Item | Mode::C => self.ordinary(),
        }
    }

    fn between(&mut self) {
        let start = self.cursor.pos;
        match self.cursor.byte() {
            b';' => self.single(TokenKind::Semicolon),
            b'}' => self.single(TokenKind::RBrace),
            _ => {
                let word = word_at(self.text, start);
                let colon = self.text.as_bytes().get(start + word.len()) == Some(&b':');
                self.mode = if colon {
                    Mode::Points
                } else if ITEM_WORDS.contains(&word) {
                    Mode::Item
                } else if C_WORDS.contains(&word) {
                    Mode::C
                } else {
                    Mode::Points
                };
            }
        }
    }

    fn single(&mut self, kind: TokenKind) {
        let start = self.cursor.pos;
        self.cursor.pos += 1;
        self.push(kind, start, self.cursor.pos);
    }

    fn point_or_punctuation(&mut self) {
        match self.cursor.byte() {
            b',' => self.single(TokenKind::Comma),
            b'=' => self.single(TokenKind::Assign),
            b'/' => {
                self.single(TokenKind::Slash);
                self.parentheses = 0;
                self.mode = Mode::Probe;
            }
            b'{' => {
                self.single(TokenKind::LBrace);
                self.depth = 1;
                self.parentheses = 0;
                self.mode = Mode::Probe;
            }
            b';' | b'}' => self.mode = Mode::Between,
            _ => {
                let start = self.cursor.pos;
                skip_point(&mut self.cursor);
                if self.cursor.pos == start {
                    self.cursor.skip_char();
                }
                self.push(TokenKind::Point, start, self.cursor.pos);
            }
        }
    }

    fn ordinary(&mut self) {
        let start = self.cursor.pos;
        let kind = scan_token(&mut self.cursor);
        let end = self.cursor.pos;
        self.complain(kind, start, end);
        if kind == TokenKind::Word && self.expand && self.expand_word(start, end) {
            return;
        }
        self.push(kind, start, end);
        match kind {
            TokenKind::LParen if self.depth == 0 => self.parentheses += 1,
            TokenKind::RParen if self.depth == 0 => self.close_parenthesis(),
            TokenKind::LBrace => self.depth += 1,
            TokenKind::RBrace => self.close_brace(),
            TokenKind::Semicolon if self.depth == 0 => self.mode = Mode::Between,
            _ => {}
        }
    }

    fn close_parenthesis(&mut self) {
        self.parentheses = self.parentheses.saturating_sub(1);
        if self.parentheses == 0 && self.mode == Mode::C && attribute_ends_it(self.text, self.cursor) {
            self.mode = Mode::Between;
        }
    }

    fn close_brace(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 && self.parentheses == 0 && !(self.mode == Mode::C && definition_goes_on(self.cursor)) {
            self.mode = Mode::Between;
        }
    }

    /// Replaces a `#define`d name; false when it is none.
    fn expand_word(&mut self, start: usize, end: usize) -> bool {
        let member = self
            .out
            .tokens
            .iter()
            .rev()
            .find(|t| !t.kind.is_trivia())
            .is_some_and(|t| matches!(t.kind, TokenKind::Dot | TokenKind::Arrow) && t.span.end as usize == start);
        let name = self.text.get(start..end).unwrap_or("");
        if member || !self.preprocessor.is_defined(name) {
            return false;
        }
        match self.preprocessor.expand(self.text, name, span(start, end)) {
            Ok(tokens) => self.out.tokens.extend(tokens),
            Err(()) => self.error(
                codes::DEFINE_TOO_LARGE,
                start,
                end,
                "the `#define`s expand to too much text",
                "a name that stands for itself several times over grows without bounds",
            ),
        }
        true
    }

    fn complain(&mut self, kind: TokenKind, start: usize, end: usize) {
        let text = self.text.get(start..end).unwrap_or("");
        match kind {
            TokenKind::Str if text.len() < 2 || !closed(text) => self.error(
                codes::UNCLOSED_STRING,
                start,
                end,
                "this string is not closed on its line",
                "close it with `\"`; write a line break as `\\n`",
            ),
            TokenKind::Unknown => {
                let help = match text.chars().next() {
                    Some('\'' | '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}') => {
                        "strings stand in straight double quotes: \"text\""
                    }
                    Some('$') => "a scratch variable has a name: `$x`; the first positional parameter is `$1`",
                    Some('#') => "comments begin with `//`; preprocessor lines begin with `#` at the start of a line",
                    _ => "remove it",
                };
                let shown: String = text
                    .chars()
                    .map(|c| if matches!(c, '\'' | '"') { c.to_string() } else { c.escape_debug().to_string() })
                    .collect();
                let message = format!("`{shown}` means nothing here");
                self.error(codes::UNKNOWN_CHARACTER, start, end, &message, help);
            }
            _ => {}
        }
    }

    pub fn error(&mut self, code: crate::lang::diagnostic::Code, start: usize, end: usize, message: &str, help: &str) {
        self.out.tell(Diagnostic::error(code, span(start, end), message).help(help));
    }

    pub fn push(&mut self, kind: TokenKind, start: usize, end: usize) {
        let at = span(start, end);
        self.out.tokens.push(Token { kind, span: at, text: at });
    }

    /// True at the first column before text that can only begin a probe.
    fn probe_begins_here(&self) -> bool {
        let pos = self.cursor.pos;
        if pos > 0 && self.text.as_bytes().get(pos - 1) != Some(&b'\n') {
            return false;
        }
        let word = word_at(self.text, pos);
        let after = self.text.get(pos + word.len()..).unwrap_or("");
        if matches!(word, "BEGIN" | "END" | "begin" | "end") {
            return after.trim_start().starts_with('{');
        }
        PROVIDERS.iter().any(|p| p.eq_ignore_ascii_case(word))
            && after.strip_prefix(':').is_some_and(|rest| !rest.starts_with([' ', '\n', ':']))
    }
}

/// True when the string literal ends in a quote that is not escaped.
fn closed(text: &str) -> bool {
    let mut cursor = Cursor::new(text);
    cursor.skip_string()
}

/// The word that begins at `pos`; empty when none does.
pub(super) fn word_at(text: &str, pos: usize) -> &str {
    let rest = text.get(pos..).unwrap_or("");
    let end = rest.bytes().position(|b| !is_symbolic_number(b)).unwrap_or(rest.len());
    let word = rest.get(..end).unwrap_or("");
    if word.bytes().next().is_some_and(is_word_start) { word } else { "" }
}

/// After a C definition's `}`: does more of it follow (`;`, an attribute, a typedef's name)?
fn definition_goes_on(cursor: Cursor<'_>) -> bool {
    let rest = after_blanks(cursor.rest());
    if rest.starts_with([';', '*']) || rest.starts_with("__attribute__") {
        return true;
    }
    let word = word_at(rest, 0);
    let after = after_blanks(rest.get(word.len()..).unwrap_or(""));
    !word.is_empty() && after.starts_with([';', ',', '[', '*'])
}

/// After the `)` that closes an attribute at the end of a definition without a semicolon: is that its end?
fn attribute_ends_it(text: &str, cursor: Cursor<'_>) -> bool {
    let before = text.get(..cursor.pos).unwrap_or("");
    let Some(brace) = before.rfind('}') else { return false };
    let tail = after_blanks(before.get(brace + 1..).unwrap_or(""));
    // Or one before the name of the next definition.
    let next = |word: &str| matches!(word, "struct" | "union" | "enum" | "typedef");
    let passed = tail.contains(';') || tail.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(next);
    tail.starts_with("__attribute__") && !passed && !definition_goes_on(cursor)
}

/// `text` from behind its leading blanks and comments.
fn after_blanks(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let behind = if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").and_then(|end| comment.get(end + 2..))
        } else if rest.starts_with("//") {
            rest.find('\n').and_then(|end| rest.get(end..))
        } else {
            None
        };
        match behind {
            Some(behind) => rest = behind.trim_start(),
            None => return rest,
        }
    }
}

/// Past one attach point: up to a blank, `,`, `{` or a `/` that begins a predicate.
fn skip_point(cursor: &mut Cursor<'_>) {
    let start = cursor.pos;
    let whole = cursor.rest();
    let mut colons = 0;
    let mut path = false;
    while !cursor.at_end() {
        match cursor.byte() {
            b'"' => {
                cursor.skip_string();
                continue;
            }
            b':' => {
                if colons == 0 {
                    let provider = whole.get(..cursor.pos - start).unwrap_or("");
                    path = PATH_PROVIDERS.iter().any(|p| p.eq_ignore_ascii_case(provider));
                }
                colons += 1;
            }
            b'/' if !(path && (colons == 1 || is_in_name(cursor.rest()))) => return,
            b'=' if colons == 0 => return,
            b',' | b'{' | b'}' | b';' => return,
            b if is_blank(b) => return,
            _ => {}
        }
        cursor.skip_char();
    }
}

/// True when the `/` that `rest` begins with belongs to a function's name, as Go's do
/// (`net/http.(*ServeMux).ServeHTTP`), and begins no predicate: nothing in it compares or looks up, and
/// behind the name stand a predicate, a body or another attach point.
fn is_in_name(rest: &str) -> bool {
    let name = rest.get(1..).unwrap_or("");
    let end = name.find(|c: char| c.is_ascii_whitespace() || matches!(c, '{' | ',' | '"')).unwrap_or(name.len());
    let (name, behind) = name.split_at(end);
    let compares = name.contains(['=', '<', '>', '!', '&', '|', '@', '$']);
    // An empty name, or one that begins so, is a comment.
    if compares || name.is_empty() || name.starts_with(['/', '*']) || name.ends_with('/') {
        return false;
    }
    let behind = after_blanks(behind);
    // What a lone `/` before the body closes is a predicate (`f/pid / {`).
    behind.starts_with(['{', ',']) || behind.strip_prefix('/').is_some_and(|rest| !after_blanks(rest).starts_with('{'))
}

/// One ordinary token, which must begin at the cursor.
pub(super) fn scan_token(cursor: &mut Cursor<'_>) -> TokenKind {
    let first = cursor.byte();
    if is_word_start(first) {
        cursor.skip_while(is_symbolic_number);
        return TokenKind::Word;
    }
    match first {
        b'0'..=b'9' => {
            cursor.skip_while(is_symbolic_number);
            TokenKind::Int
        }
        b'"' => {
            cursor.skip_string();
            TokenKind::Str
        }
        b'$' => dollar(cursor),
        b'@' => {
            cursor.pos += 1;
            cursor.skip_while(is_symbolic_number);
            TokenKind::Map
        }
        b'\'' => quoted(cursor),
        _ => punctuation(cursor),
    }
}

fn dollar(cursor: &mut Cursor<'_>) -> TokenKind {
    cursor.pos += 1;
    match cursor.byte() {
        b'#' => {
            cursor.pos += 1;
            TokenKind::PositionalCount
        }
        b if is_word_start(b) => {
            cursor.skip_while(is_symbolic_number);
            TokenKind::Variable
        }
        b if b.is_ascii_digit() => {
            cursor.skip_while(|b| b.is_ascii_digit());
            TokenKind::Positional
        }
        _ => TokenKind::Unknown,
    }
}

/// `'x'`: nothing of the language, but one mistake and not three.
fn quoted(cursor: &mut Cursor<'_>) -> TokenKind {
    let rest = cursor.rest();
    let line = rest.get(..rest.find('\n').unwrap_or(rest.len())).unwrap_or("");
    match line.char_indices().skip(1).find(|(_, c)| *c == '\'') {
        Some((at, _)) if at < 80 => cursor.pos += at + 1,
        _ => cursor.pos += 1,
    }
    TokenKind::Unknown
}

fn punctuation(cursor: &mut Cursor<'_>) -> TokenKind {
    let rest = cursor.rest();
    if let Some((text, kind)) = PUNCTUATION.iter().find(|(text, _)| rest.starts_with(text)) {
        cursor.pos += text.len();
        return *kind;
    }
    cursor.skip_char();
    cursor.skip_while(|b| !b.is_ascii());
    TokenKind::Unknown
}
