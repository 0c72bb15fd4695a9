//! A slow disk: reads and writes past the page cache, each waited for.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};

use super::files::Folder;
use super::{Load, LoadError, Plan, Truth};

pub const LOAD: Load = Load {
    name: "disk",
    about: "Writes and reads a file past the page cache (O_DIRECT), one request after the other.",
    truth: &[
        ("device", "major and minor number of the file's device"),
        ("writes", "writes, each of request_bytes"),
        ("reads", "reads, each of request_bytes"),
        ("request_bytes", "bytes of each"),
        ("written_bytes", "bytes written"),
        ("read_bytes", "bytes read"),
    ],
    run,
};

const ALIGNMENT: usize = 4096;

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let mut random = plan.random();
    let size = 4096 << random.between(0, 4);
    let wanted = random.between(8, 24);
    let folder = Folder::new()?;
    let path = folder.0.join("direct");
    let failed = LoadError::at("write past the page cache", path.display());
    let file = direct(&path).map_err(&failed)?;
    let device = file.metadata().map_err(&failed)?.dev();
    let mut memory = vec![7; size + ALIGNMENT];
    let start = memory.as_ptr().align_offset(ALIGNMENT);
    let buffer = &mut memory[start..start + size];
    let (mut writes, mut reads) = (0_u64, 0_u64);
    // Twice: first where nothing was, then over what is there.
    for place in (0..wanted).chain(0..wanted) {
        if !plan.has_time() {
            break;
        }
        file.write_all_at(buffer, place * size as u64).map_err(&failed)?;
        writes += 1;
    }
    let written = writes.min(wanted);
    file.sync_all().map_err(&failed)?;
    for place in 0..written {
        if !plan.has_time() {
            break;
        }
        file.read_exact_at(buffer, place * size as u64).map_err(&failed)?;
        reads += 1;
    }
    Ok(Truth::new()
        .with("device", format!("{}:{}", libc::major(device), libc::minor(device)))
        .with("writes", writes)
        .with("reads", reads)
        .with("request_bytes", size)
        .with("written_bytes", writes * size as u64)
        .with("read_bytes", reads * size as u64))
}

fn direct(path: &std::path::Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).custom_flags(libc::O_DIRECT).open(path)
}
