use super::*;
use crate::kernel::Absence;
use crate::probe::catalogue::{PartBuilder, ProbeKind};

const NAMES: &[&str] = &[
    "tracepoint:syscalls:sys_enter_openat2",
    "tracepoint:syscalls:sys_exit_openat",
    "tracepoint:syscalls:sys_enter_openat",
    "tracepoint:syscalls:sys_enter_open",
    "tracepoint:syscalls:sys_enter_open_tree",
    "tracepoint:sched:sched_switch",
    "tracepoint:sched:sched_process_exec",
    "kprobe:__x64_sys_openat",
    "kprobe:do_sys_openat2",
    "kprobe:__pfx_openat",
    "kprobe:probe_sched_switch",
    "kprobe:tcp_sendmsg",
    "kprobe:tcp_sigpool_end",
    "kretprobe:tcp_sendmsg",
    "kprobe:vfs_read",
    "kprobe:vfs_readv",
    "rawtracepoint:sched_switch",
    "software:page-faults:",
    "tracepoint:mei:mei_reg_write",
    "tracepoint:syscalls:sys_enter_write",
    "tracepoint:ksm:ksm_exit",
    "tracepoint:syscalls:sys_enter_exit",
    "tracepoint:sched:sched_process_exit",
    "tracepoint:irq:softirq_exit",
    "tracepoint:irq:softirq_entry",
    "absent kprobe:do_softirq",
    "absent kprobe:vfs_fsync",
    "kprobe:read_profile",
    "profile:hz:99",
    "tracepoint:syscalls:sys_enter_sched_rr_get_interval",
    "interval:s:1",
    "iter:task",
    "iter:task_file",
    "iter:tcp",
];

fn catalogue() -> Catalogue {
    let mut part = PartBuilder::with_capacity(NAMES.len());
    let missing = part.absence(&Absence::new("kprobe", "no kprobes", "use tracepoints"));
    for name in NAMES {
        if let Some(name) = name.strip_prefix("absent ") {
            part.push(ProbeKind::Kprobe, &[name], missing, false);
            continue;
        }
        let kind = ProbeKind::of_provider(name.split(':').next().unwrap());
        part.push(kind, &[name], 0, name.contains("__pfx_"));
    }
    let mut catalogue = Catalogue::default();
    catalogue.add(part.finish());
    catalogue
}

fn names(query: &str) -> Vec<String> {
    let results = Search::default().search(&catalogue(), query, 0);
    results.hits.iter().map(|h| h.name.to_string()).collect()
}

#[test]
fn what_people_look_for_comes_first() {
    for (query, first) in [
        ("openat", "tracepoint:syscalls:sys_enter_openat"),
        ("open", "tracepoint:syscalls:sys_enter_open"),
        ("schedswitch", "tracepoint:sched:sched_switch"),
        ("sched_switch", "tracepoint:sched:sched_switch"),
        ("tcpsend", "kprobe:tcp_sendmsg"),
        ("vfsread", "kprobe:vfs_read"),
        ("vfs_read", "kprobe:vfs_read"),
        ("k:vfs", "kprobe:vfs_read"),
        ("T:sched:exec", "tracepoint:sched:sched_process_exec"),
        ("faults", "software:page-faults:"),
        ("sc", "tracepoint:sched:sched_switch"),
        ("write", "tracepoint:syscalls:sys_enter_write"),
        ("sys_enter_openat", "tracepoint:syscalls:sys_enter_openat"),
        ("exit", "tracepoint:syscalls:sys_enter_exit"),
        ("softirq", "tracepoint:irq:softirq_entry"),
        ("fsync", "kprobe:vfs_fsync"),
        ("profile", "profile:hz:99"),
        ("interval", "interval:s:1"),
    ] {
        assert_eq!(names(query).first().map(String::as_str), Some(first), "{query}");
    }
    assert_eq!(names("openat").last().map(String::as_str), Some("kprobe:__pfx_openat"), "made by the compiler");
}

