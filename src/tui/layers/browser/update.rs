//! The probe browser: searching, describing, inserting.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::draw::{self, Spot, spot_at};
use super::keys::Intent;
use super::state::Browser;
use super::{heat, kinds, questions, scope, several, xray};
use crate::lang::diagnostic::Severity;
use crate::tui::base::action::{Action, Edit, Go};
use crate::tui::base::input::Input;
use crate::tui::base::key::Scope;
use crate::tui::base::kind::SCRIPT;
use crate::tui::data::Data;
use crate::tui::data::effect::{Detail, Effect, Found, Message};
use crate::tui::data::inspect::Inspect;
use crate::tui::pane::ask::Change;
use crate::tui::pane::{Ask, Layer, Turn};

/// Rows that what stands above a probe's fields takes at most, as a rule.
const ABOVE_FIELDS: isize = 6;

impl Browser {
    /// Opens the browser; `by_slash` in the script, where a second one would begin a comment.
    pub(crate) fn open<D: std::ops::Deref<Target = Data>>(turn: &mut Turn<D>, by_slash: bool) {
        let mut browser = Self { by_slash, ..Self::default() };
        let generation = turn.search + 1;
        browser.awaited = generation;
        turn.open(browser);
        turn.ask(Ask::Search(String::new(), generation));
        // Who else traces what is chosen.
        if turn.disabled.is_none() && !turn.loaded.is_watched {
            turn.out(Effect::Inspect(Inspect::Once));
        }
    }

    pub(super) fn search(&mut self, turn: &mut Turn<&Data>) {
        self.awaited = turn.search.max(self.awaited) + 1;
        self.accept_next = false;
        turn.ask(Ask::Search(self.input.text().to_owned(), self.awaited));
    }

    /// Takes results in.
    fn found(&mut self, mut found: Found, turn: &mut Turn<&Data>) {
        if self.input.text().trim().is_empty() {
            turn.used.lead(&mut found.hits);
        }
        let effects = self.take(found);
        let is_known = self.hit().is_some_and(|hit| hit.leads || hit.absent.is_some()) || self.detail().is_some();
        if self.accept_next && is_known && !self.is_stale() {
            return self.accept(turn);
        }
        effects.into_iter().for_each(|effect| turn.out(effect));
    }

    /// Takes the description of a probe in.
    fn described(&mut self, detail: Detail, turn: &mut Turn<&Data>) {
        self.detail = Some(detail);
        if self.accept_next && self.detail().is_some() {
            self.accept(turn);
        }
    }

    fn out(effects: Vec<Effect>, turn: &mut Turn<&Data>) {
        effects.into_iter().for_each(|effect| turn.out(effect));
    }

    fn own(&mut self, intent: Intent, turn: &mut Turn<&Data>) {
        match intent {
            Intent::Kind => {
                kinds::next(self);
                self.search(turn);
            }
            Intent::ChooseSeveral => several::choose(self, turn),
            Intent::Favourite => {
                if let Some(hit) = self.hit() {
                    turn.ask(Ask::Favourite(Arc::clone(&hit.name)));
                }
            }
            Intent::Scope => turn.out(Effect::Inspect(Inspect::Scopes)),
            Intent::Hits => heat::ask(self, turn),
            Intent::XRay => xray::ask(self, turn),
            Intent::Lens => {
                if let Some(hit) = self.hit() {
                    turn.out(Effect::Lens(Arc::clone(&hit.name)));
                }
            }
            Intent::Count
            | Intent::Arguments
            | Intent::Distribution
            | Intent::Latency
            | Intent::Slower
            | Intent::Stacks => self.question(intent, turn),
        }
    }

    /// Inserts a clause for the selected probe, as soon as it is known.
    fn accept(&mut self, turn: &mut Turn<&Data>) {
        // What is in sight fits an older query.
        if self.is_stale() {
            self.accept_next = true;
            return;
        }
        self.accept_next = false;
        let Some(hit) = self.hit() else { return };
        if hit.leads {
            self.input = Input::new(&hit.name);
            return self.search(turn);
        }
        if let Some(reason) = &hit.absent {
            return turn.tell(Severity::Warning, reason.to_string());
        }
        let Some(detail) = self.detail() else {
            let name = Arc::clone(&hit.name);
            self.accept_next = true;
            return turn.out(Effect::Describe(name));
        };
        let taken = several::taken(self, detail);
        let language = turn.document.language();
        let mut clauses = Vec::new();
        for detail in &taken {
            let Some(clause) = language.clause(&detail.name, &detail.skeleton) else {
                let (language, name) = (language.name(), &detail.name);
                let text = format!("{language} has no name for {name}: a script of another language can trace it");
                return turn.tell(Severity::Warning, text);
            };
            clauses.push(clause);
        }
        insert(turn, &taken, &clauses.join("\n"));
    }

