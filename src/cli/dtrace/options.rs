//! DTrace's flags.

use std::path::PathBuf;

use crate::cli::script::path_of;
use crate::model::d::options::Options as Set;

pub const USAGE: &str = "Usage: dtrace [-CeFHlqvVwZ] [-b bufsz] [-c cmd] [-D name[=def]] [-I path] [-o output]
\t[-p pid] [-U name] [-x opt[=val]] [-X a|c|s|t]
\t[-P provider [[ predicate ] action ]]
\t[-m [ provider: ] module [[ predicate ] action ]]
\t[-f [[ provider: ] module: ] func [[ predicate ] action ]]
\t[-n [[[ provider: ] module: ] func: ] name [[ predicate ] action ]]
\t[-s script] [ args ... ]
";

/// Where program text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `-s`
    File(String),
    /// `-n` and its kin.
    Clause {
        /// As a program's text.
        text: String,
        /// As it was given.
        shown: String,
    },
}

/// Why a command line is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub why: String,
    /// Shown with the flags that there are.
    pub usage: bool,
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self { why, usage: true }
    }
}

/// A command line.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub sources: Vec<Source>,
    pub arguments: Vec<String>,
    pub set: Set,
    pub command: Option<String>,
    pub pid: Option<u32>,
    pub output: Option<PathBuf>,
    pub list: bool,
    pub verbose: bool,
    pub compile_only: bool,
    pub version: bool,
}

/// Flags that take a value.
const VALUED: &str = "bcDfiILmnopPsUxX";

/// A description as `-P`, `-m` and `-f` give it: the part before the first blank, slash or brace gets its colons.
fn clause(flag: char, given: &str) -> Source {
    let end = given.find([' ', '\t', '\n', '/', '{']).unwrap_or(given.len());
    let (spec, rest) = given.split_at(end);
    let colons = match flag {
        'P' => ":::",
        'm' => "::",
        'f' => ":",
        _ => "",
    };
    Source::Clause { text: format!("{spec}{colons}{rest}"), shown: given.to_owned() }
}

impl Options {
    /// Reads the words behind the command's name.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(words: &[String]) -> Result<Self, Refused> {
        let mut options = Self::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let Some(flags) = word.strip_prefix('-').filter(|f| !f.is_empty()) else {
                options.arguments.push(word.clone());
                continue;
            };
            if flags == "-" {
                options.arguments.extend(rest.by_ref().cloned());
                break;
            }
            match flags {
                "64" => continue,
                "32" => return Err("-32: programs are of 64 bits here".to_owned().into()),
                _ => {}
            }
            let mut flags = flags.chars();
            while let Some(flag) = flags.next() {
                if VALUED.contains(flag) {
                    let attached: String = flags.by_ref().collect();
                    let value = if attached.is_empty() {
                        rest.next()
                            .cloned()
                            .ok_or_else(|| format!("option requires an argument -- '{flag}'"))
                            .map_err(Refused::from)?
                    } else {
                        attached
                    };
                    options.valued(flag, &value)?;
                    break;
                }
                options.plain(flag)?;
            }
        }
        Ok(options)
    }

    fn plain(&mut self, flag: char) -> Result<(), String> {
        match flag {
            'q' => self.set.quiet = true,
            'w' => self.set.destructive = true,
            'Z' => self.set.zdefs = true,
            'F' => self.set.flowindent = true,
            'C' => self.set.cpp = true,
            'H' => self.set.cpparguments.push("-H".to_owned()),
            'e' => self.compile_only = true,
            'l' => self.list = true,
            'v' => self.verbose = true,
            'V' => self.version = true,
            'a' | 'A' => return Err(format!("-{flag}: there is no anonymous tracing")),
            'S' => return Err("-S shows DTrace's own code: `probescope compile` shows what is made here".to_owned()),
            'G' | 'h' => return Err(format!("-{flag} makes files for building programs, which this program does not")),
            _ => return Err(format!("invalid option -- '{flag}'")),
        }
        Ok(())
    }

    /// `-x name[=value]`
    fn set_by_name(&mut self, given: &str) -> Result<(), Refused> {
        let (name, value) = match given.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (given, None),
        };
        self.set.set(name, value).map_err(|why| {
            let why = why.rsplit_once("': ").map_or(&*why, |(_, why)| why);
            let of_version = name == "version" && why.starts_with("Invalid");
            let why = if of_version { "Requested version is not supported by compiler" } else { why };
            Refused { why: format!("failed to set -x {name}: {why}"), usage: false }
        })
    }

    fn valued(&mut self, flag: char, value: &str) -> Result<(), Refused> {
        match flag {
            's' => self.sources.push(Source::File(value.to_owned())),
            'n' | 'f' | 'm' | 'P' => self.sources.push(clause(flag, value)),
            'c' => self.command = Some(value.to_owned()),
            'p' => self.pid = Some(value.trim().parse().map_err(|_| format!("invalid process identifier: {value}"))?),
            'o' => self.output = Some(path_of(value)),
            'b' => self.set.set("bufsize", Some(value))?,
            'D' => self.set.set("define", Some(value))?,
            'U' => self.set.set("undef", Some(value))?,
            'I' => self.set.set("incdir", Some(value))?,
            'X' => self.set.set("stdc", Some(value))?,
            'x' => self.set_by_name(value)?,
            'i' => return Err("-i: probes are numbered anew by each program; name them with -n".to_owned().into()),
            _ => {
                return Err(
                    format!("-{flag}: D's libraries are built in; give files of your own with -s, in order").into()
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Options, Refused> {
        Options::read(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn flags_with_and_without_values() {
        let o = read(&["-qZ", "-n", "BEGIN { exit(0) }", "-xstrsize=32", "-p1", "a", "--", "-b"]).unwrap();
        assert!(o.set.quiet && o.set.zdefs);
        assert_eq!((o.set.strsize, o.pid, &o.arguments[..]), (32, Some(1), &["a".to_owned(), "-b".to_owned()][..]));
        assert!(read(&["-n"]).is_err() && read(&["-y"]).is_err() && read(&["-x", "nonsense"]).is_err());
    }

    #[test]
    fn descriptions_get_their_colons() {
        let text = |flag: &str, given: &str| match &read(&[flag, given]).unwrap().sources[0] {
            Source::Clause { text, .. } => text.clone(),
            Source::File(_) => String::new(),
        };
        assert_eq!(text("-P", "syscall { x }"), "syscall::: { x }");
        assert_eq!(text("-f", "open/a/{x}"), "open:/a/{x}");
        assert_eq!(text("-n", "BEGIN"), "BEGIN");
    }
}
