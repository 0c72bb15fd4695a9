//! Places of static probes: a `nop` each, and a note in the program that says where it is and where its arguments lie.
//! `unsafe` because a note is written by assembler.
#![allow(unsafe_code)]

use std::ffi::CStr;

/// Whether this processor's places are known.
pub const KNOWN: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// A `nop` with its note (<https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation>).
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! place {
    ($name:literal, $arguments:literal, $first_register:tt = $first:expr, $second_register:tt = $second:expr) => {
        // SAFETY: a `nop` that reads two registers; the rest is a note outside of the program's memory.
        unsafe {
            std::arch::asm!(
                "990: nop",
                ".pushsection .note.stapsdt, \"\", \"note\"",
                ".balign 4",
                ".4byte 992f - 991f, 994f - 993f, 3",
                "991: .asciz \"stapsdt\"",
                "992: .balign 4",
                "993: .8byte 990b",
                ".8byte 0",
                ".8byte 0",
                ".asciz \"probescope_load\"",
                concat!(".asciz \"", $name, "\""),
                concat!(".asciz \"", $arguments, "\""),
                "994: .balign 4",
                ".popsection",
                in($first_register) $first,
                in($second_register) $second,
                options(nostack, preserves_flags, readonly),
            );
        }
    };
}

/// `request(number, text)`.
#[inline(never)]
pub fn request(number: u64, text: &CStr) {
    #[cfg(target_arch = "x86_64")]
    place!("request", "8@%rdi 8@%rsi", "rdi" = number, "rsi" = text.as_ptr());
    #[cfg(target_arch = "aarch64")]
    place!("request", "8@x0 8@x1", "x0" = number, "x1" = text.as_ptr());
    std::hint::black_box((number, text));
}

/// `reply(number, bytes)`, where `bytes` has a sign.
#[inline(never)]
pub fn reply(number: u64, bytes: i64) {
    #[cfg(target_arch = "x86_64")]
    place!("reply", "8@%rdi -8@%rsi", "rdi" = number, "rsi" = bytes);
    #[cfg(target_arch = "aarch64")]
    place!("reply", "8@x0 -8@x1", "x0" = number, "x1" = bytes);
    std::hint::black_box((number, bytes));
}
