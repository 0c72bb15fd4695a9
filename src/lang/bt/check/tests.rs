//! Scripts with the types or the diagnostics that they give.

use super::facts::NoFacts;
use super::{Checked, MissingProbes};
use crate::kernel::{Kernel, Roots};
use crate::lang::bt::front::{FrontOptions, compile_with};
use crate::lang::diagnostic::Severity;
use crate::lang::source::SourceText;

fn checked(text: &str) -> Checked {
    let kernel = Kernel::new(Roots::running());
    let options = FrontOptions { missing_probes: MissingProbes::Error, ..FrontOptions::new(&kernel) };
    compile_with(&SourceText::new("test.bt", text), &NoFacts, &options)
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
        ("BEGIN { pritnf(\"a\"); }", &["P0201 pritnf"]),
        ("BEGIN { @a = 1; @a = \"x\"; }", &["P0206 \"x\""]),
        ("BEGIN { @a[1] = 1; @a = 2; }", &["P0207 @a"]),
        ("BEGIN { printf(\"%d %d\\n\", 1); }", &["P0202 printf(\"%d %d\\n\", 1)"]),
        ("BEGIN { break; }", &["P0219 break;"]),
        ("BEGIN { print(@nothing); }", &["P0205 @nothing"]),
        ("BEGIN { print(retval); print(arg0); }", &["P0213 retval", "P0213 arg0"]),
        ("BEGIN { signal(9); }", &["P0215 signal(9)"]),
        ("config = { max_map_kyes = 5 } BEGIN { exit(); }", &["P0222 max_map_kyes"]),
    ] {
        assert_eq!(diagnostics(script), expected, "{script}");
    }
}
