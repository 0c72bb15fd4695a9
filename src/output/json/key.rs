//! Keys of maps as names in JSON objects: two keys that differ never get the same name.

use std::collections::HashMap;

use crate::model::render::{exact, stack_text, value_into};
use crate::model::snapshot::MapRow;
use crate::model::value::Value;

/// The names of all rows' keys, in their order.
///
/// A symbol's name may stand for several addresses: where names meet, each gets what is behind it, too.
pub(super) fn names(rows: &[MapRow]) -> Vec<String> {
    let mut names: Vec<String> = rows.iter().map(|row| name(&row.key, false)).collect();
    for meeting in meetings(&names) {
        for at in meeting {
            names[at] = name(&rows[at].key, true);
        }
    }
    // What is equal in everything that can be told is numbered.
    for meeting in meetings(&names) {
        for (number, at) in meeting.into_iter().enumerate().skip(1) {
            names[at].push_str(&format!(" #{}", number + 1));
        }
    }
    names
}

/// Places of names that are equal.
fn meetings(names: &[String]) -> Vec<Vec<usize>> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        places.entry(name).or_default().push(at);
    }
    places.into_values().filter(|places| places.len() > 1).collect()
}

/// The parts of a key joined by commas. `raw` adds the numbers behind names.
pub(crate) fn name(parts: &[Value], raw: bool) -> String {
    let mut out = Vec::new();
    join(parts, parts.len() > 1, raw, &mut out);
    // All text in it was made UTF-8.
    String::from_utf8_lossy(&out).into_owned()
}

fn join(parts: &[Value], among_others: bool, raw: bool, out: &mut Vec<u8>) {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        self::part(part, among_others, raw, out);
    }
}

fn part(value: &Value, among_others: bool, raw: bool, out: &mut Vec<u8>) {
    match value {
        Value::Str(bytes) => text(bytes, among_others, out),
        Value::Text(name, behind) => {
            text(name.as_bytes(), among_others, out);
            if raw {
                out.extend_from_slice(format!(" ({behind:#x})").as_bytes());
            }
        }
        Value::Enum { name: Some(name), value } => {
            out.extend_from_slice(name.as_bytes());
            if raw {
                out.extend_from_slice(format!(" ({value})").as_bytes());
            }
        }
        Value::Stack(stack) => text(stack_text(stack).as_bytes(), among_others, out),
        Value::Array(items) => bracketed(items, *b"[]", raw, out),
        Value::Tuple(items) => bracketed(items, *b"()", raw, out),
        Value::Record(items) => {
            out.push(b'{');
            for (i, (name, item)) in items.iter().enumerate() {
                out.extend_from_slice(if i > 0 { b",." } else { b"." });
                out.extend_from_slice(name.as_bytes());
                out.push(b'=');
                part(item, true, raw, out);
            }
            out.push(b'}');
        }
        Value::Bytes(bytes) => {
            quoted_if(&exact(bytes, |c| !matches!(c, ' '..='~')), among_others, out);
        }
        other => value_into(other, out),
    }
}

fn bracketed(items: &[Value], [open, close]: [u8; 2], raw: bool, out: &mut Vec<u8>) {
    out.push(open);
    join(items, true, raw, out);
    out.push(close);
}

fn text(bytes: &[u8], among_others: bool, out: &mut Vec<u8>) {
    quoted_if(&exact(bytes, |_| false), among_others, out);
}

/// Text beside other parts, in quotes where a reader could not tell its end: `"a,b",c`.
fn quoted_if(text: &str, among_others: bool, out: &mut Vec<u8>) {
    if among_others && (text.contains(',') || text.starts_with('"')) {
        super::quoted(text, out);
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(bytes: &[u8]) -> Value {
        Value::Str(bytes.into())
    }

    fn tuple(items: &[Value]) -> Value {
        Value::Tuple(items.into())
    }

    fn names_of(keys: &[Vec<Value>]) -> Vec<String> {
        let rows: Vec<MapRow> = keys.iter().map(|key| MapRow { key: key.clone(), value: Value::Int(1, 8) }).collect();
        names(&rows)
    }

    #[test]
    fn keys_that_differ_have_names_that_differ() {
        let keys = [
            vec![s(b"a b"), s(b"c")],
            vec![s(b"ab"), s(b"c")],
            vec![s(b"a,b"), s(b"c")],
            vec![s(b"a"), s(b"b,c")],
            vec![s(b"\"a,b\""), s(b"c")],
            vec![s(b"\"a"), s(b"b\",c")],
            vec![s(b"\xe9"), s(b"")],
            vec![s("é".as_bytes()), s(b"")],
            vec![s(b"\\xe9"), s(b"")],
            vec![s(b"\\\\xe9"), s(b"")],
            vec![s(b"\\\xe9"), s(b"")],
            vec![s(b"a\nb"), s(b"")],
            vec![s(b"a\\nb"), s(b"")],
            vec![s(b"a "), s(b"")],
            vec![s(b" a"), s(b"")],
        ];
        let names = names_of(&keys);
        let different: std::collections::HashSet<&String> = names.iter().collect();
        assert_eq!(different.len(), keys.len(), "{names:#?}");
        assert_eq!(names[..4], ["a b,c", "ab,c", "\"a,b\",c", "a,\"b,c\""]);
        assert_eq!(names[6..9], ["\\xe9,", "é,", "\\\\xe9,"]);
    }

    #[test]
    fn texts_inside_of_tuples_keep_their_ends() {
        let keys = [
            vec![tuple(&[s(b"a,b"), s(b"c")])],
            vec![tuple(&[s(b"a"), s(b"b,c")])],
            vec![tuple(&[s(b"a b"), s(b"c")])],
        ];
        assert_eq!(names_of(&keys), ["(\"a,b\",c)", "(a,\"b,c\")", "(a b,c)"]);
    }

    #[test]
    fn a_name_of_two_addresses_shows_them() {
        let symbol = |at| vec![Value::Text("vfs_read".into(), at)];
        assert_eq!(
            names_of(&[symbol(16), vec![Value::Text("other".into(), 9)], symbol(32)]),
            ["vfs_read (0x10)", "other", "vfs_read (0x20)"]
        );
        assert_eq!(names_of(&[symbol(16), symbol(16)]), ["vfs_read (0x10)", "vfs_read (0x10) #2"]);
    }
}
