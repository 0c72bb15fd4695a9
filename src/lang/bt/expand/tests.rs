use std::fmt::Write as _;

use super::*;
use crate::lang::bt::dump;
use crate::lang::bt::parser::parse;
use crate::lang::source::SourceText;

const NOTHING: &dyn Fn(&str) -> Result<String, String> = &|path| Err(format!("no {path}"));

fn run(text: &str, params: &[&str], named: &[(&str, Option<&str>)]) -> (String, Vec<Diagnostic>) {
    run_with(text, params, named, NOTHING)
}

fn run_with(
    text: &str,
    params: &[&str],
    named: &[(&str, Option<&str>)],
    load: &dyn Fn(&str) -> Result<String, String>,
) -> (String, Vec<Diagnostic>) {
    let parsed = parse(&SourceText::new("t", text));
    assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
    let params: Vec<_> = params.iter().map(|p| (*p).to_owned()).collect();
    let named: Vec<_> = named.iter().map(|(n, v)| ((*n).to_owned(), v.map(str::to_owned))).collect();
    let absent = AbsentParameters::Quiet;
    let (script, diagnostics) = expand(parsed.script, &ExpandInputs { params: &params, named: &named, load, absent });
    (dump::script(&script).trim_end().to_owned(), diagnostics)
}

/// The last item of an expanded script without mistakes.
fn last(text: &str) -> String {
    let (tree, diagnostics) = run(text, &[], &[]);
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
    tree.lines().last().unwrap_or("").to_owned()
}

fn codes_of(diagnostics: &[Diagnostic]) -> Vec<u16> {
    diagnostics.iter().map(|d| d.code.0).collect()
}

#[test]
fn macros_are_replaced_by_their_bodies() {
    for (text, wanted) in [
        ("macro one() { 1 } BEGIN { print(one + one()); }", "(probe [BEGIN] {(print (+ 1 1))})"),
        ("macro twice(x) { x * 2 } BEGIN { print(twice(1 + 2)); }", "(probe [BEGIN] {(print (* (+ 1 2) 2))})"),
        ("macro set($v) { $v = 5; } BEGIN { set($x); }", "(probe [BEGIN] {{(= $x 5)}})"),
        ("macro put(@m, k) { @m[k] = 1; } BEGIN { put(@a, pid); }", "(probe [BEGIN] {{(= @a[pid] 1)}})"),
        ("macro f(x) { 1 } macro f(x, y) { 2 } BEGIN { print(f(0), f(0, 0)); }", "(probe [BEGIN] {(print 1 2)})"),
        ("macro f(x) { 1 } macro f($x) { 2 } BEGIN { print(f(0), f($v)); }", "(probe [BEGIN] {(print 1 2)})"),
        ("macro a(x) { b(x) } macro b(x) { x + 1 } BEGIN { print(a(pid)); }", "(probe [BEGIN] {(print (+ pid 1))})"),
        ("macro f(T) { (typeof(T))1 } BEGIN { print(f(uint8)); }", "(probe [BEGIN] {(print (cast uint8 1))})"),
        (
            "macro f(x) { if x { 1 } else { 2 } } BEGIN { $y = f(pid); }",
            "(probe [BEGIN] {(= $y (if pid {=> 1} else {=> 2}))})",
        ),
        ("macro f() { 1 } BEGIN /f/ { }", "(probe [BEGIN] /1/ {})"),
    ] {
        assert_eq!(last(text), wanted, "{text}");
    }
}

#[test]
fn macros_own_variables_never_meet_the_callers() {
    let tree = last("macro f(x) { $t = x; $t + 1 } BEGIN { $t = 5; print(f($t)); print(f(1)); }");
    assert_eq!(
        tree,
        "(probe [BEGIN] {(= $t 5); (print {(= $t'1 $t); => (+ $t'1 1)}); (print {(= $t'2 1); => (+ $t'2 1)})})"
    );
    let tree = last("macro f(@m) { for $kv : @m { print($kv.0); } } BEGIN { f(@x); }");
    assert_eq!(tree, "(probe [BEGIN] {{(for $kv'1 @x {(print (. $kv'1 0))})}})");
}

#[test]
fn positional_parameters_are_numbers_texts_and_parts_of_points() {
    for (text, params, wanted) in [
        ("BEGIN { print($1 + $2); }", &["5", "0x10"][..], "(probe [BEGIN] {(print (+ 5 16))})"),
        ("BEGIN { print($1); }", &["-5"], "(probe [BEGIN] {(print (- 5))})"),
        ("BEGIN { print($1 == \"abc\"); }", &["abc"], "(probe [BEGIN] {(print (== \"abc\" \"abc\"))})"),
        ("BEGIN { print($3); print($#); }", &["5"], "(probe [BEGIN] {(print 0); (print 1)})"),
        ("BEGIN { print($1); print(str($1)); }", &[""], "(probe [BEGIN] {(print 0); (print \"\")})"),
        ("BEGIN { print(str($1)); print(str($2)); }", &["hello"], "(probe [BEGIN] {(print \"hello\"); (print \"\")})"),
        ("uprobe:$1:f_$2 { }", &["/bin/sh", "x"], "(probe [uprobe:/bin/sh:f_x] {})"),
        ("tracepoint:syscalls:$12 { }", &[], "(probe [tracepoint:syscalls:] {})"),
    ] {
        let (tree, diagnostics) = run(text, params, &[]);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(tree, wanted, "{text}");
    }
}

