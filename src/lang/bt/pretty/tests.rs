use super::*;
use crate::lang::bt::dump;

fn pretty(text: &str) -> String {
    format(&SourceText::new("t", text)).unwrap_or_else(|| panic!("not formatted: {text}"))
}

fn tree(text: &str) -> String {
    dump::script(&parse(&SourceText::new("t", text)).script)
}

#[test]
fn blanks_go_where_people_expect_them() {
    for (text, wanted) in [
        ("BEGIN{exit();}", "BEGIN { exit(); }\n"),
        ("BEGIN{}", "BEGIN { }\n"),
        ("kprobe:f/pid==1/{@[comm,pid]=count();}", "kprobe:f /pid == 1/ { @[comm, pid] = count(); }\n"),
        ("BEGIN\n{\nexit();\n}", "BEGIN\n{\n    exit();\n}\n"),
        ("BEGIN {\n$x=-1*( 2+$y );$z=!$x;}", "BEGIN {\n    $x = -1 * (2 + $y);\n    $z = !$x;\n}\n"),
        (
            "BEGIN {\nif(pid==1){print(1);}\nelse   if tid {\nprint(2);\n} else {\n}\n}",
            "BEGIN {\n    if (pid == 1) { print(1); } else if tid {\n        print(2);\n    } else { }\n}\n",
        ),
        (
            "BEGIN { $p=(struct task_struct*)curtask; $q=(uint64)-1; $r=*$p; }",
            "BEGIN { $p = (struct task_struct *)curtask; $q = (uint64)-1; $r = *$p; }\n",
        ),
        ("BEGIN { $x++;++$y;@m[ 1 ]--; $t . 0; args -> x; }", "BEGIN { $x++; ++$y; @m[1]--; $t.0; args->x; }\n"),
        (
            "BEGIN { for($kv:@m){print($kv.0);} for $i : 0 .. 3 { } }",
            "BEGIN { for ($kv : @m) { print($kv.0); } for $i : 0..3 { } }\n",
        ),
        (
            "BEGIN { let $x :uint64=5; $y=$x?1:2; $z=$x ?: 3; }",
            "BEGIN { let $x: uint64 = 5; $y = $x ? 1 : 2; $z = $x ?: 3; }\n",
        ),
        ("struct a{int x;char*y,z[4];unsigned f:3;};", "struct a { int x; char *y, z[4]; unsigned f : 3; };\n"),
        (
            "struct a {\nstruct { int z; } in;\nvoid (*f)(int);\n} __attribute__((packed));",
            "struct a {\n    struct { int z; } in;\n    void (*f)(int);\n} __attribute__((packed));\n",
        ),
        ("config={a=1;b=2}\nlet @m=lruhash(5);", "config = { a = 1; b = 2 }\nlet @m = lruhash(5);\n"),
        ("macro f( $a,@b ,c){$a=c;@b[c]}", "macro f($a, @b, c) { $a = c; @b[c] }\n"),
        ("fn f($a:int64):int64{return $a;}", "fn f($a: int64) : int64 { return $a; }\n"),
        ("import \"x.bt\" ;", "import \"x.bt\";\n"),
        ("BEGIN { $x = - -$y; $z = - --$y; $w = -  (-1); }", "BEGIN { $x = - -$y; $z = - --$y; $w = -(-1); }\n"),
        ("$x", ""),
    ] {
        if wanted.is_empty() {
            assert_eq!(format(&SourceText::new("t", text)), None, "scripts with errors are left alone");
        } else {
            assert_eq!(pretty(text), wanted, "{text}");
        }
    }
}

#[test]
fn the_authors_lines_and_comments_stay() {
    let text = "#!/usr/bin/env bpftrace
/* Head
 * of the script */

#ifndef BPFTRACE_HAVE_BTF
#include  <x.h>
#else
#define N 2
#endif
kprobe:a,   // first
kprobe:b
/has_key(@x, tid) &&
 pid == N/
{
  // why


  printf(\"%d %d\\n\",
     pid,
         tid); // after
  /* before */ exit();

}
";
    let wanted = "#!/usr/bin/env bpftrace
/* Head
 * of the script */

#ifndef BPFTRACE_HAVE_BTF
#include  <x.h>
#else
#define N 2
#endif
kprobe:a, // first
kprobe:b
/has_key(@x, tid) &&
    pid == N/
{
    // why

    printf(\"%d %d\\n\",
        pid,
        tid); // after
    /* before */ exit();
}
";
    assert_eq!(pretty(text), wanted);
    assert_eq!(pretty(wanted), wanted);
}

#[test]
fn long_one_liners_are_opened_up() {
    let text = format!("BEGIN {{ {} }}", "print(1); ".repeat(20));
    let out = pretty(&text);
    assert_eq!(out.lines().count(), 22);
    assert_eq!(pretty(&out), out);
}

mod arbitrary {
    use proptest::prelude::*;

    use super::*;

    /// Whole statements, so that most soups are scripts.
    const PIECES: &[&str] = &[
        "$x=1;",
        "@m[pid , 1]+=$x ;",
        "if(pid==1){",
        "}else{",
        "}",
        "while $x<3 {",
        "for($kv:@m){",
        "// note\n",
        "/* a */",
        "/* a\n b */",
        "\n",
        "\n\n\n",
        "print((1,2)) ;",
        "$y=-(uint8)*$p;",
        "exit()",
        ";",
        "$z = $x ? (struct a*)1:\n2;",
        "\n#ifdef A\n",
        "\n#else\n",
        "\n#endif\n",
        "unroll(3){",
        "{",
        "$x++;",
        "--@c;",
        "printf(\"a\",\n$x,\n\n$y);",
        "}\nkprobe:f,\nuprobe:/a/b:c /@x/\n{",
        "}\nstruct a{int x:3;struct{int*y;}z;};BEGIN{",
        "$b = { 1 };",
        "let $l:string[4]=\"é\";",
        "}macro f($a,b){$a+b}END{",
        "return;",
        "break;",
        "@=hist(1e3);",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn formatting_keeps_the_tree_and_is_done_after_once(
            pieces in prop::collection::vec(prop::sample::select(PIECES), 0..25),
        ) {
            let open: i32 = pieces.iter().map(|p| p.matches('{').count() as i32 - p.matches('}').count() as i32).sum();
            let text = format!("BEGIN {{ {} {}", pieces.concat(), "}".repeat(usize::try_from(open + 1).unwrap_or(0)));
            if let Some(once) = format(&SourceText::new("t", &text)) {
                prop_assert_eq!(tree(&once), tree(&text));
                let twice = format(&SourceText::new("t", &once));
                prop_assert_eq!(twice, Some(once));
            }
        }
    }
}
