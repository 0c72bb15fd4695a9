//! Changes of ranges of the text, and the registers that hold what was taken.

use std::ops::Range;

use super::commands::Operator;
use super::motions::Text;
use crate::lang::source::Span;
use crate::tui::base::action::Edit;
use crate::tui::data::text::{Editor, TAB};

/// Bytes that a change may insert; more is a count that was not meant.
const MOST_BYTES: usize = 4 << 20;

/// Text that was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Register {
    text: String,
    lines: bool,
}

/// All registers.
#[derive(Clone, Debug, Default)]
pub struct Registers(Vec<(char, Register)>);

impl Registers {
    /// Keeps what was taken; what is meant for the terminal's clipboard comes back.
    pub fn keep(&mut self, name: Option<char>, text: &str, lines: bool, is_yanked: bool) -> Option<String> {
        let mut text = text.to_owned();
        if lines && !text.ends_with('\n') {
            text.push('\n');
        }
        let register = Register { text: text.clone(), lines };
        match name {
            Some('_') => return None,
            Some(name) if name.is_ascii_uppercase() => {
                let name = name.to_ascii_lowercase();
                let mut all = self.get(Some(name)).unwrap_or_default();
                all.text.push_str(&register.text);
                all.lines |= lines;
                self.set(name, all);
            }
            Some(name) => self.set(name, register.clone()),
            None if is_yanked => self.set('0', register.clone()),
            None => {}
        }
        self.set('"', register);
        name.filter(|name| matches!(name, '+' | '*')).map(|_| text)
    }

    fn set(&mut self, name: char, register: Register) {
        self.0.retain(|(known, _)| *known != name);
        self.0.push((name, register));
    }

    /// What one holds.
    pub fn get(&self, name: Option<char>) -> Option<Register> {
        let name = name.unwrap_or('"').to_ascii_lowercase();
        self.0.iter().find(|(known, _)| *known == name).map(|(_, register)| register.clone())
    }
}

fn span(range: &Range<usize>) -> Span {
    let byte = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Span::new(byte(range.start), byte(range.end))
}

/// Puts text in place of a range; the cursor goes behind it.
pub fn put(editor: &mut Editor, range: Range<usize>, text: &str) {
    editor.replace(span(&range), text);
}

fn go(editor: &mut Editor, at: usize) {
    editor.go_to_offset(u32::try_from(at).unwrap_or(u32::MAX));
}

/// Deletes a range; of lines, the cursor goes to the text of the next one.
pub fn delete(editor: &mut Editor, mut range: Range<usize>, lines: bool) {
    let text = editor.text();
    // The last line has no newline behind it: the one before it goes.
    if lines && range.end == text.len() && !text[range.clone()].ends_with('\n') && range.start > 0 {
        range.start -= 1;
    }
    let from = range.start;
    put(editor, range, "");
    let text = editor.text();
    if lines {
        let line = Text(&text).line_start(if from >= text.len() { text.len() } else { from });
        let at = Text(&text).first_ink(if text[..from.min(text.len())].ends_with('\n') { from } else { line });
        go(editor, at);
    } else {
        go(editor, from);
    }
}

/// Empties a range to insert there: lines keep their indentation.
pub fn empty(editor: &mut Editor, mut range: Range<usize>, lines: bool) {
    let text = editor.text();
    let mut indent = "";
    if lines {
        if text[range.clone()].ends_with('\n') {
            range.end -= 1;
        }
        let ink = Text(&text).first_ink(range.start).min(range.end);
        indent = &text[range.start..ink];
    }
    put(editor, range, indent);
}

/// Operators that leave as much text as there was, in another form.
pub fn lay_over(editor: &mut Editor, operator: Operator, range: Range<usize>) {
    let text = editor.text();
    let inside = Text(&text);
    let Some(old) = text.get(range.clone()) else { return };
    let new = match operator {
        Operator::Upper => old.to_uppercase(),
        Operator::Lower => old.to_lowercase(),
        Operator::Swap => old.chars().map(swapped).collect(),
        Operator::Indent | Operator::Dedent => {
            let lines = inside.line_start(range.start)..range.end;
            let shifted = shift(&text[lines.clone()], operator == Operator::Indent);
            let at = lines.start;
            put(editor, lines, &shifted);
            let text = editor.text();
            return go(editor, Text(&text).first_ink(at));
        }
        _ => {
            let end = inside.before(range.end).unwrap_or(0).max(range.start);
            go(editor, range.start);
            let to = editor.place_of(end);
            editor.go_to(to, true);
            editor.edit(&Edit::ToggleComment);
            let text = editor.text();
            return go(editor, Text(&text).first_ink(range.start.min(text.len())));
        }
    };
    put(editor, range.clone(), &new);
    go(editor, range.start);
}

