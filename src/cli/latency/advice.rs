//! Settings that bear on noise: what each concerns, where its value is, and what changing it would do.

use std::path::Path;

use crate::kernel::Kernel;
use crate::model::latency::NoiseClass;

/// One setting.
#[derive(Debug)]
pub struct Advice {
    /// Its name as people know it.
    pub setting: &'static str,
    /// Where its value is: below `/sys` or `/proc`; `{irq}` is the number of the interrupt that it is about.
    path: &'static str,
    /// Which class of source it bears on.
    class: NoiseClass,
    /// How the names of these sources begin; empty for all of the class.
    sources: &'static [&'static str],
    /// What changing it would do.
    pub change: &'static str,
}

/// All of them.
pub static ADVICE: [Advice; 20] = [
    Advice {
        setting: "IRQ affinity",
        path: "/proc/irq/{irq}/smp_affinity_list",
        class: NoiseClass::Irq,
        sources: &["line"],
        change: "write CPUs that are not latency critical there: the device's interrupts go to them",
    },
    Advice {
        setting: "nohz_full",
        path: "/sys/devices/system/cpu/nohz_full",
        class: NoiseClass::Irq,
        sources: &["local_timer:"],
        change: "boot with nohz_full=CPUS: a CPU with one runnable thread gets no periodic tick",
    },
    Advice {
        setting: "isolcpus",
        path: "/sys/devices/system/cpu/isolated",
        class: NoiseClass::Thread,
        sources: &[],
        change: "boot with isolcpus=domain,managed_irq,CPUS, or use an isolated cpuset: threads stay off these CPUs",
    },
    Advice {
        setting: "idle states",
        path: "/sys/module/intel_idle/parameters/max_cstate",
        class: NoiseClass::Timer,
        sources: &[],
        change: "hold /dev/cpu_dma_latency at 0 (--dma-latency 0) while it matters: no CPU sleeps deeply",
    },
    Advice {
        setting: "frequency governor",
        path: "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        class: NoiseClass::Timer,
        sources: &[],
        change: "performance: CPUs need not be sped up when work comes",
    },
    Advice {
        setting: "transparent huge pages",
        path: "/sys/kernel/mm/transparent_hugepage/enabled",
        class: NoiseClass::Thread,
        sources: &["khugepaged"],
        change: "madvise: khugepaged collapses only what asked for it, and page faults are shorter",
    },
    Advice {
        setting: "NMI watchdog",
        path: "/proc/sys/kernel/nmi_watchdog",
        class: NoiseClass::Nmi,
        sources: &[],
        change: "0: no NMI from the performance counters every few seconds; hard lockups are found no longer",
    },
    Advice {
        setting: "soft lockup watchdog",
        path: "/proc/sys/kernel/watchdog_cpumask",
        class: NoiseClass::Thread,
        sources: &["migration/", "watchdog/"],
        change: "leave out latency critical CPUs: no stopper thread every 4 s there",
    },
    Advice {
        setting: "automatic NUMA balancing",
        path: "/proc/sys/kernel/numa_balancing",
        class: NoiseClass::Irq,
        sources: &["call_function"],
        change: "0: no page faults and TLB flushes to find out which node uses a page",
    },
    Advice {
        setting: "vm.stat_interval",
        path: "/proc/sys/vm/stat_interval",
        class: NoiseClass::Thread,
        sources: &["kworker vmstat"],
        change: "larger: counters of memory are folded less often",
    },
    Advice {
        setting: "RCU callbacks",
        path: "/sys/module/rcutree/parameters/kthread_prio",
        class: NoiseClass::Softirq,
        sources: &["RCU:"],
        change: "boot with rcu_nocbs=CPUS: callbacks run in threads that can be kept on other CPUs",
    },
    Advice {
        setting: "timer migration",
        path: "/proc/sys/kernel/timer_migration",
        class: NoiseClass::Softirq,
        sources: &["TIMER:"],
        change: "1: timers of idle CPUs go to a busy one; with nohz_full they leave these CPUs",
    },
    Advice {
        setting: "unbound work items",
        path: "/sys/devices/virtual/workqueue/cpumask",
        class: NoiseClass::Thread,
        sources: &["kworker"],
        change: "only housekeeping CPUs: work items that are bound to none run there",
    },
    Advice {
        setting: "write-back interval",
        path: "/proc/sys/vm/dirty_writeback_centisecs",
        class: NoiseClass::Thread,
        sources: &["kworker wb_workfn", "kworker"],
        change: "larger: dirty pages are written less often, and more at a time",
    },
    Advice {
        setting: "proactive compaction",
        path: "/proc/sys/vm/compaction_proactiveness",
        class: NoiseClass::Thread,
        sources: &["kcompactd"],
        change: "0: memory is compacted only when a large page is asked for",
    },
    Advice {
        setting: "kernel same-page merging",
        path: "/sys/kernel/mm/ksm/run",
        class: NoiseClass::Thread,
        sources: &["ksmd"],
        change: "0: no thread looks for equal pages",
    },
    Advice {
        setting: "packet steering",
        path: "/sys/class/net/lo/queues/rx-0/rps_cpus",
        class: NoiseClass::Softirq,
        sources: &["NET_RX:", "NET_TX:"],
        change: "a mask of other CPUs: they do the work of packets (for each queue of each device)",
    },
    Advice {
        setting: "real-time throttling",
        path: "/proc/sys/kernel/sched_rt_runtime_us",
        class: NoiseClass::Thread,
        sources: &["swapper"],
        change: "-1: real-time threads are never paused for others, who may then get nothing; from 6.12 on the fair server (debugfs sched/fair_server) does that",
    },
    Advice {
        setting: "SMT",
        path: "/sys/devices/system/cpu/smt/control",
        class: NoiseClass::Hardware,
        sources: &[],
        change: "off: no thread shares its core with another",
    },
    Advice {
        setting: "clock source",
        path: "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        class: NoiseClass::Hardware,
        sources: &[],
        change: "tsc where it is stable: reading the clock needs no device and no hypervisor",
    },
];

