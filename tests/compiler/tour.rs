//! `docs/compiler.md` is true: its script gives the dumps that it shows, and what it says of the source is there.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use probescope::codegen::dump;
use probescope::kernel::target::TargetFacts;
use probescope::kernel::{Kernel, Roots};
use probescope::lang::diagnostic::has_errors;
use probescope::lang::front::FrontOptions;
use probescope::lang::source::SourceText;
use probescope::lang::typed::dump as types;
use probescope::lang::{compile, front_end};

/// Begins a block that a stage fills; the stage's name follows.
const BLOCK: &str = "```text\n$ probescope compile --emit ";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page() -> (PathBuf, String) {
    let path = root().join("docs/compiler.md");
    let text = fs::read_to_string(&path).unwrap();
    (path, text)
}

/// The script of the tour: the first block of bpftrace.
fn script(page: &str) -> SourceText {
    let (_, rest) = page.split_once("```bpftrace\n").unwrap();
    SourceText::new("tour.bt", rest.split_once("```").unwrap().0)
}

fn stage(name: &str, source: &SourceText) -> String {
    let kernel = Kernel::new(Roots::fixture(root().join("tests/fixtures/kernel")));
    let checked = compile(source, &FrontOptions::new(&kernel));
    assert!(!has_errors(&checked.diagnostics), "{:?}", checked.diagnostics);
    let facts = TargetFacts::of_version(6, 12, 2);
    match name {
        "ast" => front_end(source).tree(source),
        "typed" => types::dump(&checked.program),
        "ir" => dump::ir(&checked.program, &facts).unwrap(),
        "passes" => dump::passes(&checked.program, &facts).unwrap(),
        "asm" => dump::code(&checked.program, &facts, source).unwrap(),
        other => panic!("{other} is no stage"),
    }
}

/// The page with every stage's block as the compiler fills it today.
fn filled(page: &str) -> String {
    let source = script(page);
    let mut parts = page.split(BLOCK);
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let (command, rest) = part.split_once('\n').unwrap();
        let (_, after) = rest.split_once("```").unwrap();
        let name = command.split(' ').next().unwrap();
        let _ = write!(out, "{BLOCK}{command}\n{}\n```{after}", stage(name, &source).trim_end());
    }
    out
}

#[test]
fn the_tour_shows_what_the_compiler_does() {
    let (path, mut text) = page();
    let filled = filled(&text);
    if std::env::var_os("PROBESCOPE_UPDATE_TOUR").is_some() {
        fs::write(path, &filled).unwrap();
        text.clone_from(&filled);
    }
    for name in ["ast", "typed", "ir", "passes", "asm"] {
        assert!(text.contains(&format!("{BLOCK}{name} ")), "{name} has no block");
    }
    assert!(text == filled, "docs/compiler.md is not what the compiler does: PROBESCOPE_UPDATE_TOUR=1 writes it anew");
    assert!(filled.lines().count() <= 300, "a tour of {} lines is none", filled.lines().count());
}

#[test]
fn the_places_of_a_function_are_where_the_tour_says() {
    let (_, text) = page();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|l| l.contains("| `src/") || l.contains("| `tests/"))
        .map(|l| l.split('|').collect())
        .collect();
    assert_eq!(rows.len(), 7);
    for row in rows {
        let [file, wanted] = [row[2], row[3]].map(|cell| cell.trim().trim_matches('`'));
        let source = fs::read_to_string(root().join(file)).unwrap();
        assert!(source.contains(wanted), "{file} has no {wanted}");
    }
}
