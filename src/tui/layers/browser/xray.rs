//! From the probe browser to an X-ray.

use super::state::Browser;
use crate::lang::diagnostic::Severity;
use crate::tui::data::Data;
use crate::tui::data::effect::Effect;
use crate::tui::pane::{Ask, Turn};

/// Asks for the X-ray of what is searched for.
pub fn ask(browser: &mut Browser, turn: &mut Turn<&Data>) {
    let Some(pattern) = pattern(browser) else {
        return turn.tell(Severity::Info, "Type a pattern of functions, such as tcp_*, or choose one");
    };
    browser.not_xrayed = browser.found.hits.iter().any(|hit| !is_function(&hit.name));
    turn.out(Effect::Xray(pattern));
}

/// It was made, and runs: what stands in front of its rows is closed.
pub fn made(browser: &Browser, turn: &mut Turn<&Data>) {
    turn.ask(Ask::LeaveAll);
    if browser.not_xrayed {
        turn.mention(Severity::Info, "Only functions are X-rayed: the other probes that were found are left out");
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::base::input::Input;
    use crate::tui::data::effect::{Found, Hit};

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
}
