//! `perf_event_open(2)`.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// What to open.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// `perf_event_attr.type`.
    pub kind: u32,
    /// `perf_event_attr.config`.
    pub config: u64,
    /// Period, or frequency in Hz.
    pub rate: Rate,
    /// Process; -1 for all.
    pub pid: i32,
    /// CPU; -1 for all (with a process only).
    pub cpu: i32,
}

/// How often an event fires.
#[derive(Clone, Copy, Debug)]
pub enum Rate {
    /// Once per this many.
    Period(u64),
    /// This often a second.
    Frequency(u64),
}

/// Opens a counting event on which a BPF program can be hung.
pub fn open(event: &Event) -> io::Result<OwnedFd> {
    let mut attr = attributes(event.kind, event.config);
    match event.rate {
        Rate::Period(n) => attr.__bindgen_anon_1.sample_period = n,
        Rate::Frequency(n) => {
            attr.__bindgen_anon_1.sample_freq = n;
            attr.set_freq(1);
        }
    }
    open_raw(&attr, event.pid, event.cpu)
}

/// Opens a hardware breakpoint (`PERF_TYPE_BREAKPOINT`, 5). One on execution is as long as a `long`,
/// whatever was asked for: the kernel takes no other length (`arch_build_bp_info`).
pub fn open_breakpoint(address: u64, length: u8, mode: u8, pid: i32, cpu: i32) -> io::Result<OwnedFd> {
    let mut attr = attributes(5, 0);
    attr.__bindgen_anon_1.sample_period = 1;
    attr.bp_type = u32::from(mode);
    attr.__bindgen_anon_3.bp_addr = address;
    let executes = mode & 4 != 0;
    attr.__bindgen_anon_4.bp_len = if executes { size_of::<libc::c_long>() as u64 } else { u64::from(length) };
    attr.set_inherit(u64::from(pid >= 0));
    open_raw(&attr, pid, cpu)
}

/// Opens a kernel probe by the `kprobe` PMU, whose type number is in
/// `/sys/bus/event_source/devices/kprobe/type`. `function` empty: `offset` is an address.
pub fn open_kprobe(pmu: u32, function: &str, offset: u64, ret: bool) -> io::Result<OwnedFd> {
    let name = CString::new(function).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // Bit 0 of `config` is `retprobe` (`/sys/bus/event_source/devices/kprobe/format/retprobe`).
    let mut attr = attributes(pmu, u64::from(ret));
    attr.__bindgen_anon_3.kprobe_func = if function.is_empty() { 0 } else { name.as_ptr() as u64 };
    attr.__bindgen_anon_4.probe_offset = offset;
    open_raw(&attr, -1, 0)
}

/// Opens an event that counts nothing and tells, in a buffer that is mapped on it, of all executable
/// mappings, forks, execs and exits on a CPU.
pub fn open_side_band(cpu: u32) -> io::Result<OwnedFd> {
    // PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY.
    let mut attr = attributes(1, 9);
    // PERF_SAMPLE_TIME: records end with their time.
    attr.sample_type = 1 << 2;
    attr.set_sample_id_all(1);
    attr.set_mmap(1);
    attr.set_mmap2(1);
    attr.set_comm(1);
    attr.set_comm_exec(1);
    attr.set_task(1);
    attr.set_exclude_kernel(1);
    open_raw(&attr, -1, i32::try_from(cpu).unwrap_or(0))
}

fn attributes(kind: u32, config: u64) -> libbpf_sys::perf_event_attr {
    libbpf_sys::perf_event_attr {
        type_: kind,
        size: size_of::<libbpf_sys::perf_event_attr>() as u32,
        config,
        ..Default::default()
    }
}

fn open_raw(attr: &libbpf_sys::perf_event_attr, pid: i32, cpu: i32) -> io::Result<OwnedFd> {
    // The struct may be longer than an old kernel's; trailing zeros are accepted (perf_copy_attr).
    // SAFETY: `attr` is a whole perf_event_attr whose size field says so, and what it points to
    // (a probe's name) is alive in the caller.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const *attr, pid, cpu, -1, CLOSE_ON_EXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    let fd = i32::try_from(fd).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
