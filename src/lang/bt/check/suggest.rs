//! "Did you mean": the closest known name by edit distance.

use crate::lang::diagnostic::{Diagnostic, Fix};
use crate::lang::source::{SourceText, Span};

/// The candidate closest to `name`, when it is close enough to be meant.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let limit = (name.chars().count() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == name || candidate.len().abs_diff(name.len()) > limit + 1 {
            continue;
        }
        let distance = distance(name, candidate);
        if distance <= limit && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, c)| c.to_owned())
}

/// Help text for a misspelt name, or none.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(name, candidates).map(|c| format!("did you mean `{c}`?"))
}

/// Words of C and of DTrace's D, and of this language where they are misspelt, with what stands for them here.
const OTHERS: &[(&str, &str)] = &[
    ("NULL", "an address is compared with 0: `$p == 0`, or `if ($p)`"),
    ("aggregate", "maps aggregate: `@[comm] = count()`"),
    ("char", "variables need no type: `$x = 5`"),
    ("elif", "did you mean `else if`?"),
    ("elsif", "did you mean `else if`?"),
    ("esle", "did you mean `else`?"),
    ("execname", "the name of the process is `comm`"),
    ("foreach", "write `for ($kv : @map) { ... }` or `for ($i : 0..10) { ... }`"),
    ("int", "variables need no type: `$x = 5`"),
    ("long", "variables need no type: `$x = 5`"),
    ("lquantize", "linear histograms are made by `lhist(n, min, max, step)`"),
    ("null", "an address is compared with 0: `$p == 0`, or `if ($p)`"),
    ("printa", "maps are printed by `print(@map)`"),
    ("printk", "text is printed by `printf(...)`"),
    ("probefunc", "the name of the function is `func`"),
    ("quantize", "histograms are made by `hist(n)`"),
    ("self", "thread-local values are kept in maps: `@x[tid]`"),
    ("stack", "stacks are `kstack` and `ustack`"),
    ("stringof", "text at an address is read by `str(...)`"),
    ("timestamp", "the time in nanoseconds is `nsecs`"),
    ("trace", "values are printed by `print(...)`"),
    ("unsigned", "variables need no type: `$x = 5`"),
    ("var", "declare scratch variables as `let $x = value;`"),
    ("walltimestamp", "wall time is printed by `time()`, or by `strftime(format, nsecs)`"),
];

/// What to write in place of a word that other languages have.
pub fn of_other_languages(name: &str) -> Option<String> {
    OTHERS.iter().find(|(word, _)| *word == name).map(|(_, help)| (*help).to_owned())
}

/// Makes the one name that a help text suggests a ready repair, where the diagnostic points at the
/// misspelt name or at something that begins with it, such as a call.
pub fn with_fix(mut diagnostic: Diagnostic, source: &SourceText) -> Diagnostic {
    let name = diagnostic.help.as_deref().and_then(|h| h.strip_prefix("did you mean `")?.strip_suffix("`?"));
    let (span, there) = (diagnostic.span, source.slice(diagnostic.span));
    if let Some(name) = name.filter(|_| diagnostic.fix.is_none()) {
        let word = there.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '@' | '$'))).unwrap_or(there.len());
        let close = |length: &usize| closest(&there[..*length], [name]).is_some();
        if let Some(length) = [there.len(), word].into_iter().find(close) {
            let end = span.start + u32::try_from(length).unwrap_or(0);
            diagnostic.fix = Some(Fix { span: Span::new(span.start, end), replacement: name.to_owned() });
        }
    }
    diagnostic
}

/// Edits (insert, remove, replace, swap neighbours) that turn one name into the other; case is free.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().take(64).flat_map(char::to_lowercase).collect();
    let mut rows = vec![vec![0_usize; b.len() + 1]; a.len() + 1];
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        rows[i][0] = i;
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_letters_are_one_edit_and_far_names_are_not_offered() {
        assert_eq!(closest("pritnf", ["print", "printf", "pid"]), Some("printf".into()));
        assert_eq!(closest("filenam", ["flags", "filename"]), Some("filename".into()));
        assert_eq!(closest("zebra", ["printf", "pid"]), None);
    }
}
