//! Rows of a captured struct, and how it differs from an earlier one.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{MOST_ROWS, Row, matches};
use crate::model::render;
use crate::model::value::Value;
use crate::tui::base::text::fit;

/// Deepest nesting that is followed.
const MAX_DEPTH: usize = 24;
/// Columns of a value.
const MOST_COLUMNS: usize = 240;

struct Walk<'w> {
    open: &'w BTreeSet<String>,
    filter: &'w str,
    only_differences: bool,
    out: Vec<Row>,
}

/// The members that are in sight, or all that match.
pub(super) fn rows(
    now: &Value,
    before: Option<&Value>,
    open: &BTreeSet<String>,
    filter: &str,
    only_differences: bool,
) -> Vec<Row> {
    let mut walk = Walk { open, filter, only_differences, out: Vec::new() };
    walk.add(now, before, "", 0);
    walk.out
}

impl Walk<'_> {
    fn add(&mut self, whole: &Value, before: Option<&Value>, path: &str, depth: usize) {
        for (index, (name, value)) in parts(whole).into_iter().enumerate() {
            if self.out.len() >= MOST_ROWS || depth > MAX_DEPTH {
                return;
            }
            let old = before.and_then(|before| parts(before).into_iter().nth(index)).map(|(_, value)| value);
            let key = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            self.member((name, value, old), &key, depth);
        }
    }

    fn member(&mut self, (name, value, old): (String, &Value, Option<&Value>), key: &str, depth: usize) {
        let differs = old.is_some_and(|old| old != value);
        if self.only_differences && !differs {
            return;
        }
        let has_parts = !parts(value).is_empty();
        let flat = !self.filter.is_empty();
        let is_open = has_parts && (flat || self.open.contains(key));
        let (what, before) = (text(value), old.filter(|_| differs).map(text));
        if !flat || !has_parts && (matches(key, self.filter) || matches(&what, self.filter)) {
            let opens = has_parts.then_some(is_open);
            let (what, before) = if is_open { (String::new(), None) } else { (what, before) };
            let (name, depth) = if flat { (key.to_owned(), 0) } else { (name, depth) };
            self.out.push(Row { key: key.to_owned(), depth, opens, name, what, before, place: String::new() });
        }
        if is_open {
            self.add(value, old, key, depth + 1);
        }
    }
}

/// Members, or elements that have some themselves.
fn parts(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Record(members) => members.iter().map(|(name, value)| (name.to_string(), value)).collect(),
        Value::Array(elements) if elements.iter().any(|e| matches!(e, Value::Record(_) | Value::Array(_))) => {
            elements.iter().enumerate().map(|(n, value)| (format!("[{n}]"), value)).collect()
        }
        _ => Vec::new(),
    }
}

/// A value on one line; arrays of characters as the text in them.
fn text(value: &Value) -> String {
    if let Value::Array(elements) = value
        && let Some(text) = characters(elements)
    {
        return format!("{text:?}");
    }
    let mut out = String::new();
    if let Value::Record(members) = value {
        for (n, (name, member)) in members.iter().enumerate() {
            if out.len() > MOST_COLUMNS {
                break;
            }
            let comma = if n == 0 { "" } else { ", " };
            let _ = write!(out, "{comma}{name} = {}", text(member));
        }
        out = format!("{{ {out} }}");
    } else {
        render::value(value, &mut out);
    }
    fit(&out, MOST_COLUMNS).into_owned()
}

/// The text in an array of one-byte numbers, where it is one.
fn characters(elements: &[Value]) -> Option<String> {
    let byte = |value: &Value| match value {
        Value::Int(n, 1) => Some(*n as u8),
        Value::Uint(n, 1) => Some(*n as u8),
        _ => None,
    };
    let bytes: Vec<u8> = elements.iter().map(byte).collect::<Option<_>>()?;
    let end = memchr::memchr(0, &bytes)?;
    let (text, rest) = bytes.split_at(end);
    let is_text = !text.is_empty() && rest.iter().all(|b| *b == 0) && text.iter().all(|b| (0x20..0x7f).contains(b));
    is_text.then(|| String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(members: &[(&str, Value)]) -> Value {
        Value::Record(members.iter().map(|(n, v)| ((*n).into(), v.clone())).collect())
    }

    fn task(pid: u64, state: u64) -> Value {
        let comm = b"bash\0\0".iter().map(|b| Value::Int(i64::from(*b), 1)).collect();
        let se = record(&[("vruntime", Value::Uint(7, 8)), ("avg", record(&[("load", Value::Uint(state, 8))]))]);
        record(&[("pid", Value::Uint(pid, 4)), ("se", se), ("comm", Value::Array(comm))])
    }

    fn lines(rows: &[Row]) -> Vec<String> {
        rows.iter().map(|r| format!("{}{} {}", " ".repeat(r.depth), r.name, r.what)).collect()
    }

    #[test]
    fn a_captured_struct_opens_member_by_member() {
        let task = task(5, 1);
        let closed = rows(&task, None, &BTreeSet::new(), "", false);
        assert_eq!(lines(&closed), ["pid 5", "se { vruntime = 7, avg = { load = 1 } }", "comm \"bash\""]);
        let open = BTreeSet::from(["se".to_owned(), "se.avg".to_owned()]);
        let opened = rows(&task, None, &open, "", false);
        assert_eq!(lines(&opened), ["pid 5", "se ", " vruntime 7", " avg ", "  load 1", "comm \"bash\""]);
        assert_eq!(lines(&rows(&task, None, &open, "load", false)), ["se.avg.load 1"]);
    }

    #[test]
    fn two_hits_are_compared() {
        let (first, second) = (task(5, 1), task(5, 2));
        let open = BTreeSet::from(["se".to_owned(), "se.avg".to_owned()]);
        let differing = rows(&second, Some(&first), &open, "", true);
        assert_eq!(lines(&differing), ["se ", " avg ", "  load 2"]);
        assert_eq!(differing[2].before.as_deref(), Some("1"));
    }
}
