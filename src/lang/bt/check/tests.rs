//! Scripts with the types or the diagnostics that they give.

use crate::kernel::{Kernel, Roots};
use crate::lang::bt::Bpftrace;
use crate::lang::diagnostic::Severity;
use crate::lang::facts::NoFacts;
use crate::lang::front::{Checked, FrontEnd as _, FrontOptions};
use crate::lang::source::SourceText;
use crate::lang::typed::MissingProbes;

fn checked(text: &str) -> Checked {
    let kernel = Kernel::new(Roots::running());
    let options = FrontOptions { missing_probes: MissingProbes::Error, ..FrontOptions::new(&kernel) };
    Bpftrace.compile_with(&SourceText::new("test.bt", text), &NoFacts, &options)
}

/// Every diagnostic as `P0204 $x`: the code and the text that it points at.
fn diagnostics(text: &str) -> Vec<String> {
    let source = SourceText::new("test.bt", text);
    checked(text).diagnostics.iter().map(|d| format!("{} {}", d.code, source.slice(d.span))).collect()
}

fn errors(text: &str) -> Vec<String> {
    checked(text)
        .diagnostics
        .into_iter()
        .filter(|d| d.severity == Severity::Error)
        .map(|d| format!("{} {}", d.code, d.message))
        .collect()
}

#[test]
fn plain_scripts_have_no_errors() {
    for script in [
        "BEGIN { printf(\"hi %d %s\\n\", pid, comm); exit(); }",
        "kprobe:vfs_read { @start[tid] = nsecs; } kretprobe:vfs_read /@start[tid]/ { @ns[comm] = hist(nsecs - @start[tid]); delete(@start[tid]); }",
        "interval:s:1 { print(@c); clear(@c); } kprobe:f { @c[comm, pid] = count(); }",
        "BEGIN { $x = 1; $x += 2; if ($x > 2) { @a = $x } else { @a = 0 } }",
        "BEGIN { @x++; @x += 5; @y[1, \"a\"] = (1, \"b\"); }",
        "BEGIN { @l = lhist(5, 0, 100, 10); @s = stats(3); @m = max(-1); @v = avg(pid); print(@l); }",
        "BEGIN { for ($i : 0..10) { if ($i == 5) { break; } printf(\"%d\", $i); } }",
        "BEGIN { @a[1] = 2; for ($kv : @a) { print($kv.0); printf(\"%d\\n\", $kv.1); } }",
        "BEGIN { printf(\"%s\\n\", str(uptr(0))); time(\"%H\"); print((1, \"x\")); }",
        "struct A { int x; char name[16]; } kprobe:f { $a = (struct A *)arg0; printf(\"%s %d\", $a->name, $a.x); }",
        "BEGIN { delete(@a, 1); delete(@a[2]); @a[3] = 1; }",
        "fn twice($a: int64): int64 { return $a * 2; } BEGIN { print(twice(4)); }",
    ] {
        assert_eq!(errors(script), Vec::<String>::new(), "{script}");
    }
}

#[test]
fn mistakes_are_told_at_their_place() {
    for (script, expected) in [
        ("BEGIN { print($x); }", &["P0204 $x"][..]),
        ("BEGIN { pritnf(\"a\"); }", &["P0201 pritnf(\"a\")"]),
        ("BEGIN { @a = 1; @a = \"x\"; }", &["P0206 @a = \"x\""]),
        ("BEGIN { @a[1] = 1; @a = 2; }", &["P0207 @a"]),
        ("BEGIN { printf(\"%d %d\\n\", 1); }", &["P0202 printf(\"%d %d\\n\", 1)"]),
        ("BEGIN { break; }", &["P0219 break"]),
        ("BEGIN { print(@nothing); }", &["P0205 @nothing"]),
        ("BEGIN { print(retval); print(arg0); }", &["P0213 retval", "P0213 arg0"]),
        ("BEGIN { signal(9); }", &["P0215 signal(9)"]),
        ("config = { max_map_kyes = 5 } BEGIN { exit(); }", &["P0222 max_map_kyes = 5"]),
    ] {
        assert_eq!(diagnostics(script), expected, "{script}");
    }
}

