//! How bytes leave the program: nothing that others wrote reaches a terminal as a control, no file is destroyed by what
//! shall replace it, and no thread may do more than its work needs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use clap::CommandFactory as _;

use crate::raw::{Folder, Raw};
use crate::skip;
use crate::tmux::cannot_trace;

/// What a hostile program, file or line would have the terminal do: a title, a cleared screen, colours, text backwards.
const EVIL: &str = "ev\x1b]0;owned\x07\x1b[2J\x1b[8m\u{9b}31m\u{202e}\u{2066}il";

/// The styles of our own messages.
const STYLES: [&str; 12] =
    ["0m", "1m", "4m", "31m", "32m", "33m", "1;31m", "1;33m", "1;34m", "1;36m", "2;37;40m", "0;0;0m"];

/// What a terminal would obey in a text, our own styles left out.
pub fn controls(said: &str) -> Vec<char> {
    let mut plain = said.replace("\r\n", "\n");
    for style in STYLES {
        plain = plain.replace(&format!("\x1b[{style}"), "");
    }
    plain.chars().filter(|c| probescope::model::render::is_harmful(*c)).collect()
}

/// Fails if text has what a terminal obeys.
fn assert_harmless(what: &str, said: &str) {
    let bad = controls(said);
    assert!(bad.is_empty(), "{what}: {bad:?} in {}", said.escape_debug());
}

/// Runs the program in a terminal, and looks at what it says.
fn said(arguments: &[&str], folder: &Path) -> String {
    let mut terminal = Raw::start(arguments, folder, true);
    terminal.end();
    let said = terminal.said();
    assert_harmless(&format!("{arguments:?}"), &said);
    said
}

#[test]
fn no_command_echoes_controls_of_its_command_line() {
    let folder = Folder::new("words");
    let option = format!("--{EVIL}");
    for command in probescope::cli::Cli::command().get_subcommands() {
        let name = command.get_name();
        said(&[name, &option], &folder.0);
        // These two would write into a folder of that name.
        if !matches!(name, "man" | "screenshots") {
            said(&[name, EVIL], &folder.0);
        }
    }
    let script = format!("{EVIL}.bt");
    std::fs::write(folder.0.join(&script), format!("BEGIN {{ printf(\"%s\", nonsense); }} // {EVIL}")).unwrap();
    std::fs::write(folder.0.join("bad.psrec"), EVIL).unwrap();
    let cases: &[&[&str]] = &[
        &[EVIL],
        &["--theme", EVIL],
        &["run", &script],
        &["check", &script],
        &["fmt", "--check", &script],
        &["compile", &script, "-o", EVIL],
        &["run", "-e", EVIL],
        &["run", "-e", "BEGIN { }", "-c", EVIL],
        &["run", "-e", "BEGIN { }", "-o", "none/\u{1b}]0;x\u{7}"],
        &["dtrace", "-n", EVIL],
        &["dtrace", "-s", EVIL],
        &["export", "bad.psrec", "-f", "csv"],
        &["replay", "bad.psrec"],
        &["--config-file", EVIL, "config", "check"],
        &["list", EVIL],
        &["lens", EVIL, EVIL],
        &["xray", EVIL],
        &["latency", "diff", EVIL, EVIL],
    ];
    for case in cases {
        assert!(!said(case, &folder.0).is_empty(), "{case:?}");
    }
}

#[test]
fn configurations_themes_and_the_environment_are_quoted_safely() {
    let folder = Folder::new("config");
    let written = |name: &str, text: String| {
        std::fs::write(folder.0.join(name), text).unwrap();
        name.to_owned()
    };
    let broken = written("broken.toml", format!("{EVIL} = 3\n"));
    let values =
        written("values.toml", "[workbench]\ntheme = \"e\\u001B]0;x\\u0007\"\n[trace]\n\"\\u001B[2J\" = 1\n".into());
    let theme = written("theme.toml", format!("name = \"{}\"\n[slots]\n\"{}\" = {{ }}\n", "x", "\\u001B]0;x\\u0007"));
    for file in [&broken, &values] {
        said(&["--config-file", file, "config", "check"], &folder.0);
        said(&["--config-file", file, "demo", "--list"], &folder.0);
        said(&["--config-file", file, "run", "-e", "BEGIN { exit(); }"], &folder.0);
    }
    said(&["--theme", &theme], &folder.0);
    let mut command = Command::new(env!("CARGO_BIN_EXE_probescope"));
    command.args(["config", "check"]).current_dir(&folder.0).env("HOME", EVIL).env("XDG_CONFIG_HOME", EVIL);
    command.env("PROBESCOPE_CONFIG", EVIL);
    let mut terminal = Raw::start_command(command, true);
    terminal.end();
    assert_harmless("environment", &terminal.said());
}

