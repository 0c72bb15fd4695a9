//! From the probe browser to an X-ray that runs.

use super::KIND;
use crate::lang::diagnostic::Severity;
use crate::model::budget::Budget;
use crate::probe::xray::Xray;
use crate::tui::action::App;
use crate::tui::effect::Effect;
use crate::tui::panes::browser::state::Browser;
use crate::tui::state::{Layer, State};
use crate::tui::update::{guard, library};

/// Asks for the X-ray of what is searched for.
pub fn of_browser(state: &mut State) -> Vec<Effect> {
    let Some(Layer::Browser(browser)) = state.layers.last_mut() else { return Vec::new() };
    if let Some(pattern) = pattern(browser) {
        let others = browser.found.hits.iter().filter(|hit| !is_function(&hit.name)).count();
        browser.not_xrayed = others > 0;
        return vec![Effect::Xray(pattern)];
    }
    state.tell(Severity::Info, "Type a pattern of functions, such as tcp_*, or choose one");
    Vec::new()
}

/// Whether a probe is a function that an X-ray can be of.
fn is_function(name: &str) -> bool {
    let kind = name.split(':').next().unwrap_or("");
    matches!(kind, "kprobe" | "kretprobe" | "fentry" | "fexit" | "uprobe" | "uretprobe")
}

/// What was typed where it is a pattern or begins the chosen function's name, else that function. Of probes that are no
/// functions, what was typed stands for the functions that begin so, or for the first function found.
fn pattern(browser: &Browser) -> Option<String> {
    let typed = browser.input.text().trim();
    if typed.contains('*') {
        return Some(typed.to_owned());
    }
    let chosen = &browser.hit()?.name;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = if is_function(chosen) {
        chosen
    } else if !typed.is_empty() && typed.chars().all(is_word) {
        return Some(format!("kprobe:{typed}*"));
    } else {
        // Without any function the refusal names what was chosen.
        browser.found.hits.iter().map(|hit| &hit.name).find(|name| is_function(name)).unwrap_or(chosen)
    };
    let (before, function) = name.rsplit_once(':')?;
    let begun = typed.rsplit(':').next().unwrap_or("");
    let is_begun = !begun.is_empty() && function.starts_with(begun) && function != begun;
    Some(if is_begun { format!("{before}:{begun}*") } else { name.to_string() })
}

/// Runs it, in a tab of its own beside other work, and shows its rows.
pub fn run(state: &mut State, pattern: &str, made: Result<Xray, String>) -> Vec<Effect> {
    let made = match made {
        Ok(made) => made,
        Err(why) => {
            state.tell(Severity::Warning, why);
            return Vec::new();
        }
    };
    let others_left_out = state.layers.iter().any(|layer| matches!(layer, Layer::Browser(b) if b.not_xrayed));
    state.layers.retain(|layer| !matches!(layer, Layer::Browser(_)));
    let plain: String = pattern.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect();
    if !library::new_tab(state, &format!("xray-{plain}"), &made.script) {
        return Vec::new();
    }
    state.toast = None;
    let mut effects = within_budget(state);
    effects.extend(crate::tui::update::app::act(state, App::RunUnsaved));
    state.focus_on(KIND);
    if let Some(note) = made.note {
        state.tell(Severity::Warning, note);
    } else if others_left_out {
        state.tell(Severity::Info, "Only functions are X-rayed: the other probes that were found are left out");
    }
    effects
}

/// So many functions are not to take what one script may, unless the user has chosen another budget.
fn within_budget(state: &mut State) -> Vec<Effect> {
    if state.budget != Some(Budget::DEFAULT) {
        return Vec::new();
    }
    guard::limit(state, Some(Budget::OF_MANY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::document::File;
    use crate::tui::effect::{Found, Hit};
    use crate::tui::input::Input;

    #[test]
    fn what_is_typed_is_the_pattern() {
        let of = |typed: &str, hit: &str| {
            let hits = vec![Hit { name: hit.into(), ..Hit::default() }];
            let found = Found { hits, ..Found::default() };
            pattern(&Browser { input: Input::new(typed), found, ..Browser::default() })
        };
        assert_eq!(of("tcp_*", "kprobe:tcp_sendmsg").as_deref(), Some("tcp_*"));
        assert_eq!(of("tcp_", "kprobe:tcp_sendmsg").as_deref(), Some("kprobe:tcp_*"));
        assert_eq!(of("tcpsend", "kprobe:tcp_sendmsg").as_deref(), Some("kprobe:tcp_sendmsg"));
        assert_eq!(
            of("uprobe:/lib/libc.so.6:str", "uprobe:/lib/libc.so.6:strlen").as_deref(),
            Some("uprobe:/lib/libc.so.6:str*")
        );
        assert_eq!(of("tcp_", "tracepoint:tcp:tcp_probe").as_deref(), Some("kprobe:tcp_*"), "functions only");
        assert_eq!(of("", "kprobe:tcp_sendmsg").as_deref(), Some("kprobe:tcp_sendmsg"));
    }

    #[test]
    fn it_keeps_a_smaller_budget_unless_the_user_has_chosen_one() {
        let made = || Ok(Xray { script: "kprobe:tcp_* { @calls[func] = count(); }".into(), functions: 2, note: None });
        let mut state = State::new("", File::default(), Vec::new(), (100, 30));
        let effects = run(&mut state, "tcp_*", made());
        assert!(matches!(effects[..], [Effect::Limit { budget: Some(Budget::OF_MANY), .. }, ..]), "{effects:?}");
        assert_eq!(state.budget, Some(Budget::DEFAULT), "other scripts keep theirs");
        assert!(state.documents().filter(|d| d.budget.is_some()).count() == 1);
        state = State::new("", File::default(), Vec::new(), (100, 30));
        state.budget = None;
        let effects = run(&mut state, "tcp_*", made());
        assert!(!effects.iter().any(|e| matches!(e, Effect::Limit { .. })) && state.budget.is_none(), "{effects:?}");
    }
}