/// The types of maps and variables.
fn types(text: &str) -> String {
    let checked = checked(text);
    let problems = crate::lang::typed::validate::validate(&checked.program);
    assert_eq!(problems, Vec::<String>::new(), "{text}");
    crate::lang::typed::dump::dump(&checked.program)
}

#[test]
fn types_are_inferred_over_the_whole_script() {
    for (script, expected) in [
        // Read above the line that writes, in another probe.
        ("BEGIN { $x = @a; @a = nsecs; }", "@a: uint64\nBEGIN\n  $x: uint64\n"),
        (
            "BEGIN { @b = @a; } END { @a = (1, comm); }",
            "@a: (int64, string[16])\n@b: (int64, string[16])\nBEGIN\nEND\n",
        ),
        // A literal takes the sign of what it meets; narrow integers widen.
        ("BEGIN { @a = 0; @a = nsecs; $x = 1; $x = pid; }", "@a: uint64\nBEGIN\n  $x: uint32\n"),
        ("BEGIN { @a = nsecs; @a = -1; }", "@a: int64\nBEGIN\n"),
        // Strings and keys grow to the largest.
        ("BEGIN { @[1, \"a\"] = \"xy\"; @[2, comm] = \"longer\"; }", "@[(int64, string[16])]: string[7]\nBEGIN\n"),
        (
            "BEGIN { @[comm] = count(); @s = sum(-1); @h = hist(1, 2); }",
            "@[string[16]]: count\n@h: hist(2)\n@s: sum(int64)\nBEGIN\n",
        ),
        // Reading an aggregation gives a number.
        ("BEGIN { @c = count(); $n = @c + 1; }", "@c: count\nBEGIN\n  $n: uint64\n"),
        ("let @m = lruhash(5); BEGIN { @m[1] = kstack; }", "@m[int64]: kstack(bpftrace, 127) (lruhash)\nBEGIN\n"),
        ("BEGIN { $b = pid == 1; $s = 1 < 2 ? \"a\" : \"bcd\"; }", "BEGIN\n  $b: bool\n  $s: string[4]\n"),
        ("BEGIN { $x = (uint64)5; $x -= 10; $p = (int32 *)0; $p += 1; }", "BEGIN\n  $x: int64\n  $p: int32 __any *\n"),
        // Older scripts use variables outside the block that assigns them.
        ("BEGIN { if (pid) { $x = 1 } else { $x = nsecs } print($x); }", "BEGIN\n  $x: uint64\n"),
    ] {
        assert_eq!(types(script), expected, "{script}");
    }
}

#[test]
fn several_mistakes_are_told_at_once() {
    let found = diagnostics("BEGIN { @a = $x; foo(); printf(\"%d\\n\", \"s\"); } END { @b[1] = 1; @b = 2; }");
    assert_eq!(found, ["P0204 $x", "P0201 foo()", "P0217 printf(\"%d\\n\", \"s\")", "P0207 @b"]);
}

#[test]
fn misspelt_names_get_the_name_that_was_meant() {
    for (script, help) in [
        ("BEGIN { prnitf(\"a\"); }", "did you mean `printf`?"),
        ("BEGIN { print(nsec); }", "did you mean `nsecs`?"),
        ("BEGIN { $count = 1; print($coutn); }", "did you mean `$count`?"),
        ("BEGIN { @start = 1; print(@stat); }", "did you mean `@start`?"),
        ("struct A { int first; } kprobe:f { print(((struct A *)arg0)->frist); }", "did you mean `first`?"),
        ("config = { max_strln = 5 } BEGIN { exit(); }", "did you mean `max_strlen`?"),
    ] {
        let found = checked(script).diagnostics;
        let told = found.iter().find(|d| d.help.as_deref() == Some(help));
        let fix = told.unwrap_or_else(|| panic!("{script}: {found:?}")).fix.as_ref().expect(script);
        assert_eq!(format!("did you mean `{}`?", fix.replacement), help, "{script}");
        assert!(script[fix.span.start as usize..fix.span.end as usize].len().abs_diff(fix.replacement.len()) <= 1);
    }
}

