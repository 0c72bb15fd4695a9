//! Every builtin variable and function in one table, for completion, hover, did-you-mean and help.

mod functions;
mod variables;

pub use functions::FUNCTIONS;
pub use variables::VARIABLES;

/// Where a builtin does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the kernel, at once.
    Kernel,
    /// In user space, when the event arrives there: later than the code around it.
    User,
    /// When the script is compiled.
    Compile,
}

impl Place {
    /// In words, for hover texts.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Kernel => "runs in the kernel",
            Self::User => "carried out in user space, a moment later",
            Self::Compile => "decided when the script is compiled",
        }
    }
}

/// One builtin.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Name, parameters and result, as people read it.
    pub signature: &'static str,
    /// Where it works.
    pub place: Place,
    /// One or two sentences.
    pub doc: &'static str,
}

/// The builtin variable of this name; `arg0` to `arg99` count as one.
#[must_use]
pub fn variable(name: &str) -> Option<&'static Builtin> {
    let numbered = name.strip_prefix("arg").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let wanted = if numbered { "argN" } else { name };
    VARIABLES.iter().find(|b| b.name == wanted)
}

/// The builtin function of this name.
#[must_use]
pub fn function(name: &str) -> Option<&'static Builtin> {
    FUNCTIONS.iter().find(|b| b.name == name)
}

/// True for the name of a builtin variable.
#[must_use]
pub fn is_variable(name: &str) -> bool {
    variable(name).is_some()
}

/// The `3` of `arg3`.
pub fn argument_number(name: &str, prefix: &str) -> Option<u32> {
    name.strip_prefix(prefix).filter(|n| !n.is_empty() && n.len() < 4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_shown() {
        for row in VARIABLES.iter().chain(FUNCTIONS) {
            assert!(row.signature.starts_with(row.name), "{}", row.name);
            assert!(row.doc.ends_with('.'), "{}: {}", row.name, row.doc);
        }
        for (table, what) in [(VARIABLES, "variables"), (FUNCTIONS, "functions")] {
            let mut names: Vec<_> = table.iter().map(|b| b.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), table.len(), "{what} listed twice");
        }
    }

    #[test]
    fn numbered_arguments_are_known() {
        assert!(is_variable("arg0") && is_variable("arg12"));
        assert!(!is_variable("arg") && !is_variable("argx"));
    }
}
