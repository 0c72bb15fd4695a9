//! The floors of ARCHITECTURE.md: each room is a crate, which depends on rooms below it only. The compiler holds the floors;
//! this holds the manifests to the order in which `Cargo.toml` lists the rooms, and what no compiler sees: circles of files,
//! doors, and the size of types.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms on one floor: neither is built on the other, by whatever way.
const SIDE_BY_SIDE: &[(&str, &str)] =
    &[("engine", "store"), ("output", "session"), ("tui", "loads"), ("library", "tracer"), ("learn", "output")];

/// Rooms that only the program itself, and nothing in between, is built on.
const TOPMOST: &[&str] = &["loads", "tui"];

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

/// The rooms as `Cargo.toml` lists them, lowest first.
fn rooms() -> Vec<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = manifest.split_once("members = [").and_then(|(_, rest)| rest.split_once(']')).unwrap().0;
    let rooms: Vec<String> =
        members.lines().filter_map(|line| line.trim().strip_prefix("\"src/")).map(str::to_owned).collect();
    rooms.iter().map(|room| room.trim_end_matches("\",").to_owned()).collect()
}

/// The rooms that one is built on, with those that its tests alone need.
fn built_on(room: &str) -> BTreeSet<String> {
    let manifest = fs::read_to_string(root().join("src").join(room).join("Cargo.toml")).unwrap();
    let names = manifest.lines().filter_map(|line| line.strip_prefix("probescope-")?.split(['.', ' ', '=']).next());
    names.map(str::to_owned).collect()
}

#[test]
fn every_folder_is_a_room() {
    let rooms: BTreeSet<String> = rooms().into_iter().collect();
    let mut without = BTreeSet::new();
    for entry in fs::read_dir(root().join("src")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let is_program = matches!(name.as_str(), "cli" | "cli.rs" | "demo" | "lib.rs" | "main.rs");
        let is_room = rooms.contains(&name) && path.join("Cargo.toml").is_file();
        if !is_program && !is_room {
            without.insert(name);
        }
    }
    assert!(without.is_empty(), "these have no crate in Cargo.toml and no floor in ARCHITECTURE.md: {without:?}");
}

#[test]
fn a_room_is_built_on_rooms_below_it() {
    let rooms = rooms();
    assert!(rooms.len() > 10, "the rooms are found: {rooms:?}");
    let mut all: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (floor, room) in rooms.iter().enumerate() {
        let mut reached = built_on(room);
        let below = &rooms[..floor];
        assert!(reached.iter().all(|other| below.contains(other)), "{room} is built on one above it: {reached:?}");
        assert!(TOPMOST.iter().all(|top| !reached.contains(*top)), "{room} is built on a topmost one: {reached:?}");
        reached.extend(reached.clone().iter().flat_map(|other| all[other.as_str()].clone()));
        all.insert(room, reached);
    }
    for (one, other) in SIDE_BY_SIDE {
        assert!(!all[one].contains(*other) && !all[other].contains(*one), "{one} and {other} know each other");
    }
}

/// Most files that may import each other in a circle.
const LARGEST_CIRCLE: usize = 3;

/// Rooms with larger circles, and how large the largest is at most: the list only shrinks.
const LARGER_CIRCLES: &[(&str, usize)] =
    &[("model", 5), ("kernel", 7), ("engine", 5), ("store", 5), ("tracer", 7), ("learn", 5), ("cli", 6)];

/// What a file imports: each use as a path from the crate's root.
fn paths_used(module: &str, text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect();
    let code = code.join("\n");
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let mut found = Vec::new();
    for statement in code.split(';') {
        let Some((before, tree)) = statement.rsplit_once("use ") else { continue };
        let visibility = before.rsplit('\n').next().unwrap_or("").trim();
        if !visibility.is_empty() && !visibility.starts_with("pub") {
            continue;
        }
        expand_tree("", tree, &mut found);
    }
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let path = &code[at..];
            let end = path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(path.len());
            // A tree was expanded above; `pub(in …)` is no use.
            if !code[..at].ends_with("in ") && !code[..at].ends_with(':') && !path[..end].ends_with("::") {
                found.push(path[..end].to_owned());
            }
        }
    }
    found.iter().map(|path| absolute(module, path)).collect()
}

/// The paths of a use's tree.
fn expand_tree(before: &str, tree: &str, found: &mut Vec<String>) {
    let Some((head, rest)) = tree.split_once('{') else {
        found.push(format!("{before}{}", tree.split(" as ").next().unwrap().trim()));
        return;
    };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut depth, mut item) = (0, String::new());
    for c in inside.chars().chain([',']) {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            if !item.trim().is_empty() {
                expand_tree(&format!("{before}{}", head.trim()), item.trim(), found);
            }
            item.clear();
        } else {
            item.push(c);
        }
    }
}

