//! What was said: our answer, read from JSON, and the truth; and the small language in which rows name both.
//!
//! What is seen: `@map[key]` is a number, the number of values of a histogram, or with `.count`, `.average`, `.total` a part of
//! statistics; `{fact}` is what the load told; `*` in a key stands for anything, and all that fit are added. `lines REGEX` counts lines of text,
//! `sum REGEX` adds what the first group took. Keys are compared without blanks.
//!
//! What is true: terms with `+` and `-` between them, each a number, the name of a fact of the load, or `inner:COUNTER` or
//! `outer:COUNTER`; `N*` before a term multiplies it, `/N` behind it divides.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::row::Claim;

/// Everything that was said of a load.
#[derive(Debug, Default)]
pub struct Seen {
    /// Maps, by name, then key; a map without keys has the key "".
    pub maps: BTreeMap<String, BTreeMap<String, Value>>,
    /// Text that was printed, in lines.
    pub lines: Vec<String>,
    /// A command's answer, where it is one JSON value.
    pub value: Value,
    /// What the load told, and all that it printed.
    pub truth: Value,
    pub load_text: String,
    pub inner: BTreeMap<String, f64>,
    pub outer: BTreeMap<String, f64>,
    pub stderr: String,
    pub code: Option<i32>,
}

impl Seen {
    /// Reads the lines of `-f json`.
    pub fn read(&mut self, text: &str) -> Result<(), String> {
        let mut printed = String::new();
        for line in text.lines() {
            let value: Value = serde_json::from_str(line).map_err(|e| format!("no JSON: {e}: {line}"))?;
            match (value["type"].as_str(), &value["data"]) {
                (Some("printf" | "time" | "cat"), Value::String(text)) => printed.push_str(text),
                (Some("join"), Value::String(text)) => {
                    printed.push_str(text);
                    printed.push('\n');
                }
                (Some("map" | "hist" | "stats"), Value::Object(maps)) => {
                    for (name, keys) in maps {
                        self.maps.insert(name.clone(), keyed(keys));
                    }
                }
                // What is missing is told as an object of its own.
                (Some("helper_error" | "lost_events" | "throttled"), _) => {
                    self.stderr.push_str("lost: ");
                    self.stderr.push_str(line);
                    self.stderr.push('\n');
                }
                _ => {}
            }
        }
        self.lines = printed.lines().map(str::to_owned).collect();
        Ok(())
    }

    /// Checks a claim.
    pub fn check(&self, claim: &Claim) -> Result<(), String> {
        match claim {
            Claim::Equal(what, truth) => {
                let (seen, truth_is) = (self.seen(what)?, self.truth(truth)?);
                // What a firing that is told missing would have added to a sum is not known: up to half is left to it.
                let missed =
                    if what.starts_with("sum ") { self.missed().min(1.0) * truth_is / 2.0 } else { self.missed() };
                let is_equal = (seen - truth_is).abs() < 0.5 || (seen..=seen + missed).contains(&truth_is);
                is_equal.then_some(()).ok_or_else(|| format!("`{what}` is {seen}, `{truth}` is {truth_is}"))
            }
            Claim::Within(what, low, high) => {
                let (seen, least, most) = (self.seen(what)?, self.truth(low)?, self.truth(high)?);
                let is_within = (least - self.missed()..=most).contains(&seen);
                is_within
                    .then_some(())
                    .ok_or_else(|| format!("`{what}` is {seen}, and not from {least} (`{low}`) to {most} (`{high}`)"))
            }
            Claim::By(check) => check(self),
        }
    }

    /// Firings that our answer lacks and that it tells of: a program that would have run inside another one.
    fn missed(&self) -> f64 {
        let counts = self.stderr.split("nested firing skipped: ").skip(1);
        counts.filter_map(|rest| rest.split(' ').next()?.parse::<f64>().ok()).sum()
    }

