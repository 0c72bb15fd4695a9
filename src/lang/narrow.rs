//! The edit that lets a clause fire only where an argument of one of its calls has a certain value: a row of a trace
//! becomes a predicate of the script.

use super::front::FrontEnd;
use super::source::{SourceText, Span};

/// Where the parts of a clause are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClausePlace {
    /// From its first attach point to its last.
    pub probes: Span,
    /// The expression of its predicate.
    pub predicate: Option<Span>,
}

/// Why a clause can't be given a predicate by one of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NarrowError {
    /// The call stands in a function, a macro, or nowhere.
    #[error("it stands in no clause")]
    NoClause,
    /// There is no such argument.
    #[error("no argument of the call in the script is this value alone")]
    NoArgument,
    /// The value is of the clause's own making.
    #[error("`{0}` is set in the clause itself: its predicate is asked before that")]
    OwnVariable(&'static str),
    /// Asking for the value changes something.
    #[error("the argument does something: a predicate would do it once more")]
    Effects,
}

/// What to put where, so that the clause with the call at `call` fires only where the argument number `argument`, of
/// those that are no format, is `literal`.
///
/// # Errors
/// When there is no such clause or argument, or the argument means nothing in a predicate.
pub fn narrowed(
    front: &dyn FrontEnd,
    source: &SourceText,
    call: Span,
    argument: usize,
    literal: &str,
) -> Result<(Span, String), NarrowError> {
    let text = &*source.text;
    let clauses = front.clauses(source);
    let clause = clauses.iter().rfind(|clause| clause.probes.end <= call.start).ok_or(NarrowError::NoClause)?;
    let called = text.get(call.start as usize..call.end as usize).ok_or(NarrowError::NoClause)?;
    let expression = argument_of(called, argument).ok_or(NarrowError::NoArgument)?;
    refuse(expression)?;
    edit(text, *clause, &format!("{expression} == {literal}")).ok_or(NarrowError::NoClause)
}

/// The text with a condition in each clause, by its attach points, but for those of the beginning, the end and intervals.
///
/// # Errors
/// What `condition` says of a clause that none can limit.
pub fn limited(
    front: &dyn FrontEnd,
    text: &str,
    condition: &dyn Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let mut limited = text.to_owned();
    let source = SourceText::new("clauses", text);
    let clauses = front.clauses(&source);
    // From the last one on, so that the places of those before it stay.
    for clause in clauses.into_iter().rev().filter(|clause| has_thread(source.slice(clause.probes))) {
        let condition = condition(source.slice(clause.probes))?;
        if let Some((span, new)) = edit(text, clause, &condition) {
            limited.replace_range(span.start as usize..span.end as usize, &new);
        }
    }
    Ok(limited)
}

fn has_thread(probes: &str) -> bool {
    let of_run = |word: &str| ["begin", "end"].iter().any(|name| word.eq_ignore_ascii_case(name));
    let is_timer = |word: &str| ["interval:", "i:", "tick-", "dtrace:::"].iter().any(|kind| word.starts_with(kind));
    let written = probes.lines().filter(|line| !line.trim_start().starts_with("//"));
    !written.flat_map(|line| line.split([',', ' '])).any(|word| of_run(word.trim()) || is_timer(word.trim()))
}

/// What to put where, so that a clause has a condition more.
fn edit(text: &str, clause: ClausePlace, condition: &str) -> Option<(Span, String)> {
    if let Some(span) = clause.predicate {
        let old = text.get(span.start as usize..span.end as usize)?;
        let joined = if is_simple(old) { format!("{old} && {condition}") } else { format!("({old}) && {condition}") };
        return Some((span, joined));
    }
    let behind = text.get(clause.probes.end as usize..)?;
    let own_line = behind.find('{').is_some_and(|brace| behind[..brace].contains('\n'));
    let at = Span::new(clause.probes.end, clause.probes.end);
    Some((at, if own_line { format!("\n/{condition}/") } else { format!(" /{condition}/") }))
}

/// Whether another condition can stand behind it as it is.
fn is_simple(predicate: &str) -> bool {
    !["||", "?", "^^"].iter().any(|sign| predicate.contains(sign))
}

fn refuse(expression: &str) -> Result<(), NarrowError> {
    let after = |sign: char| expression.split(sign).skip(1).filter_map(|rest| rest.chars().next());
    if after('$').any(|c| !c.is_ascii_digit()) {
        return Err(NarrowError::OwnVariable("$"));
    }
    if expression.contains("this->") {
        return Err(NarrowError::OwnVariable("this->"));
    }
    let assigns = expression.replace("==", "").replace("!=", "").replace("<=", "").replace(">=", "").contains('=');
    if assigns || expression.contains("++") || expression.contains("--") {
        return Err(NarrowError::Effects);
    }
    Ok(())
}

/// The text of an argument: of those behind a format, of a tuple's values, or the only one.
fn argument_of(call: &str, argument: usize) -> Option<&str> {
    let open = call.find('(')?;
    let close = call.rfind(')').filter(|close| *close > open)?;
    let arguments = split(&call[open + 1..close]);
    let first = arguments.first()?;
    if first.starts_with('"') {
        return arguments.get(argument + 1).copied();
    }
    match first.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).map(split) {
        Some(values) if values.len() > 1 => values.get(argument).copied(),
        _ if argument == 0 => Some(first),
        _ => None,
    }
}

