//! Small real programs for scripts to trace: `TEST-BINARY workload NAME WORDS...`.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use super::tcp_segments;

/// Runs the workload that the process was started for, if it was; then the process ends.
pub fn run_if_asked() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|w| w == "workload") {
        std::process::exit(run(words.get(1).map_or("", String::as_str), words.get(2..).unwrap_or_default()));
    }
}

fn run(name: &str, words: &[String]) -> i32 {
    let number = |place: usize| words.get(place).and_then(|w| w.parse::<u64>().ok()).unwrap_or(1);
    match name {
        // N system calls that nothing else on the machine makes often.
        "getppid" => (0..number(0)).for_each(|_| {
            black_box(std::os::unix::process::parent_id());
        }),
        // Opens PATH N times; a missing one fails N times.
        "open" => (0..number(1)).for_each(|_| {
            black_box(File::open(words.first().map_or("/dev/null", String::as_str)).is_ok());
        }),
        // Asks of PATH and of /dev/null, by both calls for it: what it is, what a link is, and what is open.
        "status" => status(words.first().map_or("/dev/null", String::as_str)),
        // N times: opens missing paths of 2, 7, 8, 9 and about 120 bytes, each the beginning of the next.
        "paths" => (0..number(0)).for_each(|_| {
            for length in [2, 7, 8, 9, 118, 119, 120, 121] {
                black_box(File::open(format!("/{}", "p".repeat(length - 1))).is_ok());
            }
        }),
        // N writes of SIZE bytes each.
        "write" => {
            let bytes = vec![0; number(1) as usize];
            if let Ok(mut file) = File::create("/dev/null") {
                (0..number(0)).for_each(|_| drop(file.write_all(&bytes)));
            }
        }
        // N children that exit with CODE.
        "spawn" => (0..number(0)).for_each(|_| {
            let code = number(1).to_string();
            let _ = Command::new("/bin/sh").args(["-c", &format!("exit {code}")]).status();
        }),
        "sleep" => std::thread::sleep(Duration::from_millis(number(0))),
        // Busy for N milliseconds.
        "spin" => {
            let end = Instant::now() + Duration::from_millis(number(0));
            while Instant::now() < end {
                black_box((0..1000_u64).sum::<u64>());
            }
        }
        // N threads, one after the other.
        "threads" => (0..number(0)).for_each(|_| drop(std::thread::spawn(|| ()).join())),
        // Touches N fresh pages.
        "fault" => {
            let mut pages = vec![0_u8; number(0) as usize * 4096];
            pages.iter_mut().step_by(4096).for_each(|b| *b = 1);
            black_box(&pages);
        }
        // N calls of a function of this binary.
        "step" => {
            // Read first: a probe can't read a page that was never touched.
            let text = black_box(c"workload");
            black_box(text.to_bytes().iter().map(|b| u64::from(*b)).sum::<u64>());
            (0..number(0)).for_each(|i| {
                black_box(probescope_workload_step(black_box(i), black_box(text.as_ptr().cast())));
            });
        }
        // N connections over loopback.
        "tcp" => tcp(number(0)),
        // N connections that are closed before what came is read: each is broken off.
        "reset" => reset(number(0)),
        // Connections to one who takes none, until one stays without an answer for N milliseconds.
        "unanswered" => unanswered(Duration::from_millis(number(0))),
        // Bytes of a connection that come again, and some that come too early.
        "disorder" => return tcp_segments::disorder().map_or(1, |()| 0),
        // Two processes that wait for a mutex of the kernel: one gives up, the other gets it.
        "mutex" => return wait_for_a_mutex().map_or(1, |()| 0),
        // Threads named `contend` that want the same locks of the kernel at once.
        "contend" => return contend().map_or(1, |()| 0),
        "exit" => return number(0) as i32,
        // A name with a control character in it.
        "escape" => {
            let _ = fs::metadata("/nowhere/\x1b[31mred");
        }
        _ => return 64,
    }
    0
}

