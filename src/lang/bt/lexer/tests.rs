use std::fmt::Write as _;

use super::*;

fn kinds(text: &str) -> Vec<TokenKind> {
    lex_as_written(text).tokens.into_iter().map(|t| t.kind).collect()
}

/// The texts of a script's attach points.
fn points(text: &str) -> Vec<&str> {
    let lexed = lex_as_written(text);
    assert!(lexed.diagnostics.is_empty(), "{text}: {:?}", lexed.diagnostics);
    let points = lexed.tokens.into_iter().filter(|t| t.kind == TokenKind::Point);
    points.map(|t| &text[t.span.start as usize..t.span.end as usize]).collect()
}

#[test]
fn integers_have_the_values_people_mean() {
    for (text, value) in [
        ("0", 0),
        ("42", 42),
        ("0x1F", 31),
        ("0755", 0o755),
        ("1e6", 1_000_000),
        ("1_000", 1000),
        ("5ms", 5_000_000),
        ("2us", 2000),
        ("7ns", 7),
        ("10s", 10_000_000_000),
        ("2m", 120_000_000_000),
        ("1h", 3_600_000_000_000),
        ("1d", 86_400_000_000_000),
        ("10UL", 10),
        ("0xffULL", 255),
        ("18446744073709551615", u64::MAX),
    ] {
        assert_eq!(decode_int(text), Ok(value), "{text}");
    }
    for (text, error) in [
        ("18446744073709551616", IntError::TooLarge),
        ("1e20", IntError::TooLarge),
        ("300000d", IntError::TooLarge),
        ("09", IntError::Malformed),
        ("5parsecs", IntError::Malformed),
        ("0x", IntError::Malformed),
        ("1e", IntError::Malformed),
    ] {
        assert_eq!(decode_int(text), Err(error), "{text}");
    }
}

