//! Grading: a lesson's rules, held against what a script's maps and events hold.

use super::evidence::Evidence;
use super::expression::{Expression, Truth};
use super::lesson::Lesson;
use super::rule::{Fit, Rule, Wanted};
use super::words::{self, Language};

/// Findings that are told at once: more than a few nobody reads.
const MOST_FINDINGS: usize = 4;
const MOST_HINTS: usize = 2;

/// What a script is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grade {
    /// Every check holds.
    pub passed: bool,
    /// What does not hold, in the order of the lesson's checks.
    pub findings: Vec<Finding>,
    /// What the student may have misunderstood, the likeliest first.
    pub hints: Vec<String>,
}

/// A check that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong, as a sentence without its end.
    pub message: String,
}

/// Grades what a script left. With `told` the right numbers stand in the findings.
#[must_use]
pub fn grade(lesson: &Lesson, evidence: &Evidence, truth: &Truth, language: Language, told: bool) -> Grade {
    let mut findings: Vec<Finding> = Vec::new();
    for rule in &lesson.checks {
        if let Some(message) = failed(rule, evidence, truth, language, told)
            && findings.iter().all(|finding| finding.message != message)
        {
            findings.push(Finding { message });
        }
    }
    let passed = findings.is_empty();
    findings.truncate(MOST_FINDINGS);
    let mut hints = Vec::new();
    if !passed {
        let texts = &lesson.text(language.code()).mistakes;
        let made = lesson.mistakes.iter().filter(|rule| rule.holds(evidence, truth));
        let mut likely: Vec<String> = made.filter_map(|rule| texts.get(&rule.id).cloned()).collect();
        likely.dedup();
        likely.truncate(MOST_HINTS);
        hints.extend(likely);
        hints.extend(general(evidence, language));
    }
    Grade { passed, findings, hints }
}

/// Why a check does not hold; none where it does.
fn failed(rule: &Rule, evidence: &Evidence, truth: &Truth, language: Language, told: bool) -> Option<String> {
    match rule.number(evidence, truth) {
        Err(missing) => {
            let maps: Vec<&str> = evidence.maps.keys().map(String::as_str).take(8).collect();
            let filled = Rule { key: rule.key.as_ref().map(|key| truth.filled(key)), ..rule.clone() };
            Some(words::missing(language, &filled, &missing, &maps))
        }
        Ok(number) => match rule.fit(number, truth) {
            Fit::Right => None,
            fit => Some(words::wrong(language, rule, number, fit, &expected(rule, truth, language, told))),
        },
    }
}

/// What it should be, in words: the expression, with the numbers where they may be told.
fn expected(rule: &Rule, truth: &Truth, language: Language, told: bool) -> Vec<String> {
    let one = |expression: &Expression| {
        let is_plain = expression.names().is_empty();
        let value = expression.value(truth).filter(|_| told && !is_plain).map(words::written);
        value.map_or_else(|| expression.text().to_owned(), |value| format!("{} = {value}", expression.text()))
    };
    let is_zh = language == Language::Chinese;
    match &rule.wanted {
        Wanted::Is { value, part, amount } => {
            let off = match (*part > 0.0, *amount > 0.0) {
                (true, _) => format!(" ± {}%", words::written(part * 100.0)),
                (_, true) => format!(" ± {}", words::written(*amount)),
                _ => String::new(),
            };
            vec![if is_zh {
                format!("应当是 {}{off}", one(value))
            } else {
                format!("it should be {}{off}", one(value))
            }]
        }
        Wanted::Between(low, high) => {
            let low = low
                .as_ref()
                .map(|low| if is_zh { format!("至少 {}", one(low)) } else { format!("at least {}", one(low)) });
            let high = high
                .as_ref()
                .map(|high| if is_zh { format!("至多 {}", one(high)) } else { format!("at most {}", one(high)) });
            low.into_iter().chain(high).collect()
        }
    }
}

/// Hints that hold for every lesson.
fn general(evidence: &Evidence, language: Language) -> Vec<String> {
    let mut hints = Vec::new();
    let is_empty = evidence.maps.values().all(Vec::is_empty) && evidence.events == 0;
    if is_empty {
        let english = "your script left nothing: no map and no printed line. Did its probe fire? A predicate that is never true looks the same";
        let chinese =
            "你的脚本什么也没有留下：既没有映射，也没有打印。探针触发过吗？一个永远不成立的谓词看起来也是这样";
        hints.push(language.pick(english, chinese).to_owned());
    }
    if evidence.lost > 0 {
        let english = format!("{} events were lost: print less, or aggregate in a map", evidence.lost);
        let chinese = format!("丢失了 {} 个事件：少打印一些，或者用映射在内核里汇总", evidence.lost);
        hints.push(language.pick(&english, &chinese).to_owned());
    }
    if evidence.cut {
        let english = "your script printed more than is looked at: print less, or aggregate in a map";
        let chinese = "你的脚本打印得太多，后面的没有看：少打印一些，或者用映射在内核里汇总";
        hints.push(language.pick(english, chinese).to_owned());
    }
    hints
}

#[cfg(test)]
mod tests {
    use super::super::lesson::tests::folder;
    use super::*;

    fn graded(stream: &str, language: Language, told: bool) -> Grade {
        let lesson = Lesson::parse(&folder()).unwrap();
        let truth = Truth::parse(r#"{"written_bytes": 4096, "writes": 4}"#).unwrap();
        grade(&lesson, &Evidence::parse(stream), &truth, language, told)
    }

    fn bytes(n: u64) -> String {
        format!("{{\"type\": \"map\", \"data\": {{\"@bytes\": {n}}}}}")
    }

    #[test]
    fn what_holds_passes_and_what_does_not_is_told() {
        assert!(graded(&bytes(4096), Language::English, true).passed);
        let low = graded(&bytes(4), Language::English, true);
        assert_eq!(low.findings[0].message, "@bytes is 4, which is too small: it should be written_bytes = 4096");
        assert_eq!(low.hints, ["not bytes"]);
        let high = graded(&bytes(9999), Language::English, false);
        assert_eq!(high.findings[0].message, "@bytes is 9999, which is too large: it should be written_bytes");
        assert!(high.hints.is_empty() && !high.passed);
        let zh = graded(&bytes(4), Language::Chinese, true);
        assert_eq!(zh.findings[0].message, "@bytes 是 4，太小了：应当是 written_bytes = 4096");
    }

    #[test]
    fn what_is_not_there_is_told() {
        let nothing = graded("", Language::English, true);
        assert!(nothing.findings[0].message.contains("left no maps at all"), "{nothing:?}");
        assert!(nothing.hints[0].contains("Did its probe fire"));
        let other = graded(r#"{"type": "map", "data": {"@b": 1}}"#, Language::English, true);
        assert!(other.findings[0].message.ends_with("your script left @b"), "{other:?}");
        let keyed = graded(r#"{"type": "map", "data": {"@bytes": {"a": 1, "b": 2}}}"#, Language::English, true);
        assert_eq!(keyed.findings[0].message, "@bytes should have no keys, and it has: a, b");
        let lost = graded("{\"type\": \"lost_events\", \"data\": {\"events\": 7}}", Language::Chinese, true);
        assert!(lost.hints.iter().any(|hint| hint.contains("丢失了 7")), "{lost:?}");
    }
}