/// Whether a crate's root has this name for a room.
fn is_room(name: &str) -> bool {
    matches!(name, "cli" | "regular" | "thread" | "stdio" | "disk")
        || root().join("src").join(name).join("lib.rs").is_file()
}

fn absolute(module: &str, path: &str) -> String {
    let mut base: Vec<&str> = module.split("::").collect();
    let mut parts: Vec<&str> = path.split("::").map(str::trim).collect();
    match parts.first() {
        // A room's root has its own name, and those of others; what else stands there is the room's own.
        Some(&"crate") if parts.get(1).is_some_and(|name| is_room(name)) => return parts[1..].join("::"),
        Some(&"crate") => {
            parts.remove(0);
            base.truncate(1);
        }
        Some(&"super") => {
            while parts.first() == Some(&"super") {
                parts.remove(0);
                base.pop();
            }
        }
        Some(&"self") => {
            parts.remove(0);
        }
        _ => {}
    }
    base.extend(parts);
    base.join("::")
}

/// The files of a room by the paths of their modules, with those that each imports.
fn files_of(room: &str) -> BTreeMap<String, BTreeSet<String>> {
    let src = root().join("src");
    let mut texts = BTreeMap::new();
    for path in sources(&src) {
        let file = path.strip_prefix(&src).unwrap().with_extension("");
        let module = file.to_str().unwrap().replace('/', "::");
        let module = module.strip_suffix("::lib").unwrap_or(&module).to_owned();
        if module.split("::").next() == Some(room) {
            texts.insert(module, fs::read_to_string(&path).unwrap());
        }
    }
    let resolve = |path: &str| {
        let mut path = path;
        loop {
            if texts.contains_key(path) {
                return Some(path.to_owned());
            }
            path = path.rsplit_once("::")?.0;
        }
    };
    let imports = |(module, text): (&String, &String)| {
        let named = paths_used(module, text).into_iter().filter_map(|path| resolve(&path));
        (module.clone(), named.filter(|other| other != module).collect())
    };
    texts.iter().map(imports).collect()
}

