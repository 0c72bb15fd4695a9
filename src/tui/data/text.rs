//! The script being edited: the text engine is tui-textarea's, painting is ours.

use std::ops::Range;
use std::sync::Arc;

use tui_textarea::{CursorMove, DataCursor, TextArea};

use crate::lang::FRONT_ENDS;
use crate::lang::diagnostic::{Diagnostic, Severity};
use crate::lang::front::FrontEnd;
use crate::lang::service::Pieces;
use crate::lang::source::Span;
use crate::tui::base::action::Go;
use crate::tui::base::syntax;
use crate::tui::base::syntax::Parts;
use crate::tui::base::text::shown_width;

mod brackets;
mod edits;
pub(crate) mod steps;

pub use steps::Stage;
use steps::Steps;

/// Columns of a tab stop, and blanks of one step of indentation.
pub const TAB: usize = 4;

/// The text and what is known about it.
#[derive(Clone, Debug)]
pub struct Editor {
    area: TextArea<'static>,
    steps: Steps,
    language: &'static dyn FrontEnd,
    /// What each piece of the text is, and the text.
    pieces: Arc<dyn Pieces>,
    lexed: String,
    /// Byte offset of the start of each line.
    starts: Vec<usize>,
    /// What the compiler said, spans moved along with later edits.
    diagnostics: Vec<Diagnostic>,
    marks: Vec<Mark>,
    /// First line shown.
    pub top: usize,
    /// First column shown.
    pub left: usize,
}

/// A place in a line that a diagnostic is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Line, from 0.
    pub line: usize,
    /// First byte in the line.
    pub start: usize,
    /// One past the last byte; at least one more than `start`, so maybe past the line's end.
    pub end: usize,
    /// Index of the diagnostic.
    pub diagnostic: usize,
}

