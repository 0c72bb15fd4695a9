//! Codes of diagnostics: each that the source can give is explained, each that is explained is given, and examples in
//! the documents exist.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use probescope::lang::codes::{explain, parse_code, shown, words};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Names of codes with their numbers, by the lines that define them: `NAME = 12, "..."`.
fn defined() -> BTreeMap<String, u16> {
    let mut files = Vec::new();
    rust_files(&root().join("src/lang/codes"), &mut files);
    let mut codes = BTreeMap::new();
    for file in files {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let Some((name, rest)) = line.trim().split_once(" = ") else { continue };
            let number = rest.split(',').next().and_then(|n| n.parse().ok());
            let is_name =
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
            if let Some(number) = number.filter(|_| is_name) {
                codes.insert(name.to_owned(), number);
            }
        }
    }
    codes
}

/// The source without its tests and without the definitions.
fn source() -> String {
    let mut files = Vec::new();
    rust_files(&root().join("src"), &mut files);
    let code = files.iter().filter(|f| {
        let path = f.to_str().unwrap();
        !path.contains("/lang/codes/") && !path.contains("/tests/") && !path.ends_with("/tests.rs")
    });
    let body = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        text.split("#[cfg(test)]\n#[allow")
            .next()
            .unwrap()
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap()
            .to_owned()
    };
    code.map(body).collect()
}

#[test]
fn codes_are_explained_and_given() {
    let (codes, source) = (defined(), source());
    assert!(codes.len() > 200, "{} codes", codes.len());
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let used: std::collections::HashSet<&str> = source.split(|c| !is_word(c)).collect();
    for (name, number) in &codes {
        let entry = parse_code(&number.to_string()).and_then(explain);
        assert!(entry.is_some_and(|e| e.text.len() > e.title.len()), "{name} is not explained");
        // D's users know tags of the reference that are told by other tags here; P0094 was given by earlier versions.
        let is_kept = name.starts_with("D_") || name == "ASSERT_FAILED";
        assert!(is_kept || used.contains(name.as_str()), "{name} is explained, and nothing gives it");
    }
    let literal = regex::Regex::new(r"\bCode\(\d").unwrap();
    let found = literal.find(&source).map(|m| &source[m.start()..(m.end() + 60).min(source.len())]);
    assert_eq!(found, None, "a code without a name has no explanation");
}

#[test]
fn what_documents_ask_to_explain_is_explained() {
    let example = regex::Regex::new(r"explain ([PDE][A-Z_0-9]+)").unwrap();
    for file in ["README.md", "docs/d.md", "docs/compiler.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        for asked in example.captures_iter(&text).map(|c| c[1].to_owned()) {
            let code = parse_code(&asked).and_then(explain).map(|e| shown(e.code));
            assert_eq!(code.as_deref(), Some(asked.as_str()), "{file}");
        }
    }
    assert!(words::find("ktap").is_some() && words::find("$$args").is_some());
}