fn status(path: &str) {
    let _ = (fs::metadata(path).is_ok(), fs::symlink_metadata(path).is_ok());
    if let Ok(path) = std::ffi::CString::new(path) {
        let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
        let _ = rustix::fs::statat(rustix::fs::CWD, &path, rustix::fs::AtFlags::empty()).is_ok();
        let _ = rustix::fs::statat(rustix::fs::CWD, &path, flags).is_ok();
    }
    let Ok(file) = File::open("/dev/null") else { return };
    let _ = (file.metadata().is_ok(), rustix::fs::statat(&file, c"", rustix::fs::AtFlags::EMPTY_PATH).is_ok());
}

fn tcp(connections: u64) {
    let Ok(listener) = TcpListener::bind("127.0.0.1:0") else { return };
    let Ok(address) = listener.local_addr() else { return };
    let server = std::thread::spawn(move || {
        for _ in 0..connections {
            if let Ok((mut stream, _)) = listener.accept() {
                let _ = stream.write_all(b"hello");
            }
        }
    });
    for _ in 0..connections {
        if let Ok(mut stream) = TcpStream::connect(address) {
            let _ = stream.read_to_end(&mut Vec::new());
        }
    }
    let _ = server.join();
}

fn reset(connections: u64) {
    let Ok(listener) = TcpListener::bind("127.0.0.1:0") else { return };
    let Ok(address) = listener.local_addr() else { return };
    for _ in 0..connections {
        let Ok(client) = TcpStream::connect(address) else { return };
        let Ok((mut server, _)) = listener.accept() else { return };
        let _ = server.write_all(b"hello");
        // Here already, and never read.
        let _ = client.peek(&mut [0; 5]);
        drop(client);
        let _ = server.read_to_end(&mut Vec::new());
    }
}

fn unanswered(patience: Duration) {
    let Ok(listener) = TcpListener::bind("127.0.0.1:0") else { return };
    let Ok(address) = listener.local_addr() else { return };
    let mut waiting = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, patience) {
        waiting.push(stream);
    }
    drop(listener);
}

/// Who reads a terminal keeps its mutex (`atomic_read_lock`) until a line comes; others sleep for it, until it is theirs or a
/// signal comes.
fn wait_for_a_mutex() -> std::io::Result<()> {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&terminal)?;
    unlockpt(&terminal)?;
    let path = ptsname(&terminal, Vec::new())?.to_string_lossy().into_owned();
    let mut terminal = File::from(terminal);
    let reader = || -> std::io::Result<std::process::Child> {
        let child = Command::new("head").arg("-n1").stdin(File::options().read(true).open(&path)?).spawn()?;
        let reads = || {
            let of = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", child.id())).unwrap_or_default();
            of("comm").trim() == "head" && of("stat").contains(") S ")
        };
        while !reads() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(50));
        Ok(child)
    };
    let mut first = reader()?;
    let mut second = reader()?;
    let mut third = reader()?;
    third.kill()?;
    third.wait()?;
    terminal.write_all(b"a\n")?;
    first.wait()?;
    terminal.write_all(b"b\n")?;
    second.wait()?;
    Ok(())
}

/// Both ends of a pipe share a mutex; mappings of one process share a lock of readers and writers.
fn contend() -> std::io::Result<()> {
    const TIMES: usize = 60_000;
    let (mut reader, mut writer) = std::io::pipe()?;
    let named = || std::thread::Builder::new().name("contend".to_owned());
    let writes = named().spawn(move || (0..TIMES).all(|_| writer.write_all(&[0; 64]).is_ok()))?;
    let reads = named().spawn(move || (0..TIMES).all(|_| reader.read_exact(&mut [0; 64]).is_ok()))?;
    let _ = (writes.join(), reads.join());
    // So large that each is a mapping of its own.
    let maps = || (0..TIMES / 2).for_each(|_| drop(black_box(Vec::<u8>::with_capacity(64 << 20))));
    let (one, other) = (named().spawn(maps)?, named().spawn(maps)?);
    let _ = (one.join(), other.join());
    Ok(())
}

/// For user probes: two arguments and a result of their own.
#[allow(unsafe_code, reason = "a symbol that probes can name")]
// SAFETY: no other symbol in the test binaries has this name.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn probescope_workload_step(step: u64, text: *const u8) -> u64 {
    black_box(text);
    black_box(step) * 3 + 1
}
