//! What links attach programs to, in bpftrace's words where it has some.

use std::collections::HashMap;
use std::fs;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::Arc;

use libbpf_rs::query::{LinkInfo, LinkTypeInfo, PerfEventType};

use super::own_btf;
use crate::engine::names::cgroups::Cgroups;
use crate::engine::sys::objects::{self, ObjectKind};
use crate::kernel::Kernel;
use crate::kernel::btf::{Btf, TypeId};

/// Names that are written of the many places of one link.
const MOST_NAMES: usize = 3;

/// Looks names up, and keeps what is large.
#[derive(Debug)]
pub struct Names {
    kernel: Arc<Kernel>,
    cgroups: Cgroups,
    /// Types by the id of their BTF object.
    types: HashMap<u32, Option<Arc<Btf>>>,
}

impl Names {
    /// Nothing is read yet.
    #[must_use]
    pub fn new(kernel: Arc<Kernel>) -> Self {
        let cgroups = Cgroups::new(kernel.roots().proc.join("mounts"));
        Self { kernel, cgroups, types: HashMap::new() }
    }

    /// The program of a link, and what it is attached to.
    pub fn link(&mut self, fd: &OwnedFd) -> Option<(u32, String)> {
        let link = LinkInfo::from_fd(fd.as_fd()).ok()?;
        let text = match &link.info {
            LinkTypeInfo::RawTracepoint(raw) => format!("rawtracepoint:{}", raw.name),
            LinkTypeInfo::Tracing(tracing) => {
                let kind = attached_by(tracing.attach_type.clone() as u32);
                let target = self.target(tracing.target_obj_id, tracing.target_btf_id);
                target.map_or_else(|| kind.clone(), |function| format!("{kind}:{function}"))
            }
            LinkTypeInfo::Cgroup(group) => {
                let path = self.cgroups.paths(group.cgroup_id, |name| name == "unified");
                let path = path.strip_prefix("unified:").map_or_else(|| group.cgroup_id.to_string(), str::to_owned);
                format!("cgroup {path} ({})", attached_by(group.attach_type.clone() as u32))
            }
            LinkTypeInfo::Iter(iter) => format!("iter:{}", iter.target_name.to_string_lossy()),
            LinkTypeInfo::NetNs(net) => {
                format!("network namespace {} ({})", net.ino, attached_by(net.attach_type.clone() as u32))
            }
            LinkTypeInfo::Netfilter(hook) => {
                format!("netfilter family {} hook {} priority {}", hook.protocol_family, hook.hooknum, hook.priority)
            }
            LinkTypeInfo::Xdp(xdp) => format!("xdp on {}", self.interface(xdp.ifindex)),
            LinkTypeInfo::Tcx(tcx) => {
                format!("{} on {}", attached_by(tcx.attach_type.clone() as u32), self.interface(tcx.ifindex))
            }
            LinkTypeInfo::Netkit(netkit) => {
                format!("{} on {}", attached_by(netkit.attach_type.clone() as u32), self.interface(netkit.ifindex))
            }
            LinkTypeInfo::StructOps(ops) => format!("struct_ops of map {}", ops.map_id),
            LinkTypeInfo::SockMap(map) => format!("sockmap {}", map.map_id),
            LinkTypeInfo::KprobeMulti(many) => {
                let names: Vec<String> = many.addrs.iter().take(MOST_NAMES).map(|a| self.function(*a)).collect();
                several(end(many.flags, ["kprobe", "kretprobe"]), &names, many.count)
            }
            LinkTypeInfo::UprobeMulti(many) => {
                let path = many.path.as_ref().map_or_else(|| "?".to_owned(), |p| p.display().to_string());
                let names: Vec<String> =
                    many.offsets.iter().take(MOST_NAMES).map(|at| format!("{path}:{at:#x}")).collect();
                several(end(many.flags, ["uprobe", "uretprobe"]), &names, many.count)
            }
            LinkTypeInfo::PerfEvent(event) => self.event(&event.event_type),
            LinkTypeInfo::Unknown => self.unknown(fd)?,
        };
        Some((link.prog_id, text))
    }

    fn event(&self, event: &PerfEventType) -> String {
        match event {
            PerfEventType::Tracepoint { name, .. } => {
                format!("tracepoint:{}", name.as_ref().map_or("?".into(), |n| n.to_string_lossy()))
            }
            PerfEventType::Kprobe { func_name, is_retprobe, addr, offset, .. } => {
                let provider = if *is_retprobe { "kretprobe" } else { "kprobe" };
                let name =
                    func_name.as_ref().map_or_else(|| self.function(*addr), |n| n.to_string_lossy().into_owned());
                if *offset == 0 { format!("{provider}:{name}") } else { format!("{provider}:{name}+{offset}") }
            }
            PerfEventType::Uprobe { file_name, is_retprobe, offset, .. } => {
                let provider = if *is_retprobe { "uretprobe" } else { "uprobe" };
                format!("{provider}:{}:{offset:#x}", file_name.as_ref().map_or("?".into(), |n| n.to_string_lossy()))
            }
            // PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE; clocks have numbers of their own since Linux 6.6.
            PerfEventType::Event { event_type: 0, config, .. } => format!("hardware event {config}"),
            PerfEventType::Event { event_type: 1, config: 0, .. } => "cpu-clock".to_owned(),
            PerfEventType::Event { event_type: 1, config, .. } => format!("software event {config}"),
            PerfEventType::Event { event_type, config, .. } => self.unit(*event_type, *config),
            PerfEventType::Unknown(kind) => format!("perf event of type {kind}"),
        }
    }

