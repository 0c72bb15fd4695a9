use super::*;
use crate::lang::service::{Field, Knowledge, ProbeHit, RenameError, ServiceEnv, SymbolKind};
use crate::lang::source::{SourceText, Span};

/// A small world.
struct World;

fn field(name: &str, ty: &str) -> Field {
    Field { name: name.into(), ty: ty.into() }
}

impl Knowledge for World {
    fn probes(&self, typed: &str, limit: usize) -> Vec<ProbeHit> {
        let all = ["tracepoint:syscalls:sys_enter_openat", "kprobe:vfs_read"];
        let fits = all.into_iter().filter(|p| p.contains(typed)).take(limit);
        fits.map(|p| ProbeHit { point: p.into(), detail: String::new() }).collect()
    }
    fn args(&self, point: &str) -> Vec<Field> {
        if point.contains("openat") {
            vec![field("dfd", "int"), field("filename", "const char *")]
        } else if point.contains("vfs_read") {
            vec![field("file", "struct file *")]
        } else {
            Vec::new()
        }
    }
    fn retval(&self, point: &str) -> Option<String> {
        point.starts_with("fexit").then(|| "struct file *".into())
    }
    fn members(&self, ty: &str) -> Vec<Field> {
        match ty {
            "struct file" => vec![field("f_inode", "struct inode *"), field("f_flags", "unsigned int")],
            "struct inode" => vec![field("i_ino", "unsigned long")],
            "struct bpf_iter__task" => {
                vec![field("meta", "struct bpf_iter_meta *"), field("task", "struct task_struct *")]
            }
            "struct task_struct" => vec![field("parent", "struct task_struct *"), field("comm", "char[16]")],
            _ => Vec::new(),
        }
    }
    fn structs(&self, prefix: &str, _: usize) -> Vec<String> {
        ["file", "inode"].into_iter().filter(|n| n.starts_with(prefix)).map(Into::into).collect()
    }
}

/// The text without its `|` and where that stood.
fn marked(text: &str) -> (SourceText, u32) {
    let at = text.find('|').expect("a cursor");
    (SourceText::new("t", &text.replacen('|', "", 1)), at as u32)
}

fn labels(text: &str) -> Vec<String> {
    let (source, at) = marked(text);
    let found = completions(&source, at, &ServiceEnv { knowledge: &World });
    for completion in &found {
        assert!(completion.replace.start <= at && at <= completion.replace.end, "{completion:?}");
    }
    found.into_iter().map(|c| c.label).collect()
}

