//! Nothing is without a witness: each bundled script, command and semantic probe has a row, and the table in `docs/` is that
//! of the rows.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::{Failed, Trial};

use super::row::{Mode, Row, Subject};
use super::{rows, session};

/// Commands that answer nothing about the system that somebody else could be asked, and why.
const WITHOUT: &[(&str, &str)] = &[
    ("run", "its scripts are the rows"),
    ("replay", "plays what was recorded: tests/workbench/recordings.rs"),
    ("record", "looks at recordings: tests/workbench/recordings.rs"),
    ("export", "writes recordings in other forms: src/output/export"),
    ("demo", "plays recordings"),
    ("ask", "runs scripts and commands that have rows: tests/workbench/questions.rs"),
    ("vitals", "beside a load that starts programs and fails calls: tests/workbench/questions.rs"),
    ("ftrace", "beside loads and the kernel's own files: tests/latency/ftrace.rs"),
    ("learn", "grades scripts, by what loads say: tests/workbench/lessons.rs"),
    ("check", "reads scripts"),
    ("compile", "reads scripts"),
    ("explain", "reads its own tables"),
    ("list", "attaching is the witness: tests/compiler/generated_scripts"),
    ("load", "is what is witnessed"),
    ("doctor", "tells of features: tests/kernels.rs"),
    ("config", "its own files"),
    ("dtrace", "its programs are cases of tests/d"),
    ("completions", "its own words"),
    ("man", "its own words"),
    ("fmt", "reads scripts"),
    ("lsp", "reads scripts"),
    ("screenshots", "draws what is made up"),
    ("lens", "reads types: tests/workbench/lens.rs"),
    ("help", "its own words"),
    ("latency profile", "writes what osnoise and timerlat measure"),
    ("latency diff", "compares files"),
    ("latency advise", "reads settings"),
    ("latency help", "its own words"),
];

pub fn trials() -> Vec<Trial> {
    let trial = |name: &str, check: fn() -> Result<(), String>| {
        Trial::test(format!("gate/{name}"), move || check().map_err(Failed::from))
    };
    vec![
        trial("every_bundled_script_has_a_row", scripts),
        trial("every_command_has_a_row", commands),
        trial("every_semantic_probe_has_a_row", probes),
        trial("witnesses_elsewhere_are_there", elsewhere),
        trial("the_table_is_that_of_the_rows", table_is_fresh),
    ]
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|e| format!("{path}: {e}"))
}

fn lacking(all: impl Iterator<Item = String>, what: &str) -> Result<(), String> {
    let names: BTreeSet<String> = rows::all().map(Row::name).collect();
    let mut seen = 0;
    let without: Vec<String> = all.inspect(|_| seen += 1).filter(|name| !names.contains(name)).collect();
    if seen == 0 {
        return Err(format!("no {what} was found"));
    }
    let told = format!("these have no row in tests/witness/rows: {}", without.join(", "));
    without.is_empty().then_some(()).ok_or(told)
}

fn scripts() -> Result<(), String> {
    let entries = fs::read_dir(root().join("scripts")).map_err(|e| format!("scripts: {e}"))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    lacking(
        names
            .filter(|name| Path::new(name).extension().is_some_and(|of| of == "bt"))
            .map(|name| format!("scripts/{name}")),
        "script",
    )
}

fn commands() -> Result<(), String> {
    let mut all = subcommands(&["--help"])?;
    all.extend(subcommands(&["latency", "--help"])?.into_iter().map(|name| format!("latency {name}")));
    let to_witness =
        all.into_iter().filter(|name| name != "latency" && !WITHOUT.iter().any(|(other, _)| other == name));
    lacking(to_witness.map(|name| format!("probescope {name}")), "command")
}

/// Names below `Commands:`.
fn subcommands(words: &[&str]) -> Result<Vec<String>, String> {
    let output =
        Command::new(session::program()).args(words).output().map_err(|e| format!("{}: {e}", session::program()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let name = |line: &str| {
        line.strip_prefix("  ").filter(|l| !l.starts_with(' ')).and_then(|l| l.split(' ').next()).map(str::to_owned)
    };
    Ok(lines.filter_map(name).collect())
}

fn probes() -> Result<(), String> {
    lacking(probescope::probe::providers::rows().map(|row| format!("{}:{}", row.provider, row.name)), "semantic probe")
}

fn elsewhere() -> Result<(), String> {
    for (file, text) in rows::all().filter_map(|row| row.elsewhere) {
        if !read(file)?.contains(text) {
            return Err(format!("{file} has no `{text}`"));
        }
    }
    Ok(())
}

const TABLE: &str = "docs/witnesses.md";

fn table_is_fresh() -> Result<(), String> {
    let text = table();
    if std::env::var("PROBESCOPE_WITNESS_TABLE").is_ok_and(|v| v == "write") {
        return fs::write(root().join(TABLE), text).map_err(|e| format!("{TABLE}: {e}"));
    }
    let advice =
        format!("{TABLE} is not that of the rows: PROBESCOPE_WITNESS_TABLE=write cargo test --test witness gate");
    (read(TABLE).unwrap_or_default() == text).then_some(()).ok_or(advice)
}

/// How else a row is asked.
fn also(row: &Row) -> String {
    let asked: Vec<&str> =
        Mode::ALL.into_iter().filter(|mode| *mode != Mode::Plain && row.is_asked(*mode)).map(Mode::name).collect();
    let no_pid = if row.no_pid.is_empty() { String::new() } else { format!("; no -p: {}", row.no_pid) };
    format!("{}{no_pid}", asked.join(", "))
}

fn table() -> String {
    let mut text = String::from(
        "# Witnesses\n\nWhat probescope says of a load with a known answer is compared with what others say of it. `cargo test --test \
         witness` does it, and writes this table. Where two can't agree exactly, the bound stands here with its reason.\n\n\
         `make test-long PARTS=witness` also asks with `-p` (an unlimited answer and a limited one are the same of one process), after the \
         process has ended, with a budget, and with maps and buffers that are too small, where the answer is right or says what it lacks; \
         then all of it in guests (Linux 5.10 to 7.2), which have what this machine's kernel may lack.\n",
    );
    let parts: [(&str, fn(&Row) -> bool); 3] = [
        ("Bundled scripts", |row| matches!(row.subject, Subject::Script(_) | Subject::Replaced(..))),
        ("Semantic probes", |row| matches!(row.subject, Subject::Probe(..))),
        ("Commands", |row| matches!(row.subject, Subject::Command(_))),
    ];
    for (heading, is_part) in parts {
        let _ = write!(
            text,
            "\n## {heading}\n\n| answer | load | who else is asked | bound | kernel must have | also |\n|---|---|---|---|---|---|\n"
        );
        let mut part: Vec<&Row> = rows::all().filter(|row| is_part(row)).collect();
        part.sort_by_key(|row| row.name());
        for row in part {
            let (load, witness) = match row.elsewhere {
                Some((file, _)) => (format!("in `{file}`"), row.witness.to_owned()),
                None => (format!("`{}`", row.load.replace('\n', "; ").replace('|', "\\|")), row.witness.to_owned()),
            };
            let mut needs = row.needs();
            needs.retain(|need| need != "root");
            let bound = if row.bound.is_empty() { "exact" } else { row.bound };
            let bound = if row.elsewhere.is_some() { "" } else { bound };
            let _ = writeln!(
                text,
                "| `{}` | {load} | {witness} | {bound} | {} | {} |",
                row.name(),
                needs.join(", "),
                also(row)
            );
        }
    }
    text
}
