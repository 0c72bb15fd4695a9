//! One question has one answer: what a run prints as text and as JSON, what its recording prints, exports and answers, and
//! what the same question in D gives.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use crate::root;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("probescope-faces-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
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

fn printed(arguments: &[&str]) -> Vec<u8> {
    let output = probescope(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Maps of the records of `-f json`: each map's keys in the order in which they stand, repeated ones too.
fn maps_of(records: &[u8]) -> BTreeMap<String, usize> {
    let mut maps = BTreeMap::new();
    for line in records.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        let record: Value =
            serde_json::from_slice(line).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(line)));
        if let Some(data) = record["data"].as_object().filter(|_| record["type"] == "map") {
            maps.extend(data.iter().map(|(name, of)| (name.clone(), of.as_object().map_or(1, serde_json::Map::len))));
        }
    }
    maps
}

/// Questions: a script that has its answer as it begins, and how many elements each of its maps has.
const QUESTIONS: &[(&str, &[(&str, usize)])] = &[
    (r#"begin { @a["a b"] = 1; @a["ab"] = 2; @a["a,b"] = 3; exit(); }"#, &[("@a", 3)]),
    (r#"begin { @a["a,b", "c"] = 1; @a["a", "b,c"] = 2; @a["a", "b c"] = 3; exit(); }"#, &[("@a", 3)]),
    (r#"begin { @a["\xe9"] = 1; @a["\xc3\xa9"] = 2; @a["\\xe9"] = 3; @a["\xff\xfe"] = 4; exit(); }"#, &[("@a", 4)]),
    (
        r#"begin { @a["x\ny"] = 1; @a["x y"] = 2; @a["x\ty"] = 3; @a["x\\ny"] = 4; @a["\"x"] = 5; exit(); }"#,
        &[("@a", 5)],
    ),
    (r#"begin { @a[(1, "x, y"), "z"] = 1; @a[(1, "x"), "y), z"] = 2; exit(); }"#, &[("@a", 2)]),
    (
        r#"begin { @a[-1] = -7 / 2; @a[1] = 0xffffffffffffffff; @b = 5; printf("%d|%s|%x\n", 7, "caf\xe9", 255); exit(); }"#,
        &[("@a", 2), ("@b", 1)],
    ),
    (r#"begin { print((1, "a b", "\xe9")); print("caf\xc3\xa9\n"); exit(); }"#, &[]),
];

#[test]
fn a_question_has_one_answer_through_every_face() {
    if root::missing() {
        return;
    }
    let folder = Folder::new("questions");
    for (number, (script, maps)) in QUESTIONS.iter().enumerate() {
        let recording = folder.file(&format!("{number}.psrec"));
        let text = printed(&["run", "--record", &recording, "-e", script]);
        let json = printed(&["run", "-f", "json", "-e", script]);
        let want: BTreeMap<String, usize> = maps.iter().map(|(name, keys)| ((*name).to_owned(), *keys)).collect();
        assert_eq!(maps_of(&json), want, "{script}: keys of JSON\n{}", String::from_utf8_lossy(&json));
        assert_eq!(printed(&["replay", "-f", "text", &recording]), text, "{script}: replayed as text");
        assert_eq!(printed(&["replay", "-f", "json", &recording]), json, "{script}: replayed as JSON");
        assert_eq!(printed(&["replay", "-f", "text", &recording, "-e", script]), text, "{script}: what if, the same");

        let exported = printed(&["export", &recording, "-f", "json"]);
        let exported: Value = serde_json::from_slice(&exported).unwrap();
        for (name, keys) in *maps {
            let contents = &exported["maps"][name]["contents"];
            let mut rows: Vec<String> = contents
                .as_array()
                .map_or_else(Vec::new, |rows| rows.iter().map(|row| row["key"].to_string()).collect());
            rows.sort();
            rows.dedup();
            assert_eq!(rows.len().max(1), *keys, "{script}: keys of the export\n{contents}");
        }
        let csv = String::from_utf8(printed(&["export", &recording, "-f", "csv"])).unwrap();
        let mut rows: Vec<&str> =
            csv.lines().skip(1).filter_map(|line| line.rsplit_once(',').map(|(key, _)| key)).collect();
        let all = rows.len();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!((rows.len(), all), (maps.iter().map(|(_, n)| n).sum(), all), "{script}: rows of CSV\n{csv}");
    }
}

#[test]
fn a_d_program_of_others_acts_with_leave_only() {
    if root::missing() {
        return;
    }
    let folder = Folder::new("acts");
    let (program, mark) = (folder.file("x.d"), folder.file("mark"));
    let text = format!(
        "#pragma D option destructive\n#pragma D option quiet\nBEGIN {{ system(\"touch {mark}\"); exit(0); }}\n"
    );
    std::fs::write(&program, text).unwrap();
    let refused = probescope(&["run", &program]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && told.contains("not allowed without --unsafe"), "{told}");
    assert!(!std::path::Path::new(&mark).exists(), "the file acted");
    let allowed = probescope(&["run", "--unsafe", &program]);
    assert!(allowed.status.success(), "{}", String::from_utf8_lossy(&allowed.stderr));
    assert!(std::path::Path::new(&mark).exists(), "with leave it acts");
}

#[test]
fn words_of_the_command_line_may_be_any_bytes() {
    use std::os::unix::ffi::OsStrExt as _;
    if root::missing() {
        return;
    }
    let folder = Folder::new("bytes");
    let name = |bytes: &[u8]| folder.0.join(std::ffi::OsStr::from_bytes(bytes));
    let (script, out) = (name(b"caf\xe9.bt"), name(b"out\xe9"));
    std::fs::write(&script, b"// caf\xe9\nbegin { printf(\"%s|%s\\n\", \"t\xe9xt\", str($1)); exit(); }\n").unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_probescope"));
    run.args(["run", "-q", "-o"]).arg(&out).arg(&script).arg(std::ffi::OsStr::from_bytes(b"a\xff"));
    let ran = run.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(std::fs::read(&out).unwrap().starts_with(b"t\xe9xt|a\xff\n"), "{:?}", std::fs::read(&out));

    let mark = name(b"m\xe9");
    let command = [b"touch ".as_slice(), mark.as_os_str().as_bytes()].concat();
    let mut run = Command::new(env!("CARGO_BIN_EXE_probescope"));
    run.args(["run", "-q", "-e", "begin { }", "-c"]).arg(std::ffi::OsStr::from_bytes(&command));
    let ran = run.output().unwrap();
    assert!(ran.status.success() && mark.exists(), "{}", String::from_utf8_lossy(&ran.stderr));
}
