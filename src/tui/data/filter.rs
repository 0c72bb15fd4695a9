//! Which lines pass a filter.

/// A filter taken apart: words that must all be in the line or the name of its probe, in any order.
/// A word with a capital
/// matters as written, others match in any case; `-word` must not be there; `~word`'s letters must
/// be there in their order.
pub(crate) struct Terms<'a> {
    terms: Vec<(Kind, &'a str, bool)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Has,
    Lacks,
    Fuzzy,
}

impl<'a> Terms<'a> {
    pub(crate) fn new(filter: &'a str) -> Self {
        let term = |word: &'a str| {
            let (kind, rest) = match word.split_at_checked(1) {
                Some(("-", rest)) if !rest.is_empty() => (Kind::Lacks, rest),
                Some(("~", rest)) if !rest.is_empty() => (Kind::Fuzzy, rest),
                _ => (Kind::Has, word),
            };
            (kind, rest, rest.chars().any(char::is_uppercase))
        };
        Self { terms: filter.split_whitespace().map(term).collect() }
    }

    /// Whether a line passes.
    pub(crate) fn pass(&self, probe: &str, line: &str) -> bool {
        self.terms.iter().all(|(kind, word, exact)| match kind {
            Kind::Fuzzy => in_order(line, word, *exact),
            kind => {
                let found = find(line, word, *exact).or_else(|| find(probe, word, *exact));
                found.is_some() == (*kind == Kind::Has)
            }
        })
    }
}

fn in_order(line: &str, word: &str, exact: bool) -> bool {
    let mut letters = line.chars();
    word.chars().all(|w| letters.any(|c| c == w || (!exact && c.eq_ignore_ascii_case(&w))))
}

/// First place of `word` in `line`, by bytes; ASCII letters in any case unless `exact`.
fn find(line: &str, word: &str, exact: bool) -> Option<usize> {
    if exact {
        return memchr::memmem::find(line.as_bytes(), word.as_bytes());
    }
    line.as_bytes().windows(word.len().max(1)).position(|w| w.eq_ignore_ascii_case(word.as_bytes()))
}

/// Places in `line` that the filter's words match, as byte ranges; for highlighting.
#[must_use]
pub fn matches(filter: &str, line: &str) -> Vec<std::ops::Range<usize>> {
    let terms = Terms::new(filter);
    let found = terms.terms.iter().filter(|(k, ..)| *k == Kind::Has);
    let mut out: Vec<_> = found.filter_map(|(_, w, e)| find(line, w, *e).map(|at| at..at + w.len())).collect();
    out.sort_by_key(|r| r.start);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_in_any_order_and_may_be_refused() {
        let passes = |filter: &str, line: &str| Terms::new(filter).pass("kprobe:a", line);
        assert!(passes("open -tmp", "open /etc/passwd") && passes("etc open", "reopen /etc"));
        assert!(!passes("open -tmp", "Open /tmp") && passes("open", "Open /tmp"), "any case");
        assert!(passes("Open", "Open /tmp") && !passes("Open", "open"), "capitals matter as written");
        assert!(passes("~oetc", "open /etc/passwd") && !passes("~oetc", "close"));
        assert!(passes("probe:a", "x") && !passes("-probe:a", "x"), "probes are looked at, too");
    }
}
