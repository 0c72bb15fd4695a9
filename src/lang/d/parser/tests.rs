use super::*;
use crate::lang::codes::d::tag;
use crate::lang::d::dump;

fn parsed(text: &str) -> Parsed {
    parse(&SourceText::new("t.d", text))
}

/// The dump of a program without errors, which is read as the same program again.
fn dumped(text: &str) -> String {
    let parsed = parsed(text);
    assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
    dump::program(&parsed)
}

fn first_tag(text: &str) -> Option<&'static str> {
    parsed(text).diagnostics.first().and_then(|d| tag(d.code))
}

#[test]
fn clauses_predicates_and_precedence() {
    let text = "BEGIN, tick-1s\n/ a / 2 == 3 && (b / c) > 1 /\n{ x = 1 + 2 * 3; ; self->t = timestamp; @[execname, pid] = sum(x); }\nEND { exit(0) }";
    let wanted = "BEGIN,\ntick-1s\n/(((a / 2) == 3) && ((b / c) > 1))/\n{\n\t(x = (1 + (2 * 3)));\n\t;\n\t(self->t = timestamp);\n\t(@[execname, pid] = sum(x));\n}\nEND\n{\n\texit(0);\n}\n";
    assert_eq!(dumped(text), wanted);
}

#[test]
fn declarations_of_all_forms() {
    for (text, wanted) in [
        ("int x;", "int x;\n"),
        ("unsigned long long *a, b[3][4];", "unsigned long long *a, b[3][4];\n"),
        ("self int x;", "self int x;\n"),
        ("this string s;", "this string s;\n"),
        ("string names[int, string];", "string names[int, string];\n"),
        (
            "typedef struct s { int a : 3; char *n; } s_t; s_t v;",
            "typedef struct s { int a : 3; char *n; } s_t;\ns_t v;\n",
        ),
        ("enum e { A, B = 4 };", "enum e { A, B = 4 };\n"),
        ("int (*f)(int, ...);", "int (*f)(int, ...);\n"),
        ("inline int ten = 10;", "inline int ten = 10;\n"),
        ("inline string n[int k] = k == 1 ? \"a\" : \"b\";", "inline string n[int k] = ((k == 1) ? \"a\" : \"b\");\n"),
        ("#pragma D option quiet\nBEGIN{}", "#pragma D option quiet\nBEGIN\n{\n}\n"),
        (
            "struct o { int x; }; struct i { int y; }; translator struct o < struct i *p > { x = p->y; };",
            "struct o { int x; };\nstruct i { int y; };\ntranslator struct o < struct i * p > {\n\tx = p->y;\n};\n",
        ),
        ("provider p { probe a(int); };", "provider p { };\n"),
        ("BEGIN\n{\n#pragma D option quiet\n\tx = 1;\n}\n", "#pragma D option quiet\nBEGIN\n{\n\t(x = 1);\n}\n"),
    ] {
        assert_eq!(dumped(text), wanted, "{text}");
    }
}

#[test]
fn casts_and_operators_on_types() {
    let text = "BEGIN { a = (int)b + sizeof (struct s *) + sizeof b; c = *(char **)p++; d = offsetof(struct s, m); e = xlate <psinfo_t>(q); f = stringof(g); }";
    assert!(
        parse_with(
            text,
            &ParseOptions { macros: &Macros::default(), is_type: &|t| t == "psinfo_t", of_command_line: false }
        )
        .diagnostics
        .is_empty()
    );
    let wanted = "BEGIN\n{\n\t(a = (((int)b) + sizeof (struct s *)));\n}\n";
    assert_eq!(dumped("BEGIN { a = (int)b + sizeof (struct s *) }"), wanted);
}

#[test]
fn mistakes_have_their_tag() {
    for (text, tag) in [
        ("BEGIN { x = 1", "D_SYNTAX"),
        ("BEGIN { x = (1; }", "D_SYNTAX"),
        ("BEGIN { x = 1 y = 2; }", "D_SYNTAX"),
        ("BEGIN /x/", "D_SYNTAX"),
        ("BEGIN", "D_SYNTAX"),
        ("BEGIN { if (x) trace(1); }", "D_SYNTAX"),
        ("BEGIN { x = 1.5; }", "D_SYNTAX"),
        ("BEGIN { x = \"a\n\"; }", "D_STR_NL"),
        ("BEGIN { x = 'a\n'; }", "D_CHR_NL"),
        ("BEGIN { x = ''; }", "D_CHR_NULL"),
        ("BEGIN { x = 'abcdefghi'; }", "D_CHR_OFLOW"),
        ("BEGIN { x = 0129; }", "D_INT_DIGIT"),
        ("BEGIN { x = 99999999999999999999; }", "D_INT_OFLOW"),
        ("BEGIN { /* no end", "D_SYNTAX"),
        ("BEGIN { x = $foo; }", "D_MACRO_UNDEF"),
    ] {
        assert_eq!(first_tag(text), Some(tag), "{text}");
    }
}

#[test]
fn macro_arguments_are_read_by_their_form() {
    let macros = Macros {
        arguments: ["s", "7", "foo", "a b"].map(str::to_owned).to_vec(),
        named: [("target", 42)].into(),
        defaults: false,
    };
    let options = ParseOptions { macros: &macros, is_type: &|_| false, of_command_line: false };
    let parsed = parse_with("pid$target:::entry { trace($1); trace($$1); trace($2); trace($3) }", &options);
    assert!(parsed.diagnostics.is_empty());
    assert_eq!(
        dump::program(&parsed),
        "pid42:::entry\n{\n\ttrace(7);\n\ttrace(\"7\");\n\ttrace(foo);\n\ttrace(\"a b\");\n}\n"
    );
    assert_eq!(parsed.script.used_arguments, [false, true, true, true]);
    assert_eq!(parse_with("BEGIN { trace($4); }", &options).diagnostics.len(), 1);
}

#[test]
fn nesting_ends_with_an_error() {
    for text in ["(".repeat(5000), "a[".repeat(5000), "-".repeat(5000), "a?".repeat(5000), "a=".repeat(5000)] {
        assert!(!parsed(&format!("BEGIN {{ x = {text}")).diagnostics.is_empty());
    }
    assert!(!parsed(&format!("int {}x;", "(*".repeat(5000))).diagnostics.is_empty());
    assert!(!parsed(&format!("BEGIN {{ x = 1{} }}", "+1".repeat(5000))).diagnostics.is_empty());
    assert!(!parsed(&"struct a { ".repeat(5000)).diagnostics.is_empty());
}

#[test]
fn all_that_is_wrong_is_told_once() {
    let found = parsed("BEGIN { x = ; y = ); }\nEND { z = 1 }\ntick-1 { w = * }").diagnostics;
    assert_eq!(found.len(), 3, "{found:?}");
}
