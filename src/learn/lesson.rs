//! A lesson, read from the texts of its folder.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::LONGEST_TEXT;
use super::expression::Expression;
use super::rule::{Asked, Rule, Wanted};
use super::text::Text;

/// Rules of one kind that a lesson may have, and probes that it may name.
const MOST_RULES: usize = 40;
const MOST_PROBES: usize = 40;
/// Longest time that a check may take, in seconds.
const LONGEST_S: u32 = 120;

/// The texts of a lesson's folder, as they were found.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    /// The folder's name: `NN-name`.
    pub name: String,
    /// `lesson.toml`.
    pub manifest: String,
    /// Texts by language (`en`, `zh`).
    pub texts: BTreeMap<String, String>,
    /// What the student begins with.
    pub skeleton: String,
    /// A script that passes.
    pub solution: String,
}

/// The language of a lesson's scripts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// bpftrace's.
    #[default]
    Bt,
    /// DTrace's.
    D,
}

impl Form {
    /// The ending of its files.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Bt => "bt",
            Self::D => "d",
        }
    }
}

/// A lesson.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    /// Its folder's name, by which progress is kept.
    pub name: String,
    /// Which chapter it belongs to.
    pub chapter: String,
    /// The load that is traced.
    pub load: String,
    /// The recording that scripts may run on in place of a live trace; the live one only where there is none.
    pub recording: Option<String>,
    /// Scripts may run on the live kernel.
    pub live: bool,
    /// Probes that the kernel must have for that.
    pub probes: Vec<String>,
    /// The language of its scripts.
    pub form: Form,
    /// A check that takes longer is ended, in seconds.
    pub limit_s: u32,
    /// What must hold.
    pub checks: Vec<Rule>,
    /// What it means when something else holds.
    pub mistakes: Vec<Rule>,
    /// Texts by language.
    pub texts: BTreeMap<String, Text>,
    /// What the student begins with.
    pub skeleton: String,
    /// A script that passes.
    pub solution: String,
}

/// Why a folder is no lesson.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LessonError {
    /// A file is not as it should be.
    #[error("lesson {lesson}: {file}: {why}")]
    File {
        /// Which lesson.
        lesson: String,
        /// Which of its files.
        file: String,
        /// What is wrong, in words.
        why: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    chapter: String,
    load: String,
    #[serde(default)]
    recording: Option<String>,
    #[serde(default = "yes")]
    live: bool,
    #[serde(default)]
    probes: Vec<String>,
    #[serde(default)]
    form: Form,
    #[serde(default = "usual_limit")]
    seconds: u32,
    #[serde(default, rename = "check")]
    checks: Vec<RuleText>,
    #[serde(default, rename = "mistake")]
    mistakes: Vec<RuleText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    #[serde(default)]
    id: String,
    #[serde(default)]
    map: String,
    of: Asked,
    #[serde(default)]
    key: Option<String>,
    #[serde(default = "first")]
    nth: usize,
    #[serde(default)]
    from: f64,
    #[serde(default)]
    is: Option<String>,
    #[serde(default)]
    within: Option<String>,
    #[serde(default)]
    at_least: Option<String>,
    #[serde(default)]
    at_most: Option<String>,
}

const fn yes() -> bool {
    true
}

const fn usual_limit() -> u32 {
    30
}

const fn first() -> usize {
    1
}