    /// What our answer says.
    pub fn seen(&self, what: &str) -> Result<f64, String> {
        let mut what = what.to_owned();
        for name in self.truth.as_object().into_iter().flat_map(|facts| facts.keys()) {
            what = what.replace(&format!("{{{name}}}"), &self.told(name));
        }
        let what = what.as_str();
        if let Some(pattern) = what.strip_prefix("lines ") {
            let pattern = regex(pattern)?;
            return Ok(self.lines.iter().filter(|line| pattern.is_match(line)).count() as f64);
        }
        if let Some(pattern) = what.strip_prefix("sum ") {
            let pattern = regex(pattern)?;
            let number = |line: &String| pattern.captures(line)?.get(1)?.as_str().parse::<f64>().ok();
            return Ok(self.lines.iter().filter_map(number).sum());
        }
        let (map, key, part) = parts(what);
        let Some(keys) = self.maps.get(map) else { return Ok(0.0) };
        let pattern = regex(&format!("^{}$", regex::escape(&key).replace("\\*", ".*")))?;
        Ok(keys.iter().filter(|(key, _)| pattern.is_match(key)).map(|(_, value)| number(value, part)).sum())
    }

    /// What is true.
    pub fn truth(&self, expression: &str) -> Result<f64, String> {
        let mut sum = 0.0;
        for (at, term) in expression.replace('-', "+-").split('+').enumerate() {
            let term = term.trim();
            if term.is_empty() && at == 0 {
                continue;
            }
            let (sign, term) = term.strip_prefix('-').map_or((1.0, term), |rest| (-1.0, rest.trim()));
            let (factor, term) = term.split_once('*').map_or(("1", term), |(n, rest)| (n, rest));
            let (term, divisor) = term.split_once('/').unwrap_or((term, "1"));
            let scale = factor.parse::<f64>().unwrap_or(f64::NAN) / divisor.parse::<f64>().unwrap_or(f64::NAN);
            sum += sign * scale * self.term(term.trim())?;
        }
        Ok(sum)
    }

    fn term(&self, term: &str) -> Result<f64, String> {
        if let Ok(number) = term.parse() {
            return Ok(number);
        }
        let counted = |all: &BTreeMap<String, f64>, name: &str| {
            all.get(name).copied().ok_or_else(|| format!("`{name}` was not read"))
        };
        match term.split_once(':') {
            Some(("inner", name)) => counted(&self.inner, name),
            Some(("outer", name)) => counted(&self.outer, name),
            _ => self.truth[term].as_f64().ok_or_else(|| format!("the load told no `{term}`: {}", self.load_text)),
        }
    }

    /// A text that the load told.
    pub fn told(&self, name: &str) -> String {
        self.truth[name].as_str().map_or_else(|| self.truth[name].to_string(), str::to_owned)
    }
}

/// Counters of the system that an expression names.
pub fn counters(expression: &str) -> Vec<String> {
    let words = expression.split(['+', '-', '*', '/']).map(str::trim);
    let counter = |word: &str| word.strip_prefix("inner:").or_else(|| word.strip_prefix("outer:")).map(str::to_owned);
    words.filter_map(counter).collect()
}

fn regex(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|e| format!("`{text}`: {e}"))
}

/// Map, key without blanks, and part.
fn parts(what: &str) -> (&str, String, Option<&str>) {
    let (name, rest) = what.find('[').map_or((what, ""), |at| what.split_at(at));
    let (key, part) = rest.rsplit_once(']').unwrap_or((rest, ""));
    let (name, part) = match name.rsplit_once('.') {
        Some((name, part)) if rest.is_empty() => (name, Some(part)),
        _ => (name, part.strip_prefix('.')),
    };
    (name, bare(key.trim_start_matches('[')), part)
}

fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn keyed(value: &Value) -> BTreeMap<String, Value> {
    match value {
        Value::Object(keys) if !is_statistics(value) => keys.iter().map(|(k, v)| (bare(k), v.clone())).collect(),
        _ => BTreeMap::from([(String::new(), value.clone())]),
    }
}

fn is_statistics(value: &Value) -> bool {
    value.get("count").is_some() && value.get("total").is_some()
}

/// A number; how many values a histogram has; a part of statistics.
fn number(value: &Value, part: Option<&str>) -> f64 {
    match (value, part) {
        (Value::Array(buckets), _) => buckets.iter().filter_map(|b| b["count"].as_f64()).sum(),
        (Value::Object(_), Some(part)) => value[part].as_f64().unwrap_or(f64::NAN),
        _ => value.as_f64().unwrap_or(f64::NAN),
    }
}
