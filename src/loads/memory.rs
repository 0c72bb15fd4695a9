//! Pages, blocks of the C library and code made at run time. `unsafe` because each of these is memory that Rust does
//! not know.
#![allow(unsafe_code)]

use std::fs::File;
use std::hint::black_box;
use std::ptr;

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};

use super::LoadError;

/// Bytes of a page that a fault brings in; larger pages are forbidden where they are mapped.
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Mapped pages, unmapped when dropped.
#[derive(Debug)]
pub struct Pages {
    start: *mut u8,
    bytes: usize,
}

impl Pages {
    /// Private pages of zeros that were never touched.
    pub fn fresh(pages: usize) -> Result<Self, LoadError> {
        let bytes = pages * page_bytes();
        let flags = MapFlags::PRIVATE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let start =
            unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags) };
        Self::mapped(start, bytes, Advice::LinuxNoHugepage)
    }

    /// Pages of a file, to read, without its neighbours being read ahead.
    pub fn of_file(file: &File, pages: usize) -> Result<Self, LoadError> {
        let bytes = pages * page_bytes();
        // SAFETY: as above; the file is the load's own and stays as long as it is.
        let start = unsafe { rustix::mm::mmap(ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, file, 0) };
        Self::mapped(start, bytes, Advice::Random)
    }

    fn mapped(
        start: rustix::io::Result<*mut std::ffi::c_void>,
        bytes: usize,
        advice: Advice,
    ) -> Result<Self, LoadError> {
        let error = LoadError::at("map", format!("{bytes} bytes"));
        let start = start.map_err(|e| error(e.into()))?;
        // SAFETY: the mapping is our own, and advice changes no byte of it. Kernels without large pages refuse it.
        let _ = unsafe { rustix::mm::madvise(start, bytes, advice) };
        Ok(Self { start: start.cast(), bytes })
    }

    /// Writes a byte of each page.
    pub fn write_each(&self) {
        for at in (0..self.bytes).step_by(page_bytes()) {
            // SAFETY: inside the mapping, which `fresh` made writable.
            unsafe { self.start.add(at).write_volatile(1) };
        }
    }

    /// Reads a byte of each page.
    pub fn read_each(&self) {
        for at in (0..self.bytes).step_by(page_bytes()) {
            // SAFETY: inside the mapping.
            black_box(unsafe { self.start.add(at).read_volatile() });
        }
    }

    /// Fills the pages with code that may then be run and no more be written.
    pub fn into_code(self, code: &[u8]) -> Result<Code, LoadError> {
        assert!(code.len() <= self.bytes, "the code fits its pages");
        let error = LoadError::at("make code of", format!("{} bytes", self.bytes));
        // SAFETY: inside the mapping, which nobody else knows.
        unsafe { ptr::copy_nonoverlapping(code.as_ptr(), self.start, code.len()) };
        // SAFETY: the mapping is our own and keeps its size.
        unsafe { rustix::mm::mprotect(self.start.cast(), self.bytes, MprotectFlags::READ | MprotectFlags::EXEC) }
            .map_err(|e| error(e.into()))?;
        Ok(Code(self))
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is our own and nobody else knows it.
        let _ = unsafe { rustix::mm::munmap(self.start.cast(), self.bytes) };
    }
}

/// Functions made at run time.
#[derive(Debug)]
pub struct Code(Pages);

impl Code {
    /// The address of what lies `offset` bytes in.
    pub fn address(&self, offset: usize) -> u64 {
        self.0.start as u64 + offset as u64
    }

    /// Calls the function that lies there.
    pub fn call(&self, offset: usize, argument: u64) -> u64 {
        assert!(offset < self.0.bytes, "functions lie inside their pages");
        // SAFETY: `jit` wrote a function of this signature of the C convention there.
        let function: extern "C" fn(u64) -> u64 = unsafe { std::mem::transmute(self.0.start.add(offset)) };
        function(argument)
    }
}

/// A block of the C library's, which Rust's own allocator may not be.
#[derive(Debug)]
pub struct Block(*mut libc::c_void);

impl Block {
    /// Asks for one; none where there is no memory.
    #[inline(never)]
    pub fn allocate(bytes: usize) -> Option<Self> {
        // SAFETY: any size may be asked for.
        let block = unsafe { libc::malloc(bytes) };
        (!black_box(block).is_null()).then_some(Self(block))
    }

    /// Asks for zeros.
    #[inline(never)]
    pub fn zeroed(count: usize, bytes: usize) -> Option<Self> {
        // SAFETY: any size may be asked for.
        let block = unsafe { libc::calloc(count, bytes) };
        (!black_box(block).is_null()).then_some(Self(block))
    }

    /// Another size, perhaps elsewhere.
    #[inline(never)]
    pub fn resized(self, bytes: usize) -> Option<Self> {
        // SAFETY: the block is the C library's, and nobody has it after this.
        let block = unsafe { libc::realloc(self.0, bytes) };
        (!black_box(block).is_null()).then_some(Self(block))
    }

    /// Gives it back.
    #[inline(never)]
    pub fn free(self) {
        // SAFETY: the block is the C library's, and nobody has it after this.
        unsafe { libc::free(self.0) };
    }
}
