//! The bracket that belongs to the one at the cursor.

use super::Editor;
use crate::tui::base::theme::Slot;

/// Farthest that is looked, in characters.
const FARTHEST: usize = 100_000;

const OPENING: &str = "([{";
const CLOSING: &str = ")]}";

/// A line and a character in it.
type Place = (usize, usize);

impl Editor {
    /// The bracket at the cursor, or just before it, and the one that belongs to it; absent where there is none.
    /// Brackets in texts and comments belong to nothing.
    #[must_use]
    pub fn brackets(&self) -> Option<[Place; 2]> {
        let (line, column) = self.cursor();
        let at = [Some(column), column.checked_sub(1)];
        at.into_iter().flatten().find_map(|column| Some([(line, column), self.partner((line, column))?]))
    }

    /// The byte of the bracket that belongs to the first one from the cursor to the end of its line.
    #[must_use]
    pub fn bracket_ahead(&self) -> Option<usize> {
        let (line, column) = self.cursor();
        let (ahead, _) = self.code(line).into_iter().find(|(at, _)| *at >= column)?;
        self.partner((line, ahead)).map(|place| self.byte_at(place))
    }

    /// The bracket that belongs to the one at a place.
    fn partner(&self, (line, column): Place) -> Option<Place> {
        let bracket = self.code(line).into_iter().find(|(at, _)| *at == column)?.1;
        let forward = OPENING.contains(bracket);
        let (ups, downs) = if forward { (OPENING, CLOSING) } else { (CLOSING, OPENING) };
        let (mut depth, mut looked, mut here) = (0_usize, 0, Some(line));
        while let Some(line_now) = here {
            let mut brackets = self.code(line_now);
            if !forward {
                brackets.reverse();
            }
            let is_behind = |at: usize| if forward { at >= column } else { at <= column };
            for (at, c) in brackets.into_iter().filter(|(at, _)| line_now != line || is_behind(*at)) {
                if ups.contains(c) {
                    depth += 1;
                } else if downs.contains(c) {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        let pairs = OPENING.find(bracket).or_else(|| CLOSING.find(bracket));
                        return (pairs == OPENING.find(c).or_else(|| CLOSING.find(c))).then_some((line_now, at));
                    }
                }
            }
            looked += self.lines()[line_now].len();
            here =
                if forward { Some(line_now + 1).filter(|n| *n < self.lines().len()) } else { line_now.checked_sub(1) };
            if looked > FARTHEST {
                return None;
            }
        }
        None
    }

    /// The brackets of a line that are code, each with its place in characters.
    fn code(&self, line: usize) -> Vec<Bracket> {
        let Some(text) = self.lines().get(line) else { return Vec::new() };
        if !text.contains(['(', '[', '{', ')', ']', '}']) {
            return Vec::new();
        }
        let parts = self.parts(line);
        let is_text = |byte: usize| {
            parts.iter().any(|(r, slot)| r.contains(&byte) && matches!(slot, Slot::String | Slot::Comment))
        };
        let all = text.char_indices().enumerate();
        all.filter(|(_, (byte, c))| (OPENING.contains(*c) || CLOSING.contains(*c)) && !is_text(*byte))
            .map(|(at, (_, c))| (at, c))
            .collect()
    }
}

/// A bracket's place in its line, and which it is.
type Bracket = (usize, char);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_find_each_other_across_lines_and_texts() {
        let mut editor = Editor::new("BEGIN {\n  printf(\")}\", (1)); // }\n}");
        let mut pair = |line, column| {
            editor.go_to((line, column), false);
            editor.brackets()
        };
        assert_eq!(pair(0, 6), Some([(0, 6), (2, 0)]));
        assert_eq!(pair(2, 0), Some([(2, 0), (0, 6)]));
        assert_eq!(pair(2, 1), Some([(2, 0), (0, 6)]), "just behind it, too");
        assert_eq!(pair(1, 8), Some([(1, 8), (1, 18)]));
        assert_eq!(pair(1, 15), Some([(1, 15), (1, 17)]));
        assert_eq!(pair(1, 10), None, "in a text");
        assert_eq!(Editor::new("BEGIN { ( }").brackets(), None);
    }
}
