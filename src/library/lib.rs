//! The bundled scripts: the texts of `scripts/`, embedded in the program.
//!
//! A script describes itself in its leading comment: `// name: sentence`, then paragraphs that begin
//! with `Shows:`, `Read:` and `Needs:`.
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests write and print as they like")
)]

/// Names and texts, in alphabetical order; a test holds the table to the folder.
const TEXTS: &[(&str, &str)] = &[
    ("biolatency", include_str!("../../scripts/biolatency.bt")),
    ("biosize", include_str!("../../scripts/biosize.bt")),
    ("biosnoop", include_str!("../../scripts/biosnoop.bt")),
    ("cpudist", include_str!("../../scripts/cpudist.bt")),
    ("dnslatency", include_str!("../../scripts/dnslatency.bt")),
    ("execsnoop", include_str!("../../scripts/execsnoop.bt")),
    ("fileslow", include_str!("../../scripts/fileslow.bt")),
    ("futexwait", include_str!("../../scripts/futexwait.bt")),
    ("hardirqs", include_str!("../../scripts/hardirqs.bt")),
    ("hello", include_str!("../../scripts/hello.bt")),
    ("lifetimes", include_str!("../../scripts/lifetimes.bt")),
    ("lockstat", include_str!("../../scripts/lockstat.bt")),
    ("memleak", include_str!("../../scripts/memleak.bt")),
    ("migrations", include_str!("../../scripts/migrations.bt")),
    ("mounts", include_str!("../../scripts/mounts.bt")),
    ("mysqlqueries", include_str!("../../scripts/mysqlqueries.bt")),
    ("netbytes", include_str!("../../scripts/netbytes.bt")),
    ("nodehttp", include_str!("../../scripts/nodehttp.bt")),
    ("offcputime", include_str!("../../scripts/offcputime.bt")),
    ("oomkills", include_str!("../../scripts/oomkills.bt")),
    ("opensnoop", include_str!("../../scripts/opensnoop.bt")),
    ("pagefaults", include_str!("../../scripts/pagefaults.bt")),
    ("profile", include_str!("../../scripts/profile.bt")),
    ("pycalls", include_str!("../../scripts/pycalls.bt")),
    ("refleak", include_str!("../../scripts/refleak.bt")),
    ("runqlat", include_str!("../../scripts/runqlat.bt")),
    ("runqlen", include_str!("../../scripts/runqlen.bt")),
    ("signals", include_str!("../../scripts/signals.bt")),
    ("softirqs", include_str!("../../scripts/softirqs.bt")),
    ("syscount", include_str!("../../scripts/syscount.bt")),
    ("syserrors", include_str!("../../scripts/syserrors.bt")),
    ("syslatency", include_str!("../../scripts/syslatency.bt")),
    ("tcpaccept", include_str!("../../scripts/tcpaccept.bt")),
    ("tcpconnect", include_str!("../../scripts/tcpconnect.bt")),
    ("tcplife", include_str!("../../scripts/tcplife.bt")),
    ("tcpretrans", include_str!("../../scripts/tcpretrans.bt")),
    ("tlssniff", include_str!("../../scripts/tlssniff.bt")),
    ("vfsstat", include_str!("../../scripts/vfsstat.bt")),
    ("wakers", include_str!("../../scripts/wakers.bt")),
    ("wakeups", include_str!("../../scripts/wakeups.bt")),
];

/// One bundled script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its file's name without the ending.
    pub name: &'static str,
    /// What it answers, in one sentence.
    pub about: String,
    /// What the kernel or the traced programs must have.
    pub needs: String,
    /// All of it.
    pub text: &'static str,
}

/// All of them, in alphabetical order.
#[must_use]
pub fn scripts() -> Vec<Script> {
    TEXTS.iter().map(|(name, text)| describe(name, text)).collect()
}

/// The script of this name.
#[must_use]
pub fn script(name: &str) -> Option<Script> {
    TEXTS.iter().find(|(n, _)| *n == name).map(|(name, text)| describe(name, text))
}

/// What is said when a copy of it is opened.
#[must_use]
pub fn copied(script: &Script) -> String {
    format!("A copy of {}: it needs {} Ctrl-S saves and runs it", script.name, script.needs)
}

fn describe(name: &'static str, text: &'static str) -> Script {
    let paragraph = |head: &str| {
        let comment = text.lines().map_while(|l| l.strip_prefix("//"));
        let mut lines = comment.skip_while(|l| !l.trim_start().starts_with(head));
        let first = lines.next().map_or("", |l| l.trim_start()[head.len()..].trim());
        // A paragraph goes on in lines that are indented further.
        let more = lines.take_while(|l| l.starts_with("   ")).map(str::trim);
        std::iter::once(first).chain(more).collect::<Vec<_>>().join(" ")
    };
    Script { name, about: paragraph(&format!("{name}:")), needs: paragraph("Needs:"), text }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_script_of_the_folder_is_in_the_program_and_says_what_it_needs() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts");
        let there: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|e| e.unwrap().file_name().to_str()?.strip_suffix(".bt").map(str::to_owned))
            .collect();
        let known: BTreeSet<String> = scripts().iter().map(|s| s.name.to_owned()).collect();
        assert_eq!(known, there);
        for script in scripts() {
            assert!(script.about.ends_with('.') && !script.needs.is_empty(), "{script:?}");
        }
        assert_eq!(script("hello").unwrap().needs, "nothing but BPF.");
    }
}
