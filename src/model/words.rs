//! Numbers in the C library's words: errors and signals.

use std::sync::Arc;

/// The text of an error number.
#[must_use]
pub fn error_text(number: u64) -> Arc<str> {
    let number = number as i32;
    let text = std::io::Error::from_raw_os_error(number).to_string();
    let words = text.strip_suffix(&format!(" (os error {number})")).unwrap_or(&text);
    // The C library repeats an unknown number.
    words.strip_suffix(&format!(" {number}")).unwrap_or(words).into()
}

/// A signal in the C library's words (`Killed`); `None` for unknown numbers.
#[must_use]
pub fn signal_name(number: u64) -> Option<&'static str> {
    const NAMES: [&str; 31] = [
        "Hangup",
        "Interrupt",
        "Quit",
        "Illegal instruction",
        "Trace/breakpoint trap",
        "Aborted",
        "Bus error",
        "Floating point exception",
        "Killed",
        "User defined signal 1",
        "Segmentation fault",
        "User defined signal 2",
        "Broken pipe",
        "Alarm clock",
        "Terminated",
        "Stack fault",
        "Child exited",
        "Continued",
        "Stopped (signal)",
        "Stopped",
        "Stopped (tty input)",
        "Stopped (tty output)",
        "Urgent I/O condition",
        "CPU time limit exceeded",
        "File size limit exceeded",
        "Virtual timer expired",
        "Profiling timer expired",
        "Window changed",
        "I/O possible",
        "Power failure",
        "Bad system call",
    ];
    NAMES.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
}