#[test]
fn completion_offers_what_fits_the_place() {
    for (text, wanted) in [
        ("openat|", &["tracepoint:syscalls:sys_enter_openat"][..]),
        ("kprobe:vfs|", &["kprobe:vfs_read"]),
        ("kprobe:a, vfs|", &["kprobe:vfs_read"]),
        ("tracepoint:syscalls:sys_enter_openat { args.| }", &["dfd", "filename"]),
        ("tracepoint:syscalls:sys_enter_openat { print(args->fi|", &["dfd", "filename"]),
        ("tracepoint:syscalls:sys_enter_openat /args.|/ { }", &["dfd", "filename"]),
        ("kprobe:vfs_read { $f = args.file; $f.| }", &["f_inode", "f_flags"]),
        ("kprobe:vfs_read { $f = (struct file *)arg0; $i = $f.f_inode; $i.| }", &["i_ino"]),
        ("kprobe:vfs_read { @f[tid] = args.file; }\nEND { @f[1].| }", &["f_inode", "f_flags"]),
        ("fexit:x { retval.| }", &["f_inode", "f_flags"]),
        ("iter:task { ctx.| }", &["meta", "task"]),
        ("it:task:pin { ctx->task.| }", &["parent", "comm"]),
        ("fexit:x { ctx.| }", &[]),
        ("BEGIN { curtask.parent.| }", &["parent", "comm"]),
        ("struct s { int a; union { int b; }; };\nBEGIN { $s = (struct s *)0; $s->| }", &["a", "b"]),
        ("typedef struct file ft;\nBEGIN { ((ft *)1).| }", &["f_inode", "f_flags"]),
        ("BEGIN { $s = (struct in|", &["inode"]),
        ("BEGIN { $abc = 1; $abd = 2; $x = 3; print($ab|); }", &["$abc", "$abd"]),
        ("BEGIN { @start = 1; } END { @s| }", &["@start"]),
        ("BEGIN { hi| }", &["hist"]),
        ("macro mine(x) { 1 } BEGIN { mi| }", &["mine", "min"]),
        ("BEGIN { \"hi|\" }", &[]),
        ("// hi|", &[]),
        ("kprobe:f |", &[]),
        ("config = { max_map|", &["max_map_keys"]),
        ("config = { max_map_keys = 1; stack_m| }", &["stack_mode"]),
        ("config = { missing_probes = | }", &["error", "warn", "ignore"]),
        ("config = { missing_probes = w|", &["warn"]),
        ("BEGIN { let $x: uint1| = 1; }", &["uint16"]),
        ("fn f($a: inte|", &[]),
        ("fn f($a: boo|", &["bool"]),
        ("fn f($a: int8) : stri|", &["string"]),
        ("BEGIN { $x = (uint3|", &["uint32"]),
        ("BEGIN { @a[1] = 2; for ($kv : @a) { print($kv.|); } }", &["0", "1"]),
        ("BEGIN { $r = (ab = 1, c = (pid, curtask)); $r.| }", &["ab", "c"]),
        ("BEGIN { $r = (ab = 1, c = (pid, curtask)); $r.c.1.| }", &["parent", "comm"]),
        ("BEGIN { @a[pid, 1] = (1, curtask); for ($kv : @a) { $kv.1.1.| } }", &["parent", "comm"]),
        ("BEGIN { @a[pid, (c = 1)] = 2; for ($kv : @a) { $kv.0.1.| } }", &["c"]),
        ("enum e { ONE, ONLY };\nBEGIN { ON| }", &["ONE", "ONLY"]),
        ("#define ONE 1\nBEGIN { ON| }", &["ONE"]),
        ("kpr|", &["kprobe:", "kprobe:vfs_read"]),
    ] {
        assert_eq!(labels(text), wanted, "{text}");
    }
    let everything = labels("BEGIN { $a = 1; | }");
    for name in ["$a", "pid", "printf", "if"] {
        assert!(everything.iter().any(|l| l == name), "{name} is not in {everything:?}");
    }
}

#[test]
fn hover_shows_types_and_sentences() {
    for (text, code, doc) in [
        ("BEGIN { pi|d }", "pid: uint32", "Process id"),
        ("BEGIN { nse|cs(boot) }", "nsecs([mode]): uint64", "another clock"),
        ("BEGIN { hi|st(1) }", "hist(n[, bits]): hist_t", "powers of two"),
        ("kprobe:vfs_read { $f = args.file; |$f }", "$f: struct file *", ""),
        ("kprobe:vfs_read { args.fi|le }", "struct file *file", ""),
        ("kprobe:vfs_re|ad { }", "kprobe:vfs_read\n    struct file *file", "entered"),
        ("BEGIN { @x[pid] = count(); } END { print(@x|); }", "@x: count_t", "`@x[pid] = count()`"),
        ("macro m($a, b) { } BEGIN { m|($x, 1) }", "macro m($a, b)", ""),
        ("#define N 5\nBEGIN { print(N|) }", "#define N 5", ""),
        ("BEGIN { 5m|s }", "5000000 (0x4c4b40)", ""),
        ("config = { max_map|_keys = 5 }", "max_map_keys = 4096", "Keys that a map can hold"),
        ("config = { stack_mo|de = perf }", "stack_mode = bpftrace", "One of bpftrace, raw, perf, build_id."),
        ("BEGIN { $x = (struct in|ode *)0; }", "struct inode\n    unsigned long i_ino", ""),
        ("struct s { int a; }; BEGIN { sizeof(struct s|) }", "struct s\n    int a", ""),
        ("enum e { A, B = 5, C }; BEGIN { print(C|); }", "C = 6", "Of enum e."),
        ("enum e { A = 2, B = A << 3, C }; BEGIN { print(C|); }", "C = 17", "Of enum e."),
        ("enum e { A = 2 }; enum { B = -A, C = B - 1 }; BEGIN { print(C|); }", "C = -3", "Of an enum without a name."),
        ("BEGIN { $r = (a = 1, b = (2, comm)); |$r }", "$r: (a: int64, b: (int64, string[16]))", ""),
        ("BEGIN { @a[pid] = 1; for ($kv : @a) { |$kv } }", "$kv: (uint32, int64)", ""),
        ("BEGIN { unro|ll(5) { } }", "unroll(5) { ... }", ""),
        ("BEGIN { $x = (uint6|4)1; }", "uint64", "8 bytes, unsigned."),
    ] {
        let (source, at) = marked(text);
        let hover = hover(&source, at, &ServiceEnv { knowledge: &World }).unwrap_or_else(|| panic!("nothing: {text}"));
        assert_eq!(hover.code, code, "{text}");
        assert!(hover.doc.contains(doc), "{text}: {}", hover.doc);
    }
}