/// The parts between the commas that stand in no brackets and no quotes.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth, mut quote, mut escaped) = (Vec::new(), 0, 0_usize, None, false);
    for (at, c) in text.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None => match c {
                '"' | '\'' => quote = Some(c),
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    parts.push(text[from..at].trim());
                    from = at + 1;
                }
                _ => {}
            },
        }
    }
    parts.push(text[from..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::FRONT_ENDS;

    /// Narrows by an argument of the first call of this name.
    fn tried(name: &str, text: &str, call: &str, argument: usize, literal: &str) -> Result<String, NarrowError> {
        let front = FRONT_ENDS.iter().find(|front| front.extensions().contains(&name)).unwrap();
        let source = SourceText::new(&format!("x.{name}"), text);
        let start = text.find(call).unwrap();
        let mut depth = 0;
        let end = text[start..].char_indices().find_map(|(at, c)| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            (c == ')' && depth == 0).then_some(start + at + 1)
        });
        let call = Span::new(start as u32, end.unwrap() as u32);
        let (span, new) = narrowed(*front, &source, call, argument, literal)?;
        let mut text = text.to_owned();
        text.replace_range(span.start as usize..span.end as usize, &new);
        let source = SourceText::new(&format!("x.{name}"), &text);
        assert_eq!(front.syntax(&source), [], "{text}");
        Ok(text)
    }

    #[test]
    fn a_clause_gets_a_predicate_by_a_value() {
        let text = "tracepoint:a:b { @ = 1; }\nkprobe:f, kprobe:g { printf(\"%d, %s\\n\", pid, str(arg0, 8)); }\n";
        let after = tried("bt", text, "printf", 0, "7").unwrap();
        assert!(after.contains("kprobe:f, kprobe:g /pid == 7/ { printf"), "{after}");
        let after = tried("bt", text, "printf", 1, "\"a\"").unwrap();
        assert!(after.contains("kprobe:g /str(arg0, 8) == \"a\"/ {"), "{after}");
    }

    #[test]
    fn a_predicate_that_is_there_is_joined_with_it() {
        let after = tried("bt", "kprobe:f\n/pid/\n{ print((comm, tid)); }", "print", 1, "3").unwrap();
        assert_eq!(after, "kprobe:f\n/pid && tid == 3/\n{ print((comm, tid)); }");
        let after = tried("bt", "kprobe:f / pid || uid / { print(tid); }", "print", 0, "3").unwrap();
        assert_eq!(after, "kprobe:f / (pid || uid) && tid == 3 / { print(tid); }");
        let after = tried("bt", "kprobe:f\n{\n print(tid);\n}", "print", 0, "3").unwrap();
        assert_eq!(after, "kprobe:f\n/tid == 3/\n{\n print(tid);\n}");
        let after = tried("d", "syscall::read:entry\n{\n\tprintf(\"%d\", pid);\n}\n", "printf", 0, "3").unwrap();
        assert_eq!(after, "syscall::read:entry\n/pid == 3/\n{\n\tprintf(\"%d\", pid);\n}\n");
        let after = tried("d", "tick-1s /execname == \"a\"/ { trace(pid); }", "trace", 0, "3").unwrap();
        assert_eq!(after, "tick-1s /execname == \"a\" && pid == 3/ { trace(pid); }");
    }

    #[test]
    fn what_a_predicate_cannot_ask_is_refused() {
        let of = |text: &str, argument| tried("bt", text, "print", argument, "1");
        assert_eq!(of("kprobe:f { $a = 1; print($a); }", 0), Err(NarrowError::OwnVariable("$")));
        assert_eq!(of("kprobe:f { print(@a++); }", 0), Err(NarrowError::Effects));
        assert_eq!(of("kprobe:f { print(pid); }", 1), Err(NarrowError::NoArgument));
        assert_eq!(
            tried("d", "tick-1s { this->a = 1; trace(this->a); }", "trace", 0, "1"),
            Err(NarrowError::OwnVariable("this->"))
        );
        assert!(of("kprobe:f { print($1); }", 0).is_ok(), "a parameter is known before");
    }

    #[test]
    fn clauses_that_belong_to_a_thread_are_limited() {
        let text = "// Begin here.\nBEGIN { @ = 1; }\nkprobe:f\n{\n    @s[tid] = nsecs;\n}\nkretprobe:f /@s[tid] || 1/ { }\n\
                    interval:s:1 { print(@); }\nprofile:hz:99, kprobe:end_it { @ = count(); }\n";
        let limited = limited(FRONT_ENDS[0], text, &|_| Ok("pid == 7".to_owned())).unwrap();
        assert_eq!(
            limited,
            "// Begin here.\nBEGIN { @ = 1; }\nkprobe:f\n/pid == 7/\n{\n    @s[tid] = nsecs;\n}\n\
             kretprobe:f /(@s[tid] || 1) && pid == 7/ { }\ninterval:s:1 { print(@); }\n\
             profile:hz:99, kprobe:end_it /pid == 7/ { @ = count(); }\n"
        );
    }
}