impl Lesson {
    /// Reads a lesson from the texts of its folder.
    ///
    /// # Errors
    /// With the file and what is wrong with it.
    pub fn parse(folder: &Folder) -> Result<Self, LessonError> {
        let name = &folder.name;
        let wrong = |file: &str, why: String| LessonError::File {
            lesson: name.clone(),
            file: file.to_owned(),
            why: why.trim_end().to_owned(),
        };
        let manifest = |why: String| wrong("lesson.toml", why);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if name.is_empty() || name.len() > 60 || !name.chars().all(is_name) {
            return Err(wrong("its folder", "a name is letters, digits and `-`, at most 60".to_owned()));
        }
        let texts = [("lesson.toml", &folder.manifest), ("skeleton", &folder.skeleton), ("solution", &folder.solution)];
        for (file, text) in texts {
            if text.len() > LONGEST_TEXT {
                return Err(wrong(file, format!("it is longer than {} KiB", LONGEST_TEXT >> 10)));
            }
        }
        let read: Manifest = toml::from_str(&folder.manifest).map_err(|e| manifest(e.to_string()))?;
        // It becomes a word of a command.
        if read.load.is_empty() || !read.load.chars().all(is_name) {
            return Err(manifest("`load` is no name of a load".to_owned()));
        }
        let checks = rules(&read.checks).map_err(manifest)?;
        let mistakes = rules(&read.mistakes).map_err(manifest)?;
        if checks.is_empty() {
            return Err(manifest("nothing is checked".to_owned()));
        }
        if let Some(nameless) = mistakes.iter().position(|rule| rule.id.is_empty()) {
            return Err(manifest(format!("mistake {} has no `id`", nameless + 1)));
        }
        if !(1..=LONGEST_S).contains(&read.seconds) || read.probes.len() > MOST_PROBES {
            return Err(manifest(format!("`seconds` is 1 to {LONGEST_S}, and {MOST_PROBES} probes at most are named")));
        }
        if !read.live && read.recording.is_none() {
            return Err(manifest("it runs neither live nor on a recording".to_owned()));
        }
        let ids: BTreeSet<&str> = mistakes.iter().map(|rule| rule.id.as_str()).collect();
        let mut texts = BTreeMap::new();
        for (language, markdown) in &folder.texts {
            let file = format!("{language}.md");
            let text = Text::parse(markdown).map_err(|why| wrong(&file, why))?;
            let told: BTreeSet<&str> = text.mistakes.keys().map(String::as_str).collect();
            if let Some(id) = ids.symmetric_difference(&told).next() {
                return Err(wrong(&file, format!("the mistake `{id}` stands only here or only in lesson.toml")));
            }
            texts.insert(language.clone(), text);
        }
        if texts.is_empty() {
            return Err(wrong("en.md", "there is no text in any language".to_owned()));
        }
        Ok(Self {
            name: name.clone(),
            chapter: read.chapter,
            load: read.load,
            recording: read.recording,
            live: read.live,
            probes: read.probes,
            form: read.form,
            limit_s: read.seconds,
            checks,
            mistakes,
            texts,
            skeleton: folder.skeleton.clone(),
            solution: folder.solution.clone(),
        })
    }

    /// The number at the begin of its name.
    #[must_use]
    pub fn number(&self) -> &str {
        self.name.split('-').next().unwrap_or("")
    }

    /// Its text in a language, else in English, else in any.
    #[must_use]
    pub fn text(&self, language: &str) -> &Text {
        static NONE: std::sync::OnceLock<Text> = std::sync::OnceLock::new();
        let found = self.texts.get(language).or_else(|| self.texts.get("en")).or_else(|| self.texts.values().next());
        found.unwrap_or_else(|| NONE.get_or_init(Text::default))
    }
}

fn rules(texts: &[RuleText]) -> Result<Vec<Rule>, String> {
    if texts.len() > MOST_RULES {
        return Err(format!("it has more than {MOST_RULES} rules"));
    }
    texts.iter().enumerate().map(|(at, text)| rule(text).map_err(|why| format!("rule {}: {why}", at + 1))).collect()
}

fn rule(text: &RuleText) -> Result<Rule, String> {
    let parsed = |expression: &Option<String>| {
        let parse = |text: &String| Expression::parse(text).map_err(|why| format!("`{text}`: {why}"));
        expression.as_ref().map(parse).transpose()
    };
    let (is, low, high) = (parsed(&text.is)?, parsed(&text.at_least)?, parsed(&text.at_most)?);
    let (part, amount) = tolerance(text.within.as_deref().unwrap_or("0"))?;
    let of_printed = matches!(text.of, Asked::Printed | Asked::Numbers | Asked::Lost);
    if text.map.is_empty() != of_printed {
        return Err("a map is named for what is asked of maps, and for nothing else".to_owned());
    }
    let wanted = match (is, low, high) {
        (Some(value), None, None) => Wanted::Is { value, part, amount },
        (None, None, None) => return Err("it says neither `is` nor `at_least` nor `at_most`".to_owned()),
        (None, low, high) if text.within.is_none() => Wanted::Between(low, high),
        _ => return Err("`is` (and `within`) and `at_least` or `at_most` exclude each other".to_owned()),
    };
    let (id, map, key) = (text.id.clone(), text.map.clone(), text.key.clone());
    Ok(Rule { id, map, of: text.of, key, nth: text.nth, from: text.from, wanted })
}