    /// What a link's descriptor says of a type that libbpf-rs does not know.
    fn unknown(&self, fd: &OwnedFd) -> Option<String> {
        let text = self.kernel.proc_text(format!("self/fdinfo/{}", fd.as_raw_fd()))?;
        let line = |key: &str| text.lines().find_map(|l| l.strip_prefix(key)).map(str::trim);
        let kind = line("link_type:").unwrap_or("link of an unknown type");
        let by = line("attach_type:").and_then(|number| number.parse().ok()).map(attached_by);
        let by = by.map_or_else(String::new, |by| format!(" ({by})"));
        Some(line("cnt:").map_or_else(|| kind.to_owned(), |count| format!("{kind} of {count} functions{by}")))
    }

    /// An event of a performance monitoring unit by the number of its type.
    fn unit(&self, kind: u32, config: u64) -> String {
        let names = fs::read_dir(self.kernel.roots().sys.join("bus/event_source/devices")).into_iter().flatten();
        let mut names = names.flatten().filter_map(|e| e.file_name().into_string().ok());
        let is = |name: &String| {
            let path = format!("bus/event_source/devices/{name}/type");
            self.kernel.sys_text(path).is_some_and(|text| text == kind.to_string())
        };
        match names.find(is) {
            Some(name) if config == 0 => name,
            Some(name) => format!("{name}, config {config:#x}"),
            // The clocks stand in no folder.
            None if config == 0 => "cpu-clock or task-clock".to_owned(),
            None => format!("perf event of type {kind}, config {config:#x}"),
        }
    }

    fn function(&self, address: u64) -> String {
        let name = (address != 0).then(|| self.kernel.symbolize(address)).flatten();
        name.map_or_else(|| format!("{address:#x}"), |(name, ..)| name.to_string())
    }

    /// The name of a type of a BTF object: the function that a program is attached to.
    pub fn target(&mut self, object: u32, id: u32) -> Option<String> {
        if object == 0 && id == 0 {
            return None;
        }
        let kernel = Arc::clone(&self.kernel);
        let types = self.types.entry(object).or_insert_with(|| types_of(&kernel, object));
        let name = types.as_ref()?.name(TypeId(id));
        (!name.is_empty()).then(|| name.strip_prefix("btf_trace_").unwrap_or(name).to_owned())
    }

    fn interface(&self, index: u32) -> String {
        let folder = self.kernel.roots().sys.join("class/net");
        let names = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names = names.filter_map(|e| e.file_name().into_string().ok());
        let is = |name: &String| {
            self.kernel.sys_text(format!("class/net/{name}/ifindex")).is_some_and(|text| text == index.to_string())
        };
        names.find(is).unwrap_or_else(|| format!("interface {index}"))
    }
}

/// A BTF object's types: those of the kernel and its modules are read once in the whole process.
fn types_of(kernel: &Kernel, object: u32) -> Option<Arc<Btf>> {
    // Programs attached without naming one mean the kernel's.
    if object == 0 {
        return kernel.shared_btf().ok().cloned();
    }
    let fd = objects::open(ObjectKind::Btf, object).ok()?;
    match objects::btf_name(fd.as_fd()).ok()?.as_str() {
        "" => own_btf(object),
        name => kernel.module_btf(name).ok(),
    }
}

/// Which end of functions a link to many is at: the flag of returns is the same for both kinds
/// (`BPF_F_KPROBE_MULTI_RETURN`, `BPF_F_UPROBE_MULTI_RETURN`).
const fn end(flags: u32, [entry, on_return]: [&'static str; 2]) -> &'static str {
    if flags & 1 == 0 { entry } else { on_return }
}

fn several(provider: &str, names: &[String], count: u32) -> String {
    let shown = names.iter().map(|name| format!("{provider}:{name}")).collect::<Vec<_>>().join(", ");
    match (count as usize).saturating_sub(names.len()) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// bpftrace's words for a kind of attachment, else libbpf's.
fn attached_by(kind: u32) -> String {
    let words = objects::attach_kind(kind);
    match words.as_str() {
        "trace_fentry" => "fentry".to_owned(),
        "trace_fexit" => "fexit".to_owned(),
        "trace_raw_tp" => "rawtracepoint".to_owned(),
        "trace_iter" => "iter".to_owned(),
        "lsm_mac" => "lsm".to_owned(),
        _ => words,
    }
}
