//! A file server's work: files are made, written, synced, read in pieces and removed.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use super::proc::Io;
use super::{Load, LoadError, Plan, Truth};

pub const LOAD: Load = Load {
    name: "files",
    about: "Makes, writes, syncs, reads and removes small files, each call counted.",
    truth: &[
        ("folder", "where the files were"),
        ("files", "files made and removed"),
        ("opens", "successful opens: one to write and one to read each file"),
        ("writes", "calls of write"),
        ("written_bytes", "bytes in them"),
        ("syncs", "calls of fsync"),
        ("reads", "calls of read, the one at the end of each file included"),
        ("read_bytes", "bytes in them"),
        ("kernel_writes", "the kernel's count of writes meanwhile (/proc/self/io)"),
        ("kernel_reads", "the kernel's count of reads meanwhile (/proc/self/io)"),
    ],
    run,
};

/// No read gets more: files are read in pieces.
const PIECE: usize = 3000;

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let folder = Folder::new()?;
    let mut random = plan.random();
    let wanted = random.between(20, 40);
    let mut buffer = vec![0; PIECE];
    let io = Io::open()?;
    let before = io.calls()?;
    let (mut files, mut written, mut reads, mut read) = (0_u64, 0_u64, 0_u64, 0_u64);
    while files < wanted && plan.has_time() {
        let path = folder.0.join(format!("file-{files:02}"));
        let bytes = vec![b'x'; random.between(1, 4 * PIECE as u64) as usize];
        let failed = LoadError::at("write", path.display());
        let mut file = File::create(&path).map_err(&failed)?;
        // The calls are counted: each must take all.
        if file.write(&bytes).map_err(&failed)? != bytes.len() {
            return Err(failed(std::io::ErrorKind::WriteZero.into()));
        }
        file.sync_all().map_err(&failed)?;
        drop(file);
        written += bytes.len() as u64;
        let failed = LoadError::at("read", path.display());
        let mut file = File::open(&path).map_err(&failed)?;
        loop {
            let length = file.read(&mut buffer).map_err(&failed)?;
            reads += 1;
            read += length as u64;
            if length == 0 {
                break;
            }
        }
        fs::remove_file(&path).map_err(LoadError::at("remove", path.display()))?;
        files += 1;
    }
    let after = io.calls()?;
    Ok(Truth::new()
        .with("folder", folder.0.display().to_string())
        .with("files", files)
        .with("opens", 2 * files)
        .with("writes", files)
        .with("written_bytes", written)
        .with("syncs", files)
        .with("reads", reads)
        .with("read_bytes", read)
        .with("kernel_writes", after.1 - before.1)
        // The first look at the counter is itself a read.
        .with("kernel_reads", after.0 - before.0 - 1))
}

/// A folder of the load's own on a disk, removed at the end.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    /// Makes it; with a name that says whose it is.
    pub fn new() -> Result<Self, LoadError> {
        let path =
            PathBuf::from(format!("/var/tmp/probescope-load-{}-{}", std::process::id(), super::proc::thread_id()));
        fs::create_dir(&path).map_err(LoadError::at("make", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
