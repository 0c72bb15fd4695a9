//! Programs, maps and types that others have loaded: by id, as the `bpf` system call tells of them.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// Largest BTF that is read of one object, bytes.
const MAX_BTF: u32 = 64 << 20;
/// Longest list that is read of one program: instructions, lines, maps.
const MAX_LIST: u32 = 1 << 20;

/// What has ids of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// `BPF_PROG_GET_NEXT_ID` and so on.
    Program,
    /// Maps.
    Map,
    /// Links.
    Link,
    /// Types.
    Btf,
}

/// The smallest id over `after`; `None` at the end.
pub fn next_id(kind: ObjectKind, after: u32) -> io::Result<Option<u32>> {
    let mut next = 0;
    // SAFETY: `next` is a place for one number.
    let rc = unsafe {
        match kind {
            ObjectKind::Program => libbpf_sys::bpf_prog_get_next_id(after, &raw mut next),
            ObjectKind::Map => libbpf_sys::bpf_map_get_next_id(after, &raw mut next),
            ObjectKind::Link => libbpf_sys::bpf_link_get_next_id(after, &raw mut next),
            ObjectKind::Btf => libbpf_sys::bpf_btf_get_next_id(after, &raw mut next),
        }
    };
    match -rc {
        0 => Ok(Some(next)),
        libc::ENOENT => Ok(None),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// A descriptor of an object.
pub fn open(kind: ObjectKind, id: u32) -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    let fd = unsafe {
        match kind {
            ObjectKind::Program => libbpf_sys::bpf_prog_get_fd_by_id(id),
            ObjectKind::Map => libbpf_sys::bpf_map_get_fd_by_id(id),
            ObjectKind::Link => libbpf_sys::bpf_link_get_fd_by_id(id),
            ObjectKind::Btf => libbpf_sys::bpf_btf_get_fd_by_id(id),
        }
    };
    check(fd)?;
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What the kernel tells of a program.
pub fn program(fd: BorrowedFd<'_>) -> io::Result<libbpf_sys::bpf_prog_info> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    fill_program(fd, &mut info)?;
    Ok(info)
}

/// `info` says which arrays are wanted: a length, and a place for as many.
fn fill_program(fd: BorrowedFd<'_>, info: &mut libbpf_sys::bpf_prog_info) -> io::Result<()> {
    let mut len = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: `info` is a plain struct of the size given, and the callers' arrays have the lengths that it names.
    check(unsafe { libbpf_sys::bpf_prog_get_info_by_fd(fd.as_raw_fd(), info, &raw mut len) })
}

/// The maps of a program.
pub fn program_maps(fd: BorrowedFd<'_>, count: u32) -> io::Result<Vec<u32>> {
    let mut ids = vec![0_u32; count.min(MAX_LIST) as usize];
    let mut info = libbpf_sys::bpf_prog_info {
        nr_map_ids: ids.len() as u32,
        map_ids: ids.as_mut_ptr() as u64,
        ..Default::default()
    };
    fill_program(fd, &mut info)?;
    ids.truncate(info.nr_map_ids as usize);
    Ok(ids)
}

/// A line of the source that instructions come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceLine {
    /// The first instruction of it.
    pub instruction: u32,
    /// Where its file's name lies among the strings of the program's BTF.
    pub file: u32,
    /// Where its text lies there.
    pub text: u32,
    /// Its number.
    pub line: u32,
}

/// A program's instructions after the verifier, 8 bytes each, and the lines that they come from. Empty where the
/// kernel does not show them.
pub fn program_code(fd: BorrowedFd<'_>) -> io::Result<(Vec<u8>, Vec<SourceLine>)> {
    let told = program(fd)?;
    let mut code = vec![0_u8; told.xlated_prog_len.min(MAX_LIST * 8) as usize];
    let mut lines = vec![libbpf_sys::bpf_line_info::default(); told.nr_line_info.min(MAX_LIST) as usize];
    let mut info = libbpf_sys::bpf_prog_info {
        xlated_prog_len: code.len() as u32,
        xlated_prog_insns: code.as_mut_ptr() as u64,
        nr_line_info: lines.len() as u32,
        line_info: lines.as_mut_ptr() as u64,
        line_info_rec_size: size_of::<libbpf_sys::bpf_line_info>() as u32,
        ..Default::default()
    };
    fill_program(fd, &mut info)?;
    // Where addresses are hidden the kernel gives no code.
    code.truncate(if info.xlated_prog_insns == 0 { 0 } else { info.xlated_prog_len as usize });
    lines.truncate(if info.line_info == 0 { 0 } else { info.nr_line_info as usize });
    let line = |l: &libbpf_sys::bpf_line_info| SourceLine {
        instruction: l.insn_off,
        file: l.file_name_off,
        text: l.line_off,
        line: l.line_col >> 10,
    };
    Ok((code, lines.iter().map(line).collect()))
}

/// What the kernel tells of a map.
pub fn map(fd: BorrowedFd<'_>) -> io::Result<libbpf_sys::bpf_map_info> {
    let mut info = libbpf_sys::bpf_map_info::default();
    let mut len = size_of::<libbpf_sys::bpf_map_info>() as u32;
    // SAFETY: `info` is a plain struct of the size given.
    check(unsafe { libbpf_sys::bpf_map_get_info_by_fd(fd.as_raw_fd(), &raw mut info, &raw mut len) })?;
    Ok(info)
}

/// The name of a BTF object: `vmlinux`, a module's, or empty for a program's own.
pub fn btf_name(fd: BorrowedFd<'_>) -> io::Result<String> {
    let mut name = [0_u8; 128];
    let mut info =
        libbpf_sys::bpf_btf_info { name: name.as_mut_ptr() as u64, name_len: name.len() as u32, ..Default::default() };
    fill_btf(fd, &mut info)?;
    let end = memchr::memchr(0, &name).unwrap_or(name.len());
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}

/// The bytes of a BTF object.
pub fn btf(fd: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let mut info = libbpf_sys::bpf_btf_info::default();
    fill_btf(fd, &mut info)?;
    let mut bytes = vec![0_u8; info.btf_size.min(MAX_BTF) as usize];
    let mut info =
        libbpf_sys::bpf_btf_info { btf: bytes.as_mut_ptr() as u64, btf_size: bytes.len() as u32, ..Default::default() };
    fill_btf(fd, &mut info)?;
    bytes.truncate(info.btf_size as usize);
    Ok(bytes)
}

fn fill_btf(fd: BorrowedFd<'_>, info: &mut libbpf_sys::bpf_btf_info) -> io::Result<()> {
    let mut len = size_of::<libbpf_sys::bpf_btf_info>() as u32;
    // SAFETY: `info` is a plain struct of the size given, and the callers' buffers have the lengths that it names.
    check(unsafe { libbpf_sys::bpf_btf_get_info_by_fd(fd.as_raw_fd(), info, &raw mut len) })
}

/// The program that a perf event of a process runs, where it runs one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventProgram {
    /// Its id.
    pub program: u32,
    /// The event in bpftrace's words: `tracepoint:sched_switch`, `kprobe:vfs_read`, `uprobe:/bin/bash:0x1234`.
    pub event: String,
}

