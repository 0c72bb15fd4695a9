//! Where motions land from the cursor, and what operators take on the way.

use std::ops::Range;

use super::commands::{Operator, Target};
use super::motions::{Extent, Known, Landing, Motion, Text};
use super::{Mode, Vi};
use crate::tui::data::text::Editor;

impl Vi {
    /// The bytes from the other end of the selection to a place.
    pub(super) fn selection(&self, text: &str, at: usize, lines: bool) -> Range<usize> {
        let anchor = self.anchor.min(text.len());
        let (from, to) = (anchor.min(at), anchor.max(at));
        let text = Text(text);
        if lines { text.lines_of(from..to) } else { from..text.after(to) }
    }

    /// Moves the cursor.
    pub(super) fn go(&mut self, motion: &Motion, count: Option<usize>, editor: &mut Editor, page: usize) {
        if let Motion::Same { .. } = motion {
            self.query = Text(&editor.text()).word(editor.offset() as usize).map(str::to_owned);
        }
        let column = self.column.unwrap_or_else(|| editor.cursor().1);
        let landing = self.landing(motion, count, Some(column), editor, page);
        self.column = match motion {
            Motion::LineEnd => Some(usize::MAX),
            Motion::Up | Motion::Down | Motion::HalfPage { .. } => Some(column),
            _ => None,
        };
        if let Some(landing) = landing {
            editor.go_to_offset(landing.at as u32);
        }
    }

    /// Where a motion goes from the cursor; lines up and down keep to the column, or to the cursor's.
    fn landing(
        &mut self,
        motion: &Motion,
        count: Option<usize>,
        column: Option<usize>,
        editor: &Editor,
        page: usize,
    ) -> Option<Landing> {
        if let Motion::Find(find) = motion {
            self.found = Some(*find);
        }
        if *motion == Motion::Bracket {
            return Some(Landing { at: editor.bracket_ahead()?, extent: Extent::Inclusive });
        }
        let known = Known {
            column,
            found: self.found,
            query: self.query.as_deref(),
            view: (editor.top, page + 1),
            marks: &self.marks,
        };
        Text(&editor.text()).go(motion, editor.offset() as usize, count, &known)
    }

    /// The bytes that an operator takes, and whether those are whole lines.
    pub(super) fn range(
        &mut self,
        operator: Operator,
        target: &Target,
        count: Option<usize>,
        editor: &Editor,
        page: usize,
    ) -> Option<(Range<usize>, bool)> {
        let text = editor.text();
        let (at, inside) = (editor.offset() as usize, Text(&text));
        match target {
            Target::Selection => {
                let lines = self.mode == Mode::Select { lines: true };
                Some((self.selection(&text, at, lines), lines))
            }
            Target::Chars(many) => {
                let end = text[at..].char_indices().nth(*many).map_or(text.len(), |(n, _)| at + n);
                Some((at..end, false))
            }
            Target::Lines => {
                let last = inside.line(inside.line_of(at) + count.unwrap_or(1).saturating_sub(1));
                Some((inside.lines_of(at..last), true))
            }
            Target::Object(object) => object.range(inside, at),
            Target::Motion(motion) => {
                // A changed word keeps the blanks behind it.
                let changes_word =
                    operator == Operator::Change && inside.char_at(at).is_some_and(|c| !c.is_whitespace());
                if let (Motion::WordNext { big }, true) = (motion, changes_word) {
                    return Some((inside.word_rest(at, *big, count.unwrap_or(1)), false));
                }
                let landing = self.landing(motion, count, None, editor, page)?;
                Some(between(inside, at, landing, motion))
            }
        }
    }
}

/// From the cursor to where a motion went, as an operator takes it.
fn between(text: Text<'_>, at: usize, landing: Landing, motion: &Motion) -> (Range<usize>, bool) {
    let (from, mut end) = (at.min(landing.at), at.max(landing.at));
    match landing.extent {
        Extent::Lines => return (text.lines_of(from..end), true),
        Extent::Inclusive => return (from..text.after(end), false),
        Extent::Exclusive => {}
    }
    let crosses = text.line_start(end) > from;
    let at_start = end == text.line_start(end);
    let is_word = matches!(motion, Motion::WordNext { .. });
    if crosses && (at_start || is_word && end <= text.first_ink(end)) {
        // It ends with the line before; that is whole lines where it began before their text.
        end = text.line_start(end) - 1;
        if !is_word && from <= text.first_ink(from) {
            return (text.lines_of(from..end), true);
        }
    }
    (from..end.max(from), false)
}
