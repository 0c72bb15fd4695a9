//! The floors of ARCHITECTURE.md: a room imports only from rooms below it. Read from the source itself, so that
//! a change that crosses them fails here with its line.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Every room, lowest first; rooms of one row know nothing of each other unless the right one imports the left.
const FLOORS: &[&str] = &[
    "regular", "model", "binary", "kernel", "probe", "lang", "codegen", "engine", "store", "tracer", "session",
    "output", "library", "tui", "cli",
];

/// A use of one room in another's source.
#[derive(Debug)]
struct Import {
    file: String,
    line: usize,
    room: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The room that a file belongs to; none for the two files that hold the rooms together.
fn room_of(file: &str) -> Option<&str> {
    let name = file.strip_prefix("src/")?.split('/').next()?;
    let name = name.strip_suffix(".rs").unwrap_or(name);
    (!matches!(name, "lib" | "main")).then_some(name)
}

/// The rooms that a line of code names by `crate::`, comments left out.
fn rooms_named(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or("");
    code.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        &rest[..end.unwrap_or(rest.len())]
    })
}

fn imports() -> Vec<Import> {
    let mut found = Vec::new();
    for path in sources(&root().join("src")) {
        let file = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        if room_of(&file).is_none() {
            continue;
        }
        for (at, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            let rooms =
                rooms_named(line).map(|room| Import { file: file.clone(), line: at + 1, room: room.to_owned() });
            found.extend(rooms);
        }
    }
    found
}

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|name| *name == room)
}

#[test]
fn every_folder_has_its_floor() {
    let mut unknown = BTreeSet::new();
    for path in sources(&root().join("src")) {
        let file = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        unknown.extend(room_of(&file).filter(|room| floor(room).is_none()).map(str::to_owned));
    }
    assert!(
        unknown.is_empty(),
        "these rooms have no floor in tests/compiler/architecture.rs and ARCHITECTURE.md: {unknown:?}"
    );
}

#[test]
fn a_room_imports_only_from_rooms_below_it() {
    let mut upward = Vec::new();
    let imports = imports();
    assert!(imports.len() > 100, "the source has imports, but {} were found", imports.len());
    for import in &imports {
        let own = room_of(&import.file).and_then(floor);
        // `crate::{a, b}` and macros of the crate name no room that can be told from the line.
        let is_below = matches!((own, floor(&import.room)), (Some(own), Some(other)) if other <= own);
        if !is_below {
            upward.push(format!("{}:{}: {}", import.file, import.line, import.room));
        }
    }
    assert!(upward.is_empty(), "these import from a room above their own:\n{}", upward.join("\n"));
}
