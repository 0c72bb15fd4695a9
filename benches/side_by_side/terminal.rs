//! The workbench on a terminal of its own.

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

/// End of a synchronised update (DEC 2026): a frame is on the screen.
pub const FRAME_END: &[u8] = b"\x1b[?2026l";
const PATIENCE: Duration = Duration::from_secs(20);

/// The workbench on a terminal of its own.
pub struct Workbench {
    child: Child,
    keys: File,
    pub output: Receiver<(Instant, Vec<u8>)>,
    pub started: Instant,
    /// Its home and working folder, gone at the end.
    pub home: PathBuf,
}

impl Workbench {
    /// Without a script.
    pub fn open() -> std::io::Result<Self> {
        Self::open_on("")
    }

    /// With a script of this text, where it is not empty.
    pub fn open_on(script: &str) -> std::io::Result<Self> {
        let home = std::env::temp_dir().join(format!("probescope-bench-{}", std::process::id()));
        std::fs::create_dir_all(&home)?;
        let main: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&main)?;
        unlockpt(&main)?;
        tcsetwinsize(&main, Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 })?;
        let side = rustix::fs::open(ptsname(&main, Vec::new())?, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
        let (keys, mut screen) = (File::from(main.try_clone()?), File::from(main));
        let started = Instant::now();
        let mut command = Command::new(env!("CARGO_BIN_EXE_probescope"));
        if !script.is_empty() {
            std::fs::write(home.join("bench.bt"), script)?;
            command.arg("bench.bt");
        }
        let child = command
            .current_dir(&home)
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
    pub fn frame_with(&self, wanted: &[u8]) -> Option<Instant> {
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
    pub fn last_frame(&self, within: Duration) -> Option<Instant> {
        let until = Instant::now() + within;
        let mut last = None;
        while let Ok((at, _)) = self.output.recv_timeout(until.saturating_duration_since(Instant::now())) {
            last = Some(at);
        }
        last
    }

    /// Types keys; when.
    pub fn press(&mut self, keys: &str) -> Instant {
        let at = Instant::now();
        let _ = self.keys.write_all(keys.as_bytes());
        at
    }

    /// Processor time used so far, ms, and resident memory, MB.
    pub fn use_of(&self) -> Option<(f64, f64)> {
        let folder = format!("/proc/{}", self.child.id());
        let stat = std::fs::read_to_string(format!("{folder}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
        let status = std::fs::read_to_string(format!("{folder}/status")).ok()?;
        let kb = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?.trim().trim_end_matches(" kB").parse::<f64>();
        Some((ticks * 1000.0 / rustix::param::clock_ticks_per_second() as f64, kb.ok()? / 1024.0))
    }

    /// Processor time that its threads of this name used so far, ms.
    pub fn thread_use(&self, name: &str) -> f64 {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{}/task", self.child.id())) else { return 0.0 };
        let of = |task: std::fs::DirEntry| {
            let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
            let (head, fields) = stat.rsplit_once(')')?;
            let fields: Vec<&str> = fields.split_whitespace().collect();
            let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
            head.ends_with(&format!("({name}")).then_some(ticks)
        };
        let ticks: f64 = tasks.flatten().filter_map(of).sum();
        ticks * 1000.0 / rustix::param::clock_ticks_per_second() as f64
    }

    /// Leaves it.
    pub fn close(mut self) {
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