#[test]
fn escapes_become_their_bytes_and_unknown_ones_are_located() {
    assert_eq!(decode_str(r#""a\n\t\"\\\101\x41""#, None), ("a\n\t\"\\AA".into(), vec![]));
    let (value, errors) = decode_str(r#""a\q""#, None);
    assert_eq!((value.as_str(), errors), ("aq", vec![StrError::UnknownEscape(2..4)]));
    let (value, errors) = decode_str(r#""\3771\400""#, None);
    assert_eq!((crate::model::bytes::bytes_of(&value).len(), errors), (3, vec![StrError::EscapeTooLarge(6..10)]));
    let mut map = Vec::new();
    decode_str(r#""\n%d""#, Some(&mut map));
    assert_eq!(map, [1, 3, 4]);
}

#[test]
fn attach_points_are_raw_text_up_to_comma_predicate_or_body() {
    for (text, wanted) in [
        ("kprobe:f{}", vec!["kprobe:f"]),
        ("kprobe:a,\n  kprobe:b /pid/ {}", vec!["kprobe:a", "kprobe:b"]),
        ("kprobe:vfs_*/pid/{}", vec!["kprobe:vfs_*"]),
        ("uprobe:/bin/bash:readline /1/ {}", vec!["uprobe:/bin/bash:readline"]),
        ("uprobe:/bin/bash:readline/1/ {}", vec!["uprobe:/bin/bash:readline"]),
        ("uprobe:/bin/bash:readline/pid / {}", vec!["uprobe:/bin/bash:readline"]),
        ("uprobe:/bin/bash:readline/pid == 1/ {}", vec!["uprobe:/bin/bash:readline"]),
        ("uprobe:/bin/bash:readline// why\n{}", vec!["uprobe:/bin/bash:readline"]),
        ("uprobe:/app:net/http.(*T).Serve\n{}", vec!["uprobe:/app:net/http.(*T).Serve"]),
        ("uprobe:/app:a/b/c.F /pid/ {}", vec!["uprobe:/app:a/b/c.F"]),
        ("uprobe:/app:a/b.F,\nuprobe:/app:a/b.G {}", vec!["uprobe:/app:a/b.F", "uprobe:/app:a/b.G"]),
        ("uprobe:/lib/*:f {} // *:f", vec!["uprobe:/lib/*:f"]),
        ("uprobe:\"/opt/x y/{a}\":f {}", vec!["uprobe:\"/opt/x y/{a}\":f"]),
        ("uprobe:/bin/a:cpp:\"A::b(int, char)\" {}", vec!["uprobe:/bin/a:cpp:\"A::b(int, char)\""]),
        ("usdt:/usr/bin/mysqld:mysql:query__start{}", vec!["usdt:/usr/bin/mysqld:mysql:query__start"]),
        ("tracepoint:$1:$2 {}", vec!["tracepoint:$1:$2"]),
        ("name = kprobe:f {}", vec!["name", "kprobe:f"]),
        ("BEGIN {} end {}", vec!["BEGIN", "end"]),
        ("kprobe:a, // why\n/* and */ kprobe:b {}", vec!["kprobe:a", "kprobe:b"]),
        ("kprobe:f+0x10 {}", vec!["kprobe:f+0x10"]),
    ] {
        assert_eq!(points(text), wanted, "{text}");
    }
}

#[test]
fn a_probe_at_the_start_of_a_line_ends_what_is_open() {
    assert!(kinds("kprobe:a {\n  @x = 1;\nkprobe:b { }").contains(&TokenKind::Unclosed));
    assert!(!kinds("kprobe:a {\n@x ? 1\n:interval; }").contains(&TokenKind::Unclosed));
}

#[test]
fn conditions_choose_what_is_read() {
    for (text, wanted) in [
        ("#ifdef BPFTRACE_HAVE_BTF\nBEGIN\n#else\nEND\n#endif\n{}", vec!["BEGIN"]),
        ("#ifndef BPFTRACE_HAVE_BTF\nBEGIN\n#else\nEND\n#endif\n{}", vec!["END"]),
        ("#if 0\na:a\n#elif 1 + 1 == 2\nb:b\n#else\nc:c\n#endif\n{}", vec!["b:b"]),
        ("#define X 3\n#if defined(X) && X > 2\na:a\n#endif\n{}", vec!["a:a"]),
        ("#if 0\n#if 1\na:a\n#endif\n/*\n#endif\n*/\nb:b\n#endif\nc:c {}", vec!["c:c"]),
        ("#define X\n#undef X\n#ifdef X\na:a\n#else\nb:b\n#endif\n{}", vec!["b:b"]),
    ] {
        assert_eq!(points(text), wanted, "{text}");
    }
}

#[test]
fn definitions_keep_the_place_of_their_use() {
    let text = "#define N (1 + M)\n#define M 2\nBEGIN { print(N); }";
    let lexed = lex(&SourceText::new("t", text));
    let spelled: Vec<_> = lexed
        .tokens
        .iter()
        .filter(|t| t.text != t.span)
        .map(|t| {
            assert_eq!(&text[t.span.start as usize..t.span.end as usize], "N");
            &text[t.text.start as usize..t.text.end as usize]
        })
        .collect();
    assert_eq!(spelled, ["(", "1", "+", "2", ")"]);
}

#[test]
fn definitions_that_explode_are_stopped() {
    let mut text = String::from("#define A0 1 1\n");
    for i in 1..40 {
        writeln!(text, "#define A{i} A{} A{}", i - 1, i - 1).unwrap();
    }
    text.push_str("#if A39\n#endif\nBEGIN { A31 }");
    let lexed = lex(&SourceText::new("t", &text));
    assert!(lexed.diagnostics.iter().any(|d| d.code == crate::lang::codes::parse::DEFINE_TOO_LARGE));
    assert!(lexed.tokens.len() < 300_000);
}

#[test]
fn mistakes_are_told_where_they_are() {
    for (text, code, at) in [
        ("BEGIN { 'x' }", 1, "'x'"),
        ("BEGIN { \"abc\n}", 3, "\"abc"),
        ("BEGIN { } /* end", 2, "/*"),
        ("#if 1\nBEGIN {}", 21, "#if 1"),
        ("#endif\nBEGIN {}", 21, "#endif"),
        ("#if (1\n#endif\nBEGIN {}", 22, "#if (1"),
        ("#if 1/0\n#endif\nBEGIN {}", 22, "#if 1/0"),
        ("#frob\nBEGIN {}", 20, "#frob"),
        ("#define\nBEGIN {}", 23, "#define"),
        ("#define F(x) x\nBEGIN {}", 24, "F(x) x"),
        ("#include <linux/fs.h>\nBEGIN {}", 25, "#include <linux/fs.h>"),
        ("#error no\nBEGIN {}", 27, "#error no"),
    ] {
        let source = SourceText::new("t", text);
        let found: Vec<_> =
            lex(&source).diagnostics.iter().map(|d| (d.code.0, source.slice(d.span).to_owned())).collect();
        assert_eq!(found, [(code, at.to_owned())], "{text}");
    }
}
