//! The lessons and recordings that the program has with it: the texts of `lessons/`, embedded.

use std::collections::BTreeMap;

use super::lesson::Folder;

/// A lesson's files.
#[derive(Debug)]
pub struct Bundled {
    name: &'static str,
    manifest: &'static str,
    texts: [(&'static str, &'static str); 2],
    skeleton: &'static str,
    solution: &'static str,
}

impl Bundled {
    /// Its files, as those of a user's folder are.
    #[must_use]
    pub fn folder(&self) -> Folder {
        Folder {
            name: self.name.to_owned(),
            manifest: self.manifest.to_owned(),
            texts: BTreeMap::from(self.texts.map(|(language, text)| (language.to_owned(), text.to_owned()))),
            skeleton: self.skeleton.to_owned(),
            solution: self.solution.to_owned(),
        }
    }
}

/// A load as it was recorded, with the truth that it told.
#[derive(Debug)]
pub struct Recorded {
    /// Its name, the load's where nothing else is said.
    pub name: &'static str,
    /// The recording, in the form of `probescope replay`.
    pub bytes: &'static [u8],
    /// What the load said at its end, as JSON.
    pub truth: &'static str,
}

macro_rules! lesson {
    ($name:literal) => {
        lesson!($name, "bt")
    };
    ($name:literal, $ending:literal) => {
        Bundled {
            name: $name,
            manifest: include_str!(concat!("../../lessons/", $name, "/lesson.toml")),
            texts: [
                ("en", include_str!(concat!("../../lessons/", $name, "/en.md"))),
                ("zh", include_str!(concat!("../../lessons/", $name, "/zh.md"))),
            ],
            skeleton: include_str!(concat!("../../lessons/", $name, "/skeleton.", $ending)),
            solution: include_str!(concat!("../../lessons/", $name, "/solution.", $ending)),
        }
    };
}

macro_rules! recorded {
    ($name:literal) => {
        Recorded {
            name: $name,
            bytes: include_bytes!(concat!("../../lessons/recordings/", $name, ".psrec")),
            truth: include_str!(concat!("../../lessons/recordings/", $name, ".json")),
        }
    };
}

/// All lessons, in their order; a test holds the table to the folder.
pub const BUNDLED: &[Bundled] = &[
    lesson!("01-first-probe"),
    lesson!("02-first-count"),
    lesson!("03-predicates"),
    lesson!("04-keys"),
    lesson!("05-arguments"),
    lesson!("06-strings"),
    lesson!("07-results"),
    lesson!("08-averages"),
    lesson!("09-histograms"),
    lesson!("10-linear-histograms"),
    lesson!("11-time-between"),
    lesson!("12-end"),
    lesson!("13-intervals"),
    lesson!("14-errors-by-number"),
    lesson!("15-errors-by-name"),
    lesson!("16-many-places"),
    lesson!("17-switches"),
    lesson!("18-preemption"),
    lesson!("19-run-time"),
    lesson!("20-run-queue"),
    lesson!("21-stacks"),
    lesson!("22-off-cpu"),
    lesson!("23-wake-ups"),
    lesson!("24-wake-up-latency"),
    lesson!("25-migrations"),
    lesson!("26-per-cpu"),
    lesson!("27-programs-that-start"),
    lesson!("28-exit-codes"),
    lesson!("29-signals"),
    lesson!("30-page-faults"),
    lesson!("31-uprobes"),
    lesson!("32-text-arguments"),
    lesson!("33-uretprobes"),
    lesson!("34-memory-leaks"),
    lesson!("35-usdt"),
    lesson!("36-locks"),
    lesson!("37-disks"),
    lesson!("38-tcp-connections"),
    lesson!("39-refused"),
    lesson!("40-retransmits"),
    lesson!("41-loops"),
    lesson!("42-d", "d"),
    lesson!("43-full-maps"),
    lesson!("44-kprobes"),
    lesson!("45-kretprobes"),
    lesson!("46-the-hunt"),
];

/// All recordings.
pub const RECORDINGS: &[Recorded] = &[
    recorded!("disk"),
    recorded!("dns"),
    recorded!("errors"),
    recorded!("faults"),
    recorded!("files-kernel"),
    recorded!("files"),
    recorded!("leak"),
    recorded!("locks"),
    recorded!("migrate"),
    recorded!("pingpong"),
    recorded!("runqueue"),
    recorded!("signals"),
    recorded!("sleep"),
    recorded!("spawn"),
    recorded!("tcp"),
    recorded!("tcploss"),
    recorded!("usdt"),
];

/// The recording of this name.
#[must_use]
pub fn recording(name: &str) -> Option<&'static Recorded> {
    RECORDINGS.iter().find(|recording| recording.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::super::{Lesson, Truth};
    use super::*;

    fn lessons() -> Vec<Lesson> {
        BUNDLED.iter().map(|bundled| Lesson::parse(&bundled.folder()).unwrap_or_else(|e| panic!("{e}"))).collect()
    }

    #[test]
    fn every_folder_is_a_lesson_of_the_program() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = root.ancestors().map(|a| a.join("lessons")).find(|a| a.is_dir()).unwrap();
        let there: BTreeSet<String> = std::fs::read_dir(root)
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
            .filter(|name| name.starts_with(|c: char| c.is_ascii_digit()))
            .collect();
        let known: BTreeSet<String> = lessons().into_iter().map(|lesson| lesson.name).collect();
        assert_eq!(known, there);
        assert!(known.len() >= 3);
    }

    #[test]
    fn lessons_are_in_both_languages_and_say_the_same_mistakes() {
        for lesson in lessons() {
            let languages: Vec<&str> = lesson.texts.keys().map(String::as_str).collect();
            assert_eq!(languages, ["en", "zh"], "{}", lesson.name);
            let (en, zh) = (&lesson.texts["en"], &lesson.texts["zh"]);
            assert_eq!(en.hints.len(), zh.hints.len(), "{}", lesson.name);
            let is_chinese = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
            assert!(is_chinese(&zh.title) && is_chinese(&zh.task) && !is_chinese(&en.task), "{}", lesson.name);
            assert!(!lesson.skeleton.trim().is_empty() && lesson.skeleton != lesson.solution, "{}", lesson.name);
            assert!(!lesson.mistakes.is_empty(), "{} knows no mistakes", lesson.name);
        }
    }

    #[test]
    fn recordings_are_there_and_know_what_lessons_ask() {
        for lesson in lessons() {
            let Some(name) = &lesson.recording else { continue };
            let recorded = recording(name).unwrap_or_else(|| panic!("{}: no recording {name}", lesson.name));
            let truth = Truth::parse(recorded.truth).unwrap_or_else(|| panic!("{name}.json"));
            for rule in lesson.checks.iter().chain(&lesson.mistakes) {
                for expression in rule.expressions() {
                    assert!(expression.value(&truth).is_some(), "{}: {}", lesson.name, expression.text());
                }
            }
        }
        let size: usize = RECORDINGS.iter().map(|recorded| recorded.bytes.len()).sum();
        assert!(size < 1 << 20, "the recordings together are {size} bytes");
    }
}
