//! One run of QEMU: boots a kernel, runs a command in it, brings back what it wrote.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::fetch::Bootable;

/// What came back from a guest.
#[derive(Debug)]
pub struct Report {
    /// Standard output and error of the command.
    pub output: String,
    /// Its exit code; absent when the guest ended before it did.
    pub exit: Option<i32>,
    /// What the kernel said on its console.
    pub console: String,
    /// Boot to power off.
    pub took: Duration,
}

/// Memory of one guest, MiB.
pub const MEMORY: u64 = 3072;
/// What the guest asks of whoever runs it, in the folder of its results.
pub const MONITOR: &str = "monitor";
/// QEMU's monitor, beside it.
const SOCKET: &str = "qemu.sock";

/// Boots `kernel` and runs `script` (for `/bin/sh`) in it with `programs` in its /run/results/bin;
/// the guest is ended after `cap`.
pub fn run(
    kernel: &Bootable,
    script: &str,
    programs: &[PathBuf],
    folder: &Path,
    cap: Duration,
) -> Result<Report, String> {
    let _ = fs::remove_dir_all(folder);
    let results = folder.join("results");
    let bin = results.join("bin");
    fs::create_dir_all(&bin).map_err(|e| format!("{}: {e}", bin.display()))?;
    for program in programs {
        let name = program.file_name().unwrap_or_default();
        fs::hard_link(program, bin.join(name)).map_err(|e| format!("{}: {e}", program.display()))?;
    }
    fs::write(results.join("run.sh"), script).map_err(|e| e.to_string())?;
    let console = folder.join("console");
    let started = Instant::now();
    let mut child = Guest(qemu(kernel, &results, &console)?);
    while child.0.try_wait().map_err(|e| e.to_string())?.is_none() {
        if started.elapsed() > cap {
            // What it has told so far is still told.
            break;
        }
        serve(&results, child.0.id());
        // The guest ends by powering off; its exit is the condition, this only paces the look.
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(Report {
        output: read(&results.join("output")),
        exit: read(&results.join("exit")).trim().parse().ok(),
        console: read(&console),
        took: started.elapsed(),
    })
}

/// Does what the guest asks for in the file `monitor` of its results, which is removed once it is done: `nmi` sends one
/// to each of its processors, `pause MS` stops it for so long.
fn serve(results: &Path, qemu: u32) {
    let asked = results.join(MONITOR);
    let Ok(text) = fs::read_to_string(&asked) else { return };
    if let Some(ms) = text.strip_prefix("pause ").and_then(|ms| ms.trim().parse::<u64>().ok()) {
        let signal = |name: &str| {
            let _ = Command::new("kill").args([name, &qemu.to_string()]).status();
        };
        signal("-STOP");
        std::thread::sleep(Duration::from_millis(ms.min(1000)));
        signal("-CONT");
    } else if let Ok(mut monitor) = UnixStream::connect(results.join(SOCKET)) {
        let _ = writeln!(monitor, "{}", text.trim());
        // It has been done once the monitor shows its prompt again.
        let _ = monitor.set_read_timeout(Some(Duration::from_secs(1)));
        let _ = std::io::copy(&mut monitor, &mut std::io::sink());
    }
    let _ = fs::remove_file(asked);
}

/// Ends QEMU however the run ends.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn qemu(kernel: &Bootable, results: &Path, console: &Path) -> Result<Child, String> {
    let log = File::create(console).map_err(|e| e.to_string())?;
    let errors = log.try_clone().map_err(|e| e.to_string())?;
    let share = |path: &Path, tag: &str, more: &str| {
        format!("local,path={},mount_tag={tag},security_model=none,multidevs=remap{more}", path.display())
    };
    // On a busy host the emulated timer comes too late for the kernel's check of it, which then panics
    // (`no_timer_check`).
    // Hosts that offer /dev/kvm inside a virtual machine often can't run guests with it: software
    // emulation works everywhere. Both processors take turns on one thread of the host: with a thread
    // each, QEMU before 8.0 may keep a translation of an instruction that the kernel is just rewriting
    // (a tracepoint's static key), and the guest panics. Page tables of five levels are work without use,
    // and the string instructions that are fast on real processors are emulated byte by byte. A
    // translation is good for one address: programs that start at another each time would be translated
    // anew each time, which is most of a short run (`norandmaps`).
    Command::new("qemu-system-x86_64")
        .args([
            "-accel",
            "tcg,thread=single",
            "-cpu",
            "max,la57=off,erms=off,fsrm=off",
            "-smp",
            "2",
            "-no-reboot",
            "-nographic",
            "-nic",
            "none",
        ])
        .args(["-m", &MEMORY.to_string(), "-serial", "stdio"])
        .args(["-monitor", &format!("unix:{},server=on,wait=off", results.join(SOCKET).display())])
        .args(["-append", "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check norandmaps"])
        .arg("-kernel")
        .arg(&kernel.vmlinux)
        .arg("-initrd")
        .arg(&kernel.initrd)
        .args(["-virtfs", &share(Path::new("/"), "host", ",readonly=on")])
        .args(["-virtfs", &share(results, "results", "")])
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .spawn()
        .map_err(|e| format!("qemu-system-x86_64: {e} (package qemu-system-x86)"))
}

fn read(path: &PathBuf) -> String {
    fs::read(path).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default()
}

/// The last lines of a console.
pub fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(25)..].join("\n")
}