/// All files that one leads to.
fn reached<'a>(files: &'a BTreeMap<String, BTreeSet<String>>, from: &'a str) -> BTreeSet<&'a str> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(at) = open.pop() {
        for next in &files[at] {
            if seen.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    seen
}

#[test]
fn few_files_import_each_other() {
    let mut wrong = Vec::new();
    for room in rooms().iter().map(String::as_str).chain(["cli"]) {
        let files = files_of(room);
        let reaches: BTreeMap<&str, BTreeSet<&str>> =
            files.keys().map(|file| (file.as_str(), reached(&files, file))).collect();
        let circle_of = |file: &str| -> Vec<&str> {
            reaches[file].iter().copied().filter(|other| reaches[*other].contains(file)).collect()
        };
        let largest = files.keys().map(|file| circle_of(file)).max_by_key(Vec::len).unwrap_or_default();
        let most = LARGER_CIRCLES.iter().find(|(name, _)| *name == room).map_or(LARGEST_CIRCLE, |(_, most)| *most);
        if largest.len() > most {
            wrong.push(format!("{room}: {} files, at most {most}: {largest:?}", largest.len()));
        }
    }
    assert!(wrong.is_empty(), "files that import each other in a circle:\n{}", wrong.join("\n"));
}

/// The floors of the workbench, lowest first: a file imports from its own folder and from those before it. `demo` and
/// `cast` stand above all of them.
const FLOORS_OF_TUI: &[&str] = &["base", "data", "pane", "widgets", "layers", "panes", "desk", "run"];

#[test]
fn panes_know_what_is_below_them_and_no_other_pane() {
    let files = files_of("tui");
    let part = |file: &str, nth: usize| file.split("::").nth(nth).unwrap_or("").to_owned();
    let floor = |file: &str| FLOORS_OF_TUI.iter().position(|name| *name == part(file, 1));
    assert!(FLOORS_OF_TUI.iter().all(|name| files.keys().any(|file| part(file, 1) == *name)), "each floor has files");
    let mut wrong = Vec::new();
    for (file, imports) in files.iter().filter(|(file, _)| !file.ends_with("::tests")) {
        for other in imports {
            let is_up = matches!((floor(file), floor(other)), (Some(own), Some(other)) if other > own);
            let both_panes = part(file, 1) == "panes" && part(other, 1) == "panes";
            let is_beside = both_panes && file.contains("panes::") && part(file, 2) != part(other, 2);
            if is_up || is_beside {
                wrong.push(format!("{file} imports {other}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Most methods of a type in the rooms of the compiler.
const MOST_METHODS: usize = 40;

/// Methods of types in a file's own `impl` blocks, by the type's name.
fn methods(text: &str) -> BTreeMap<String, usize> {
    let (mut found, mut own) = (BTreeMap::new(), None);
    for line in text.split("#[cfg(test)]\nmod tests {").next().unwrap().lines() {
        if line.starts_with("impl") && !line.contains(" for ") {
            let head = line.trim_end_matches(" {");
            let bare = head.rsplit_once('<').filter(|(_, rest)| rest.ends_with('>')).map_or(head, |(before, _)| before);
            own = bare.rsplit([' ', '>']).next().map(str::to_owned);
        } else if line.starts_with('}') {
            own = None;
        }
        let code = line.strip_prefix("    ").filter(|code| !code.starts_with(' ')).unwrap_or("");
        let is_method = code.starts_with("fn ")
            || code.starts_with("const fn ")
            || code.starts_with("pub") && code.contains(" fn ");
        if let Some(name) = own.as_ref().filter(|_| is_method) {
            *found.entry(name.clone()).or_insert(0) += 1;
        }
    }
    found
}

#[test]
fn no_type_of_the_compiler_grows_beyond_what_one_can_keep_in_mind() {
    let mut all: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for path in sources(&root().join("src")) {
        let file = path.strip_prefix(root()).unwrap().to_str().unwrap();
        // Types of the two languages have the same names.
        let rooms = ["src/lang/bt", "src/lang/d", "src/lang", "src/codegen", "src/probe"];
        let Some(room) = rooms.into_iter().find(|room| file.starts_with(room)) else { continue };
        for (name, count) in methods(&fs::read_to_string(&path).unwrap()) {
            *all.entry((room, name)).or_insert(0) += count;
        }
    }
    for (room, name) in [("src/lang/bt", "Parser"), ("src/lang/d", "Checker"), ("src/codegen", "FunctionBuilder")] {
        assert!(all.get(&(room, name.to_owned())).is_some_and(|count| *count > 15), "methods are found: {all:?}");
    }
    let large: Vec<_> = all.iter().filter(|(_, count)| **count > MOST_METHODS).collect();
    assert!(large.is_empty(), "these types have more than {MOST_METHODS} methods: {large:?}");
}

/// What only one file may name, with that file: how text reaches a terminal, how files are written, how threads start.
/// Clippy refuses these, too, where it sees through names; this sees the text.
const DOORS: &[(&str, &[&str], &[&str])] = &[
    ("src/doors/stdio.rs", &["io::stdout()", "io::stderr()", "println!(", "print!(", "dbg!("], &[]),
    ("src/doors/stdio.rs", &["fd::stdout", "STDOUT_FILENO", "STDERR_FILENO", "/dev/tty"], &["src/lang/constants.rs"]),
    ("src/doors/stdio.rs", &["stdio::screen()"], &["src/tui/run/screen.rs"]),
    (
        "src/doors/disk",
        &[
            "fs::write(",
            "File::create",
            "fs::copy(",
            ".set_len(",
            ".create(true)",
            ".create_new(true)",
            ".append(true)",
        ],
        // A folder that is made is no file; a journal is emptied in place.
        &["src/kernel/guard.rs", "src/tui/data/journal.rs"],
    ),
    ("src/doors/disk", &["write(true)", "OFlags::WRONLY", "OFlags::CREATE"], &["src/engine", "src/kernel/guard.rs"]),
    (
        "src/doors/thread.rs",
        &["thread::Builder", "std::thread::spawn", "scope.spawn(", "spawn_blocking(", ".spawn_scoped("],
        &[],
    ),
];

/// The code of a file up to the tests in it, comments left out, by line.
fn code(text: &str) -> Vec<&str> {
    let tests = ["mod tests {", "pub(super) mod tests {", "mod checks {"];
    text.lines().take_while(|line| !tests.contains(line)).map(|line| line.split("//").next().unwrap()).collect()
}

#[test]
fn text_files_and_threads_have_one_door_each() {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for path in sources(&root().join("src")) {
        let file = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        // Loads are what is traced: they write and start threads as any program does.
        if file.ends_with("tests.rs") || file.contains("/tests/") || file.starts_with("src/loads") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (at, line) in code(&text).into_iter().enumerate() {
            for (door, words, others) in DOORS {
                let Some(word) = words.iter().find(|word| line.contains(**word)) else { continue };
                if file.starts_with(door) {
                    seen.insert(*door);
                } else if !others.iter().any(|other| file.starts_with(other)) {
                    wrong.push(format!("{file}:{}: `{word}` belongs to {door}", at + 1));
                }
            }
        }
    }
    assert_eq!(seen.len(), 3, "each door is found: {seen:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