impl Editor {
    /// Starts with `text` in the first of the languages, cursor at its start.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut area = TextArea::new(text.split('\n').map(str::to_owned).collect());
        area.set_tab_length(TAB as u8);
        // Its history goes by keys; ours by steps.
        area.set_max_histories(0);
        let mut editor = Self {
            area,
            steps: Steps::default(),
            language: FRONT_ENDS[0],
            pieces: FRONT_ENDS[0].pieces(""),
            lexed: String::new(),
            starts: Vec::new(),
            diagnostics: Vec::new(),
            marks: Vec::new(),
            top: 0,
            left: 0,
        };
        editor.rescan(text.to_owned());
        editor
    }

    /// Reads the text in this language from now on.
    pub fn read_as(&mut self, language: &'static dyn FrontEnd) {
        if self.language.name() != language.name() {
            self.language = language;
            self.rescan(self.text());
        }
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Its lines.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        self.area.lines()
    }

    /// True when nothing but blanks is there.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.lines().iter().all(|l| l.trim().is_empty())
    }

    /// Whether the text is another one than `saved`.
    #[must_use]
    pub fn differs_from(&self, saved: &str) -> bool {
        let mut saved = saved.split('\n');
        !(self.lines().iter().all(|l| saved.next() == Some(l)) && saved.next().is_none())
    }

    /// Line and character of the cursor, from 0.
    #[must_use]
    pub fn cursor(&self) -> (usize, usize) {
        let DataCursor(line, column) = self.area.cursor();
        (line, column)
    }

    /// The line with the cursor.
    #[must_use]
    pub fn line(&self) -> &str {
        self.lines().get(self.cursor().0).map_or("", String::as_str)
    }

    /// Byte offset of the cursor in the text.
    #[must_use]
    pub fn offset(&self) -> u32 {
        u32::try_from(self.byte_at(self.cursor())).unwrap_or(u32::MAX)
    }

    /// The byte of the text at a line and character.
    fn byte_at(&self, (line, column): (usize, usize)) -> usize {
        let above: usize = self.lines()[..line].iter().map(|l| l.len() + 1).sum();
        above + byte_of(&self.lines()[line], column)
    }

    /// Length of the text in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.lines().iter().map(|l| l.len() + 1).sum::<usize>().saturating_sub(1)
    }

    /// The cursor's line up to the cursor.
    #[must_use]
    pub fn before_cursor(&self) -> &str {
        &self.line()[..byte_of(self.line(), self.cursor().1)]
    }

    /// What is marked, when it lies in one line.
    #[must_use]
    pub fn marked_text(&self) -> Option<String> {
        let ((from, a), (to, b)) = self.marked()?;
        let line = self.lines().get(from).filter(|_| from == to)?;
        Some(line[byte_of(line, a)..byte_of(line, b)].to_owned())
    }

    /// Marks the next place of `query` and puts the cursor there: from the start of what is marked
    /// while it is being typed (`Go::Right`), after it (`Go::Down`) or before it (`Go::Up`), around
    /// the ends. Letters match in both cases unless the query has a capital. False when there is none.
    pub fn find(&mut self, query: &str, go: Go) -> bool {
        let from = self.marked().map_or(self.cursor(), |(start, _)| start);
        let mut places = Vec::new();
        for (index, line) in self.lines().iter().enumerate() {
            places.extend(places_of(line, query).into_iter().map(|byte| (index, line[..byte].chars().count())));
        }
        let found = match go {
            Go::Up => places.iter().rev().find(|p| **p < from).or_else(|| places.last()),
            Go::Down => places.iter().find(|p| **p > from).or_else(|| places.first()),
            _ => places.iter().find(|p| **p >= from).or_else(|| places.first()),
        };
        let Some((line, column)) = found.copied() else { return false };
        self.area.cancel_selection();
        self.jump(line, column);
        self.area.start_selection();
        self.jump(line, column + query.chars().count());
        true
    }

    /// Marked characters as two (line, character) pairs.
    #[must_use]
    pub fn marked(&self) -> Option<((usize, usize), (usize, usize))> {
        self.area.selection_range()
    }

    /// What the pieces of a line look like.
    #[must_use]
    pub fn parts(&self, line: usize) -> Parts {
        match (self.lines().get(line), self.starts.get(line)) {
            (Some(text), Some(start)) => syntax::line_parts(&*self.pieces, &self.lexed, *start, text),
            _ => Parts::new(),
        }
    }

    /// True when a new clause could begin at the cursor, where a `/` would mean nothing but the
    /// start of a comment.
    #[must_use]
    pub fn at_clause_start(&self) -> bool {
        let before = self.before_cursor();
        before.chars().all(|c| c.is_whitespace() || c == '}') && self.pieces.between_items(self.offset(), &self.lexed)
    }

    /// What the compiler said about the text.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Places of what it said, by line.
    #[must_use]
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Takes new diagnostics, worst first by place; `of` is the text that they are about.
    pub fn diagnose(&mut self, mut diagnostics: Vec<Diagnostic>, of: &str) {
        diagnostics.sort_by_key(|d| (std::cmp::Reverse(d.severity), d.span.start));
        self.diagnostics = diagnostics;
        let now = self.text();
        self.follow_edit(of, &now);
    }

    /// The diagnostic on the cursor's line: the one under the cursor, else the line's first.
    #[must_use]
    pub fn problem_here(&self) -> Option<&Diagnostic> {
        let (line, column) = self.cursor();
        let at = byte_of(self.line(), column);
        let here = || self.marks.iter().filter(|m| m.line == line);
        let mark = here().find(|m| (m.start..=m.end).contains(&at)).or_else(|| here().next())?;
        self.diagnostics.get(mark.diagnostic)
    }

    /// Worst severity on a line.
    #[must_use]
    pub fn severity_at(&self, line: usize) -> Option<Severity> {
        let on = self.marks.iter().filter(|m| m.line == line);
        on.filter_map(|m| self.diagnostics.get(m.diagnostic)).map(|d| d.severity).max()
    }

    /// Puts the cursor on the next problem after it, the first one after the last.
    pub fn next_problem(&mut self) -> bool {
        let (line, column) = self.cursor();
        let at = byte_of(self.line(), column);
        let mut places: Vec<(usize, usize)> = self.marks.iter().map(|m| (m.line, m.start)).collect();
        places.sort_unstable();
        let next = places.iter().find(|p| **p > (line, at)).or_else(|| places.first());
        let Some((line, start)) = next.copied() else { return false };
        let column = self.lines()[line].get(..start).map_or(0, |s| s.chars().count());
        self.jump(line, column);
        true
    }

    /// Moves the cursor; `select` extends what is marked; `page` is the height of the view.
    pub fn go(&mut self, go: Go, select: bool, page: usize) {
        if select {
            if !self.area.is_selecting() {
                self.area.start_selection();
            }
        } else {
            self.area.cancel_selection();
        }
        let (line, column) = self.cursor();
        let last = self.lines().len().saturating_sub(1);
        match go {
            Go::Left => self.area.move_cursor(CursorMove::Back),
            Go::Right => self.area.move_cursor(CursorMove::Forward),
            Go::Up if line > 0 => self.jump(line - 1, column),
            Go::Down if line < last => self.jump(line + 1, column),
            Go::Up => self.area.move_cursor(CursorMove::Head),
            Go::Down | Go::End => self.area.move_cursor(CursorMove::End),
            Go::PageUp => self.jump(line.saturating_sub(page.max(1)), column),
            Go::PageDown => self.jump((line + page.max(1)).min(last), column),
            Go::Home => {
                let indent = self.line().chars().take_while(|c| c.is_whitespace()).count();
                self.jump(line, if column == indent { 0 } else { indent });
            }
            Go::Top => self.area.move_cursor(CursorMove::Top),
            Go::Bottom => {
                self.area.move_cursor(CursorMove::Bottom);
                self.area.move_cursor(CursorMove::End);
            }
            Go::WordLeft => self.area.move_cursor(CursorMove::WordBack),
            Go::WordRight => self.area.move_cursor(CursorMove::WordForward),
        }
    }

    /// Puts the cursor on a place, extending what is marked or not.
    pub fn go_to(&mut self, (line, column): (usize, usize), select: bool) {
        if !select {
            self.area.cancel_selection();
        } else if !self.area.is_selecting() {
            self.area.start_selection();
        }
        self.jump(line, column);
    }

    /// Puts the cursor on a byte of the text.
    pub fn go_to_offset(&mut self, offset: u32) {
        let (line, column) = place(&self.text(), offset as usize);
        self.go_to((line, column), false);
    }

    /// Line and character of a byte of the text.
    #[must_use]
    pub fn place_of(&self, byte: usize) -> (usize, usize) {
        place(&self.text(), byte)
    }

    /// Puts the cursor on a line and character, or the nearest there is.
    pub fn jump(&mut self, line: usize, column: usize) {
        let limit = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        self.area.move_cursor(CursorMove::Jump(limit(line), limit(column)));
    }

    /// Scrolls so that the cursor is inside a view of this size.
    pub fn reveal(&mut self, height: usize, width: usize) {
        let (line, column) = self.cursor();
        let height = height.max(1);
        self.top = self.top.clamp((line + 1).saturating_sub(height), line);
        // A view that grew shows what was scrolled away, not blank rows below the end.
        self.top = self.top.min(self.lines().len().saturating_sub(height));
        let at = columns(self.line(), column);
        let width = width.max(2);
        self.left = if at + 2 <= width { 0 } else { self.left.clamp((at + 2).saturating_sub(width), at) };
    }

    fn rescan(&mut self, text: String) {
        self.starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|i| i + 1)).collect();
        self.pieces = self.language.pieces(&text);
        self.lexed = text;
    }

    /// Moves diagnostics of `old` to where their text is in `new`; those whose text changed go.
    fn follow_edit(&mut self, old: &str, new: &str) {
        let prefix = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        let most = old.len().min(new.len()) - prefix;
        let suffix = old.bytes().rev().zip(new.bytes().rev()).take(most).take_while(|(a, b)| a == b).count();
        let (tail, shift) = (old.len() - suffix, new.len() as i64 - old.len() as i64);
        if old != new {
            self.diagnostics.retain_mut(|d| {
                let (start, end) = (d.span.start as usize, d.span.end as usize);
                if start >= tail && (end > tail || start > prefix) {
                    let moved = |n: u32| u32::try_from(i64::from(n) + shift).unwrap_or(0);
                    d.span = Span::new(moved(d.span.start), moved(d.span.end));
                    d.fix = d.fix.take().map(|mut f| {
                        f.span = Span::new(moved(f.span.start), moved(f.span.end));
                        f
                    });
                    return true;
                }
                end <= prefix
            });
        }
        self.mark(new);
    }

    fn mark(&mut self, text: &str) {
        let starts: Vec<usize> =
            std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|i| i + 1)).collect();
        self.marks.clear();
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            let start = (diagnostic.span.start as usize).min(text.len());
            let line = starts.partition_point(|s| *s <= start).saturating_sub(1);
            let end = starts.get(line + 1).map_or(text.len(), |n| n - 1);
            let stop = (diagnostic.span.end as usize).min(end).max(start + 1);
            self.marks.push(Mark { line, start: start - starts[line], end: stop - starts[line], diagnostic: index });
        }
    }

    /// Counts of errors and warnings.
    #[must_use]
    pub fn problems(&self) -> (usize, usize) {
        let count = |s: Severity| self.diagnostics.iter().filter(|d| d.severity == s).count();
        (count(Severity::Error), count(Severity::Warning))
    }

    /// Line of a diagnostic, from 0.
    #[must_use]
    pub fn line_of(&self, diagnostic: usize) -> usize {
        self.marks.iter().find(|m| m.diagnostic == diagnostic).map_or(0, |m| m.line)
    }

    /// The script as an [`Arc`], for the session.
    #[must_use]
    pub fn shared(&self) -> Arc<str> {
        self.text().into()
    }
}

