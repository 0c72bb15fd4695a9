use super::*;
use crate::lang::bt::dump;

/// The tree of a script that must be free of mistakes.
fn tree(text: &str) -> String {
    let parsed = parse(&SourceText::new("t", text));
    assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
    dump::script(&parsed.script).trim_end().to_owned()
}

/// The tree of statements inside a probe.
fn body(text: &str) -> String {
    let tree = tree(&format!("BEGIN {{ {text} }}"));
    tree.strip_prefix("(probe [BEGIN] {").and_then(|t| t.strip_suffix("})")).unwrap_or(&tree).to_owned()
}

/// Codes and the text they point at.
fn mistakes(text: &str) -> Vec<(u16, String)> {
    let source = SourceText::new("t", text);
    parse(&source).diagnostics.iter().map(|d| (d.code.0, source.slice(d.span).to_owned())).collect()
}

#[test]
fn operators_bind_as_in_c() {
    for (text, wanted) in [
        ("1 + 2 * 3", "(+ 1 (* 2 3))"),
        ("(1 + 2) * 3", "(* (+ 1 2) 3)"),
        ("1 - 2 - 3", "(- (- 1 2) 3)"),
        ("$a | $b ^ $c & $d", "(| $a (^ $b (& $c $d)))"),
        ("$a == 1 && $b < 2 << 3", "(&& (== $a 1) (< $b (<< 2 3)))"),
        ("$a || $b && !$c", "(|| $a (&& $b (! $c)))"),
        ("$a ? 1 : $b ? 2 : 3", "(? $a 1 (? $b 2 3))"),
        ("$a ?: 5", "(?: $a 5)"),
        ("-$a + ~$b", "(+ (- $a) (~ $b))"),
        ("*$p + *($p + 8)", "(+ (* $p) (* (+ $p 8)))"),
        ("&$x", "(& $x)"),
        ("$x++ + ++$y", "(+ ($x ++) (++ $y))"),
        ("@m[pid]--", "(@m[pid] --)"),
        ("10 % 3 / 2", "(/ (% 10 3) 2)"),
    ] {
        assert_eq!(body(text), wanted, "{text}");
    }
}

#[test]
fn values_of_every_form() {
    for (text, wanted) in [
        ("args.fd; args->fd", "(. args fd); (. args fd)"),
        ("$x.0.1; $t[0]", "(. (. $x 0) 1); (index $t 0)"),
        ("@; @m; @m[1, \"a\"]; @m[(1, 2)]", "@; @m; @m[1, \"a\"]; @m[(tuple 1 2)]"),
        ("@m[1].x[2]", "(index (. @m[1] x) 2)"),
        ("(1, \"a\"); (1,)", "(tuple 1 \"a\"); (tuple 1)"),
        ("(x = 1, y = \"z\")", "(record x=1 y=\"z\")"),
        ("$1 + $#; str($2)", "(+ $1 $#); (str $2)"),
        ("(struct task_struct *)curtask", "(cast struct task_struct* curtask)"),
        ("(uint64)$x + 1", "(+ (cast uint64 $x) 1)"),
        ("(uint64)-1", "(cast uint64 (- 1))"),
        ("(int8[4])$x", "(cast int8[4] $x)"),
        ("(int32 *[4])$x", "(cast int32*[4] $x)"),
        ("(string[16])$x", "(cast string[16] $x)"),
        ("(unsigned long long)$x", "(cast unsigned long long $x)"),
        ("(my_t)$x; (pid) - 1", "(cast my_t $x); (- pid 1)"),
        ("(foo *)$x; ($y * 2)", "(cast foo* $x); (* $y 2)"),
        ("(struct a **)arg0", "(cast struct a** arg0)"),
        ("(const char *)arg0", "(cast char* arg0)"),
        ("(typeof($x))1", "(cast typeof($x) 1)"),
        ("sizeof(struct x); sizeof(uint32); sizeof($x)", "(sizeof <struct x>); (sizeof <uint32>); (sizeof $x)"),
        ("offsetof(struct x, a.b)", "(offsetof <struct x> a.b)"),
        ("container_of($p, struct mount, mnt)", "(container_of $p <struct mount> mnt)"),
        ("pid(); pid; nsecs(boot)", "(pid); pid; (nsecs boot)"),
        ("kstack(perf, 3)", "(kstack perf 3)"),
        ("true; false", "true; false"),
        ("5ms; 0x10; 1e3", "5000000; 16; 1000"),
        ("\"a\" \"b\"", "\"ab\""),
        ("comptime 1 + 2", "(comptime (+ 1 2))"),
        ("$x = { $y = 1; $y + 1 }", "(= $x {(= $y 1); => (+ $y 1)})"),
        ("$x = if pid == 1 { 2 } else { 3 }", "(= $x (if (== pid 1) {=> 2} else {=> 3}))"),
        (
            "$x = if pid { 2 } else if tid { 3 } else { 4 }",
            "(= $x (if pid {=> 2} else {=> (if tid {=> 3} else {=> 4})}))",
        ),
    ] {
        assert_eq!(body(text), wanted, "{text}");
    }
}

