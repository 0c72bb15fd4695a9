//! The probe browser: searching, describing, inserting.

use std::sync::Arc;

use crate::lang::diagnostic::Severity;
use crate::tui::action::{Action, Edit, Go};
use crate::tui::effect::{Detail, Effect, Found};
use crate::tui::input::Input;
use crate::tui::inspector::Inspect;
use crate::tui::panes::browser::keys::Intent;
use crate::tui::panes::browser::state::Browser;
use crate::tui::panes::browser::{heat, kinds, questions, scope, several};
use crate::tui::panes::{lens, xray};
use crate::tui::state::{Layer, State};

/// Opens the browser.
pub fn open(state: &mut State, by_slash: bool) -> Vec<Effect> {
    if matches!(state.layers.last(), Some(Layer::Browser(_))) {
        return Vec::new();
    }
    state.layers.push(Layer::Browser(Box::new(Browser { by_slash, ..Browser::default() })));
    let mut effects = search(state);
    // Who else traces what is chosen.
    if state.disabled.is_none() && !state.loaded.is_watched {
        effects.push(Effect::Inspect(Inspect::Once));
    }
    effects
}

fn search(state: &mut State) -> Vec<Effect> {
    state.search += 1;
    let generation = state.search;
    let Some(Layer::Browser(browser)) = state.layers.last_mut() else { return Vec::new() };
    browser.awaited = generation;
    browser.accept_next = false;
    vec![Effect::Search { query: browser.input.text().to_owned(), generation }]
}

fn current(state: &mut State) -> Option<&mut Browser> {
    state.layers.iter_mut().find_map(|l| if let Layer::Browser(b) = l { Some(&mut **b) } else { None })
}

/// Takes results in.
pub fn found(state: &mut State, mut found: Found) -> Vec<Effect> {
    if current(state).is_some_and(|browser| browser.input.text().trim().is_empty()) {
        state.used.lead(&mut found.hits);
    }
    let Some(browser) = current(state) else { return Vec::new() };
    let effects = browser.take(found);
    let is_known = browser.hit().is_some_and(|hit| hit.leads || hit.absent.is_some()) || browser.detail().is_some();
    if browser.accept_next && is_known && !browser.is_stale() {
        return accept(state);
    }
    effects
}

/// Takes the description of a probe in.
pub fn described(state: &mut State, detail: Detail) -> Vec<Effect> {
    let Some(browser) = current(state) else { return Vec::new() };
    browser.detail = Some(detail);
    if browser.accept_next && browser.detail().is_some() {
        return accept(state);
    }
    Vec::new()
}

/// Rows that what stands above a probe's fields takes at most, as a rule.
const ABOVE_FIELDS: isize = 6;

/// Applies an intent in the browser.
pub fn act(state: &mut State, action: &Action) -> Vec<Effect> {
    if let Action::Edit(Edit::Insert(c @ ('/' | '*'))) = action
        && starts_comment(state)
    {
        state.layers.pop();
        state.document.editor.edit(&Edit::Paste(format!("/{c}")));
        return Vec::new();
    }
    let page = usize::from(state.size.1).saturating_sub(10).max(1) as isize;
    let Some(Layer::Browser(browser)) = state.layers.last_mut() else { return Vec::new() };
    match action {
        Action::Edit(edit) => {
            if browser.input.edit(edit) {
                return search(state);
            }
            Vec::new()
        }
        Action::Extend(Go::Down) => {
            // Those that are in sight at once need no scrolling.
            let fields = browser.detail().map_or(0, |d| d.fields.len()) as isize;
            let last = (fields - (page - ABOVE_FIELDS).max(1)).max(0) as usize;
            browser.detail_top = (browser.detail_top + 3).min(last);
            Vec::new()
        }
        Action::Extend(_) => {
            browser.detail_top = browser.detail_top.saturating_sub(3);
            Vec::new()
        }
        Action::Go(Go::Up) => browser.go(-1),
        Action::Go(Go::Down) => browser.go(1),
        Action::Go(Go::PageUp) => browser.go(-page),
        Action::Go(Go::PageDown) => browser.go(page),
        Action::Go(go) => {
            browser.input.go(*go);
            Vec::new()
        }
        Action::Accept => accept(state),
        _ => Intent::of(action).map_or_else(Vec::new, |intent| own(state, intent)),
    }
}