#[test]
fn signatures_tell_which_parameter_is_typed() {
    for (text, label, active) in [
        ("BEGIN { lhist(1, |", "lhist(n, min, max, step): lhist_t", "min"),
        ("BEGIN { @ = lhist(f(1, 2), 0, g[3, 4], |)", "lhist(n, min, max, step): lhist_t", "step"),
        ("BEGIN { str(|) }", "str(pointer[, length]): string", "pointer"),
        ("BEGIN { str((1, 2), |) }", "str(pointer[, length]): string", "length"),
        ("macro m($a, b) { } BEGIN { m($x,| }", "m($a, b)", "b"),
        ("fn f($a: int64) { } BEGIN { f(| }", "f($a: int64)", "$a: int64"),
        ("BEGIN { print(|", "print(value) or print(@map[, top[, div]])", "value"),
        ("BEGIN { print(@m, 5, |", "print(value) or print(@map[, top[, div]])", "div"),
    ] {
        let (source, at) = marked(text);
        let help = signature_help(&source, at).unwrap_or_else(|| panic!("nothing: {text}"));
        let (start, end) = help.parameters[help.active];
        assert_eq!((help.label.as_str(), &help.label[start..end]), (label, active), "{text}");
    }
    let (source, at) = marked("BEGIN { str(1); | }");
    assert_eq!(signature_help(&source, at), None);
}

#[test]
fn definitions_are_found() {
    for (text, wanted) in [
        ("BEGIN { $x = 1; $y = $x|; }", "$x = 1"),
        ("BEGIN { let $x = 1; $x| = 2; }", "$x = 1"),
        ("macro m($a) { $a| }", "$a) {"),
        ("let @m = lruhash(1); BEGIN { @m| = 1 }", "@m = lru"),
        ("BEGIN { @m[1] = 2; } END { clear(@m|); }", "@m[1] = 2"),
        ("macro m() { 1 } BEGIN { m|() }", "m() { 1 }"),
        ("struct s { int abc; }; BEGIN { $x.abc| }", "abc; }"),
        ("struct s { int a; }; BEGIN { (struct s|*)1 }", "s { int a"),
        ("enum e { A, B }; BEGIN { print(B|) }", "B }"),
        ("#define N 5\nBEGIN { N| }", "#define N"),
        ("struct a { int x; }; struct b { char x; }; BEGIN { ((struct b *)0)->x| }", "x; }; BEGIN"),
    ] {
        let (source, at) = marked(text);
        let span = definition(&source, at).unwrap_or_else(|| panic!("nothing: {text}"));
        assert!(source.text[span.start as usize..].starts_with(wanted), "{text}: {}", source.slice(span));
    }
}

/// The text with every place in brackets.
fn bracketed(source: &SourceText, spans: &[Span]) -> String {
    let mut text = source.text.to_string();
    for span in spans.iter().rev() {
        text.insert(span.end as usize, ']');
        text.insert(span.start as usize, '[');
    }
    text
}

