//! What changes the text.

use std::ops::Range;

use tui_textarea::CursorMove;

use super::steps::{Kind, Mark, Moment, Stage, Swap, Way};
use super::{Editor, TAB, place};
use crate::lang::source::Span;
use crate::tui::base::action::Edit;

impl Editor {
    /// Replaces a byte range of the text, keeping it one step of undo.
    pub fn replace(&mut self, span: Span, replacement: &str) {
        let old = self.text();
        let range = span.start as usize..(span.end as usize).min(old.len());
        self.change(Kind::Other, |editor| editor.swap(&old, range, replacement));
    }

    /// Replaces several byte ranges, in order of the text, as one step of undo. The cursor stays at its text.
    pub fn replace_all(&mut self, edits: &[(Span, String)]) {
        let text = self.text();
        let at = self.offset() as usize;
        let (mut new, mut done, mut cursor) = (String::with_capacity(text.len()), 0, at);
        for (span, replacement) in edits {
            let (start, end) = (span.start as usize, span.end as usize);
            let Some(before) = text.get(done..start) else { return };
            new.push_str(before);
            if start < at {
                // Inside of what is replaced, the cursor goes to its end.
                cursor = new.len() + replacement.len() + at.saturating_sub(end);
            }
            new.push_str(replacement);
            done = end;
        }
        new.push_str(text.get(done..).unwrap_or(""));
        self.put_text(&new, cursor);
    }

    /// Puts the same script, laid out in another way, in place of the text, as one step of undo. The cursor stays
    /// at its text.
    pub fn lay_out(&mut self, new: &str) {
        let blank = |c: &char| !c.is_whitespace();
        let behind = self.text()[..self.offset() as usize].chars().filter(blank).count();
        let inked = new.char_indices().filter(|(_, c)| blank(c));
        let cursor =
            behind.checked_sub(1).map_or(0, |nth| inked.map(|(at, c)| at + c.len_utf8()).nth(nth).unwrap_or(new.len()));
        self.put_text(new, cursor);
    }

    fn put_text(&mut self, new: &str, cursor: usize) {
        let old = self.text();
        self.change(Kind::Other, |editor| {
            editor.swap(&old, 0..old.len(), new);
            editor.go_to_offset(u32::try_from(cursor).unwrap_or(u32::MAX));
        });
    }

    /// Puts `replacement` where `range` of `old`, the text of now, is; the cursor goes behind it.
    fn swap(&mut self, old: &str, range: Range<usize>, replacement: &str) {
        let Some(gone) = old.get(range.clone()) else { return };
        let (line, column) = place(old, range.start);
        self.area.cancel_selection();
        self.jump(line, column);
        if !gone.is_empty() {
            self.area.delete_str(gone.chars().count());
        }
        self.area.insert_str(replacement);
    }

    /// Does something to the text as a step that can be undone, or as a part of the step before; true
    /// when the text is another one now.
    fn change(&mut self, kind: Kind, work: impl FnOnce(&mut Self)) -> bool {
        let before = self.moment();
        work(self);
        let after = self.moment();
        if after.text == before.text {
            return false;
        }
        self.steps.note(kind, &before, &after);
        self.follow_edit(&before.text, &after.text);
        self.rescan(after.text);
        true
    }

    /// Goes through these steps of undo; true when there was one.
    fn go_through(&mut self, swaps: impl IntoIterator<Item = Swap>) -> bool {
        let before = self.text();
        let mut went = false;
        for Swap { range, text, cursor } in swaps {
            let old = self.text();
            self.swap(&old, range, &text);
            self.jump(cursor.0, cursor.1);
            went = true;
        }
        if went {
            let new = self.text();
            self.follow_edit(&before, &new);
            self.rescan(new);
        }
        went
    }

    /// Every state that the text was in, those of branches that were undone included.
    #[must_use]
    pub fn stages(&self) -> Vec<Stage> {
        self.steps.stages()
    }

    /// Gives the text the state of this number; true when it had another one.
    pub fn go_to_stage(&mut self, number: usize) -> bool {
        let swaps = self.steps.go_to(number);
        self.go_through(swaps)
    }

