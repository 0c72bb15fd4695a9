//! Calls of libbpf and of the `bpf` system call that libbpf-rs has no safe form of.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::ptr::NonNull;

use libbpf_rs::{AsRawLibbpf as _, Link, OpenProgramMut, ProgramMut};

/// `BPF_LOG_STATS` (`include/linux/bpf_verifier.h`).
const BPF_LOG_STATS: u32 = 4;

/// A program's log: the verifier writes it when the program is refused. Must outlive the load.
#[derive(Debug)]
pub struct LogBuffer(Box<[u8]>);

impl LogBuffer {
    /// A zeroed buffer of `bytes`; untouched pages cost nothing.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self(vec![0; bytes].into_boxed_slice())
    }

    /// Makes libbpf hand this buffer to the kernel when `program` is refused.
    ///
    /// # Safety
    /// The buffer must outlive the object's load: libbpf keeps the pointer.
    pub unsafe fn install(&mut self, program: &mut OpenProgramMut<'_>) {
        // SAFETY: the program is open and not loaded; the caller keeps the buffer alive.
        unsafe {
            libbpf_sys::bpf_program__set_log_buf(
                program.as_libbpf_object().as_ptr(),
                self.0.as_mut_ptr().cast(),
                self.0.len() as libbpf_sys::size_t,
            );
        }
    }

    /// What the kernel wrote, up to the first NUL.
    #[must_use]
    pub fn text(&self) -> String {
        let end = memchr::memchr(0, &self.0).unwrap_or(self.0.len());
        String::from_utf8_lossy(&self.0[..end]).into_owned()
    }
}

/// How much the verifier says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Its complaint and statistics (`BPF_LOG_STATS`, 5.2).
    Complaint,
    /// Every instruction that it looks at, too, when it refuses (libbpf asks a second time then).
    Whole,
}

/// Loads an object whose programs write logs; of a refusal they are given back, in the order of programs.
pub fn load_with_logs(
    mut object: libbpf_rs::OpenObject,
    level: LogLevel,
    bytes_each: usize,
) -> Result<libbpf_rs::Object, (libbpf_rs::Error, Vec<(String, String)>)> {
    let mut logs: Vec<(String, LogBuffer)> = Vec::new();
    for mut program in object.progs_mut() {
        let mut log = LogBuffer::new(bytes_each);
        // SAFETY: `logs` lives until after `load`, and the buffers are boxed, so they do not move.
        unsafe { log.install(&mut program) };
        if level == LogLevel::Complaint {
            program.set_log_level(BPF_LOG_STATS);
        }
        logs.push((program.name().to_string_lossy().into_owned(), log));
    }
    object.load().map_err(|error| (error, logs.into_iter().map(|(name, log)| (name, log.text())).collect()))
}

/// Run-time figures of one program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramInfo {
    /// Kernel id.
    pub id: u32,
    /// Runs counted while run-time statistics were on.
    pub runs: u64,
    /// Their time in ns.
    pub run_time_ns: u64,
    /// Firings skipped because the program already ran on that CPU.
    pub recursion_misses: u64,
}

/// Reads a program's figures (`BPF_OBJ_GET_INFO_BY_FD`).
pub fn program_info(fd: BorrowedFd<'_>) -> io::Result<ProgramInfo> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut len = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: `info` is a plain struct of the size given; zeroed pointers ask for no arrays.
    let rc = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(fd.as_raw_fd(), &raw mut info, &raw mut len) };
    check(rc)?;
    Ok(ProgramInfo {
        id: info.id,
        runs: info.run_cnt,
        run_time_ns: info.run_time_ns,
        recursion_misses: info.recursion_misses,
    })
}

/// Turns the kernel's run-time statistics on for as long as the descriptor is open (5.8).
///
/// # Errors
/// When the kernel is older or does not allow it.
pub fn enable_run_statistics() -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    check(fd)?;
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Firings that a kprobe's or uprobe's link missed (`bpf_link_info`, 6.7); 0 where not told.
#[must_use]
pub fn link_missed(fd: BorrowedFd<'_>) -> u64 {
    let mut info = libbpf_sys::bpf_link_info::default();
    let mut len = size_of::<libbpf_sys::bpf_link_info>() as u32;
    // SAFETY: `info` is a plain struct of the size given; zeroed pointers ask for no names.
    let rc = unsafe { libbpf_sys::bpf_link_get_info_by_fd(fd.as_raw_fd(), &raw mut info, &raw mut len) };
    if rc != 0 {
        return 0;
    }
    // SAFETY: the kernel filled the member that `type_` names; all are plain integers.
    unsafe {
        match info.type_ {
            libbpf_sys::BPF_LINK_TYPE_KPROBE_MULTI => info.__bindgen_anon_1.kprobe_multi.missed,
            libbpf_sys::BPF_LINK_TYPE_PERF_EVENT => {
                let perf = info.__bindgen_anon_1.perf_event;
                match perf.type_ {
                    libbpf_sys::BPF_PERF_EVENT_KPROBE | libbpf_sys::BPF_PERF_EVENT_KRETPROBE => {
                        perf.__bindgen_anon_1.kprobe.missed
                    }
                    _ => 0,
                }
            }
            _ => 0,
        }
    }
}