#[test]
fn statements_of_every_form() {
    for (text, wanted) in [
        ("$x = 1; $x += 2; $x <<= 3", "(= $x 1); (+= $x 2); (<<= $x 3)"),
        ("@m[1] = count(); @ = 5", "(= @m[1] (count)); (= @ 5)"),
        ("_ = delete(@m, 1)", "(_= (delete @m 1))"),
        ("delete(@m[1])", "(delete @m[1])"),
        (
            "let $x; let $y = 1; let $z: uint64 = 2; let $s: string[8]",
            "(let $x); (let $y 1); (let $z:uint64 2); (let $s:string[8])",
        ),
        ("if (pid) { 1; } else if tid { 2; } else { 3 }", "(if pid {1} else {(if tid {2} else {3})})"),
        ("if errname { print(1) } print(2)", "(if errname {(print 1)}); (print 2)"),
        ("if (1) == 2 { }", "(if (== 1 2) {})"),
        ("while ($i < 3) { $i++; }", "(while (< $i 3) {($i ++)})"),
        ("for ($kv : @m) { print($kv.0); }", "(for $kv @m {(print (. $kv 0))})"),
        ("for $i : 0..10 { break; }", "(for $i 0..10 {break})"),
        ("for ($i : @a..@b[1] + 2) { continue }", "(for $i @a..(+ @b[1] 2) {continue})"),
        ("for $j : ((uint64)0)..((uint64)max) { }", "(for $j (cast uint64 0)..(cast uint64 max) {})"),
        ("unroll(5) { $x++ } unroll 3 { }", "(unroll 5 {($x ++)}); (unroll 3 {})"),
        ("return; return 1", "return; (return 1)"),
        ("{ let $x = 1; } $y = 2", "{(let $x 1)}; (= $y 2)"),
        (";; exit();", "(exit)"),
    ] {
        assert_eq!(body(text), wanted, "{text}");
    }
}

#[test]
fn items_of_every_form() {
    for (text, wanted) in [
        ("kprobe:a, kprobe:b /pid == 1/ { @ = 1 }", "(probe [kprobe:a, kprobe:b] /(== pid 1)/ {(= @ 1)})"),
        ("kprobe:a / 8 / 4 == 2 / { }", "(probe [kprobe:a] /(== (/ 8 4) 2)/ {})"),
        ("kprobe:a /@x[tid]/ // why\n{ }", "(probe [kprobe:a] /@x[tid]/ {})"),
        ("me = kprobe:a { }", "(probe [kprobe:a] as me {})"),
        ("config = { a = 1; b = warn; c = \"x\" } BEGIN {}", "(config a=1 b=warn c=\"x\")\n(probe [BEGIN] {})"),
        ("import \"lib.bt\"; BEGIN {}", "(import \"lib.bt\")\n(probe [BEGIN] {})"),
        ("let @m = lruhash(1 << 4);", "(let @m lruhash (<< 1 4))"),
        ("macro f(a, $v, @m) { $v = a; @m[a] }", "(macro f (a $v @m) {(= $v a); => @m[a]})"),
        ("macro f() { if 1 { 2 } else { 3 } }", "(macro f () {=> (if 1 {=> 2} else {=> 3})})"),
        ("macro f() { if 1 { print(2) } }", "(macro f () {(if 1 {(print 2)})})"),
        (
            "fn f($a: int64, $b: struct x *) : int64 { return $a; }",
            "(fn f ($a:int64 $b:struct x*) -> int64 {(return $a)})",
        ),
        ("#define N 2 + 3\nBEGIN { print(N * 2) }", "(probe [BEGIN] {(print (+ 2 (* 3 2)))})"),
    ] {
        assert_eq!(tree(text), wanted, "{text}");
    }
}