    fn go_beside(&mut self, way: Way) -> bool {
        self.steps.beside(way).is_some_and(|number| self.go_to_stage(number))
    }

    fn moment(&self) -> Moment {
        Moment { text: self.text(), cursor: self.cursor(), offset: self.offset() as usize }
    }

    /// The state of now, to make one step of all that comes.
    pub(crate) fn mark_step(&mut self) -> Mark {
        let now = self.moment();
        self.steps.mark(now)
    }

    /// All that was changed since the mark is undone together.
    pub(crate) fn join_steps(&mut self, mark: Mark) {
        let now = self.moment();
        self.steps.join(mark, &now);
    }

    /// What is typed from here on is undone by itself: after a pause and a save.
    pub const fn end_step(&mut self) {
        self.steps.end();
    }

    /// Applies a change; true when the text is another one now.
    pub fn edit(&mut self, edit: &Edit) -> bool {
        match edit {
            Edit::Undo => {
                let swap = self.steps.go(Way::Back);
                self.go_through(swap)
            }
            Edit::Redo => {
                let swap = self.steps.go(Way::Forward);
                self.go_through(swap)
            }
            Edit::Older => self.go_beside(Way::Back),
            Edit::Newer => self.go_beside(Way::Forward),
            _ => self.change(kind_of(edit), |editor| editor.apply(edit)),
        }
    }

    fn apply(&mut self, edit: &Edit) {
        let selecting = self.area.is_selecting();
        match edit {
            Edit::Insert('}') if !selecting && self.line().trim().is_empty() => self.insert_closing_brace(),
            Edit::Insert(c) => {
                self.area.insert_char(*c);
            }
            Edit::Paste(text) => {
                self.area.insert_str(text.replace("\r\n", "\n").replace('\r', "\n"));
            }
            Edit::Newline => self.newline(),
            Edit::Tab => {
                self.area.insert_tab();
            }
            Edit::Backspace => self.backspace(),
            Edit::Delete => {
                self.area.delete_next_char();
            }
            Edit::DeleteWord => {
                self.area.delete_word();
            }
            Edit::DeleteLineEnd => {
                self.area.delete_line_by_end();
            }
            Edit::DeleteLineStart => {
                self.area.delete_line_by_head();
            }
            // Steps, see `edit`.
            Edit::Undo | Edit::Redo | Edit::Older | Edit::Newer => {}
            Edit::SelectAll => self.area.select_all(),
            Edit::Copy => self.area.copy(),
            Edit::Cut => {
                self.area.cut();
            }
            Edit::PasteCopied => {
                self.area.paste();
            }
            Edit::ToggleComment => self.toggle_comment(),
        }
    }

    /// What was copied last.
    #[must_use]
    pub fn copied(&self) -> String {
        self.area.yank_text()
    }

    fn newline(&mut self) {
        let (_, column) = self.cursor();
        let before: String = self.line().chars().take(column).collect();
        let indent: String = before.chars().take_while(|c| *c == ' ' || *c == '\t').collect();
        let deeper = before.trim_end().ends_with('{');
        self.area.insert_newline();
        let mut lead = indent;
        if deeper {
            lead.push_str(if lead.starts_with('\t') { "\t" } else { "    " });
        }
        if !lead.is_empty() {
            self.area.insert_str(&lead);
        }
    }

    fn insert_closing_brace(&mut self) {
        let (line, column) = self.cursor();
        let depth = usize::from(self.pieces.depth(self.offset()).saturating_sub(1));
        let blanks = self.line().chars().count();
        if depth * TAB < column && self.line().chars().all(|c| c == ' ') {
            self.jump(line, 0);
            self.area.delete_str(blanks);
            self.area.insert_str(" ".repeat(depth * TAB));
        }
        self.area.insert_char('}');
    }

    /// Deletes a whole step of indentation where only blanks are before the cursor.
    fn backspace(&mut self) {
        let (line, column) = self.cursor();
        let blanks = self.line().chars().take(column).all(|c| c == ' ');
        if !self.area.is_selecting() && blanks && column >= TAB && column.is_multiple_of(TAB) {
            self.jump(line, column - TAB);
            self.area.delete_str(TAB);
        } else {
            self.area.delete_char();
        }
    }

