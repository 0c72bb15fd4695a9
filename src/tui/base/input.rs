//! One line of text that is being typed: searches, filters, file names.

use super::action::{Action, Edit, Go};

/// Text with a cursor.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Input {
    text: String,
    /// Byte offset, always on a character's border.
    at: usize,
    /// The whole text is a proposal: what is typed first takes its place.
    proposed: bool,
}

impl Input {
    /// Starts with `text`, cursor at its end.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), at: text.len(), proposed: false }
    }

    /// Starts with text before the cursor and text behind it.
    #[must_use]
    pub fn with_cursor(before: &str, behind: &str) -> Self {
        Self { text: format!("{before}{behind}"), at: before.len(), proposed: false }
    }

    /// Starts with a proposal, which typing replaces and moving the cursor accepts.
    #[must_use]
    pub fn proposing(text: &str) -> Self {
        Self { proposed: !text.is_empty(), ..Self::new(text) }
    }

    /// Whether what is typed now takes the place of the whole text.
    #[must_use]
    pub const fn is_proposal(&self) -> bool {
        self.proposed
    }

    /// Applies an intent where nothing but an answer is wanted; gives that once it is taken.
    pub fn answer(&mut self, action: &Action) -> Option<String> {
        match action {
            Action::Edit(edit) => {
                self.edit(edit);
            }
            Action::Go(go) => {
                self.go(*go);
            }
            Action::Accept => return Some(self.text.clone()),
            _ => {}
        }
        None
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is before the cursor.
    #[must_use]
    pub fn before(&self) -> &str {
        &self.text[..self.at]
    }

    /// Applies a change; true when the text is another one now.
    pub fn edit(&mut self, edit: &Edit) -> bool {
        let before = self.text.len();
        if std::mem::take(&mut self.proposed) && matches!(edit, Edit::Insert(_) | Edit::Paste(_)) {
            self.text.clear();
            self.at = 0;
        }
        match edit {
            Edit::Insert(c) if !c.is_control() => {
                self.text.insert(self.at, *c);
                self.at += c.len_utf8();
            }
            Edit::Paste(pasted) => {
                let clean: String = pasted.lines().next().unwrap_or("").chars().filter(|c| !c.is_control()).collect();
                self.text.insert_str(self.at, &clean);
                self.at += clean.len();
            }
            Edit::Backspace => {
                if let Some(c) = self.before().chars().next_back() {
                    self.at -= c.len_utf8();
                    self.text.remove(self.at);
                }
            }
            Edit::Delete if self.at < self.text.len() => {
                self.text.remove(self.at);
            }
            Edit::DeleteWord => {
                let start = self.word_start();
                self.text.replace_range(start..self.at, "");
                self.at = start;
            }
            Edit::DeleteLineEnd => self.text.truncate(self.at),
            Edit::DeleteLineStart => {
                self.text.replace_range(..self.at, "");
                self.at = 0;
            }
            _ => {}
        }
        self.text.len() != before
    }

    /// Moves the cursor; false when the direction means nothing in one line.
    pub fn go(&mut self, go: Go) -> bool {
        self.proposed = false;
        match go {
            Go::Left => self.at -= self.before().chars().next_back().map_or(0, char::len_utf8),
            Go::Right => self.at += self.text[self.at..].chars().next().map_or(0, char::len_utf8),
            Go::WordLeft => self.at = self.word_start(),
            Go::WordRight => {
                let rest = &self.text[self.at..];
                let word = rest.trim_start();
                let skip = rest.len() - word.len();
                self.at += skip + word.find(char::is_whitespace).unwrap_or(word.len());
            }
            Go::Home => self.at = 0,
            Go::End => self.at = self.text.len(),
            _ => return false,
        }
        true
    }

    fn word_start(&self) -> usize {
        let trimmed = self.before().trim_end_matches(|c: char| !c.is_alphanumeric());
        trimmed.char_indices().rev().find(|(_, c)| !c.is_alphanumeric()).map_or(0, |(i, c)| i + c.len_utf8())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_is_replaced_by_typing_and_kept_by_moving() {
        let mut input = Input::proposing("/a/b.bt");
        input.edit(&Edit::Insert('x'));
        input.edit(&Edit::Insert('y'));
        assert_eq!(input.text(), "xy");
        let mut input = Input::proposing("/a/b.bt");
        input.go(Go::End);
        input.edit(&Edit::Insert('x'));
        assert_eq!(input.text(), "/a/b.btx");
        input.go(Go::Left);
        input.edit(&Edit::DeleteLineStart);
        assert_eq!((input.text(), input.before()), ("x", ""));
    }

    #[test]
    fn words_and_wide_characters_are_deleted_whole() {
        let mut input = Input::new("sys_enter:漢字");
        assert!(input.edit(&Edit::Backspace));
        assert_eq!(input.text(), "sys_enter:漢");
        input.edit(&Edit::DeleteWord);
        assert_eq!(input.text(), "sys_enter:");
        input.go(Go::Home);
        input.edit(&Edit::Delete);
        input.edit(&Edit::Paste("a\x1b\nb".into()));
        assert_eq!((input.text(), input.before()), ("ays_enter:", "a"));
    }
}
