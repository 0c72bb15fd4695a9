//! The verifier's log in plain words: which instruction it refused, which place of the script that
//! is, why, and what to do.
//!
//! The messages are those of `kernel/bpf/verifier.c`; the log is text from the kernel and is only
//! read, never trusted to have a form.

use crate::lang::source::Span;

mod reasons;

pub use reasons::Cause;

/// What the verifier said of a program that it refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Index of the last instruction that it looked at.
    pub instruction: Option<u32>,
    /// That instruction's place in the script.
    pub span: Option<Span>,
    /// Line in the script, where the log itself names one.
    pub line: Option<u32>,
    /// The verifier's own complaint.
    pub reason: String,
    /// What kind of complaint it is.
    pub cause: Cause,
    /// Plain words.
    pub message: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

/// Reads a log; `lines` is the program's table of spans by instruction. `None` when the log holds no
/// complaint.
#[must_use]
pub fn explain(log: &str, lines: &[(u32, Span)]) -> Option<Rejection> {
    let said: Vec<&str> = log.lines().map(str::trim).filter(|line| is_said(line)).collect();
    let reason = complaint(log)?;
    let named = reasons::instruction(reason);
    let instruction = named.or_else(|| said.iter().rev().find_map(|line| instruction_of(line)));
    let line = said.iter().rev().find_map(|line| source_line(line));
    let span = instruction.and_then(|at| span_of(at, lines)).filter(|span| !span.is_empty());
    let (cause, message, hint) = reasons::classify(reason);
    Some(Rejection { instruction, span, line, reason: reason.to_owned(), cause, message, hint })
}

/// The line of a log that says what is wrong, if it has come that far.
#[must_use]
pub fn complaint(log: &str) -> Option<&str> {
    log.lines().map(str::trim).rfind(|line| is_said(line) && is_complaint(line))
}

/// Lines of the log itself, without what libbpf puts around it.
fn is_said(line: &str) -> bool {
    !line.is_empty() && !line.starts_with("libbpf:") && !line.starts_with("-- ")
}

/// Neither an instruction, a state, a script line nor statistics.
fn is_complaint(line: &str) -> bool {
    let noise = [
        "processed ",
        "insns processed",
        "cur state:",
        "old state:",
        "verification time",
        "stack depth",
        "from ",
        ";",
        "mark_precise",
        "last_idx",
        "regs=",
        "parent ",
        "func#",
        "arg#0 reference",
    ];
    instruction_of(line).is_none() && !noise.iter().any(|start| line.starts_with(start)) && !is_state(line)
}

/// `12: R0=scalar() R10=fp0` and `R1=ctx() R10=fp0`: states of registers.
fn is_state(line: &str) -> bool {
    let rest = line.split_once(": ").filter(|(at, _)| at.bytes().all(|b| b.is_ascii_digit())).map_or(line, |(_, r)| r);
    let first = rest.split(' ').next().unwrap_or("");
    let register = first.strip_prefix('R').or_else(|| first.strip_prefix("fp-")).unwrap_or("");
    register.starts_with(|c: char| c.is_ascii_digit()) && first.contains('=')
}

/// The index of a line like `12: (85) call bpf_get_current_pid_tgid#14`.
fn instruction_of(line: &str) -> Option<u32> {
    let (at, rest) = line.split_once(": ")?;
    let at = at.parse().ok()?;
    rest.starts_with('(').then_some(at)
}

/// The line number of `; text @ file:line` (kernel 6.8 and later).
fn source_line(line: &str) -> Option<u32> {
    let (_, place) = line.strip_prefix("; ")?.rsplit_once(" @ ")?;
    place.rsplit_once(':')?.1.parse().ok()
}

/// The entry that holds for an instruction.
#[must_use]
pub fn span_of(instruction: u32, lines: &[(u32, Span)]) -> Option<Span> {
    let after = lines.partition_point(|(first, _)| *first <= instruction);
    lines.get(after.checked_sub(1)?).map(|(_, span)| *span)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [(u32, Span); 2] = [(0, Span::new(1, 5)), (2, Span::new(8, 20))];

    #[test]
    fn a_null_pointer_is_found_at_its_place_in_the_script() {
        let log = "libbpf: prog 'p': BPF program load failed: -EACCES\n-- BEGIN PROG LOAD LOG --\n\
                   0: R1=ctx() R10=fp0\n; @x[1] = 2; @ a.bt:3\n0: (85) call bpf_map_lookup_elem#1\n\
                   1: R0=map_value_or_null(id=1)\n2: (79) r0 = *(u64 *)(r0 +0)\n\
                   R0 invalid mem access 'map_value_or_null'\n\
                   processed 3 insns (limit 1000000) max_states_per_insn 0\n-- END PROG LOAD LOG --\n";
        let said = explain(log, &LINES).unwrap();
        assert_eq!((said.instruction, said.span, said.line), (Some(2), Some(Span::new(8, 20)), Some(3)));
        assert_eq!(said.cause, Cause::NullPointer);
    }

    #[test]
    fn a_back_edge_names_its_own_instruction() {
        let said = explain("0: (b7) r0 = 0\nback-edge from insn 3 to 1\n", &LINES).unwrap();
        assert_eq!((said.instruction, said.cause), (Some(3), Cause::Loop));
    }

    #[test]
    fn statistics_alone_are_no_complaint() {
        assert_eq!(explain("0: R1=ctx() R10=fp0\n0: (95) exit\nprocessed 2 insns\n", &LINES), None);
        let log = "The address of function f cannot be found\ninsns processed 0 (limit 1000000)\n";
        assert_eq!(explain(log, &LINES).map(|said| said.cause), Some(Cause::Entry));
        assert_eq!(explain("", &LINES), None);
    }

    #[test]
    fn unknown_complaints_are_told_as_they_are() {
        let said = explain("0: (95) exit\nsomething new\n", &LINES).unwrap();
        assert_eq!(said.cause, Cause::Other);
        assert!(said.message.contains("something new"));
    }
}
