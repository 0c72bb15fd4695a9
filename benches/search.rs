//! Keystroke to results over 250,000 probes, with names made by code after the kernel's own manner.
//!
//! `cargo bench --bench search` types queries letter by letter and prints, over all keystrokes, the
//! median, the 99th percentile and the longest: on the clock, which a busy machine stretches, and in
//! processor time. Before that, how long the catalogues take to build, and their memory; after it, each
//! query at once and without memory of the one before.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no part of the program: it prints and writes as it likes"
)]

#[path = "support/allocator.rs"]
mod allocator;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion};
use probescope::kernel::{Kernel, Roots};
use probescope::probe::catalogue::{Catalogue, PartBuilder, ProbeKind};
use probescope::probe::search::Search;

const PROBES: usize = 250_000;

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

/// What a keystroke took: on the clock, and of the processor.
type Took = (Duration, Duration);

fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

/// Types each query, letter by letter.
fn type_all(catalogue: &Catalogue, queries: &[&str], rounds: usize) -> Vec<Took> {
    let mut times = Vec::new();
    for query in std::iter::repeat_n(queries, rounds).flatten() {
        let mut search = Search::default();
        for end in 1..=query.len() {
            let (clock, processor) = (Instant::now(), processor_time());
            black_box(search.search(catalogue, &query[..end], 0));
            times.push((clock.elapsed(), processor_time() - processor));
        }
    }
    times
}

fn spread(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    format!("p50 {:.2?} p99 {:.2?} max {:.2?}", at(50), at(99), at(100))
}

fn tell_of(name: &str, build: impl Fn() -> Catalogue) -> Catalogue {
    let started = Instant::now();
    let catalogue = build();
    let took = started.elapsed();
    println!("{name} catalogue: {} probes in {took:.1?}, {:.1} MB", catalogue.len(), catalogue.bytes() as f64 / 1e6);
    catalogue
}

fn main() {
    let kernel = Kernel::new(Roots::running()).mounting_tracefs();
    tell_of("running kernel's", || Catalogue::build(&kernel));
    let catalogue = tell_of("made-up", synthetic);
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
    let (clock, processor): (Vec<_>, Vec<_>) = type_all(&catalogue, &queries, 20).into_iter().unzip();
    println!(
        "keystroke over {} probes, {} typed: clock {}; processor {}",
        catalogue.len(),
        clock.len(),
        spread(clock),
        spread(processor)
    );

    let mut criterion = Criterion::default().configure_from_args();
    for query in queries {
        criterion.bench_function(&format!("search {query}"), |b| {
            b.iter_batched_ref(Search::default, |s| black_box(s.search(&catalogue, query, 0)), BatchSize::SmallInput);
        });
    }
    criterion.final_summary();
}
