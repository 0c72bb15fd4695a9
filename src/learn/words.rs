//! What grading says in its own words, in the languages that it knows.

use super::rule::{Asked, Fit, Missing, Rule};

/// A language of the program's own sentences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Chinese, simplified.
    Chinese,
}

impl Language {
    /// The language of a locale's name (`zh_CN.UTF-8`); English where it is another.
    #[must_use]
    pub fn of_locale(locale: &str) -> Self {
        if locale.starts_with("zh") { Self::Chinese } else { Self::English }
    }

    /// The name of its texts.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// One of two texts: English, Chinese.
    #[must_use]
    pub const fn pick<'a>(self, english: &'a str, chinese: &'a str) -> &'a str {
        match self {
            Self::English => english,
            Self::Chinese => chinese,
        }
    }
}

/// What a rule asks for, as it is called in sentences.
pub(super) fn subject(language: Language, rule: &Rule) -> String {
    let (map, key) = (&rule.map, rule.key.as_ref().map(|key| format!("[{key}]")).unwrap_or_default());
    let zh = language == Language::Chinese;
    match rule.of {
        Asked::Value => format!("{map}{key}"),
        Asked::Sum if zh => format!("{map}{key} 各键之和"),
        Asked::Sum => format!("the sum over the keys of {map}{key}"),
        Asked::Keys if zh => format!("{map}{key} 的键数"),
        Asked::Keys => format!("the number of keys of {map}{key}"),
        Asked::Count if zh => format!("{map}{key} 中的条目数"),
        Asked::Count => format!("the number of entries in {map}{key}"),
        Asked::Mean if zh => format!("{map}{key} 的平均值"),
        Asked::Mean => format!("the mean of {map}{key}"),
        Asked::Total if zh => format!("{map}{key} 的总和"),
        Asked::Total => format!("the total of {map}{key}"),
        Asked::Max if zh => format!("{map}{key} 的最大值"),
        Asked::Max => format!("the largest of {map}{key}"),
        Asked::Above if zh => format!("{map}{key} 中不小于 {} 的条目数", rule.from),
        Asked::Above => format!("the number of entries of {map}{key} from {} on", rule.from),
        Asked::Printed if zh => format!("打印的行数{key}"),
        Asked::Printed => format!("the number of printed events{key}"),
        Asked::Numbers if zh => format!("打印的各行中第 {} 个数之和{key}", rule.nth),
        Asked::Numbers => format!("the sum of number {} of the printed lines{key}", rule.nth),
        Asked::Lost => language.pick("the number of lost events", "丢失的事件数").to_owned(),
    }
}

/// Why a number is not there.
pub(super) fn missing(language: Language, rule: &Rule, missing: &Missing, maps: &[&str]) -> String {
    let map = &rule.map;
    let zh = language == Language::Chinese;
    match missing {
        Missing::Map if maps.is_empty() && zh => format!("没有名为 {map} 的映射，你的脚本没有留下任何映射"),
        Missing::Map if maps.is_empty() => {
            format!("there is nothing in a map {map}: your script left no maps at all")
        }
        Missing::Map if zh => format!("没有名为 {map} 的映射（或者它是空的）；你的脚本留下了 {}", maps.join("、")),
        Missing::Map => format!("there is nothing in a map {map}; your script left {}", maps.join(", ")),
        Missing::Key(keys) => {
            let wanted = rule.key.as_deref().unwrap_or("");
            let some: Vec<String> = keys.iter().map(|key| key.trim().replace('\n', " ; ")).collect();
            match (zh, wanted.is_empty(), some.is_empty()) {
                (true, true, _) => format!("{map} 应当没有键，而它有键：{}", some.join("、")),
                (false, true, _) => format!("{map} should have no keys, and it has: {}", some.join(", ")),
                (true, false, true) => format!("{map} 应当有键 {wanted}，而它没有键"),
                (false, false, true) => format!("{map} should have a key {wanted}, and it has no keys"),
                (true, false, false) => format!("{map} 里没有键 {wanted}；它有 {}", some.join("、")),
                (false, false, false) => format!("{map} has no key {wanted}; it has {}", some.join(", ")),
            }
        }
        Missing::Kind => match (rule.of, zh) {
            (Asked::Count | Asked::Above, true) => format!("{map} 不是直方图或 stats()"),
            (Asked::Count | Asked::Above, false) => format!("{map} is no histogram and no stats()"),
            (Asked::Total, true) => format!("{map} 不是 stats()"),
            (Asked::Total, false) => format!("{map} is no stats()"),
            (_, true) => format!("{map} 里存的不是一个数"),
            (_, false) => format!("{map} does not hold a number there"),
        },
    }
}

/// What is wrong with a number that is there.
pub(super) fn wrong(language: Language, rule: &Rule, number: f64, fit: Fit, told: &[String]) -> String {
    let subject = subject(language, rule);
    let number = written(number);
    let told = told.join(language.pick(", ", "，"));
    match (language, fit) {
        (Language::Chinese, Fit::Low) => format!("{subject} 是 {number}，太小了：{told}"),
        (Language::Chinese, Fit::High) => format!("{subject} 是 {number}，太大了：{told}"),
        (Language::Chinese, _) => format!("{subject} 是 {number}，但负载没有说出应有的值"),
        (Language::English, Fit::Low) => format!("{subject} is {number}, which is too small: {told}"),
        (Language::English, Fit::High) => format!("{subject} is {number}, which is too large: {told}"),
        (Language::English, _) => format!("{subject} is {number}, and the load does not tell what it should be"),
    }
}

/// A number as people write it: whole where it is.
pub(super) fn written(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 { format!("{number:.0}") } else { format!("{number:.2}") }
}
