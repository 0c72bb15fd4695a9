//! From the probe browser to an X-ray that runs.

use super::KIND;
use crate::lang::diagnostic::Severity;
use crate::probe::xray::Xray;
use crate::tui::action::App;
use crate::tui::effect::Effect;
use crate::tui::panes::browser::state::Browser;
use crate::tui::state::{Layer, State};
use crate::tui::update::library;

/// Asks for the X-ray of what is searched for.
pub fn of_browser(state: &mut State) -> Vec<Effect> {
    let Some(Layer::Browser(browser)) = state.layers.last() else { return Vec::new() };
    if let Some(pattern) = pattern(browser) {
        return vec![Effect::Xray(pattern)];
    }
    state.tell(Severity::Info, "Type a pattern of functions, such as tcp_*, or choose one");
    Vec::new()
}

/// What was typed where it is a pattern or begins the chosen function's name, else that function.
fn pattern(browser: &Browser) -> Option<String> {
    let typed = browser.input.text().trim();
    if typed.contains('*') {
        return Some(typed.to_owned());
    }
    let name = &browser.hit()?.name;
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
    state.layers.retain(|layer| !matches!(layer, Layer::Browser(_)));
    let plain: String = pattern.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect();
    if !library::new_tab(state, &format!("xray-{plain}"), &made.script) {
        return Vec::new();
    }
    state.toast = None;
    let effects = crate::tui::update::app::act(state, App::RunUnsaved);
    state.focus_on(KIND);
    if let Some(note) = made.note {
        state.tell(Severity::Warning, note);
    }
    effects
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(of("", "kprobe:tcp_sendmsg").as_deref(), Some("kprobe:tcp_sendmsg"));
    }
}
