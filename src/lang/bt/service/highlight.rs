//! What each piece of a text is, for colours: the compiler's own lexer, so that what looks like a
//! probe is one. Works on half-typed text.

use std::ops::Range;

use crate::lang::bt::builtins;
use crate::lang::bt::lexer::{Token, TokenKind as T, lex_as_written};
use crate::lang::bt::parser::{C_INT_WORDS, TYPE_WORDS};
use crate::lang::service::{Class, Pieces};

/// Words of the grammar, wherever they stand.
const KEYWORDS: &[&str] = &[
    "if", "else", "while", "for", "unroll", "return", "break", "continue", "let", "config", "macro", "import", "fn",
    "offsetof", "sizeof", "typeof", "typeinfo", "true", "false", "comptime",
];

/// A text taken apart.
#[derive(Clone, Debug, Default)]
pub struct BtPieces {
    tokens: Vec<Token>,
    /// C definitions at the top, by byte range.
    definitions: Vec<Range<u32>>,
    /// For each token that opens or closes: braces open after it.
    depths: Vec<(u32, u16)>,
}

impl Pieces for BtPieces {
    fn depth(&self, offset: u32) -> u16 {
        let before = self.depths.partition_point(|(end, _)| *end <= offset);
        before.checked_sub(1).map_or(0, |at| self.depths[at].1)
    }

    fn between_items(&self, offset: u32, text: &str) -> bool {
        let begun = self.tokens.partition_point(|t| t.span.start < offset);
        let mut before = self.tokens[..begun].iter().rev().filter(|t| t.kind != T::Eof);
        let inside = before.clone().next().is_some_and(|t| match t.kind {
            T::Comment => t.span.end >= offset && !closed(word(text, t), t.span.end == offset),
            T::Str | T::Inactive => t.span.end >= offset,
            _ => false,
        });
        let last = before.find(|t| !t.kind.is_trivia());
        !inside && self.depth(offset) == 0 && last.is_none_or(|t| matches!(t.kind, T::RBrace | T::Semicolon))
    }

    fn in_definition(&self, offset: u32) -> bool {
        self.definitions.iter().any(|d| d.contains(&offset))
    }

    fn within(&self, range: Range<u32>, text: &str) -> Vec<(Range<u32>, Class)> {
        let from = self.tokens.partition_point(|t| t.span.end <= range.start);
        let touching = self.tokens[from..].iter().take_while(|t| t.span.start < range.end);
        let classed = touching.enumerate().filter_map(|(nth, t)| Some((t, self.class(from + nth, text)?)));
        classed.map(|(t, class)| (t.span.start.max(range.start)..t.span.end.min(range.end), class)).collect()
    }
}

impl BtPieces {
    /// Takes a text apart.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let tokens = lex_as_written(text).tokens;
        let mut out = Self { depths: depths(&tokens), definitions: Vec::new(), tokens };
        out.definitions = out.find_definitions(text);
        out
    }

    fn class(&self, index: usize, text: &str) -> Option<Class> {
        let token = &self.tokens[index];
        Some(match token.kind {
            T::Shebang | T::Comment | T::Inactive => Class::Comment,
            T::Directive => Class::Directive,
            T::Point => Class::Probe,
            T::Word => return self.word_class(index, text),
            T::Int => Class::Number,
            T::Str => Class::Str,
            T::Variable | T::Positional | T::PositionalCount => Class::Variable,
            T::Map => Class::Map,
            T::Unclosed | T::Unknown | T::Eof => return None,
            _ => Class::Operator,
        })
    }

    fn word_class(&self, index: usize, text: &str) -> Option<Class> {
        let this = word(text, &self.tokens[index]);
        let before = self.tokens[..index].iter().rev().find(|t| !t.kind.is_trivia()).map(|t| t.kind);
        let after = self.tokens[index + 1..].iter().find(|t| !t.kind.is_trivia()).map(|t| t.kind);
        Some(if matches!(before, Some(T::Dot | T::Arrow)) {
            Class::Field
        } else if KEYWORDS.contains(&this) {
            Class::Keyword
        } else if matches!(this, "struct" | "union" | "enum" | "typedef") || is_type(this) {
            Class::Type
        } else if this == "args" {
            Class::Builtin
        } else if after == Some(T::LParen) {
            Class::Function
        } else if builtins::is_variable(this) {
            Class::Builtin
        } else {
            return None;
        })
    }

    /// `struct x { ... };` between the items, from its first word to its end.
    fn find_definitions(&self, text: &str) -> Vec<Range<u32>> {
        let mut out = Vec::new();
        let mut start: Option<u32> = None;
        let mut fresh = true;
        for token in self.tokens.iter().filter(|t| !t.kind.is_trivia()) {
            let depth = self.depth(token.span.end);
            let opens = matches!(word(text, token), "struct" | "union" | "enum" | "typedef");
            match (start, token.kind) {
                (None, T::Word) if fresh && opens => start = Some(token.span.start),
                (Some(from), T::Semicolon) if depth == 0 => {
                    out.push(from..token.span.end);
                    start = None;
                }
                (Some(from), T::Point | T::Eof) => {
                    out.push(from..token.span.start);
                    start = None;
                }
                _ => {}
            }
            fresh = depth == 0 && matches!(token.kind, T::RBrace | T::Semicolon);
        }
        out
    }
}

