//! What a student's script held at its end, read from its stream of JSON lines.

use std::collections::BTreeMap;

use serde_json::Value;

/// Bounds of what is kept: maps, keys of one, printed lines, bytes of a text.
const MOST_MAPS: usize = 200;
const MOST_KEYS: usize = 20_000;
const MOST_LINES: usize = 20_000;
const LONGEST: usize = 8 << 10;

/// What one element of a map holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    /// A number; `avg` is one, too.
    Number(f64),
    /// Buckets of a histogram: least value (none: no bound) and number of entries.
    Histogram(Vec<(Option<f64>, f64)>),
    /// `stats`.
    Stats {
        /// How many values.
        count: f64,
        /// Their mean.
        average: f64,
        /// Their sum.
        total: f64,
    },
    /// Anything else, as JSON.
    Text(String),
}

/// A map's elements with their keys as they are printed; a map without keys has one element without.
pub type Map = Vec<(Option<String>, Held)>;

/// What a script's maps and events hold at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The maps as they were printed last, by name.
    pub maps: BTreeMap<String, Map>,
    /// What was printed, each event a text.
    pub printed: Vec<String>,
    /// How many events were printed, those that are not kept included.
    pub events: u64,
    /// Events that were lost.
    pub lost: u64,
    /// Places that were attached to, where the stream says so.
    pub attached: Option<u64>,
    /// More came than is kept.
    pub cut: bool,
}

impl Evidence {
    /// Reads a stream of JSON lines. What is no such line is left out.
    #[must_use]
    pub fn parse(stream: &str) -> Self {
        let mut evidence = Self::default();
        for line in stream.lines() {
            let Ok(Value::Object(object)) = serde_json::from_str(line) else { continue };
            let Some(kind) = object.get("type").and_then(Value::as_str) else { continue };
            let Some(data) = object.get("data") else { continue };
            match kind {
                "map" | "hist" | "stats" => evidence.take_maps(kind, data),
                "printf" | "value" | "time" | "strftime" | "cat" | "join" => evidence.take_event(data),
                // What a D program prints at one firing: any number of lines.
                "record" => {
                    let text = data.as_str().unwrap_or("");
                    text.lines().filter(|line| !line.trim().is_empty()).for_each(|line| evidence.take_line(line));
                }
                "lost_events" => {
                    evidence.lost = evidence.lost.saturating_add(count_of(data.get("events")));
                }
                "attached_probes" => evidence.attached = Some(count_of(data.get("probes"))),
                _ => {}
            }
        }
        evidence
    }

    /// A map by its name.
    #[must_use]
    pub fn map(&self, name: &str) -> Option<&Map> {
        self.maps.get(name)
    }

    fn take_event(&mut self, data: &Value) {
        let text = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
        self.take_line(&text);
    }

    fn take_line(&mut self, text: &str) {
        self.events = self.events.saturating_add(1);
        if self.printed.len() >= MOST_LINES {
            self.cut = true;
            return;
        }
        self.printed.push(short(text));
    }

    fn take_maps(&mut self, kind: &str, data: &Value) {
        let Value::Object(maps) = data else { return };
        for (name, elements) in maps {
            if self.maps.len() >= MOST_MAPS && !self.maps.contains_key(name) {
                self.cut = true;
                return;
            }
            let map = self.map_of(kind, elements);
            self.maps.insert(short(name), map);
        }
    }

    fn map_of(&mut self, kind: &str, elements: &Value) -> Map {
        if is_element(kind, elements) {
            return vec![(None, held(kind, elements))];
        }
        let Value::Object(keys) = elements else { return vec![(None, held(kind, elements))] };
        self.cut |= keys.len() > MOST_KEYS;
        keys.iter().take(MOST_KEYS).map(|(key, value)| (Some(short(key)), held(kind, value))).collect()
    }
}

/// Whether a value is one element, not elements by key.
fn is_element(kind: &str, value: &Value) -> bool {
    match kind {
        "stats" => value.get("count").is_some_and(Value::is_number) && value.get("total").is_some_and(Value::is_number),
        _ => !value.is_object(),
    }
}