/// Attaches a program to the entries and returns of kernel functions by one link (`BPF_TRACE_KPROBE_SESSION`, 6.10), with
/// a cookie for each function or none at all.
///
/// # Errors
/// The kernel's refusal, for all functions together.
pub fn attach_session(program: &ProgramMut<'_>, functions: Vec<String>, cookies: &[u64]) -> libbpf_rs::Result<Link> {
    let failed = |_| io::Error::from_raw_os_error(libc::EINVAL);
    let names = functions.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let mut pointers: Vec<*const libc::c_char> = names.iter().map(|name| name.as_ptr()).collect();
    let opts = libbpf_sys::bpf_kprobe_multi_opts {
        sz: size_of::<libbpf_sys::bpf_kprobe_multi_opts>() as libbpf_sys::size_t,
        syms: pointers.as_mut_ptr(),
        cookies: if cookies.len() == pointers.len() { cookies.as_ptr() } else { std::ptr::null() },
        cnt: pointers.len() as libbpf_sys::size_t,
        session: true,
        ..Default::default()
    };
    // SAFETY: the program is loaded; the names, the array of `cnt` pointers to them and as many cookies outlive the call.
    let link = unsafe {
        libbpf_sys::bpf_program__attach_kprobe_multi_opts(
            program.as_libbpf_object().as_ptr(),
            std::ptr::null(),
            &raw const opts,
        )
    };
    // SAFETY: a new link that nobody else owns.
    NonNull::new(link).map(|link| unsafe { Link::from_ptr(link) }).ok_or_else(|| io::Error::last_os_error().into())
}

/// Which end of kernel functions a program for many of them runs at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TrampolineEnd {
    /// `BPF_TRACE_FENTRY_MULTI`.
    Entry = 59,
    /// `BPF_TRACE_FEXIT_MULTI`.
    Exit = 60,
}

/// Says what a program is that libbpf does not know from its section: one for the trampolines of many functions.
pub fn declare_for_trampolines(program: &mut OpenProgramMut<'_>, end: TrampolineEnd) {
    let program = program.as_libbpf_object().as_ptr();
    // SAFETY: the program is open and not loaded; both calls set a number of it.
    unsafe {
        libbpf_sys::bpf_program__set_type(program, libbpf_sys::BPF_PROG_TYPE_TRACING);
        libbpf_sys::bpf_program__set_expected_attach_type(program, end as libbpf_sys::bpf_attach_type);
    }
}

/// `link_create` of `union bpf_attr` with its member `tracing_multi` (Linux 7.2).
#[repr(C)]
struct LinkTrampolines {
    program: u32,
    target: u32,
    attach_type: u32,
    flags: u32,
    ids: u64,
    cookies: u64,
    count: u32,
    padding: u32,
}

/// Attaches a program to one end of the kernel's functions with these BTF ids, each with its cookie, by one link.
///
/// # Errors
/// The kernel's refusal, for all functions together.
pub fn link_trampolines(
    program: &ProgramMut<'_>,
    end: TrampolineEnd,
    ids: &[u32],
    cookies: Option<&Vec<u64>>,
) -> io::Result<OwnedFd> {
    if cookies.is_some_and(|cookies| cookies.len() != ids.len()) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let attributes = LinkTrampolines {
        program: program.as_fd().as_raw_fd() as u32,
        target: 0,
        attach_type: end as u32,
        flags: 0,
        ids: ids.as_ptr() as u64,
        cookies: cookies.map_or(0, |cookies| cookies.as_ptr() as u64),
        count: ids.len() as u32,
        padding: 0,
    };
    // SAFETY: the kernel reads `count` ids and as many cookies, which outlive the call, and the structure of this size.
    let fd = unsafe {
        libc::syscall(libc::SYS_bpf, libbpf_sys::BPF_LINK_CREATE, &raw const attributes, size_of::<LinkTrampolines>())
    };
    check(fd as libc::c_int)?;
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}

/// Runs a program once by `BPF_PROG_TEST_RUN` on the CPU of the caller; the context is 64 zero bytes.
pub fn test_run(fd: BorrowedFd<'_>) -> io::Result<u32> {
    let context = [0_u64; 8];
    let mut opts = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as libbpf_sys::size_t,
        ctx_in: context.as_ptr().cast(),
        ctx_size_in: size_of_val(&context) as u32,
        ..Default::default()
    };
    // SAFETY: the context outlives the call; a raw tracepoint's test run reads at most its 8 words.
    let rc = unsafe { libbpf_sys::bpf_prog_test_run_opts(fd.as_raw_fd(), &raw mut opts) };
    check(rc)?;
    Ok(opts.retval)
}

