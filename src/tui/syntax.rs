//! Colours of the script: a line scanner for the script language, made for half-typed text and for
//! painting one line at a time, and syntect for the C parts (`#define`, struct definitions).

use std::ops::Range;
use std::sync::OnceLock;

use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};

use super::theme::Slot;

/// What a line inherits from the line before it.
#[allow(clippy::struct_excessive_bools, reason = "independent facts, each a yes or no")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub struct LineState {
    /// Inside `/* */`.
    pub comment: bool,
    /// Depth of braces.
    pub depth: u16,
    /// Inside a C struct, union or enum definition that began at this depth plus one.
    pub definition: bool,
    /// The line before ended a preprocessor line with `\`.
    pub directive: bool,
    /// Some text of a clause has been seen since the last `}` at depth 0.
    pub clause: bool,
}

impl LineState {
    /// True where a new clause would begin.
    #[must_use]
    pub const fn at_clause_start(self) -> bool {
        !self.comment && self.depth == 0 && !self.clause
    }
}

/// Parts of a line, by byte range, with what they look like; in order, gaps are plain.
pub type Parts = Vec<(Range<usize>, Slot)>;

const KEYWORDS: &[&str] = &[
    "if", "else", "while", "for", "unroll", "return", "break", "continue", "let", "config", "macro", "import", "fn",
    "offsetof", "sizeof", "typeof", "typeinfo", "true", "false", "comptime",
];

const TYPES: &[&str] = &[
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int8_t", "int16_t", "int32_t",
    "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "bool", "string", "void", "char", "short", "int", "long",
    "unsigned", "signed", "struct", "union", "enum", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "size_t",
    "buffer", "inet", "stack",
];

const BUILTINS: &[&str] = &[
    "pid", "tid", "uid", "gid", "nsecs", "elapsed", "cpu", "comm", "kstack", "ustack", "retval", "func", "probe",
    "curtask", "rand", "cgroup", "ctx", "cpid", "numaid", "username", "usermode", "jiffies", "ncpus", "ppid", "arg0",
    "arg1", "arg2", "arg3", "arg4", "arg5", "arg6", "arg7", "arg8", "arg9",
];

const PROBES: &[&str] = &[
    "BEGIN",
    "END",
    "begin",
    "end",
    "self",
    "interval",
    "i",
    "profile",
    "p",
    "tracepoint",
    "t",
    "rawtracepoint",
    "rt",
    "kprobe",
    "k",
    "kretprobe",
    "kr",
    "kfunc",
    "kretfunc",
    "fentry",
    "fexit",
    "f",
    "fr",
    "uprobe",
    "u",
    "uretprobe",
    "ur",
    "usdt",
    "U",
    "software",
    "s",
    "hardware",
    "h",
    "watchpoint",
    "w",
    "asyncwatchpoint",
    "aw",
    "iter",
    "it",
    "bench",
    "test",
];

/// The parts of one line, and what the next line inherits.
#[must_use]
pub fn scan(line: &str, state: LineState) -> (Parts, LineState) {
    let mut scanner = Scanner { line, at: 0, state, parts: Vec::new(), painting: true };
    scanner.run();
    (scanner.parts, scanner.state)
}

/// What the next line inherits, without the parts of this one.
#[must_use]
pub fn scan_state(line: &str, state: LineState) -> LineState {
    let mut scanner = Scanner { line, at: 0, state, parts: Vec::new(), painting: false };
    scanner.run();
    scanner.state
}

struct Scanner<'a> {
    line: &'a str,
    at: usize,
    state: LineState,
    parts: Parts,
    /// Whether the parts are wanted: C parts are costly to find.
    painting: bool,
}

impl<'a> Scanner<'a> {
    fn run(&mut self) {
        if self.c_line() {
            return;
        }
        while self.at < self.line.len() {
            self.step();
        }
    }

