//! sqlhist's language: a query becomes the triggers that sqlhist makes of it (`trace-cmd sqlhist`), but for names of
//! variables.

mod read;

use std::sync::Arc;

use super::{OURS, Recipe};
use crate::kernel::Kernel;
use crate::kernel::tracefs::{EventName, Field, TracepointFormat};
use crate::tracer::ftrace::FtraceError;
use crate::tracer::ftrace::choose::{Pattern, available};
use read::{Column, Item, Query, Wrong, wrong};

/// What a query means on this kernel.
///
/// # Errors
/// With the query and the column where it is wrong.
pub fn recipe(kernel: &Kernel, query: &str) -> Result<Recipe, FtraceError> {
    let events = available(kernel)?;
    let find = |name: &str| -> Option<Arc<TracepointFormat>> {
        let mut found: Vec<EventName> = Pattern::new(&name.replacen('.', ":", 1)).of(&events).ok()?;
        let first = found.drain(..).find(|(system, _)| &**system != name)?;
        kernel.tracepoint(&first.0, &first.1).ok()
    };
    plan(query.trim(), &find).map_err(|wrong| FtraceError::Options(wrong.to_string()))
}

type Find<'a> = &'a dyn Fn(&str) -> Option<Arc<TracepointFormat>>;

fn plan(text: &str, find: Find<'_>) -> Result<Recipe, Wrong> {
    let query = read::read(text)?;
    let event = |(name, at, _): &(String, usize, Option<String>)| {
        find(name).ok_or_else(|| wrong(text, *at, format!("there is no event {name}")))
    };
    let from = event(&query.from)?;
    match &query.join {
        None => single(text, &query, &from),
        Some((table, left, right)) => {
            let to = event(table)?;
            joined(text, &query, (&from, &to), (left, right))
        }
    }
}

/// A modifier of the kernel's for a kind of sqlhist's.
fn modifier(kind: &str) -> Option<&'static str> {
    Some(match kind.to_ascii_lowercase().as_str() {
        "hex" => ".hex",
        "sym" => ".sym",
        "sym-offset" | "sym_offset" => ".sym-offset",
        "syscall" => ".syscall",
        "execname" | "comm" => ".execname",
        "log" | "log2" => ".log2",
        _ => return None,
    })
}

fn check(text: &str, format: &TracepointFormat, column: &Column) -> Result<(), Wrong> {
    let known = format.field(&column.field).is_some()
        || matches!(column.field.as_str(), "common_timestamp" | "common_cpu" | "common_stacktrace");
    let names = || format.own_fields().map(|field| &*field.name).collect::<Vec<_>>().join(", ");
    if known {
        return Ok(());
    }
    let why = format!("{}:{} has no field {}; it has {}", format.category, format.event, column.field, names());
    Err(wrong(text, column.at, why))
}

/// One event: its fields are keys.
fn single(text: &str, query: &Query, format: &TracepointFormat) -> Result<Recipe, Wrong> {
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    for (item, _) in &query.items {
        match item {
            Item::Field(column) => {
                check(text, format, column)?;
                keys.push(column.field.clone());
            }
            Item::Cast(column, kind) if kind.trim_matches('_').eq_ignore_ascii_case("counter") => {
                check(text, format, column)?;
                values.push(column.field.clone());
            }
            Item::Cast(column, kind) => {
                check(text, format, column)?;
                let modifier = modifier(kind).ok_or_else(|| {
                    let kinds = "hex, sym, sym-offset, syscall, execname, comm, log2, _COUNTER_";
                    wrong(text, column.at, format!("there is no kind {kind}; kinds are {kinds}"))
                })?;
                keys.push(format!("{}{modifier}", column.field));
            }
            Item::Operation(column, ..) => {
                return Err(wrong(text, column.at, "an operation needs two events, joined by JOIN … ON"));
            }
        }
    }
    if keys.is_empty() {
        return Err(wrong(text, 0, "a histogram needs a key: something that is not a counter"));
    }
    let alias = query.from.2.as_deref();
    let filter = filter_of(&query.filter, alias);
    let condition = if filter.is_empty() { String::new() } else { format!(" if {filter}") };
    let vals = if values.is_empty() { String::new() } else { format!(":vals={}", values.join(",")) };
    let event = format!("{}:{}", format.category, format.event);
    let trigger = format!("hist:keys={}{vals}{condition}", keys.join(","));
    Ok(Recipe { synthetic: Vec::new(), triggers: vec![(event.clone(), trigger)], read: event })
}