#[test]
fn options_take_their_defaults_or_what_was_given() {
    let text = "macro depth() { getopt(\"depth\", 35, \"how deep\") } BEGIN { print(depth, getopt(\"all\", false), getopt(\"who\", \"me\")); }";
    for (named, wanted) in [
        (&[][..], "(print 35 false \"me\")"),
        (&[("depth", Some("7")), ("all", None), ("who", Some("you"))], "(print 7 true \"you\")"),
        (&[("depth", Some("-7")), ("all", Some("no"))], "(print 18446744073709551609 false \"me\")"),
    ] {
        let (tree, diagnostics) = run(text, &[], named);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(tree, format!("(probe [BEGIN] {{{wanted}}})"));
    }
    for (named, code) in [(("depth", Some("x")), 86), (("depth", None), 86), (("deep", Some("1")), 87)] {
        assert_eq!(codes_of(&run(text, &[], &[named]).1), [code], "{named:?}");
    }
    assert_eq!(codes_of(&run("BEGIN { getopt(pid, 1); }", &[], &[]).1), [85]);
}

#[test]
fn comptime_keeps_only_what_is_taken() {
    for (text, wanted) in [
        ("BEGIN { $x = comptime 2 * 3; }", "(probe [BEGIN] {(= $x 6)})"),
        ("BEGIN { if comptime (1 == 2) { print(1); } else { print(2); } }", "(probe [BEGIN] {{(print 2)}})"),
        ("BEGIN { if comptime (\"a\" == \"b\") { print(1); } }", "(probe [BEGIN] {{}})"),
        ("BEGIN { $x = comptime pid; }", "(probe [BEGIN] {(= $x (comptime pid))})"),
    ] {
        assert_eq!(last(text), wanted, "{text}");
    }
}

#[test]
fn imports_bring_what_they_hold_and_mistakes_point_at_the_import() {
    let files = |path: &str| match path {
        "a.bt" => Ok("import \"b.bt\"; macro a() { b }".to_owned()),
        "b.bt" => Ok("macro b() { 7 } struct s { int x; };".to_owned()),
        "loop.bt" => Ok("import \"loop.bt\";".to_owned()),
        "bad.bt" => Ok("\nmacro f( {".to_owned()),
        "config.bt" => Ok("config = { x = 1; }".to_owned()),
        other => Err(format!("no such file: {other}")),
    };
    let (tree, diagnostics) = run_with("import \"a.bt\"; BEGIN { print(a); }", &[], &[], &files);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(tree, "(struct s [int x])\n(probe [BEGIN] {(print 7)})");
    for (path, code) in [("loop.bt", 93), ("config.bt", 91), ("none.bt", 89), ("x.bpf.c", 90)] {
        let text = format!("import \"{path}\"; BEGIN {{ }}");
        let (_, diagnostics) = run_with(&text, &[], &[], &files);
        assert_eq!(codes_of(&diagnostics), [code], "{path}");
        let at = diagnostics[0].span;
        assert_eq!(&text[at.start as usize..at.end as usize], format!("\"{path}\""));
    }
    let (_, diagnostics) = run_with("import \"bad.bt\"; BEGIN { }", &[], &[], &files);
    assert!(diagnostics.iter().any(|d| d.message.contains("in bad.bt, line 2")), "{diagnostics:?}");
}

#[test]
fn mistakes_in_macros_are_told() {
    for (text, wanted) in [
        ("macro f() { f() } BEGIN { f(); }", vec![81]),
        ("macro f() { g() } macro g() { f() } BEGIN { f(); }", vec![81]),
        ("macro f() { @m = 1; @m = 2; } BEGIN { f(); }", vec![82]),
        ("macro f(x) { 1 } macro f(y) { 2 } BEGIN { }", vec![83]),
        ("macro f(@m) { 1 } BEGIN { f(5); }", vec![80]),
        ("macro f(x) { 1 } BEGIN { f(); }", vec![80]),
    ] {
        assert_eq!(codes_of(&run(text, &[], &[]).1), wanted, "{text}");
    }
}

#[test]
fn macros_that_explode_are_stopped() {
    let worker = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
        let mut wide = String::from("macro a0(x) { x }\n");
        let mut deep = String::from("macro a0(x) { x }\n");
        let long = "+1".repeat(150);
        for i in 1..60 {
            writeln!(wide, "macro a{i}(x) {{ a{}(x) + a{}(x) }}", i - 1, i - 1).unwrap();
            writeln!(deep, "macro a{i}(x) {{ a{}(x{long}) }}", i - 1).unwrap();
        }
        for text in [wide, deep] {
            let (_, diagnostics) = run(&format!("{text}BEGIN {{ print(a59(1)); }}"), &[], &[]);
            assert!(codes_of(&diagnostics).contains(&84), "{:?}", diagnostics.first());
        }
    });
    worker.unwrap().join().unwrap();
}
