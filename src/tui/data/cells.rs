//! Keys and values of maps as text.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::model::value::{Frame, Stack, Value};
use crate::tui::base::text::{fit, neutralise, width};

/// A stable number for a key.
#[must_use]
pub fn key_hash(key: &[Value]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for value in key {
        hash(value, &mut hasher);
    }
    hasher.finish()
}

fn hash(value: &Value, into: &mut DefaultHasher) {
    std::mem::discriminant(value).hash(into);
    match value {
        Value::Bool(b) => b.hash(into),
        Value::Int(v, _) => v.hash(into),
        Value::Uint(v, _) | Value::Pointer(v) => v.hash(into),
        Value::Enum { value, .. } => value.hash(into),
        Value::Str(bytes) | Value::Bytes(bytes) => bytes.hash(into),
        Value::Array(items) | Value::Tuple(items) => items.iter().for_each(|v| hash(v, into)),
        Value::Record(items) => items.iter().for_each(|(_, v)| hash(v, into)),
        Value::Text(text, raw) => (text, raw).hash(into),
        Value::Stack(stack) => stack.frames.iter().for_each(|f| f.address.hash(into)),
        _ => {}
    }
}

/// A key on one line.
#[must_use]
pub fn key_text(key: &[Value]) -> String {
    key.iter().map(cell).collect::<Vec<_>>().join(", ")
}

/// How many innermost frames the stacks of several keys have in common; one at least stays of each.
#[must_use]
pub fn common_frames<'v>(keys: impl Iterator<Item = &'v [Value]>) -> usize {
    let stacks = keys.filter_map(|key| key.iter().find_map(|v| if let Value::Stack(s) = v { Some(s) } else { None }));
    let mut stacks = stacks.filter(|s| !s.missing && !s.frames.is_empty());
    let Some(first) = stacks.next() else { return 0 };
    let same = |s: &Stack| s.frames.iter().zip(&*first.frames).take_while(|(a, b)| a.address == b.address).count();
    let least = |s: &Stack| same(s).min(s.frames.len() - 1).min(first.frames.len() - 1);
    stacks.map(least).min().unwrap_or(0)
}

/// A key on one line of `columns`: the longest parts are cut first, so that a stack does not hide the
/// name beside it. Of stacks the innermost `skip` frames are left out.
#[must_use]
pub fn key_fit(key: &[Value], skip: usize, columns: usize) -> String {
    let text = |v: &Value| match v {
        Value::Stack(stack) if skip > 0 => stack_line(stack, skip),
        other => cell(other),
    };
    let shown = |v| Some(text(v)).filter(|c| !c.is_empty()).unwrap_or_else(|| "(empty)".to_owned());
    let mut parts: Vec<String> = key.iter().map(shown).collect();
    let all = |parts: &[String]| parts.iter().map(|p| width(p)).sum::<usize>() + 2 * parts.len().saturating_sub(1);
    for _ in 0..parts.len() {
        let over = all(&parts).saturating_sub(columns);
        let Some(longest) = parts.iter_mut().max_by_key(|p| width(p)).filter(|_| over > 0) else { break };
        let least = width(longest).min(8);
        *longest = fit(longest, width(longest).saturating_sub(over).max(least)).into_owned();
    }
    fit(&parts.join(", "), columns).into_owned()
}