    /// Whole lines that are C: preprocessor lines and struct definitions at the top.
    fn c_line(&mut self) -> bool {
        let trimmed = self.line.trim_start();
        if self.state.comment {
            return false;
        }
        if trimmed.starts_with("#!") {
            self.parts.push((0..self.line.len(), Slot::Comment));
            return true;
        }
        let directive = self.state.directive || (self.state.depth == 0 && trimmed.starts_with('#'));
        let starts =
            self.state.at_clause_start() && ["struct ", "union ", "enum "].iter().any(|k| trimmed.starts_with(k));
        if directive {
            self.state.directive = self.line.ends_with('\\');
        } else if starts || self.state.definition {
            let opened = self.line.matches('{').count() as u16;
            let closed = self.line.matches('}').count() as u16;
            self.state.depth = (self.state.depth + opened).saturating_sub(closed);
            self.state.definition = self.state.depth > 0;
        } else {
            return false;
        }
        if self.painting {
            self.parts = c_parts(self.line);
        }
        true
    }

    fn rest(&self) -> &'a str {
        &self.line[self.at..]
    }

    fn take(&mut self, length: usize, slot: Slot) {
        let end = (self.at + length).min(self.line.len());
        self.parts.push((self.at..end, slot));
        self.at = end;
    }

    fn step(&mut self) {
        let rest = self.rest();
        if self.state.comment {
            let end = rest.find("*/");
            self.state.comment = end.is_none();
            return self.take(end.map_or(rest.len(), |e| e + 2), Slot::Comment);
        }
        if rest.starts_with("//") {
            return self.take(rest.len(), Slot::Comment);
        }
        if let Some(inside) = rest.strip_prefix("/*") {
            let end = inside.find("*/");
            self.state.comment = end.is_none();
            return self.take(end.map_or(rest.len(), |e| e + 4), Slot::Comment);
        }
        let Some(c) = rest.chars().next() else { return };
        if !c.is_whitespace() {
            self.state.clause = true;
        }
        match c {
            '"' => self.take(string_length(rest), Slot::String),
            '@' => self.take(1 + word_length(&rest[1..]), Slot::Map),
            '$' => self.take(1 + word_length(&rest[1..]), Slot::Variable),
            '0'..='9' => {
                let length =
                    rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
                self.take(length, Slot::Number);
            }
            c if c.is_alphabetic() || c == '_' => self.word(),
            '{' => {
                self.state.depth = self.state.depth.saturating_add(1);
                self.take(1, Slot::Operator);
            }
            '}' => {
                self.state.depth = self.state.depth.saturating_sub(1);
                self.state.clause = self.state.depth > 0;
                self.take(1, Slot::Operator);
            }
            c if c.is_ascii_punctuation() => self.take(1, Slot::Operator),
            c => self.at += c.len_utf8(),
        }
    }

    fn word(&mut self) {
        let rest = self.rest();
        let length = word_length(rest);
        let (word, after) = rest.split_at(length);
        let before = self.line[..self.at].trim_end();
        let slot = if before.ends_with('.') || before.ends_with("->") {
            Slot::Field
        } else if self.state.depth == 0 && PROBES.contains(&word) {
            let head = rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | '/' | '{')).unwrap_or(rest.len());
            let path = if after.starts_with(':') { path_length(rest, head) } else { length };
            return self.take(path, Slot::Probe);
        } else if KEYWORDS.contains(&word) {
            Slot::Keyword
        } else if word == "args" {
            Slot::Builtin
        } else if after.trim_start().starts_with('(') {
            Slot::Function
        } else if TYPES.contains(&word) {
            Slot::Type
        } else if BUILTINS.contains(&word) {
            Slot::Builtin
        } else {
            self.at += length;
            return;
        };
        self.take(length, slot);
    }
}

/// An attach point's length: slashes belong to it in `uprobe:/bin/sh:main`.
fn path_length(rest: &str, short: usize) -> usize {
    if rest[..short].ends_with(':') && rest[short..].starts_with('/') {
        rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | '{')).unwrap_or(rest.len())
    } else {
        short
    }
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len())
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

struct CSyntax {
    set: SyntaxSet,
}

impl CSyntax {
    fn get() -> &'static Self {
        static C: OnceLock<CSyntax> = OnceLock::new();
        C.get_or_init(|| Self { set: SyntaxSet::load_defaults_newlines() })
    }

    fn c(&self) -> &SyntaxReference {
        self.set.find_syntax_by_extension("c").unwrap_or_else(|| self.set.find_syntax_plain_text())
    }
}

