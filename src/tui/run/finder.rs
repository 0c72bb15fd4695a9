//! Searching and describing probes off the screen's thread: the newest question is answered, older
//! ones are dropped.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::lang::service::Completion;
use crate::lang::source::SourceText;
use crate::probe::lens::Arguments;
use crate::probe::xray::Xray;
use crate::thread::{self, Rights};
use crate::tui::data::effect::{Detail, Found, Message};

/// What can be asked about probes.
pub trait Finder: Send + 'static {
    /// The best probes for what was typed; `complete` is false while the catalogue still grows.
    fn search(&mut self, query: &str) -> Found;

    /// Everything about a probe.
    fn describe(&mut self, name: &str) -> Detail;

    /// The arguments of a probe, or why there are none.
    fn lens(&mut self, _probe: &str) -> Result<Arguments, String> {
        Err("the types of this kernel are not known here".to_owned())
    }

    /// The X-ray of a pattern, or why there is none.
    fn xray(&mut self, _pattern: &str) -> Result<Xray, String> {
        Err("functions of this kernel are not known here".to_owned())
    }

    /// What could be typed at a byte offset of a script.
    fn complete(&mut self, _source: &SourceText, _offset: u32) -> Vec<Completion> {
        Vec::new()
    }

    /// What is known of the word at a byte offset of a script, in one line.
    fn hint(&mut self, _source: &SourceText, _offset: u32) -> String {
        String::new()
    }
}

/// How often a search is repeated while the catalogue grows.
const AGAIN: Duration = Duration::from_millis(60);

/// A question.
#[derive(Debug)]
pub enum Question {
    /// Search.
    Search(String, u64),
    /// Describe.
    Describe(Arc<str>),
    /// The members of a probe's arguments.
    Lens(Arc<str>),
    /// The X-ray of a pattern.
    Xray(String),
    /// What could be typed: text, byte offset, number.
    Complete(SourceText, u32, u64),
    /// What is known of a word: text, byte offset.
    Hint(SourceText, u32),
}

/// Starts the thread; `answer` is called there, and ends it by returning false.
pub fn spawn(
    mut finder: Box<dyn Finder>,
    answer: impl Fn(Message) -> bool + Send + 'static,
) -> std::io::Result<Sender<Question>> {
    let (sender, questions) = channel();
    thread::spawn("psc-search", Rights::Reads, move || {
        let mut once = || work(&mut *finder, &questions, &answer);
        // A question that makes it panic goes unanswered; those after it are answered as usual.
        while std::panic::catch_unwind(std::panic::AssertUnwindSafe(&mut once)).is_err() {
            let text = "the search failed on this by a fault of its own (this is a bug in probescope)";
            if !answer(Message::Notice(text.to_owned())) {
                return;
            }
        }
    })?;
    Ok(sender)
}

fn work(finder: &mut dyn Finder, questions: &Receiver<Question>, answer: &impl Fn(Message) -> bool) {
    let mut search: Option<(String, u64)> = None;
    let mut growing = false;
    loop {
        let mut fresh = false;
        let (mut xray, mut describe, mut lens, mut complete, mut hint) = (None, None, None, None, None);
        let next = if growing {
            match questions.recv_timeout(AGAIN) {
                Ok(question) => Some(question),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        } else {
            let Ok(question) = questions.recv() else { return };
            Some(question)
        };
        for question in next.into_iter().chain(questions.try_iter()) {
            match question {
                Question::Search(query, generation) => {
                    search = Some((query, generation));
                    fresh = true;
                }
                Question::Describe(name) => describe = Some(name),
                Question::Lens(probe) => lens = Some(probe),
                Question::Xray(pattern) => xray = Some(pattern),
                Question::Complete(source, offset, generation) => complete = Some((source, offset, generation)),
                Question::Hint(source, offset) => hint = Some((source, offset)),
            }
        }
        if let Some((query, generation)) = search.as_ref().filter(|_| fresh || growing) {
            let found = Found { generation: *generation, ..finder.search(query) };
            growing = !found.complete;
            if !answer(Message::Found(found)) {
                return;
            }
        }
        if let Some(name) = describe
            && !answer(Message::Described(finder.describe(&name)))
        {
            return;
        }
        if let Some(pattern) = xray {
            let made = finder.xray(&pattern);
            if !answer(Message::Xray { pattern, made }) {
                return;
            }
        }
        if let Some(probe) = lens {
            let roots = finder.lens(&probe);
            if !answer(Message::Lens { probe, roots }) {
                return;
            }
        }
        if let Some((source, offset, generation)) = complete
            && !answer(Message::Completed { generation, items: finder.complete(&source, offset) })
        {
            return;
        }
        if let Some((source, offset)) = hint
            && !answer(Message::Hinted { offset, hint: finder.hint(&source, offset) })
        {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Growing(usize);

    impl Finder for Growing {
        fn search(&mut self, query: &str) -> Found {
            self.0 += 1;
            Found { matched: self.0, total: query.len(), complete: self.0 >= 3, ..Found::default() }
        }

        fn describe(&mut self, name: &str) -> Detail {
            Detail { name: name.into(), ..Detail::default() }
        }
    }

    struct Faulty;

    impl Finder for Faulty {
        fn search(&mut self, query: &str) -> Found {
            assert_ne!(query, "bad", "on purpose");
            Found { complete: true, ..Found::default() }
        }

        fn describe(&mut self, name: &str) -> Detail {
            Detail { name: name.into(), ..Detail::default() }
        }
    }

    #[test]
    fn a_fault_in_the_search_is_told_and_survived() {
        let (sender, answers) = channel();
        let questions = spawn(Box::new(Faulty), move |m| sender.send(m).is_ok()).unwrap();
        questions.send(Question::Search("bad".into(), 1)).unwrap();
        assert!(matches!(answers.recv(), Ok(Message::Notice(_))));
        questions.send(Question::Search("good".into(), 2)).unwrap();
        assert!(matches!(answers.recv(), Ok(Message::Found(Found { generation: 2, .. }))));
    }

    #[test]
    fn a_search_is_repeated_until_the_catalogue_is_whole() {
        let (sender, answers) = channel();
        let questions = spawn(Box::new(Growing(0)), move |m| sender.send(m).is_ok()).unwrap();
        questions.send(Question::Search("abc".into(), 7)).unwrap();
        let mut seen = Vec::new();
        while let Ok(Message::Found(found)) = answers.recv() {
            assert_eq!((found.generation, found.total), (7, 3));
            seen.push(found.matched);
            if found.complete {
                break;
            }
        }
        assert_eq!(seen, [1, 2, 3]);
        questions.send(Question::Describe("x".into())).unwrap();
        assert!(matches!(answers.recv(), Ok(Message::Described(d)) if &*d.name == "x"));
    }
}
