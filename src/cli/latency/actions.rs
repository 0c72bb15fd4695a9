//! What is done when a threshold is passed or measuring ends: rtla's actions.

use std::io::Write as _;
use std::process::Command;

use crate::disk::{self, Readers};
use crate::stdio;
use std::path::Path;

/// One action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Save what was recorded.
    Trace {
        /// Where to.
        file: String,
    },
    /// Send a signal.
    Signal {
        /// Its number.
        number: i32,
        /// To which process; `None` is the parent.
        pid: Option<i32>,
    },
    /// Run a command by the shell.
    Shell {
        /// Which.
        command: String,
    },
    /// Go on measuring.
    Continue,
}

/// The file that a trace goes to unless another is named.
pub fn trace_file(tool: &str) -> String {
    format!("{tool}_trace.txt")
}

/// Reads an action.
pub fn parse(text: &str, tool: &str) -> Result<Action, String> {
    let (name, rest) = text.split_once(',').unwrap_or((text, ""));
    // A command may hold commas: it is all of the rest.
    if name == "shell" {
        return match rest.strip_prefix("command=") {
            Some(command) if !command.is_empty() => Ok(Action::Shell { command: command.to_owned() }),
            _ => Err(format!("`{text}`: a shell action is shell,command=COMMAND")),
        };
    }
    let options: Vec<(&str, &str)> =
        rest.split(',').filter(|o| !o.is_empty()).filter_map(|o| o.split_once('=')).collect();
    let option = |key: &str| options.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
    let known =
        |keys: &[&str]| rest.is_empty() || rest.split(',').all(|o| keys.iter().any(|k| o.split('=').next() == Some(k)));
    match name {
        "trace" if known(&["file"]) => {
            Ok(Action::Trace { file: option("file").map_or_else(|| trace_file(tool), str::to_owned) })
        }
        "signal" if known(&["num", "pid"]) => {
            let number = option("num").and_then(|n| n.parse().ok()).filter(|n| (1..=64).contains(n));
            let pid = match option("pid") {
                Some("parent") => Some(None),
                Some(pid) => pid.parse().ok().filter(|p| *p > 0).map(Some),
                None => None,
            };
            match (number, pid) {
                (Some(number), Some(pid)) => Ok(Action::Signal { number, pid }),
                _ => Err(format!("`{text}`: a signal action is signal,num=N,pid=PID or pid=parent")),
            }
        }
        "continue" if rest.is_empty() => Ok(Action::Continue),
        _ => Err(format!(
            "`{text}` is no action: write trace[,file=F], signal,num=N,pid=PID, shell,command=CMD or continue"
        )),
    }
}

/// Does them in order. Gives whether measuring goes on.
///
/// # Errors
/// With why one failed, which ends the list; in plain words.
pub fn perform(actions: &[Action], trace: &dyn Fn() -> String) -> Result<bool, String> {
    for action in actions {
        let done = match action {
            Action::Continue => return Ok(true),
            Action::Trace { file } => save(file, trace),
            Action::Signal { number, pid } => send(*number, *pid),
            Action::Shell { command } => shell(command),
        };
        done.map_err(|why| format!("{why}; the actions after it are left out"))?;
    }
    Ok(false)
}

fn save(file: &str, trace: &dyn Fn() -> String) -> Result<(), String> {
    let _ = writeln!(stdio::out(), "  Saving trace to {file}");
    disk::write(Path::new(file), trace().as_bytes(), Readers::Everyone).map_err(|e| format!("cannot write {file}: {e}"))
}

fn send(number: i32, pid: Option<i32>) -> Result<(), String> {
    let pid = match pid {
        Some(pid) => rustix::process::Pid::from_raw(pid),
        None => rustix::process::getppid(),
    };
    let Some(pid) = pid else { return Err("there is no process to signal".to_owned()) };
    // Real-time signals have no names: the command takes any number.
    let status = Command::new("kill").arg(format!("-{number}")).arg(pid.as_raw_nonzero().to_string()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("signal {number} could not be sent to {}", pid.as_raw_nonzero())),
        Err(e) => Err(format!("kill: {e}")),
    }
}

fn shell(command: &str) -> Result<(), String> {
    let _ = stdio::out().flush();
    match Command::new("/bin/sh").arg("-c").arg(command).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{command}` ended with {status}")),
        Err(e) => Err(format!("`{command}`: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_rtlas() {
        let trace = |file: &str| Action::Trace { file: file.into() };
        assert_eq!(parse("trace", "timerlat"), Ok(trace("timerlat_trace.txt")));
        assert_eq!(parse("trace,file=x.txt", "timerlat"), Ok(trace("x.txt")));
        assert_eq!(parse("signal,num=2,pid=parent", ""), Ok(Action::Signal { number: 2, pid: None }));
        assert_eq!(parse("signal,num=10,pid=7", ""), Ok(Action::Signal { number: 10, pid: Some(7) }));
        assert_eq!(parse("shell,command=echo a,b", ""), Ok(Action::Shell { command: "echo a,b".into() }));
        assert_eq!(parse("continue", ""), Ok(Action::Continue));
        for bad in
            ["", "stop", "signal", "signal,num=2", "signal,num=0,pid=1", "shell", "trace,files=x", "continue,x=1"]
        {
            assert!(parse(bad, "").is_err(), "{bad}");
        }
    }

    #[test]
    fn a_failing_action_ends_the_list() {
        let shell = |command: &str| Action::Shell { command: command.into() };
        let none = || String::new();
        assert_eq!(perform(&[shell("true"), Action::Continue], &none), Ok(true));
        assert!(perform(&[shell("false"), Action::Continue], &none).unwrap_err().starts_with("`false` ended"));
        assert_eq!(perform(&[shell("true")], &none), Ok(false));
    }
}
