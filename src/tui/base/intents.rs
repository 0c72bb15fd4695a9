//! Intents that one place alone has: an enum there, and an index in the key table.

use std::fmt;

/// An intent of one place: which place, and which of its enum.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Own {
    place: &'static str,
    nth: u8,
    words: &'static str,
}

impl Own {
    /// The intent with this number of a place; a configuration names it by these words.
    #[must_use]
    pub const fn new(place: &'static str, nth: u8, words: &'static str) -> Self {
        Self { place, nth, words }
    }

    /// Its number, where it is of this place.
    #[must_use]
    pub fn nth_in(self, place: &str) -> Option<usize> {
        (self.place == place).then_some(usize::from(self.nth))
    }

    /// What a configuration names it by.
    #[must_use]
    pub const fn words(self) -> &'static str {
        self.words
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.place, self.words)
    }
}

/// Defines the intents of a place, each with the words that a configuration names it by.
macro_rules! intents {
    ($(#[$about:meta])* in $place:literal; $($(#[$what:meta])* $Intent:ident = $words:literal,)+) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Intent {
            $($(#[$what])* $Intent,)+
        }

        impl Intent {
            const ALL: &'static [Self] = &[$(Self::$Intent,)+];

            /// As the key table and confirmations have it.
            #[must_use]
            pub const fn action(self) -> $crate::tui::base::action::Action {
                let words = match self {
                    $(Self::$Intent => $words,)+
                };
                $crate::tui::base::action::Action::Own($crate::tui::base::intents::Own::new($place, self as u8, words))
            }

            /// Which of these an action is, if it is one.
            #[must_use]
            pub fn of(action: &$crate::tui::base::action::Action) -> Option<Self> {
                use $crate::tui::base::action::Action;
                let (Action::Own(own) | Action::Told(own, _)) = action else { return None };
                Self::ALL.get(own.nth_in($place)?).copied()
            }
        }
    };
}

pub(crate) use intents;

#[cfg(test)]
mod tests {
    use crate::tui::desk::keys::all;
    use crate::tui::layers::browser;
    use crate::tui::panes::{flame, heat, latency};

    #[test]
    fn an_intent_is_of_one_place_only() {
        let back = flame::keys::Intent::Next.action();
        assert_eq!(flame::keys::Intent::of(&back), Some(flame::keys::Intent::Next));
        assert_eq!(heat::keys::Intent::of(&back), None, "another place has one of this name");
        assert_ne!(back, heat::keys::Intent::Next.action());
        assert!(latency::keys::Intent::of(&back).is_none() && browser::keys::Intent::of(&back).is_none());
    }

    #[test]
    fn a_configuration_names_them_by_their_words() {
        let names: Vec<String> = all().map(crate::tui::base::key::Binding::command).collect();
        for name in ["lengths-over-time", "choose-several", "x-ray", "show-all", "vi-keys", "folded"] {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
    }
}
