//! "Did you mean": the closest known name by edit distance.

use crate::lang::diagnostic::{Diagnostic, Fix};
use crate::lang::source::{SourceText, Span};

/// Names that are compared: a script with more of one kind was written by no hand.
const MOST_CANDIDATES: usize = 1000;

/// The candidate closest to `name`, when it is close enough to be meant.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let limit = (name.chars().count() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().take(MOST_CANDIDATES) {
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
    ("None", "an address is compared with 0: `$p == 0`, or `if ($p)`"),
    ("aggregate", "maps aggregate: `@[comm] = count()`"),
    ("auto", "variables need no type: `$x = 5`"),
    ("bpf_get_current_comm", "the name of the process is `comm`"),
    ("bpf_get_current_pid_tgid", "the process is `pid`, the thread `tid`"),
    ("bpf_ktime_get_ns", "the time in nanoseconds is `nsecs`"),
    ("bpf_printk", "text is printed by `printf(...)`"),
    ("caller", "callers are in `kstack` and `ustack`; the function itself is `func`"),
    ("case", "there is no switch: write `if ... else if ... else`"),
    ("char", "variables need no type: `$x = 5`"),
    ("copyin", "memory is read through a pointer: `*(uint64 *)address`, or `buf(address, length)`"),
    ("copyinstr", "text at an address is read by `str(...)`"),
    ("curlwpsinfo", "the task that runs is `curtask`"),
    ("curproc", "the task that runs is `curtask`, its process `pid`, its name `comm`"),
    ("curpsinfo", "the task that runs is `curtask`: `curtask.comm`"),
    ("curthread", "the task that runs is `curtask`, its number `tid`"),
    ("do", "there is no `do`: write `while (condition) { ... }`"),
    ("double", "there are no fractions: scale the value and use an integer"),
    ("echo", "text is printed by `printf(...)`"),
    ("elif", "did you mean `else if`?"),
    ("elsif", "did you mean `else if`?"),
    (
        "errno",
        "what a call returned is `retval`, or `args.ret` at a tracepoint; `strerror(-args.ret)` says it in words",
    ),
    ("esle", "did you mean `else`?"),
    ("execname", "the name of the process is `comm`"),
    ("float", "there are no fractions: scale the value and use an integer"),
    ("foreach", "write `for ($kv : @map) { ... }` or `for ($i : 0..10) { ... }`"),
    ("get_current_pid_tgid", "the process is `pid`, the thread `tid`"),
    ("goto", "there is no `goto`: write `if` and `while`"),
    ("htonl", "bytes are turned round by `bswap(n)`"),
    ("htons", "bytes are turned round by `bswap(n)`"),
    ("int", "variables need no type: `$x = 5`"),
    ("length", "the length of text is `strlen(s)`, the number of a map's entries `len(@map)`"),
    ("long", "variables need no type: `$x = 5`"),
    ("loop", "write `for ($i : 0..10) { ... }` or `while (condition) { ... }`"),
    ("lquantize", "linear histograms are made by `lhist(n, min, max, step)`"),
    ("nil", "an address is compared with 0: `$p == 0`, or `if ($p)`"),
    ("now", "the time in nanoseconds is `nsecs`"),
    ("ntohl", "bytes are turned round by `bswap(n)`"),
    ("ntohs", "bytes are turned round by `bswap(n)`"),
    ("null", "an address is compared with 0: `$p == 0`, or `if ($p)`"),
    ("print_map", "maps are printed by `print(@map)`"),
    ("printa", "maps are printed by `print(@map)`"),
    ("printk", "text is printed by `printf(...)`"),
    ("println", "text is printed by `printf(...)`"),
    ("probefunc", "the name of the function is `func`"),
    ("probemod", "the full name of the probe is `probe`"),
    ("probename", "the full name of the probe is `probe`"),
    ("probeprov", "the full name of the probe is `probe`"),
    ("process_name", "the name of the process is `comm`"),
    ("procname", "the name of the process is `comm`"),
    ("puts", "text is printed by `printf(...)`"),
    ("quantize", "histograms are made by `hist(n)`"),
    ("repeat", "write `for ($i : 0..10) { ... }` or `unroll(5) { ... }`"),
    ("ret", "what a function returned is `retval`, what a system call did `args.ret`"),
    ("self", "thread-local values are kept in maps: `@x[tid]`"),
    ("short", "variables need no type: `$x = 5`"),
    ("signed", "variables need no type: `$x = 5`"),
    ("size_t", "variables need no type: `$x = 5`"),
    ("sprintf", "texts are joined by `str_concat(a, b)`; `printf(...)` formats"),
    ("stack", "stacks are `kstack` and `ustack`"),
    ("stackdepth", "frames are counted by `len(kstack)`"),
    ("strcasecmp", "texts are compared by `==`"),
    ("strcmp", "texts are compared by `==`"),
    ("string", "variables need no type: `$x = 5`"),
    ("stringof", "text at an address is read by `str(...)`"),
    ("strjoin", "texts are joined by `str_concat(a, b)`"),
    ("switch", "there is no switch: write `if ... else if ... else`"),
    ("then", "bodies stand in braces: `if (condition) { ... }`"),
    ("this", "values of one firing are kept in scratch variables: `$x`"),
    ("timestamp", "the time in nanoseconds is `nsecs`"),
    ("tostring", "`printf` and map keys take numbers as they are"),
    ("trace", "values are printed by `print(...)`"),
    ("unsigned", "variables need no type: `$x = 5`"),
    ("ustackdepth", "frames are counted by `len(ustack)`"),
    ("var", "declare scratch variables as `let $x = value;`"),
    ("vtimestamp", "the time in nanoseconds is `nsecs`"),
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
        // `$name` where only `name` was written is meant, however short it is.
        let bare = name.trim_start_matches(['$', '@']).trim_start_matches("args.");
        let close = |length: &usize| there[..*length] == *bare || closest(&there[..*length], [name]).is_some();
        if let Some(length) = [there.len(), word].into_iter().find(close) {
            let end = span.start + u32::try_from(length).unwrap_or(0);
            diagnostic.fix = Some(Fix { span: Span::new(span.start, end), replacement: name.to_owned() });
        }
    }
    diagnostic
}

/// Edits (insert, remove, replace, swap neighbours) that turn one name into the other; case is free.
fn distance(a: &str, b: &str) -> usize {
    let plain = |name: &str| name.chars().take(64).flat_map(char::to_lowercase).collect::<String>();
    strsim::osa_distance(&plain(a), &plain(b))
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
