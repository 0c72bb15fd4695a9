//! Scripts far beyond what anybody writes: they are compiled or declined in bounded time, with a clear
//! message, never with a panic or an overflow of this program's stack.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use probescope::codegen::compile_with_source;
use probescope::kernel::target::TargetFacts;
use probescope::kernel::{Kernel, Roots};
use probescope::lang::compile as compile_front;
use probescope::lang::diagnostic::{Severity, has_errors};
use probescope::lang::front::FrontOptions;
use probescope::lang::source::SourceText;

/// More than any of these takes in a debug build on a busy machine; without bounds they take hours.
const LONGEST: Duration = Duration::from_secs(60);

/// What came of a script: instructions of its programs, or the first message.
fn compile(text: String) -> Result<u32, String> {
    let (send, receive) = mpsc::channel();
    // The compiler runs on ordinary threads: no room for recursion without bounds.
    let work = move || {
        let kernel = Kernel::new(Roots::fixture(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kernel")));
        let source = SourceText::new("extreme", &text);
        let checked = compile_front(&source, &FrontOptions::new(&kernel));
        let outcome = if has_errors(&checked.diagnostics) {
            let mut errors = checked.diagnostics.iter().filter(|d| d.severity == Severity::Error);
            Err(errors.next().unwrap().message.clone())
        } else {
            let facts = TargetFacts::of_version(6, 12, 4);
            compile_with_source(&checked.program, &facts, &source)
                .map(|artifact| artifact.programs.iter().map(|p| p.instructions).sum())
                .map_err(|e| e.to_string())
        };
        let _ = send.send(outcome);
    };
    let began = Instant::now();
    std::thread::spawn(work);
    let outcome = receive.recv_timeout(LONGEST).expect("an outcome in bounded time");
    eprintln!("{outcome:?} in {} ms", began.elapsed().as_millis());
    outcome
}

#[test]
fn a_script_of_a_megabyte() {
    let mut text = String::from("begin {\n");
    while text.len() < 1 << 20 {
        let n = text.len();
        writeln!(text, "  if (pid == {n}) {{ @a{} = count(); }}", n % 100).unwrap();
    }
    text.push_str("}\n");
    match compile(text) {
        Ok(instructions) => assert!(instructions > 10_000),
        Err(why) => assert!(why.contains("limit") || why.contains("large"), "{why}"),
    }
}

#[test]
fn a_megabyte_of_one_expression() {
    let text = format!("begin {{ @ = 1{}; }}", " + pid".repeat(170_000));
    match compile(text) {
        Ok(instructions) => assert!(instructions > 1000),
        Err(why) => assert!(why.contains("deep") || why.contains("limit") || why.contains("large"), "{why}"),
    }
}

#[test]
fn loops_in_loops_in_loops() {
    const DEPTH: usize = 32;
    let mut text = String::from("begin { @ = 0; ");
    (0..DEPTH).for_each(|n| write!(text, "$v{n} = 0; while ($v{n} < 2) {{ ").unwrap());
    text.push_str("@ += 1; ");
    (0..DEPTH).rev().for_each(|n| write!(text, "$v{n}++; }} ").unwrap());
    text.push('}');
    assert!(compile(text).unwrap() > DEPTH as u32);
}

#[test]
fn ten_thousand_probes() {
    let text = "interval:s:1 { @ = count(); }\n".repeat(10_000);
    match compile(text) {
        Ok(instructions) => assert!(instructions >= 10_000),
        Err(why) => assert!(why.contains("probes"), "{why}"),
    }
}

#[test]
fn a_thousand_levels() {
    for (open, close) in [("(", ")"), ("if (pid) { ", "} "), ("{ ", "} "), ("- ", ""), ("!", "")] {
        let inside = if open.ends_with("{ ") { "@ = 1; " } else { "1" };
        let nested = format!("{}{inside}{}", open.repeat(1000), close.repeat(1000));
        let text =
            if open.ends_with("{ ") { format!("begin {{ {nested} }}") } else { format!("begin {{ @ = {nested}; }}") };
        if let Err(why) = compile(text) {
            assert!(why.contains("deep"), "{open}: {why}");
        }
    }
}

#[test]
fn a_map_of_many_keys() {
    for (keys, fine) in [(100_000_u64, true), (5_000_000, true), (1 << 40, false)] {
        let text = format!("config = {{ max_map_keys = {keys} }} begin {{ @[pid] = count(); @b[pid] = 1; }}");
        assert_eq!(compile(text).is_ok(), fine, "{keys}");
    }
}

#[test]
fn loops_in_loops() {
    let deep: String = (0..20).map(|n| format!("for ($i{n} : 0..250) {{ ")).collect();
    let text = format!("begin {{ {deep} @ = count(); {} }}", "}".repeat(20));
    assert!(compile(text).is_ok());
}

#[test]
fn a_key_of_many_values() {
    let items = vec!["pid"; 500].join(", ");
    if let Err(why) = compile(format!("begin {{ @[{items}] = count(); }}")) {
        assert!(why.contains("limit") || why.contains("large"), "{why}");
    }
}

#[test]
fn types_of_many_layers() {
    for layer in ["[2]", " *"] {
        let why = compile(format!("begin {{ @ = (int32{})0; }}", layer.repeat(100_000))).unwrap_err();
        assert!(why.contains("deep"), "{layer}: {why}");
    }
}

#[test]
fn as_many_variables_and_maps_as_statements() {
    for (sigil, longest) in [("$", 30_000), ("@", 10_000)] {
        // On one line: places in it are not counted from its start.
        let body: String = (0..longest).map(|n| format!("{sigil}v{n} = {n}; ")).collect();
        let began = Instant::now();
        assert!(compile(format!("begin {{ {body} }}")).is_ok());
        assert!(began.elapsed() < LONGEST / 2, "{sigil}: {} s", began.elapsed().as_secs());
    }
}

/// The other extreme: what the kernel's types tell takes all of them to be read, milliseconds that a small script has no
/// use for.
#[test]
fn small_scripts_ask_nothing_of_the_kernels_types() {
    let kernel = Kernel::new(Roots::fixture(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kernel")));
    for text in [
        "begin { exit(); }",
        "begin { printf(\"%d %d\\n\", 1, 2); }",
        "tracepoint:syscalls:sys_enter_openat { @[str(args.filename)] = count(); }",
        "interval:s:1 { print(@); clear(@); }  profile:hz:99 { @[cpu] = count(); }",
    ] {
        let source = SourceText::new("small", text);
        let checked = compile_front(&source, &FrontOptions::new(&kernel));
        assert!(!has_errors(&checked.diagnostics), "{text}: {:?}", checked.diagnostics);
        let facts = TargetFacts::of_version(6, 12, 4).with_features(|| panic!("asked for features"));
        compile_with_source(&checked.program, &facts, &source).unwrap();
    }
}
