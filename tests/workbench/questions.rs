//! Questions in plain words: each opens what compiles here, or says what this kernel lacks; and vitals see what happens.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::root;

fn probescope(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_probescope")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What `traced` gives while `load` happens again and again.
fn during(load: impl Fn() + Sync, traced: impl FnOnce() -> Output) -> Output {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                load();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let output = traced();
        over.store(true, Ordering::Relaxed);
        output
    })
}

/// All questions as `ask --json` lists them.
fn questions() -> Vec<Value> {
    let output = probescope(&["ask", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let questions: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert!(questions.len() >= 80);
    questions
}

/// What a question asks back, with values that fit any machine with a C library.
fn values(question: &Value) -> Vec<String> {
    let is_of_kernel = question["group"] == "kernel";
    let parameters = question["parameters"].as_array().unwrap();
    let value = |name: &str| match name {
        "function" if is_of_kernel => "vfs_read",
        "function" => "libc:malloc",
        "functions" if is_of_kernel => "vfs_*",
        "functions" => "libc:str*",
        "errno" => "EACCES",
        "port" => "80",
        _ => "passwd",
    };
    parameters
        .iter()
        .map(|parameter| parameter["name"].as_str().unwrap())
        .map(|name| format!("{name}={}", value(name)))
        .collect()
}

#[test]
fn each_question_has_a_command_and_its_script_compiles_or_names_what_is_absent() {
    if root::missing() {
        return;
    }
    let (mut compiled, mut absent) = (0, Vec::new());
    for question in questions() {
        let name = question["name"].as_str().unwrap();
        let values = values(&question);
        let mut arguments = vec!["ask", "--run", name, "--dry-run"];
        if question["process"] == "needed" {
            arguments.extend(["-p", "1"]);
        }
        arguments.extend(values.iter().map(String::as_str));
        let output = probescope(&arguments);
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        let line = text(&output.stdout);
        let Some((_, script)) = line.split_once("-e '") else {
            assert!(line.starts_with("probescope "), "{line}");
            continue;
        };
        let script = script.split_once("\n'").map_or(script, |(script, _)| script).replace("'\\''", "'");
        let mut check = vec!["check", "-e", &script];
        // What stands in the script as $1.
        check.extend(script.contains("$1").then_some("passwd"));
        let output = probescope(&check);
        let errors = text(&output.stderr) + &text(&output.stdout);
        if output.status.success() {
            compiled += 1;
        } else {
            // Absent probes are told as such; anything else is a fault of the question.
            let other = errors.lines().find(|line| line.starts_with("error") && !line.contains("No matches for"));
            assert_eq!(other, None, "{name}: {errors}");
            absent.push(name.to_owned());
        }
    }
    assert!(compiled >= 45, "{compiled} compile; these have no probe here: {absent:?}");
}

#[test]
fn a_question_in_other_words_names_its_command_and_runs() {
    let output = probescope(&["ask", "who", "deletes", "my", "files?"]);
    let found = text(&output.stdout);
    assert!(found.starts_with("Who deletes files?\n"), "{found}");
    assert!(found.contains("probescope ask --run file-deletes [-p PID|NAME]"), "{found}");
    let output = probescope(&["ask", "--run", "file-delets"]);
    assert!(text(&output.stderr).contains("did you mean file-deletes?"), "{}", text(&output.stderr));
    let output = probescope(&["ask", "--run", "wait-process"]);
    assert!(text(&output.stderr).contains("wait-process wants a process (-p PID)"), "{}", text(&output.stderr));
    if root::missing() {
        return;
    }
    let folder = std::env::temp_dir();
    let victim = folder.join(format!("probescope-asked-{}", std::process::id()));
    let output = during(
        || {
            std::fs::write(&victim, "x").unwrap();
            let _ = Command::new("rm").arg(&victim).status();
        },
        || probescope(&["ask", "--run", "file-deletes", "-d", "2s"]),
    );
    let told = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let own: Vec<&str> = told.lines().filter(|line| line.contains(victim.to_str().unwrap())).collect();
    assert!(!own.is_empty() && own.iter().all(|line| line.starts_with("rm ") && line.contains("result 0")), "{told}");
    assert!(text(&output.stderr).contains("Ask next:\n  file-renames"), "{}", text(&output.stderr));
}

#[test]
fn vitals_see_the_programs_that_start_and_the_calls_that_fail() {
    if root::missing() {
        return;
    }
    let output = during(
        || {
            let _ = Command::new("true").status();
            for _ in 0..50 {
                let _ = std::fs::File::open("/nonexistent/probescope");
            }
        },
        || probescope(&["vitals", "-d", "3s", "--json"]),
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let objects: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let whole = objects.last().unwrap();
    assert_eq!(whole["kind"], "whole");
    assert!(objects.iter().any(|object| object["kind"] == "second"));
    let vitals = &whole["vitals"];
    assert!(vitals["starts"]["rate"].as_f64().unwrap() >= 1.0, "{vitals}");
    assert!(vitals["failing_calls"]["rate"].as_f64().unwrap() >= 50.0, "{vitals}");
    let waits = &vitals["run_queue"];
    let figure = |key: &str| waits[key].as_u64().unwrap();
    assert!(figure("p50_us") <= figure("p99_us") && figure("p99_us") <= figure("max_us"), "{waits}");
}
