//! Numbers to names: users, errors, signals, control groups, times.

use std::collections::HashMap;
use std::sync::Arc;

pub(super) mod cgroups;
pub mod time;

pub use cgroups::Cgroups;

pub use crate::model::words::{kernel_error_text, signal_name};

/// User names by id, as `/etc/passwd` lists them.
#[derive(Clone, Debug, Default)]
pub struct Users(HashMap<u64, Arc<str>>);

impl Users {
    /// Parses the text of `/etc/passwd`; lines that make no sense are passed over.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let entries = text.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            Some((fields.nth(1)?.parse().ok()?, name))
        });
        let mut names = HashMap::new();
        for (id, name) in entries {
            names.entry(id).or_insert_with(|| name.into());
        }
        Self(names)
    }

    /// The name, or the number where there is none.
    #[must_use]
    pub fn name(&self, id: u64) -> Arc<str> {
        self.0.get(&id).cloned().unwrap_or_else(|| id.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_by_number() {
        let users = Users::parse("root:x:0:0:root:/root:/bin/sh\nbroken\nme:x:1000:1000::/:\n");
        assert_eq!(&*users.name(0), "root");
        assert_eq!(&*users.name(1000), "me");
        assert_eq!(&*users.name(7), "7");
    }

    #[test]
    fn errors_and_signals() {
        assert_eq!(&*kernel_error_text(2), "No such file or directory");
        assert_eq!(&*kernel_error_text(25), "Not a typewriter");
        assert_eq!(signal_name(9), Some("Killed"));
        assert_eq!(signal_name(31), Some("Bad system call"));
        assert_eq!((signal_name(0), signal_name(32)), (Some("Unknown signal 0"), Some("Unknown signal 32")));
        assert_eq!((signal_name(64), signal_name(65)), (Some("Real-time signal 30"), None));
        assert_eq!(kernel_error_text((-13_i64) as u64), kernel_error_text(13));
        assert_eq!(kernel_error_text((-38_i64) as u64), kernel_error_text(38));
        assert_eq!(&*kernel_error_text(9999), "Unknown error");
    }
}
