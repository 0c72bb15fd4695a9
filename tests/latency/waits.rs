//! Threads that something known keeps, and what `latency task` says of it: the parts of their time add up, and what
//! keeps them is among the causes, by its name. How much of the time it took is a matter of the machine.

use std::fs;
use std::io::Write as _;
use std::net::UdpSocket;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::{kernel, last_cpu, probescope, skip, text};

/// A process that is ended with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A control group, removed at the end; declared before the processes in it, so that those end first.
struct Group(PathBuf);

impl Group {
    fn new(parent: &Path, name: &str) -> Self {
        let path = parent.join(format!("probescope-test-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Self(path)
    }

    fn take_in(&self, process: &Ended) {
        fs::write(self.0.join("cgroup.procs"), process.0.id().to_string()).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Where control groups are mounted: of version 2, and of version 1 with the controller of CPUs.
fn mounts() -> (Option<PathBuf>, Option<PathBuf>) {
    let text = fs::read_to_string("/proc/self/mounts").unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    let find = |of: &dyn Fn(&[&str]) -> bool| rows.iter().find(|row| of(row)).map(|row| PathBuf::from(row[1]));
    let older = |row: &[&str]| row[2] == "cgroup" && row[3].split(',').any(|option| option == "cpu");
    (find(&|row| row[2] == "cgroup2"), find(&older))
}

/// A loop on a CPU, named by its file.
fn burner(cpu: u32) -> Ended {
    let words = ["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"].map(str::to_owned);
    Ended(Command::new("taskset").args(words).spawn().unwrap())
}

/// What is told of a process or a thread that is watched for a second.
fn told(option: &str, id: u32) -> Value {
    let output = probescope(&["task", option, &id.to_string(), "-d", "1s", "--json"]);
    assert!(output.status.success(), "{}", text(&output));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    for thread in told["threads"].as_array().unwrap() {
        let sum: u64 = thread["parts"].as_array().unwrap().iter().map(|part| part.as_u64().unwrap()).sum();
        let wall = thread["wall_ns"].as_u64().unwrap();
        assert!(sum.abs_diff(wall) <= wall / 100, "{sum} of {wall}: {thread}");
    }
    told
}

/// The words of a cause, if it is one.
fn cause(told: &Value, name: &str) -> Option<String> {
    let shares = told["verdict"]["shares"].as_array().unwrap();
    shares.iter().find(|share| share["cause"] == name).map(|share| share["words"].as_str().unwrap().to_owned())
}

#[track_caller]
fn names(told: &Value, name: &str, words: &[&str]) {
    let said = cause(told, name).unwrap_or_else(|| panic!("no {name}: {}", told["verdict"]));
    for word in words {
        assert!(said.contains(word), "{word} in `{said}`: {}", told["verdict"]);
    }
}

#[test]
fn a_process_over_its_quota_is_throttled_by_it() {
    let Some((kernel, _alone)) = kernel() else { return };
    let (unified, older) = mounts();
    let has_cpu = |mount: &PathBuf| {
        fs::read_to_string(mount.join("cgroup.controllers")).unwrap_or_default().split_whitespace().any(|c| c == "cpu")
    };
    let group = if let Some(mount) = unified.filter(has_cpu) {
        fs::write(mount.join("cgroup.subtree_control"), "+cpu").unwrap();
        let group = Group::new(&mount, "quota");
        if !group.0.join("cpu.max").exists() {
            return skip::skip("this kernel has no quota of CPU time (CONFIG_CFS_BANDWIDTH)");
        }
        fs::write(group.0.join("cpu.max"), "5000 50000").unwrap();
        group
    } else if let Some(mount) = older {
        let group = Group::new(&mount, "quota");
        fs::write(group.0.join("cpu.cfs_period_us"), "50000").unwrap();
        fs::write(group.0.join("cpu.cfs_quota_us"), "5000").unwrap();
        group
    } else {
        return skip::skip("no control group has a controller of CPUs here");
    };
    let busy = burner(last_cpu(&kernel));
    group.take_in(&busy);
    let told = told("-p", busy.0.id());
    names(&told, "quota", &["its own quota", "5000 50000, used up"]);
}

#[test]
fn who_has_the_cpu_in_another_control_group_is_a_neighbour() {
    let Some((kernel, _alone)) = kernel() else { return };
    let (Some(mount), _) = mounts() else { return skip::skip("control groups of version 2 are not mounted") };
    let (own, other) = (Group::new(&mount, "own"), Group::new(&mount, "other"));
    let (kept, neighbour) = (burner(last_cpu(&kernel)), burner(last_cpu(&kernel)));
    own.take_in(&kept);
    other.take_in(&neighbour);
    let told = told("-p", kept.0.id());
    let behind = format!("behind sh:{}", neighbour.0.id());
    let group = other.0.file_name().unwrap().to_string_lossy().into_owned();
    names(&told, "neighbours", &["other control groups"]);
    // Others may have had it longer on a busy machine.
    let row = told["behind"].as_array().unwrap().iter().find(|row| row["name"] == behind["behind ".len()..]);
    let row = row.unwrap_or_else(|| panic!("{behind}: {told}"));
    assert!(row["relation"] == "neighbour" && row["cgroup"].as_str().unwrap().ends_with(&group), "{row}");
}

/// Runs something on a thread of its own, over and over, while it is watched.
fn watched(work: impl FnMut() + Send + 'static) -> Value {
    let (stop, id) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let (stopped, own) = (Arc::clone(&stop), Arc::clone(&id));
    let mut work = work;
    let thread = std::thread::spawn(move || {
        own.store(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned(), Ordering::Release);
        while !stopped.load(Ordering::Relaxed) {
            work();
        }
    });
    while id.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    let told = told("-t", id.load(Ordering::Acquire));
    stop.store(true, Ordering::Relaxed);
    thread.join().unwrap();
    told
}

#[test]
fn a_thread_that_waits_for_a_lock_is_kept_by_locks() {
    let Some((_kernel, _alone)) = kernel() else { return };
    let lock = Arc::new(Mutex::new(()));
    let (held, stop) = (Arc::clone(&lock), Arc::new(AtomicBool::new(false)));
    let stopped = Arc::clone(&stop);
    let holder = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            let held = held.lock().unwrap();
            std::thread::sleep(Duration::from_millis(20));
            drop(held);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let told = watched(move || {
        drop(lock.lock().unwrap());
        std::thread::sleep(Duration::from_micros(100));
    });
    stop.store(true, Ordering::Relaxed);
    holder.join().unwrap();
    names(&told, "locks", &["locks", "futex"]);
}

#[test]
fn a_thread_whose_packets_come_back_to_it_is_interrupted_by_softirqs() {
    let Some((_kernel, _alone)) = kernel() else { return };
    let (to, from) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    from.connect(to.local_addr().unwrap()).unwrap();
    to.set_nonblocking(true).unwrap();
    let told = watched(move || {
        let _ = from.send(&[0; 64]);
        let _ = to.recv(&mut [0; 64]);
    });
    names(&told, "interrupts", &["interrupts took the CPU", "softirqs"]);
}

#[test]
fn a_thread_that_waits_for_a_disk_is_kept_by_io() {
    let Some((_kernel, _alone)) = kernel() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let kind = rustix::fs::statfs(folder).map(|found| found.f_type).unwrap_or_default();
    // tmpfs, and an overlay that may lie on one.
    if kind == 0x0102_1994 || kind == 0x794c_7630 {
        return skip::skip("the folder of tests is on no disk");
    }
    let path = folder.join(format!("probescope-io-{}", std::process::id()));
    let mut file =
        fs::File::options().write(true).create(true).truncate(true).custom_flags(libc::O_DSYNC).open(&path).unwrap();
    let told = watched(move || file.write_all(&[7; 4096]).unwrap());
    fs::remove_file(path).unwrap();
    names(&told, "io", &["I/O"]);
}
