//! What a load is asked for, and what it tells.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Why a load could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The system refused something.
    #[error("cannot {operation} {object}: {source}")]
    Failed {
        /// What was tried.
        operation: &'static str,
        /// On what.
        object: String,
        /// Why not.
        source: io::Error,
    },
    /// This machine lacks what the load needs.
    #[error("{what} is not to be had here: {reason}")]
    Absent {
        /// What.
        what: &'static str,
        /// Why.
        reason: String,
    },
}

impl LoadError {
    /// Makes errors of one operation on one object.
    pub fn at(operation: &'static str, object: impl ToString) -> impl Fn(io::Error) -> Self {
        move |source| Self::Failed { operation, object: object.to_string(), source }
    }
}

/// What a load is asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    seed: u64,
    end: Instant,
    limit: Duration,
    /// The program that children of the load run: this one.
    pub program: PathBuf,
}

impl Plan {
    /// A load of this seed, over after `limit` at the latest.
    #[must_use]
    pub fn new(seed: u64, limit: Duration) -> Self {
        let program = PathBuf::from("/proc/self/exe");
        Self { seed, end: Instant::now() + limit, limit, program }
    }

    /// Numbers of the seed, from the first one on.
    #[must_use]
    pub const fn random(&self) -> Random {
        // Never 0, which stays 0 for ever.
        Random(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d | 1)
    }

    /// Whether there is time for more.
    #[must_use]
    pub fn has_time(&self) -> bool {
        Instant::now() < self.end
    }

    /// How long something lasts that would take `wanted`.
    #[must_use]
    pub fn bounded(&self, wanted: Duration) -> Duration {
        wanted.min(self.limit).min(self.end.saturating_duration_since(Instant::now()))
    }
}

/// Numbers from a seed (xorshift).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The next number from `low` to `high`, both included.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + (self.0 >> 11) % (high - low + 1)
    }
}

/// What a load has done: names and numbers or texts, in the order of its row.
#[derive(Debug, Default)]
pub struct Truth {
    rows: Vec<(&'static str, Value)>,
}

impl Truth {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more fact.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.rows.push((name, value.into()));
        self
    }

    /// The facts' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|(name, _)| *name)
    }

    /// One fact a line.
    #[must_use]
    pub fn text(&self) -> String {
        let width = self.rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.rows.iter().map(|(name, v)| format!("{name:width$}  {}\n", value(v))).collect()
    }

    /// One object.
    #[must_use]
    pub fn json(&self) -> Value {
        self.rows
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}