/// Asks for the program of another process's perf event (`BPF_TASK_FD_QUERY`).
pub fn event_program(pid: u32, fd: u32) -> io::Result<EventProgram> {
    let mut name = [0_u8; 4096];
    let (mut len, mut program, mut kind, mut offset, mut address) = (name.len() as u32, 0, 0, 0, 0);
    // SAFETY: `name` has `len` bytes, the others are places for one number each.
    let rc = unsafe {
        libbpf_sys::bpf_task_fd_query(
            pid as i32,
            fd as i32,
            0,
            name.as_mut_ptr().cast(),
            &raw mut len,
            &raw mut program,
            &raw mut kind,
            &raw mut offset,
            &raw mut address,
        )
    };
    check(rc)?;
    let end = memchr::memchr(0, &name).unwrap_or(name.len());
    let name = String::from_utf8_lossy(&name[..end]);
    let place = |provider: &str| match (name.is_empty(), offset) {
        (true, _) => format!("{provider}:{address:#x}"),
        (false, 0) => format!("{provider}:{name}"),
        (false, offset) => format!("{provider}:{name}+{offset}"),
    };
    let event = match kind {
        libbpf_sys::BPF_FD_TYPE_TRACEPOINT => format!("tracepoint:{name}"),
        libbpf_sys::BPF_FD_TYPE_RAW_TRACEPOINT => format!("rawtracepoint:{name}"),
        libbpf_sys::BPF_FD_TYPE_KPROBE => place("kprobe"),
        libbpf_sys::BPF_FD_TYPE_KRETPROBE => place("kretprobe"),
        libbpf_sys::BPF_FD_TYPE_UPROBE => format!("uprobe:{name}:{offset:#x}"),
        libbpf_sys::BPF_FD_TYPE_URETPROBE => format!("uretprobe:{name}:{offset:#x}"),
        _ => format!("perf event of type {kind}"),
    };
    Ok(EventProgram { program, event })
}

/// A program's type as libbpf writes it.
#[must_use]
pub fn program_kind(kind: u32) -> String {
    // SAFETY: the call takes a number and gives a text that stays.
    known(unsafe { libbpf_sys::libbpf_bpf_prog_type_str(kind) }, kind)
}

/// A map's type as libbpf writes it.
#[must_use]
pub fn map_kind(kind: u32) -> String {
    // SAFETY: as above.
    known(unsafe { libbpf_sys::libbpf_bpf_map_type_str(kind) }, kind)
}

/// A kind of attachment as libbpf writes it.
#[must_use]
pub fn attach_kind(kind: u32) -> String {
    // SAFETY: as above.
    known(unsafe { libbpf_sys::libbpf_bpf_attach_type_str(kind) }, kind)
}

fn known(text: *const libc::c_char, number: u32) -> String {
    if text.is_null() {
        return format!("type {number}");
    }
    // SAFETY: libbpf's tables hold texts that end with NUL.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn check(rc: i32) -> io::Result<()> {
    if rc < 0 { Err(io::Error::from_raw_os_error(-rc)) } else { Ok(()) }
}
