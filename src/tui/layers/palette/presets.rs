//! Questions with a ready answer: a bundled script, and the pane that shows what it finds.

use crate::library;
use crate::tui::base::kind::Kind;

const FLAME: Kind = Kind("flame");

/// A question that the palette offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// What is asked, as the palette lists it.
    pub about: &'static str,
    /// What its script is called.
    pub script: &'static str,
    /// The script; the bundled one of that name without it.
    pub own: Option<&'static str>,
    /// The pane that shows it.
    pub pane: Kind,
}

impl Preset {
    /// What it runs.
    #[must_use]
    pub fn text(&self) -> Option<&'static str> {
        self.own.or_else(|| library::script(self.script).map(|script| script.text))
    }
}

/// All of them.
pub static PRESETS: &[Preset] = &[
    Preset {
        about: "Flame graph: what the CPUs run (profile, 99 times a second)",
        script: "profile",
        own: None,
        pane: FLAME,
    },
    Preset {
        about: "Flame graph: what threads wait for (off-CPU time by kernel and user stack), and who wakes them",
        script: "waits",
        own: Some(include_str!("presets/waits.bt")),
        pane: FLAME,
    },
    Preset { about: "Flame graph: who wakes whom (wakers by stack)", script: "wakers", own: None, pane: FLAME },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::FRONT_ENDS;
    use crate::lang::source::SourceText;

    #[test]
    fn every_preset_has_its_script_and_its_pane() {
        for preset in PRESETS {
            let text = preset.text().expect(preset.script);
            let wrong = FRONT_ENDS[0].syntax(&SourceText::new("a.bt", text));
            assert!(wrong.is_empty(), "{}: {wrong:?}", preset.script);
            assert!(crate::tui::desk::registry::registered(preset.pane.0).is_some());
        }
    }
}