/// A library of the system whose function and USDT probe `setjmp` has another name.
fn hostile_library(to: &Path) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let libc = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| path.contains("/libc.so"));
    let Some(mut bytes) = libc.and_then(|path| std::fs::read(path).ok()) else { return false };
    // Names share their ends: `_setjmp` has it, too.
    let (from, into) = (b"setjmp\0", b"s\x1b]0\x07p\0");
    let places: Vec<usize> = (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    for at in &places {
        bytes[*at..*at + into.len()].copy_from_slice(into);
    }
    std::fs::write(to, bytes).is_ok() && !places.is_empty()
}

#[test]
fn names_in_binaries_are_listed_safely() {
    let folder = Folder::new("binary");
    if !hostile_library(&folder.0.join("evil.so")) {
        skip::skip("no C library with a name that can be changed");
        return;
    }
    for (pattern, is_there) in
        [("uprobe:./evil.so:*", true), ("usdt:./evil.so:*", false), ("uprobe:./evil.so:s?[0*", false)]
    {
        let said = said(&["list", pattern], &folder.0);
        assert!(!is_there || said.contains("s\\x1b]0\\x07p"), "{pattern}: {}", said.len());
    }
    said(&["run", "-e", "uprobe:./evil.so:s*p { }", "--dry-run"], &folder.0);
    said(&["check", "nothing.bt"], &folder.0);
}

#[test]
fn what_traced_programs_call_themselves_is_printed_safely() {
    if let Some(reason) = cannot_trace() {
        skip::skip(reason);
        return;
    }
    let folder = Folder::new("traced");
    let (program, file) = (folder.0.join("e\x1b[2Jv"), folder.0.join("f\x1b]0;x\x07g"));
    std::os::unix::fs::symlink("/bin/cat", &program).unwrap();
    std::fs::write(&file, "").unwrap();
    let script = "tracepoint:syscalls:sys_enter_openat /pid == cpid/ { printf(\"%s %s\\n\", comm, str(args.filename)); \
        print((comm, str(args.filename))); @[comm, str(args.filename)] = count(); @s[ustack(3)] = count(); } \
        tracepoint:syscalls:sys_enter_execve /pid == cpid/ { join(args.argv); }";
    let command = format!("{} {}", program.display(), file.display());
    let printed = said(&["run", "--record", "r.psrec", "-e", script, "-c", &command], &folder.0);
    assert!(printed.contains("\\x1b]0;x\\x07g") && printed.contains("e\\x1b[2Jv"), "{}", printed.escape_debug());
    let replayed = said(&["replay", "r.psrec", "-f", "text"], &folder.0);
    assert!(replayed.contains("\\x1b]0;x\\x07g"), "{}", replayed.escape_debug());
    said(&["record", "info", "r.psrec"], &folder.0);
    for form in ["csv", "events-csv", "events-json", "json", "markdown", "folded", "flame-svg", "firefox"] {
        said(&["export", "r.psrec", "-f", form], &folder.0);
    }
    // Files and pipes get the bytes as they are.
    let plain = run(&["replay", "r.psrec", "-f", "text"], &folder.0);
    assert!(String::from_utf8_lossy(&plain.stdout).contains("\x1b]0;x\x07g"), "{plain:?}");
}

#[test]
fn the_workbench_shows_hostile_names_as_pictures() {
    let folder = Folder::new("screen");
    let script = "e\x1b]0;owned\x07v.bt";
    std::fs::write(folder.0.join(script), format!("BEGIN {{ }} // {EVIL}")).unwrap();
    let mut terminal = Raw::start(&[script], &folder.0, true);
    terminal.wait("the script", |said| said.contains("EGIN"));
    terminal.keys("\x11");
    terminal.wait("its end", |said| said.contains("\x1b[?1049l"));
    terminal.end();
    let said = terminal.said();
    assert!(
        !said.contains("\x1b]") && !said.contains('\u{9b}') && !said.contains('\u{202e}'),
        "{}",
        said.escape_debug()
    );
    assert!(!said.contains('\x07') && !said.contains("\x1b[8m"), "{}", said.escape_debug());
}

