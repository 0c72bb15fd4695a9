//! The objects of `compile -o` in other loaders: a current libbpf, the system's bpftool, whose libbpf may be old, aya's
//! reader and Go's library.
//!
//! Needs root; without it every test says so and passes.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::root;
use crate::skip::skip;

/// Scripts whose objects have every kind of section: shared and per-CPU data, scratch memory, stacks, constants,
/// reports in slots and in the ring, keyed maps.
const SCRIPTS: [(&str, &str); 3] = [
    ("counts", "tracepoint:raw_syscalls:sys_enter { @ = count(); @h = hist(args.id); @k[comm] = sum(args.id); }"),
    (
        "reports",
        "tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args.filename)); @s[kstack(8)] = count(); }",
    ),
    (
        "values",
        "tracepoint:sched:sched_switch { @last[args.next_pid] = nsecs; if (@last[args.prev_pid]) { @t = strftime(\"%H\", nsecs); } } begin { @x = 1; }",
    ),
];

/// An object in a file of its own: the tests of one process run beside each other.
fn compiled(name: &str, script: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("probescope-{name}-{}-{number}.bpf.o", std::process::id()));
    let program = env!("CARGO_BIN_EXE_probescope");
    let output = Command::new(program).args(["compile", "-e", script, "-o"]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    path
}

#[test]
fn a_current_libbpf_loads_them() {
    if root::missing() {
        return;
    }
    for (name, script) in SCRIPTS {
        let path = compiled(name, script);
        let loaded = libbpf_rs::ObjectBuilder::default().open_file(&path).and_then(libbpf_rs::OpenObject::load);
        std::fs::remove_file(&path).unwrap();
        let loaded = loaded.unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut attached = 0;
        // What runs once has no place to attach to.
        for program in loaded.progs_mut().filter(|p| p.section().to_string_lossy().starts_with("tracepoint/")) {
            let link = program.attach();
            assert!(link.is_ok(), "{name}: {}", link.unwrap_err());
            attached += 1;
        }
        assert!(attached > 0, "{name}: nothing to attach");
    }
}

#[test]
fn ayas_reader_knows_their_programs_and_maps() {
    for (name, script) in SCRIPTS {
        let path = compiled(name, script);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let object = aya_obj::Object::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!object.programs.is_empty() && !object.maps.is_empty(), "{name}");
        assert!(object.btf.is_some() && object.btf_ext.is_some(), "{name}");
    }
}

#[test]
fn the_systems_bpftool_loads_them() {
    if root::missing() {
        return;
    }
    let found = Command::new("bpftool").arg("version").output();
    let Ok(version) = found.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()) else {
        return skip("there is no bpftool");
    };
    let Some(mount) = PinFolder::mount() else { return skip("no file system of type bpf can be mounted") };
    for (name, script) in SCRIPTS {
        let path = compiled(name, script);
        let pins = mount.0.join(name);
        let output = Command::new("bpftool").args(["prog", "loadall"]).arg(&path).arg(&pins).output().unwrap();
        std::fs::remove_file(&path).unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}, {version}: {said}");
    }
}

/// The shared libbpf of the system (1.1 on Debian 12), from a program of C: older libraries know fewer sections.
#[test]
fn the_systems_libbpf_loads_and_attaches_them() {
    if root::missing() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("probescope-libbpf-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/c/attach_object.c");
    let loader = folder.join("attach_object");
    let built = Command::new("cc").args([source, "-ldl", "-o"]).arg(&loader).status();
    if !built.is_ok_and(|status| status.success()) {
        return skip("there is no C compiler");
    }
    for (name, script) in SCRIPTS {
        let path = compiled(name, script);
        let output = Command::new(&loader).arg(&path).output().unwrap();
        std::fs::remove_file(&path).unwrap();
        if output.status.code() == Some(NO_LIBBPF) {
            skip("there is no libbpf.so.1");
            break;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {}{said}", String::from_utf8_lossy(&output.stdout));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// cilium/ebpf as Debian packages it (`golang-github-cilium-ebpf-dev`), or in another folder of Go's sources (`GOPATH`).
#[test]
fn gos_library_loads_and_attaches_them() {
    if root::missing() {
        return;
    }
    let sources = std::env::var_os("GOPATH").map_or_else(|| PathBuf::from("/usr/share/gocode"), PathBuf::from);
    let library = sources.join("src/github.com/cilium/ebpf");
    if !library.exists() {
        return skip("there is no cilium/ebpf");
    }
    // Variables came with the sections of data that have names, in 0.17.
    if !library.join("variable.go").exists() {
        return skip("cilium/ebpf is older than 0.17, which reads one section of data only");
    }
    let folder = std::env::temp_dir().join(format!("probescope-cilium-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let loader = folder.join("attach_object");
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(&loader)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/go/attach_object.go"))
        .env("GOPATH", &sources)
        .env("GO111MODULE", "off")
        .env("GOCACHE", folder.join("cache"))
        .output();
    let Ok(built) = built else { return skip("there is no Go compiler") };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    for (name, script) in SCRIPTS {
        let path = compiled(name, script);
        let output = Command::new(&loader).arg(&path).output().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What the loader in C ends with where the library is missing.
const NO_LIBBPF: i32 = 77;

/// A file system of its own to pin programs in: they go with it.
struct PinFolder(PathBuf);

impl PinFolder {
    fn mount() -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("probescope-pins-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mounted = Command::new("mount").args(["-t", "bpf", "bpf"]).arg(&folder).status();
        let folder = Self(folder);
        mounted.is_ok_and(|status| status.success()).then_some(folder)
    }
}

impl Drop for PinFolder {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
        let _ = std::fs::remove_dir(&self.0);
    }
}