/// One line of C by syntect's grammar.
fn c_parts(line: &str) -> Parts {
    let c = CSyntax::get();
    let mut state = ParseState::new(c.c());
    let text = format!("{line}\n");
    let Ok(ops) = state.parse_line(&text, &c.set) else { return Vec::new() };
    let mut stack = ScopeStack::new();
    let mut parts = Parts::new();
    let mut from = 0;
    let mut push = |range: Range<usize>, stack: &ScopeStack| {
        if !range.is_empty()
            && let Some(slot) = c_slot(stack)
        {
            parts.push((range, slot));
        }
    };
    for (at, op) in &ops {
        let at = (*at).min(line.len());
        push(from..at, &stack);
        from = at;
        if stack.apply(op).is_err() {
            break;
        }
    }
    push(from..line.len(), &stack);
    parts
}

fn c_slot(stack: &ScopeStack) -> Option<Slot> {
    stack.as_slice().iter().rev().find_map(|scope| {
        let name = scope.build_string();
        [
            ("comment", Slot::Comment),
            ("string", Slot::String),
            ("constant.numeric", Slot::Number),
            ("constant", Slot::Number),
            ("storage", Slot::Type),
            ("support.type", Slot::Type),
            ("keyword.operator", Slot::Operator),
            ("keyword.control.import", Slot::Macro),
            ("keyword", Slot::Keyword),
            ("entity.name", Slot::Function),
            ("meta.preprocessor", Slot::Macro),
        ]
        .iter()
        .find(|(prefix, _)| name.starts_with(prefix))
        .map(|(_, slot)| *slot)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str, state: LineState) -> Vec<(&str, Slot)> {
        scan(line, state).0.into_iter().map(|(r, s)| (&line[r], s)).filter(|(_, s)| *s != Slot::Operator).collect()
    }

    #[test]
    fn a_clause_is_told_apart() {
        assert_eq!(
            shown("tracepoint:syscalls:sys_enter_openat /pid == 1/ { @n[comm] = count(); } // x", LineState::default()),
            [
                ("tracepoint:syscalls:sys_enter_openat", Slot::Probe),
                ("pid", Slot::Builtin),
                ("1", Slot::Number),
                ("@n", Slot::Map),
                ("comm", Slot::Builtin),
                ("count", Slot::Function),
                ("// x", Slot::Comment),
            ]
        );
        assert_eq!(shown("uprobe:/bin/bash:readline {", LineState::default())[0].0, "uprobe:/bin/bash:readline");
    }

    #[test]
    fn clauses_begin_where_the_last_one_ended() {
        let after = |text: &str| text.lines().fold(LineState::default(), |s, l| scan(l, s).1);
        assert!(after("").at_clause_start());
        assert!(after("// note\n/* more\n */\nBEGIN { }\n").at_clause_start());
        assert!(!after("BEGIN {\n").at_clause_start());
        assert!(!after("tracepoint:a:b\n").at_clause_start(), "a predicate may follow");
        assert!(!after("/* open").at_clause_start());
    }

    #[test]
    fn c_parts_come_from_the_c_grammar() {
        let parts = shown("#define LIMIT 42", LineState::default());
        assert!(parts.contains(&("42", Slot::Number)), "{parts:?}");
        let (_, state) = scan("struct pair {", LineState::default());
        assert!(state.definition);
        assert!(shown("  unsigned int a; ", state).iter().any(|(t, s)| t.contains("int") && *s == Slot::Type));
        assert!(!scan("};", state).1.definition);
    }

    #[test]
    fn half_typed_text_never_breaks_a_range() {
        for line in ["\"open", "@", "$", "/*", "é\"ü", "#", "0x", "struct ", "a->", "漢字("] {
            for cut in (0..=line.len()).filter(|c| line.is_char_boundary(*c)) {
                for (range, _) in scan(&line[..cut], LineState::default()).0 {
                    assert!(line.get(range).is_some());
                }
            }
        }
    }
}
