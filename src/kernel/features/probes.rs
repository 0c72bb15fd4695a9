//! The answer for each feature.

use super::Feature;
use super::evidence::{Evidence, cap};
use crate::kernel::Absence;

type Answer = Result<(), Absence>;

impl Evidence<'_> {
    pub(super) fn answer(&self, feature: Feature) -> Answer {
        match feature {
            Feature::Rights => self.rights(),
            Feature::Tracefs => self.kernel.tracefs().map(drop),
            Feature::Btf => self.kernel.btf().map(drop),
            Feature::Symbols => self.symbols(),
            Feature::Jit => self.jit(),
            Feature::FunctionList => self.function_list(),
            Feature::Tracepoint
            | Feature::SyscallTracepoints
            | Feature::RawTracepoint
            | Feature::Osnoise
            | Feature::Timerlat
            | Feature::UserEvents
            | Feature::HistTriggers => self.tracing(feature),
            Feature::Kprobe
            | Feature::KprobeMulti
            | Feature::KprobeSession
            | Feature::Fentry
            | Feature::FentryMulti
            | Feature::Override => self.kernel_functions(feature),
            Feature::Uprobe
            | Feature::UprobeMulti
            | Feature::Usdt
            | Feature::PerfSoftware
            | Feature::PerfHardware
            | Feature::Watchpoint => self.perf(feature),
            Feature::Iter
            | Feature::RingBuffer
            | Feature::BpfStats
            | Feature::AttachCookie
            | Feature::BpfLoop
            | Feature::DPath => self.bpf(feature),
        }
    }

    fn rights(&self) -> Answer {
        let absence = |reason: &str, remedy: &str| Err(Absence::new("rights to trace", reason, remedy));
        let missing: Vec<_> = [(cap::BPF, "CAP_BPF"), (cap::PERFMON, "CAP_PERFMON")]
            .into_iter()
            .filter(|(bit, _)| !self.capable(*bit) && !self.capable(cap::SYS_ADMIN))
            .map(|(_, name)| name)
            .collect();
        if let Some(mode) = self.lockdown.as_deref().filter(|mode| *mode == "confidentiality") {
            let reason = format!("the kernel is locked down ({mode}): programs may not read kernel memory");
            return absence(&reason, "boot with lockdown=integrity or without Secure Boot");
        }
        if missing.is_empty() {
            return Ok(());
        }
        let also = if self.capable(cap::DAC_READ_SEARCH) { "" } else { ", and CAP_DAC_READ_SEARCH to read tracefs" };
        absence(
            &format!("{} missing", missing.join(" and ")),
            &format!("run as root, or with {}{also}", missing.join(" and ")),
        )
    }

    fn symbols(&self) -> Answer {
        let restrict = self.kernel.proc_text("sys/kernel/kptr_restrict").unwrap_or_default();
        if !self.kernel.roots().proc.join("kallsyms").exists() {
            let remedy = "boot a kernel built with CONFIG_KALLSYMS=y";
            return Err(Absence::new("kernel symbols", "there is no /proc/kallsyms", remedy));
        }
        if restrict == "2" {
            let remedy = "sysctl kernel.kptr_restrict=1";
            return Err(Absence::new("kernel symbols", "kernel.kptr_restrict=2 hides addresses from everyone", remedy));
        }
        Ok(())
    }

    fn jit(&self) -> Answer {
        let enabled = self.kernel.proc_text("sys/net/core/bpf_jit_enable");
        if self.option("BPF_JIT_ALWAYS_ON") == Some(true) || enabled.as_deref() != Some("0") {
            return Ok(());
        }
        let remedy = "sysctl net.core.bpf_jit_enable=1";
        Err(Absence::new("BPF JIT", "net.core.bpf_jit_enable=0: programs are interpreted, many times slower", remedy))
    }

    fn function_list(&self) -> Answer {
        let path = self.kernel.tracefs()?.join("available_filter_functions");
        std::fs::File::open(&path).map(drop).map_err(|e| {
            let remedy = "run as root on a kernel with CONFIG_DYNAMIC_FTRACE=y that is not locked down";
            Absence::new("function list", &format!("{}: {e}", path.display()), remedy)
        })
    }

    /// What tracefs and its tracers offer.
    fn tracing(&self, feature: Feature) -> Answer {
        let tracefs = self.kernel.tracefs()?;
        let tracer = |name: &str| self.tracers.split_whitespace().any(|t| t == name);
        match feature {
            Feature::Tracepoint => self.configured(feature, "BPF_EVENTS"),
            Feature::SyscallTracepoints if tracefs.join("events/syscalls").is_dir() => Ok(()),
            Feature::SyscallTracepoints => {
                Err(self.unset(feature, "FTRACE_SYSCALLS", "use raw tracepoints sys_enter and sys_exit"))
            }
            Feature::RawTracepoint => {
                self.kernel.btf()?;
                self.configured(feature, "BPF_EVENTS")
            }
            Feature::Osnoise if tracer("osnoise") => Ok(()),
            Feature::Osnoise => {
                Err(self.unset(feature, "OSNOISE_TRACER", "`probescope latency osnoise` measures the same without it"))
            }
            Feature::Timerlat if tracer("timerlat") => Ok(()),
            Feature::Timerlat => Err(self.unset(
                feature,
                "TIMERLAT_TRACER",
                "`probescope latency timerlat` measures the same without it",
            )),
            Feature::UserEvents if tracefs.join("user_events_data").exists() => {
                let reason = "the kernel has them, and runs no program on them";
                Err(Absence::new(
                    feature.name(),
                    reason,
                    "`probescope ftrace events -e user_events:NAME` reads them; scripts use usdt probes",
                ))
            }
            Feature::UserEvents => Err(self.unset(feature, "USER_EVENTS", "use usdt probes")),
            _ if self.readme.contains("hist trigger") => Ok(()),
            _ => Err(self.unset(feature, "HIST_TRIGGERS", "use hist() in a script")),
        }
    }

    /// Ways to probe kernel functions.
    fn kernel_functions(&self, feature: Feature) -> Answer {
        match feature {
            Feature::Kprobe => self.kprobe(),
            Feature::KprobeMulti => {
                self.kprobe()?;
                self.configured_with(feature, "FPROBE", "each function is attached by itself")?;
                self.value(feature, "BPF_TRACE_KPROBE_MULTI", (5, 18), "each function is attached by itself")?;
                // The configuration is not always to be read; the function is there only with the option.
                let built = || self.kernel.btf().ok().map(|btf| btf.func("register_fprobe_ips").is_some());
                match self.option("FPROBE").or_else(built) {
                    Some(false) => Err(self.unset(feature, "FPROBE", "each function is attached by itself")),
                    _ => Ok(()),
                }
            }
            Feature::KprobeSession => {
                self.kprobe()?;
                // Its own version first: that of the links that it builds on would be too low.
                self.value(feature, "BPF_TRACE_KPROBE_SESSION", (6, 10), "entry and return are attached apart")?;
                self.kernel_functions(Feature::KprobeMulti)
            }
            Feature::Fentry => self.fentry(),
            Feature::FentryMulti => {
                self.fentry()?;
                self.value(feature, "BPF_TRACE_FENTRY_MULTI", (7, 2), "each function's program is loaded by itself")
            }
            _ => {
                self.kprobe()?;
                self.configured_with(feature, "BPF_KPROBE_OVERRIDE", "it needs CONFIG_BPF_KPROBE_OVERRIDE=y")
            }
        }
    }

    fn kprobe(&self) -> Answer {
        self.configured_with(Feature::Kprobe, "KPROBES", "use tracepoints, raw tracepoints or uprobes")?;
        let pmu = self.kernel.roots().sys.join("bus/event_source/devices/kprobe");
        if self.config.is_none() && !pmu.exists() {
            let reason = "the kernel has no kprobe event source";
            return Err(Absence::new("kprobe", reason, "boot a kernel built with CONFIG_KPROBE_EVENTS=y"));
        }
        self.configured_with(Feature::Kprobe, "KPROBE_EVENTS", "use tracepoints, raw tracepoints or uprobes")
    }

    /// fentry rides on ftrace's direct calls, whose list of places must be usable.
    fn fentry(&self) -> Answer {
        self.kernel.btf()?;
        let instead = "use tracepoints or raw tracepoints";
        self.configured_with(Feature::Fentry, "DYNAMIC_FTRACE_WITH_DIRECT_CALLS", instead)?;
        let blocked = self.tracefs.as_ref().and_then(|t| {
            let path = t.join("available_filter_functions");
            let mut byte = [0];
            let read = std::fs::File::open(&path).and_then(|mut f| std::io::Read::read(&mut f, &mut byte));
            read.err().filter(|_| self.capable(cap::SYS_ADMIN)).map(|e| format!("{}: {e}", path.display()))
        });
        blocked.map_or(Ok(()), |reason| {
            let reason = format!("this kernel keeps its functions closed to tracing ({reason})");
            Err(Absence::new("fentry", &reason, instead))
        })
    }

    /// Perf events and what is attached through them.
    fn perf(&self, feature: Feature) -> Answer {
        let sources = self.kernel.roots().sys.join("bus/event_source/devices");
        let source = |name: &str| sources.join(name).exists();
        match feature {
            Feature::Uprobe | Feature::Usdt => self.configured(feature, "UPROBE_EVENTS"),
            Feature::UprobeMulti => {
                self.configured(feature, "UPROBE_EVENTS")?;
                self.value(feature, "BPF_TRACE_UPROBE_MULTI", (6, 6), "each function is attached by itself")
            }
            Feature::PerfSoftware => self.perf_events(),
            Feature::PerfHardware => {
                self.perf_events()?;
                if ["cpu", "cpu_core", "armv8_pmuv3_0", "armv8_pmuv3"].into_iter().any(source) {
                    return Ok(());
                }
                let reason = "the machine shows no performance counters (virtual machines often have none)";
                Err(Absence::new(feature.name(), reason, "use software events such as cpu-clock"))
            }
            _ if source("breakpoint") => Ok(()),
            _ => Err(self.unset(feature, "HAVE_HW_BREAKPOINT", "probe the functions that use the variable")),
        }
    }

    fn perf_events(&self) -> Answer {
        self.configured(Feature::PerfSoftware, "PERF_EVENTS")?;
        if self.paranoid > 2 && !self.capable(cap::PERFMON) && !self.capable(cap::SYS_ADMIN) {
            let reason = format!("kernel.perf_event_paranoid={}", self.paranoid);
            return Err(Absence::new("perf events", &reason, "run as root, or sysctl kernel.perf_event_paranoid=2"));
        }
        Ok(())
    }

    /// What the BPF subsystem itself offers.
    fn bpf(&self, feature: Feature) -> Answer {
        let newer = "a newer kernel has it";
        match feature {
            Feature::Iter => self.value(feature, "BPF_TRACE_ITER", (5, 8), newer),
            Feature::RingBuffer => self.value(feature, "BPF_MAP_TYPE_RINGBUF", (5, 8), "boot Linux 5.8 or newer"),
            Feature::BpfStats => self.value(feature, "BPF_STATS_RUN_TIME", (5, 8), newer),
            Feature::AttachCookie => {
                self.value(feature, "BPF_FUNC_get_attach_cookie", (5, 15), "a program per probe is used")
            }
            Feature::BpfLoop => {
                self.value(feature, "BPF_FUNC_loop", (5, 17), "loops need bounds that are known beforehand")
            }
            _ => self.value(feature, "BPF_FUNC_d_path", (5, 10), newer),
        }
    }

    /// Present when BTF lists the value, or without BTF when the version brought it.
    fn value(&self, feature: Feature, name: &str, since: (u32, u32), remedy: &str) -> Answer {
        let by_version = self.version.at_least(since.0, since.1);
        if self.enumerator(name).unwrap_or(by_version) {
            return Ok(());
        }
        let reason = format!("Linux {}.{} brought it; this is {}", since.0, since.1, self.version);
        let reason = if by_version { format!("this kernel's BPF does not list {name}") } else { reason };
        Err(Absence::new(feature.name(), &reason, remedy))
    }

    fn configured(&self, feature: Feature, option: &str) -> Answer {
        self.configured_with(feature, option, &format!("boot a kernel built with CONFIG_{option}=y"))
    }

    /// Absent only when the configuration is known and lacks the option.
    fn configured_with(&self, feature: Feature, option: &str, remedy: &str) -> Answer {
        if self.option(option) == Some(false) { Err(self.unset(feature, option, remedy)) } else { Ok(()) }
    }

    fn unset(&self, feature: Feature, option: &str, remedy: &str) -> Absence {
        let reason = match self.option(option) {
            Some(false) => format!("CONFIG_{option} is not set in this kernel"),
            _ => format!("this kernel does not offer it (CONFIG_{option})"),
        };
        Absence::new(feature.name(), &reason, remedy)
    }
}
