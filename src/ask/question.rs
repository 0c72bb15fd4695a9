//! One question as its file has it.

use serde::Deserialize;

/// Why a question's file is refused.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// It is no TOML, or has other keys than a question has.
    #[error("question {name}: {source}")]
    Form {
        /// The file's name without its ending.
        name: String,
        /// What is wrong, with its line.
        source: Box<toml::de::Error>,
    },
    /// A parameter that must be given was not.
    #[error("question {question} wants {parameter}: {ask}")]
    Missing {
        /// The question's name.
        question: String,
        /// The parameter's name.
        parameter: String,
        /// What is asked for.
        ask: String,
    },
    /// A parameter's value cannot stand where the question puts it.
    #[error("question {question}: {parameter} cannot be `{value}`: {reason}")]
    Value {
        /// The question's name.
        question: String,
        /// The parameter's name.
        parameter: String,
        /// What was given.
        value: String,
        /// Why not.
        reason: &'static str,
    },
    /// A parameter was given that the question does not have.
    #[error("question {question} has no parameter {parameter}{}", has(known))]
    Unknown {
        /// The question's name.
        question: String,
        /// What was given.
        parameter: String,
        /// The parameters that it has.
        known: Vec<String>,
    },
}

fn has(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; it has {}", known.join(", ")) }
}

/// Whether a question is about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// It has no answer without one.
    Needed,
    /// It can be limited to one.
    Optional,
    /// Its events are about no process.
    No,
}

/// What a parameter is, so that a face can offer what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Any text.
    Text,
    /// The name of an error, such as `EACCES`.
    Errno,
    /// A TCP or UDP port.
    Port,
    /// One function, of the kernel or of a binary (`libc:malloc`).
    Function,
    /// A pattern of functions.
    Functions,
}

/// One thing that a question asks back before it opens.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name, as texts refer to it: `{function}`. In a script that has no such place it is `$1`.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// What is asked.
    pub ask: String,
    /// Whether the question has no answer without it.
    pub needed: bool,
}

/// A flame graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flame {
    /// Of what the CPUs run.
    Cpu,
    /// Of what threads wait for.
    OffCpu,
}

/// A view of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// Where the time of a process goes.
    Task,
    /// BPF programs and maps of the system.
    System,
    /// Which function of the kernel refused.
    WhyFailed,
}

/// What opens for a question.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Opens {
    /// A script of the question's own.
    Text {
        /// Its text, with `{name}` where a parameter goes.
        text: String,
    },
    /// A bundled script.
    Script {
        /// Its name.
        script: String,
        /// Its options.
        #[serde(default)]
        options: Vec<String>,
    },
    /// A flame graph.
    Flame {
        /// Of what.
        flame: Flame,
    },
    /// A view.
    View {
        /// Which.
        view: View,
    },
    /// An X-ray of functions.
    Xray {
        /// Their pattern, with `{name}` where a parameter goes.
        xray: String,
    },
    /// Objects followed through the kernel.
    Follow {
        /// Their kind.
        follow: String,
    },
    /// A measurement of latency: `osnoise` or `timerlat`.
    Latency {
        /// Which.
        latency: String,
    },
    /// A command of probescope that has no view.
    Command {
        /// Its words.
        command: Vec<String>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    ask: String,
    group: String,
    words: String,
    process: Process,
    read: String,
    next: Vec<String>,
    #[serde(default)]
    often: bool,
    instead: Option<String>,
    story: Option<String>,
    #[serde(default)]
    parameter: Vec<Parameter>,
    opens: Opens,
}

/// A question and what answers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name of its file without the ending.
    pub name: String,
    /// The question, as one asks it.
    pub ask: String,
    /// The chapter in which it is listed.
    pub group: String,
    /// Other words for what it is about.
    pub words: String,
    /// Whether it is about a process.
    pub process: Process,
    /// How to read the answer.
    pub read: String,
    /// Names of the questions that come next.
    pub next: Vec<String>,
    /// Many ask it: it stands first among those that fit as well, and on the start page.
    pub often: bool,
    /// The question that is answered where this kernel cannot answer this one.
    pub instead: Option<String>,
    /// A recorded demo that shows such an answer.
    pub story: Option<String>,
    /// What it asks back.
    pub parameters: Vec<Parameter>,
    /// What opens.
    pub opens: Opens,
}

