//! From a kernel package to what QEMU boots: an uncompressed `vmlinux` and an initrd with busybox,
//! the modules that reach the host's files, and an init script.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::fetch::run;

/// What the guest needs before it can read the host's files.
const MODULES: [&str; 4] = ["virtio_pci", "9pnet_virtio", "9p", "overlay"];
const INIT: &str = include_str!("init.sh");

/// Builds from an unpacked kernel package.
pub fn from_package(root: &Path, ready: &Path) -> Result<(), String> {
    let modules = ["usr/lib/modules", "lib/modules"]
        .iter()
        .find_map(|p| fs::read_dir(root.join(p)).ok()?.flatten().map(|e| e.path()).next())
        .ok_or("the kernel package has no modules")?;
    let version = modules.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let packed = [root.join(format!("boot/vmlinuz-{version}")), modules.join("vmlinuz")]
        .into_iter()
        .find(|p| p.is_file())
        .ok_or("the kernel package has no vmlinuz")?;
    if !root.join("lib").exists() {
        std::os::unix::fs::symlink("usr/lib", root.join("lib")).map_err(|e| e.to_string())?;
    }
    run(Command::new("depmod").arg("-b").arg(root).arg(&version))?;
    fs::create_dir_all(ready).map_err(|e| e.to_string())?;
    let kernel = extract(&fs::read(&packed).map_err(|e| e.to_string())?)?;
    fs::write(ready.join("vmlinux"), kernel).map_err(|e| e.to_string())?;
    let loaded = dependencies(&modules)?;
    write_initrd(&loaded, &ready.join("initrd"))
}

/// Builds from a `vmlinux` compressed by zstd, with all drivers built in.
pub fn from_compressed(file: &Path, ready: &Path) -> Result<(), String> {
    fs::create_dir_all(ready).map_err(|e| e.to_string())?;
    run(Command::new("zstd").args(["-q", "-d", "-f"]).arg(file).arg("-o").arg(ready.join("vmlinux")))?;
    write_initrd(&[], &ready.join("initrd"))
}

/// Finds the compressed kernel inside a `vmlinuz` and decompresses it.
fn extract(vmlinuz: &[u8]) -> Result<Vec<u8>, String> {
    let magics: [(&[u8], &str); 2] = [(b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zstd")];
    for (magic, tool) in magics {
        for at in vmlinuz.windows(magic.len()).enumerate().filter(|(_, w)| *w == magic).map(|(i, _)| i) {
            // What follows the compressed stream makes the tools complain after they have written all of it.
            let out = pipe(tool, &["-dc", "-q"], &vmlinuz[at..]);
            if out.starts_with(b"\x7fELF") {
                return Ok(out);
            }
        }
    }
    Err("no kernel compressed by xz or zstd was found in vmlinuz".into())
}

/// What a tool writes for an input, however it ends.
fn pipe(tool: &str, words: &[&str], input: &[u8]) -> Vec<u8> {
    let child =
        Command::new(tool).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = child else { return Vec::new() };
    let stdin = child.stdin.take();
    std::thread::scope(|scope| {
        scope.spawn(|| stdin.map(|mut s| s.write_all(input)));
        child.wait_with_output().map(|o| o.stdout).unwrap_or_default()
    })
}

/// Files of the modules and of all that they need, in the order of loading; one that `modules.dep`
/// does not name is built in.
fn dependencies(modules: &Path) -> Result<Vec<PathBuf>, String> {
    let text = fs::read_to_string(modules.join("modules.dep")).map_err(|e| format!("modules.dep: {e}"))?;
    let mut files: Vec<PathBuf> = Vec::new();
    for name in MODULES {
        let line = text.lines().find(|line| {
            let file = line.split(':').next().unwrap_or("");
            let stem = file.rsplit('/').next().unwrap_or("").split('.').next().unwrap_or("");
            stem.replace('-', "_") == name
        });
        let Some((file, needs)) = line.and_then(|l| l.split_once(':')) else { continue };
        // The last of the needs has to be loaded first.
        for path in needs.split_whitespace().rev().chain([file]) {
            let path = modules.join(path);
            if !files.contains(&path) {
                files.push(path);
            }
        }
    }
    Ok(files)
}

fn write_initrd(modules: &[PathBuf], to: &Path) -> Result<(), String> {
    let busybox = ["/usr/bin/busybox", "/bin/busybox"]
        .iter()
        .find_map(|p| fs::read(p).ok())
        .ok_or("no busybox (package busybox-static)")?;
    let mut archive = Archive::default();
    for folder in ["bin", "proc", "sys", "dev", "lower", "upper", "new", "modules"] {
        archive.entry(folder, 0o040_755, &[]);
    }
    archive.entry("bin/busybox", 0o100_755, &busybox);
    archive.entry("init", 0o100_755, INIT.as_bytes());
    for (place, module) in modules.iter().enumerate() {
        let bytes = fs::read(module).map_err(|e| format!("{}: {e}", module.display()))?;
        let plain = match module.extension().and_then(|e| e.to_str()) {
            Some("xz") => pipe("xz", &["-dc", "-q"], &bytes),
            Some("zst") => pipe("zstd", &["-dc", "-q"], &bytes),
            _ => bytes,
        };
        archive.entry(&format!("modules/{place:02}.ko"), 0o100_644, &plain);
    }
    fs::write(to, archive.finish()).map_err(|e| e.to_string())
}

/// A cpio archive in the `newc` form (the kernel's Documentation/driver-api/early-userspace/buffer-format.rst).
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        let size = u32::try_from(content.len()).expect("an initrd's file is small");
        let name_size = u32::try_from(name.len() + 1).expect("a file's name is short");
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }
}