#[test]
fn c_definitions_of_every_form() {
    for (text, wanted) in [
        ("struct a { int x; unsigned char *y, z[4]; };", "(struct a [int x] [unsigned char* y] [unsigned char[4] z])"),
        ("struct a { int m[2][3]; }", "(struct a [int[3][2] m])"),
        ("struct a { u32 f : 3, : 5, g : 1; };", "(struct a [u32 f:3] [u32 :5] [u32 g:1])"),
        ("struct a { int x; } __attribute__((packed));", "(struct a packed [int x])"),
        ("struct __attribute__((packed, aligned(4))) a { int x; };", "(struct a packed [int x])"),
        ("struct a { void (*f)(int, struct b *); int (*g[2])(void); };", "(struct a [void* f] [void*[2] g])"),
        (
            "struct a { union { int x; char y; }; struct { int z; } in; };",
            "(struct a [(union  [int x] [char y]) ] [(struct  [int z]) in])",
        ),
        ("struct a { struct b *next; const struct c d; };", "(struct a [struct b* next] [struct c d])"),
        ("union u { int a; };", "(union u [int a])"),
        ("enum e { A, B = 5, C = 1 << 3, };", "(enum e A B=5 C=(<< 1 3))"),
        ("typedef unsigned long ul, *pul;", "(typedef ul unsigned long)\n(typedef pul unsigned long*)"),
        ("typedef struct { int x; } t;", "(struct t [int x])\n(typedef t struct t)"),
        ("typedef int (*cb)(void);", "(typedef cb void*)"),
        ("struct fwd; struct a { int x; };", "(struct a [int x])"),
        ("#define N 4\nstruct a { char c[N * 2]; };", "(struct a [char[8] c])"),
    ] {
        assert_eq!(tree(text), wanted, "{text}");
    }
}

#[test]
fn mistakes_have_a_code_and_a_place() {
    for (text, wanted) in [
        ("BEGIN { $x = ; }", vec![(41, ";")]),
        ("BEGIN { $x = 1 $y = 2; }", vec![(42, "")]),
        ("BEGIN { if (pid) exit(); }", vec![(43, "exit")]),
        ("BEGIN { exit();", vec![(44, "")]),
        ("BEGIN { print((1 + 2; }", vec![(45, ";")]),
        ("BEGIN { } }", vec![(46, "}")]),
        ("kprobe:f", vec![(47, "")]),
        ("kprobe:f kprobe:g { }", vec![(48, "kprobe:g")]),
        ("kprobe:f /pid == 1 { }", vec![(49, "{")]),
        ("printf(\"x\");", vec![(50, "printf(\"x\")")]),
        ("BEGIN { 1 = 2; }", vec![(52, "1")]),
        ("BEGIN { pid()++; }", vec![(53, "pid()")]),
        ("BEGIN { $x = (struct)1; }", vec![(40, ")")]),
        ("config = { a = 1; }\nconfig = { b = 2; }", vec![(56, "config = { b = 2; }")]),
        ("config = { 5 }", vec![(57, "5")]),
        ("BEGIN { unroll { } }", vec![(58, "{")]),
        ("macro f(5) { }", vec![(59, "5")]),
        ("BEGIN { for ($x : 5) { } }", vec![(60, "5")]),
        ("BEGIN { for (i : @m) { } }", vec![(60, "i")]),
        ("BEGIN { if $x = 1 { } }", vec![(61, "=")]),
        ("BEGIN { $x = 1.5; }", vec![(8, "1.5")]),
        ("BEGIN { $x = 99999999999999999999; }", vec![(7, "99999999999999999999")]),
        ("BEGIN { $x = 5furlongs; }", vec![(6, "5furlongs")]),
        ("BEGIN { print(\"a\\q\"); }", vec![(4, "\\q")]),
        ("BEGIN { print($0); }", vec![(6, "$0")]),
        ("struct a { int; int 5; };", vec![(55, "5")]),
        ("BEGIN { let @m = hash(1); }", vec![(40, "@m")]),
        ("BEGIN { args. }", vec![(40, "}")]),
    ] {
        let wanted: Vec<_> = wanted.into_iter().map(|(c, t)| (c, t.to_owned())).collect();
        assert_eq!(mistakes(text), wanted, "{text}");
    }
}

#[test]
fn several_mistakes_are_told_at_once_and_the_rest_is_read() {
    let text = "kprobe:a { $x = ; @y = 1; }\nkprobe:b { print(; }\nkprobe:c { @z = 1;\nkprobe:d { @ok = 1 }\n";
    let codes: Vec<_> = mistakes(text).into_iter().map(|(c, _)| c).collect();
    assert_eq!(codes, [41, 41, 44]);
    let tree = dump::script(&parse(&SourceText::new("t", text)).script);
    assert!(tree.contains("(= @y 1)") && tree.contains("[kprobe:d] {(= @ok 1)}"), "{tree}");
}

#[test]
fn a_half_typed_field_keeps_what_it_belongs_to() {
    let parsed = parse(&SourceText::new("t", "kprobe:a { print(args.) }"));
    assert!(dump::script(&parsed.script).contains("(. args )"));
}

