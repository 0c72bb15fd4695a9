//! `run --record`, `replay` and `record info`: what was recorded prints as it was printed.

use crate::root;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Reports of every kind, in an order that the kernel's time gives.
const SCRIPT: &str = r#"
begin {
    @count["a"] = 3;
    @count["b"] = 5;
    @lengths = hist(9);
    printf("%d %s %x\n", 7, "seven", 255);
    printf("a line in ");
    printf("two parts\n");
    print((1, "two"));
    print(@count);
    print(@count, 1);
    print(@count["a"]);
    time("%H\n");
    errorf("not so\n");
    printf("stack:%s\n", kstack(2));
    exit(3);
}
"#;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("probescope-recordings-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn probescope(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_probescope")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn name(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_recording_prints_as_its_run_did() {
    if root::missing() {
        return;
    }
    let folder = Folder::new("same");
    for format in ["text", "json"] {
        let file = folder.0.join(format);
        let run = probescope(&["run", "-f", format, "--record", name(&file), "-e", SCRIPT]);
        assert_eq!(run.status.code(), Some(3), "{}", text(&run.stderr));
        let replay = probescope(&["replay", "-f", format, name(&file)]);
        assert_eq!(text(&replay.stdout), text(&run.stdout));
        assert!(text(&run.stdout).contains("seven") && text(&run.stdout).contains("@lengths"));
        assert_eq!(text(&replay.stderr), text(&run.stderr));
        assert_eq!(replay.status.code(), Some(3), "as the run ended");
    }
    let info = text(&probescope(&["record", "info", name(&folder.0.join("text"))]).stdout);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert!(info.contains(kernel.trim()) && info.contains("7 events") && info.contains("2 printed maps"), "{info}");
}

/// What another script says of a recording equals what it would have said at the time, and what it cannot know it names.
#[test]
fn another_script_runs_on_what_was_recorded() {
    if root::missing() {
        return;
    }
    let folder = Folder::new("another");
    let file = folder.0.join("file");
    let counted = "@by[args.count] = count(); @sizes = hist(args.count); @all = sum(args.count);";
    let probe = "tracepoint:syscalls:sys_enter_write /comm == \"dd\" && args.fd == 1/";
    let script = format!("{probe} {{ {counted} printf(\"%s %d %d\\n\", comm, args.fd, args.count); }}");
    let work = "sh -c 'for n in 1 20 20 300; do dd if=/dev/zero of=/dev/null bs=$n count=5; done'";
    let run = probescope(&["run", "-c", work, "--record", name(&file), "-e", &script]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let ran = text(&run.stdout);
    assert_eq!(ran.lines().filter(|line| line.starts_with("dd 1 ")).count(), 20, "{ran}");
    let maps = &ran[ran.find('@').unwrap()..];

    let again = probescope(&["replay", name(&file), "-e", &format!("{probe} {{ {counted} }}")]);
    assert_eq!(text(&again.stdout).trim_start(), maps, "{}", text(&again.stderr));
    let other = "tracepoint:syscalls:sys_enter_write /args.count > 20/ { @[comm, args.count / 100] = count(); }";
    let other = probescope(&["replay", name(&file), "-e", other]);
    assert_eq!(text(&other.stdout).trim(), "@[dd, 3]: 5", "{}", text(&other.stderr));

    let missing =
        probescope(&["replay", name(&file), "-e", "tracepoint:syscalls:sys_enter_write { @[tid] = count(); }"]);
    let said = text(&missing.stderr);
    assert!(!missing.status.success() && missing.stdout.is_empty());
    assert!(said.contains("`tid` was not recorded") && said.contains("comm, args.fd, args.count"), "{said}");
    let elsewhere = probescope(&["replay", name(&file), "-e", "tracepoint:sched:sched_switch { @ = count(); }"]);
    assert!(!elsewhere.status.success(), "{}", text(&elsewhere.stderr));
}

#[test]
fn a_recording_that_was_cut_prints_what_is_left() {
    if root::missing() {
        return;
    }
    let folder = Folder::new("cut");
    let file = folder.0.join("file");
    let run = probescope(&["run", "--record", name(&file), "-e", SCRIPT]);
    let whole = std::fs::read(&file).unwrap();
    // All but the index.
    let index = whole.windows(4).rposition(|w| w == b"PBLK").unwrap();
    std::fs::write(&file, &whole[..index + 9]).unwrap();
    let replay = probescope(&["replay", name(&file)]);
    assert_eq!(text(&replay.stdout), text(&run.stdout));
    assert!(text(&replay.stderr).contains("the recording has no end"), "{}", text(&replay.stderr));
}

#[test]
fn what_cannot_be_recorded_or_replayed_is_said() {
    let folder = Folder::new("refused");
    let file = folder.0.join("file");
    std::fs::write(&file, "#!/usr/bin/env bpftrace\n").unwrap();
    for arguments in [["replay", name(&file)].as_slice(), &["record", "info", name(&file)]] {
        let refused = probescope(arguments);
        assert!(!refused.status.success() && refused.stdout.is_empty());
        assert!(text(&refused.stderr).contains("is no recording"), "{}", text(&refused.stderr));
    }
    if root::missing() {
        return;
    }
    let full = probescope(&["run", "--record", "/dev/full", "-e", "begin { printf(\"ran\\n\"); exit() }"]);
    assert!(!full.status.success() && full.stdout.is_empty(), "a run that was to be recorded does not begin without");
    assert!(text(&full.stderr).contains("cannot write /dev/full"), "{}", text(&full.stderr));
}

/// The recording ends and that is said; the run goes on, and what was written can be read.
#[test]
fn a_full_disk_ends_the_recording_and_not_the_run() {
    if root::missing() {
        return;
    }
    let folder = Folder::new("full");
    let mounted = |arguments: &[&str]| Command::new("mount").args(arguments).output().unwrap().status.success();
    assert!(mounted(&["-t", "tmpfs", "-o", "size=512k", "tmpfs", name(&folder.0)]));
    let file = folder.0.join("file");
    let script = "begin { for ($i : 0..100000) { printf(\"%d %llx\\n\", $i, nsecs * 2654435761); } exit(); }";
    let run = probescope(&["run", "-q", "--record", name(&file), "-e", script]);
    let replay = probescope(&["replay", "-f", "text", name(&file)]);
    assert!(Command::new("umount").arg(&folder.0).status().unwrap().success());
    let rows = |out: &Output| text(&out.stdout).lines().filter(|line| !line.is_empty()).count();
    assert_eq!(rows(&run), 100_000, "{}", text(&run.stderr));
    assert!(text(&run.stderr).contains("No space left"), "{}", text(&run.stderr));
    assert!((1..100_000).contains(&rows(&replay)), "{} rows", rows(&replay));
    assert!(text(&run.stdout).starts_with(text(&replay.stdout).trim_end()));
}

#[test]
fn a_recording_of_another_machine_needs_no_privilege() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/recording/whole");
    let replay = probescope(&["replay", name(&file)]);
    let rows = text(&replay.stdout);
    assert!(replay.status.success() && rows.starts_with("<row 0>\n<row 1>\n") && rows.ends_with("other\n"), "{rows}");
    let info = text(&probescope(&["record", "info", name(&file)]).stdout);
    assert!(info.contains("kernel      6.18.0") && info.contains("13 events") && info.contains("1 marks"), "{info}");
}
