//! Where the views stand in time: at the end, or held at a moment of the history.

pub mod typed;

use crate::store::{Cursor, Direction, Stop};

/// What the user can do with time. All panes follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Go to the next stop of a kind.
    Step(Stop, Direction),
    /// Go to the first moment that is kept.
    Start,
    /// Let the held moment run on, or stop it again.
    Play,
    /// Play faster, up to ten times as fast as it was.
    Faster,
    /// Play slower, down to a tenth.
    Slower,
    /// Set a mark at the moment that is shown.
    Mark,
    /// Ask for a moment to go to.
    Ask,
}

/// How fast time is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Speed {
    /// A tenth.
    Tenth,
    /// As it was.
    #[default]
    Same,
    /// Ten times as fast.
    Ten,
}

impl Speed {
    /// As shown.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Tenth => "0.1x",
            Self::Same => "1x",
            Self::Ten => "10x",
        }
    }

    /// Time of the history that passes in so much time of the user's, ns.
    #[must_use]
    pub const fn of(self, ns: u64) -> u64 {
        match self {
            Self::Tenth => ns / 10,
            Self::Same => ns,
            Self::Ten => ns.saturating_mul(10),
        }
    }

    /// The next faster one.
    #[must_use]
    pub const fn faster(self) -> Self {
        match self {
            Self::Tenth => Self::Same,
            Self::Same | Self::Ten => Self::Ten,
        }
    }

    /// The next slower one.
    #[must_use]
    pub const fn slower(self) -> Self {
        match self {
            Self::Ten => Self::Same,
            Self::Same | Self::Tenth => Self::Tenth,
        }
    }
}

/// The moment that all panes show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Moment {
    /// Which one.
    pub cursor: Cursor,
    /// Where playing has come to, between entries, ns.
    pub at_ns: u64,
    /// It runs on.
    pub playing: bool,
    /// How fast.
    pub speed: Speed,
    /// Marks set so far.
    pub marks: u32,
}
