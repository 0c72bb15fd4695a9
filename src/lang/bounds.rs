//! How much is told of a text that is wrong everywhere.

use super::codes::parse::MORE_ERRORS;
use super::diagnostic::{Diagnostic, Severity};
use super::source::Span;

/// Errors of one script that are told, and as many warnings; of more errors their number is told.
pub const MOST_TOLD: usize = 100;

/// Keeps the first errors and the first warnings, and says how many errors there are besides; `dropped` were not kept
/// before.
pub fn bounded(diagnostics: &mut Vec<Diagnostic>, dropped: usize) {
    let (mut errors, mut others) = (0_usize, 0_usize);
    diagnostics.retain(|d| {
        let count = if d.severity == Severity::Error { &mut errors } else { &mut others };
        *count += 1;
        *count <= MOST_TOLD
    });
    let more = errors.saturating_sub(MOST_TOLD) + dropped;
    if more > 0 {
        let text = if more == 1 { "and 1 more error".to_owned() } else { format!("and {more} more errors") };
        diagnostics.push(Diagnostic::new(Severity::Info, MORE_ERRORS, Span::default(), text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::diagnostic::Code;

    #[test]
    fn a_hundred_errors_are_told_and_the_rest_is_counted() {
        let error = |at| Diagnostic::error(Code(200), Span::new(at, at + 1), "wrong");
        let mut all: Vec<Diagnostic> = (0..150).map(error).collect();
        all.push(Diagnostic::warning(Code(400), Span::default(), "odd"));
        bounded(&mut all, 7);
        assert_eq!(all.len(), 102);
        assert_eq!(all.last().map(|d| d.message.as_str()), Some("and 57 more errors"));
        assert!(all.iter().any(|d| d.message == "odd"), "warnings are not crowded out");
        let mut few = vec![error(1)];
        bounded(&mut few, 0);
        assert_eq!(few, [error(1)]);
        bounded(&mut few, 1);
        assert_eq!(few.last().map(|d| d.message.as_str()), Some("and 1 more error"));
    }
}
