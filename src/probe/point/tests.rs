use super::*;

fn error(text: &str) -> PointError {
    parse(text).unwrap_err()
}

#[test]
fn old_and_short_names_mean_the_same() {
    for (short, long) in [
        ("BEGIN", "begin"),
        ("t:sched:sched_switch", "tracepoint:sched:sched_switch"),
        ("Tracepoint:a:b", "tracepoint:a:b"),
        ("k:vfs_read", "KPROBE:vfs_read"),
        ("kfunc:vfs_read", "fentry:vfs_read"),
        ("kretfunc:vfs_read", "fr:vfs_read"),
        ("i:s:1", "interval:s:1"),
        ("U:bash:x:y", "usdt:bash:x:y"),
        ("software:cpu:", "s:cpu"),
    ] {
        assert_eq!(parse(short), parse(long), "{short}");
        assert!(parse(short).is_ok(), "{short}");
    }
    assert_eq!(parse("u:a:b").unwrap().provider(), "uprobe");
}

#[test]
fn timers() {
    let interval = |text: &str| match parse(text) {
        Ok(PointPattern::Interval { period_ns, written }) => Some((period_ns, written.to_string())),
        _ => None,
    };
    assert_eq!(interval("i:s:1"), Some((1_000_000_000, "s:1".into())));
    assert_eq!(interval("i:100ms"), Some((100_000_000, "us:100000".into())));
    assert_eq!(interval("i:1e6"), Some((1_000_000, "us:1000".into())));
    assert_eq!(interval("i:hz:10"), Some((100_000_000, "hz:10".into())));
    assert_eq!(parse("p:hz:99").unwrap(), PointPattern::Profile { rate: Rate::Hertz(99), written: "hz:99".into() });
    assert!(error("i:s:0").message.contains("should be a positive integer"));
    assert!(error("i:999ns").message.contains("1 microsecond"));
    assert_eq!(error("i:min:3").range, 2..5);
}

#[test]
fn kernel_functions() {
    let plain =
        PointPattern::Kprobe { module: None, function: Glob::new("vfs_read"), signature: None, offset: 16, ret: false };
    assert_eq!(parse("k:vfs_read+0x10").unwrap(), plain);
    assert_eq!(parse("kprobe:0xffffffff81000000").unwrap(), PointPattern::KprobeAddress(0xffff_ffff_8100_0000));
    assert!(matches!(parse("kr:xfs:xfs_*").unwrap(), PointPattern::Kprobe { module: Some(_), ret: true, .. }));
    assert!(error("kr:vfs_read+4").message.contains("Offset not allowed"));
    assert!(error("k:vfs_*+4").message.contains("pattern"));
}

#[test]
fn user_functions() {
    let place = |text: &str| match parse(text) {
        Ok(PointPattern::Uprobe { binary, place, .. }) => Some((binary.as_str().to_owned(), place)),
        _ => None,
    };
    let symbol = |name: &str, offset| UprobePlace::Symbol { name: Glob::new(name), offset };
    assert_eq!(place("u:libc:malloc"), Some(("libc".into(), symbol("malloc", 0))));
    assert_eq!(place("u:\"/a:b\":f+4"), Some(("/a:b".into(), symbol("f", 4))));
    assert_eq!(place("u:f"), Some((String::new(), symbol("f", 0))));
    assert_eq!(place("u:/b:0x123"), Some(("/b".into(), UprobePlace::Address(0x123))));
    assert_eq!(place("u:/b:cpp:\"A::b(int)\""), Some(("/b".into(), UprobePlace::Demangled(Glob::new("A::b(int)")))));
    let line = UprobePlace::Line { file: "m.c".into(), line: 12, column: None };
    assert_eq!(place("u:/b@m.c:12"), Some(("/b".into(), line)));
}

#[test]
fn mistakes_are_named_and_placed() {
    let unknown = error("kprob:vfs_read");
    assert_eq!((unknown.range, unknown.hint.as_deref()), (0..5, Some("did you mean `kprobe`?")));
    assert!(error("tracepoint:sched").hint.unwrap().contains("CATEGORY:EVENT"));
    assert!(error("u:\"abc:f").message.contains("quote"));
    assert!(error("w:0x10:3:w").message.contains("(1,2,4,8)"));
    assert!(error("w:0x10:4:wx").message.contains("combined"));
    assert!(error("self:signal:SIGINT").message.contains("SIGINT is not a supported signal"));
    for text in ["", ":", "::", "t:", "t::", "k:", "begin:x", "\"", "i:", "h::5", "usdt:"] {
        assert!(parse(text).is_err(), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_answered(text in "\\PC{0,60}") {
        if let Err(error) = parse(&text) {
            assert!(error.range.end <= text.len());
        }
    }

    #[test]
    fn any_tail_is_answered(provider in "[a-zA-Z]{1,9}", tail in "[:a-z0-9*+@\"_.]{0,30}") {
        let _ = parse(&format!("{provider}:{tail}"));
    }
}