/// Whether a comment ends where its text ends; a line's comment goes on to the line's end.
fn closed(comment: &str, at_end: bool) -> bool {
    at_end && comment.starts_with("/*") && comment.len() >= 4 && comment.ends_with("*/")
}

fn is_type(word: &str) -> bool {
    TYPE_WORDS.contains(&word) || C_INT_WORDS.contains(&word)
}

fn word<'t>(text: &'t str, token: &Token) -> &'t str {
    text.get(token.span.start as usize..token.span.end as usize).unwrap_or("")
}

fn depths(tokens: &[Token]) -> Vec<(u32, u16)> {
    let mut depth = 0_u16;
    let mut out = Vec::new();
    for token in tokens {
        depth = match token.kind {
            T::LBrace => depth.saturating_add(1),
            T::RBrace => depth.saturating_sub(1),
            T::Unclosed => 0,
            _ => continue,
        };
        out.push((token.span.end, depth));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(&str, Class)> {
        let pieces = BtPieces::of(text).within(0..text.len() as u32, text);
        let parts = pieces.into_iter().map(|(r, c)| (&text[r.start as usize..r.end as usize], c));
        parts.filter(|(_, c)| *c != Class::Operator).collect()
    }

    #[test]
    fn a_clause_is_told_apart() {
        assert_eq!(
            shown("tracepoint:syscalls:sys_enter_openat /pid == 1/ { @n[comm, $x] = count(); print(args.x); } // x"),
            [
                ("tracepoint:syscalls:sys_enter_openat", Class::Probe),
                ("pid", Class::Builtin),
                ("1", Class::Number),
                ("@n", Class::Map),
                ("comm", Class::Builtin),
                ("$x", Class::Variable),
                ("count", Class::Function),
                ("print", Class::Function),
                ("args", Class::Builtin),
                ("x", Class::Field),
                ("// x", Class::Comment),
            ]
        );
    }

    #[test]
    fn the_path_of_a_user_probe_belongs_to_it() {
        assert_eq!(shown("uprobe:/bin/b*sh:\"a b\" { }")[0], ("uprobe:/bin/b*sh:\"a b\"", Class::Probe));
    }

    #[test]
    fn clauses_begin_between_items_only() {
        let at_end = |text: &str| BtPieces::of(text).between_items(text.len() as u32, text);
        for text in ["", "// note\n/* more */\n", "BEGIN { }\n", "struct a { int b; };\n", "config = { a = 1 }\n"] {
            assert!(at_end(text), "{text:?}");
        }
        for text in ["BEGIN {\n", "tracepoint:a:b\n", "/* open", "// note", "BEGIN { if (1) { }\n"] {
            assert!(!at_end(text), "{text:?}");
        }
        let text = "BEGIN { }\n\nEND { }";
        assert!(BtPieces::of(text).between_items(10, text));
        assert!(!BtPieces::of(text).between_items(8, text));
    }

    #[test]
    fn definitions_are_found_whole() {
        let text = "struct a {\n  int b;\n};\nBEGIN { $x = (struct a *)0; }";
        let pieces = BtPieces::of(text);
        assert!(pieces.in_definition(0) && pieces.in_definition(14));
        assert!(!pieces.in_definition(text.find("BEGIN").unwrap_or(0) as u32));
        assert!(!pieces.in_definition(text.find("struct a *").unwrap_or(0) as u32));
        assert_eq!((pieces.depth(12), pieces.depth(30)), (1, 1));
    }

    #[test]
    fn half_typed_text_never_breaks_a_range() {
        for text in ["\"open", "@", "$", "/*", "é\"ü", "#", "0x", "struct ", "a->", "漢字(", "kprobe:\"", "BEGIN{}}}"]
        {
            for cut in (0..=text.len()).filter(|c| text.is_char_boundary(*c)) {
                let part = &text[..cut];
                for (range, _) in BtPieces::of(part).within(0..cut as u32, part) {
                    assert!(part.get(range.start as usize..range.end as usize).is_some(), "{part:?}");
                }
            }
        }
    }
}
