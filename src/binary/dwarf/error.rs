//! Why debug information gives no answer.

use std::path::PathBuf;

/// Why debug information gives no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DwarfError {
    /// Neither the binary nor a debug file of it has any.
    #[error("{} has no debug information", path.display())]
    Absent {
        /// The binary.
        path: PathBuf,
        /// Debug files that would have been taken.
        looked: Vec<PathBuf>,
    },
    /// It makes no sense.
    #[error("the debug information of {} is damaged: {problem}", path.display())]
    Damaged {
        /// The file that holds it.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// It is larger, or more entangled, than anything that is read.
    #[error("the debug information of {} takes too long to search for {what}", path.display())]
    TooMuch {
        /// The file that holds it.
        path: PathBuf,
        /// What was looked for.
        what: String,
    },
    /// The function is not described.
    #[error("the debug information of {} does not describe `{function}`", path.display())]
    NoFunction {
        /// The binary.
        path: PathBuf,
        /// Its symbol.
        function: String,
    },
    /// No instruction begins that line.
    #[error("no instruction of {} belongs to `{file}:{line}`", path.display())]
    NoLine {
        /// The binary.
        path: PathBuf,
        /// As asked for.
        file: String,
        /// As asked for, with the column when there was one.
        line: String,
        /// Lines near it that have instructions; empty when no file has that name.
        near: Vec<u64>,
        /// Source files with a similar name.
        files: Vec<String>,
    },
}

impl DwarfError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Absent { looked, .. } => Some(match looked.first() {
                Some(first) => format!("compile it with -g, or install its debug file: {}", first.display()),
                None => "compile it with -g".into(),
            }),
            Self::Damaged { .. } | Self::TooMuch { .. } => None,
            Self::NoFunction { .. } => Some("the part that defines it was compiled without -g".into()),
            Self::NoLine { near, files, .. } => match (near.as_slice(), files.as_slice()) {
                ([], []) => Some("name a source file as the compiler was told of it: `objdump -dl` shows it".into()),
                ([], files) => Some(format!("there are: {}", files.join(", "))),
                (near, _) => {
                    let near: Vec<String> = near.iter().map(u64::to_string).collect();
                    Some(format!("lines near it that have instructions: {}", near.join(", ")))
                }
            },
        }
    }
}
