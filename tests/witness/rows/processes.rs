//! Bundled scripts about processes, system calls and libraries.

use crate::row::Claim::{By, Equal, Within};
use crate::row::{Row, Subject};

const ITSELF: &str = "the load's own counts";

pub const ROWS: &[Row] = &[
    Row::new(
        Subject::Script("execsnoop"),
        "spawn",
        ITSELF,
        &[
            Equal(r"lines ^\d+\s+\d+\s+\d+\s+load-spawn\s+/proc/self/exe load --child exit 3$", "exit_3"),
            Equal(r"lines ^\d+\s+\d+\s+\d+\s+load-spawn\s+/proc/self/exe load --child exit 0$", "exit_0"),
            Equal("@failed[load-spawn,No such file or directory]", "failed_execs"),
        ],
    )
    .no_pid("children are other processes"),
    Row::new(
        Subject::Script("hello"),
        "$ sleep 3.4",
        "the clock: an interval of a second ends three times in 3.4 s",
        &[Within("@ticks", "3", "4"), Within(r"lines ^tick on CPU \d+, \d+ ms after the start$", "3", "4")],
    )
    .bound("A busy machine may begin the load late: one more."),
    Row::new(Subject::Script("lifetimes"), "spawn", ITSELF, &[Equal("@ms[exe]", "execs")])
        .no_pid("children are other processes"),
    Row::new(
        Subject::Replaced(
            "mysqlqueries",
            &[
                ("usdt:/usr/sbin/mysqld:mysql:query__start", "usdt:@PROGRAM@:probescope_load:request"),
                ("usdt:/usr/sbin/mysqld:mysql:query__done", "usdt:@PROGRAM@:probescope_load:reply"),
                ("str(arg0, 200)", "str(arg1, 200)"),
            ],
        ),
        "usdt",
        "the load's own counts, by its own static probes in place of the server's",
        &[Equal("@ms", "replies")],
    ),
    Row::new(
        Subject::Replaced(
            "nodehttp",
            &[
                ("usdt:/usr/bin/node:node:http__server__request", "usdt:@PROGRAM@:probescope_load:request"),
                ("str(arg4, 16)", "str(arg1, 16)"),
                ("str(arg5, 128)", "str(arg1, 128)"),
            ],
        ),
        "usdt",
        "the load's own counts, by its own static probes in place of Node's",
        &[
            Equal("@requests[*]", "requests"),
            Equal("@requests[{last_text}]", "1"),
            Equal(r"lines ^request \d+ +request \d+$", "requests"),
        ],
    ),
    Row::new(
        Subject::Replaced(
            "pycalls",
            &[
                ("usdt:/usr/bin/python3:python:function__entry", "usdt:@PROGRAM@:probescope_load:request"),
                ("str(arg0, 64), str(arg1, 48)", "str(arg1, 64)"),
            ],
        ),
        "usdt",
        "the load's own counts, by its own static probes in place of Python's, which 3.11 lost",
        &[Equal("@calls[*]", "requests"), Equal("@calls[{last_text}]", "1")],
    ),
    Row::new(Subject::Script("oomkills"), "", "the group's limit of memory", &[])
        .elsewhere("tests/scripts/library/oomkills.bt", "@victims: 1"),
    Row::new(
        Subject::Script("signals"),
        "signals",
        ITSELF,
        &[
            Equal(r"lines ^\d+\s+load-signals\s+\d+\s+28\s.*\sload-signals\s+\d+\s+0 1$", "ignored"),
            Equal(r"lines ^\d+\s+load-signals\s+\d+\s+15\s", "terminated"),
            Equal(r"lines ^\d+\s+\S+\s+\d+\s+17\s.*\sload-signals\s+\d+\s+2 \d$", "child_ends"),
        ],
    ),
    Row::new(
        Subject::Script("syscount"),
        "errors",
        ITSELF,
        &[
            Within("@by_call[rename]", "rename.ENOENT", "1e9"),
            Within("@by_program[load-errors]", "openat.ENOENT+mkdir.EEXIST+rename.ENOENT+kill.ESRCH", "1e6"),
        ],
    )
    .bound("Others make these calls, too, and the load makes more than it counts."),
    Row::new(
        Subject::Script("syscount"),
        "errors",
        "the load's own counts, each call exactly",
        &[
            Equal("@by_call[rename]", "rename.ENOENT"),
            Equal("@by_call[mkdir]", "mkdir.EEXIST+1"),
            Equal("@by_call[kill]", "kill.ESRCH"),
        ],
    )
    .by_pid(),
    Row::new(
        Subject::Script("syserrors"),
        "errors",
        ITSELF,
        &[
            Equal("@[load-errors,openat,No such file or directory]", "openat.ENOENT"),
            Equal("@[load-errors,openat,Is a directory]", "openat.EISDIR"),
            Equal("@[load-errors,openat,Not a directory]", "openat.ENOTDIR"),
            Equal("@[load-errors,mkdir,File exists]", "mkdir.EEXIST"),
            Equal("@[load-errors,rmdir,Directory not empty]", "rmdir.ENOTEMPTY"),
            Equal("@[load-errors,rename,No such file or directory]", "rename.ENOENT"),
            Equal("@[load-errors,read,Try again*]", "read.EAGAIN"),
            Equal("@[load-errors,kill,No such process]", "kill.ESRCH"),
        ],
    ),
    Row::new(
        Subject::Script("syserrors"),
        "$ strace -f -c -o /dev/fd/1 @PROGRAM@ load errors --seed 9",
        "strace -c: errors of all calls",
        &[By(|seen| {
            let of = |name: &str| {
                let line = seen.load_text.lines().find(|l| l.split_whitespace().last() == Some(name));
                let words: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
                words.get(4).and_then(|w| w.parse::<f64>().ok()).unwrap_or(0.0)
            };
            for call in ["mkdir", "rmdir", "rename", "kill"] {
                let (ours, theirs) = (seen.seen(&format!("@[load-errors,{call},*]"))?, of(call));
                if (ours - theirs).abs() > 0.5 || ours < 1.0 {
                    return Err(format!("{call}: {ours} errors, strace says {theirs}"));
                }
            }
            Ok(())
        })],
    )
    .needs_also(&["tool:strace"]),
    Row::new(
        Subject::Script("syslatency"),
        "sleep",
        ITSELF,
        &[Equal("@ns[clock_nanosleep].count", "sleeps"), Within("@ns[clock_nanosleep].total", "asked_ns", "slept_ns")],
    )
    .bound("The load measures around the call.")
    .by_pid(),
];
