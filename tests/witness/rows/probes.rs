//! Semantic probes.

use crate::row::Claim::{self, By, Equal, Within};
use crate::row::{Row, Subject};

const ITSELF: &str = "the load's own counts";
const AROUND: &str = "Others are counted, too: between what the kernel counted during the load and during the trace.";
const RUNS_TWICE: &str = "A thread may be taken from the CPU before it has its name, and once more when it ends.";

/// A probe whose firings in the load's threads are counted.
const fn probe(name: &'static str, script: &'static str, load: &'static str, claims: &'static [Claim]) -> Row {
    Row::new(Subject::Probe(name, script), load, ITSELF, claims)
}

/// A probe that is a counter of the whole system.
const fn counter(
    name: &'static str,
    script: &'static str,
    load: &'static str,
    file: &'static str,
    claims: &'static [Claim],
) -> Row {
    Row::new(Subject::Probe(name, script), load, file, claims).bound(AROUND)
}

/// A probe of functions that some kernels don't let us see.
const CHILDREN: &str = "children are other processes";
const FENTRY: &[&str] = &["fentry"];
/// Datagrams to a port where nobody listens: each comes back as a message that says so.
const UNREACHABLE: &str = "$ /usr/bin/python3 -c 'import socket\nfor family, host in ((2, \"127.0.0.1\"), (10, \"::1\")):\n  for i in range(7):\n    socket.socket(family, 2).sendto(b\"x\", (host, 9))'";
const YIELDS: &str = "$ /usr/bin/python3 -c 'import os\nfor i in range(137): os.sched_yield()'";
const SIGWAIT: &str = "$ /usr/bin/python3 -c 'import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [10])\nfor i in range(17):\n  os.kill(os.getpid(), 10)\n  signal.sigwait([10])'";
/// gcc starts its parts by vfork; strace counts that.
const VFORKS: &str = "$ echo 'int i;' | strace -f -e trace=vfork -o /tmp/witness-vforks gcc -c -xc - -o /dev/null; printf '{\"vforks\": %d}' $(grep -c 'vfork(' /tmp/witness-vforks); rm /tmp/witness-vforks";

/// A lock that lends priority: one waits of a higher one, which is lent and given back.
const LENT: &str = "$ /usr/bin/python3 -c 'import ctypes, os, threading, time\nl, w = ctypes.CDLL(None), ctypes.c_int(0)\ndef futex(what): l.syscall(202, ctypes.byref(w), what, 0, None, None, 0)\ndef waiter():\n  os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))\n  futex(6)\n  futex(7)\nfor i in range(13):\n  futex(6)\n  t = threading.Thread(target=waiter)\n  t.start()\n  time.sleep(0.05)\n  futex(7)\n  t.join()'";

/// Threads that want the same locks, with perf counting the waits of one kind.
macro_rules! contended {
    ($flags:literal) => {
        concat!(
            "$ perf stat -x, -o /tmp/witness-perf -e lock:contention_begin --filter '",
            $flags,
            "' @SELF@ workload contend 2>&1; printf '{\"perf\": %d}' $(grep -o '^[0-9]*,' /tmp/witness-perf | tr -d ,); rm -f /tmp/witness-perf"
        )
    };
}
const PERF: &[&str] = &["tool:perf", "tracepoint:lock:contention_begin"];
const BY_PERF: &str = "perf counts the waits of the whole process but of threads that end, ours are those of the threads that want the locks.";

const fn waits(name: &'static str, script: &'static str, load: &'static str) -> Row {
    Row::new(
        Subject::Probe(name, script),
        load,
        "perf stat, with a filter by the kind of wait",
        &[
            Within("@", "0.9*perf-20", "1.01*perf+5"),
            By(|seen| {
                let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
                let waits = seen.seen("@")?;
                // On one CPU nobody meets who has the lock.
                if cpus < 2 || waits >= 1.0 || seen.truth("perf")? < 20.0 {
                    Ok(())
                } else {
                    Err(format!("{waits} waits on {cpus} CPUs"))
                }
            }),
        ],
    )
    .needs_also(PERF)
    .bound(BY_PERF)
}

