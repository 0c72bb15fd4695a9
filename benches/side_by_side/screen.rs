//! The workbench as a terminal sees it: from exec to the first frame, from a key to the frame that
//! answers it, and what it costs while nothing happens.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::tool::median;

const ROUNDS: usize = 21;
/// End of a synchronised update (DEC 2026): a frame is on the screen.
const FRAME_END: &[u8] = b"\x1b[?2026l";
const PATIENCE: Duration = Duration::from_secs(20);

/// The workbench on a terminal of its own.
struct Workbench {
    child: Child,
    keys: File,
    output: Receiver<(Instant, Vec<u8>)>,
    started: Instant,
    home: PathBuf,
}

impl Workbench {
    fn open() -> std::io::Result<Self> {
        let home = std::env::temp_dir().join(format!("probescope-bench-{}", std::process::id()));
        std::fs::create_dir_all(&home)?;
        let main: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&main)?;
        unlockpt(&main)?;
        tcsetwinsize(&main, Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 })?;
        let side = rustix::fs::open(ptsname(&main, Vec::new())?, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
        let (keys, mut screen) = (File::from(main.try_clone()?), File::from(main));
        let started = Instant::now();
        let child = Command::new(env!("CARGO_BIN_EXE_probescope"))
            .env("HOME", &home)
            .env("TERM", "xterm-256color")
            .env_remove("XDG_STATE_HOME")
            .stdin(Stdio::from(side.try_clone()?))
            .stdout(Stdio::from(side.try_clone()?))
            .stderr(Stdio::from(side))
            .spawn()?;
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(n @ 1..) = screen.read(&mut buffer) {
                if sender.send((Instant::now(), buffer[..n].to_vec())).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, keys, output, started, home })
    }

    /// When the next frame that has these bytes in it was whole; absent when none came.
    fn frame_with(&self, wanted: &[u8]) -> Option<Instant> {
        let mut seen = Vec::new();
        loop {
            let (at, bytes) = self.output.recv_timeout(PATIENCE).ok()?;
            seen.extend_from_slice(&bytes);
            let whole = memchr::memmem::rfind(&seen, FRAME_END).unwrap_or(0);
            if memchr::memmem::find(&seen[..whole], wanted).is_some() {
                return Some(at);
            }
        }
    }

    /// When the last frame of a while was whole: the echo of a key comes before its results.
    fn last_frame(&self, within: Duration) -> Option<Instant> {
        let until = Instant::now() + within;
        let mut last = None;
        while let Ok((at, _)) = self.output.recv_timeout(until.saturating_duration_since(Instant::now())) {
            last = Some(at);
        }
        last
    }

    fn press(&mut self, keys: &str) -> Instant {
        let at = Instant::now();
        let _ = self.keys.write_all(keys.as_bytes());
        at
    }

    /// Processor time used so far, ms, and resident memory, MB.
    fn use_of(&self) -> Option<(f64, f64)> {
        let folder = format!("/proc/{}", self.child.id());
        let stat = std::fs::read_to_string(format!("{folder}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
        let status = std::fs::read_to_string(format!("{folder}/status")).ok()?;
        let kb = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?.trim().trim_end_matches(" kB").parse::<f64>();
        Some((ticks * 1000.0 / rustix::param::clock_ticks_per_second() as f64, kb.ok()? / 1024.0))
    }

    fn close(mut self) {
        self.press("\x1b\x11");
        let start = Instant::now();
        while self.child.try_wait().is_ok_and(|s| s.is_none()) && start.elapsed() < Duration::from_secs(3) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

/// The figures, with what they are held against.
pub fn workbench() {
    println!("\nthe workbench on a terminal of 120x40");
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let Ok(workbench) = Workbench::open() else {
            println!("  left out: no pseudo-terminal can be opened");
            return;
        };
        match workbench.frame_with(b"probescope") {
            Some(at) => times.push((at - workbench.started).as_secs_f64() * 1e3),
            None => println!("  no frame came"),
        }
        workbench.close();
    }
    let worst = times.iter().copied().fold(0.0, f64::max);
    println!(
        "  exec to first frame: {:.1} ms (median of {ROUNDS}, slowest {worst:.1} ms; at most 50 wanted)",
        median(times)
    );
    let Ok(mut workbench) = Workbench::open() else { return };
    // All probes are read once the browser says how many there are.
    workbench.press("/");
    let _ = workbench.frame_with(b"Fires once");
    std::thread::sleep(Duration::from_secs(4));
    while workbench.output.try_recv().is_ok() {}
    let mut keys = Vec::new();
    for _ in 0..12 {
        for key in "openat".chars().map(String::from).chain(std::iter::repeat_n("\x7f".to_owned(), 6)) {
            let at = workbench.press(&key);
            if let Some(shown) = workbench.last_frame(Duration::from_millis(60)) {
                keys.push((shown - at).as_secs_f64() * 1e3);
            }
        }
    }
    keys.sort_by(f64::total_cmp);
    let p99 = keys.get(keys.len() * 99 / 100).copied().unwrap_or(f64::NAN);
    println!(
        "  key to list of probes: {:.1} ms, p99 {p99:.1} ms ({} keys; at most 16 wanted)",
        median(keys.clone()),
        keys.len()
    );
    workbench.press("\x1b");
    std::thread::sleep(Duration::from_secs(1));
    if let (Some(before), start) = (workbench.use_of(), Instant::now()) {
        std::thread::sleep(Duration::from_secs(5));
        if let Some(after) = workbench.use_of() {
            let share = (after.0 - before.0) / start.elapsed().as_secs_f64() / 10.0;
            println!("  idle: {share:.2} % of a core, {:.0} MB (at most 1 % and 60 MB wanted)", after.1);
        }
    }
    workbench.close();
}
