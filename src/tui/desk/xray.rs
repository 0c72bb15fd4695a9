//! An X-ray that was made runs.

use crate::lang::diagnostic::Severity;
use crate::model::budget::Budget;
use crate::probe::xray::Xray;
use crate::tui::base::action::{Action, App};
use crate::tui::data::effect::Effect;
use crate::tui::desk::state::State;
use crate::tui::desk::update::{guard, library};
use crate::tui::pane::Ask;
use crate::tui::panes::xray::KIND;

/// Runs it, in a tab of its own beside other work, and shows its rows.
pub fn run(state: &mut State, pattern: &str, made: Result<Xray, String>) -> Vec<Effect> {
    let made = match made {
        Ok(made) => made,
        Err(why) => {
            state.tell(Severity::Warning, why);
            return Vec::new();
        }
    };
    let plain: String = pattern.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect();
    if !library::new_tab(state, &format!("xray-{plain}"), &made.script) {
        return Vec::new();
    }
    state.toast = None;
    let effects = within_budget(state);
    state.asks.push(Ask::Act(Action::App(App::RunUnsaved)));
    state.focus_on(KIND);
    if let Some(note) = made.note {
        state.asks.push(Ask::Tell(Severity::Warning, note));
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
    use crate::tui::data::document::File;
    use crate::tui::data::effect::Message;
    use crate::tui::desk::update::receive;

    #[test]
    fn it_keeps_a_smaller_budget_unless_the_user_has_chosen_one() {
        let made = || Ok(Xray { script: "kprobe:tcp_* { @calls[func] = count(); }".into(), functions: 2, note: None });
        let made = || Message::Xray { pattern: "tcp_*".into(), made: made() };
        let mut state = State::new("", File::default(), Vec::new(), (100, 30));
        let effects = receive(&mut state, made());
        assert!(matches!(effects[..], [Effect::Limit { budget: Some(Budget::OF_MANY), .. }, ..]), "{effects:?}");
        assert_eq!(state.budget, Some(Budget::DEFAULT), "other scripts keep theirs");
        assert!(state.documents().filter(|d| d.budget.is_some()).count() == 1);
        state = State::new("", File::default(), Vec::new(), (100, 30));
        state.budget = None;
        let effects = receive(&mut state, made());
        assert!(!effects.iter().any(|e| matches!(e, Effect::Limit { .. })) && state.budget.is_none(), "{effects:?}");
    }
}
