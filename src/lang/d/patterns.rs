//! Fields of probe descriptions, which are patterns.

use crate::probe::glob::Glob;

/// Whether a field of a description names something.
pub fn fits(pattern: &str, text: &str) -> bool {
    pattern == "*" || Glob::new(pattern).matches(text)
}