/// Runs on a thread with the stack of a worker.
fn on_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn deep_nesting_is_refused_not_followed() {
    on_small_stack(|| {
        let n = 1000;
        for text in [
            format!("BEGIN {{ $x = {}1{}; }}", "(".repeat(n), ")".repeat(n)),
            format!("BEGIN {{ $x = {}1; }}", "-".repeat(n)),
            format!("BEGIN {{ $x = {}1; }}", "!(uint64)*".repeat(n)),
            format!("BEGIN {{ {} {} }}", "if (1) {".repeat(n), "}".repeat(n)),
            format!("BEGIN {{ {} {} }}", "{".repeat(n), "}".repeat(n)),
            format!("BEGIN {{ {} {{ }} }}", "if (1) { } else ".repeat(n)),
            format!("BEGIN {{ $x = 1{}; }}", " + 1".repeat(100_000)),
            format!("BEGIN {{ $x = $y{}; }}", ".a".repeat(100_000)),
            format!("BEGIN {{ $x = {}1; }}", "1 ? 1 : ".repeat(n)),
            format!("BEGIN {{ {} }}", "@[".repeat(n)),
            format!("BEGIN {{ {} }}", "f(".repeat(n)),
            "struct a { ".repeat(n),
        ] {
            let parsed = parse(&SourceText::new("t", &text));
            let deep = parsed.diagnostics.iter().filter(|d| d.code == codes::TOO_DEEP).count();
            assert_eq!(deep, 1, "{}: {:?}", &text[..40], parsed.diagnostics.first());
            assert!(parsed.diagnostics.len() <= 2, "{}: {:?}", &text[..40], parsed.diagnostics.get(1));
        }
    });
}

#[test]
fn long_lists_are_no_deep_nesting() {
    on_small_stack(|| {
        let parts: Vec<_> = (0..20_000).map(|i| format!("pid == {i}")).collect();
        let parsed = parse(&SourceText::new("t", &format!("kprobe:a /{}/ {{ }}", parts.join(" || "))));
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics.first());
        let many = "kprobe:f { @[pid] = count(); }\n".repeat(40_000);
        assert_eq!(parse(&SourceText::new("t", &many)).script.items.len(), 40_000);
    });
}

mod arbitrary {
    use proptest::prelude::*;

    use super::*;

    /// Pieces of scripts, so that soups get past the lexer.
    const PIECES: &[&str] = &[
        "BEGIN",
        "kprobe:f",
        "uprobe:/a/b:c",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        ",",
        "/",
        "if",
        "else",
        "for",
        "while",
        "unroll",
        "let",
        "macro",
        "fn",
        "config",
        "import",
        "struct",
        "union",
        "enum",
        "typedef",
        "x",
        "$x",
        "@m",
        "@",
        "$1",
        "$#",
        "1",
        "5ms",
        "\"s\"",
        "\"",
        "=",
        "==",
        "+",
        "-",
        "*",
        "&",
        "!",
        "++",
        ".",
        "..",
        "->",
        "?",
        ":",
        "\n",
        "\n#if 1\n",
        "\n#else\n",
        "\n#endif\n",
        "\n#define x x\n",
        "/*",
        "*/",
        "//",
        "sizeof(",
        "offsetof(",
        "comptime",
        "return",
        "break",
        "args.",
        "(uint64)",
        "int",
        "__attribute__((packed))",
        "\nkprobe:g ",
        "é",
        "'",
        "\\",
        "\0",
    ];

    fn check(text: &str) {
        let source = SourceText::new("t", text);
        let parsed = parse(&source);
        for d in &parsed.diagnostics {
            assert!(d.span.start <= d.span.end && d.span.end as usize <= text.len(), "{d:?}");
            assert!(
                text.is_char_boundary(d.span.start as usize) && text.is_char_boundary(d.span.end as usize),
                "{d:?}"
            );
            assert!(crate::lang::codes::explain(d.code).is_some());
        }
        let _ = dump::script(&parsed.script);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn any_text_is_read_without_panic(text in "\\PC{0,200}") {
            check(&text);
        }

        #[test]
        fn any_soup_of_tokens_is_read_without_panic(
            pieces in prop::collection::vec(prop::sample::select(PIECES), 0..80),
            separator in prop::sample::select(&["", " "][..]),
        ) {
            check(&pieces.join(separator));
        }
    }
}

#[test]
fn what_follows_a_brace_too_many_is_told_once() {
    let text = "begin {\n  }@n = 1; @m[pid] = count(); printf(\"%d: x\\n\", pid, str(arg0));\n}\nend { print(@n) }\n";
    let parsed = parse(&SourceText::new("t.bt", text));
    let said: Vec<&str> = parsed.diagnostics.iter().map(|d| &*d.message).collect();
    assert_eq!(said, ["this stands outside of any probe"]);
    assert_eq!(parsed.diagnostics[0].labels[0].span, Span::new(10, 11));
    assert_eq!(parsed.script.items.len(), 2, "the probe after it is read again");
}