fn run(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_probescope"))
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .output()
        .unwrap()
}

/// A file system with so little room, gone when dropped.
struct Small(std::path::PathBuf);

impl Small {
    fn new(folder: &Path, size: &str) -> Option<Self> {
        let path = folder.join("small");
        std::fs::create_dir(&path).unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"]).arg(&path).status();
        if !mounted.is_ok_and(|status| status.success()) {
            skip::skip("no rights to mount a file system");
            return None;
        }
        Some(Self(path))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_destroys_no_file_and_is_an_exit_code() {
    let folder = Folder::new("full");
    let Some(small) = Small::new(&folder.0, "64k") else { return };
    assert!(run(&["demo", "file-server", "--save", "r.psrec"], &folder.0).status.success());
    let old = "old and whole\n";
    let file = small.0.join("old");
    let name = file.to_str().unwrap();
    let script = small.0.join("s.bt");
    let messy = format!("BEGIN{{exit();}}//{}\n", "x".repeat(9000));
    std::fs::write(&script, &messy).unwrap();
    std::fs::write(&file, old).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    // No page is left.
    let rest = small.0.join("rest");
    let mut fill = std::fs::File::create(&rest).unwrap();
    while std::io::Write::write_all(&mut fill, &[0; 4096]).is_ok() {}
    let traces = cannot_trace().is_none();
    let program = "BEGIN { printf(\"%5000s\", \"x\"); exit(); }";
    let new = small.0.join("new");
    let cases: &[(&[&str], bool)] = &[
        (&["export", "r.psrec", "-f", "events-csv", "-o", name], true),
        (&["demo", "file-server", "--save", name], true),
        (&["replay", "r.psrec", "-f", "text", "-o", name], true),
        (&["compile", script.to_str().unwrap(), "-o", name], true),
        (&["fmt", script.to_str().unwrap()], true),
        (&["run", "-e", program, "-o", name], traces),
        (&["run", "-e", program, "--record", name], traces),
        (&["run", "-e", program, "--record", new.to_str().unwrap()], traces),
    ];
    for (arguments, _) in cases.iter().filter(|(_, runs)| *runs) {
        let out = run(arguments, &folder.0);
        assert!(!out.status.success(), "{arguments:?}: {out:?}");
        assert!(String::from_utf8_lossy(&out.stderr).contains("No space left"), "{arguments:?}: {out:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), old, "{arguments:?}");
        assert_eq!(std::fs::read_to_string(&script).unwrap(), messy, "{arguments:?}");
        let left: Vec<_> = std::fs::read_dir(&small.0).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".new")), "{arguments:?}: {left:?}");
    }
    // With room for it the file is replaced, and keeps its mode.
    drop(fill);
    std::fs::remove_file(rest).unwrap();
    let out = run(&["export", "r.psrec", "-f", "csv", "-o", name], &folder.0);
    assert!(out.status.success(), "{out:?}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o640);
    assert!(std::fs::read_to_string(&file).unwrap() != old);
}

#[test]
fn output_goes_through_pipes_and_to_devices() {
    let folder = Folder::new("pipes");
    assert!(run(&["demo", "file-server", "--save", "r.psrec"], &folder.0).status.success());
    let plain = run(&["export", "r.psrec", "-f", "csv"], &folder.0).stdout;
    assert!(plain.len() > 100);
    let named = run(&["export", "r.psrec", "-f", "csv", "-o", "/dev/stdout"], &folder.0);
    assert!(named.status.success() && named.stdout == plain, "{named:?}");
    let shell = format!("{} export r.psrec -f csv -o /dev/stdout > out; wc -c < out", env!("CARGO_BIN_EXE_probescope"));
    let out = Command::new("sh").args(["-c", &shell]).current_dir(&folder.0).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout).trim(), plain.len().to_string());
    let full = run(&["export", "r.psrec", "-f", "csv", "-o", "/dev/full"], &folder.0);
    assert_eq!(full.status.code(), Some(1), "{full:?}");
}

