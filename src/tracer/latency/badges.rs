//! What bears on the figures: the machine, its topology, and what the backend cannot see.

use std::collections::HashMap;
use std::path::Path;

use super::smi::{self, Smis};
use super::{Mode, Options, Policy};
use crate::kernel::Kernel;
use crate::kernel::cpus::CpuSet;
use crate::model::latency::{Badge, CpuPlace};

/// Nanoseconds of one step of the kernel's counters of CPU time, which `/proc/stat` has in hundredths of a second.
const STEP_NS: u64 = 10_000_000;

fn badge(short: &str, about: impl Into<String>) -> Badge {
    Badge { short: short.to_owned(), about: about.into() }
}

/// Whether this is a virtual machine, as its processors tell.
fn is_virtual(kernel: &Kernel) -> bool {
    let text = kernel.proc_text("cpuinfo").unwrap_or_default();
    text.lines().any(|line| line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// What the kernel takes from real-time threads for ordinary ones, where that bears on the figures: always on those of
/// real-time measuring threads, and on timers of the whole system.
fn ordinary_threads(kernel: &Kernel, options: &Options) -> Option<Badge> {
    if options.mode != Mode::Passive && options.policy == Policy::Other {
        return None;
    }
    let whose = if options.mode == Mode::Passive {
        "where a real-time thread waits for that, it waits for no noise of the system."
    } else {
        "that is no noise of the system."
    };
    if has_fair_server(kernel) {
        let text = kernel.sys_text("kernel/debug/sched/fair_server/cpu0/runtime");
        let runtime_ns = text.and_then(|text| text.trim().parse::<u64>().ok());
        if runtime_ns == Some(0) {
            return None;
        }
        let ms =
            runtime_ns.map_or("50 ms, unless it was set otherwise,".to_owned(), |ns| format!("{} ms", ns as f64 / 1e6));
        return Some(badge(
            "fair server",
            format!("Ordinary threads get {ms} of each second from the fair server: {whose}"),
        ));
    }
    let text = kernel.proc_text("sys/kernel/sched_rt_runtime_us")?;
    let us = text.trim().parse::<i64>().ok().filter(|us| *us > 0)?;
    let about = format!("Real-time threads get {us} us of each second at most, the rest is for ordinary ones: {whose}");
    Some(badge("RT throttling", about))
}

/// Linux 6.12 and later; its settings are in debugfs, which need not be mounted.
fn has_fair_server(kernel: &Kernel) -> bool {
    let by_types = || {
        let btf = kernel.btf().ok()?;
        let rq = btf.find_struct("rq")?;
        Some(btf.members(rq).any(|member| member.name == "fair_server"))
    };
    kernel.sys_text("kernel/debug/sched/fair_server/cpu0/runtime").is_some() || by_types().unwrap_or(false)
}

/// What whoever reads the figures should know, the most important first.
pub fn badges(kernel: &Kernel, options: &Options, described: &[String]) -> Vec<Badge> {
    let mut told = Vec::new();
    if is_virtual(kernel) {
        told.push(badge(
            "VM",
            "A virtual machine: gaps in which nothing was entered (HW) are mostly the hypervisor's, and every interrupt \
             pays for leaving the guest. Steal is what the hypervisor says that it gave to others.",
        ));
    } else {
        let counted = Smis::start(Path::new(smi::REGISTERS), &[kernel.online_cpus().first()]).is_counted();
        let told_apart = if counted {
            "how many SMIs each CPU had is told at the end."
        } else {
            "they are not told apart: this processor does not count SMIs, or the module msr is not loaded (modprobe msr)."
        };
        told.push(badge(
            if counted { "SMI" } else { "SMI?" },
            format!(
                "Gaps in which nothing was entered (HW) are the firmware's (SMI) or a stalled core's; {told_apart}"
            ),
        ));
    }
    told.extend(ordinary_threads(kernel, options));
    if options.mode != Mode::Passive && options.policy == Policy::Other {
        told.push(badge(
            "SCHED_OTHER",
            "The measuring threads are ordinary ones: others that run on their CPUs are noise. -P f:95 measures what a \
             real-time thread would see.",
        ));
    }
    told.extend(described.iter().map(|line| badge("limits", line.as_str())));
    told
}

/// Where the CPUs are.
pub fn places(kernel: &Kernel) -> Vec<CpuPlace> {
    let isolated = kernel.sys_text("devices/system/cpu/isolated").map(|text| CpuSet::parse(&text)).unwrap_or_default();
    let mut nodes = HashMap::new();
    let possible = kernel.sys_text("devices/system/node/possible").map(|text| CpuSet::parse(&text)).unwrap_or_default();
    for node in possible.as_slice() {
        let cpus = kernel.sys_text(format!("devices/system/node/node{node}/cpulist")).unwrap_or_default();
        nodes.extend(CpuSet::parse(&cpus).as_slice().iter().map(|cpu| (*cpu, *node)));
    }
    let place = |cpu: &u32| {
        let list = |path: &str| {
            let text = kernel.sys_text(format!("devices/system/cpu/cpu{cpu}/{path}")).unwrap_or_default();
            CpuSet::parse(&text).as_slice().to_vec()
        };
        let mut levels = (0..8).rev().map(|index| list(&format!("cache/index{index}/shared_cpu_list")));
        CpuPlace {
            cpu: *cpu,
            node: nodes.get(cpu).copied().unwrap_or(0),
            cache: levels.find_map(|shared| shared.first().copied()).unwrap_or(*cpu),
            core: list("topology/thread_siblings_list"),
            isolated: isolated.as_slice().contains(cpu),
        }
    };
    kernel.online_cpus().as_slice().iter().map(place).collect()
}

/// The time that a hypervisor has given to others so far, by CPU.
pub fn stolen(kernel: &Kernel) -> HashMap<u32, u64> {
    let text = kernel.proc_text("stat").unwrap_or_default();
    let of = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_whitespace();
        let cpu = words.next()?.parse().ok()?;
        let steps: u64 = words.nth(7)?.parse().ok()?;
        Some((cpu, steps.saturating_mul(STEP_NS)))
    };
    text.lines().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Roots;

    /// A machine as files tell of it: eight CPUs, two on each core, two cores on each node and its cache.
    fn machine(name: &str, cpuinfo: &str) -> (std::path::PathBuf, Kernel) {
        let root = std::env::temp_dir().join(format!("probescope-badges-{name}-{}", std::process::id()));
        let write = |path: String, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        };
        write("proc/cpuinfo".into(), cpuinfo);
        let cpus = "sys/devices/system/cpu";
        write(format!("{cpus}/online"), "0-7");
        write(format!("{cpus}/isolated"), "3,7");
        write("sys/devices/system/node/possible".into(), "0-1");
        for (node, list) in ["0-1,4-5", "2-3,6-7"].into_iter().enumerate() {
            write(format!("sys/devices/system/node/node{node}/cpulist"), list);
            for cpu in [node * 2, node * 2 + 1, node * 2 + 4, node * 2 + 5] {
                write(format!("{cpus}/cpu{cpu}/cache/index0/shared_cpu_list"), &format!("{},{}", cpu % 4, cpu % 4 + 4));
                write(format!("{cpus}/cpu{cpu}/cache/index3/shared_cpu_list"), list);
                let siblings = format!("{},{}", cpu % 4, cpu % 4 + 4);
                write(format!("{cpus}/cpu{cpu}/topology/thread_siblings_list"), &siblings);
            }
        }
        let kernel = Kernel::new(Roots::fixture(&root));
        (root, kernel)
    }

    #[test]
    fn cpus_lie_where_the_kernel_says() {
        let (root, kernel) = machine("places", "flags : fpu");
        let places = places(&kernel);
        std::fs::remove_dir_all(root).unwrap();
        assert_eq!(places.len(), 8);
        let told: Vec<_> = places.iter().map(|p| (p.node, p.cache, p.core.clone(), p.isolated)).collect();
        assert_eq!(told[1], (0, 0, vec![1, 5], false));
        assert_eq!(told[5], (0, 0, vec![1, 5], false));
        assert_eq!(told[3], (1, 2, vec![3, 7], true), "the last level of cache counts, not the first");
        assert_eq!(told[6], (1, 2, vec![2, 6], false));
    }

    #[test]
    fn gaps_without_entries_are_the_hypervisors_or_the_firmwares() {
        let short = |cpuinfo: &str, name: &str| {
            let (root, kernel) = machine(name, cpuinfo);
            let told = badges(&kernel, &Options::default(), &[]);
            std::fs::remove_dir_all(root).unwrap();
            told.into_iter().map(|badge| badge.short).collect::<Vec<_>>()
        };
        assert_eq!(short("flags\t\t: fpu hypervisor lahf_lm", "guest"), ["VM"]);
        let bare = short("flags\t\t: fpu lahf_lm\nbugs : hypervisor", "bare");
        assert!(bare.len() == 1 && bare[0].starts_with("SMI"), "{bare:?}");
    }

    #[test]
    fn what_ordinary_threads_are_given_is_told_by_its_mechanism() {
        let (root, kernel) = machine("given", "flags : fpu");
        let told = |mode, policy| {
            let options = Options { mode, policy, ..Options::default() };
            ordinary_threads(&kernel, &options).map(|badge| badge.about)
        };
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let rt = Policy::Fifo(95);
        assert_eq!(told(Mode::Timerlat, rt), None);
        write("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
        assert!(told(Mode::Timerlat, rt).unwrap().starts_with("Real-time threads get 950000 us"));
        assert!(told(Mode::Passive, Policy::Other).unwrap().contains("where a real-time thread waits"));
        assert_eq!(told(Mode::Osnoise, Policy::Other), None, "ordinary threads have nothing taken from them");
        write("proc/sys/kernel/sched_rt_runtime_us", "-1\n");
        assert_eq!(told(Mode::Timerlat, rt), None);
        write("sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000\n");
        assert!(told(Mode::Passive, Policy::Other).unwrap().starts_with("Ordinary threads get 50 ms of each second"));
        write("sys/kernel/debug/sched/fair_server/cpu0/runtime", "0\n");
        assert_eq!(told(Mode::Timerlat, rt), None);
        std::fs::remove_dir_all(root).unwrap();
    }
}