#[test]
fn c_structs_are_laid_out_as_c_does() {
    let script = "struct In { char c; long l; }
        struct A { int x : 3; int y : 5; struct In in; union { short s; int i; }; char name[5]; struct A *next; }
        BEGIN { @a = sizeof(struct A); @b = offsetof(struct A, in.l); @c = offsetof(struct A, s); @d = offsetof(struct A, next); }";
    assert_eq!(errors(script), Vec::<String>::new());
    let values: Vec<u64> = checked(script).program.probes[0]
        .body
        .statements
        .iter()
        .filter_map(|s| match &s.kind {
            crate::lang::typed::StatementKind::SetMap { value, .. } => value.as_int(),
            _ => None,
        })
        .collect();
    // As gcc lays it out on x86-64: 8 (bits, padding) + 16 + 4 + 5 + padding to 8 + 8.
    assert_eq!(values, [48, 16, 24, 40]);
}

/// Deterministic pseudo-random numbers (xorshift), so that a failure can be repeated.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn mangled_scripts_never_panic_and_accepted_ones_are_sound() {
    let seeds = [
        "struct A { int x; char n[4]; struct A *next; } kprobe:f /pid == 1/ { $a = (struct A *)arg0; @m[$a->n, pid] = hist($a->next->x, 2); }",
        "BEGIN { @a[1, \"x\"] = (1, comm, (2, \"y\")); for ($kv : @a) { print($kv.1.2.0); delete(@a, $kv.0); } $t = @a[1, \"x\"]; }",
        "interval:s:1 { if (@c > 5 && !has_key(@k, 1)) { $x = @c ? \"a\" : \"bc\"; printf(\"%s %d %r\\n\", $x, -@c++, buf($x, 2)); } @c += 3; @k[1]--; }",
        "fn g($a: int64, $b: string[8]): uint32 { return $a * 2; } BEGIN { ($p, $q) = (g(1, \"s\"), &@x); @x = sum($p); print(@x, 1, 2); exit($q); }",
        "config = { max_strlen = 32 } let @m = lruhash(9); uprobe:/bin/sh:f { @m[ustack(perf, 3)] = lhist(arg1, 0, 10, 2); $s = str(arg0, arg1); @s = strftime(\"%H\", nsecs); unroll(3) { $i++ } }",
    ];
    let pieces = [
        "@a",
        "@m[1]",
        "$x",
        "$kv",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ";",
        ",",
        "1",
        "-1",
        "0xffffffffffffffff",
        "\"s\"",
        "==",
        "+",
        "*",
        "&",
        "=",
        "++",
        "count()",
        "hist(1)",
        "kstack",
        "args",
        "args.x",
        "comm",
        "(uint8)",
        "(struct A *)",
        ".0",
        ".x",
        "->",
        "?",
        ":",
        "if",
        "for ($i : 0..3)",
        "while (1)",
        "return",
        "let",
        "str(",
        "print(",
        "sizeof(",
        "(1, 2)",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for round in 0..1000_usize {
        let mut words: Vec<&str> = seeds[round % seeds.len()].split_inclusive(' ').collect();
        for _ in 0..=next(&mut state) % 3 {
            let at = next(&mut state) as usize % words.len();
            match next(&mut state) % 3 {
                0 => drop(words.remove(at)),
                1 => words.insert(at, pieces[next(&mut state) as usize % pieces.len()]),
                _ => words[at] = pieces[next(&mut state) as usize % pieces.len()],
            }
            if words.is_empty() {
                break;
            }
        }
        let script = words.concat();
        let checked = checked(&script);
        if !crate::lang::diagnostic::has_errors(&checked.diagnostics) {
            let problems = crate::lang::typed::validate::validate(&checked.program);
            assert_eq!(problems, Vec::<String>::new(), "{script}");
        }
    }
}

