//! Keystroke to results over 200,000 probes, with names made by code after the kernel's own manner.
//!
//! `cargo bench --bench search` prints the time of each keystroke of typical queries, the 99th
//! percentile over all of them, and how long the running kernel's own catalogue takes to build.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion};
use probescope::kernel::{Kernel, Roots};
use probescope::probe::catalogue::{Catalogue, PartBuilder, ProbeKind};
use probescope::probe::search::Search;

const PROBES: usize = 200_000;

/// A catalogue of the size of a large kernel's: a tenth tracepoints, the rest functions.
fn synthetic() -> Catalogue {
    let areas = [
        "vfs", "tcp", "ext4", "xfs", "sched", "blk_mq", "nvme", "kvm", "bpf", "mm", "drm", "usb", "nfs", "btrfs", "sys",
    ];
    let verbs =
        ["read", "write", "open", "alloc", "free", "get", "put", "lookup", "insert", "switch", "send", "recv", "init"];
    let nouns =
        ["inode", "page", "queue", "request", "sk", "msg", "entry", "node", "tree", "buffer", "lock", "work", "task"];
    let mut part = PartBuilder::with_capacity(PROBES);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut pick = |list: &[&'static str]| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        list[(state >> 33) as usize % list.len()]
    };
    for n in 0..PROBES {
        let number = (n / 40).to_string();
        let (area, verb, noun) = (pick(&areas), pick(&verbs), pick(&nouns));
        match n % 10 {
            0 => part.push(
                ProbeKind::Tracepoint,
                &["tracepoint:", area, ":", area, "_", verb, "_", noun, &number],
                0,
                false,
            ),
            1..=4 => part.push(ProbeKind::Kprobe, &["kprobe:", area, "_", verb, "_", noun, "_", &number], 0, false),
            5 => part.push(ProbeKind::Kretprobe, &["kretprobe:", area, "_", verb, "_", noun, "_", &number], 0, false),
            6 => part.push(ProbeKind::Kprobe, &["kprobe:__pfx_", area, "_", verb, &number], 0, true),
            _ => part.push(ProbeKind::Fentry, &["fentry:vmlinux:", area, "_", noun, "_", verb, &number], 0, false),
        }
    }
    let mut catalogue = Catalogue::default();
    catalogue.add(part.finish());
    catalogue
}

fn main() {
    let started = Instant::now();
    let running = Catalogue::build(&Kernel::new(Roots::running()));
    println!("running kernel's catalogue: {} probes in {:.1?}", running.len(), started.elapsed());

    let catalogue = synthetic();
    let queries = [
        "r",
        "vfsread",
        "tcpsend",
        "kprobe:vfs_read",
        "sys_enter_openat",
        "schedswitch",
        "xyzzyq",
        "tracepoint",
        "k:*inode*",
    ];
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..20 {
        for query in queries {
            let mut search = Search::default();
            for end in 1..=query.len() {
                let started = Instant::now();
                black_box(search.search(&catalogue, &query[..end], 0));
                times.push(started.elapsed());
            }
        }
    }
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!("keystroke over {} probes: p50 {:.2?}, p99 {:.2?}, most {:.2?}", catalogue.len(), at(50), at(99), at(100));

    let mut criterion = Criterion::default().configure_from_args();
    for query in queries {
        criterion.bench_function(&format!("search {query}"), |b| {
            b.iter_batched_ref(Search::default, |s| black_box(s.search(&catalogue, query, 0)), BatchSize::SmallInput);
        });
    }
    criterion.final_summary();
}