fn own(state: &mut State, intent: Intent) -> Vec<Effect> {
    match intent {
        Intent::Kind => {
            if let Some(browser) = current(state) {
                kinds::next(browser);
            }
            search(state)
        }
        Intent::ChooseSeveral => several::choose(state),
        Intent::Favourite => several::favourite(state),
        Intent::Scope => scope::ask(),
        Intent::Hits => heat::ask(state),
        Intent::XRay => xray::open::of_browser(state),
        Intent::Lens => lens::update::of_browser(state),
        Intent::Count
        | Intent::Arguments
        | Intent::Distribution
        | Intent::Latency
        | Intent::Slower
        | Intent::Stacks => ask(state, intent),
    }
}

fn starts_comment(state: &State) -> bool {
    matches!(state.layers.last(), Some(Layer::Browser(b)) if b.by_slash && b.input.text().is_empty())
}

/// Inserts a clause for the selected probe, as soon as it is known.
fn accept(state: &mut State) -> Vec<Effect> {
    let Some(Layer::Browser(browser)) = state.layers.last_mut() else { return Vec::new() };
    // What is in sight fits an older query.
    if browser.is_stale() {
        browser.accept_next = true;
        return Vec::new();
    }
    browser.accept_next = false;
    let Some(hit) = browser.hit() else { return Vec::new() };
    if hit.leads {
        browser.input = Input::new(&hit.name);
        return search(state);
    }
    if let Some(reason) = hit.absent.clone() {
        state.tell(Severity::Warning, reason.to_string());
        return Vec::new();
    }
    let Some(detail) = browser.detail() else {
        let name = Arc::clone(&hit.name);
        browser.accept_next = true;
        return vec![Effect::Describe(name)];
    };
    let taken = several::taken(browser, detail);
    let language = state.document.language();
    let mut clauses = Vec::new();
    for detail in &taken {
        let Some(clause) = language.clause(&detail.name, &detail.skeleton) else {
            let (language, name) = (language.name(), &detail.name);
            let text = format!("{language} has no name for {name}: a script of another language can trace it");
            state.tell(Severity::Warning, text);
            return Vec::new();
        };
        clauses.push(clause);
    }
    insert(state, &taken, &clauses.join("\n"))
}

/// Inserts the clauses that answer a question about the selected probe.
fn ask(state: &mut State, question: Intent) -> Vec<Effect> {
    let Some(Layer::Browser(browser)) = state.layers.last_mut() else { return Vec::new() };
    if browser.is_stale() {
        state.tell(Severity::Info, "What fits is being searched: press again");
        return Vec::new();
    }
    let Some(hit) = browser.hit() else { return Vec::new() };
    let (name, absent) = (Arc::clone(&hit.name), hit.absent.clone());
    if let Some(reason) = absent {
        state.tell(Severity::Warning, reason.to_string());
        return Vec::new();
    }
    let Some(detail) = browser.detail() else {
        state.tell(Severity::Info, "What is known of the probe is being read: press again");
        return vec![Effect::Describe(name)];
    };
    let taken = several::taken(browser, detail);
    let answers: Result<Vec<String>, String> = taken.iter().map(|d| questions::clauses(question, d)).collect();
    let answer = answers.map(|clauses| clauses.join("\n"));
    let language = state.document.language();
    match answer {
        Ok(text) if language.clause(&name, &text).as_ref() == Some(&text) => insert(state, &taken, &text),
        Ok(_) => {
            let text = format!("These clauses are in bpftrace's language, the script is in {}", language.name());
            state.tell(Severity::Warning, text);
            Vec::new()
        }
        Err(why) => {
            state.tell(Severity::Warning, why);
            Vec::new()
        }
    }
}

fn insert(state: &mut State, taken: &[Detail], clause: &str) -> Vec<Effect> {
    let text = match scope::within(state.scope.as_ref(), state.document.language(), clause) {
        Ok(text) => text,
        Err(why) => {
            state.tell(Severity::Warning, why);
            return Vec::new();
        }
    };
    state.layers.pop();
    state.focus_on(crate::tui::panes::editor::KIND);
    state.document.editor.insert_clause(&text);
    taken.iter().for_each(|detail| state.used.take(&detail.name));
    several::keep(state)
}
