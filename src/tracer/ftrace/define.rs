//! Events that are defined for a trace: at kernel functions, in programs, on tracepoints and on other events. They are the
//! whole kernel's, so ours have a group of our own, and the guard takes them away.

use super::FtraceError;
use crate::kernel::tracefs::EventName;

/// Groups of ours begin so; the process's number follows.
pub const GROUP: &str = "psc_";
/// Longest name of an event that is made of a place.
const LONGEST: usize = 48;

/// A definition as the kernel takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The line for `dynamic_events`.
    pub line: String,
    /// The event's name.
    pub name: EventName,
}

/// Reads `p vfs_read file=$arg1`, `r:mine vfs_read $retval`, `f vfs_read $arg*`, `t sched_switch prev->pid`,
/// `e sched.sched_switch p=$prev_pid`, `p /bin/bash:readline`: the kernel's form, with or without a name.
///
/// # Errors
/// When it is none of these.
pub fn read(text: &str, process: u32, number: usize) -> Result<Definition, FtraceError> {
    let text = text.trim();
    let refuse = |why: &str| FtraceError::Options(format!("`{text}` is no definition: {why}"));
    let (head, rest) = text.split_once(char::is_whitespace).ok_or_else(|| refuse("behind the kind stands a place"))?;
    let rest = rest.trim();
    let (kind, name) = match head.split_once(':') {
        Some((kind, name)) => (kind, Some(name.rsplit('/').next().unwrap_or(name))),
        None => (head, None),
    };
    let letter = kind.chars().next().ok_or_else(|| refuse("it has no kind"))?;
    let maximum = &kind[letter.len_utf8()..];
    if !"prfte".contains(letter) || !maximum.chars().all(|c| c.is_ascii_digit()) {
        let kinds = "kinds are p and r (kprobe and uprobe), f (fprobe), t (tracepoint), e (another event)";
        return Err(refuse(kinds));
    }
    let group = format!("{GROUP}{process}");
    let event = match name {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => made_of(letter, rest.split_whitespace().next().unwrap_or(""), number),
    };
    Ok(Definition {
        line: format!("{kind}:{group}/{event} {rest}"),
        name: (group.as_str().into(), event.as_str().into()),
    })
}

/// `p_vfs_read_1`.
fn made_of(letter: char, place: &str, number: usize) -> String {
    let bare = place.rsplit('/').next().unwrap_or(place);
    let plain: String = bare.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(LONGEST).collect();
    let plain = plain.trim_matches('_');
    if number == 0 { format!("{letter}_{plain}") } else { format!("{letter}_{plain}_{number}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_get_a_group_of_ours() {
        let line = |text: &str| read(text, 7, 0).map(|d| d.line).map_err(|e| e.to_string());
        assert_eq!(line("p vfs_read file=$arg1").unwrap(), "p:psc_7/p_vfs_read vfs_read file=$arg1");
        assert_eq!(line("r16:mine vfs_read $retval").unwrap(), "r16:psc_7/mine vfs_read $retval");
        assert_eq!(line("f:grp/mine vfs_read%return").unwrap(), "f:psc_7/mine vfs_read%return");
        assert_eq!(line("p /bin/bash:0x1234").unwrap(), "p:psc_7/p_bash_0x1234 /bin/bash:0x1234");
        assert_eq!(
            line("e sched.sched_switch p=$prev_pid").unwrap(),
            "e:psc_7/e_sched_sched_switch sched.sched_switch p=$prev_pid"
        );
        assert_eq!(read("t sched_switch", 7, 2).unwrap().name, ("psc_7".into(), "t_sched_switch_2".into()));
        assert!(line("x vfs_read").unwrap_err().contains("kinds are"));
        assert!(line("p").is_err() && line("s:a b").is_err() && line("").is_err());
    }
}
