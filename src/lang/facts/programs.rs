//! The functions of the kernel that BPF programs run in: their helpers, maps, and what calls them.
//!
//! A probe there fires inside of another's program, where the kernel skips it (`bpf_prog_active` in kernel/trace/bpf_trace.c):
//! it tells of probescope alone, and each skipped firing costs nearly as much as one that runs.

/// How their names begin.
const PREFIXES: &[&str] = &[
    "bpf_",
    "__bpf_",
    "___bpf_",
    "htab_",
    "__htab_",
    "alloc_htab_elem",
    "free_htab_elem",
    "lookup_elem_raw",
    "lookup_nulls_elem_raw",
    "pcpu_copy_value",
    "pcpu_init_value",
    "__pcpu_freelist",
    "___pcpu_freelist",
    "pcpu_freelist",
    "array_map_",
    "percpu_array_",
    "ringbuf_map_",
    "stack_map_",
    "unit_alloc",
    "unit_free",
    "kprobe_multi_",
    "kprobe_session_",
    "trace_call_bpf",
    "fprobe_",
    "rethook_",
    "arch_rethook_",
    "ftrace_",
    "function_graph_",
];
/// Those that are called at each firing, and whose names are theirs alone.
const NAMES: &[&str] = &[
    "migrate_disable",
    "migrate_enable",
    "__rcu_read_lock",
    "__rcu_read_unlock",
    "rcu_read_unlock_strict",
    "rcu_is_watching",
    "preempt_count_add",
    "preempt_count_sub",
    "ktime_get_mono_fast_ns",
    "ktime_get_boot_fast_ns",
];

/// Whether programs run in the function.
#[must_use]
pub fn run_in(function: &str) -> bool {
    NAMES.contains(&function) || PREFIXES.iter().any(|prefix| function.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::run_in;

    #[test]
    fn helpers_and_maps_are_told_from_the_rest() {
        for function in ["bpf_get_current_comm", "__htab_map_lookup_elem", "migrate_disable", "__rcu_read_lock"] {
            assert!(run_in(function), "{function}");
        }
        for function in ["vfs_read", "__rcu_read_lock_held", "tcp_sendmsg", "_raw_spin_lock", "migrate_pages"] {
            assert!(!run_in(function), "{function}");
        }
    }
}