/// Which of both events a column is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Start,
    End,
}

fn side(text: &str, query: &Query, column: &Column) -> Result<Side, Wrong> {
    let Some(join) = &query.join else { return Ok(Side::Start) };
    let is = |(name, _, alias): &(String, usize, Option<String>), table: &str| {
        alias.as_deref() == Some(table) || name == table || name.ends_with(&format!(".{table}"))
    };
    match &column.table {
        Some(table) if is(&query.from, table) => Ok(Side::Start),
        Some(table) if is(&join.0, table) => Ok(Side::End),
        _ => Err(wrong(text, column.at, "of which event is this field? write its name and a dot before it")),
    }
}

/// A time as the kernel names it.
fn timestamp(field: &str) -> Option<&'static str> {
    match field.to_ascii_uppercase().as_str() {
        "TIMESTAMP" => Some("common_timestamp"),
        "TIMESTAMP_USECS" => Some("common_timestamp.usecs"),
        _ => None,
    }
}

/// A field's type in a synthetic event.
fn declared(field: &Field, name: &str) -> String {
    match (field.array, field.dynamic) {
        (Some(length), None) if &*field.ty == "char" => format!("char {name}[{length}]"),
        (_, Some(_)) => format!("char[] {name}"),
        _ if field.ty.starts_with("pid_t") => format!("pid_t {name}"),
        _ if field.ty.starts_with("gfp_t") => format!("gfp_t {name}"),
        _ => format!("{}{} {name}", if field.signed { "s" } else { "u" }, field.size.clamp(1, 8) * 8),
    }
}

/// Two events: what is selected becomes a synthetic event at the second one.
fn joined(
    text: &str,
    query: &Query,
    (from, to): (&TracepointFormat, &TracepointFormat),
    (left, right): (&Column, &Column),
) -> Result<Recipe, Wrong> {
    let format_of = |side: Side| if side == Side::Start { from } else { to };
    let (start, end) = match (side(text, query, left)?, side(text, query, right)?) {
        (Side::Start, Side::End) => (left, right),
        (Side::End, Side::Start) => (right, left),
        _ => return Err(wrong(text, right.at, "ON compares a field of the one event with one of the other")),
    };
    check(text, from, start)?;
    check(text, to, end)?;
    let mut parts = Joined::default();
    for (item, name) in &query.items {
        let column = match item {
            Item::Field(column) | Item::Operation(column, ..) => column,
            Item::Cast(column, _) => {
                return Err(wrong(text, column.at, "of joined events fields are selected as they are"));
            }
        };
        let of = side(text, query, column)?;
        let name = name.clone().unwrap_or_else(|| column.field.clone());
        if let Item::Operation(a, sign, b) = item {
            let operands = [a, b].map(|operand| {
                let side = side(text, query, operand)?;
                let field = if let Some(time) = timestamp(&operand.field) {
                    time.to_owned()
                } else {
                    check(text, format_of(side), operand)?;
                    operand.field.clone()
                };
                Ok(if side == Side::Start { format!("${}", parts.save(&field)) } else { field })
            });
            let [a, b] = operands;
            parts.end(&name, &format!("{}{sign}{}", a?, b?));
            parts.fields.push(format!("u64 {name}"));
            parts.sums.push(name);
            continue;
        }
        let declared = if timestamp(&column.field).is_some() {
            format!("u64 {name}")
        } else {
            let format = format_of(of);
            check(text, format, column)?;
            format.field(&column.field).map_or_else(|| format!("u64 {name}"), |field| declared(field, &name))
        };
        let field = timestamp(&column.field).unwrap_or(&column.field);
        let value = if of == Side::Start { format!("${}", parts.save(field)) } else { field.to_owned() };
        parts.end(&name, &value);
        parts.fields.push(declared);
        parts.keys.push(name);
    }
    let filters = [Side::Start, Side::End].map(|wanted| side_filter(text, query, wanted));
    let [first, second] = filters;
    let condition = |filter: String| if filter.is_empty() { filter } else { format!(" if {filter}") };
    Ok(parts.recipe((from, &start.field, condition(first?)), (to, &end.field, condition(second?))))
}

