//! Numbers in words: errors and signals.

use std::sync::Arc;

/// The text of an error number in the C library's words; a negative one, as the kernel's functions give it, is the
/// same error.
#[must_use]
pub fn error_text(number: u64) -> Arc<str> {
    let number = (number as i32).wrapping_abs();
    let text = std::io::Error::from_raw_os_error(number).to_string();
    let words = text.strip_suffix(&format!(" (os error {number})")).unwrap_or(&text);
    // The C library repeats an unknown number.
    words.strip_suffix(&format!(" {number}")).unwrap_or(words).into()
}

/// Errors that the kernel's headers name otherwise than the C library (include/uapi/asm-generic/errno-base.h and
/// errno.h). bpftrace's `strerror` has their words, with an addition to the eleventh.
const OF_HEADERS: [(i32, &str); 19] = [
    (5, "I/O error"),
    (9, "Bad file number"),
    (11, "Try again (operation would block)"),
    (12, "Out of memory"),
    (18, "Cross-device link"),
    (23, "File table overflow"),
    (25, "Not a typewriter"),
    (33, "Math argument out of domain of func"),
    (34, "Math result not representable"),
    (35, "Resource deadlock would occur"),
    (37, "No record locks available"),
    (38, "Invalid system call number"),
    (40, "Too many symbolic links encountered"),
    (74, "Not a data message"),
    (84, "Illegal byte sequence"),
    (95, "Operation not supported on transport endpoint"),
    (102, "Network dropped connection because of reset"),
    (122, "Quota exceeded"),
    (125, "Operation Canceled"),
];

/// The text of an error number in the words of the kernel's headers, as `strerror` in a script gives it.
#[must_use]
pub fn kernel_error_text(number: u64) -> Arc<str> {
    let wanted = (number as i32).wrapping_abs();
    let other = OF_HEADERS.iter().find(|(n, _)| *n == wanted);
    other.map_or_else(|| error_text(number), |(_, text)| (*text).into())
}

/// The C library keeps the first two real-time signals of the kernel to itself.
const FIRST_REAL_TIME: usize = 34;
const REAL_TIME: [&str; 31] = [
    "Real-time signal 0",
    "Real-time signal 1",
    "Real-time signal 2",
    "Real-time signal 3",
    "Real-time signal 4",
    "Real-time signal 5",
    "Real-time signal 6",
    "Real-time signal 7",
    "Real-time signal 8",
    "Real-time signal 9",
    "Real-time signal 10",
    "Real-time signal 11",
    "Real-time signal 12",
    "Real-time signal 13",
    "Real-time signal 14",
    "Real-time signal 15",
    "Real-time signal 16",
    "Real-time signal 17",
    "Real-time signal 18",
    "Real-time signal 19",
    "Real-time signal 20",
    "Real-time signal 21",
    "Real-time signal 22",
    "Real-time signal 23",
    "Real-time signal 24",
    "Real-time signal 25",
    "Real-time signal 26",
    "Real-time signal 27",
    "Real-time signal 28",
    "Real-time signal 29",
    "Real-time signal 30",
];

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
    match usize::try_from(number).ok()? {
        0 => Some("Unknown signal 0"),
        32 => Some("Unknown signal 32"),
        33 => Some("Unknown signal 33"),
        number @ ..FIRST_REAL_TIME => NAMES.get(number - 1).copied(),
        number => REAL_TIME.get(number - FIRST_REAL_TIME).copied(),
    }
}

/// A number of things with their name in the right form: `1 key`, `1,204 keys`.
#[must_use]
pub fn counted(count: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// An integer with its thousands parted: `1,234,567`.
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}
