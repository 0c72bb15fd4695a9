//! Colours of the script: what the language's own lexer says of each piece, and syntect for the C
//! parts (preprocessor lines, struct definitions).

use std::ops::Range;
use std::sync::OnceLock;

use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};

use super::theme::Slot;
use crate::lang::FRONT_ENDS;
use crate::lang::service::{Class, Pieces};

/// Parts of a line, by byte range, with what they look like; in order, gaps are plain.
pub type Parts = Vec<(Range<usize>, Slot)>;

/// How a class of text looks.
const fn slot(class: Class) -> Slot {
    match class {
        Class::Comment => Slot::Comment,
        Class::Directive => Slot::Macro,
        Class::Probe => Slot::Probe,
        Class::Keyword => Slot::Keyword,
        Class::Type => Slot::Type,
        Class::Builtin => Slot::Builtin,
        Class::Function => Slot::Function,
        Class::Field => Slot::Field,
        Class::Map => Slot::Map,
        Class::Variable => Slot::Variable,
        Class::Number => Slot::Number,
        Class::Str => Slot::String,
        Class::Operator => Slot::Operator,
    }
}

/// The parts of one line that begins at a byte offset of `text`.
#[must_use]
pub fn line_parts(pieces: &dyn Pieces, text: &str, start: usize, line: &str) -> Parts {
    let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let range = clamp(start)..clamp(start + line.len());
    let found = pieces.within(range.clone(), text);
    let indent = clamp(start + line.len() - line.trim_start().len());
    if pieces.in_definition(indent) || matches!(found.first(), Some((_, Class::Directive))) {
        return c_parts(line);
    }
    let inside = |r: Range<u32>| (r.start - range.start) as usize..(r.end - range.start) as usize;
    found.into_iter().map(|(r, class)| (inside(r), slot(class))).collect()
}

/// The parts of every line of a short text in the first of the languages.
#[must_use]
pub fn parts(text: &str) -> Vec<(&str, Parts)> {
    let pieces = FRONT_ENDS[0].pieces(text);
    let mut start = 0;
    let mut out = Vec::new();
    for line in text.split('\n') {
        out.push((line, line_parts(&*pieces, text, start, line)));
        start += line.len() + 1;
    }
    out
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

    #[test]
    fn c_parts_come_from_the_c_grammar() {
        let text = "#define LIMIT 42\nstruct pair {\n  unsigned int a;\n};\nBEGIN { }";
        let lines = parts(text);
        let shown = |at: usize| lines[at].1.iter().map(|(r, s)| (&lines[at].0[r.clone()], *s)).collect::<Vec<_>>();
        assert!(shown(0).contains(&("42", Slot::Number)), "{:?}", shown(0));
        assert!(shown(2).iter().any(|(t, s)| t.contains("int") && *s == Slot::Type), "{:?}", shown(2));
        assert_eq!(shown(4)[0], ("BEGIN", Slot::Probe));
    }

    #[test]
    fn a_comment_over_several_lines_is_one_on_each() {
        let lines = parts("/* a\n  b */ BEGIN { }");
        assert_eq!(lines[0].1, [(0..4, Slot::Comment)]);
        assert_eq!(lines[1].1[0], (0..6, Slot::Comment));
        assert_eq!(lines[1].1[1], (7..12, Slot::Probe));
    }
}
