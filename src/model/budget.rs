//! A budget: the part of the CPUs' time that a trace may take.

use std::fmt;
use std::str::FromStr;

/// Part of the time of all CPUs together, in hundredths of a percent; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget(u32);

/// Why a text is no budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// Not a number with `%`.
    #[error("expected a percentage such as `5%`, or `none`")]
    NoPercentage,
    /// Nothing would run.
    #[error("a budget of 0 leaves no probe any time; `none` is no bound")]
    Nothing,
    /// Finer than it can be kept.
    #[error("a budget is at least 0.01 % of the CPUs' time")]
    TooSmall,
    /// More than there is.
    #[error("a budget is at most 100 % of the CPUs' time")]
    TooLarge,
}

impl Budget {
    /// The workbench's, unless another is set.
    pub const DEFAULT: Self = Self(1_000);
    /// What an X-ray is given, which is on very many functions.
    pub const OF_MANY: Self = Self(500);
    /// Those that the workbench's key goes through.
    pub const CHOICES: [Self; 5] = [Self(100), Self(200), Self(500), Self::DEFAULT, Self(2_500)];

    /// The part of a time, in the same unit.
    #[must_use]
    pub const fn of(self, time: u64) -> u64 {
        (time / 10_000).saturating_mul(self.0 as u64)
    }

    /// In percent.
    #[must_use]
    pub fn percent(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// The next of the choices, and none after the largest.
    #[must_use]
    pub fn next(current: Option<Self>) -> Option<Self> {
        let Some(current) = current else { return Self::CHOICES.first().copied() };
        Self::CHOICES.into_iter().find(|choice| *choice > current)
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.percent())
    }
}

impl FromStr for Budget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Self, BudgetError> {
        let number = text.trim().strip_suffix('%').unwrap_or(text).trim();
        let percent: f64 = number.parse().map_err(|_| BudgetError::NoPercentage)?;
        let hundredths = (percent * 100.0).round();
        if percent == 0.0 {
            Err(BudgetError::Nothing)
        } else if percent.is_nan() || percent < 0.0 {
            Err(BudgetError::NoPercentage)
        } else if hundredths < 1.0 {
            Err(BudgetError::TooSmall)
        } else if hundredths > 10_000.0 {
            Err(BudgetError::TooLarge)
        } else {
            Ok(Self(hundredths as u32))
        }
    }
}

/// A budget or, where it is `none`, no bound: what a flag or the configuration asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(pub Option<Budget>);

impl FromStr for Limit {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Self, BudgetError> {
        if text.trim() == "none" {
            return Ok(Self(None));
        }
        text.parse().map(|budget| Self(Some(budget)))
    }
}

impl<'de> serde::Deserialize<'de> for Limit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_percentages_above_0() {
        let read = |text: &str| text.parse::<Budget>();
        assert_eq!(read("5%").map(|b| b.of(100_000_000)), Ok(5_000_000));
        assert_eq!(read("0.5 %").map(|b| b.to_string()), Ok("0.5 %".to_owned()));
        assert_eq!(read("10"), Ok(Budget::DEFAULT));
        assert_eq!(read("0"), Err(BudgetError::Nothing));
        assert_eq!(read("0.001%"), Err(BudgetError::TooSmall));
        assert_eq!(read("101%"), Err(BudgetError::TooLarge));
        assert_eq!(read("-1%"), Err(BudgetError::NoPercentage));
        assert_eq!(read("nan"), Err(BudgetError::NoPercentage));
        assert_eq!(read("much"), Err(BudgetError::NoPercentage));
        assert_eq!("none".parse(), Ok(Limit(None)));
        assert_eq!("10%".parse(), Ok(Limit(Some(Budget::DEFAULT))));
        assert_eq!("0".parse::<Limit>(), Err(BudgetError::Nothing));
    }

    #[test]
    fn choices_end_with_no_budget() {
        let mut budget = Budget::next(None);
        let mut seen = Vec::new();
        while let Some(choice) = budget {
            seen.push(choice);
            budget = Budget::next(budget);
        }
        assert_eq!(seen, Budget::CHOICES);
    }
}
