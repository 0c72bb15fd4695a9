//! Small real programs for scripts to trace: `TEST-BINARY workload NAME WORDS...`.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

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
        "exit" => return number(0) as i32,
        // A name with a control character in it.
        "escape" => {
            let _ = fs::metadata("/nowhere/\x1b[31mred");
        }
        _ => return 64,
    }
    0
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

/// For user probes: two arguments and a result of their own.
#[allow(unsafe_code, reason = "a symbol that probes can name")]
// SAFETY: no other symbol in the test binaries has this name.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn probescope_workload_step(step: u64, text: *const u8) -> u64 {
    black_box(text);
    black_box(step) * 3 + 1
}
