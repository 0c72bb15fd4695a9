//! What traced programs may do to the files: long names, every control character, stacks without an end.

use super::*;

/// Characters of the longest name.
const LONG: usize = 64 << 10;

/// A name of every character that means something to a terminal, XML, JSON, CSV, Markdown or folded stacks, repeated.
fn evil() -> String {
    let controls: String = (0..32_u8).map(char::from).chain(['\x7f', '\u{9b}', '\u{202e}', '\u{feff}']).collect();
    let marks = "\u{ffff}\u{fffe}]]><script>&\"'`|,;\\\n#\u{1b}]0;owned\u{7}";
    (controls + marks).chars().cycle().take(LONG).collect()
}

/// A history of one reading of a map, and one event, in which all text is this.
fn of(text: &str, stack: Stack) -> (Store, Arc<TraceInfo>) {
    let (_, usual) = store();
    let info = Arc::new(TraceInfo { name: text.into(), script: text.into(), ..TraceInfo::clone(&usual) });
    let mut builder = ChunkBuilder::new();
    builder.declare(&info);
    let string = || Value::Str(text.as_bytes().into());
    let rows = vec![MapRow { key: vec![string(), Value::Stack(stack)], value: Value::Uint(3, 8) }];
    let map = MapSnapshot { name: "@s".into(), kind: MapKind::Count, keyed: true, rows, capacity: 9, at_ns: 2000 };
    let named = MapRow { key: vec![string()], value: Value::Uint(3, 8) };
    let named = MapSnapshot {
        name: "@n".into(),
        kind: MapKind::Count,
        keyed: true,
        rows: vec![named],
        capacity: 9,
        at_ns: 2000,
    };
    let values = vec![Value::Uint(7, 4), string(), Value::Uint(1, 8)];
    let entry = |at_ns, payload| Entry { trace: TraceId(1), at_ns, cpu: Some(0), payload };
    builder.push(&entry(2000, Payload::Maps([map, named].into())));
    builder.push(&entry(9000, Payload::Event { action: 0, values }));
    builder.push(&entry(9001, Payload::Text { action: 0, text: text.as_bytes().into() }));
    let mut store = Store::default();
    store.declare(Arc::clone(&info));
    store.append(builder.finish().unwrap());
    (store, info)
}

/// Each form of these.
fn each((history, trace): &(Store, Arc<TraceInfo>), mut look: impl FnMut(Form, Vec<u8>)) {
    for form in Form::ALL {
        let source = Source { history, trace, at_ns: u64::MAX, map: None };
        look(*form, source.write(*form).unwrap_or_else(|e| panic!("{}: {e}", form.name())));
    }
}

#[test]
fn names_of_64_kb_with_every_control_character_are_data() {
    let evil = evil();
    let stack = Stack { frames: [frame(&evil, 1), frame(&evil, 1 << 63)].into(), ..Stack::default() };
    each(&of(&evil, stack), |form, bytes| {
        if matches!(form, Form::Pprof | Form::Perfetto) {
            return;
        }
        let text = String::from_utf8(bytes).unwrap();
        let bad = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t') || *c == '\u{202e}');
        assert!(bad.is_none(), "{}: {bad:?}", form.name());
        match form {
            Form::Json | Form::Firefox => drop(serde_json::from_str::<serde_json::Value>(&text).unwrap()),
            Form::EventsJson => {
                text.lines().for_each(|line| drop(serde_json::from_str::<serde_json::Value>(line).unwrap()));
            }
            Form::Folded => assert_eq!((text.lines().count(), text.matches(';').count()), (1, 2)),
            Form::Flame => {
                assert!(!text.contains(['\u{ffff}', '\u{fffe}']), "XML has no such characters");
                assert_eq!((text.matches("]]>").count(), text.matches("<script>").count()), (1, 1), "its own");
            }
            Form::Csv => assert_eq!(text.lines().count(), 3),
            Form::EventsCsv => assert_eq!(text.lines().count(), 3),
            Form::Report => {
                let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
                assert!(
                    rows.len() > 4 && rows.iter().all(|row| row.ends_with(" |")),
                    "a name breaks no table: {rows:?}"
                );
            }
            _ => {}
        }
    });
}

#[test]
fn recursion_10_000_deep_is_written_in_every_form() {
    let stack = Stack { frames: vec![frame("again", 1); 10_000].into(), ..Stack::default() };
    each(&of("deep", stack), |form, bytes| {
        assert!(!bytes.is_empty(), "{}", form.name());
        match form {
            Form::Folded => {
                let text = String::from_utf8(bytes).unwrap();
                assert!(text.matches("again").count() >= 10_000 && text.ends_with(" 3\n"), "{}", text.len());
            }
            Form::Flame => {
                assert!(String::from_utf8(bytes).unwrap().contains("not drawn"), "it tells what it left out");
            }
            _ => {}
        }
    });
}
