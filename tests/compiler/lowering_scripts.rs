//! Whole scripts from text to the running kernel's verifier: every bundled script that this kernel's
//! probes allow is compiled and loaded, and the verifier refuses none of its programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::kernel;
use crate::root;
use probescope::kernel::{Kernel, Roots};
use probescope::lang::compile as compile_front;
use probescope::lang::diagnostic::{Severity, has_errors};
use probescope::lang::front::FrontOptions;
use probescope::lang::source::SourceText;
use probescope::lang::typed::MissingProbes;

fn scripts() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let folder = std::env::var_os("PROBESCOPE_SCRIPTS").map_or(own, PathBuf::from);
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "bt"))
        .collect();
    found.sort();
    found
}

enum Outcome {
    Loaded,
    NotHere(String),
    Refused(String),
}

fn try_script(path: &Path, kernel: &Arc<Kernel>) -> Outcome {
    let text = std::fs::read_to_string(path).unwrap();
    let source = SourceText::new(&path.to_string_lossy(), &text);
    let mut options = FrontOptions::new(kernel);
    options.unsafe_allowed = true;
    options.missing_probes = MissingProbes::Ignore;
    let checked = compile_front(&source, &options);
    if has_errors(&checked.diagnostics) {
        let errors = checked.diagnostics.iter().filter(|d| d.severity == Severity::Error);
        return Outcome::NotHere(errors.map(|d| format!("{:?}: {}", d.span, d.message)).collect::<Vec<_>>().join("; "));
    }
    if checked.program.probes.iter().all(|p| p.targets.is_empty()) {
        return Outcome::NotHere("none of its probes is here".into());
    }
    let facts = kernel.target_facts(None, 0);
    if !facts.features().for_each_map_elem && text.contains("Linux 5.13") {
        return Outcome::NotHere("its header asks for Linux 5.13".into());
    }
    let loaded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| kernel::load_with(&checked.program, &facts)));
    match loaded {
        Ok(_) => Outcome::Loaded,
        Err(why) => Outcome::Refused(why.downcast_ref::<String>().cloned().unwrap_or_else(|| "panic".into())),
    }
}

#[test]
fn bundled_scripts_are_accepted_by_the_verifier() {
    if root::missing() {
        return;
    }
    let kernel = Arc::new(Kernel::new(Roots::running()).mounting_tracefs());
    let (mut refused, mut loaded) = (Vec::new(), 0);
    for path in scripts() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match try_script(&path, &kernel) {
            Outcome::Loaded => loaded += 1,
            Outcome::NotHere(why) => eprintln!("not here: {name}: {why}"),
            Outcome::Refused(why) => {
                let end = why.lines().rev().take(12).collect::<Vec<_>>();
                eprintln!("REFUSED {name}:\n{}", end.into_iter().rev().collect::<Vec<_>>().join("\n"));
                refused.push(name);
            }
        }
    }
    eprintln!("{loaded} loaded");
    assert!(refused.is_empty(), "{refused:?}");
    assert!(loaded > 0, "no script could be loaded");
}