fn held(kind: &str, value: &Value) -> Held {
    let number = |name: &str| value.get(name).and_then(Value::as_f64);
    match (kind, value) {
        ("hist", Value::Array(buckets)) => {
            let bucket = |b: &Value| (b.get("min").and_then(Value::as_f64), count_of(b.get("count")) as f64);
            Held::Histogram(buckets.iter().map(bucket).collect())
        }
        ("stats", Value::Object(_)) => match (number("count"), number("average"), number("total")) {
            (Some(count), Some(average), Some(total)) => Held::Stats { count, average, total },
            _ => Held::Text(short(&value.to_string())),
        },
        (_, Value::Number(n)) => n.as_f64().map_or_else(|| Held::Text(n.to_string()), Held::Number),
        (_, Value::Bool(b)) => Held::Number(f64::from(u8::from(*b))),
        (_, Value::String(text)) => Held::Text(short(text)),
        (_, other) => Held::Text(short(&other.to_string())),
    }
}

fn count_of(value: Option<&Value>) -> u64 {
    value.and_then(Value::as_u64).unwrap_or(0)
}

fn short(text: &str) -> String {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = r#"{"type": "attached_probes", "count": 2, "data": {"probes": 2}}
{"type": "printf", "data": "7 x\n"}
{"type": "value", "data": [1,2]}
{"files": 3}
{"type": "map", "data": {"@c": 74}}
{"type": "map", "data": {"@k": {"a,1": 74, "b": 2}}}
{"type": "hist", "data": {"@h": [{"max": -1, "count": 27},{"min": 0, "max": 0, "count": 3}]}}
{"type": "hist", "data": {"@hk": {"x": [{"min": 0, "max": 9, "count": 7}]}}}
{"type": "stats", "data": {"@a": 5}}
{"type": "stats", "data": {"@s": {"count": 2, "average": 3, "total": 6}}}
{"type": "stats", "data": {"@sk": {"count": {"count": 2, "average": 3, "total": 6}}}}
{"type": "lost_events", "count": 4, "data": {"events": 4}}
{"type": "map", "data": {"@c": 75}}
"#;

    #[test]
    fn a_stream_is_read() {
        let evidence = Evidence::parse(STREAM);
        assert_eq!((evidence.events, evidence.lost, evidence.attached), (2, 4, Some(2)));
        assert_eq!(evidence.printed, ["7 x\n", "[1,2]"]);
        let d = Evidence::parse(r#"{"type": "record", "data": "\n  opens   78\n  reads 1\n\n"}"#);
        assert_eq!((d.events, d.printed[0].as_str()), (2, "  opens   78"));
        assert_eq!(evidence.map("@c"), Some(&vec![(None, Held::Number(75.0))]), "the last print holds");
        assert_eq!(evidence.maps["@k"][0], (Some("a,1".to_owned()), Held::Number(74.0)));
        assert_eq!(evidence.maps["@h"][0].1, Held::Histogram(vec![(None, 27.0), (Some(0.0), 3.0)]));
        assert_eq!(evidence.maps["@hk"][0].0.as_deref(), Some("x"));
        assert_eq!(evidence.maps["@a"][0].1, Held::Number(5.0));
        let stats = Held::Stats { count: 2.0, average: 3.0, total: 6.0 };
        assert_eq!(evidence.maps["@s"][0], (None, stats.clone()));
        assert_eq!(evidence.maps["@sk"][0], (Some("count".to_owned()), stats));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let line = "{\"type\": \"printf\", \"data\": \"x\"}\n";
        let evidence = Evidence::parse(&line.repeat(MOST_LINES + 5));
        assert_eq!((evidence.events, evidence.printed.len()), (MOST_LINES as u64 + 5, MOST_LINES));
        assert!(evidence.cut);
        let long = format!("{{\"type\": \"printf\", \"data\": \"{}\"}}", "é".repeat(LONGEST));
        assert!(Evidence::parse(&long).printed[0].len() <= LONGEST);
    }

    proptest::proptest! {
        #[test]
        fn any_stream_is_read(lines in proptest::collection::vec(
            "\\{\"type\": \"(map|hist|stats|printf|value|lost_events|x)\", \"data\": [\\[\\]{}:,\"@a1.-]{0,40}\\}", 0..20)) {
            let _ = Evidence::parse(&lines.join("\n"));
        }

        #[test]
        fn known_kinds_with_odd_data_are_read(kind in "(map|hist|stats|printf|lost_events|attached_probes)",
            name in "@[a-c]?", value in "(1|-1|1e308|null|\"x\"|\\[\\]|\\{\\}|\\[1\\]|\\{\"count\":1\\}|\\[\\{\"min\":2\\}\\])") {
            let _ = Evidence::parse(&format!("{{\"type\": \"{kind}\", \"data\": {{\"{name}\": {value}}}}}"));
        }
    }
}
