//! One kind of probe at a time: the provider before what is typed.

use super::state::Browser;
use crate::probe::point::Provider;
use crate::tui::base::input::Input;

/// In the order in which they are shown.
const KINDS: [&str; 8] = ["tracepoint", "rawtracepoint", "kprobe", "kretprobe", "fentry", "fexit", "software", "iter"];

/// Puts the next kind before what is typed.
pub fn next(browser: &mut Browser) {
    browser.input = Input::new(&after(browser.input.text()));
}

fn after(typed: &str) -> String {
    let (kind, rest) = match typed.split_once(':').and_then(|(word, rest)| Some((Provider::find(word.trim())?, rest))) {
        Some((provider, rest)) => (Some(provider.name), rest),
        None => (None, typed),
    };
    let at = kind.map(|kind| KINDS.iter().position(|k| *k == kind));
    let next = match at {
        None => Some(KINDS[0]),
        Some(Some(at)) => KINDS.get(at + 1).copied(),
        // User probes name a file behind their kind, which means nothing to others.
        Some(None) => return typed.to_owned(),
    };
    next.map_or_else(|| rest.to_owned(), |kind| format!("{kind}:{rest}"))
}

#[cfg(test)]
mod tests {
    use super::after;

    #[test]
    fn kinds_follow_one_another_and_then_come_all() {
        assert_eq!(after("open"), "tracepoint:open");
        assert_eq!(after("t:open"), "rawtracepoint:open");
        assert_eq!(after("kprobe:vfs_*"), "kretprobe:vfs_*");
        assert_eq!(after("iter:"), "");
        assert_eq!(after("uprobe:/bin/sh:main"), "uprobe:/bin/sh:main");
    }
}
