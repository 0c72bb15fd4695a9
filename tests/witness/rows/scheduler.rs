//! Bundled scripts about CPUs: the scheduler, interrupts and locks.

use crate::row::Claim::{By, Equal, Within};
use crate::row::{Row, Subject};

const ITSELF: &str = "the load's own counts";
const AROUND: &str = "Others are counted, too: between what the kernel counted during the load and during the trace.";

pub const ROWS: &[Row] = &[
    Row::new(
        Subject::Script("cpudist"),
        "runqueue",
        "/proc/PID/task/TID/schedstat",
        &[Within("@us[queue-runner]", "slices-2*threads-2", "slices+2*threads")],
    )
    .bound("A thread may be taken from the CPU before it has its name, and once more when it ends."),
    Row::new(Subject::Script("futexwait"), "locks", ITSELF, &[Equal("@us[lock-waiter]", "waits")]),
    Row::new(
        Subject::Script("hardirqs"),
        "disk",
        "/proc/interrupts",
        &[Within("@ns[*]", "inner:interrupts.devices", "outer:interrupts.devices")],
    )
    .bound(AROUND)
    .needs_also(&["disk"]),
    Row::new(
        Subject::Script("lockstat"),
        "$ @SELF@ workload mutex",
        "two readers of a terminal wait for its mutex: one until it is killed, one until it is theirs",
        &[Within("@ns", "2", "1e9"), Within("@ns_by_kind[mutex]", "50000000", "1e12")],
    )
    .bound("Others wait for locks, too; the second reader starts 50 ms before the first one gets its line."),
    Row::new(
        Subject::Script("migrations"),
        "migrate",
        ITSELF,
        &[
            Within("@by_program[load-migrate]", "moves", "moves+3"),
            Within("@from_to[{from},{to}]", "moves/2", "1e6"),
            Within("@from_to[{to},{from}]", "moves/2", "1e6"),
        ],
    )
    .bound("The first move may be needed or not, and the balancer may move the thread until it is pinned."),
    Row::new(
        Subject::Script("offcputime"),
        "sleep",
        ITSELF,
        &[Within("@us[load-sleep,*nanosleep*]", "asked_ns/1000-sleeps", "slept_ns/1000")],
    )
    .bound("Each wait is rounded down to a microsecond; the load measures around the call."),
    Row::new(
        Subject::Script("profile"),
        "runqueue",
        "/proc/PID/task/TID/schedstat",
        &[Within("@[queue-runner,*]", "0.8*run_ns/10101010-8", "1.2*run_ns/10101010+8")],
    )
    .bound("99 samples a second of the threads' time: 20 % and 8 samples more or less."),
    Row::new(
        Subject::Script("runqlat"),
        "runqueue",
        "/proc/stat: ctxt",
        &[Within("@us", "0.8*slices", "outer:stat.ctxt")],
    )
    .bound("Waits that began before the trace are not known; of the whole system at most all switches."),
    Row::new(
        Subject::Script("runqlen"),
        "runqueue",
        "the load has more threads than one CPU for a second",
        &[By(|seen| {
            let (cpu, threads) = (seen.told("cpu"), seen.truth("threads")?);
            let keys = seen.maps.get("@waiting").ok_or("there is no map @waiting")?;
            let buckets = keys.get(&cpu).and_then(|v| v.as_array()).ok_or("the CPU has no samples")?;
            let long = |b: &&serde_json::Value| b["min"].as_f64().is_some_and(|min| min >= threads - 1.0);
            let samples: f64 = buckets.iter().filter(long).filter_map(|b| b["count"].as_f64()).sum();
            if samples >= 40.0 {
                Ok(())
            } else {
                Err(format!("{samples} samples of a queue of {threads} threads or more"))
            }
        })],
    )
    .bound("99 samples a second; while the threads begin and end fewer wait: at least 40 samples.")
    .no_pid("samples of the time that the process runs: fewer"),
    Row::new(
        Subject::Script("softirqs"),
        "tcp",
        "/proc/softirqs",
        &[
            Within("@ns[NET_RX]", "inner:softirqs.NET_RX", "outer:softirqs.NET_RX"),
            Within("@ns[SCHED]", "inner:softirqs.SCHED", "outer:softirqs.SCHED"),
            Within("@ns[TIMER]", "inner:softirqs.TIMER", "outer:softirqs.TIMER"),
            Within("@ns[RCU]", "inner:softirqs.RCU", "outer:softirqs.RCU"),
        ],
    )
    .bound(AROUND),
    Row::new(
        Subject::Script("wakers"),
        "pingpong",
        "/proc/PID/task/TID/status; the load's own counts",
        &[
            Within("@[ping,pong,*]", "0.9*ping_switches-5", "rounds+2"),
            Within("@[pong,ping,*]", "0.9*pong_switches-5", "rounds+2"),
        ],
    )
    .bound("Who has not yet slept is woken without being switched to; each round wakes each side once at most."),
    Row::new(
        Subject::Script("wakeups"),
        "sleep",
        "/sys/devices/system/cpu/cpu*/cpuidle; the load's own counts",
        &[
            Within("@exits[*]", "inner:cpuidle.usage-4", "outer:cpuidle.usage+4"),
            Within("@threads[load-sleep]", "0", "sleeps+20"),
        ],
    )
    .bound(AROUND),
];
