//! Intents in the lens, and what opens it.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::draw::{draw, row_at};
use super::keys::Intent;
use super::{Lens, Source};
use crate::lang::diagnostic::Severity;
use crate::model::value::Value;
use crate::probe::lens::Arguments;
use crate::tui::base::action::{Action, Go};
use crate::tui::base::key::Scope;
use crate::tui::base::kind::SCRIPT;
use crate::tui::data::Data;
use crate::tui::data::document::Document;
use crate::tui::layers::Struck;
use crate::tui::pane::ask::Change;
use crate::tui::pane::{Ask, Layer, Turn};

/// The first probe of the clause in which the cursor is.
#[must_use]
pub fn probe_at_cursor(document: &Document) -> Option<String> {
    let text = document.editor.text();
    clause_of(text.get(..document.editor.offset() as usize).unwrap_or(&text))
}

/// The first probe of the clause that is open at the end of a script's text.
fn clause_of(text: &str) -> Option<String> {
    let mut open = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '{' => open.push(at),
            '}' => drop(open.pop()),
            _ => {}
        }
    }
    let head = text.get(..*open.first()?)?;
    let head = head.rsplit('}').next()?;
    let line = head.lines().map(str::trim).find(|line| line.contains(':') && !line.starts_with("//"))?;
    let point = line.split([',', ' ']).find(|word| word.contains(':'))?;
    Some(point.to_owned())
}

impl Lens {
    /// On the arguments of a probe, for the script at hand.
    #[must_use]
    pub fn of_types(probe: Arc<str>, Arguments { roots, plain }: Arguments, document: &Document) -> Self {
        let in_clause = probe_at_cursor(document).is_some_and(|own| own == *probe);
        let title = format!("Members: {probe}");
        Self::new(title, Source::Types { roots, plain, probe, in_clause })
    }

    /// On a captured struct, beside the one that was marked.
    #[must_use]
    pub fn captured(title: String, now: Value, marked: Option<&Value>) -> Self {
        let before = marked.filter(|before| **before != now).cloned();
        Self::new(title, Source::Values { now, before })
    }

    fn differences(&mut self, turn: &mut Turn<&Data>) {
        if self.compares() {
            self.only_differences = !self.only_differences;
            self.list();
        } else {
            turn.tell(Severity::Info, "Mark another captured struct in the events with M: this one is compared to it");
        }
    }

    /// A path goes into the script; a captured member opens.
    fn accept(&mut self, turn: &mut Turn<&Data>) {
        let Some(row) = self.rows.get(self.selected) else { return };
        let Source::Types { probe, in_clause, .. } = &self.source else {
            let open = row.opens != Some(true);
            return self.turn(open);
        };
        let path = row.key.clone();
        turn.ask(Ask::LeaveAll);
        turn.focus_on(SCRIPT);
        turn.change(if *in_clause {
            Change::Paste(path)
        } else {
            Change::Insert(format!("{probe}\n{{\n    print({path});\n}}\n"))
        });
    }
}

impl Layer for Lens {
    fn scope(&self) -> Scope {
        Scope::Lens
    }

    fn takes_text(&self) -> bool {
        true
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, _body: Rect) {
        let page = usize::from(turn.size.1).saturating_sub(10).max(1);
        let last = self.rows.len().saturating_sub(1);
        match action {
            Action::Edit(edit) if self.input.edit(edit) => self.list(),
            Action::Go(Go::Up) => self.selected = self.selected.saturating_sub(1),
            Action::Go(Go::Down) => self.selected = (self.selected + 1).min(last),
            Action::Go(Go::PageUp) => self.selected = self.selected.saturating_sub(page),
            Action::Go(Go::PageDown) => self.selected = (self.selected + page).min(last),
            Action::Go(Go::Right) => self.turn(true),
            Action::Go(Go::Left) => self.turn(false),
            Action::Go(go) => {
                self.input.go(*go);
            }
            Action::Accept => self.accept(turn),
            action if Intent::of(action) == Some(Intent::Differences) => self.differences(turn),
            _ => {}
        }
    }

    fn press(&mut self, at: (u16, u16), _turn: &mut Turn<&Data>, body: Rect) -> Option<Action> {
        match row_at(self, body, at) {
            Struck::Outside => Some(Action::Cancel),
            Struck::Entry(index) if index == self.selected => Some(Action::Go(Go::Right)),
            Struck::Entry(index) => {
                self.selected = index;
                None
            }
            Struck::Frame => None,
        }
    }

    fn draw(&self, data: &Data, buf: &mut Buffer, body: Rect) {
        draw(data, self, buf, body);
    }
}

#[cfg(test)]
mod tests {
    use super::clause_of;

    #[test]
    fn the_clause_at_the_cursor_names_its_probe() {
        let text = "// a: b\nbegin { @x = 1; }\n\nfentry:vfs_read, kprobe:vfs_write\n/pid > 1/\n{\n  if (pid) { print(";
        assert_eq!(clause_of(text).as_deref(), Some("fentry:vfs_read"));
        assert_eq!(clause_of("tracepoint:sched:sched_switch { @ = 1; }\n"), None);
        assert_eq!(clause_of("begin {"), None);
        assert_eq!(clause_of(""), None);
    }
}
