//! What is left of a measurement once it has ended, however it did: nothing. After `kill -9` the next start restores.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use probescope::kernel::Kernel;
use probescope::tracer::latency::tracefs::available;

use super::{kernel, text};

/// Settings by the file that has them.
pub type State = BTreeMap<PathBuf, String>;

fn keep(state: &mut State, path: PathBuf) {
    let mut bytes = vec![0; 4096];
    // By one long read: `osnoise/cpus` answers short ones with EINVAL.
    let read = fs::File::open(&path).and_then(|mut file| file.read(&mut bytes));
    if let Ok(length) = read {
        let text = bytes[..length].iter().fold(String::new(), |mut text, byte| {
            let _ = if byte.is_ascii_graphic() || *byte == b' ' {
                write!(text, "{}", *byte as char)
            } else {
                write!(text, "/{byte:x}")
            };
            text
        });
        state.insert(path, text);
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// All that a measurement may change in the system.
pub fn state(kernel: &Kernel) -> State {
    let mut state = State::new();
    if let Ok(tracefs) = kernel.tracefs() {
        for name in [
            "current_tracer",
            "tracing_thresh",
            "tracing_on",
            "tracing_cpumask",
            "set_event",
            "set_event_pid",
            "set_event_notrace_pid",
            "set_ftrace_filter",
            "set_ftrace_notrace",
            "set_ftrace_pid",
            "set_graph_function",
            "max_graph_depth",
            "trace_clock",
            "dynamic_events",
            "trace_options",
        ] {
            keep(&mut state, tracefs.join(name));
        }
        for folder in ["osnoise", "hwlat_detector"] {
            entries(&tracefs.join(folder)).into_iter().for_each(|path| keep(&mut state, path));
        }
        for instance in entries(&tracefs.join("instances")) {
            state.insert(instance, "there".to_owned());
        }
    }
    for state_folder in
        entries(Path::new("/sys/devices/system/cpu")).iter().flat_map(|cpu| entries(&cpu.join("cpuidle")))
    {
        keep(&mut state, state_folder.join("disable"));
    }
    for server in entries(Path::new("/sys/kernel/debug/sched/fair_server")).iter().flat_map(|cpu| entries(cpu)) {
        keep(&mut state, server);
    }
    for path in [
        "/dev/cpu_dma_latency",
        "/proc/sys/kernel/bpf_stats_enabled",
        "/proc/sys/kernel/sched_rt_runtime_us",
        "/proc/sys/kernel/sched_rt_period_us",
    ] {
        keep(&mut state, PathBuf::from(path));
    }
    state
}

/// What differs.
pub fn changes(before: &State, after: &State) -> Vec<String> {
    let paths = before.keys().chain(after.keys()).collect::<std::collections::BTreeSet<_>>();
    let told = |path: &&PathBuf| format!("{}: {:?} -> {:?}", path.display(), before.get(*path), after.get(*path));
    paths.iter().filter(|path| before.get(**path) != after.get(**path)).map(told).collect()
}

fn start(words: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_probescope"));
    command.arg("latency").args(words.split(' ')).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Once the measurement has changed something; it has a minute for that.
pub fn await_change(kernel: &Kernel, before: &State, child: &mut Child) {
    let end = Instant::now() + Duration::from_secs(60);
    while changes(before, &state(kernel)).is_empty() {
        if let Some(status) = child.try_wait().unwrap() {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("it ended with {status}: {said}");
        }
        assert!(Instant::now() < end, "nothing was changed: this test proves nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Measurements that change settings, of those that this kernel has.
fn measurements(kernel: &Kernel) -> Vec<&'static str> {
    let mut all = vec!["timerlat top -q --backend bpf --dma-latency 17 -e sched:sched_switch"];
    if available(kernel, "timerlat").is_ok() {
        all.push("timerlat hist --backend tracefs -p 2000 -s 300 -T 1000000 --dma-latency 17");
    }
    if available(kernel, "osnoise").is_ok() {
        all.extend([
            "osnoise top -q --backend tracefs -c 0 -p 200000 -r 100000 -T 7",
            "hwnoise -q -c 0 -p 300000 -r 100000",
        ]);
    }
    if available(kernel, "hwlat").is_ok() {
        all.push("hwnoise -q --backend hwlat -c 0 -p 400000 -r 100000");
    }
    all
}

#[test]
fn a_measurement_that_ends_leaves_all_as_it_was() {
    let Some((kernel, _alone)) = kernel() else { return };
    for words in measurements(&kernel) {
        let before = state(&kernel);
        let mut child = start(words);
        await_change(&kernel, &before, &mut child);
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let status = child.wait().unwrap();
        assert!(status.success(), "{words}: {status}");
        assert_eq!(changes(&before, &state(&kernel)), Vec::<String>::new(), "{words}");
    }
}

#[test]
fn what_a_killed_measurement_changed_is_restored_by_the_next_start() {
    let Some((kernel, _alone)) = kernel() else { return };
    for words in measurements(&kernel) {
        let before = state(&kernel);
        let mut child = start(words);
        await_change(&kernel, &before, &mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        // Anything that looks at the kernel is a start: nothing has to be measured again.
        let next = Command::new(env!("CARGO_BIN_EXE_probescope")).args(["latency", "advise"]).output().unwrap();
        assert!(next.status.success(), "{}", text(&next));
        assert_eq!(changes(&before, &state(&kernel)), Vec::<String>::new(), "{words}: {}", text(&next));
    }
}