fn swapped(c: char) -> char {
    let other = |mut all: Box<dyn Iterator<Item = char>>| all.next().unwrap_or(c);
    if c.is_uppercase() { other(Box::new(c.to_lowercase())) } else { other(Box::new(c.to_uppercase())) }
}

/// Lines a step further in, or out.
fn shift(lines: &str, deeper: bool) -> String {
    let one = |line: &str| {
        if !deeper {
            let blanks = line.chars().take_while(|c| *c == ' ').take(TAB).count();
            let from = if line.starts_with('\t') { 1 } else { blanks };
            return line[from..].to_owned();
        }
        match line.trim().is_empty() {
            true => line.to_owned(),
            false if line.starts_with('\t') => format!("\t{line}"),
            false => format!("{}{line}", " ".repeat(TAB)),
        }
    };
    lines.split('\n').map(one).collect::<Vec<_>>().join("\n")
}

/// Puts a character in place of others: of a range, or of so many in the line.
pub fn replace(editor: &mut Editor, c: char, count: usize, selected: Option<Range<usize>>) {
    let text = editor.text();
    let (at, inside) = (editor.offset() as usize, Text(&text));
    if let Some(range) = selected {
        let new: String = text[range.clone()].chars().map(|old| if old == '\n' { old } else { c }).collect();
        let from = range.start;
        put(editor, range, &new);
        return go(editor, from);
    }
    let rest = &text[at..inside.line_end(at)];
    if rest.chars().count() < count {
        return;
    }
    let end = rest.char_indices().nth(count).map_or(inside.line_end(at), |(n, _)| at + n);
    if c == '\n' {
        return put(editor, at..end, "\n");
    }
    put(editor, at..end, &c.to_string().repeat(count));
    let text = editor.text();
    let last = Text(&text).before(editor.offset() as usize).unwrap_or(at);
    go(editor, last);
}

/// Inserts what a register holds.
pub fn put_register(editor: &mut Editor, register: &Register, before: bool, count: usize) {
    let text = editor.text();
    let (at, inside) = (editor.offset() as usize, Text(&text));
    let many = count.min(MOST_BYTES / register.text.len().max(1)).max(1);
    let new = register.text.repeat(many);
    if !register.lines {
        let to = if before { at } else { inside.after(at).min(inside.line_end(at)) };
        put(editor, to..to, &new);
        let text = editor.text();
        let last = Text(&text).before(editor.offset() as usize).unwrap_or(to);
        return go(editor, last.max(to));
    }
    let (to, new) = if before {
        (inside.line_start(at), new)
    } else {
        (inside.line_end(at), format!("\n{}", new.trim_end_matches('\n')))
    };
    put(editor, to..to, &new);
    let text = editor.text();
    let first = if before { to } else { to + 1 };
    go(editor, Text(&text).first_ink(first.min(text.len())));
}

/// Puts what a register holds in place of a selection.
pub fn put_over(editor: &mut Editor, range: Range<usize>, lines: bool, register: &Register) {
    let inner = register.text.trim_end_matches('\n');
    let new = match (lines, register.lines) {
        (true, _) => format!("{inner}\n"),
        (false, true) => format!("\n{inner}\n"),
        (false, false) => register.text.clone(),
    };
    let from = range.start;
    put(editor, range, &new);
    go(editor, from);
}

/// Joins so many lines to the one of a place.
pub fn join(editor: &mut Editor, at: usize, many: usize) {
    let text = editor.text();
    let inside = Text(&text);
    let (start, first_end) = (inside.line_start(at), inside.line_end(at));
    let mut joined = text[start..first_end].to_owned();
    let (mut end, mut seam) = (first_end, None);
    for _ in 0..many {
        if end >= text.len() {
            break;
        }
        let next = end + 1..inside.line_end(end + 1);
        let line = text[next.clone()].trim_start();
        joined.truncate(joined.trim_end().len());
        seam = Some(start + joined.len());
        if !joined.is_empty() && !line.is_empty() && !line.starts_with(')') {
            joined.push(' ');
        }
        joined.push_str(line);
        end = next.end;
    }
    if let Some(seam) = seam {
        put(editor, start..end, &joined);
        go(editor, seam);
    }
}