impl Question {
    /// Reads a question's file.
    ///
    /// # Errors
    /// The text is not that of a question.
    pub fn parse(name: &str, text: &str) -> Result<Self, QuestionError> {
        let file: File = toml::from_str(text)
            .map_err(|source| QuestionError::Form { name: name.to_owned(), source: Box::new(source) })?;
        Ok(Self {
            name: name.to_owned(),
            ask: file.ask,
            group: file.group,
            words: file.words,
            process: file.process,
            read: file.read,
            next: file.next,
            often: file.often,
            instead: file.instead,
            story: file.story,
            parameters: file.parameter,
            opens: file.opens,
        })
    }

    /// The command line of probescope that answers it, without the program's own name. `given` are values by parameter.
    ///
    /// # Errors
    /// A value or a process is wanted and not given, is not one of the question's, or cannot stand where it would go.
    pub fn command(&self, given: &[(String, String)], pid: Option<&str>) -> Result<Vec<String>, QuestionError> {
        self.check(given)?;
        if self.process == Process::Needed && pid.is_none() {
            return Err(self.missing("a process (-p PID)", "which process?"));
        }
        let mut words = self.opening(given)?;
        if let (Some(pid), true) = (pid, self.process != Process::No) {
            // Before what follows the script's text or name: these are the script's own.
            let at = usize::from(!words.is_empty()) + usize::from(words.first().is_some_and(|word| word == "latency"));
            words.splice(at.min(words.len())..at.min(words.len()), ["-p".to_owned(), pid.to_owned()]);
        }
        Ok(words)
    }

    /// The script that answers it, with the parameters in place; none where no script of its own does.
    ///
    /// # Errors
    /// As [`Question::command`].
    pub fn script(&self, given: &[(String, String)]) -> Result<Option<String>, QuestionError> {
        self.check(given)?;
        match &self.opens {
            Opens::Text { text } => self.fill(text, given).map(Some),
            _ => Ok(None),
        }
    }

