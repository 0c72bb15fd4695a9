//! What filters over fields let pass.

use super::*;
use crate::store::{ActionInfo, ActionKind, ColumnKind, TraceId};

fn info() -> TraceInfo {
    let action = ActionInfo {
        kind: ActionKind::Value,
        span: crate::lang::source::Span::default(),
        expanded: Vec::new(),
        probe: "kprobe:vfs_read".into(),
        columns: vec![
            Column::new("tid", ColumnKind::Integer),
            Column::new("comm", ColumnKind::Text),
            Column::new("$dur_us", ColumnKind::Integer),
            Column::new("args.len", ColumnKind::Integer),
        ],
        origin: None,
    };
    TraceInfo { id: TraceId(1), actions: vec![action], began_ns: 1_000_000_000, ..TraceInfo::default() }
}

fn passes(filter: &str) -> bool {
    let info = info();
    let values =
        vec![Value::Uint(77, 4), Value::Str(b"postgres"[..].into()), Value::Uint(1500, 8), Value::Uint(8192, 8)];
    let entry =
        Entry { trace: TraceId(1), at_ns: 3_500_000_000, cpu: Some(3), payload: Payload::Event { action: 0, values } };
    let fields = Fields { info: Some(&info), entry: &entry, text: "77 postgres 1500 8192" };
    Expression::parse(filter).unwrap_or_else(|e| panic!("{filter}: {e}")).passes(&fields)
}

#[test]
fn fields_are_compared_as_what_they_are() {
    for yes in [
        r#"dur > 1ms && comm ~ "post""#,
        "dur_us > 1000",
        "$dur_us == 1500",
        "dur >= 1.5ms",
        "dur < 1500001ns",
        "len == 8K && args.len == 8192",
        "comm == postgres",
        r#"comm == "postgres""#,
        "tid != 78",
        "cpu == 3 && probe ~ read$",
        "time > 2s && time < 3s",
        "!(tid == 1 || tid == 2)",
        "tid==77||nothing==1",
        "tid == 0x4d",
        r"text ~ \d+",
    ] {
        assert!(passes(yes), "{yes}");
    }
    for no in [
        "dur > 2ms",
        "comm ~ Post",
        "comm !~ post",
        "nothing == 1",
        "nothing != 1",
        "tid == 77 && tid == 78",
        "!tid == 77",
    ] {
        assert!(!passes(no), "{no}");
    }
}

#[test]
fn what_is_no_expression_says_why() {
    let why = |text: &str| Expression::parse(text).unwrap_err();
    assert_eq!(why("open"), "== != < <= > >= ~ or !~ is missing after open");
    assert_eq!(why("a > "), "a value is missing after a");
    assert_eq!(why("a == 1 b == 2"), "&& or || is missing before b");
    assert_eq!(why("(a == 1"), "a bracket is not closed");
    assert_eq!(why("a ~ \"(\""), "( is no regular expression");
    assert_eq!(why("a == \"x"), "a quote is not closed");
    assert!(why(&"(".repeat(100_000)).contains("brackets"));
    assert!(is_meant("dur > ") && !is_meant("open -tmp") && !is_meant("~opn"));
    assert_eq!(quoted(r#"a"b\c"#), r#""a\"b\\c""#);
}