#[test]
fn what_can_be_attached_stands_before_what_cannot() {
    let names =
        ["absent kprobe:malloc_x", "absent kprobe:malloc", "uprobe:libc:malloc_usable_size", "uprobe:libc:malloc"];
    let mut part = PartBuilder::with_capacity(names.len());
    let missing = part.absence(&Absence::new("kprobe", "no kprobes", "use tracepoints"));
    for name in names {
        match name.strip_prefix("absent ") {
            Some(name) => part.push(ProbeKind::Kprobe, &[name], missing, false),
            None => part.push(ProbeKind::Uprobe, &[name], 0, false),
        }
    }
    let mut catalogue = Catalogue::default();
    catalogue.add(part.finish());
    for (typed, first) in [
        ("malloc", "uprobe:libc:malloc"),
        ("", "uprobe:libc:malloc_usable_size"),
        ("libc:malloc", "uprobe:libc:malloc"),
    ] {
        let results = Search::default().search(&catalogue, typed, 0);
        assert_eq!(results.hits.first().map(|h| &*h.name), Some(first), "{typed}");
        assert_eq!(results.usable, 2, "{typed}");
    }
    let results = Search::default().search(&catalogue, "malloc_x", 0);
    assert_eq!((&*results.hits[0].name, results.usable), ("kprobe:malloc_x", 0), "what is named says why not");
}

#[test]
fn a_crowd_that_cannot_be_attached_hides_nothing_that_can() {
    let mut part = PartBuilder::with_capacity(500);
    let missing = part.absence(&Absence::new("kprobe", "no kprobes", "use tracepoints"));
    for number in 0..400 {
        part.push(ProbeKind::Kprobe, &["kprobe:ftrace_", &number.to_string()], missing, false);
    }
    part.push(ProbeKind::Tracepoint, &["tracepoint:f2fs:f2fs_truncate_data_blocks_enter"], 0, false);
    let mut catalogue = Catalogue::default();
    catalogue.add(part.finish());
    let hits = Search::default().search(&catalogue, "ftrace", 0).hits;
    let usable = hits.iter().position(|hit| hit.absence.is_none());
    assert_eq!(usable, Some(FIRST_ABSENT), "what was meant says why it is not there, and then comes what is");
}

#[test]
fn a_provider_with_its_colon_is_asked_for_alone() {
    assert_eq!(names("iter:"), ["iter:tcp", "iter:task", "iter:task_file"]);
    assert_eq!(names("it:tsk"), ["iter:task", "iter:task_file"]);
    assert_eq!(names("kr:tcp"), ["kretprobe:tcp_sendmsg"]);
    assert!(names("software:openat").is_empty());
}

#[test]
fn patterns_and_nothing() {
    assert_eq!(names("kprobe:vfs_*"), ["kprobe:vfs_read", "kprobe:vfs_readv", "kprobe:vfs_fsync"]);
    assert!(names("xyzzy").is_empty());
    assert_eq!(names("").len(), NAMES.len());
}

#[test]
fn continuing_a_query_finds_the_same() {
    let catalogue = catalogue();
    let mut search = Search::default();
    for end in 1..="sys_enter_openat".len() {
        let text = &"sys_enter_openat"[..end];
        let continued: Vec<_> =
            search.search(&catalogue, text, 0).hits.into_iter().map(|h| h.name.to_string()).collect();
        assert_eq!(continued, names(text), "{text}");
    }
}

#[test]
fn positions_are_those_of_the_query() {
    let results = Search::default().search(&catalogue(), "openat", 7);
    assert_eq!(results.generation, 7);
    let first = &results.hits[0];
    let letters: String = first.positions.iter().filter_map(|n| first.name.chars().nth(*n as usize)).collect();
    assert_eq!(letters, "openat");
}

#[test]
fn a_part_that_arrives_later_is_searched_too() {
    let mut catalogue = catalogue();
    let mut search = Search::default();
    search.search(&catalogue, "vfs", 1);
    let mut part = PartBuilder::with_capacity(1);
    let reason = part.absence(&Absence::new("fentry", "no trampoline", "use a kprobe"));
    part.push(ProbeKind::Fentry, &["fentry:vmlinux:vfs_rename"], reason, false);
    catalogue.add(part.finish());
    let hits = search.search(&catalogue, "vfsre", 2).hits;
    let late = hits.iter().find(|h| &*h.name == "fentry:vmlinux:vfs_rename").unwrap();
    assert_eq!(late.absence.as_ref().map(|a| &*a.reason), Some("no trampoline"));
}

#[test]
fn letter_by_letter_finds_what_the_whole_text_finds() {
    let catalogue = catalogue();
    for text in ["opentr", "page-x", "schedsw", "vfsread"] {
        let mut search = Search::default();
        for end in 1..=text.len() {
            let results = search.search(&catalogue, &text[..end], 0);
            let found: Vec<_> = results.hits.iter().map(|h| h.name.to_string()).collect();
            assert_eq!(found, names(&text[..end]), "{}", &text[..end]);
        }
    }
}
