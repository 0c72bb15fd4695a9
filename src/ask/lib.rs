//! Questions in plain words, and what answers each: the front door for people who do not know which probe to ask for.
//!
//! A question is a file of `questions/`. It says in which words people ask it, what opens, how to read the answer and
//! what to ask next. [`Catalogue::search`] ranks the questions by what somebody has typed. Nothing here knows a terminal
//! or traces anything: the faces open what a question names.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

pub mod matching;
pub mod question;
mod texts;

pub use matching::{Catalogue, Hit};
pub use question::{Flame, Kind, Opens, Parameter, Process, Question, QuestionError, View};
