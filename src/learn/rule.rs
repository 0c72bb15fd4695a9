//! Rules: a number of the evidence, and what it should be.

use super::evidence::{Evidence, Held, Map};
use super::expression::{Expression, Truth};

/// What is asked of a map or of what was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
    /// The number at the one key that fits, or of a map without keys.
    Value,
    /// The sum over all keys that fit.
    Sum,
    /// How many keys fit.
    Keys,
    /// Entries of histograms or of stats, over all keys that fit.
    Count,
    /// The mean of stats or of an average.
    Mean,
    /// The total of stats.
    Total,
    /// The largest number over all keys that fit.
    Max,
    /// Entries of histograms at or above `from`.
    Above,
    /// How many events were printed whose text fits the key.
    Printed,
    /// The sum of the numbers at a place (`nth`, from 1) of what was printed.
    Numbers,
    /// How many events were lost.
    Lost,
}

/// A number of the evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What it is called: the name of its text in the languages.
    pub id: String,
    /// The map, with its `@`; empty where printed events are asked.
    pub map: String,
    /// What is asked.
    pub of: Asked,
    /// Which keys or printed texts: `*` stands for any text, `{name}` for what the truth has.
    pub key: Option<String>,
    /// Which number of a printed line, from 1.
    pub nth: usize,
    /// Least value of buckets that count.
    pub from: f64,
    /// What it should be.
    pub wanted: Wanted,
}

/// What a number should be.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// Equal, or off by at most the tolerance: a part of it (0.05), or an amount.
    Is {
        /// The right value.
        value: Expression,
        /// How far off it may be as a part of the value.
        part: f64,
        /// How far off it may be, in the value's unit.
        amount: f64,
    },
    /// Between two values, both included; either may be missing.
    Between(Option<Expression>, Option<Expression>),
}

/// Why there is no number.
#[derive(Clone, Debug, PartialEq)]
pub enum Missing {
    /// There is no such map, or nothing is in it.
    Map,
    /// It has no such key; some that it has.
    Key(Vec<String>),
    /// What it holds is something else.
    Kind,
}

/// Whether a number is as it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fit {
    /// It is.
    Right,
    /// It is smaller.
    Low,
    /// It is larger.
    High,
    /// The truth has no such number.
    Unknown,
}

impl Rule {
    /// The number that it asks for.
    ///
    /// # Errors
    /// Why there is none.
    pub fn number(&self, evidence: &Evidence, truth: &Truth) -> Result<f64, Missing> {
        let pattern = self.key.as_ref().map(|key| truth.filled(key));
        let fits = |text: &str| pattern.as_ref().is_none_or(|p| matches(p, text));
        match self.of {
            Asked::Lost => return Ok(evidence.lost as f64),
            Asked::Printed if pattern.is_none() => return Ok(evidence.events as f64),
            Asked::Printed => return Ok(evidence.printed.iter().filter(|t| fits(t.trim_end())).count() as f64),
            Asked::Numbers => {
                let lines = evidence.printed.iter().filter(|t| fits(t.trim_end()));
                return Ok(lines.filter_map(|text| nth_number(text, self.nth)).sum());
            }
            _ => {}
        }
        let none = Map::new();
        let map = match evidence.map(&self.map) {
            Some(map) => map,
            None if self.of == Asked::Keys => &none,
            None => return Err(Missing::Map),
        };
        let chosen: Vec<&Held> =
            map.iter().filter(|(key, _)| key.as_ref().map_or(pattern.is_none(), |k| fits(k))).map(|(_, h)| h).collect();
        if self.of == Asked::Keys {
            return Ok(chosen.len() as f64);
        }
        if chosen.is_empty() || (self.of == Asked::Value && chosen.len() > 1) {
            return Err(Missing::Key(map.iter().filter_map(|(key, _)| key.clone()).take(5).collect()));
        }
        self.over(&chosen).ok_or(Missing::Kind)
    }

    fn over(&self, chosen: &[&Held]) -> Option<f64> {
        let numbers: Option<Vec<f64>> = chosen.iter().map(|held| self.of_one(held)).collect();
        let numbers = numbers?;
        Some(match self.of {
            Asked::Max => numbers.into_iter().fold(f64::MIN, f64::max),
            Asked::Mean => numbers.iter().sum::<f64>() / numbers.len() as f64,
            _ => numbers.into_iter().sum(),
        })
    }

    fn of_one(&self, held: &Held) -> Option<f64> {
        match (self.of, held) {
            (Asked::Value | Asked::Sum | Asked::Max | Asked::Mean, Held::Number(n)) => Some(*n),
            (Asked::Count, Held::Stats { count, .. }) => Some(*count),
            (Asked::Count, Held::Histogram(buckets)) => Some(buckets.iter().map(|(_, n)| n).sum()),
            (Asked::Above, Held::Histogram(buckets)) => {
                let above = buckets.iter().filter(|(min, _)| min.is_some_and(|min| min >= self.from));
                Some(above.map(|(_, n)| n).sum())
            }
            (Asked::Mean, Held::Stats { average, .. }) => Some(*average),
            (Asked::Total | Asked::Sum, Held::Stats { total, .. }) => Some(*total),
            _ => None,
        }
    }

