//! System calls that fail, each a known number of times.

use std::fs::{self, File, OpenOptions};
use std::io::Read as _;

use super::files::Folder;
use super::{Load, LoadError, Plan, Truth};

pub const LOAD: Load = Load {
    name: "errors",
    about: "Makes system calls that fail with known errors, each a known number of times.",
    truth: &[
        ("openat.ENOENT", "opens of a file that is not there"),
        ("openat.EISDIR", "opens of a folder to write"),
        ("openat.ENOTDIR", "opens of something below a file"),
        ("mkdir.EEXIST", "folders made that are there"),
        ("rmdir.ENOTEMPTY", "folders removed that are not empty"),
        ("rename.ENOENT", "files renamed that are not there"),
        ("read.EAGAIN", "reads of an empty pipe that does not wait"),
        ("kill.ESRCH", "signals to a process that is not there"),
    ],
    run,
};

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let folder = Folder::new()?;
    let file = folder.0.join("file");
    fs::write(&file, b"x").map_err(LoadError::at("write", file.display()))?;
    let gone = folder.0.join("gone");
    let no_pipe = LoadError::at("make", "a pipe");
    let (reader, _writer) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::NONBLOCK).map_err(|e| no_pipe(e.into()))?;
    let mut reader = File::from(reader);
    let mut random = plan.random();
    let mut times = |errno: i32, call: &mut dyn FnMut() -> std::io::Result<()>| {
        let wanted = random.between(3, 50);
        let failed = |_: &u64| plan.has_time() && call().is_err_and(|e| e.raw_os_error() == Some(errno));
        (0..wanted).filter(failed).count() as u64
    };
    // Above what the kernel ever gives.
    let nobody = rustix::process::Pid::from_raw(i32::MAX);
    let kill = |pid| rustix::process::kill_process(pid, rustix::process::Signal::WINCH).map_err(Into::into);
    Ok(Truth::new()
        .with("openat.ENOENT", times(libc::ENOENT, &mut || File::open(&gone).map(drop)))
        .with("openat.EISDIR", times(libc::EISDIR, &mut || OpenOptions::new().write(true).open(&folder.0).map(drop)))
        .with("openat.ENOTDIR", times(libc::ENOTDIR, &mut || File::open(file.join("below")).map(drop)))
        .with("mkdir.EEXIST", times(libc::EEXIST, &mut || fs::create_dir(&folder.0)))
        .with("rmdir.ENOTEMPTY", times(libc::ENOTEMPTY, &mut || fs::remove_dir(&folder.0)))
        .with("rename.ENOENT", times(libc::ENOENT, &mut || fs::rename(&gone, &file)))
        .with("read.EAGAIN", times(libc::EAGAIN, &mut || reader.read(&mut [0; 1]).map(drop)))
        .with("kill.ESRCH", times(libc::ESRCH, &mut || nobody.map_or(Ok(()), kill))))
}