/// `5%` is a part, `5` an amount.
fn tolerance(text: &str) -> Result<(f64, f64), String> {
    let (number, is_part) = text.strip_suffix('%').map_or((text, false), |number| (number, true));
    let number: f64 = number.trim().parse().map_err(|_| format!("`{text}` is no tolerance: `5%` or `5`"))?;
    if !(0.0..1e15).contains(&number) {
        return Err(format!("`{text}` is no tolerance"));
    }
    Ok(if is_part { (number / 100.0, 0.0) } else { (0.0, number) })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub const MANIFEST: &str = r#"
chapter = "basics"
load = "files"
probes = ["tracepoint:syscalls:sys_enter_openat"]

[[check]]
map = "@bytes"
of = "value"
is = "written_bytes"

[[mistake]]
id = "entries"
map = "@bytes"
of = "value"
is = "writes"
"#;
    pub const TEXT: &str = "# T\n\nabout\n\n## Task\n\ndo\n\n## Hints\n\n- h\n\n## Mistakes\n\n- entries: not bytes\n";

    pub fn folder() -> Folder {
        let texts = BTreeMap::from([("en".to_owned(), TEXT.to_owned())]);
        let (name, manifest) = ("07-bytes".to_owned(), MANIFEST.to_owned());
        Folder { name, manifest, texts, ..Folder::default() }
    }

    #[test]
    fn a_folder_becomes_a_lesson() {
        let lesson = Lesson::parse(&folder()).unwrap();
        assert_eq!((lesson.number(), lesson.text("zh").title.as_str()), ("07", "T"));
        assert_eq!((lesson.checks.len(), lesson.mistakes[0].id.as_str(), lesson.limit_s), (1, "entries", 30));
    }

    #[test]
    fn a_broken_folder_is_told_with_its_file() {
        let cases: &[(&str, &str, &str)] = &[
            ("chapter = \"basics\"", "", "chapter"),
            ("load = \"files\"", "load = \"files\"\nlod = 1", "lod"),
            ("is = \"written_bytes\"", "is = \"1 +\"", "missing"),
            ("is = \"written_bytes\"", "", "neither"),
            ("is = \"written_bytes\"", "is = \"1\"\nwithin = \"x\"", "tolerance"),
            ("is = \"written_bytes\"", "is = \"1\"\nat_least = \"1\"", "exclude"),
            ("of = \"value\"", "of = \"what\"", "what"),
            ("map = \"@bytes\"", "", "map"),
            ("id = \"entries\"", "", "no `id`"),
            ("id = \"entries\"", "id = \"other\"", "only here"),
            ("load = \"files\"", "load = \"files\"\nseconds = 9999", "seconds"),
            ("load = \"files\"", "load = \"files\"\nlive = false", "neither live"),
            ("load = \"files\"", "load = \"files; reboot\"", "no name of a load"),
        ];
        for (from, to, why) in cases {
            let folder = Folder { manifest: MANIFEST.replacen(from, to, 1), ..folder() };
            let error = Lesson::parse(&folder).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("07-bytes"), "{to}: {error}");
        }
        let named = Folder { name: "../x".to_owned(), ..folder() };
        assert!(Lesson::parse(&named).is_err());
        let large = Folder { skeleton: "x".repeat(LONGEST_TEXT + 1), ..folder() };
        assert!(Lesson::parse(&large).unwrap_err().to_string().contains("skeleton"));
    }

    proptest::proptest! {
        #[test]
        fn any_cut_or_changed_manifest_is_read_or_refused(at in 0..MANIFEST.len(), byte in "[ -~\n]") {
            let manifest = format!("{}{byte}{}", &MANIFEST[..at], &MANIFEST[at + 1..]);
            let _ = Lesson::parse(&Folder { manifest, ..folder() });
            let _ = Lesson::parse(&Folder { manifest: MANIFEST[..at].to_owned(), ..folder() });
        }
    }
}
