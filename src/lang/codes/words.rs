//! Words that lead nowhere today: tools, interfaces and limits of other times, each with what came after it. For
//! `probescope explain WORD`.

/// Something that people look for.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// How they write it, in lower case.
    pub names: &'static [&'static str],
    /// A few words.
    pub title: &'static str,
    /// What it was, why it ended, what to use here.
    pub text: &'static str,
}

/// The word of a name, in any case.
#[must_use]
pub fn find(name: &str) -> Option<&'static Word> {
    let name = name.trim().to_lowercase();
    TABLE.iter().find(|word| word.names.contains(&name.as_str()))
}

/// All of them.
pub const TABLE: &[Word] = &[
    Word {
        names: &["ktap"],
        title: "a tracer of 2013 with a virtual machine of its own in the kernel",
        text: "ktap ran scripts like Lua's as bytecode, in a module of its own. It was queued for the staging tree of Linux 3.13 and dropped before the release: the kernel was to have one virtual machine for tracing, and that became BPF. Here: write the same as a script, `tracepoint:syscalls:sys_enter_open* { @[comm] = count(); }`; `probescope list` shows the probes.",
    },
    Word {
        names: &["kretinsn"],
        title: "a probe at a function's return instructions, an idea that no kernel has",
        text: "Return probes change the return address on the stack, which confuses unwinders. Probing a function's RET instructions in place was an idea for doing without; no kernel has an interface of that name. `fexit` (BPF trampolines, with the kernel's BTF) runs when the function is over and needs no such trick. Here: `fexit:vfs_read { print(retval); }`, or `kretprobe:vfs_read`; an instruction by its offset is `kprobe:vfs_read+0x42`.",
    },
    Word {
        names: &["objtrace"],
        title: "a trigger that followed an object through functions, proposed and never merged",
        text: "objtrace was a trigger of ftrace's events (`objtrace:add:ARG`, patches of 2021 and 2022): it noted a function's argument and recorded each later function that got the same pointer. Its patches were not merged. Here: `probescope follow skb|file|inode|task|bio` does that with BPF, for every function that is given the object; see `probescope follow --help`.",
    },
    Word {
        names: &["$$args", "$arg*"],
        title: "a function's arguments by name in ftrace's probe events",
        text: "`$$args` was shown in a talk for all arguments of a function in tracefs' probe events. The kernel takes `$arg*` for that (`echo 'f vfs_read $arg*' > dynamic_events`, by BTF, Linux 6.5). Neither is a word of a script. Here: `fentry:vfs_read { print(args); }` prints all of them with their types, `args.count` is one; `probescope list -v fentry:vfs_read` shows them.",
    },
    Word {
        names: &["bpf_prog_type_dtrace"],
        title: "a program type for DTrace, proposed and never merged",
        text: "DTrace for Linux asked in 2019 for a BPF program type of its own, that other probes would call by tail calls. The maintainers refused it: what exists (kprobe, tracepoint, raw tracepoint, perf event programs) was to be used. DTrace 2 does, and so does this program. Here: `probescope dtrace` takes D programs, compiled to those types.",
    },
    Word {
        names: &["cross-type tail calls", "cross-type tail call", "bpf_tail_call"],
        title: "a BPF program that goes on in one of another type",
        text: "A tail call goes only to programs of the same type and with the same helpers: the array of programs takes its type from the first. Going from a kprobe's program to a tracepoint's was proposed with BPF_PROG_TYPE_DTRACE and refused, as the two have different contexts. Here: nothing needs it. Values go from one probe to another in maps: `@start[tid] = nsecs`, then `delete(@start, tid)`.",
    },
    Word {
        names: &["writable buffers", "writable buffer", "output buffers"],
        title: "a buffer of perf events that a program could write to in pieces",
        text: "Proposed for DTrace in 2019: a program was to fill a perf ring buffer part by part. Instead came the BPF ring buffer (Linux 5.8), where a program reserves a record, fills it and commits it. Here: records go through per-CPU rings or the BPF ring buffer by themselves; `config = { perf_rb_pages = N }` says how large, and what does not fit is counted and shown.",
    },
    Word {
        names: &["maps section", "maps sections", "sec(\"maps\")", "struct bpf_map_def", "bpf_map_def"],
        title: "maps as plain structs in an ELF section `maps`",
        text: "Objects of before 2019 describe maps by `struct bpf_map_def` in a section `maps`. libbpf 1.0 (2022) reads no such objects any more: maps are described by BTF in `.maps`, with types of keys and values. Here: `probescope compile FILE -o OUT.bpf.o` writes maps by BTF; old objects are to be compiled anew.",
    },
    Word {
        names: &[
            "perf --event prog.o",
            "perf -e prog.o",
            "--event prog.o",
            "perf record -e prog.c",
            "prog.o",
            "prog.c",
        ],
        title: "BPF objects and C files as events of perf",
        text: "perf compiled and loaded C files and objects (`perf record -e prog.c`) from Linux 4.4 on. It relied on a loader of its own and on what libbpf 1.0 took away, was used by few, and was removed in Linux 6.6. Here: `probescope run FILE` traces and prints; `probescope compile` writes an object for libbpf, bpftool (`bpftool prog loadall OUT.bpf.o /sys/fs/bpf/x autoattach`) and others.",
    },
    Word {
        names: &["debugfs", "/sys/kernel/debug/tracing", "/sys/kernel/debug/tracing/", "debugfs paths"],
        title: "the old place of the kernel's tracing files",
        text: "Tracing's files were in debugfs, at /sys/kernel/debug/tracing, until Linux 4.1 gave them a file system of their own, tracefs at /sys/kernel/tracing. The old path is there for compatibility, where debugfs is mounted and open to the user, and is said to go. Here: tracefs is found at either place, and mounted for you where that is allowed; `probescope doctor` says which.",
    },
    Word {
        names: &[
            "4096",
            "4,096",
            "4,096-instruction limit",
            "4096 instructions",
            "4096-instruction limit",
            "bpf_maxinsns",
        ],
        title: "the limit of 4,096 instructions of a BPF program",
        text: "Until Linux 5.2 a program had 4,096 instructions at most (BPF_MAXINSNS), and no loops until 5.3. Since then a privileged user's program may have a million, and the verifier follows a million in all; 4,096 holds for users without CAP_BPF only. Here: the kernel is 5.10 or later, so that scripts are bound by the million (`probescope explain P0901`), and the compiler's own budget is half a million steps a probe (P0235).",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_says_what_to_use_here() {
        for word in TABLE {
            assert!(word.text.contains("Here: "), "{:?}", word.names);
            for name in word.names {
                assert_eq!(find(&name.to_uppercase()).map(|found| found.title), Some(word.title), "{name}");
            }
        }
        assert!(find("kprobe").is_none());
    }

    #[test]
    fn codes_that_words_name_exist() {
        for word in TABLE {
            for code in
                word.text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| w.len() == 5 && w.starts_with('P'))
            {
                assert!(crate::lang::codes::parse_code(code).and_then(crate::lang::codes::explain).is_some(), "{code}");
            }
        }
    }
}
