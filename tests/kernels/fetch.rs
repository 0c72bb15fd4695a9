//! Debian kernels, downloaded once by a private apt state that leaves the host's own alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::image;

/// One kernel to boot.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// The current kernel of a Debian suite.
    Debian(&'static str),
    /// The kernel with every tracer, built by the project, as `vmlinux-*-tracing.zst`.
    Tracing,
}

/// A bootable kernel.
#[derive(Clone, Debug)]
pub struct Bootable {
    pub vmlinux: PathBuf,
    pub initrd: PathBuf,
}

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Raise when the layout of what is cached changes.
const LAYOUT: &str = "ready-2";

/// Prepares a kernel; an error is a reason to skip it.
pub fn prepare(source: Source, cache: &Path, shared: &Path) -> Result<Bootable, String> {
    match source {
        Source::Debian(suite) => debian(suite, cache),
        Source::Tracing => tracing(cache, shared),
    }
}

fn ready(folder: &Path) -> Option<Bootable> {
    let found = Bootable { vmlinux: folder.join("vmlinux"), initrd: folder.join("initrd") };
    (found.vmlinux.is_file() && found.initrd.is_file()).then_some(found)
}

fn debian(suite: &str, cache: &Path) -> Result<Bootable, String> {
    let done = cache.join(format!("{suite}-{LAYOUT}"));
    if let Some(found) = ready(&done) {
        return Ok(found);
    }
    let work = cache.join(format!("{suite}-work-{}", std::process::id()));
    let result = build(suite, &work).and_then(|()| {
        let _ = fs::remove_dir_all(&done);
        fs::rename(work.join("ready"), &done).map_err(|e| format!("keeping {}: {e}", done.display()))
    });
    let _ = fs::remove_dir_all(&work);
    result?;
    ready(&done).ok_or_else(|| format!("{} is incomplete", done.display()))
}

fn build(suite: &str, work: &Path) -> Result<(), String> {
    let apt = Apt::new(suite, work)?;
    apt.run("apt-get", &["update"])?;
    let folder = work.join("debs");
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let image = apt.depends("linux-image-amd64", "linux-image-")?;
    // From Debian 14 on, the image is an empty package that names its parts.
    let mut packages = vec![image.clone()];
    for part in ["linux-binary-", "linux-modules-"] {
        packages.extend(apt.depends(&image, part));
    }
    for package in &packages {
        apt.run_in(&folder, "apt-get", &["download", package])?;
    }
    let root = work.join("root");
    for deb in fs::read_dir(&folder).map_err(|e| e.to_string())?.flatten() {
        run(Command::new("dpkg").arg("-x").arg(deb.path()).arg(&root))?;
    }
    image::from_package(&root, &work.join("ready"))
}

struct Apt {
    options: Vec<String>,
}

impl Apt {
    fn new(suite: &str, work: &Path) -> Result<Self, String> {
        if !Path::new(KEYRING).is_file() {
            return Err(format!("no {KEYRING}: Debian's kernels are fetched by apt (package debian-archive-keyring)"));
        }
        for folder in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(work.join(folder)).map_err(|e| format!("{}: {e}", work.display()))?;
        }
        let list = work.join("sources.list");
        let mirror = "http://deb.debian.org/debian";
        let line = format!("deb [arch=amd64 signed-by={KEYRING}] {mirror} {suite} main\n");
        fs::write(&list, line).and_then(|()| fs::write(work.join("status"), "")).map_err(|e| e.to_string())?;
        let path = |name: &str| work.join(name).display().to_string();
        let settings = [
            format!("Dir::Etc::sourcelist={}", list.display()),
            "Dir::Etc::sourceparts=-".into(),
            format!("Dir::State::Lists={}", path("lists")),
            format!("Dir::State::status={}", path("status")),
            format!("Dir::Cache={}", path("cache")),
            // sid's index has no date of expiry that a cached mirror would meet.
            "Acquire::Check-Valid-Until=false".into(),
            "Acquire::Languages=none".into(),
            "Acquire::Retries=2".into(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".into(),
            "APT::Architecture=amd64".into(),
            "APT::Architectures=amd64".into(),
            "APT::Sandbox::User=root".into(),
        ];
        Ok(Self { options: settings.into_iter().flat_map(|s| ["-o".to_owned(), s]).collect() })
    }

    fn run(&self, program: &str, words: &[&str]) -> Result<String, String> {
        run(Command::new(program).args(&self.options).args(words))
    }

    fn run_in(&self, folder: &Path, program: &str, words: &[&str]) -> Result<String, String> {
        run(Command::new(program).args(&self.options).args(words).current_dir(folder))
    }

    /// The dependency of a package whose name starts with `prefix`.
    fn depends(&self, package: &str, prefix: &str) -> Result<String, String> {
        let text = self.run("apt-cache", &["depends", package])?;
        text.lines()
            .filter_map(|line| line.trim().strip_prefix("Depends: "))
            .find(|name| name.starts_with(prefix))
            .map(str::to_owned)
            .ok_or_else(|| format!("{package} depends on no {prefix}*"))
    }
}

fn tracing(cache: &Path, shared: &Path) -> Result<Bootable, String> {
    let file = match std::env::var_os("PROBESCOPE_TRACING_KERNEL") {
        Some(path) => PathBuf::from(path),
        None => fs::read_dir(shared)
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path())
            .find(|p| p.to_string_lossy().ends_with("-tracing.zst"))
            .ok_or_else(|| {
                format!(
                    "no vmlinux-*-tracing.zst in {} and PROBESCOPE_TRACING_KERNEL is not set: nothing that needs \
                     osnoise, timerlat, hist triggers or user_events is tested",
                    shared.display()
                )
            })?,
    };
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let done = cache.join(format!("{name}-{LAYOUT}"));
    if let Some(found) = ready(&done) {
        return Ok(found);
    }
    let work = cache.join(format!("{name}-work-{}", std::process::id()));
    image::from_compressed(&file, &work)?;
    let _ = fs::remove_dir_all(&done);
    fs::rename(&work, &done).map_err(|e| format!("keeping {}: {e}", done.display()))?;
    ready(&done).ok_or_else(|| format!("{} is incomplete", done.display()))
}

/// Runs a command to its end; its output, or why it failed.
pub fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command.output().map_err(|e| format!("{name}: {e}"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let words: Vec<_> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
    let last = words.last().map_or("", String::as_str);
    let text = String::from_utf8_lossy(&out.stderr).trim().to_owned();
    Err(format!("{name} ... {last}: {}: {}", out.status, text.lines().last().unwrap_or("")))
}