/// A value on one line, safe to draw.
#[must_use]
pub fn cell(value: &Value) -> String {
    match value {
        Value::None => String::new(),
        Value::Bool(b) => b.to_string(),
        Value::Int(v, _) => v.to_string(),
        Value::Uint(v, _) => v.to_string(),
        Value::Pointer(v) => format!("{v:#x}"),
        Value::Enum { value, name } => name.as_ref().map_or_else(|| value.to_string(), |n| neutralise(n).into_owned()),
        Value::Str(bytes) => neutralise(&String::from_utf8_lossy(bytes)).into_owned(),
        Value::Bytes(bytes) => bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" "),
        Value::Array(items) => format!("[{}]", key_text(items)),
        Value::Tuple(items) => format!("({})", key_text(items)),
        Value::Record(items) => {
            let parts: Vec<String> = items.iter().map(|(n, v)| format!("{}={}", neutralise(n), cell(v))).collect();
            format!("{{{}}}", parts.join(", "))
        }
        Value::Text(text, _) => neutralise(text).into_owned(),
        Value::Stack(stack) => stack_line(stack, 0),
        Value::Avg(s) => s.average().to_string(),
        Value::Stats(s) => format!("count {}, average {}, total {}", s.count, s.average(), s.total),
        Value::Hist(h) => h.total().to_string(),
        Value::LHist(h) => h.total().to_string(),
        Value::TSeries(s) => s.points.iter().rev().find_map(|(_, v)| *v).map_or_else(String::new, |v| v.to_string()),
    }
}

/// A stack in one line, without its innermost `skip` frames.
fn stack_line(stack: &Stack, skip: usize) -> String {
    if stack.missing || stack.frames.is_empty() {
        return "(no stack)".to_owned();
    }
    let names: Vec<String> = stack.frames.iter().skip(skip).take(12).map(frame_name).collect();
    let lead = if skip > 0 { "… ← " } else { "" };
    format!("{lead}{}", names.join(" ← "))
}

fn frame_name(frame: &Frame) -> String {
    frame.symbol.as_ref().map_or_else(|| format!("{:#x}", frame.address), |s| neutralise(s).into_owned())
}

/// Stands below a stack whose outermost caller is not known.
const BREAKS_OFF: &str = "… breaks off: no frame pointer or unwinding table there, or deeper than what was asked for";

/// The frames of a stack, one a line.
#[must_use]
pub fn frames(stack: &Stack) -> Vec<String> {
    let line = |f: &Frame| {
        let object = f.object.as_ref().map_or_else(String::new, |o| format!(" [{}]", neutralise(o)));
        let offset = if f.symbol.is_some() { format!("+{}", f.offset) } else { String::new() };
        format!("{}{offset}{object}", frame_name(f))
    };
    let end = stack.breaks_off().then(|| BREAKS_OFF.to_owned());
    stack.frames.iter().map(line).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_part_of_a_key_gives_way_to_the_others() {
        let key = [Value::Str(b"schedule and what called it"[..].into()), Value::Str(b"nginx"[..].into())];
        assert_eq!(key_fit(&key, 0, 99), "schedule and what called it, nginx");
        assert_eq!(key_fit(&key, 0, 18), "schedule a…, nginx");
        assert!(width(&key_fit(&key, 0, 4)) <= 4);
    }

    #[test]
    fn stacks_in_one_table_leave_out_what_they_share() {
        let stack = |names: &[&str]| {
            let frame = |n: &&str| Frame {
                address: n.bytes().map(u64::from).sum(),
                symbol: Some((*n).into()),
                offset: 0,
                object: None,
                inlined: false,
            };
            [Value::Stack(Stack { frames: names.iter().map(frame).collect(), ..Stack::default() })]
        };
        let keys = [stack(&["switch", "schedule", "read"]), stack(&["switch", "schedule", "write", "sys"])];
        let skip = common_frames(keys.iter().map(|k| &k[..]));
        assert_eq!(skip, 2);
        assert_eq!(key_fit(&keys[1], skip, 99), "… ← write ← sys");
        let same = [stack(&["a", "b"]), stack(&["a", "b"])];
        assert_eq!(common_frames(same.iter().map(|k| &k[..])), 1, "one stays");
        assert_eq!(common_frames(keys.iter().take(1).map(|k| &k[..])), 0);
    }

    #[test]
    fn hostile_text_in_keys_is_made_safe() {
        assert_eq!(cell(&Value::Str(b"\x1b]0;x\x07"[..].into())), "␛]0;x␇");
        assert!(!cell(&Value::Text("a\nb".into(), 0)).contains('\n'));
    }
}
