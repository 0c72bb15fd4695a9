//! A test of the suite: its file and what the words in it say.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// Folders whose tests are of the reference's own library or listing.
const OF_REFERENCE: &[&str] = &["consumer/", "disasm/", "dif/", "pcap/", "stability/"];

static OTHER_PROVIDERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?m)(^|[\s,;}])(fbt|rawfbt|sdt|rawtp|pid\$?\w*|proc|io|sched|lockstat|ip|tcp|udp|cpc|perf|vminfo|sysinfo|mib|plockstat|usdt\w*|test_prov\w*|lock\w*):",
    )
    .unwrap()
});
static KERNEL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"`|curthread|struct (task_struct|file|sk_buff|mm_struct|dentry|inode)\b").unwrap());
static COMMENTS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?s)/\*.*?\*/").unwrap());

pub struct Case {
    /// The path below `test/unittest`.
    pub name: String,
    pub suite: PathBuf,
    pub path: PathBuf,
    text: String,
}

/// All `.d` tests of the suite, in the order of their names.
pub fn find(suite: &Path) -> Vec<Case> {
    let root = suite.join("test/unittest");
    let mut folders = vec![root.clone()];
    let mut cases = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "d") {
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                cases.push(Case { name, suite: suite.to_owned(), path, text });
            }
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

impl Case {
    pub fn file_name(&self) -> &str {
        self.path.file_name().and_then(|n| n.to_str()).unwrap_or("")
    }

    /// The file's path without its `.d`.
    pub fn base(&self) -> PathBuf {
        self.path.with_extension("")
    }

    pub fn beside(&self, extension: &str) -> PathBuf {
        PathBuf::from(format!("{}.{extension}", self.base().display()))
    }

    /// True for tests that need only BEGIN, END, ERROR, tick, profile and syscall.
    pub fn needs_little(&self) -> bool {
        let code = COMMENTS.replace_all(&self.text, " ");
        !OF_REFERENCE.iter().any(|folder| self.name.starts_with(folder))
            && !OTHER_PROVIDERS.is_match(&code)
            && !KERNEL.is_match(&code)
    }

    pub fn first_line(&self) -> &str {
        self.text.lines().next().unwrap_or("")
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The values of `@@name`, from the file up to the suite's top, nearest first.
    pub fn options(&self, name: &str) -> Vec<String> {
        let mut values = values(&self.text, name);
        for folder in self.folders() {
            if let Ok(text) = std::fs::read_to_string(folder.join("test.options")) {
                values.extend(self::values(&text, name));
            }
        }
        values
    }

    pub fn has(&self, name: &str) -> bool {
        !self.options(name).is_empty()
    }

    /// Folders of the test, nearest first, up to `test`.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.path.ancestors().skip(1).take_while(|folder| *folder != self.suite)
    }
}

fn values(text: &str, name: &str) -> Vec<String> {
    let word = format!("@@{name}");
    text.lines()
        .filter_map(|line| {
            let rest = &line[line.find(&word)? + word.len()..];
            if !rest.is_empty() && !rest.starts_with([' ', ':', '\t']) {
                return None;
            }
            let rest = rest.trim_start().strip_prefix(':').unwrap_or(rest);
            let rest = rest.split("*/").next().unwrap_or("");
            Some(rest.trim().to_owned())
        })
        .collect()
}