/// Returns when every program that runs now has ended. `MEMBARRIER_CMD_GLOBAL` waits for a grace period of
/// RCU (kernel/sched/membarrier.c), inside of which programs that don't sleep run; kernels with
/// `nohz_full` refuse it, and there a time that no such program takes must do.
pub fn wait_for_programs() {
    const MEMBARRIER_CMD_GLOBAL: libc::c_int = 1;
    // SAFETY: the call takes no pointers.
    let rc = unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) };
    if rc != 0 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// One batch of a hash map: keys and values one after the other, and how many.
#[derive(Debug, Default)]
pub struct Batch {
    /// `count` keys.
    pub keys: Vec<u8>,
    /// `count` values (per-CPU maps: one after the other for each CPU).
    pub values: Vec<u8>,
    /// How many were read.
    pub count: usize,
}

/// Where a batched reading stands. Hash maps keep a 32-bit bucket number in it; others a key.
#[derive(Debug)]
pub struct BatchCursor {
    state: Vec<u8>,
    started: bool,
}

impl BatchCursor {
    /// At the start of a map with keys of this size.
    #[must_use]
    pub fn new(key_size: usize) -> Self {
        Self { state: vec![0; key_size.max(8)], started: false }
    }
}

/// Reads the next entries of a map (`BPF_MAP_LOOKUP_BATCH`, 5.6). Gives true at the map's end.
/// `value_size` is the size as user space sees it: for per-CPU maps all CPUs' values together.
pub fn lookup_batch(
    fd: BorrowedFd<'_>,
    cursor: &mut BatchCursor,
    batch: &mut Batch,
    room: usize,
    key_size: usize,
    value_size: usize,
) -> io::Result<bool> {
    batch.keys.resize(room * key_size, 0);
    batch.values.resize(room * value_size, 0);
    batch.count = 0;
    let mut count = room as u32;
    let opts = libbpf_sys::bpf_map_batch_opts {
        sz: size_of::<libbpf_sys::bpf_map_batch_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let state = cursor.state.as_mut_ptr().cast();
    let from = if cursor.started { state } else { std::ptr::null_mut() };
    // SAFETY: keys and values have room for `count` entries of the map's sizes (the caller passes
    // the sizes of this very map); the cursor holds at least a key.
    let rc = unsafe {
        libbpf_sys::bpf_map_lookup_batch(
            fd.as_raw_fd(),
            from,
            state,
            batch.keys.as_mut_ptr().cast(),
            batch.values.as_mut_ptr().cast(),
            &raw mut count,
            &raw const opts,
        )
    };
    cursor.started = true;
    match check(rc) {
        Ok(()) => {
            batch.count = (count as usize).min(room);
            Ok(false)
        }
        Err(e) if e.raw_os_error() == Some(libc::ENOENT) => {
            batch.count = (count as usize).min(room);
            Ok(true)
        }
        Err(e) => Err(e),
    }
}

/// Reads one entry into `value`; false when there is none.
pub fn lookup(fd: BorrowedFd<'_>, key: &[u8], value: &mut [u8]) -> io::Result<bool> {
    // SAFETY: key and value have the map's sizes (the callers take them from the same map).
    let rc = unsafe { libbpf_sys::bpf_map_lookup_elem(fd.as_raw_fd(), key.as_ptr().cast(), value.as_mut_ptr().cast()) };
    absent_is_false(rc)
}

/// Writes one entry.
pub fn update(fd: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
    // SAFETY: as in `lookup`.
    let rc = unsafe { libbpf_sys::bpf_map_update_elem(fd.as_raw_fd(), key.as_ptr().cast(), value.as_ptr().cast(), 0) };
    check(rc)
}

/// Deletes one entry; false when there was none.
pub fn delete(fd: BorrowedFd<'_>, key: &[u8]) -> io::Result<bool> {
    // SAFETY: as in `lookup`.
    let rc = unsafe { libbpf_sys::bpf_map_delete_elem(fd.as_raw_fd(), key.as_ptr().cast()) };
    absent_is_false(rc)
}

/// The key after `key` (or the first); `None` at the end.
pub fn next_key(fd: BorrowedFd<'_>, key: Option<&[u8]>, key_size: usize) -> io::Result<Option<Vec<u8>>> {
    let mut next = vec![0_u8; key_size];
    let from = key.map_or(std::ptr::null(), |k| k.as_ptr().cast());
    // SAFETY: both keys have the map's key size.
    let rc = unsafe { libbpf_sys::bpf_map_get_next_key(fd.as_raw_fd(), from, next.as_mut_ptr().cast()) };
    Ok(absent_is_false(rc)?.then_some(next))
}

fn absent_is_false(rc: i32) -> io::Result<bool> {
    match check(rc) {
        Ok(()) => Ok(true),
        Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(e) => Err(e),
    }
}

fn check(rc: i32) -> io::Result<()> {
    if rc < 0 { Err(io::Error::from_raw_os_error(-rc)) } else { Ok(()) }
}
