//! Several probes at once.

use std::sync::Arc;

use super::state::Browser;
use crate::lang::diagnostic::Severity;
use crate::tui::data::Data;
use crate::tui::data::effect::Detail;
use crate::tui::pane::Turn;

/// Probes that are taken together at most.
const MOST: usize = 64;

/// Marks the chosen probe, or takes the mark back, and goes on to the next one.
pub fn choose(browser: &mut Browser, turn: &mut Turn<&Data>) {
    let Some(hit) = browser.hit() else { return };
    let (name, absent) = (Arc::clone(&hit.name), hit.absent.clone());
    if let Some(at) = browser.marked.iter().position(|detail| detail.name == name) {
        browser.marked.remove(at);
    } else {
        let refusal = match (absent, browser.detail()) {
            (Some(reason), _) => Some(reason.to_string()),
            (None, None) => Some("What is known of the probe is being read: press again".to_owned()),
            (None, Some(_)) if browser.marked.len() >= MOST => Some(format!("{MOST} probes are chosen already")),
            (None, Some(detail)) => {
                let detail = detail.clone();
                browser.marked.push(detail);
                None
            }
        };
        if let Some(why) = refusal {
            return turn.tell(Severity::Info, why);
        }
    }
    browser.go(1).into_iter().for_each(|effect| turn.out(effect));
}

/// The probes that an action is for: those that are marked, else the chosen one.
#[must_use]
pub fn taken(browser: &Browser, chosen: &Detail) -> Vec<Detail> {
    if browser.marked.is_empty() { vec![chosen.clone()] } else { browser.marked.clone() }
}