    /// Inserts the clauses that answer a question about the selected probe.
    fn question(&mut self, question: Intent, turn: &mut Turn<&Data>) {
        if self.is_stale() {
            return turn.tell(Severity::Info, "What fits is being searched: press again");
        }
        let Some(hit) = self.hit() else { return };
        if let Some(reason) = &hit.absent {
            return turn.tell(Severity::Warning, reason.to_string());
        }
        let name = Arc::clone(&hit.name);
        let Some(detail) = self.detail() else {
            turn.tell(Severity::Info, "What is known of the probe is being read: press again");
            return turn.out(Effect::Describe(name));
        };
        let taken = several::taken(self, detail);
        let answers: Result<Vec<String>, String> = taken.iter().map(|d| questions::clauses(question, d)).collect();
        let answer = answers.map(|clauses| clauses.join("\n"));
        let language = turn.document.language();
        match answer {
            Ok(text) if language.clause(&name, &text).as_ref() == Some(&text) => insert(turn, &taken, &text),
            Ok(_) => {
                let text = format!("These clauses are in bpftrace's language, the script is in {}", language.name());
                turn.tell(Severity::Warning, text);
            }
            Err(why) => turn.tell(Severity::Warning, why),
        }
    }
}

fn insert(turn: &mut Turn<&Data>, taken: &[Detail], clause: &str) {
    match scope::within(turn.scope.as_ref(), turn.document.language(), clause) {
        Ok(text) => {
            turn.leave();
            turn.focus_on(SCRIPT);
            turn.change(Change::Insert(text));
            turn.ask(Ask::Use(taken.iter().map(|detail| Arc::clone(&detail.name)).collect()));
        }
        Err(why) => turn.tell(Severity::Warning, why),
    }
}

impl Layer for Browser {
    fn scope(&self) -> Scope {
        Scope::Browser
    }

    fn takes_text(&self) -> bool {
        true
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, _body: Rect) {
        if let Action::Edit(Edit::Insert(c @ ('/' | '*'))) = action
            && self.by_slash
            && self.input.text().is_empty()
        {
            turn.leave();
            return turn.change(Change::Paste(format!("/{c}")));
        }
        let page = usize::from(turn.size.1).saturating_sub(10).max(1) as isize;
        match action {
            Action::Edit(edit) => {
                if self.input.edit(edit) {
                    self.search(turn);
                }
            }
            Action::Extend(Go::Down) => {
                // Those that are in sight at once need no scrolling.
                let fields = self.detail().map_or(0, |d| d.fields.len()) as isize;
                let last = (fields - (page - ABOVE_FIELDS).max(1)).max(0) as usize;
                self.detail_top = (self.detail_top + 3).min(last);
            }
            Action::Extend(_) => self.detail_top = self.detail_top.saturating_sub(3),
            Action::Go(Go::Up) => Self::out(self.go(-1), turn),
            Action::Go(Go::Down) => Self::out(self.go(1), turn),
            Action::Go(Go::PageUp) => Self::out(self.go(-page), turn),
            Action::Go(Go::PageDown) => Self::out(self.go(page), turn),
            Action::Go(go) => {
                self.input.go(*go);
            }
            Action::Accept => self.accept(turn),
            _ => {
                if let Some(intent) = Intent::of(action) {
                    self.own(intent, turn);
                }
            }
        }
    }

    fn answered(&mut self, message: &Message, turn: &mut Turn<&Data>, is_first: bool) {
        match message {
            Message::Found(found) => self.found(found.clone(), turn),
            Message::Described(detail) => self.described(detail.clone(), turn),
            Message::Xray { made: Ok(_), .. } => xray::made(self, turn),
            Message::Inspected(answer) if is_first => scope::told(answer, turn),
            _ => {}
        }
    }

    fn press(&mut self, at: (u16, u16), turn: &mut Turn<&Data>, body: Rect) -> Option<Action> {
        match spot_at(self, body, at) {
            None => Some(Action::Cancel),
            Some(Spot::Result(index)) if index == self.selected => Some(Action::Accept),
            Some(Spot::Result(index)) => {
                self.selected = index;
                self.chosen = true;
                Self::out(self.describe(), turn);
                None
            }
            Some(_) => None,
        }
    }

    fn wheel(&self, go: Go, at: (u16, u16), body: Rect) -> Action {
        if spot_at(self, body, at) == Some(Spot::Details) { Action::Extend(go) } else { Action::Go(go) }
    }

    fn draw(&self, data: &Data, buf: &mut Buffer, body: Rect) {
        draw::draw(data, self, buf, body);
    }
}
