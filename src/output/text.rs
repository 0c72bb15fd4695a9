//! Plain text: what the script prints, as it prints it.

use std::borrow::Cow;

use crate::model::render;

/// Script output for a reader: unchanged for files and pipes; for a terminal with control
/// characters written out.
#[must_use]
pub fn shown(text: &[u8], terminal: bool) -> Cow<'_, [u8]> {
    if !terminal {
        return Cow::Borrowed(text);
    }
    match render::neutralise_bytes(text) {
        Cow::Borrowed(safe) => Cow::Borrowed(safe.as_bytes()),
        Cow::Owned(safe) => Cow::Owned(safe.into_bytes()),
    }
}
