//! A terminal to run the workbench in. Waits on what the screen shows, never on time alone.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::skip;
use probescope::kernel::{Kernel, Roots};

/// Longest wait for one condition: far over what is ever needed, so that only a hang ends here.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A terminal of its own server, gone when dropped.
pub struct Terminal {
    socket: String,
    pub folder: PathBuf,
}

impl Terminal {
    /// Runs the workbench with these arguments in a folder of its own.
    pub fn open(name: &str, size: (u16, u16), arguments: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("probescope-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let terminal = Self { socket: format!("probescope-{name}-{}", std::process::id()), folder };
        let command = format!(
            "env -u NO_COLOR HOME={} COLORTERM=truecolor {} {arguments}; echo \"exit code $?\"; read -r _",
            terminal.folder.display(),
            env!("CARGO_BIN_EXE_probescope"),
        );
        let (width, height) = (size.0.to_string(), size.1.to_string());
        let folder = terminal.folder.display().to_string();
        let out = terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-s",
            "t",
            "-x",
            &width,
            "-y",
            &height,
            "-c",
            &folder,
            "sh",
            "-c",
            &command,
        ]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        terminal
    }

    pub fn tmux(&self, arguments: &[&str]) -> Output {
        Command::new("tmux").args(["-L", &self.socket]).args(arguments).output().unwrap()
    }

    pub fn keys(&self, keys: &[&str]) {
        let mut arguments = vec!["send-keys", "-t", "t"];
        arguments.extend(keys);
        assert!(self.tmux(&arguments).status.success());
    }

    pub fn type_text(&self, text: &str) {
        assert!(self.tmux(&["send-keys", "-t", "t", "-l", text]).status.success());
    }

    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p", "-t", "t"]).stdout).into_owned()
    }

    /// Waits until the screen satisfies a condition, and returns it.
    pub fn wait(&self, what: &str, condition: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if condition(&screen) {
                return screen;
            }
            assert!(start.elapsed() < PATIENCE, "never saw {what}; the screen shows:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// What tmux tells of the pane, by its format language.
    pub fn told(&self, format: &str) -> String {
        String::from_utf8_lossy(&self.tmux(&["display-message", "-p", "-t", "t", format]).stdout).trim().to_owned()
    }

    /// Process id of the program in the pane.
    pub fn child(&self) -> String {
        let shell = self.told("#{pane_pid}");
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
        children.split_whitespace().next().unwrap().to_owned()
    }

    /// Runs a command in place of what ran.
    pub fn run(&self, command: &str) {
        let folder = self.folder.display().to_string();
        let command = format!("env -u NO_COLOR HOME={folder} {command}; echo \"exit code $?\"; read -r _");
        let out = self.tmux(&["respawn-pane", "-k", "-t", "t", "-c", &folder, "sh", "-c", &command]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }

    /// Opens the workbench again.
    pub fn again(&self, arguments: &str) {
        self.run(&format!("{} {arguments}", env!("CARGO_BIN_EXE_probescope")));
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub fn has_tmux() -> bool {
    let found = Command::new("tmux").arg("-V").output().is_ok_and(|o| o.status.success());
    if !found {
        skip::skip("tmux is not installed; the workbench was not tried in a terminal");
    }
    found
}

/// Why scripts can't be traced here, when they can't.
pub fn cannot_trace() -> Option<&'static str> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let capabilities = status.lines().find_map(|l| l.strip_prefix("CapEff:")).unwrap_or("0").trim();
    let capabilities = u64::from_str_radix(capabilities, 16).unwrap_or(0);
    if capabilities >> 21 & 1 == 0 && (capabilities >> 38 & 3) != 3 {
        return Some("no CAP_BPF and CAP_PERFMON");
    }
    // Mounted where it is not, as the workbench does.
    let kernel = Kernel::new(Roots::running()).mounting_tracefs();
    kernel.tracepoint("syscalls", "sys_enter_openat").is_err().then_some("no tracefs with system call tracepoints")
}
