//! Questions with a ready answer: a bundled script, and the pane that shows what it finds.

use super::panes::{Kind, flame};

/// A question that the palette offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// What is asked, as the palette lists it.
    pub about: &'static str,
    /// The bundled script that it runs.
    pub script: &'static str,
    /// The pane that shows it.
    pub pane: Kind,
}

/// All of them.
pub static PRESETS: &[Preset] = &[
    Preset {
        about: "Flame graph: what the CPUs run (profile, 99 times a second)",
        script: "profile",
        pane: flame::KIND,
    },
    Preset {
        about: "Flame graph: what threads wait for (off-CPU time by stack)",
        script: "offcputime",
        pane: flame::KIND,
    },
    Preset { about: "Flame graph: who wakes whom (wakers by stack)", script: "wakers", pane: flame::KIND },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_has_its_script_and_its_pane() {
        for preset in PRESETS {
            assert!(crate::library::script(preset.script).is_some(), "{}", preset.script);
            assert!(crate::tui::panes::registered(preset.pane.0).is_some());
        }
    }
}
