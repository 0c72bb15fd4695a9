//! Scripts of the DTraceToolkit: which of them compile, or with `--attach`, which the kernel takes.
//!
//! A `.d` file is compiled with the flags of its first line; to be attached it is run until a short program has ended, with
//! a word where it asks for one. Programs that shell and Perl scripts hold are compiled as the scripts put them together
//! with their default options: a stand-in for `/usr/sbin/dtrace` compiles what it is given.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Folders without scripts.
const NO_SCRIPTS: &[&str] = &["Bin", "Code", "Docs", "Examples", "Include", "Man", "Notes", "Snippits"];
const DTRACE: &str = "/usr/sbin/dtrace";
const TIMEOUT_S: &str = "60";

/// Ends a run of a script that is attached and asks for no process of its own.
const SHORT_PROGRAM: &str = "sleep 0.1";
/// As long as a script runs that asks for a process.
const RUN_S: &str = "10";
/// Exit code of `timeout` when the time was over.
const TIME_OVER: i32 = 124;

/// What came of a script: nothing, or why it does not compile.
type Compiled = Result<(), String>;

/// The toolkit's folder, the program under test, a folder for files, and whether scripts are attached.
pub struct Toolkit<'a> {
    pub root: &'a Path,
    pub dtrace: &'a Path,
    pub folder: &'a Path,
    pub attaches: bool,
}

/// Compiles all scripts below a folder and prints which do.
pub fn run(toolkit: &Toolkit<'_>, filters: &[String]) {
    let root = toolkit.root;
    let scripts = scripts(root);
    // A program whose functions have names.
    let mut target = Command::new("bash").args(["-c", "read -r line"]).stdin(Stdio::piped()).spawn().unwrap();
    let (mut passed, mut failed) = ([0_usize; 2], [0_usize; 2]);
    for path in scripts {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        if !filters.is_empty() && !filters.iter().any(|f| name.contains(f.as_str())) {
            continue;
        }
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        let is_d = path.extension().is_some_and(|e| e == "d");
        let process = target.id();
        let compiled = if is_d { toolkit.of_d(&path, &text, process) } else { toolkit.of_shell(&path, &text, process) };
        match compiled {
            Ok(()) => {
                passed[usize::from(is_d)] += 1;
                println!("LOADS {name}");
            }
            Err(why) => {
                failed[usize::from(is_d)] += 1;
                println!("FAILS {name} ({})", why.lines().rfind(|line| !line.is_empty()).unwrap_or(""));
            }
        }
    }
    let _ = target.kill();
    let _ = target.wait();
    let mut line = String::new();
    for (what, n) in [("of D", 1), ("of the shell and Perl", 0)] {
        let _ = write!(line, "{} of {} {what}, ", passed[n], passed[n] + failed[n]);
    }
    let all: usize = passed.iter().sum();
    println!("{line}{all} of {} load", all + failed.iter().sum::<usize>());
}

/// All `.d` files, and the scripts that call DTrace.
fn scripts(root: &Path) -> Vec<PathBuf> {
    let (mut folders, mut found) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_symlink() || name.starts_with('.') || NO_SCRIPTS.contains(&&*name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "d") || calls_dtrace(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn calls_dtrace(path: &Path) -> bool {
    let Ok(text) = std::fs::read(path) else { return false };
    text.starts_with(b"#!") && String::from_utf8_lossy(&text).contains("dtrace -")
}

impl Toolkit<'_> {
    fn of_d(&self, path: &Path, text: &str, process: u32) -> Compiled {
        let flags = text.lines().next().and_then(|line| line.strip_prefix("#!")?.trim().strip_prefix(DTRACE));
        let asks_for_process = text.contains("$target");
        let mut command = Command::new("timeout");
        command.args(["-s", "INT", "-k", "5", if asks_for_process && self.attaches { RUN_S } else { TIMEOUT_S }]);
        command.arg(self.dtrace);
        match (self.attaches, asks_for_process) {
            (false, _) => _ = command.arg("-e"),
            (true, true) => {}
            (true, false) => _ = command.args(["-c", SHORT_PROGRAM]),
        }
        if asks_for_process {
            command.args(["-p", &process.to_string()]);
        }
        command.args(flags.unwrap_or(" -s").split_whitespace()).arg(path);
        if self.attaches && text.contains("/$$1 == \"\"/") {
            // Without a word it would tell how it is used.
            command.arg("bash");
        }
        let output = command.current_dir(path.parent().unwrap()).stdin(Stdio::null()).output().unwrap();
        let time_over = self.attaches && asks_for_process && output.status.code() == Some(TIME_OVER);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        if (output.status.success() || time_over) && !told.contains("could not enable") { Ok(()) } else { Err(told) }
    }

    /// The body of the stand-in: what compiles, or was attached, goes on as if it had printed something.
    fn stand_in(&self, log: &Path) -> String {
        let (dtrace, log) = (self.dtrace.display(), log.display());
        let runs = if self.attaches {
            format!(
                "case \" $* \" in *' -c '*|*' -p '*) timeout -s INT -k 5 {RUN_S} {dtrace} \"$@\";; \
                 *) timeout -s INT -k 5 {TIMEOUT_S} {dtrace} -c '{SHORT_PROGRAM}' \"$@\";; esac >/dev/null 2>{log}.why \
                 </dev/null; code=$?; [ $code = 0 ] || {{ [ $code = {TIME_OVER} ] && ! grep -q failed {log}.why; }}"
            )
        } else {
            format!("{dtrace} -e \"$@\" >{log}.why 2>&1 </dev/null")
        };
        format!("#!/bin/bash\nif {runs}; then echo fine >>{log}; echo 1; else cat {log}.why >>{log}; fi\n")
    }

    fn of_shell(&self, path: &Path, text: &str, process: u32) -> Compiled {
        let (stand_in, log) = (self.folder.join("bin/dtrace"), self.folder.join("stand-in.log"));
        std::fs::create_dir_all(self.folder.join("bin")).unwrap();
        write_program(&stand_in, &self.stand_in(&log));
        let copy = self.folder.join("script");
        write_program(&copy, &text.replace(DTRACE, &stand_in.display().to_string()));
        let perl = text.lines().next().is_some_and(|line| line.contains("perl"));
        let searched = format!("{}:{}", self.folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        // Scripts that do nothing without arguments are given a process, or a name.
        for arguments in [&[][..], &["-p", &process.to_string()], &[&process.to_string()], &["bash"]] {
            std::fs::write(&log, "").unwrap();
            let mut command = Command::new("timeout");
            command.args([TIMEOUT_S, if perl { "perl" } else { "bash" }]).arg(&copy).args(arguments);
            command.env("PATH", &searched).current_dir(path.parent().unwrap()).stdin(Stdio::null());
            let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
            let told = std::fs::read_to_string(&log).unwrap();
            match told.lines().rfind(|line| *line != "fine" && !line.is_empty()) {
                Some(why) => return Err(why.to_owned()),
                None if told.is_empty() => {}
                None => return Ok(()),
            }
        }
        Err("the script never came to its program".to_owned())
    }
}

fn write_program(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
