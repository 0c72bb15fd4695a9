//! Small texts that would grow without bounds, and large ones that are wrong everywhere: what is made of them is bounded
//! by counts, and what ends them says which budget was exceeded.

use std::path::Path;

use probescope::kernel::{Kernel, Roots};
use probescope::lang::compile;
use probescope::lang::diagnostic::Severity;
use probescope::lang::front::{Checked, FrontOptions};
use probescope::lang::source::SourceText;

/// Diagnostics of one script: errors, as many warnings, and how many more there are.
const MOST_TOLD: usize = 201;
/// Statements and expressions of a typed program that a text of a few kilobytes may become.
const MOST_NODES: usize = 700_000;

/// A bomb, and what is said of it.
struct Bomb {
    name: &'static str,
    file: &'static str,
    text: String,
    /// A part of one of the messages.
    told: &'static str,
}

fn checked(bomb: &Bomb) -> Checked {
    let kernel = Kernel::new(Roots::fixture(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kernel")));
    let options = FrontOptions { unsafe_allowed: true, ..FrontOptions::new(&kernel) };
    compile(&SourceText::new(bomb.file, &bomb.text), &options)
}

fn bt(name: &'static str, text: String, told: &'static str) -> Bomb {
    Bomb { name, file: "bomb.bt", text, told }
}

fn d(name: &'static str, text: String, told: &'static str) -> Bomb {
    Bomb { name, file: "bomb.d", text, told }
}

/// `count` levels, each made of its number.
fn levels(count: usize, level: impl Fn(usize) -> String) -> String {
    (1..=count).map(level).collect()
}

fn nested(open: &str, inside: &str, close: &str, depth: usize) -> String {
    format!("{}{inside}{}", open.repeat(depth), close.repeat(depth))
}

fn of_bt() -> Vec<Bomb> {
    let doubling = levels(20, |n| format!("macro m{n}() {{ m{0}(); m{0}(); }}\n", n - 1));
    let arguments = levels(30, |n| format!("macro m{n}(x) {{ m{}(x + x) }}\n", n - 1));
    let functions = levels(40, |n| format!("fn f{n}($a: int64): int64 {{ return f{0}($a) + f{0}($a); }}\n", n - 1));
    let defines = levels(39, |n| format!("#define A{n} (A{0} + A{0})\n", n - 1));
    let unrolled = |depth| format!("begin {{ {} }}", nested("unroll(100) { ", "@ = count();", " }", depth));
    vec![
        bt(
            "macros",
            format!("macro m0() {{ print(1); }}\n{doubling}begin {{ m20(); }}"),
            "macros expand to too much here",
        ),
        bt("arguments", format!("macro m0(x) {{ x }}\n{arguments}begin {{ print(m30(1)); }}"), "the limit is"),
        bt(
            "macros in macros",
            levels(700, |n| format!("macro m{n}() {{ {{ m{}() }} }}\n", n - 1))
                + "macro m0() { 1 }\nbegin { print(m700()); }",
            "nest too deep",
        ),
        bt("unroll, 3 levels", unrolled(3), "unrolled, this probe has 1000000 steps"),
        bt("unroll, 12 levels", unrolled(12), "unrolled, this probe has more than"),
        bt(
            "functions",
            format!("fn f0($a: int64): int64 {{ return 1; }}\n{functions}begin {{ print(f40(1)); }}"),
            "unrolled, this probe has more than",
        ),
        bt("defines", format!("#define A0 1\n{defines}begin {{ print(A39); }}"), "#define"),
        bt(
            "unknown variables",
            format!("begin {{ {} }}", levels(3000, |n| format!("$v{n} = $u{n};"))),
            "and 2900 more errors",
        ),
        bt("unknown names", format!("begin {{ {} }}", "foo;\n".repeat(3000)), "more errors"),
        bt("stray characters", format!("begin {{ {} }}", "? ".repeat(3000)), "more errors"),
        bt("parentheses", format!("begin {{ print({}); }}", nested("(", "1", ")", 5000)), "nested too deep"),
        bt("blocks", format!("begin {{ {} }}", nested("{", "", "}", 5000)), "nested too deep"),
        bt("conditions", format!("begin {{ {} }}", nested("if (1) {", "", "}", 5000)), "nested too deep"),
        bt("sums", format!("begin {{ print(1{}); }}", "+pid".repeat(5000)), "nested too deep"),
        bt("casts", format!("begin {{ print({}1); }}", "(uint8)".repeat(5000)), "nested too deep"),
        bt("arrays", format!("struct s {{ int a{}; }}; begin {{}}", "[2]".repeat(2000)), "larger than 16 MiB"),
        bt(
            "a chain of maps",
            format!(
                "begin {{ {} @v4000 = 1; }}",
                (0..4000).map(|n| format!("@v{n} = @v{};", n + 1)).collect::<String>()
            ),
            "the limit is",
        ),
    ]
}

fn of_d() -> Vec<Bomb> {
    let inlines = levels(39, |n| format!("inline int i{n} = i{0} + i{0};\n", n - 1));
    vec![
        d("clauses", "BEGIN {}\n".repeat(5000), "too many probe descriptions: the limit is 4096"),
        d(
            "descriptions",
            format!("{} {{}}", vec!["BEGIN"; 5000].join(",")),
            "too many probe descriptions: the limit is 4096",
        ),
        d("a long description", format!("{} {{}}", "a".repeat(20_000)), "the limit is"),
        d("inlines", format!("inline int i0 = 1;\n{inlines}BEGIN {{ trace(i39); }}"), "inlines and translators"),
        d("unknown names", format!("BEGIN {{ {} }}", levels(3000, |n| format!("v{n} = u{n};"))), "more errors"),
        d("stray characters", format!("BEGIN {{ {} }}", "\u{a7} ".repeat(3000)), "more errors"),
        d("parentheses", format!("BEGIN {{ trace({}); }}", nested("(", "1", ")", 5000)), "nested too deep"),
        d("sums", format!("BEGIN {{ trace(1{}); }}", "+1".repeat(5000)), "nested too deep"),
    ]
}

#[test]
fn bombs_end_at_a_budget_that_is_told() {
    for bomb in of_bt().into_iter().chain(of_d()) {
        let found = checked(&bomb);
        let messages: Vec<&str> = found.diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert!(
            messages.iter().any(|m| m.contains(bomb.told)),
            "{}: {:?}",
            bomb.name,
            &messages[..messages.len().min(5)]
        );
        assert!(messages.len() <= MOST_TOLD, "{}: {} diagnostics", bomb.name, messages.len());
        let errors = found.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
        assert!((1..=100).contains(&errors), "{}: {errors} errors", bomb.name);
        let nodes = found.program.nodes().count();
        assert!(nodes <= MOST_NODES, "{}: {nodes} nodes", bomb.name);
        assert!(messages.iter().all(|m| m.len() < 4096 || bomb.text.len() > m.len()), "{}: a message grows", bomb.name);
    }
}

#[test]
fn what_a_text_becomes_grows_as_the_text_does() {
    // Each is right, however long it is: twice the text, twice the program.
    let kinds: [(&str, fn(usize) -> String); 6] = [
        ("a.bt", |n| format!("begin {{ {} }}", levels(n, |i| format!("$v{i} = {i}; print($v{i});")))),
        ("a.bt", |n| format!("begin {{ {} }}", levels(n, |i| format!("@v{i} = {i};")))),
        ("a.bt", |n| levels(n, |i| format!("macro m{i}() {{ print({i}); }}\n")) + "begin { m1(); }"),
        ("a.bt", |n| format!("begin {{ {} }}", "unroll(10) { @ = count(); }".repeat(n))),
        ("a.d", |n| format!("BEGIN {{ {} }}", levels(n, |i| format!("v{i} = {i};")))),
        ("a.d", |n| levels(n, |i| format!("tick-{i}s {{ @ = count(); }}\n"))),
    ];
    for (number, (file, text)) in kinds.into_iter().enumerate() {
        let nodes = |n: usize| {
            let bomb = Bomb { name: "", file, text: text(n), told: "" };
            let found = checked(&bomb);
            let wrong: Vec<_> = found.diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
            assert!(wrong.is_empty(), "kind {number}: {wrong:?}");
            found.program.nodes().count()
        };
        let (one, two) = (nodes(200), nodes(400));
        assert!(two <= 2 * one + 16, "kind {number}: {one} nodes became {two}");
    }
}
