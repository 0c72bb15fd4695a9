//! `--info`: what this program was built with and what the kernel offers, in the groups and by the names that
//! bpftrace has for them. Test harnesses look for `name: yes`.

use std::sync::Arc;

use crate::kernel::{Feature, Kernel};

/// Columns of a name and its answer.
const COLUMN: usize = 33;
/// Answers in a line.
const IN_LINE: usize = 2;
/// Most instructions that the verifier goes through (`BPF_COMPLEXITY_LIMIT_INSNS`), for a privileged user.
const INSTRUCTIONS: u32 = 1_000_000;

/// The whole text.
pub fn text(kernel: &Arc<Kernel>) -> String {
    let facts = kernel.target_facts(None, 0);
    let able = facts.features();
    let has = |feature| kernel.features().has(feature);
    let module_btf = kernel.roots().sys.join("kernel/btf");
    let modules = std::fs::read_dir(module_btf).is_ok_and(|d| d.flatten().any(|e| e.file_name() != "vmlinux"));
    let system = rustix::system::uname();
    let (release, version) = (system.release().to_string_lossy(), system.version().to_string_lossy());
    let mut text = format!(
        "System\n  OS: {} {release} {version}\n  Arch: {}\n\n",
        system.sysname().to_string_lossy(),
        system.machine().to_string_lossy()
    );
    text.push_str(&format!("Build\n  version: v0.27.1 (probescope {})\n", env!("CARGO_PKG_VERSION")));
    for (name, there) in [
        ("LLVM", false),
        ("bfd", false),
        ("libdw (DWARF support)", true),
        ("libsystemd (systemd notify support)", false),
        ("blazesym (advanced symbolization)", false),
        ("dwunwind (DWARF stack unwinding)", false),
    ] {
        text.push_str(&format!("  {name}: {}\n", word(there)));
    }
    let yes = |name: &str, there: bool| format!("{name}: {}", word(there));
    let helpers = [
        yes("dpath", able.d_path),
        yes("get_tai_ns", able.ktime_tai),
        yes("get_func_ip", able.attach_cookie),
        yes("lookup_percpu_elem", able.map_lookup_percpu),
        yes("loop", able.bpf_loop),
        yes("for_each_map_elem", able.for_each_map_elem),
        yes("get_attach_cookie", able.attach_cookie),
        yes("ktime_get_boot_ns", able.ktime_boot),
    ];
    group(&mut text, "Kernel helpers", &helpers);
    let features = [format!("Instruction limit: {INSTRUCTIONS}"), yes("btf", able.btf), yes("module btf", modules)];
    group(&mut text, "Kernel features", &features);
    let kinds = [
        yes("kprobe_multi", has(Feature::KprobeMulti)),
        yes("uprobe_multi", has(Feature::UprobeMulti)),
        yes("kprobe_session", has(Feature::KprobeSession)),
        yes("iter", has(Feature::Iter)),
    ];
    group(&mut text, "Probe types", &kinds);
    text
}

/// Answers in two columns under their title.
fn group(text: &mut String, title: &str, answers: &[String]) {
    text.push_str(&format!("\n{title}\n"));
    for line in answers.chunks(IN_LINE) {
        let cells: Vec<String> = line.iter().map(|answer| format!("{answer:<COLUMN$}")).collect();
        text.push_str(&format!("  {}\n", cells.concat().trim_end()));
    }
}

const fn word(there: bool) -> &'static str {
    if there { "yes" } else { "no" }
}
