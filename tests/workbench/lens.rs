//! The layout of kernel types, member by member, beside what bpftool says of the same type information.

use std::collections::HashMap;
use std::process::Command;

use probescope::kernel::{Kernel, Roots};
use probescope::probe::lens::Composite;
use serde_json::Value;

use crate::skip::skip;

/// Types that people look into, with bitfields, anonymous unions in unions, arrays of structs and zero-length arrays.
const TYPES: &[&str] = &[
    "task_struct",
    "mm_struct",
    "vm_area_struct",
    "file",
    "inode",
    "dentry",
    "super_block",
    "address_space",
    "page",
    "folio",
    "kmem_cache",
    "slab",
    "rq",
    "cfs_rq",
    "sched_entity",
    "sched_dl_entity",
    "signal_struct",
    "sighand_struct",
    "cred",
    "nsproxy",
    "net",
    "net_device",
    "sk_buff",
    "skb_shared_info",
    "sock",
    "sock_common",
    "inet_sock",
    "tcp_sock",
    "inet_connection_sock",
    "udp_sock",
    "tcphdr",
    "iphdr",
    "ipv6hdr",
    "ethhdr",
    "msghdr",
    "iov_iter",
    "kiocb",
    "bio",
    "request",
    "request_queue",
    "gendisk",
    "block_device",
    "cgroup",
    "bpf_prog",
    "bpf_map",
    "perf_event",
    "perf_event_attr",
    "module",
    "device",
    "pci_dev",
    "work_struct",
    "timer_list",
    "hrtimer",
    "irq_desc",
    "pt_regs",
    "thread_struct",
];

/// A member: path, first bit, bits of a bitfield, bytes.
type Place = (String, u64, u64, u64);

/// Types as `bpftool btf dump -j` lists them.
struct Dump {
    types: HashMap<u64, Value>,
    tags: HashMap<String, u64>,
}

impl Dump {
    fn of_running_kernel() -> Option<Self> {
        let output = Command::new("bpftool").args(["btf", "dump", "file", "/sys/kernel/btf/vmlinux", "-j"]).output();
        let Some(output) = output.ok().filter(|o| o.status.success()) else {
            skip("bpftool, or the kernel's type information, is not there");
            return None;
        };
        let mut all: Value = serde_json::from_slice(&output.stdout).unwrap();
        let Value::Array(types) = all["types"].take() else { panic!("bpftool lists no types") };
        let types: HashMap<u64, Value> = types.into_iter().map(|t| (t["id"].as_u64().unwrap(), t)).collect();
        let mut tags = HashMap::new();
        for (id, ty) in types.iter().filter(|(_, t)| t["kind"] == "STRUCT") {
            let first = tags.entry(ty["name"].as_str().unwrap().to_owned()).or_insert(*id);
            *first = (*first).min(*id);
        }
        Some(Self { types, tags })
    }

    fn resolved(&self, mut id: u64) -> Option<&Value> {
        loop {
            let ty = self.types.get(&id)?;
            match ty["kind"].as_str()? {
                "TYPEDEF" | "CONST" | "VOLATILE" | "RESTRICT" | "TYPE_TAG" => id = ty["type_id"].as_u64()?,
                _ => return Some(ty),
            }
        }
    }

    fn size(&self, id: u64) -> u64 {
        let Some(ty) = self.resolved(id) else { return 0 };
        match ty["kind"].as_str().unwrap() {
            "PTR" => 8,
            "ARRAY" => ty["nr_elems"].as_u64().unwrap() * self.size(ty["type_id"].as_u64().unwrap()),
            _ => ty["size"].as_u64().unwrap_or(0),
        }
    }

    fn places(&self, ty: &Value, path: &str, start: u64, out: &mut Vec<Place>) {
        for member in ty["members"].as_array().unwrap() {
            let name = member["name"].as_str().unwrap();
            let id = member["type_id"].as_u64().unwrap();
            let path = match (path, name) {
                (_, "(anon)") => path.to_owned(),
                ("", _) => name.to_owned(),
                _ => format!("{path}.{name}"),
            };
            let at = start + member["bits_offset"].as_u64().unwrap();
            let bits = member["bitfield_size"].as_u64().unwrap_or(0);
            out.push((path.clone(), at, bits, self.size(id)));
            let inner = self.resolved(id).filter(|t| matches!(t["kind"].as_str(), Some("STRUCT" | "UNION")));
            if let Some(inner) = inner {
                self.places(inner, &path, at, out);
            }
        }
    }
}

#[test]
fn fifty_types_lie_as_bpftool_says() {
    let Some(dump) = Dump::of_running_kernel() else { return };
    let kernel = Kernel::new(Roots::running());
    let (mut types, mut bitfields, mut anonymous) = (0, 0, 0);
    for name in TYPES {
        // A kernel may be built without a subsystem.
        let Some(ty) = dump.tags.get(*name) else { continue };
        let whole = Composite::of_type(&format!("struct {name}"), "", &kernel).unwrap();
        let fields = whole.all_fields();
        let own: Vec<Place> =
            fields.iter().map(|f| (f.access.clone(), f.bit_offset.into(), f.bits.into(), f.size.into())).collect();
        let mut theirs = Vec::new();
        dump.places(&dump.types[ty], "", 0, &mut theirs);
        assert_eq!(own.len(), theirs.len(), "{name}");
        for (own, theirs) in own.iter().zip(&theirs) {
            assert_eq!(own, theirs, "{name}");
        }
        types += 1;
        bitfields += fields.iter().filter(|f| f.bits != 0).count();
        anonymous += fields.iter().filter(|f| f.name.is_empty()).count();
    }
    assert!(types >= 50 && bitfields >= 50 && anonymous >= 50, "{types} {bitfields} {anonymous}");
}
