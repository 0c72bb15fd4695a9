//! Helpers of the kernel, as people know them.

/// The name of a helper that reports its failures, without `bpf_`, by its number in `enum bpf_func_id` of
/// `include/uapi/linux/bpf.h`; empty for any other.
#[must_use]
pub const fn name(number: u32) -> &'static str {
    match number {
        1 => "map_lookup_elem",
        2 => "map_update_elem",
        4 => "probe_read",
        45 => "probe_read_str",
        112 => "probe_read_user",
        113 => "probe_read_kernel",
        114 => "probe_read_user_str",
        115 => "probe_read_kernel_str",
        195 => "map_lookup_percpu_elem",
        _ => "",
    }
}
