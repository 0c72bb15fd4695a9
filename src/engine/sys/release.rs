//! A process that holds files a little longer than this one, and closes them by its end.
//!
//! To close a link of perf or of many functions, the kernel waits for grace periods, link after link under one lock, and whoever
//! closes it can't be interrupted meanwhile: half a minute for all system calls. So a copy of this process does it. It does
//! nothing but wait until this process has closed its own copies, and then end: the kernel frees its memory first, and closes
//! its files after that.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};

/// A process that holds copies of some of this one's files until this is dropped or this process ends.
#[derive(Debug)]
pub struct Holder {
    process: Pid,
    bond: OwnedFd,
}

/// A process that closes what it held.
#[derive(Debug)]
pub struct Closing {
    process: Pid,
}

impl Holder {
    /// A process that holds these files and no others.
    pub fn of(mut files: Vec<RawFd>) -> io::Result<Self> {
        let (bound, bond) = pipe_with(PipeFlags::CLOEXEC)?;
        files.push(bound.as_raw_fd());
        // Made before the fork: the copy may not allocate, for another thread may have held the allocator's locks.
        let others = others(files);
        // SAFETY: the copy calls nothing but `stay`, which only makes system calls, and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => stay(&others, bound.as_raw_fd()),
            process => Pid::from_raw(process)
                .map(|process| Self { process, bond })
                .ok_or_else(|| io::Error::other("fork gave no process")),
        }
    }

    /// Leaves it: it closes what it holds once this process has ended.
    pub fn stay(self) {
        std::mem::forget(self.bond);
    }

    /// Lets it close what it holds: this process has closed its own copies.
    #[must_use]
    pub fn close(self) -> Closing {
        drop(self.bond);
        Closing { process: self.process }
    }
}

impl Closing {
    /// Waits until everything is closed.
    pub fn wait(&self) {
        while waitpid(Some(self.process), WaitOptions::empty()).is_err_and(|e| e == rustix::io::Errno::INTR) {}
    }

    /// Whether everything is closed.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !matches!(waitpid(Some(self.process), WaitOptions::NOHANG), Ok(None))
    }
}

/// The numbers between some files: first and last of each gap.
fn others(mut files: Vec<RawFd>) -> Vec<(u32, u32)> {
    files.sort_unstable();
    let mut gaps = Vec::with_capacity(files.len() + 1);
    let mut next = 0;
    for file in files.into_iter().filter_map(|file| u32::try_from(file).ok()) {
        if next < file {
            gaps.push((next, file - 1));
        }
        next = file + 1;
    }
    gaps.push((next, u32::MAX));
    gaps
}

/// Closes other files, waits for the end of the pipe, and ends.
fn stay(others: &[(u32, u32)], bound: RawFd) -> ! {
    for (first, last) in others {
        close_range(*first, *last);
    }
    // SAFETY: the name is a string of C, and prctl copies it.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"psc-detach".as_ptr()) };
    let mut byte = 0_u8;
    loop {
        // SAFETY: reads at most one byte into a variable of one byte.
        let read = unsafe { libc::read(bound, (&raw mut byte).cast(), 1) };
        let interrupted = read < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
        if !interrupted {
            // SAFETY: ends the process without running anything of it.
            unsafe { libc::_exit(0) }
        }
    }
}

/// Closes a range of numbers, one by one on kernels before 5.9.
fn close_range(first: u32, last: u32) {
    /// No number is larger there: `fs.nr_open` is a million by default.
    const MOST: u32 = 1 << 20;
    // SAFETY: the numbers belong to the copy of the process, in which nobody uses them.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
        return;
    }
    for file in first..=last.min(MOST) {
        // SAFETY: as above.
        unsafe { libc::close(file as RawFd) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    #[test]
    fn gaps_between_files() {
        assert_eq!(others(vec![7, 3, 4]), [(0, 2), (5, 6), (8, u32::MAX)]);
        assert_eq!(others(vec![0]), [(1, u32::MAX)]);
    }

    #[test]
    fn a_file_is_held_until_it_may_be_closed() {
        let (mut reader, writer) = io::pipe().unwrap();
        let (mut of_others, other) = io::pipe().unwrap();
        let holder = Holder::of(vec![writer.as_raw_fd()]).unwrap();
        drop((&writer).write_all(b"here"));
        drop((writer, other));
        // Another's file has ended: the process has closed its copy. The held one has not.
        assert_eq!(of_others.read(&mut [0; 1]).unwrap(), 0);
        let mut text = [0; 4];
        reader.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"here");
        let closing = holder.close();
        assert_eq!(reader.read(&mut text).unwrap(), 0);
        closing.wait();
        assert!(closing.is_done());
    }
}
