//! Numbers of the BPF helpers in use, from `enum bpf_func_id` in `include/uapi/linux/bpf.h`.
#![allow(missing_docs, reason = "each is named after its helper")]

use crate::lang::types::AddressSpace;

pub const MAP_LOOKUP_ELEM: u32 = 1;
pub const MAP_UPDATE_ELEM: u32 = 2;
pub const MAP_DELETE_ELEM: u32 = 3;
pub const PROBE_READ: u32 = 4;
pub const KTIME_GET_NS: u32 = 5;
pub const TRACE_PRINTK: u32 = 6;
pub const GET_PRANDOM_U32: u32 = 7;
pub const GET_SMP_PROCESSOR_ID: u32 = 8;
pub const GET_CURRENT_PID_TGID: u32 = 14;
pub const GET_CURRENT_UID_GID: u32 = 15;
pub const GET_CURRENT_COMM: u32 = 16;
pub const GET_CURRENT_TASK: u32 = 35;
pub const PROBE_WRITE_USER: u32 = 36;
pub const GET_NUMA_NODE_ID: u32 = 42;
pub const PROBE_READ_STR: u32 = 45;
pub const GET_SOCKET_COOKIE: u32 = 46;
pub const OVERRIDE_RETURN: u32 = 58;
pub const GET_STACK: u32 = 67;
pub const GET_CURRENT_CGROUP_ID: u32 = 80;
pub const SEND_SIGNAL: u32 = 109;
pub const PROBE_READ_USER: u32 = 112;
pub const PROBE_READ_KERNEL: u32 = 113;
pub const PROBE_READ_USER_STR: u32 = 114;
pub const PROBE_READ_KERNEL_STR: u32 = 115;
pub const SEND_SIGNAL_THREAD: u32 = 117;
pub const JIFFIES64: u32 = 118;
pub const GET_NS_CURRENT_PID_TGID: u32 = 120;
pub const KTIME_GET_BOOT_NS: u32 = 125;
pub const RINGBUF_OUTPUT: u32 = 130;
pub const RINGBUF_RESERVE: u32 = 131;
pub const RINGBUF_SUBMIT: u32 = 132;
pub const D_PATH: u32 = 147;
pub const GET_CURRENT_TASK_BTF: u32 = 158;
pub const FOR_EACH_MAP_ELEM: u32 = 164;
pub const GET_FUNC_IP: u32 = 173;
pub const GET_ATTACH_COOKIE: u32 = 174;
pub const TASK_PT_REGS: u32 = 175;
pub const LOOP: u32 = 181;
pub const GET_FUNC_ARG: u32 = 183;
pub const GET_FUNC_RET: u32 = 184;
pub const MAP_LOOKUP_PERCPU_ELEM: u32 = 195;
pub const KTIME_GET_TAI_NS: u32 = 208;

/// Bytes of `comm` in `struct task_struct` (`TASK_COMM_LEN`).
pub const COMM_BYTES: u32 = 16;

/// The helper that reads memory of an address space.
pub const fn probe_read(space: AddressSpace) -> u32 {
    match space {
        AddressSpace::Kernel | AddressSpace::Context => PROBE_READ_KERNEL,
        AddressSpace::User => PROBE_READ_USER,
        AddressSpace::Either => PROBE_READ,
    }
}

/// The helper that reads a string of an address space.
pub const fn probe_read_str(space: AddressSpace) -> u32 {
    match space {
        AddressSpace::Kernel | AddressSpace::Context => PROBE_READ_KERNEL_STR,
        AddressSpace::User => PROBE_READ_USER_STR,
        AddressSpace::Either => PROBE_READ_STR,
    }
}

/// `enum bpf_map_type`.
pub mod map_type {
    pub const HASH: u32 = 1;
    pub const ARRAY: u32 = 2;
    pub const PERCPU_HASH: u32 = 5;
    pub const LRU_HASH: u32 = 9;
    pub const LRU_PERCPU_HASH: u32 = 10;
    pub const RINGBUF: u32 = 27;
}

/// What `bpf_map_update_elem` returns where there is no room.
pub const E2BIG: i64 = -7;

/// `bpf_map_update_elem`: create or replace.
pub const BPF_ANY: i64 = 0;
/// `bpf_map_update_elem`: create only.
pub const BPF_NOEXIST: i64 = 1;
/// Map creation: elements are allocated when inserted.
pub const BPF_F_NO_PREALLOC: u32 = 1;
/// Map creation: user space may map the values into its memory (Linux 5.5).
pub const BPF_F_MMAPABLE: u32 = 1 << 10;
/// `bpf_ringbuf_submit`: no wake-up of the reader.
pub const BPF_RB_NO_WAKEUP: i64 = 1;
/// `bpf_ringbuf_output`: wakes the reader whatever it has seen.
pub const BPF_RB_FORCE_WAKEUP: i64 = 2;
/// `bpf_get_stack`: the user stack.
pub const BPF_F_USER_STACK: i64 = 1 << 8;