    /// A line with a comment of its own stays as it is where comments have an end: they can't be nested.
    fn toggle_comment(&mut self) {
        let (before, behind) = self.language.comment();
        let (opens, ends) = (before.trim_end(), behind.trim_start());
        let (line, column) = self.cursor();
        let (from, to) = self.marked().map_or((line, line), |((a, _), (b, _))| (a, b));
        self.area.cancel_selection();
        let lines = &self.lines()[from..=to.min(self.lines().len() - 1)];
        let is_one = |l: &str| l.trim().starts_with(opens) && l.trim().ends_with(ends);
        let all = lines.iter().all(|l| l.trim().is_empty() || is_one(l));
        let nests = |l: &str| !ends.is_empty() && (l.contains(opens) || l.contains(ends));
        let plan: Vec<(usize, String)> = lines
            .iter()
            .enumerate()
            .filter(|(_, l)| !l.trim().is_empty() && (all || !nests(l)))
            .map(|(i, l)| (from + i, if all { uncommented(l, before, behind) } else { commented(l, before, behind) }))
            .collect();
        for (line, text) in plan {
            self.jump(line, 0);
            self.area.delete_line_by_end();
            self.area.insert_str(text);
        }
        self.jump(line, column);
    }

    /// Inserts a clause: at the cursor where a clause can begin on a blank line, otherwise at the
    /// end of the script. The cursor goes to the first line of its body.
    pub fn insert_clause(&mut self, clause: &str) {
        self.change(Kind::Other, |editor| editor.put_clause(clause));
    }

    fn put_clause(&mut self, clause: &str) {
        self.area.cancel_selection();
        if self.at_clause_start() && self.line().trim().is_empty() {
            self.area.move_cursor(CursorMove::Head);
            self.area.delete_line_by_end();
        } else {
            self.area.move_cursor(CursorMove::Bottom);
            self.area.move_cursor(CursorMove::End);
            let last_blank = self.line().is_empty();
            let before_blank = self.lines().len() < 2 || self.lines()[self.lines().len() - 2].trim().is_empty();
            self.area.insert_str(match (last_blank, before_blank) {
                (true, true) => "",
                (true, false) => "\n",
                (false, _) => "\n\n",
            });
        }
        let (first, _) = self.cursor();
        let clause = clause.trim_end_matches('\n');
        self.area.insert_str(clause);
        if self.cursor().0 + 1 == self.lines().len() {
            self.area.insert_newline();
        }
        let body = clause.lines().position(|l| l.trim_end().ends_with('{')).map_or(0, |l| l + 1);
        let line = first + body.min(clause.lines().count().saturating_sub(1));
        let indent = self.lines().get(line).map_or(0, |l| l.chars().take_while(|c| *c == ' ').count());
        self.jump(line, indent);
    }
}

/// What an edit is to the step that it may go on.
const fn kind_of(edit: &Edit) -> Kind {
    match edit {
        Edit::Insert(c) => Kind::Typed(*c),
        Edit::Backspace => Kind::Erased,
        Edit::Delete => Kind::Deleted,
        _ => Kind::Other,
    }
}

/// A line as a comment, its indentation as it was.
fn commented(line: &str, before: &str, behind: &str) -> String {
    let (indent, text) = line.split_at(line.len() - line.trim_start().len());
    format!("{indent}{before}{text}{behind}")
}

/// A line that was a comment.
fn uncommented(line: &str, before: &str, behind: &str) -> String {
    let (indent, text) = line.split_at(line.len() - line.trim_start().len());
    let text = text.strip_prefix(before).or_else(|| text.strip_prefix(before.trim_end())).unwrap_or(text);
    let text = text.trim_end();
    let inner = text.strip_suffix(behind).or_else(|| text.strip_suffix(behind.trim_start())).unwrap_or(text);
    format!("{indent}{}", if behind.is_empty() { text } else { inner })
}
