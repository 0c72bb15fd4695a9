//! Fields of probe descriptions, which are patterns as the shell has them: `*`, `?`, `[a-z]`, `[!a-z]`, and `\` before a
//! character that stands for itself (`gmatch` in the reference).

use std::borrow::Cow;

use crate::probe::glob::Glob;

/// Whether a field of a description names something.
pub fn fits(pattern: &str, text: &str) -> bool {
    if is_plain(pattern) {
        return pattern == "*" || Glob::new(pattern).matches(text);
    }
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut read) = (0, 0);
    // Where the last `*` stands, and what it takes so far: a mismatch behind it is tried again with one character more.
    let mut star = None;
    loop {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at + 1, read));
                at += 1;
                continue;
            }
            None if read == text.len() => return true,
            _ => {}
        }
        let taken = text.get(read).and_then(|c| takes(pattern.get(at..)?, *c));
        if let Some(taken) = taken {
            (at, read) = (at + taken, read + 1);
            continue;
        }
        match star {
            Some((behind, taken)) if taken < text.len() => {
                star = Some((behind, taken + 1));
                (at, read) = (behind, taken + 1);
            }
            _ => return false,
        }
    }
}

/// A pattern of `*` alone that fits whatever this one does, and more: where a list is asked for by such patterns.
pub fn widened(pattern: &str) -> Cow<'_, str> {
    if is_plain(pattern) {
        return Cow::Borrowed(pattern);
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let (mut wide, mut at) = (String::new(), 0);
    while let Some(rest) = pattern.get(at..).filter(|rest| !rest.is_empty()) {
        let own = match rest {
            ['\\', c, ..] if *c != '*' => *c,
            ['?' | '[' | '*' | '\\', ..] => '*',
            [c, ..] => *c,
            [] => break,
        };
        if own != '*' || !wide.ends_with('*') {
            wide.push(own);
        }
        at += length(rest);
    }
    Cow::Owned(wide)
}

/// Whether something that was found by the [`widened`] pattern fits this one, too.
pub fn chosen(pattern: &str, found: &str) -> bool {
    is_plain(pattern) || fits(pattern, found)
}

fn is_plain(pattern: &str) -> bool {
    !pattern.contains(['?', '[', '\\'])
}

/// How long the part of a pattern is that stands for one character.
fn length(pattern: &[char]) -> usize {
    match pattern {
        ['\\', _, ..] => 2,
        ['[', rest @ ..] => rest.iter().skip(1).position(|c| *c == ']').map_or(1, |end| end + 3),
        _ => 1,
    }
}

/// The length of a pattern's first part when that takes a character.
fn takes(pattern: &[char], c: char) -> Option<usize> {
    let length = length(pattern);
    let fits = match pattern {
        ['\\', own, ..] => *own == c,
        ['?', ..] => true,
        ['[', '!', ..] if length > 3 => !is_in(&pattern[2..length - 1], c),
        ['[', ..] if length > 1 => is_in(&pattern[1..length - 1], c),
        [own, ..] => *own == c,
        [] => false,
    };
    fits.then_some(length)
}

/// Whether a class, `a-z_`, has a character.
fn is_in(class: &[char], c: char) -> bool {
    let mut rest = class;
    while let [first, behind @ ..] = rest {
        let (last, behind) = match behind {
            ['-', last, behind @ ..] => (last, behind),
            _ => (first, behind),
        };
        if (*first..=*last).contains(&c) {
            return true;
        }
        rest = behind;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_the_shell() {
        for (pattern, text, right) in [
            ("*", "", true),
            ("re*d", "read", true),
            ("r?ad", "read", true),
            ("r?ad", "rad", false),
            ("[rw]*", "write", true),
            ("[rw]*", "open", false),
            ("[!rw]*", "open", true),
            ("[!rw]*", "read", false),
            ("*[0-9][0-9]", "pread64", true),
            ("*[0-9][0-9]", "pread6", false),
            ("[]x]", "]", true),
            ("a[b", "a[b", true),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
            ("?*a*b?", "xaabbb", true),
            ("?", "", false),
        ] {
            assert_eq!(fits(pattern, text), right, "{pattern} {text}");
            assert!(!right || fits(&widened(pattern), text), "{pattern}: {}", widened(pattern));
        }
        assert_eq!(widened("[rw]?*x[0-9]"), "*x*");
    }
}
