//! Events that others defined (`dynamic_events` of tracefs): on kernel functions, in programs, on other events.

use std::collections::HashMap;
use std::sync::Arc;

use super::tracefs::EventName;
use super::{Kernel, read};

/// Largest list that is read, bytes.
const MAX_LIST: u64 = 16 << 20;

/// How an event was defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// At a kernel function, by a breakpoint.
    Kprobe,
    /// At a kernel function, by ftrace.
    Fprobe,
    /// At a place in a program.
    Uprobe,
    /// At a tracepoint, with other fields.
    Tprobe,
    /// On another event, with other fields.
    Eprobe,
    /// By histogram triggers, from several events.
    Synthetic,
    /// By a program, which writes it.
    User,
}

/// An event that someone defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicEvent {
    /// How.
    pub definition: Definition,
    /// Where: a function, `PATH:OFFSET`, `SYSTEM.EVENT`, a tracepoint; empty where it has no place.
    pub place: Arc<str>,
    /// At the function's return.
    pub ret: bool,
}

/// `p:kprobes/mine vfs_fsync name=…`, `r10:…`, `f:… vfs_read%return`, `s:synthetic/wakeup u64 lat`.
fn parse(line: &str) -> Option<(EventName, DynamicEvent)> {
    let (kind, rest) = line.split_once(':')?;
    let mut words = rest.split_whitespace();
    let (category, event) = words.next()?.split_once('/')?;
    let place = words.next().unwrap_or("");
    let in_file = place.starts_with('/') && place.contains(":0x");
    let (definition, entry) = match kind.as_bytes().first()? {
        b'p' | b'r' if in_file => (Definition::Uprobe, kind.starts_with('p')),
        b'p' | b'r' => (Definition::Kprobe, kind.starts_with('p')),
        b'f' => (Definition::Fprobe, true),
        b't' => (Definition::Tprobe, true),
        b'e' => (Definition::Eprobe, true),
        b's' => (Definition::Synthetic, true),
        b'u' => (Definition::User, true),
        _ => return None,
    };
    let has_place = !matches!(definition, Definition::Synthetic | Definition::User);
    let bare = place.split(['%', '(']).next().unwrap_or("");
    let found = DynamicEvent {
        definition,
        place: if has_place { bare.into() } else { "".into() },
        ret: !entry || place.ends_with("%return"),
    };
    Some(((category.into(), event.into()), found))
}

impl Kernel {
    /// The events that are defined now, by category and name. Empty where the list can't be read.
    #[must_use]
    pub fn dynamic_events(&self) -> HashMap<EventName, DynamicEvent> {
        let list = self.tracefs().ok().and_then(|t| read::text(&t.join("dynamic_events"), MAX_LIST).ok());
        list.unwrap_or_default().lines().filter_map(parse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_of_every_kind() {
        let of =
            |line: &str| parse(line).map(|((c, e), d)| (format!("{c}:{e}"), d.definition, d.place.to_string(), d.ret));
        let some =
            |name: &str, definition, place: &str, ret| Some((name.to_owned(), definition, place.to_owned(), ret));
        assert_eq!(of("p:kprobes/mine vfs_fsync a=%di"), some("kprobes:mine", Definition::Kprobe, "vfs_fsync", false));
        assert_eq!(of("r10:kprobes/its vfs_fsync"), some("kprobes:its", Definition::Kprobe, "vfs_fsync", true));
        let uprobe = "p:uprobes/u /lib/libc.so.6:0x00000000000d54f0(0x10)";
        assert_eq!(of(uprobe), some("uprobes:u", Definition::Uprobe, "/lib/libc.so.6:0x00000000000d54f0", false));
        assert_eq!(of("f:fprobes/f vfs_read%return"), some("fprobes:f", Definition::Fprobe, "vfs_read", true));
        assert_eq!(of("t:tprobes/t sched_switch"), some("tprobes:t", Definition::Tprobe, "sched_switch", false));
        let eprobe = "e:mine/e syscalls.sys_enter_openat dfd=$dfd";
        assert_eq!(of(eprobe), some("mine:e", Definition::Eprobe, "syscalls.sys_enter_openat", false));
        assert_eq!(of("s:synthetic/w\tu64 lat"), some("synthetic:w", Definition::Synthetic, "", false));
        assert_eq!(of("u:user_events/test u32 a"), some("user_events:test", Definition::User, "", false));
        assert!(of("").is_none() && of("x:a/b c").is_none() && of("p:no_slash f").is_none());
    }
}
