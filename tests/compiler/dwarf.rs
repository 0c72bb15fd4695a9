//! Debug information of real compilers, and what is left of it after damage.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use probescope::binary::dwarf::{DebugInfo, DwarfType, ParameterPlace, Tag, TypeId};
use probescope::binary::elf::Binary;
use probescope::kernel::{Kernel, Roots};
use probescope::lang::front_end;
use probescope::lang::service::ServiceEnv;
use probescope::lang::service::kernel::KernelKnowledge;
use probescope::lang::source::SourceText;

/// A compiled file of `tests/fixtures/c` in a folder of its own, removed at the end.
struct Compiled(PathBuf);

impl Compiled {
    fn new(name: &str, file: &str, flags: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("probescope-dwarf-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/c").join(file);
        let out = Command::new("cc").arg("-o").arg(folder.join("program")).arg(source).args(flags).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.join("program")
    }

    fn run(&self, program: &str, words: &[&str]) {
        let status = Command::new(program).args(words).current_dir(&self.0).status().unwrap();
        assert!(status.success(), "{program} {words:?}");
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn address(path: &Path, function: &str) -> u64 {
    Binary::open(path, &[]).unwrap().function(function).unwrap().address
}

/// Asks everything that a script and the workbench may ask of a function, its types to some depth.
fn explore(info: &DebugInfo, address: u64) -> usize {
    let mut met = 0;
    let function = info.function(address, "a function");
    let Ok(function) = function else { return 0 };
    let mut types: Vec<TypeId> = function.parameters.iter().filter_map(|p| p.ty).chain(function.result).collect();
    while let Some(ty) = types.pop() {
        met += 1;
        if met > 200 {
            break;
        }
        let _ = (info.type_text(Some(ty)), info.variants(ty), info.canonical(ty));
        match info.describe(ty) {
            Ok(DwarfType::Pointer(Some(to)) | DwarfType::Array(to, _)) => types.push(to),
            Ok(DwarfType::Struct { .. }) => types.extend(info.members(ty).unwrap_or_default().iter().map(|m| m.ty)),
            _ => {}
        }
    }
    let _ = info.find_type(Tag::Struct, "nowhere");
    let _ = info.enumerator("NOWHERE");
    let _ = info.line("shapes.c", 30, None);
    met
}

#[test]
fn places_follow_the_calling_convention() {
    let compiled = Compiled::new("places", "shapes.c", &["-g", "-O1"]);
    let info = DebugInfo::open(&compiled.path(), &[]).unwrap();
    let places = |function: &str| -> Vec<ParameterPlace> {
        let found = info.function(address(&compiled.path(), function), function).unwrap();
        found.parameters.iter().map(|p| p.place).collect()
    };
    let register = ParameterPlace::Register;
    assert_eq!(places("scalars"), (0..6).map(register).collect::<Vec<_>>());
    assert_eq!(places("eight")[..6], (0..6).map(register).collect::<Vec<_>>());
    assert!(places("eight")[6..].iter().all(|p| matches!(p, ParameterPlace::Elsewhere(_))));
    // Twelve bytes by value take two registers, a large value and a floating-point number none.
    assert_eq!(places("by_value")[3], register(2));
    assert_eq!(places("returns_large"), [register(1)], "the result's address comes first");
}

#[test]
fn the_editor_completes_arguments_and_their_fields() {
    let compiled = Compiled::new("editor", "shapes.c", &["-g", "-O1"]);
    let knowledge = KernelKnowledge::new(Arc::new(Kernel::new(Roots::running()).mounting_tracefs()), None);
    let labels = |body: &str| -> Vec<String> {
        let text = format!("uprobe:{}:pointers {{ {body}", compiled.path().display());
        let source = SourceText::new("t", &text);
        let found = front_end(&source).completions(&source, text.len() as u32, &ServiceEnv { knowledge: &knowledge });
        found.into_iter().map(|c| c.label).collect()
    };
    assert_eq!(labels("args."), ["node", "indirect", "count", "words"]);
    for body in ["args.node.", "$n = args.node; $n->", "((struct node *)arg0).", "args.node.next."] {
        let labels = labels(body);
        assert!(labels.contains(&"colour".to_owned()) && labels.contains(&"second".to_owned()), "{body}: {labels:?}");
    }
    assert!(labels("args.node.tag.").contains(&"text".to_owned()));
}

#[test]
fn separate_debug_files_are_found() {
    let compiled = Compiled::new("separate", "shapes.c", &["-g", "-O1"]);
    let start = address(&compiled.path(), "scalars");
    compiled.run("objcopy", &["--only-keep-debug", "program", "program.debug"]);
    compiled.run("strip", &["program"]);
    assert!(DebugInfo::open(&compiled.path(), &[]).is_err(), "stripped, and nothing leads to the file");
    compiled.run("objcopy", &["--add-gnu-debuglink=program.debug", "program"]);
    assert!(explore(&DebugInfo::open(&compiled.path(), &[]).unwrap(), start) > 3, "beside it");
    assert!(Binary::open(&compiled.path(), std::slice::from_ref(&compiled.0)).unwrap().function("scalars").is_some());
    compiled.run("mkdir", &["below", ".debug"]);
    compiled.run("mv", &["program.debug", ".debug/"]);
    assert!(DebugInfo::open(&compiled.path(), &[]).is_ok(), "in .debug");
    compiled.run("mv", &[".debug/program.debug", "below/"]);
    assert!(DebugInfo::open(&compiled.path(), &[]).is_err());
    assert!(DebugInfo::open(&compiled.path(), &[compiled.0.join("below")]).is_ok(), "in a given folder");
    // A file of another build is not taken.
    let other = Compiled::new("other", "shapes.c", &["-g", "-O2"]);
    std::fs::copy(other.path(), compiled.0.join("below/program.debug")).unwrap();
    assert!(DebugInfo::open(&compiled.path(), &[compiled.0.join("below")]).is_err());
}

#[test]
fn lines_have_one_address_a_unit() {
    let compiled = Compiled::new("lines", "shapes.c", &["-g", "-O0"]);
    let info = DebugInfo::open(&compiled.path(), &[]).unwrap();
    let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/c/shapes.c"));
    let line = source.unwrap().lines().position(|l| l.starts_with("PROBED int scalars")).unwrap() as u32 + 1;
    let start = address(&compiled.path(), "scalars");
    for file in ["shapes.c", "c/shapes.c", "fixtures/c/shapes.c"] {
        assert_eq!(info.line(file, line, None).unwrap(), [start]);
    }
    assert!(info.line("hapes.c", line, None).is_err(), "only whole components of a path");
    assert!(info.line("shapes.c", line, Some(9999)).is_err());
}

#[test]
fn what_refers_to_itself_comes_to_an_end() {
    let compiled = Compiled::new("cycles", "cycles.s", &[]);
    let info = DebugInfo::open(&compiled.path(), &[]).unwrap();
    let started = Instant::now();
    assert!(explore(&info, address(&compiled.path(), "turning")) > 4);
    assert!(started.elapsed() < Duration::from_secs(20));
    let function = info.function(address(&compiled.path(), "turning"), "turning").unwrap();
    assert_eq!(info.describe(function.parameters[0].ty.unwrap()), Ok(DwarfType::Void), "a pointer to itself");
}

#[test]
fn damage_gives_errors_and_no_panics() {
    let compiled = Compiled::new("damage", "shapes.c", &["-g", "-O1"]);
    let path = compiled.path();
    let whole = std::fs::read(&path).unwrap();
    let start = address(&path, "scalars");
    let broken = compiled.0.join("broken");
    let from = memchr::memmem::find(&whole, b"shapes.c").unwrap_or(0) / 2;
    // A fixed sequence: any failure comes again.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..=round % 8 {
            let at = from + next() as usize % (bytes.len() - from);
            bytes[at] = next() as u8;
        }
        if round % 5 == 0 {
            bytes.truncate(next() as usize % bytes.len());
        }
        std::fs::write(&broken, &bytes).unwrap();
        let started = Instant::now();
        if let Ok(info) = DebugInfo::open(&broken, &[]) {
            explore(&info, start);
        }
        let _ = Binary::open(&broken, &[]);
        assert!(started.elapsed() < Duration::from_secs(30), "round {round}");
    }
}
