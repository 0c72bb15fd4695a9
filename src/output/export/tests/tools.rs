//! The files opened by the programs that they are made for. A program that is not here skips its test, with the reason.

use std::path::PathBuf;
use std::process::{Command, Output};

use super::*;

/// A file of one form, as long as the test needs it.
struct Written(PathBuf);

impl Written {
    fn new(form: Form, ending: &str) -> Self {
        let path = std::env::temp_dir().join(format!("probescope-export-{}.{ending}", std::process::id()));
        std::fs::write(&path, written(form)).unwrap();
        Self(path)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What a program says of a file; `None` where the program is not there.
fn opened(program: &str, arguments: &[&str], file: &Written) -> Option<Output> {
    match Command::new(program).args(arguments).arg(&file.0).output() {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("skipped: {program}: {error}");
            None
        }
    }
}

/// What a program prints of a file that it takes.
fn said(output: &Output) -> String {
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{why}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What a script of Python prints of a file; `None` where there is no Python or it lacks a module.
fn python(module: &str, script: &str, file: &Written) -> Option<String> {
    let python = std::env::var("PROBESCOPE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe = Command::new(&python).args(["-c", &format!("import {module}")]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: {python} has no module {module} (PROBESCOPE_PYTHON names another Python)");
        return None;
    }
    opened(&python, &["-c", script], file).map(|output| said(&output))
}

#[test]
fn perfettos_own_schema_decodes_the_trace() {
    let file = Written::new(Form::Perfetto, "perfetto");
    let module = "perfetto.protos.perfetto.trace.perfetto_trace_pb2";
    let Some(text) = python(module, include_str!("perfetto.py"), &file) else { return };
    let expected = "slices 3\ninstants 3\ncounters 18 6\nthreads 77 78\n";
    assert_eq!(text, expected);
}

#[test]
fn pprof_opens_the_profile() {
    let file = Written::new(Form::Pprof, "pb.gz");
    let Some(output) = opened("go", &["tool", "pprof", "-raw"], &file) else { return };
    let text = said(&output);
    assert!(text.contains("\n          9: 1 2 3"), "{text}");
    assert!(text.contains(" read ") && text.contains("nginx, inc"), "{text}");
}

#[test]
fn a_flame_graph_is_well_formed_xml() {
    let file = Written::new(Form::Flame, "svg");
    let script = "
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
assert root.tag == '{http://www.w3.org/2000/svg}svg', root.tag
for title in root.iter('{http://www.w3.org/2000/svg}title'):
    print(ascii(title.text))
";
    let Some(text) = python("xml.etree.ElementTree", script, &file) else { return };
    assert!(text.contains("read (9, 100.00 %)") && text.contains("nginx, inc (9, 100.00 %)"), "{text}");
}

#[test]
fn jq_reads_the_maps_and_the_profile() {
    let file = Written::new(Form::Json, "json");
    let Some(output) = opened("jq", &["-c", ".maps[\"@s\"].contents[0].value"], &file) else { return };
    assert_eq!(said(&output), "9\n");
    let file = Written::new(Form::Firefox, "firefox.json");
    let Some(output) = opened("jq", &["-c", ".threads[0].samples.weight"], &file) else { return };
    assert_eq!(said(&output), "[9]\n");
}
