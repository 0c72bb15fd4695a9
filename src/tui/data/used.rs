//! Probes that were used before, and favourites: what the browser begins with.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::effect::Hit;

/// Probes that are remembered.
const MOST: usize = 200;
/// Longest name, bytes.
const LONGEST: usize = 512;
/// Largest file that is read, bytes.
const LARGEST: u64 = (MOST * (LONGEST + 16)) as u64;

/// A probe that was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedProbe {
    /// Its attach point.
    pub name: Arc<str>,
    /// How often.
    pub times: u32,
    /// The user wants it at hand.
    pub is_favourite: bool,
}

/// All of them, the one that was used last first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Where they are kept.
    pub path: Option<PathBuf>,
    probes: Vec<UsedProbe>,
}

impl Used {
    /// Reads those of earlier uses; a line that makes no sense is left out.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let text =
            std::fs::File::open(path).and_then(|file| crate::regular::bounded(file, LARGEST)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        Self { path: Some(path.to_owned()), probes: text.lines().filter_map(line).take(MOST).collect() }
    }

    /// As a file has them.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for probe in &self.probes {
            let mark = if probe.is_favourite { '*' } else { '-' };
            let _ = writeln!(text, "{mark} {} {}", probe.times, probe.name);
        }
        text
    }

    /// A probe was used.
    pub fn take(&mut self, name: &Arc<str>) {
        if name.len() > LONGEST || name.chars().any(char::is_control) {
            return;
        }
        let at = self.probes.iter().position(|probe| probe.name == *name);
        let new = || UsedProbe { name: Arc::clone(name), times: 0, is_favourite: false };
        let mut probe = at.map_or_else(new, |at| self.probes.remove(at));
        probe.times = probe.times.saturating_add(1);
        self.probes.insert(0, probe);
        self.trim();
    }

    /// Makes it a favourite, or none any more; tells which.
    pub fn turn(&mut self, name: &Arc<str>) -> bool {
        if let Some(probe) = self.probes.iter_mut().find(|probe| probe.name == *name) {
            probe.is_favourite = !probe.is_favourite;
            return probe.is_favourite;
        }
        self.probes.push(UsedProbe { name: Arc::clone(name), times: 0, is_favourite: true });
        self.trim();
        true
    }

    /// What is known of a probe.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&UsedProbe> {
        self.probes.iter().find(|probe| *probe.name == *name)
    }

    /// The least worth goes where there are too many.
    fn trim(&mut self) {
        while self.probes.len() > MOST {
            let last = self.probes.iter().rposition(|probe| !probe.is_favourite).unwrap_or(self.probes.len() - 1);
            self.probes.remove(last);
        }
    }

    /// Names, favourites first, then by how often and how lately they were used.
    fn ranked(&self) -> Vec<&UsedProbe> {
        let score = |(at, probe): &(usize, &UsedProbe)| f64::from(probe.times) / (*at as f64 + 2.0);
        let mut ranked: Vec<(usize, &UsedProbe)> = self.probes.iter().enumerate().collect();
        ranked.sort_by(|a, b| {
            b.1.is_favourite.cmp(&a.1.is_favourite).then_with(|| score(b).total_cmp(&score(a))).then(a.0.cmp(&b.0))
        });
        ranked.into_iter().map(|(_, probe)| probe).collect()
    }

    /// Puts them before what was found where nothing was typed.
    pub fn lead(&self, hits: &mut Vec<Hit>) {
        let mut first: Vec<Hit> = Vec::new();
        for probe in self.ranked() {
            let at = hits.iter().position(|hit| hit.name == probe.name);
            let new = || Hit { name: Arc::clone(&probe.name), ..Hit::default() };
            first.push(at.map_or_else(new, |at| hits.remove(at)));
        }
        first.append(hits);
        *hits = first;
    }
}

fn line(text: &str) -> Option<UsedProbe> {
    let mut words = text.splitn(3, ' ');
    let (mark, times, name) = (words.next()?, words.next()?, words.next()?);
    let is_name = (1..=LONGEST).contains(&name.len()) && name.contains(':') && !name.chars().any(char::is_control);
    let times = times.parse().ok()?;
    is_name.then(|| UsedProbe { name: name.into(), times, is_favourite: mark == "*" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(used: &Used) -> Vec<String> {
        let mut hits =
            vec![Hit { name: "kprobe:b".into(), ..Hit::default() }, Hit { name: "kprobe:z".into(), ..Hit::default() }];
        used.lead(&mut hits);
        hits.iter().map(|hit| hit.name.to_string()).collect()
    }

    #[test]
    fn what_is_used_often_and_lately_comes_first() {
        let mut used = Used::default();
        for name in ["kprobe:a", "kprobe:b", "kprobe:b", "kprobe:c"] {
            used.take(&name.into());
        }
        assert_eq!(names(&used), ["kprobe:b", "kprobe:c", "kprobe:a", "kprobe:z"]);
        assert!(used.turn(&"kprobe:a".into()));
        assert_eq!(names(&used)[0], "kprobe:a");
        assert!(!used.turn(&"kprobe:a".into()));
    }

    #[test]
    fn they_are_read_again_and_nonsense_is_left_out() {
        let mut used = Used::default();
        used.take(&"kprobe:a".into());
        used.turn(&"uprobe:/bin/a b:main".into());
        let path = std::env::temp_dir().join(format!("probescope-used-{}", std::process::id()));
        crate::tui::data::files::remember(&path, &(used.text() + "nonsense\n* x kprobe:c\n- 1 kprobe:\u{1b}[2J\n"))
            .unwrap();
        let read = Used::read(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read.text(), used.text());
        assert_eq!(Used::read(Path::new("/nonexistent/probes")).text(), "");
    }

    #[test]
    fn favourites_outlive_the_rest() {
        let mut used = Used::default();
        used.turn(&"kprobe:kept".into());
        for number in 0..300 {
            used.take(&format!("kprobe:f{number}").into());
        }
        assert_eq!(used.text().lines().count(), MOST);
        assert!(used.get("kprobe:kept").is_some() && used.get("kprobe:f0").is_none());
    }
}
