//! Values, formats and maps as text, byte for byte as bpftrace 0.27 prints them.
//!
//! Text is written as bytes, because traced strings need not be UTF-8; the `String` forms replace
//! what is not. Nothing here neutralises control characters: faces do, with [`neutralise`], where
//! the reader is a terminal.

pub mod d;
mod gfp;
mod histogram;
mod map;
mod neutral;
mod printf;
mod series;
mod stack;
mod stream;
mod value;

#[cfg(test)]
mod tests;

pub use histogram::{Bucket, linear_rows, log2_rows};
pub use map::{MapOptions, map, map_into};
pub use map::{divide, shown_rows};
pub use neutral::{exact, is_harmful, neutralise, neutralise_bytes, undecided};
pub use printf::{printf, printf_into};
pub use series::{Clock, interval_start};
pub use stack::stack_text;
pub use value::{value, value_into};

/// What text output prints between the script's last words and its maps: always, even without maps.
pub const EXIT_GAP: &str = "\n\n";

/// Runs a writer of bytes on a string; what it adds that is not UTF-8 becomes U+FFFD.
fn append_lossy(out: &mut String, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    let mut bytes = std::mem::take(out).into_bytes();
    write(&mut bytes);
    *out = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => {
            let bytes = e.into_bytes();
            let (before, added) = bytes.split_at(start.min(bytes.len()));
            let mut text = String::from_utf8_lossy(before).into_owned();
            text.push_str(&String::from_utf8_lossy(added));
            text
        }
    };
}
