//! Bundled scripts about files, disks and memory.

use crate::row::Claim::{By, Equal, Within};
use crate::row::{Row, Subject};

const ITSELF: &str = "the load's own counts";

pub const ROWS: &[Row] = &[
    Row::new(
        Subject::Script("biolatency"),
        "disk",
        "/proc/diskstats; the load's own counts",
        &[Within("@us[*]", "writes+reads", "outer:diskstats.ios")],
    )
    .bound("Others use the disk, too: at least the load's requests, at most all that the disk has done.")
    .needs_also(&["disk"]),
    Row::new(
        Subject::Script("biosize"),
        "disk",
        ITSELF,
        &[Within("@bytes[load-disk]", "writes+reads", "2*writes+3*reads+8")],
    )
    .bound("A request becomes two where the file's blocks are not in a row; a folder's blocks are read, and what is removed may be discarded.")
    .needs_also(&["disk"]),
    Row::new(
        Subject::Script("biosnoop"),
        "disk",
        ITSELF,
        &[
            Equal(r"sum ^\d+\s+load-disk\s+\d+\s+\d+:\d+\s+W[SF]*\s+\d+\s+(\d+)", "written_bytes"),
            Equal(r"sum ^\d+\s+load-disk\s+\d+\s+\d+:\d+\s+R[AS]*\s+\d+\s+(\d+)", "read_bytes"),
        ],
    )
    .needs_also(&["disk"]),
    Row::new(
        Subject::Script("fileslow"),
        "$ cat /dev/null; dd if=/dev/zero of=/var/tmp/witness-slow bs=64M count=2 status=none; sleep 0.1 | cat; rm /var/tmp/witness-slow",
        "what dd was asked for: two writes of 64 MiB, each far over a millisecond; waiting for a pipe is none",
        &[
            Equal(r"lines ^dd\s+\d+\s+write\s+67108864\s+\d+\s+witness-slow", "2"),
            Equal(r"lines ^cat\s+\d+\s+read\s.*pipe", "0"),
        ],
    ),
    Row::new(
        Subject::Script("memleak"),
        "leak",
        ITSELF,
        &[Within("@outstanding[*]", "leaked_bytes", "leaked_bytes+20000")],
    )
    .bound("The C library and the runtime keep some blocks of their own: at most 20,000 bytes.")
    .by_pid(),
    Row::new(
        Subject::Script("mounts"),
        "$ unshare -m sh -c 'for i in 1 2 3; do mount -t tmpfs witness-$i /mnt && umount /mnt; done; umount /mnt; true' 2>&1",
        "what the shell was asked for: three mounts, three unmounts, and one of what is not mounted",
        &[
            Equal(r"lines mount\s+0 witness-\d on /mnt type tmpfs", "3"),
            Equal(r"lines umount\s+0 /mnt ", "3"),
            Equal(r"lines umount\s+-22 /mnt ", "1"),
        ],
    ),
    Row::new(
        Subject::Script("opensnoop"),
        "files",
        ITSELF,
        &[Equal(r"lines ^\d+\s+load-files\s+\d+\s+0 /var/tmp/probescope-load-\S+/file-\d+$", "opens")],
    ),
    Row::new(
        Subject::Script("opensnoop"),
        "errors",
        ITSELF,
        &[
            Equal(r"lines ^\d+\s+load-errors\s+-1\s+2 /var/tmp/\S+/gone$", "openat.ENOENT"),
            Equal(r"lines ^\d+\s+load-errors\s+-1\s+21 /var/tmp/", "openat.EISDIR"),
            Equal(r"lines ^\d+\s+load-errors\s+-1\s+20 /var/tmp/", "openat.ENOTDIR"),
            Equal(r"lines ^\d+\s+load-errors\s+\d+\s+0 ", "0"),
        ],
    )
    .options(&["-x", "-n", "load-errors"]),
    Row::new(
        Subject::Script("pagefaults"),
        "faults",
        "/proc/PID/stat; the load's own counts",
        &[
            Within("@faults[load-faults]", "fresh_pages+file_pages", "all_faults+200"),
            Within("@major[load-faults]", "major_faults", "file_pages+20"),
        ],
    )
    .bound("The process faults before and after what the load counts, until it has ended."),
    Row::new(
        Subject::Script("refleak"),
        "$ unshare -n true; sleep 1",
        "a network of its own has a loopback device, which is gone with it",
        &[
            Within("@gets[*]", "1", "1e9"),
            By(|seen| {
                let left = seen
                    .maps
                    .get("@name")
                    .into_iter()
                    .flatten()
                    .filter(|(_, name)| name.as_str() == Some("lo"))
                    .count();
                if left == 0 { Ok(()) } else { Err(format!("{left} devices `lo` have a balance left")) }
            }),
        ],
    ),
    Row::new(
        Subject::Script("vfsstat"),
        "files",
        ITSELF,
        &[
            Within("@reads", "reads", "1e9"),
            Within("@writes", "writes", "1e9"),
            Within("@syncs", "syncs", "1e9"),
            Within("@opens", "opens", "1e9"),
            Within("@creates", "files", "1e9"),
        ],
    )
    .bound("It counts the whole system: at least what the load did."),
];
