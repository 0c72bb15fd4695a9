//! Bytes in text: string literals may hold any byte (`"\xff"`), while the tree of a script and its
//! formats are text. A byte that is part of no UTF-8 is held as one character from the end of the last
//! private plane, so that text and bytes turn into one another without loss.

use std::borrow::Cow;

/// The character that holds the byte 0; only bytes from 0x80 on are ever held.
const HOLDER: u32 = 0x10_ff00;

/// Text that holds these bytes. `each`, when given, hears for every byte how many bytes of the text
/// stand for it, in order.
#[must_use]
pub fn hold(bytes: &[u8], mut each: Option<&mut dyn FnMut(usize)>) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut put = |text: &mut String, raw: &[u8], c: Option<char>| {
        let before = text.len();
        match c {
            Some(c) => text.push(c),
            None => text.extend(raw.iter().filter_map(|b| char::from_u32(HOLDER + u32::from(*b)))),
        }
        if let Some(each) = each.as_deref_mut() {
            let share = (text.len() - before) / raw.len().max(1);
            raw.iter().for_each(|_| each(share));
        }
    };
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut buffer = [0; 4];
            let raw = c.encode_utf8(&mut buffer).as_bytes();
            // Characters that hold bytes are held themselves.
            put(&mut text, raw, Some(c).filter(|c| held(*c).is_none()));
        }
        put(&mut text, chunk.invalid(), None);
    }
    text
}

/// The bytes that a text holds.
#[must_use]
pub fn bytes_of(text: &str) -> Cow<'_, [u8]> {
    if !text.chars().any(|c| held(c).is_some()) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut buffer = [0; 4];
    for c in text.chars() {
        match held(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

fn held(c: char) -> Option<u8> {
    let byte = u8::try_from((c as u32).checked_sub(HOLDER)?).ok()?;
    (byte >= 0x80).then_some(byte)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_stays_as_it_is() {
        assert_eq!(hold("aé€".as_bytes(), None), "aé€");
        assert!(matches!(bytes_of("aé€"), Cow::Borrowed(_)));
        assert_eq!(hold(b"a\xff", None).chars().count(), 2);
    }

    proptest! {
        #[test]
        fn no_byte_is_lost(bytes: Vec<u8>) {
            let mut shares = 0;
            let text = hold(&bytes, Some(&mut |n| shares += n));
            prop_assert_eq!(&*bytes_of(&text), &bytes[..]);
            prop_assert_eq!(shares, text.len());
        }

        #[test]
        fn characters_that_hold_are_held(text in "[\u{10ff80}-\u{10ffff}a]{0,8}") {
            let held = hold(text.as_bytes(), None);
            prop_assert_eq!(&*bytes_of(&held), text.as_bytes());
        }
    }
}