    /// Whether a number is as it should be.
    #[must_use]
    pub fn fit(&self, number: f64, truth: &Truth) -> Fit {
        let value = |expression: &Expression| expression.value(truth);
        let (low, high) = match &self.wanted {
            Wanted::Is { value: expression, part, amount } => {
                let Some(right) = value(expression) else { return Fit::Unknown };
                let off = (right.abs() * part).max(*amount);
                (Some(right - off), Some(right + off))
            }
            Wanted::Between(low, high) => {
                let (low_value, high_value) = (low.as_ref().and_then(value), high.as_ref().and_then(value));
                if low.is_some() != low_value.is_some() || high.is_some() != high_value.is_some() {
                    return Fit::Unknown;
                }
                (low_value, high_value)
            }
        };
        match (low, high) {
            (Some(low), _) if number < low => Fit::Low,
            (_, Some(high)) if number > high => Fit::High,
            _ => Fit::Right,
        }
    }

    /// Whether the evidence is so.
    #[must_use]
    pub fn holds(&self, evidence: &Evidence, truth: &Truth) -> bool {
        self.number(evidence, truth).is_ok_and(|number| self.fit(number, truth) == Fit::Right)
    }

    /// The expressions in what it should be.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let both = match &self.wanted {
            Wanted::Is { value, .. } => [Some(value), None],
            Wanted::Between(low, high) => [low.as_ref(), high.as_ref()],
        };
        both.into_iter().flatten()
    }
}

/// The number at a place of a text, from 1: numbers are runs of digits, with a minus before them.
fn nth_number(text: &str, nth: usize) -> Option<f64> {
    let is_part = |c: char| c.is_ascii_digit() || c == '-' || c == '.';
    let mut numbers = text.split(|c| !is_part(c)).filter_map(|word| word.trim_end_matches('.').parse::<f64>().ok());
    numbers.nth(nth.saturating_sub(1))
}

/// Whether a text fits a pattern, where `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(of: Asked, key: Option<&str>, is: &str) -> Rule {
        let wanted = Wanted::Is { value: Expression::parse(is).unwrap(), part: 0.1, amount: 0.0 };
        let key = key.map(str::to_owned);
        Rule { id: "x".to_owned(), map: "@m".to_owned(), of, key, nth: 2, from: 8.0, wanted }
    }

    fn evidence() -> Evidence {
        Evidence::parse(
            r#"{"type": "map", "data": {"@m": {"load-a,1": 3, "load-b,1": 4, "other": 100}}}
{"type": "printf", "data": "load 1 20\n"}
{"type": "printf", "data": "other 1 -5\n"}"#,
        )
    }

    #[test]
    fn numbers_are_found_in_maps_and_prints() {
        let (evidence, truth) = (evidence(), Truth::parse(r#"{"who": "load"}"#).unwrap());
        let number = |of, key| rule(of, key, "1").number(&evidence, &truth);
        assert_eq!(number(Asked::Sum, None), Ok(107.0));
        assert_eq!(number(Asked::Sum, Some("{who}-*")), Ok(7.0));
        assert_eq!(number(Asked::Value, Some("load-b,1")), Ok(4.0));
        assert_eq!(number(Asked::Keys, Some("*,1")), Ok(2.0));
        assert_eq!(number(Asked::Max, None), Ok(100.0));
        assert!(matches!(number(Asked::Value, Some("nobody")), Err(Missing::Key(keys)) if keys.len() == 3));
        assert_eq!(number(Asked::Count, None), Err(Missing::Kind));
        assert_eq!(number(Asked::Printed, None), Ok(2.0));
        assert_eq!(number(Asked::Printed, Some("load*")), Ok(1.0));
        assert_eq!(number(Asked::Numbers, None), Ok(15.0));
        let other = Rule { map: "@none".to_owned(), ..rule(Asked::Sum, None, "1") };
        assert_eq!(other.number(&evidence, &truth), Err(Missing::Map));
        assert_eq!(Rule { of: Asked::Keys, ..other }.number(&evidence, &truth), Ok(0.0));
    }

    #[test]
    fn a_tolerance_is_of_both_sides() {
        let truth = Truth::parse(r#"{"a": 100}"#).unwrap();
        let fits: Vec<Fit> = [89.0, 90.0, 110.0, 111.0].map(|n| rule(Asked::Sum, None, "a").fit(n, &truth)).to_vec();
        assert_eq!(fits, [Fit::Low, Fit::Right, Fit::Right, Fit::High]);
        assert_eq!(rule(Asked::Sum, None, "b").fit(1.0, &truth), Fit::Unknown);
    }

    #[test]
    fn patterns_match_as_globs_do() {
        for (pattern, text, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*b*", "abc", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abcd", false),
            ("ab*b", "ab", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_pattern_and_text_are_compared(pattern in "[ab*é]{0,12}", text in "[abé]{0,12}") {
            let _ = matches(&pattern, &text);
            proptest::prop_assert!(matches("*", &text) && matches(&text, &text));
            let _ = nth_number(&text, 1);
        }
    }
}