#[test]
fn recordings_are_their_owners_alone() {
    if let Some(reason) = cannot_trace() {
        skip::skip(reason);
        return;
    }
    let folder = Folder::new("private");
    let path = folder.0.join("r.psrec");
    let record = ["run", "--record", "r.psrec", "-e", "BEGIN { printf(\"x\\n\"); exit(); }"];
    for earlier in [None, Some("an older recording")] {
        if let Some(text) = earlier {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        }
        let out = run(&record, &folder.0);
        assert!(out.status.success(), "{out:?}");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        assert!(run(&["record", "info", "r.psrec"], &folder.0).status.success());
    }
}

/// Bits of capabilities (`include/uapi/linux/capability.h`).
const KILL: u64 = 1 << 5;
const DAC: u64 = 1 << 1 | 1 << 2;
const FILES: u64 = DAC | 1 << 0 | 1 << 3 | 1 << 4;
const READS: u64 = 1 << 2 | 1 << 19 | 1 << 34;
const TRACE: u64 = READS | KILL | 1 << 38 | 1 << 39 | 1 << 40;
const SYS_ADMIN: u64 = 1 << 21;

/// What a thread may have, by its name; none: anything.
fn allowed(name: &str) -> Option<u64> {
    Some(match name {
        "psc-signals" | "psc-drain" | "psc-child" | "psc-updates" | "psc-command" | "psc-hangup" | "psc-discard" => 0,
        "psc-search" | "psc-catalogue" | "psc-rerun" => READS,
        "psc-export" | "psc-recorder" | "psc-watchdog" => FILES,
        "psc-processes" | "psc-unwind" => TRACE,
        "psc-session" | "psc-detach" => TRACE | SYS_ADMIN,
        // These load, attach, and run commands.
        "psc-compiler" | "psc-inspector" => return None,
        // The main thread.
        _ => TRACE | FILES,
    })
}

/// The threads of a process with their effective capabilities.
fn threads(process: u32) -> Vec<(String, u64)> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let status = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    let field = |text: &str, name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned()
    };
    status
        .map(|text| (field(&text, "Name:"), u64::from_str_radix(&field(&text, "CapEff:"), 16).unwrap_or(u64::MAX)))
        .collect()
}

/// Waits until every thread has dropped what it does not need, and those named are there.
fn assert_least_rights(process: u32, names: &[&str]) {
    let began = std::time::Instant::now();
    loop {
        let threads = threads(process);
        let more = |(name, has): &&(String, u64)| allowed(name).is_some_and(|most| has & !most != 0);
        let wrong: Vec<_> = threads.iter().filter(more).collect();
        let missing: Vec<_> = names.iter().filter(|name| !threads.iter().any(|(there, _)| there == *name)).collect();
        if wrong.is_empty() && missing.is_empty() {
            return;
        }
        assert!(
            began.elapsed() < crate::raw::PATIENCE,
            "too much: {wrong:x?}; missing: {missing:?}; all: {threads:x?}"
        );
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn every_thread_has_the_rights_of_its_work_only() {
    if let Some(reason) = cannot_trace() {
        skip::skip(reason);
        return;
    }
    let folder = Folder::new("rights");
    let script = "profile:hz:9 { @[ustack(2)] = count(); printf(\"x\\n\"); } interval:s:100 { exit(); }";
    let mut child = Command::new(env!("CARGO_BIN_EXE_probescope"))
        .args(["run", "-e", script, "--record", "r.psrec", "-c", "sleep 1000"])
        .current_dir(&folder.0)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    assert_least_rights(child.id(), &["psc-signals", "psc-drain", "psc-recorder", "psc-child", "psc-processes"]);
    let _ = Command::new("kill").arg(child.id().to_string()).status();
    assert!(child.wait().unwrap().success());

    std::fs::write(folder.0.join("a.bt"), script).unwrap();
    let terminal = Raw::start(&["a.bt"], &folder.0, true);
    terminal.wait("the script", |said| said.contains("rofile"));
    terminal.keys("\x13");
    assert_least_rights(terminal.id(), &["psc-session", "psc-drain", "psc-watchdog", "psc-search", "psc-updates"]);
}
