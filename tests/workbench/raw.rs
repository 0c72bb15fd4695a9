//! A terminal whose bytes are looked at as they come, by nobody who understands them.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Longest wait for one condition: far over what is ever needed, so that only a hang ends here.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A program in a terminal.
pub struct Raw {
    master: Option<OwnedFd>,
    child: Child,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Raw {
    /// Starts the program in a folder, which is its home, too.
    pub fn start(arguments: &[&str], folder: &Path, reads: bool) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probescope"));
        command.args(arguments).current_dir(folder).env("HOME", folder).env("COLORTERM", "truecolor");
        Self::start_command(command, reads)
    }

    /// Starts a command; what it says is taken only if the terminal `reads`.
    pub fn start_command(mut command: Command, reads: bool) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let terminal = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let size = Winsize { ws_col: 100, ws_row: 30, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        command.env_remove("NO_COLOR").env("TERM", "xterm-256color");
        command.stdin(terminal.try_clone().unwrap()).stdout(terminal.try_clone().unwrap()).stderr(terminal);
        let child = command.spawn().unwrap();
        drop(command);
        let bytes = Arc::new(Mutex::new(Vec::new()));
        if reads {
            let (mut from, to) = (File::from(master.try_clone().unwrap()), Arc::clone(&bytes));
            std::thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(length @ 1..) = from.read(&mut piece) {
                    to.lock().unwrap().extend_from_slice(&piece[..length]);
                }
            });
        }
        Self { master: Some(master), child, bytes }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn said(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(self.master.as_ref().unwrap(), size).unwrap();
        // It is no session's terminal, so that the kernel tells nobody.
        self.signal(rustix::process::Signal::WINCH);
    }

    pub fn keys(&self, text: &str) {
        File::from(self.master.as_ref().unwrap().try_clone().unwrap()).write_all(text.as_bytes()).unwrap();
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal);
    }

    /// Closes the terminal's side of it.
    pub fn hang_up(&mut self) {
        self.master = None;
    }

    pub fn wait(&self, what: &str, condition: impl Fn(&str) -> bool) {
        let began = Instant::now();
        while !condition(&self.said()) {
            assert!(began.elapsed() < PATIENCE, "never saw {what} in {}", self.said().escape_debug());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether it has ended.
    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end.
    pub fn end(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // The reader has a moment for what is left.
                let mut length = usize::MAX;
                while length != self.bytes.lock().unwrap().len() {
                    length = self.bytes.lock().unwrap().len();
                    std::thread::sleep(Duration::from_millis(20));
                }
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "it goes on: {}", self.said().escape_debug());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// How long the process's threads have waited for a CPU, the one that waited longest.
    pub fn starved(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.id())).into_iter().flatten().flatten();
        let waited = |task: std::fs::DirEntry| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split_whitespace().nth(1)?.parse().ok()
        };
        Duration::from_nanos(tasks.filter_map(waited).max().unwrap_or(0))
    }

    /// Memory of the process, in MiB.
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
        let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("0");
        line.split_whitespace().next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) >> 10
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder of its own, gone when dropped.
pub struct Folder(pub std::path::PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("probescope-raw-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