/// What a join collects.
#[derive(Default)]
struct Joined {
    fields: Vec<String>,
    saved: Vec<(String, String)>,
    ends: Vec<(String, String)>,
    keys: Vec<String>,
    sums: Vec<String>,
    number: u32,
}

impl Joined {
    /// Keeps a field of the first event for the second; gives the variable.
    fn save(&mut self, field: &str) -> String {
        self.number += 1;
        let name = format!("__arg_{}", self.number);
        self.saved.push((name.clone(), field.to_owned()));
        name
    }

    fn end(&mut self, name: &str, value: &str) {
        self.number += 1;
        self.ends.push((format!("__{name}_{}", self.number), value.to_owned()));
    }

    fn recipe(
        self,
        (from, start, first): (&TracepointFormat, &str, String),
        (to, end, second): (&TracepointFormat, &str, String),
    ) -> Recipe {
        let list = |pairs: &[(String, String)]| {
            pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
        };
        let name = format!("{OURS}query");
        let arguments = self.ends.iter().map(|(name, _)| format!("${name}")).collect::<Vec<_>>().join(",");
        let saved = if self.saved.is_empty() { String::new() } else { format!(":{}", list(&self.saved)) };
        let first = format!("hist:keys={start}{saved}{first}");
        let second = format!(
            "hist:keys={end}:{}:onmatch({}.{}).{name}({arguments}){second}",
            list(&self.ends),
            from.category,
            from.event
        );
        // What is shown of it: times by whom they are of, or how often which time was taken.
        let shown = match (self.keys.is_empty(), self.sums.first()) {
            (true, Some(sum)) => format!("hist:keys={sum}.log2:sort={sum}"),
            (false, Some(_)) => {
                let keys: Vec<&str> = self.keys.iter().take(3).map(String::as_str).collect();
                let sums: Vec<&str> = self.sums.iter().take(2).map(String::as_str).collect();
                format!("hist:keys={}:vals=hitcount,{}", keys.join(","), sums.join(","))
            }
            _ => format!("hist:keys={}", self.keys.iter().take(3).cloned().collect::<Vec<_>>().join(",")),
        };
        let event = |format: &TracepointFormat| format!("{}:{}", format.category, format.event);
        let read = format!("synthetic:{name}");
        Recipe {
            synthetic: vec![(name, format!("{};", self.fields.join("; ")))],
            triggers: vec![(event(from), first), (event(to), second), (read.clone(), shown)],
            read,
        }
    }
}

/// A condition in the kernel's form: without the alias, `=` as `==`.
fn filter_of(filter: &str, alias: Option<&str>) -> String {
    let mut text = filter.to_owned();
    if let Some(alias) = alias {
        text = text.replace(&format!("{alias}."), "");
    }
    let words = text.replace(" AND ", " && ").replace(" and ", " && ").replace(" OR ", " || ").replace(" or ", " || ");
    let mut out = String::new();
    let chars: Vec<char> = words.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|n| chars.get(n)).copied().unwrap_or(' ');
        let after = chars.get(at + 1).copied().unwrap_or(' ');
        out.push(*c);
        if *c == '=' && !"=<>!~".contains(before) && !"=~".contains(after) {
            out.push('=');
        }
    }
    out
}

/// The part of the condition that is about one event: parts are joined by AND.
fn side_filter(text: &str, query: &Query, wanted: Side) -> Result<String, Wrong> {
    let all = filter_of(&query.filter, None);
    if all.is_empty() {
        return Ok(all);
    }
    let mut found = Vec::new();
    for part in all.split("&&").map(str::trim) {
        let first = part.trim_start_matches(['(', '!', ' ']);
        let table = first.split_once('.').map(|(table, _)| table.to_owned());
        let column = Column { table: table.clone(), field: String::new(), at: query.filter_at };
        let of = side(text, query, &column)?;
        let other = match (&query.join, of) {
            (Some(join), Side::Start) => join.0.2.clone().unwrap_or_else(|| join.0.0.clone()),
            _ => query.from.2.clone().unwrap_or_else(|| query.from.0.clone()),
        };
        if part.contains(&format!("{other}.")) {
            return Err(wrong(
                text,
                query.filter_at,
                "a part of the condition is about one of both events; join parts by &&",
            ));
        }
        if of == wanted {
            found.push(part.replace(&format!("{}.", table.unwrap_or_default()), ""));
        }
    }
    Ok(found.join(" && "))
}

#[cfg(test)]
mod tests;