#[test]
fn references_are_of_one_thing() {
    for (text, wanted) in [
        ("BEGIN { $x = 1; print($x|); } END { $x = 2; }", "BEGIN { [$x] = 1; print([$x]); } END { $x = 2; }"),
        ("BEGIN { @m|[1] = 2; } END { clear(@m); @mm = 1; }", "BEGIN { [@m][1] = 2; } END { clear([@m]); @mm = 1; }"),
        ("macro f(@m) { @m = 1 } BEGIN { @m = 2; f(@m|); }", "macro f(@m) { @m = 1 } BEGIN { [@m] = 2; f([@m]); }"),
        ("macro f(@m) { @m| = 1 } BEGIN { @m = 2; }", "macro f([@m]) { [@m] = 1 } BEGIN { @m = 2; }"),
        ("macro f(a) { a + a| } BEGIN { f(1); }", "macro f([a]) { [a] + [a] } BEGIN { f(1); }"),
        ("macro f() { 1 } BEGIN { f|(); $x.f; \"f\" }", "macro [f]() { 1 } BEGIN { [f](); $x.f; \"f\" }"),
        ("#define N 5\nBEGIN { print(N|); } // N", "#define [N] 5\nBEGIN { print([N]); } // N"),
        (
            "struct s { int a; };\nBEGIN { $p = (struct s|*)0; }",
            "struct [s] { int a; };\nBEGIN { $p = (struct [s]*)0; }",
        ),
        ("BEGIN { pid|; $x = pid; }", "BEGIN { pid; $x = pid; }"),
    ] {
        let (source, at) = marked(text);
        assert_eq!(bracketed(&source, &references(&source, at)), wanted);
    }
}

#[test]
fn a_new_name_goes_everywhere_or_nowhere() {
    let after = |text: &str, new: &str| {
        let (source, at) = marked(text);
        rename(&source, at, new).map(|edits| {
            let mut text = source.text.to_string();
            for (span, new) in edits.iter().rev() {
                text.replace_range(span.start as usize..span.end as usize, new);
            }
            text
        })
    };
    assert_eq!(
        after("BEGIN { @|[1] = 2; print(@); }", "@counts").unwrap(),
        "BEGIN { @counts[1] = 2; print(@counts); }"
    );
    assert_eq!(after("BEGIN { $a| = 1; print($a); }", "b2").unwrap(), "BEGIN { $b2 = 1; print($b2); }");
    assert_eq!(after("BEGIN { $a| = 1; } END { $b = 1; }", "b").unwrap(), "BEGIN { $b = 1; } END { $b = 1; }");
    assert_eq!(after("BEGIN { $a| = 1; $b = 2; }", "b"), Err(RenameError::Taken("$b".to_owned())));
    assert_eq!(after("BEGIN { @a| = 1; } END { @b = 1; }", "b"), Err(RenameError::Taken("@b".to_owned())));
    assert_eq!(after("BEGIN { $a| = 1; }", "1x"), Err(RenameError::BadName("1x".to_owned())));
    assert_eq!(after("BEGIN { $a| = 1; }", "x y"), Err(RenameError::BadName("x y".to_owned())));
    assert_eq!(after("BEGIN { print(pid|); }", "x"), Err(RenameError::NoName));
}

#[test]
fn symbols_name_the_items() {
    let text = "config = { a = 1 }\nmacro m() { 1 }\nkprobe:a, kprobe:b { }\nBEGIN { }\nlet @m = hash(1);";
    let found: Vec<_> = symbols(&SourceText::new("t", text)).into_iter().map(|s| (s.name, s.kind)).collect();
    let wanted = [
        ("config", SymbolKind::Config),
        ("m", SymbolKind::Macro),
        ("kprobe:a, kprobe:b", SymbolKind::Probe),
        ("BEGIN", SymbolKind::Probe),
        ("@m", SymbolKind::Map),
    ];
    assert_eq!(found, wanted.map(|(n, k)| (n.to_owned(), k)));
}

#[test]
fn every_position_of_a_half_typed_script_has_an_answer() {
    let text = "#define N 1\nstruct s { int x; };\nkprobe:vfs_read /args.file/ { $f = args.file; @m[$f.f_inode.] = str(, 1\nBEGIN { printf(\"%d\", ";
    let source = SourceText::new("t", text);
    let env = ServiceEnv { knowledge: &World };
    for at in 0..=text.len() as u32 + 2 {
        let _ = (
            completions(&source, at, &env),
            hover(&source, at, &env),
            definition(&source, at),
            signature_help(&source, at),
            references(&source, at),
            rename(&source, at, "name"),
        );
    }
}
