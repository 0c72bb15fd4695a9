//! Several probes at once, favourites, and what is remembered of them.

use std::sync::Arc;

use super::state::Browser;
use crate::lang::diagnostic::Severity;
use crate::tui::effect::{Detail, Effect};
use crate::tui::state::{Layer, State};

/// Probes that are taken together at most.
const MOST: usize = 64;

/// Marks the chosen probe, or takes the mark back, and goes on to the next one.
pub fn choose(state: &mut State) -> Vec<Effect> {
    let Some(Layer::Browser(browser)) = state.layers.last_mut() else { return Vec::new() };
    let Some(hit) = browser.hit() else { return Vec::new() };
    let (name, absent) = (Arc::clone(&hit.name), hit.absent.clone());
    if let Some(at) = browser.marked.iter().position(|detail| detail.name == name) {
        browser.marked.remove(at);
        return browser.go(1);
    }
    let refusal = match (absent, browser.detail()) {
        (Some(reason), _) => reason.to_string(),
        (None, None) => "What is known of the probe is being read: press again".to_owned(),
        (None, Some(_)) if browser.marked.len() >= MOST => format!("{MOST} probes are chosen already"),
        (None, Some(detail)) => {
            let detail = detail.clone();
            browser.marked.push(detail);
            return browser.go(1);
        }
    };
    state.tell(Severity::Info, refusal);
    Vec::new()
}

/// The probes that an action is for: those that are marked, else the chosen one.
#[must_use]
pub fn taken(browser: &Browser, chosen: &Detail) -> Vec<Detail> {
    if browser.marked.is_empty() { vec![chosen.clone()] } else { browser.marked.clone() }
}

/// Turns the mark of a favourite.
pub fn favourite(state: &mut State) -> Vec<Effect> {
    let Some(Layer::Browser(browser)) = state.layers.last() else { return Vec::new() };
    let Some(name) = browser.hit().map(|hit| Arc::clone(&hit.name)) else { return Vec::new() };
    let text = if state.used.turn(&name) { "The browser begins with" } else { "No favourite any more:" };
    state.tell(Severity::Info, format!("{text} {name}"));
    keep(state)
}

/// Keeps what is remembered of probes.
pub fn keep(state: &State) -> Vec<Effect> {
    let keep = |path: &std::path::PathBuf| Effect::Remember {
        what: "Used probes are",
        path: path.clone(),
        text: state.used.text(),
    };
    state.used.path.as_ref().map(keep).into_iter().collect()
}
