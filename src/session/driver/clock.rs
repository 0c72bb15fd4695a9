//! When maps are read.

use std::time::{Duration, Instant};

/// How often maps are read.
const MAPS_EVERY: Duration = Duration::from_millis(200);
/// How many times as long as reading the maps took the next reading waits at least: what is left of the thread's time
/// is the records'.
const MAPS_REST: u32 = 3;

/// When one trace's maps are read again.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// `None` for at once.
    next: Option<Instant>,
}

impl Clock {
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| now >= next)
    }

    /// They were read. Large maps, and stacks whose symbols are new, may take longer to read than the time between two
    /// readings.
    pub(super) fn read(&mut self, began: Instant, ended: Instant) {
        self.next = Some((began + MAPS_EVERY).max(ended + ended.duration_since(began) * MAPS_REST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_that_take_long_are_read_less_often() {
        let began = Instant::now();
        let due = |took, at| {
            let mut clock = Clock::default();
            clock.read(began, began + Duration::from_millis(took));
            clock.is_due(began + Duration::from_millis(at))
        };
        assert!(!due(1, 199) && due(1, 200));
        assert!(!due(1000, 3999) && due(1000, 4000));
    }
}
