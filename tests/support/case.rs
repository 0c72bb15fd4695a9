//! A case is one `.bt` or `.d` file; the comments at its top say how to run it and what must come out. A `.d` file
//! has them in one C comment, and is run by DTrace's command line.
//!
//! ```text
//! // as: bpftrace           the program is started under bpftrace's name
//! // flags: -f json          more words for the command line, before the file
//! // args: 5 abc             positional parameters, after the file
//! // stdin: yes              the script goes in on standard input, named `-`
//! // workload: getppid 100   run under `-c`; see workload.rs. @SELF@ in the script is its binary
//! // compile: shapes.c -g    a C file of tests/fixtures/c and the compiler's flags; @COMPILED@ is its program
//! // subcommand: why-failed  runs this in place of the script
//! // command: @COMPILED@ 3  run under `-c`, instead of a workload
//! // bundled: opensnoop      runs this script of the folder `scripts` instead of the file's own
//! // needs: kprobe           what the kernel must have; see needs.rs
//! // exit: 3                 exit code, 0 unless said
//! // partial: text           3 will do, too, where standard error has this: some kernels lose what others don't
//! // expect: text            the next line of standard output, exactly
//! // match: regex            the next line, by a regular expression over the whole line
//! // absent: regex           no line of standard output is like this
//! // loose                   other lines may stand between the expected ones
//! // any-order               lines are compared as a set
//! // stderr: text            standard error has this in it
//! // no-stderr: text         standard error does not
//! ```
//!
//! Without `loose`, standard output has these lines and no others; blank lines at either end do not
//! count.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

#[derive(Clone, Debug)]
pub enum Line {
    Exact(String),
    Pattern(Regex),
}

#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Path below `tests/scripts` without `.bt`.
    pub name: String,
    pub path: PathBuf,
    pub text: String,
    pub as_bpftrace: bool,
    /// Run under DTrace's name.
    pub as_dtrace: bool,
    pub flags: Vec<String>,
    pub args: Vec<String>,
    pub stdin: bool,
    pub workload: Vec<String>,
    pub compile: Vec<String>,
    pub command: Option<String>,
    pub subcommand: Option<String>,
    pub needs: Vec<String>,
    pub exit: i32,
    pub lines: Vec<Line>,
    pub absent: Vec<Line>,
    pub stderr: Vec<String>,
    pub no_stderr: Vec<String>,
    pub loose: bool,
    /// Standard error of a kernel that loses something: the exit code is 3 then.
    pub partial: Option<String>,
    pub any_order: bool,
}

/// All cases below a folder, by name; a broken one is an error with its place.
pub fn load_all(root: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "bt" || e == "d") {
                cases.push(load(root, &path)?);
            }
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

fn load(root: &Path, path: &Path) -> Result<Case, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let is_d = path.extension().is_some_and(|e| e == "d");
    let short = path.strip_prefix(root).unwrap_or(path).with_extension("").display().to_string();
    let name = if is_d { format!("d/{short}") } else { short };
    let mut case = Case { name, path: path.to_path_buf(), text: text.clone(), as_dtrace: is_d, ..Case::default() };
    let mark = if is_d { " *" } else { "//" };
    for (number, line) in text.lines().enumerate().skip(usize::from(is_d)) {
        let Some(comment) = line.strip_prefix(mark).filter(|c| *c != "/") else { break };
        directive(&mut case, comment.strip_prefix(' ').unwrap_or(comment))
            .map_err(|e| format!("{}:{}: {e}", path.display(), number + 1))?;
    }
    if case.lines.is_empty() && case.stderr.is_empty() && case.exit == 0 {
        return Err(format!("{}: expects nothing, so it can't fail", path.display()));
    }
    Ok(case)
}

fn directive(case: &mut Case, text: &str) -> Result<(), String> {
    let (key, value) = match text.split_once(':') {
        Some((key, value)) => (key.trim_end(), value.strip_prefix(' ').unwrap_or(value)),
        None => (text.trim_end(), ""),
    };
    let words = || value.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    match key {
        "as" if value == "bpftrace" => case.as_bpftrace = true,
        "as" => return Err(format!("as: {value}: only bpftrace is known")),
        "flags" => case.flags = words(),
        "args" => case.args = words(),
        "stdin" => case.stdin = true,
        "workload" => case.workload = words(),
        "compile" => case.compile = words(),
        "command" => case.command = Some(value.to_owned()),
        "subcommand" => case.subcommand = Some(value.trim().to_owned()),
        "bundled" => super::bundled::put_in(case, value.trim())?,
        "needs" => case.needs.extend(words()),
        "exit" => case.exit = value.trim().parse().map_err(|e| format!("exit: {e}"))?,
        "partial" => case.partial = Some(value.to_owned()),
        "expect" => case.lines.push(Line::Exact(value.to_owned())),
        "match" => case.lines.push(pattern(value)?),
        "absent" => case.absent.push(pattern(value)?),
        "no-stderr" => case.no_stderr.push(value.to_owned()),
        "stderr" => case.stderr.push(value.to_owned()),
        "loose" => case.loose = true,
        "any-order" => case.any_order = true,
        // Anything else is a remark.
        _ => {}
    }
    Ok(())
}

fn pattern(value: &str) -> Result<Line, String> {
    Regex::new(&format!("^(?:{value})$")).map(Line::Pattern).map_err(|e| e.to_string())
}

impl Line {
    fn fits(&self, line: &str) -> bool {
        match self {
            Self::Exact(text) => text == line,
            Self::Pattern(pattern) => pattern.is_match(line),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Exact(text) => text.clone(),
            Self::Pattern(pattern) => format!("/{}/", pattern.as_str()),
        }
    }
}

/// Why the output is not what the case expects.
pub fn difference(case: &Case, stdout: &str) -> Option<String> {
    let got: Vec<&str> = stdout.trim_matches('\n').lines().collect();
    let fits = if case.any_order {
        unordered(case, &got)
    } else if case.loose {
        let mut rest = got.iter();
        case.lines.iter().all(|want| rest.any(|line| want.fits(line)))
    } else if case.lines.is_empty() {
        got.is_empty() || !case.stderr.is_empty() || case.exit != 0
    } else {
        got.len() == case.lines.len() && case.lines.iter().zip(&got).all(|(want, line)| want.fits(line))
    };
    if let Some(line) = got.iter().find(|line| case.absent.iter().any(|absent| absent.fits(line))) {
        return Some(format!("a line that may not be there:\n{line}\ngot:\n{}", got.join("\n")));
    }
    if fits {
        return None;
    }
    let want: Vec<String> = case.lines.iter().map(Line::shown).collect();
    Some(format!("expected:\n{}\ngot:\n{}", want.join("\n"), got.join("\n")))
}

fn unordered(case: &Case, got: &[&str]) -> bool {
    let mut left: Vec<&str> = got.to_vec();
    for want in &case.lines {
        let Some(at) = left.iter().position(|line| want.fits(line)) else { return false };
        left.remove(at);
    }
    case.loose || left.iter().all(|line| line.is_empty())
}