    /// Values of parameters that stand in a script as `$1`, `$2`, in order.
    #[must_use]
    pub fn positional<'a>(&self, text: &str, given: &'a [(String, String)]) -> Vec<&'a str> {
        let own = self.parameters.iter().filter(|parameter| !text.contains(&format!("{{{}}}", parameter.name)));
        own.filter_map(|parameter| value(&parameter.name, given)).collect()
    }

    fn opening(&self, given: &[(String, String)]) -> Result<Vec<String>, QuestionError> {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        Ok(match &self.opens {
            Opens::Text { text } => {
                let mut line = vec!["run".to_owned(), "-e".to_owned(), self.fill(text, given)?];
                line.extend(self.positional(text, given).into_iter().map(str::to_owned));
                line
            }
            Opens::Script { script, options } => {
                let mut line = words(&["run", script]);
                if !options.is_empty() {
                    line.push("--".to_owned());
                    line.extend(options.iter().cloned());
                }
                line
            }
            Opens::Flame { flame: Flame::Cpu } => words(&["run", "profile"]),
            Opens::Flame { flame: Flame::OffCpu } => words(&["run", "offcputime"]),
            Opens::View { view: View::Task } => words(&["latency", "task"]),
            Opens::View { view: View::System } => words(&["programs"]),
            Opens::View { view: View::WhyFailed } => self.with_options(words(&["why-failed"]), given),
            Opens::Xray { xray } => words(&["xray", &self.fill(xray, given)?]),
            Opens::Follow { follow } => self.with_options(words(&["follow", follow]), given),
            Opens::Latency { latency } => words(&["latency", latency]),
            Opens::Command { command } => command.clone(),
        })
    }

    fn with_options(&self, mut words: Vec<String>, given: &[(String, String)]) -> Vec<String> {
        for parameter in &self.parameters {
            if let Some(value) = value(&parameter.name, given) {
                words.extend([format!("--{}", parameter.name), value.to_owned()]);
            }
        }
        words
    }

    fn check(&self, given: &[(String, String)]) -> Result<(), QuestionError> {
        for (name, _) in given {
            if !self.parameters.iter().any(|parameter| parameter.name == *name) {
                return Err(QuestionError::Unknown {
                    question: self.name.clone(),
                    parameter: name.clone(),
                    known: self.parameters.iter().map(|parameter| parameter.name.clone()).collect(),
                });
            }
        }
        let absent = self.parameters.iter().find(|p| p.needed && value(&p.name, given).is_none());
        absent.map_or(Ok(()), |parameter| Err(self.missing(&format!("{}=…", parameter.name), &parameter.ask)))
    }

    fn missing(&self, parameter: &str, ask: &str) -> QuestionError {
        QuestionError::Missing { question: self.name.clone(), parameter: parameter.to_owned(), ask: ask.to_owned() }
    }

    /// The text with the values in place. A value becomes part of a probe's name: it may hold nothing that ends one.
    fn fill(&self, text: &str, given: &[(String, String)]) -> Result<String, QuestionError> {
        let mut filled = text.to_owned();
        for parameter in &self.parameters {
            let place = format!("{{{}}}", parameter.name);
            let Some(value) = value(&parameter.name, given).filter(|_| filled.contains(&place)) else { continue };
            let is_ending = |c: char| c.is_control() || c.is_whitespace() || "{}/,;\"".contains(c);
            // Paths of binaries have slashes.
            if value.is_empty() || value.chars().any(|c| c != '/' && is_ending(c)) {
                return Err(QuestionError::Value {
                    question: self.name.clone(),
                    parameter: parameter.name.clone(),
                    value: value.escape_default().to_string(),
                    reason: "it is the name of a function, with its binary before a colon",
                });
            }
            filled = filled.replace(&place, value);
        }
        Ok(filled)
    }
}

fn value<'a>(name: &str, given: &'a [(String, String)]) -> Option<&'a str> {
    given.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        ask = "Who calls it?"
        group = "programs"
        words = "caller"
        process = "optional"
        read = "The stacks."
        next = []
        [[parameter]]
        name = "function"
        kind = "function"
        ask = "Which?"
        needed = true
        [opens]
        text = "uprobe:{function} { @[ustack] = count(); }"
    "#;

    fn given(value: &str) -> Vec<(String, String)> {
        vec![("function".to_owned(), value.to_owned())]
    }

    #[test]
    fn a_parameter_stands_in_the_command() {
        let question = Question::parse("callers", FILE).unwrap();
        let words = question.command(&given("/bin/a b".trim_end_matches(" b")), Some("12")).unwrap();
        assert_eq!(words, ["run", "-p", "12", "-e", "uprobe:/bin/a { @[ustack] = count(); }"]);
        let error = question.command(&[], None).unwrap_err();
        assert_eq!(error.to_string(), "question callers wants function=…: Which?");
        let error = question.command(&[("other".to_owned(), String::new())], None).unwrap_err();
        assert_eq!(error.to_string(), "question callers has no parameter other; it has function");
    }

    #[test]
    fn a_value_adds_no_clause() {
        let question = Question::parse("callers", FILE).unwrap();
        for value in ["a{system(\"x\")} uprobe:b", "a,BEGIN", "a\n", "", "a b"] {
            assert!(matches!(question.command(&given(value), None), Err(QuestionError::Value { .. })), "{value:?}");
        }
    }

    #[test]
    fn a_file_with_a_key_of_its_own_is_refused() {
        let text = FILE.replace("words =", "wrods =");
        assert!(Question::parse("callers", &text).unwrap_err().to_string().starts_with("question callers: "));
    }
}