#[test]
fn large_and_deep_scripts_take_bounded_room() {
    let deep = format!("BEGIN {{ $x = {}1{}; }}", "(1 + ".repeat(150), ")".repeat(150));
    let chain = format!("BEGIN {{ $x = 1{}; }}", " + pid".repeat(300));
    let nested = format!("BEGIN {{ {} exit(); {} }}", "if (pid) {".repeat(90), "}".repeat(90));
    for script in [deep, chain, nested] {
        assert_eq!(errors(&script), Vec::<String>::new());
    }
    // Each map takes its type from the next: the walks end all the same.
    let links: String = (0..60).map(|n| format!("@m{n} = @m{}; ", n + 1)).collect();
    assert_eq!(errors(&format!("BEGIN {{ {links} @m60 = 1; }}")), Vec::<String>::new());
}

#[test]
fn one_mistake_is_told_once() {
    for (script, wanted) in [
        ("BEGIN { print(\"hello); }", &["P0003 this string is not closed on its line"][..]),
        ("BEGIN { x = 5; }", &["P0052 this can't be assigned to"]),
        ("BEGIN { 5++; }", &["P0053 `++` can't change this"]),
        (
            "macro m($x) { $x } BEGIN { print(m(5, 6)); }",
            &["P0080 Call to m() has arguments that do not match any definition."],
        ),
        ("BEGIN { for (i = 0; i < 5; i++) { print(i); } }", &["P0060 expected the loop's variable, found `i`"]),
        (
            "BEGIN { for ($i = 0; $i < 5; $i++) { print($i); } }",
            &["P0060 expected `:` after the loop's variable, found `=`"],
        ),
        ("BEGIN { foreach ($k in @x) { print($k); } }", &["P0060 there is no `foreach` in this language"]),
        (
            "BEGIN { switch (pid) { case 1: print(1); default: print(2); } }",
            &["P0040 there is no `switch` in this language"],
        ),
        ("BEGIN { do { print(1); } while (pid); print(2); }", &["P0040 there is no `do` in this language"]),
        ("BEGIN { int x = 5; }", &["P0040 a declaration as in C"]),
        ("BEGIN { struct task_struct *$t = curtask; print($t); }", &["P0040 a declaration as in C"]),
        ("BEGIN { $x = 1; if ($x = 5) { } }", &["P0061 `=` assigns; it can't stand in a condition"]),
        (
            "BEGIN { if (pid == 1 and not uid or gid) { print(1); } }",
            &["P0062 `and` is written `&&`", "P0062 `not` is written `!`", "P0062 `or` is written `||`"],
        ),
        ("BEGIN { self->x = 5; }", &["P0226 this can't be assigned to"]),
        (
            "struct a { int x; } __attribute__((packed BEGIN { }",
            &[
                "P0232 the script has no probe, so there is nothing to run",
                "P0045 expected `)`, found the end of the script",
            ],
        ),
        // Another mistake at another place is told beside it.
        ("BEGIN { x = 5; print(y); }", &["P0052 this can't be assigned to", "P0200 Unknown identifier: 'y'"]),
    ] {
        assert_eq!(errors(script), wanted, "{script}");
    }
}

#[test]
fn words_of_other_languages_are_explained() {
    for (script, wanted) in [
        ("BEGIN { @[comm] = count; }", "it is a function: `count(): count_t`"),
        ("BEGIN { @q = quantize(5); }", "histograms are made by `hist(n)`"),
        ("BEGIN { print(timestamp); }", "the time in nanoseconds is `nsecs`"),
        ("BEGIN { if (pid = 1) { } }", "`(name = value)` makes a record; to compare write `==`"),
        ("BEGIN / pid = 1 / { }", "a predicate assigns nothing; to compare write `==`"),
    ] {
        let helps: Vec<_> = checked(script).diagnostics.into_iter().filter_map(|d| d.help).collect();
        assert!(helps.iter().any(|h| h == wanted), "{script}: {helps:?}");
    }
}