/// Line and character of a byte offset.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    (line, before[start..].chars().count())
}

/// The bytes at which a text has another; letters match in both cases unless the wanted one has a capital.
#[must_use]
pub fn places_of(text: &str, wanted: &str) -> Vec<usize> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let exact = wanted.chars().any(char::is_uppercase);
    let fold = |s: &str| if exact { s.to_owned() } else { s.to_ascii_lowercase() };
    fold(text).match_indices(&fold(wanted)).map(|(byte, _)| byte).collect()
}

/// Byte offset of a character in a line.
#[must_use]
pub fn byte_of(line: &str, column: usize) -> usize {
    line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
}

/// Columns before a character, tabs expanded.
#[must_use]
pub fn columns(line: &str, column: usize) -> usize {
    line.chars().take(column).fold(0, |at, c| at + advance(c, at))
}

/// Columns that a character takes at a column.
#[must_use]
pub fn advance(c: char, at: usize) -> usize {
    match c {
        '\t' => TAB - at % TAB,
        c => shown_width(c),
    }
}

/// A part of a line that lies in marked text, as characters.
#[must_use]
pub fn marked_in_line(marked: ((usize, usize), (usize, usize)), line: usize) -> Option<Range<usize>> {
    let ((l0, c0), (l1, c1)) = marked;
    if !(l0..=l1).contains(&line) {
        return None;
    }
    Some(if line == l0 { c0 } else { 0 }..if line == l1 { c1 } else { usize::MAX })
}

#[cfg(test)]
mod tests;
