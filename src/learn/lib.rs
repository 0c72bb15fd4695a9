//! Lessons as data: what a lesson is, and how a student's script is graded.
//!
//! A lesson is a folder of texts ([`Lesson::parse`]). A script is graded by what its own maps and events hold at the end
//! ([`Evidence`]), against the truth that the traced load told ([`Truth`]); its text is never looked at. [`grade`] is a pure
//! function of the three. Whatever a folder or a stream holds, it is bounded here and makes no panic.

#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

mod bundle;
mod evidence;
mod expression;
mod grade;
mod lesson;
mod progress;
mod rule;
mod text;
mod words;

pub use bundle::{BUNDLED, Bundled, RECORDINGS, Recorded, recording};
pub use evidence::{Evidence, Held, Map};
pub use expression::{Expression, Truth};
pub use grade::{Finding, Grade, grade};
pub use lesson::{Folder, Form, Lesson, LessonError};
pub use progress::{Done, Progress};
pub use rule::{Asked, Rule, Wanted};
pub use text::Text;
pub use words::Language;

/// Longest text of a lesson's file, in bytes.
pub const LONGEST_TEXT: usize = 64 << 10;