pub const ROWS: &[Row] = &[
    probe("sysinfo:sysread", "sysinfo:sysread /comm == \"load-files\"/ { @ = sum(args.by); }", "files", &[Equal("@", "reads+2")])
        .bound("The load also reads its own counters, twice."),
    probe("sysinfo:syswrite", "sysinfo:syswrite /comm == \"load-files\"/ { @ = sum(args.by); }", "files", &[Equal("@", "writes+1")])
        .bound("The load also writes its truth."),
    probe("sysinfo:readch", "sysinfo:readch /comm == \"load-files\"/ { @ = sum(args.by); }", "files", &[Within("@", "read_bytes", "read_bytes+400")])
        .bound("The load also reads its own counters: 400 bytes at most."),
    probe("sysinfo:writech", "sysinfo:writech /comm == \"load-files\"/ { @ = sum(args.by); }", "files", &[Within("@", "written_bytes", "written_bytes+1000")])
        .bound("The load also writes its truth: 1000 bytes at most."),
    probe("sysinfo:sysfork", "sysinfo:sysfork /comm == \"load-spawn\"/ { @ = sum(args.by); }", "spawn", &[Equal("@", "execs+failed_execs")]),
    probe("sysinfo:nthreads", "sysinfo:nthreads /comm == \"load-spawn\"/ { @ = sum(args.by); }", "spawn", &[Equal("@", "threads")]),
    Row::new(Subject::Probe("sysinfo:sysvfork", "sysinfo:sysvfork /comm == \"gcc\"/ { @ = sum(args.by); }"), VFORKS, "strace", &[Within("@", "1", "1e3"), By(|seen| {
        let told: serde_json::Value = serde_json::from_str(&seen.load_text).unwrap_or_default();
        let (ours, theirs) = (seen.seen("@")?, told["vforks"].as_f64().unwrap_or(-1.0));
        if (ours - theirs).abs() < 0.5 { Ok(()) } else { Err(format!("{ours} vforks, strace says {theirs}")) }
    })]).needs_also(&["cc", "tool:strace"]),
    probe("sysinfo:sysexec", "sysinfo:sysexec /comm == \"exe\"/ { @ = sum(args.by); }", "spawn", &[Equal("@", "execs")]).no_pid(CHILDREN),
    probe("sysinfo:xcalls", "sysinfo:xcalls /comm == \"load-ipi\"/ { @ = sum(args.by); }", "ipi", &[Within("@", "0", "2*membarriers+200")])
        .bound("A CPU that runs nothing of the process is not interrupted; the kernel interrupts for its own ends, too."),
    counter("sysinfo:pswitch", "sysinfo:pswitch { @ = sum(args.by); }", "pingpong", "/proc/stat: ctxt", &[Within("@", "inner:stat.ctxt", "outer:stat.ctxt")]),
    probe("sysinfo:inv_swtch", "sysinfo:inv_swtch /comm == \"queue-runner\"/ { @ = sum(args.by); }", "runqueue", &[Within("@", "preemptions-2*threads", "preemptions+2*threads")])
        .bound(RUNS_TWICE),
    counter("sysinfo:idlethread", "sysinfo:idlethread { @ = sum(args.by); }", "sleep", "/proc/stat: ctxt", &[Within("@", "0", "outer:stat.ctxt")]),
    probe("sysinfo:mutex_adenters", "sysinfo:mutex_adenters { @ = sum(args.by); }", "$ @SELF@ workload mutex", &[Within("@", "2", "1e9")])
        .bound("Others wait for locks, too: at least the two readers."),
    probe("vminfo:as_fault", "vminfo:as_fault /comm == \"load-faults\"/ { @ = sum(args.by); }", "faults", &[Within("@", "fresh_pages+file_pages", "all_faults+200")])
        .bound("The process faults before and after what the load counts, until it has ended."),
    probe("vminfo:kernel_asflt", "vminfo:kernel_asflt /comm == \"dd\"/ { @ = sum(args.by); }", "$ dd if=/dev/zero of=/dev/null bs=8M count=1 status=none", &[Within("@", "1", "1e5")])
        .bound("dd asks the kernel to write into 2,048 fresh pages, or into a few large ones; others run dd, too."),
    counter("vminfo:pgin", "vminfo:pgin { @ = sum(args.by); }", "disk", "/proc/diskstats", &[Within("@", "reads", "outer:diskstats.ios")]).needs_also(&["disk"]),
    counter("vminfo:pgpgin", "vminfo:pgpgin { @ = sum(args.by); }", "disk", "/proc/diskstats", &[Within("@", "inner:diskstats.read_sectors/8", "outer:diskstats.read_sectors/8")]).needs_also(&["disk"]),
    counter("vminfo:pgout", "vminfo:pgout { @ = sum(args.by); }", "disk", "/proc/diskstats", &[Within("@", "writes", "outer:diskstats.ios")]).needs_also(&["disk"]),
    counter("vminfo:pgpgout", "vminfo:pgpgout { @ = sum(args.by); }", "disk", "/proc/diskstats", &[Within("@", "inner:diskstats.written_sectors/8", "outer:diskstats.written_sectors/8")]).needs_also(&["disk"]),
    probe("io:start", "io:start /comm == \"load-disk\"/ { @ = sum(args.bytes); }", "disk", &[Within("@", "written_bytes+read_bytes", "written_bytes+2*read_bytes+65536")])
        .bound("A folder's blocks are read and written, too: 64 KiB at most; what is removed may be discarded.").needs_also(&["disk"]),
    counter("io:done", "io:done { @ = sum(args.bytes); @n = count(); }", "disk", "/proc/diskstats", &[Within("@n", "writes+reads", "outer:diskstats.ios"), Within("@", "written_bytes+read_bytes", "512*outer:diskstats.read_sectors+512*outer:diskstats.written_sectors+512*outer:diskstats.discarded_sectors")]).needs_also(&["disk"]),
    probe("io:wait-start", "io:wait-start { @ = count(); }", "files", &[Within("@", "0", "1e6")]).needs_also(FENTRY)
        .bound("Who writes the journal waits by it, if anyone: only that it attaches is shown."),
    probe("io:wait-done", "io:wait-start { @a = count(); } io:wait-done { @b = count(); }", "files", &[By(|seen| {
        let (begun, done) = (seen.seen("@a")?, seen.seen("@b")?);
        if (begun - done).abs() < 2.5 { Ok(()) } else { Err(format!("{begun} begun, {done} done")) }
    })]).needs_also(FENTRY).bound("Two may be under way when the trace begins or ends."),
    counter("mib:tcpActiveOpens", "mib:tcpActiveOpens { @ = sum(args.by); }", "tcp", "/proc/net/snmp", &[Within("@", "inner:snmp.Tcp.ActiveOpens", "outer:snmp.Tcp.ActiveOpens")]),
    counter("mib:tcpPassiveOpens", "mib:tcpPassiveOpens { @ = sum(args.by); }", "tcp", "/proc/net/snmp", &[Within("@", "inner:snmp.Tcp.PassiveOpens", "outer:snmp.Tcp.PassiveOpens")]),
    probe("mib:tcpOutDataBytes", "mib:tcpOutDataBytes /comm == \"load-tcp\" || comm == \"tcp-server\"/ { @ = sum(args.by); }", "tcp", &[Equal("@", "sent_bytes+answered_bytes+5*resets")]),
    probe("mib:tcpInDataInorderBytes", "mib:tcpInDataInorderBytes /comm == \"load-tcp\" || comm == \"tcp-server\"/ { @ = sum(args.by); }", "tcp", &[Equal("@", "sent_bytes+answered_bytes")]),
    probe("mib:tcpInDataUnorderBytes", "", "", &[]).elsewhere("tests/d/counters/bytes_out_of_order.d", "tcpInDataUnorderBytes"),
    probe("mib:tcpInDataDupBytes", "", "", &[]).elsewhere("tests/d/counters/bytes_out_of_order.d", "tcpInDataDupBytes"),
    counter("mib:tcpRetransBytes", "mib:tcpRetransBytes { @ = sum(args.by); @n = count(); }", "tcploss", "/proc/net/snmp", &[Within("@n", "inner:snmp.Tcp.RetransSegs", "outer:snmp.Tcp.RetransSegs")]),
    counter("mib:tcpRetransSegs", "mib:tcpRetransSegs { @ = sum(args.by); }", "tcploss", "/proc/net/snmp", &[Within("@", "inner:snmp.Tcp.RetransSegs", "outer:snmp.Tcp.RetransSegs")]),
    counter("mib:tcpOutRsts", "mib:tcpOutRsts { @ = sum(args.by); }", "tcp", "/proc/net/snmp", &[Within("@", "inner:snmp.Tcp.OutRsts", "outer:snmp.Tcp.OutRsts")]),
    counter("mib:tcpEstabResets", "mib:tcpEstabResets { @ = sum(args.by); }", "tcp", "/proc/net/snmp",
        &[Within("@", "resets", "resets+2"), Within("@", "resets", "outer:snmp.Tcp.EstabResets")]),
    counter("mib:udpOutDatagrams", "mib:udpOutDatagrams { @ = sum(args.by); }", "dns", "/proc/net/snmp", &[Within("@", "inner:snmp.Udp.OutDatagrams", "outer:snmp.Udp.OutDatagrams+outer:snmp6.Udp6OutDatagrams")]),
    counter("mib:udpInDatagrams", "mib:udpInDatagrams { @ = sum(args.by); }", "dns", "/proc/net/snmp", &[Within("@", "inner:snmp.Udp.InDatagrams", "outer:snmp.Udp.InDatagrams+outer:snmp6.Udp6InDatagrams+outer:snmp.Udp.NoPorts+outer:snmp6.Udp6NoPorts")]),
    counter("mib:icmpOutMsgs", "mib:icmpOutMsgs { @ = sum(args.by); }", UNREACHABLE, "/proc/net/snmp", &[Within("@", "inner:snmp.Icmp.OutMsgs", "outer:snmp.Icmp.OutMsgs")]),
    counter("mib:icmpInMsgs", "mib:icmpInMsgs { @ = sum(args.by); }", UNREACHABLE, "/proc/net/snmp", &[Within("@", "inner:snmp.Icmp.InMsgs", "outer:snmp.Icmp.InMsgs")]),
    counter("mib:icmp6OutMsgs", "mib:icmp6OutMsgs { @ = sum(args.by); }", UNREACHABLE, "/proc/net/snmp6", &[Within("@", "inner:snmp6.Icmp6OutMsgs", "outer:snmp6.Icmp6OutMsgs")]),
    counter("mib:icmp6InMsgs", "mib:icmp6InMsgs { @ = sum(args.by); }", UNREACHABLE, "/proc/net/snmp6", &[Within("@", "inner:snmp6.Icmp6InMsgs", "outer:snmp6.Icmp6InMsgs")]),
    probe("udp:send", "udp:send { @n[args.dport] = count(); @b[args.dport] = sum(args.length); }", "dns", &[Equal("@n[{port}]", "queries+1"), Equal("@b[{port}]", "query_bytes+1+8*queries+8")])
        .bound("The load also sends one byte that ends the server; a datagram's header of 8 bytes is part of its length.").no_pid("refused: packets pass in whatever process is interrupted"),
    probe("udp:receive", "udp:receive { @n[args.sport] = count(); @b[args.sport] = sum(args.length); }", "dns", &[Equal("@n[{port}]", "answers"), Equal("@b[{port}]", "answer_bytes+8*answers")])
        .bound("A datagram's header of 8 bytes is part of its length.").no_pid("refused: packets pass in whatever process is interrupted"),
    counter("tcp:send", "tcp:send { @ = count(); }", "tcp", "/proc/net/snmp", &[Within("@", "2*connections_v4+2*connections_v6", "outer:snmp.Tcp.OutSegs+200")]),
    counter("tcp:receive", "tcp:receive { @ = count(); }", "tcp", "/proc/net/snmp", &[Within("@", "2*connections_v4+2*connections_v6", "outer:snmp.Tcp.InSegs+200")]),
    probe("tcp:state-change", "tcp:state-change /args.state == 2/ { @[args.rport] = count(); }", "tcp", &[Equal("@[{port_v4}]", "connections_v4"), Equal("@[{port_v6}]", "connections_v6"), Equal("@[{refused_port}]", "refused")]),
    probe("tcp:connect-request", "tcp:connect-request { @[args.rport] = count(); }", "tcp", &[Equal("@[{port_v4}]", "connections_v4"), Equal("@[{port_v6}]", "connections_v6"), Equal("@[{refused_port}]", "refused")]),
    probe("tcp:connect-established", "tcp:connect-established { @[args.rport] = count(); }", "tcp", &[Equal("@[{port_v4}]", "connections_v4"), Equal("@[{port_v6}]", "connections_v6"), Equal("@[{refused_port}]", "0")]),
    probe("tcp:connect-refused", "tcp:connect-refused { @[args.rport] = count(); }", "tcp", &[Equal("@[{refused_port}]", "refused"), Equal("@[{reset_port}]", "0")]),
    probe("tcp:accept-established", "tcp:accept-established { @[args.lport] = count(); }", "tcp", &[Equal("@[{port_v4}]", "connections_v4"), Equal("@[{port_v6}]", "connections_v6"), Equal("@[{reset_port}]", "resets")]),
    probe("tcp:accept-refused", "tcp:accept-refused { @ = count(); }", "tcp", &[Within("@", "refused", "1e3")]).bound("Others may be refused, too.").needs_also(FENTRY),
    counter("ip:send", "ip:send /args.device == \"lo\"/ { @ = count(); }", "tcp", "/proc/net/dev", &[Within("@", "inner:net.lo.tx_packets", "outer:net.lo.tx_packets")]),
    counter("ip:receive", "ip:receive /args.device == \"lo\"/ { @ = count(); }", "tcp", "/proc/net/dev", &[Within("@", "inner:net.lo.rx_packets", "outer:net.lo.rx_packets")]),
    probe("proc:create", "proc:create /comm == \"load-spawn\"/ { @ = count(); }", "spawn", &[Equal("@", "execs+failed_execs")]),
    probe("proc:lwp-create", "proc:lwp-create /comm == \"load-spawn\"/ { @ = count(); }", "spawn", &[Equal("@", "execs+failed_execs+threads")]),
    probe("proc:start", "proc:start /comm == \"load-spawn\"/ { @ = count(); }", "spawn", &[Equal("@", "execs+failed_execs")]).no_pid(CHILDREN),
    probe("proc:lwp-start", "proc:lwp-start /comm == \"load-spawn\"/ { @ = count(); }", "spawn", &[Equal("@", "execs+failed_execs+threads")]).no_pid(CHILDREN),
    probe("proc:exec", "proc:exec /comm == \"load-spawn\"/ { @ = count(); }", "spawn", &[Equal("@", "execs+failed_execs")]).no_pid(CHILDREN),
    probe("proc:exec-success", "proc:exec-success /comm == \"exe\"/ { @ = count(); }", "spawn", &[Equal("@", "execs")]).no_pid(CHILDREN),
    probe("proc:exec-failure", "proc:exec-failure /comm == \"load-spawn\"/ { @ = count(); }", "spawn", &[Equal("@", "failed_execs")]).no_pid(CHILDREN),
    probe("proc:exit", "proc:exit { @[comm] = count(); }", "spawn", &[Equal("@[exe]", "execs"), Equal("@[load-spawn]", "failed_execs+1")])
        .bound("The load's own end is seen, too.").no_pid(CHILDREN),
    probe("proc:lwp-exit", "proc:lwp-exit { @[comm] = count(); }", "spawn", &[Equal("@[spawned]", "threads"), Equal("@[exe]", "execs")]).no_pid(CHILDREN),
    probe("proc:signal-send", "proc:signal-send /comm == \"load-signals\"/ { @[args.signal] = count(); }", "signals", &[Equal("@[28]", "0"), Equal("@[15]", "terminated")]),
    probe("proc:signal-discard", "proc:signal-discard /comm == \"load-signals\"/ { @[args.signal] = count(); }", "signals", &[Equal("@[28]", "ignored"), Equal("@[15]", "0")]),
    probe("proc:signal-handle", "proc:signal-handle /args.signal == 10/ { @[comm] = count(); }", "$ /usr/bin/python3 -c 'import os, signal\nsignal.signal(10, lambda *a: None)\nfor i in range(23): os.kill(os.getpid(), 10)'", &[Equal("@[python3]", "23")]),
    probe("proc:signal-clear", "proc:signal-clear { @[comm] = count(); }", SIGWAIT, &[Equal("@[python3]", "17")]),
    probe("sched:enqueue", "sched:enqueue /args.comm == \"ping\"/ { @ = count(); }", "pingpong", &[Within("@", "ping_switches", "1e5")]).needs_also(FENTRY)
        .bound("A thread that is moved is enqueued again."),
    probe("sched:dequeue", "sched:dequeue /args.comm == \"ping\"/ { @ = count(); }", "pingpong", &[Within("@", "ping_switches", "1e5")]).needs_also(FENTRY)
        .bound("A thread that is moved is dequeued first."),
    probe("sched:off-cpu", "sched:off-cpu /comm == \"queue-runner\"/ { @ = count(); }", "runqueue", &[Within("@", "slices-2*threads-2", "slices+2*threads")]).bound(RUNS_TWICE),
    probe("sched:on-cpu", "sched:on-cpu /comm == \"queue-runner\"/ { @ = count(); }", "runqueue", &[Within("@", "slices-2*threads-2", "slices+2*threads")]).needs_also(FENTRY).bound(RUNS_TWICE),
    probe("sched:sleep", "sched:sleep /comm == \"load-sleep\"/ { @ = count(); }", "sleep", &[Within("@", "sleeps", "sleeps+20")])
        .bound("It also waits for what it prints, and while it ends."),
    probe("sched:preempt", "sched:preempt /comm == \"queue-runner\"/ { @ = count(); }", "runqueue", &[Within("@", "preemptions-2*threads", "preemptions+2*threads")]).bound(RUNS_TWICE),
    probe("sched:remain-cpu", "sched:remain-cpu /comm == \"python3\"/ { @ = count(); }", YIELDS, &[Within("@", "0", "1e4")])
        .bound("Whether another thread waits when one yields is the machine's matter: only a bound above."),
    probe("sched:surrender", "sched:surrender /comm == \"python3\"/ { @ = count(); }", YIELDS, &[Equal("@", "137")]),
    probe("sched:tick", "sched:tick /comm == \"queue-runner\"/ { @ = count(); }", "runqueue", &[Within("@", "0.5*run_ns/10000000", "1.5*run_ns/1000000")]).needs_also(FENTRY)
        .bound("Between 100 and 1000 ticks a second of the threads' time, as the kernel was built."),
    probe("sched:wakeup", "sched:wakeup /args.comm == \"ping\" && comm == \"pong\"/ { @ = count(); }", "pingpong", &[Within("@", "0.9*ping_switches-5", "rounds+2")])
        .bound("Who has not yet slept is woken without being switched to."),
    probe("sched:change-pri", "sched:change-pri { @[comm] = count(); }", LENT, &[Equal("@[python3]", "26")]),
    probe("lockstat:adaptive-block", "", "", &[]).elsewhere("tests/d/semantic/waits_for_mutexes.d", "adaptive-block"),
    probe("lockstat:adaptive-acquire-error", "", "", &[]).elsewhere("tests/d/semantic/waits_for_mutexes.d", "adaptive-acquire-error"),
    waits("lockstat:adaptive-spin", "lockstat:adaptive-spin /comm == \"contend\"/ { @ = count(); }", contended!("flags == 33")),
    waits("lockstat:spin-spin", "lockstat:spin-spin /comm == \"contend\"/ { @ = count(); }", contended!("flags == 1")),
    waits("lockstat:rw-block", "lockstat:rw-block /comm == \"contend\"/ { @ = count(); }", contended!("flags == 2 || flags == 4")),
    probe("lockstat:rw-spin", "lockstat:rw-spin { @ = count(); } tracepoint:lock:contention_begin /args.flags == 3 || args.flags == 5/ { @raw = count(); }", "spawn", &[By(|seen| {
        let (ours, raw) = (seen.seen("@")?, seen.seen("@raw")?);
        if (ours - raw).abs() < 1.5 { Ok(()) } else { Err(format!("{ours} waits, the tracepoint has {raw}")) }
    })]).bound("Who meets whom is the machine's matter: as many as waits of this kind at the tracepoint, one more or less as both attach and end.").needs_also(&["tracepoint:lock:contention_begin"]),
    probe("lockstat:adaptive-acquire", "lockstat:adaptive-acquire /comm == \"load-files\"/ { @a = count(); } lockstat:adaptive-release /comm == \"load-files\"/ { @r = count(); }", "files", &[Within("@a", "files", "1e9")]).needs_also(FENTRY)
        .bound("Each file takes at least one mutex or more; how many is the file system's matter."),
    probe("lockstat:adaptive-release", "lockstat:adaptive-release /comm == \"load-files\"/ { @ = count(); }", "files", &[Within("@", "files", "1e9")]).needs_also(FENTRY)
        .bound("As for what is taken."),
    probe("lockstat:spin-acquire", "lockstat:spin-acquire /comm == \"load-files\"/ { @ = count(); }", "files", &[Within("@", "files", "1e9")]).needs_also(FENTRY)
        .bound("Each file takes several; how many is the file system's matter."),
    probe("lockstat:spin-release", "lockstat:spin-release /comm == \"load-files\"/ { @ = count(); }", "files", &[Within("@", "files", "1e9")]).needs_also(FENTRY)
        .bound("As for what is taken."),
    probe("lockstat:rw-acquire", "lockstat:rw-acquire /comm == \"load-files\"/ { @ = count(); }", "files", &[Within("@", "files", "1e9")]).needs_also(FENTRY)
        .bound("Each file takes several; how many is the file system's matter."),
    probe("lockstat:rw-release", "lockstat:rw-release /comm == \"load-files\"/ { @ = count(); }", "files", &[Within("@", "files", "1e9")]).needs_also(FENTRY)
        .bound("As for what is taken."),
];
