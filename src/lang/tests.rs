use super::diagnostic::Severity;
use super::*;
use crate::kernel::{Kernel, Roots};
use crate::probe::catalogue::Catalogue;
use crate::probe::describe::describe;
use crate::probe::providers;

#[test]
fn the_ending_of_the_name_tells_the_language() {
    assert_eq!(front_end(&SourceText::new("a/script.d", "")).name(), "D");
    for name in ["script.bt", "-e", "", "a.b/c"] {
        assert_eq!(front_end(&SourceText::new(name, "")).name(), "bpftrace", "{name}");
    }
}

/// The rule of the browser: what Enter inserts compiles as it is.
#[test]
fn every_skeleton_passes_the_checker() {
    let kernel = Kernel::new(Roots::fixture(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/kernel")));
    let probes = Catalogue::build(&kernel);
    assert!(probes.len() > 40);
    for probe in probes.iter().filter(|p| !p.name.starts_with("usdt:")) {
        let doc = describe(probe.name, &kernel);
        if doc.absence.is_some() && (providers::row(probe.name).is_some() || probe.name.starts_with("uprobe:")) {
            // There is no such place on this machine (of a C library's `time`, the code is the kernel's); the browser
            // does not insert it.
            continue;
        }
        let checked = compile(&SourceText::new("skeleton", &doc.skeleton), &FrontOptions::new(&kernel));
        let errors: Vec<_> = checked.diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{}\n{errors:?}", doc.skeleton);
    }
}