impl Advice {
    /// Whether it bears on a source.
    #[must_use]
    pub fn concerns(&self, class: NoiseClass, name: &str) -> bool {
        if class != self.class {
            return false;
        }
        if self.sources == ["line"] {
            return line_of(name).is_some();
        }
        self.sources.is_empty() || self.sources.iter().any(|start| name.starts_with(start))
    }

    /// Its value now, or why there is none.
    #[must_use]
    pub fn value(&self, kernel: &Kernel, source: Option<&str>) -> String {
        let line = source.and_then(line_of).unwrap_or(0);
        let path = self.path.replace("{irq}", &line.to_string());
        let roots = kernel.roots();
        let file = match (path.strip_prefix("/proc/"), path.strip_prefix("/sys/")) {
            (Some(rest), _) => roots.proc.join(rest),
            (_, Some(rest)) => roots.sys.join(rest),
            _ => Path::new(&path).to_owned(),
        };
        match std::fs::read_to_string(&file) {
            Ok(text) if text.trim().is_empty() => "none".to_owned(),
            Ok(text) => text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(80).collect(),
            Err(_) => format!("not on this machine ({path})"),
        }
    }
}

/// The number of an interrupt line; vectors of the CPU have none that could be moved.
fn line_of(name: &str) -> Option<u32> {
    const VECTORS: [&str; 6] =
        ["local_timer", "reschedule", "call_function", "irq_work", "error_apic", "spurious_apic"];
    let (start, number) = name.rsplit_once(':')?;
    let number = number.parse().ok()?;
    (!VECTORS.iter().any(|v| start.starts_with(v)) && !start.ends_with("apic")).then_some(number)
}

/// All settings that have one value, with it.
#[must_use]
pub fn values(kernel: &Kernel) -> Vec<(&'static str, String)> {
    ADVICE.iter().filter(|a| !a.path.contains('{')).map(|a| (a.setting, a.value(kernel, None))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_given_to_whom_it_concerns() {
        let settings = |class, name| -> Vec<&str> {
            ADVICE.iter().filter(|a| a.concerns(class, name)).map(|a| a.setting).collect()
        };
        assert_eq!(settings(NoiseClass::Irq, "virtio0-input.0:24"), ["IRQ affinity"]);
        assert_eq!(settings(NoiseClass::Irq, "local_timer:236"), ["nohz_full"]);
        assert_eq!(settings(NoiseClass::Softirq, "NET_RX:3"), ["packet steering"]);
        assert!(settings(NoiseClass::Thread, "khugepaged").contains(&"transparent huge pages"));
        assert!(settings(NoiseClass::Nmi, "perf_event_nmi_handler").contains(&"NMI watchdog"));
    }
}
