//! Lessons: each solution passes, live and on its recording; what is wrong fails with the hint that fits. The wrong ones
//! run where `PROBESCOPE_LESSONS=all` asks for them (`tests/long/run`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;

use probescope::learn::{BUNDLED, Lesson};

use crate::skip;
use crate::tmux::cannot_trace;

/// Lessons that are checked at once.
const AT_ONCE: usize = 3;
/// Loads are found by their names: other programs' loads of the same name may be in what is counted once, not again.
const TRIES: usize = 3;
/// Hints that are the program's own.
const GENERAL: &[(&str, &str)] = &[("nothing", "left nothing"), ("refused", "cannot run as it is")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("lessons")
}

/// A folder for a test's home and files, removed at its end.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("probescope-lessons-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn learn(&self, arguments: &[&str], locale: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probescope"));
        command.arg("learn").args(arguments).current_dir(&self.0);
        command.env("HOME", &self.0).env("LC_ALL", locale).env_remove("XDG_STATE_HOME").output().unwrap()
    }

    /// What is printed, and whether the exit code is 0.
    fn says(&self, arguments: &[&str]) -> (String, bool) {
        let output = self.learn(arguments, "C");
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (text, output.status.success())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A script of a lesson, and what is to come of it: none is that it passes.
struct Case {
    lesson: Arc<Lesson>,
    file: PathBuf,
    hint: Option<String>,
}

fn lessons() -> Vec<Arc<Lesson>> {
    BUNDLED.iter().map(|bundled| Arc::new(Lesson::parse(&bundled.folder()).unwrap())).collect()
}

fn solution(lesson: &Arc<Lesson>) -> Case {
    let file = root().join(&lesson.name).join(format!("solution.{}", lesson.form.ending()));
    Case { lesson: Arc::clone(lesson), file, hint: None }
}

/// A lesson's wrong scripts; their first line says which hint they get: `hint: NAME`.
fn wrong(lesson: &Arc<Lesson>) -> Vec<Case> {
    let case = |nth| {
        let file = root().join(&lesson.name).join(format!("wrong-{nth}.{}", lesson.form.ending()));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let first = text.lines().next().unwrap_or("");
        let name = first.split("hint: ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let name = name.unwrap_or_else(|| panic!("{}: no hint is named", file.display()));
        let general = GENERAL.iter().find(|(id, _)| *id == name).map(|(_, text)| (*text).to_owned());
        let hint = general.unwrap_or_else(|| lesson.text("en").mistakes[name].clone());
        Case { lesson: Arc::clone(lesson), file, hint: Some(hint.lines().next().unwrap_or("").to_owned()) }
    };
    (1..=3).map(case).collect()
}

/// Checks all cases, several at once, but each load by itself; what is not as it should be is told.
fn check(name: &str, cases: Vec<Case>, recorded: bool) {
    let home = Home::new(name);
    let loads: BTreeMap<String, Mutex<()>> = cases.iter().map(|c| (c.lesson.load.clone(), Mutex::new(()))).collect();
    let (waiting, told) = (Mutex::new(cases), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = { waiting.lock().unwrap().pop() } {
            let turn = (!recorded).then(|| loads[&case.lesson.load].lock().unwrap());
            let said = (0..TRIES)
                .map(|_| tried(&home, &case, recorded))
                .try_fold(String::new(), |_, tried| tried.err().ok_or(()));
            drop(turn);
            if let Ok(said) = said {
                told.lock().unwrap().push(format!("{}:\n{said}", case.file.display()));
            }
        }
    };
    thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    let told = told.into_inner().unwrap();
    assert!(told.is_empty(), "{} of the scripts:\n{}", told.len(), told.join("\n"));
}

fn tried(home: &Home, case: &Case, recorded: bool) -> Result<(), String> {
    let file = case.file.display().to_string();
    let mut arguments = vec!["--check", &case.lesson.name, &file];
    arguments.extend(recorded.then_some("--recorded"));
    let (said, passed) = home.says(&arguments);
    let fits = match &case.hint {
        None => passed,
        Some(hint) => !passed && said.contains(hint.as_str()),
    };
    if fits { Ok(()) } else { Err(format!("(wanted: {:?})\n{said}", case.hint)) }
}

#[test]
fn every_solution_passes_on_its_recording() {
    let cases: Vec<Case> = lessons().iter().filter(|l| l.recording.is_some()).map(solution).collect();
    assert!(cases.len() >= 24, "{} lessons need no rights", cases.len());
    check("recorded", cases, true);
}

#[test]
fn every_solution_passes_live() {
    if let Some(reason) = cannot_trace() {
        skip::skip(reason);
        return;
    }
    let cases: Vec<Case> = lessons().iter().filter(|l| l.live).map(solution).collect();
    assert!(cases.len() >= 36, "{} lessons", cases.len());
    check("live", cases, false);
}

#[test]
fn every_wrong_script_fails_with_the_hint_that_fits() {
    if std::env::var("PROBESCOPE_LESSONS").is_ok_and(|v| v == "all") {
        let (recorded, live): (Vec<_>, Vec<_>) = lessons().into_iter().partition(|l| l.recording.is_some());
        check("wrong", recorded.iter().flat_map(wrong).collect(), true);
        if cannot_trace().is_none() {
            check("wrong-live", live.iter().flat_map(wrong).collect(), false);
        }
    } else {
        // Each must be there and name its hint; two lessons stand for all.
        let cases: Vec<Case> = lessons().iter().flat_map(wrong).collect();
        check("some", cases.into_iter().take(6).collect(), true);
    }
}

#[test]
fn a_student_is_shown_the_way() {
    let home = Home::new("way");
    let (list, _) = home.says(&["--list"]);
    assert!(list.contains("[ ] 01 What is a probe") && list.contains("0 of "), "{list}");
    let (shown, _) = home.says(&["3"]);
    assert!(shown.contains("YOUR TASK") && shown.contains("in 03-predicates.bt now"), "{shown}");
    let (again, _) = home.says(&["predicates"]);
    assert!(again.contains("stays as it is"), "{again}");
    assert!(home.says(&["--hint", "3"]).0.starts_with("(1/2)"));
    assert!(home.says(&["--hint", "3"]).0.starts_with("(2/2)"));
    let (not_yet, passed) = home.says(&["--check", "3", "--recorded"]);
    assert!(!passed && not_yet.contains("Limit it to the load"), "{not_yet}");
    std::fs::write(home.0.join("03-predicates.bt"), home.learn(&["--solution", "3"], "C").stdout).unwrap();
    let (done, passed) = home.says(&["--check", "3", "--recorded"]);
    assert!(passed && done.contains("Passed."), "{done}");
    let (list, _) = home.says(&["--list"]);
    assert!(list.contains("[x] 03") && list.contains("1 of "), "{list}");
    let chinese = home.learn(&["--list"], "zh_CN.UTF-8");
    assert!(String::from_utf8_lossy(&chinese.stdout).contains("已完成 1 /"));
    let (nobody, found) = home.says(&["99"]);
    assert!(!found && nobody.contains("there is no lesson `99`"), "{nobody}");
}

#[test]
fn scripts_that_mean_no_good_end_and_are_told_of_kindly() {
    let home = Home::new("unkind");
    let check = |text: &str| {
        std::fs::write(home.0.join("x.bt"), text).unwrap();
        home.says(&["--check", "1", "x.bt", "--recorded"])
    };
    for (script, told) in [
        ("begin { system(\"reboot\"); }", "run without functions that change the machine"),
        ("tracepoint:syscalls:sys_enter_fsync { pritnf(\"x\"); }", "cannot run as it is"),
        // On a fast machine the loop's own limit ends it before the lesson's time is over.
        ("tracepoint:syscalls:sys_enter_fsync { while (1) { @n++; } }", "loop without an end|too small"),
        (
            "begin { for ($i : 0..100000) { printf(\"a line that is printed much too often %d\\n\", $i); } }",
            "printed more than is looked at",
        ),
        ("begin { exit(); }", "left nothing"),
    ] {
        let (said, passed) = check(script);
        assert!(!passed && told.split('|').any(|told| said.contains(told)), "{script}\n{said}");
    }
}
