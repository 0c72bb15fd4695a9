//! `-C`: program text through the C preprocessor, which is a program of the system.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use crate::cli::CliError;
use crate::model::d::options::Options;
use crate::thread::{self, Rights};

/// What DTrace defines for each program.
const DEFINED: &[&str] = &[
    "-D__linux",
    "-D__unix",
    "-D__SVR4",
    "-D__SUNW_D=1",
    "-D__SUNW_D_VERSION=0x02000000",
    "-U__GNUC__",
    #[cfg(target_pointer_width = "64")]
    "-D_LP64",
];

/// Longest text that is taken from the preprocessor, bytes.
const LONGEST: u64 = 16 << 20;

/// Lines that stand where the preprocessor says they do are moved by at most so many empty ones.
const MOST_MOVED: usize = 100_000;

/// The text as the preprocessor leaves it, each line at its number where that is possible.
///
/// # Errors
/// When there is no preprocessor, or it finds a mistake, which it tells on standard error itself.
pub fn preprocess(text: &str, options: &Options, what: &str) -> Result<String, CliError> {
    let path = &options.cpppath;
    let failed = |why: &str| CliError::Refused(format!("failed to preprocess the program with {path}: {why}"));
    // A first line `#!` is none of C's.
    let text =
        if text.starts_with("#!") { text.get(text.find('\n').unwrap_or(text.len())..).unwrap_or("") } else { text };
    let mut command = Command::new(path);
    command.args(DEFINED).args(&options.cpparguments).args(from_environment()).arg("/dev/stdin");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|e| failed(&e.to_string()))?;
    let mut input = child.stdin.take();
    let given = text.to_owned();
    // It may fill its output before it has read all.
    let writer = thread::spawn("psc-cpp", Rights::Nothing, move || {
        if let Some(input) = &mut input {
            let _ = input.write_all(given.as_bytes());
        }
    })
    .map_err(|e| failed(&e.to_string()))?;
    let mut out = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(LONGEST).read_to_end(&mut out).map_err(|e| failed(&e.to_string()))?;
    }
    let status = child.wait().map_err(|e| failed(&e.to_string()))?;
    let _ = writer.join();
    if !status.success() {
        return Err(CliError::Refused(format!(
            "failed to compile {what}: Preprocessor failed to process input program"
        )));
    }
    Ok(aligned(&String::from_utf8_lossy(&out)))
}

/// Words for the preprocessor from the environment, as the reference takes them.
fn from_environment() -> Vec<String> {
    let words = std::env::var("DTRACE_OPT_CPPARGS").unwrap_or_default();
    words.split_whitespace().map(str::to_owned).collect()
}

/// Puts lines of the program itself at their own numbers, as far as what is included leaves room.
fn aligned(text: &str) -> String {
    let mut out = String::new();
    let mut lines = 0_usize;
    for line in text.lines() {
        let marker = line.strip_prefix("# ").and_then(|rest| rest.split_once(' '));
        if let Some((number, file)) = marker.and_then(|(n, file)| Some((n.parse::<usize>().ok()?, file))) {
            if file.starts_with("\"/dev/stdin\"") || file.starts_with("\"<stdin>\"") || file.starts_with("\"\"") {
                while lines + 1 < number && number - lines < MOST_MOVED {
                    out.push('\n');
                    lines += 1;
                }
            }
            continue;
        }
        out.push_str(line);
        out.push('\n');
        lines += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn lines_keep_their_numbers() {
        assert_eq!(aligned("# 0 \"<stdin>\"\n# 1 \"<stdin>\"\na\n# 5 \"<stdin>\"\nb\n"), "a\n\n\n\nb\n");
    }
}
