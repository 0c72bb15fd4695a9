//! The C library's calendar: time zones and `strftime`, which no safe interface offers.
#![allow(unsafe_code)]

use std::ffi::CString;

/// Formats a wall-clock second by a `strftime(3)` format in the local time zone. Empty when the
/// format has a NUL or the text is over 4096 bytes.
#[must_use]
pub fn format_local(format: &str, seconds: i64) -> String {
    let Ok(format) = CString::new(format) else { return String::new() };
    let time: libc::time_t = seconds;
    let mut calendar = std::mem::MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both pointers are valid; localtime_r writes the whole struct or returns null.
    let filled = unsafe { libc::localtime_r(&raw const time, calendar.as_mut_ptr()) };
    if filled.is_null() {
        return String::new();
    }
    let mut text = vec![0_u8; 4096];
    // SAFETY: the buffer's length is passed; format and calendar are valid for the call.
    let len = unsafe { libc::strftime(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), calendar.as_ptr()) };
    text.truncate(len);
    String::from_utf8_lossy(&text).into_owned()
}

/// Local time minus UTC in seconds, at a wall-clock second.
#[must_use]
pub fn utc_offset(seconds: i64) -> i32 {
    let time: libc::time_t = seconds;
    let mut calendar = std::mem::MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: as above; a zeroed `tm` is valid, so it may be read whatever localtime_r did.
    let calendar = unsafe {
        libc::localtime_r(&raw const time, calendar.as_mut_ptr());
        calendar.assume_init()
    };
    calendar.tm_gmtoff as i32
}
