//! On the running machine, where it has what is asked for.

use super::*;
use crate::kernel::Roots;
use crate::probe::{point, target_name};

fn names(text: &str) -> Result<Vec<String>, ExpandError> {
    let kernel = Kernel::new(Roots::running());
    let pattern = point::parse(text).unwrap();
    expand(&pattern, &kernel, &ExpandOptions::default()).map(|t| t.iter().map(target_name).collect())
}

#[test]
fn libraries_are_found_by_name() {
    let malloc = names("u:libc:malloc").unwrap();
    assert!(malloc[0].starts_with("uprobe:/") && malloc[0].ends_with(":malloc"), "{malloc:?}");
    let wild = names("ur:libc:mallo*").unwrap();
    assert!(wild.iter().any(|n| n.ends_with(":malloc")) && wild[0].starts_with("uretprobe:"));
    let error = names("u:libc:maloc").unwrap_err();
    assert!(error.hint().unwrap().contains("malloc"), "{error}");
    if let Ok(throw) = names("usdt:libstdc++:throw") {
        assert!(throw[0].ends_with(":libstdcxx:throw"), "{throw:?}");
    }
    assert!(matches!(names("u:nosuchprogram:main"), Err(ExpandError::Binary(_))));
}

#[test]
fn functions_that_nothing_traces_are_no_match() {
    let kernel = Kernel::new(Roots::fixture(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/kernel")));
    let expanded = |text: &str, options: &ExpandOptions| expand(&point::parse(text).unwrap(), &kernel, options);
    let plain = ExpandOptions::default();
    assert_eq!(expanded("kprobe:vfs_read", &plain).unwrap().len(), 1);
    // In /proc/kallsyms and not in available_filter_functions.
    let error = expanded("kprobe:__pfx_vfs_read", &plain).unwrap_err();
    assert!(error.is_missing() && error.hint().unwrap().contains("lets nothing trace it"), "{error}");
    assert!(expanded("kretprobe:__pfx_vfs_read", &plain).is_err());
    let forced = ExpandOptions { forced: true, ..ExpandOptions::default() };
    assert_eq!(expanded("kprobe:__pfx_vfs_read", &forced).unwrap().len(), 1);
}

#[test]
fn timers_and_counters_need_nothing() {
    assert_eq!(names("begin").unwrap(), ["begin"]);
    assert_eq!(names("i:ms:100").unwrap(), ["interval:ms:100"]);
    assert_eq!(names("s:cpu").unwrap(), ["software:cpu-clock"]);
    assert!(names("s:pagefaults").unwrap_err().hint().unwrap().contains("page-faults"));
}
