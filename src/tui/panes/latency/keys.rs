//! The keys of the latency pane.

use super::KIND;
use crate::tui::action::{Action, Go};
use crate::tui::keys::build::{BACKSPACE, ENTER, LEFT, RIGHT, bind, ch};
use crate::tui::keys::{Binding, Key, Scope};

/// A binding that only this pane has.
const fn own(
    keys: &'static [Key],
    name: &'static str,
    short: &'static str,
    about: &'static str,
    palette: bool,
) -> Binding {
    bind(Scope::Pane(KIND), keys, Action::Named(name), short, about, palette)
}

/// All of them.
pub static BINDINGS: &[Binding] = &[
    own(&[ch('1')], "cpus", "views", "Table of CPUs; 2 to 7 are the other views", false),
    own(&[ch('2')], "heat", "", "Heat map: CPU by time", false),
    own(&[ch('3')], "lengths over time", "", "Heat map: latency by time", false),
    own(&[ch('4')], "histograms", "", "Histograms, one over the other", false),
    own(&[ch('5')], "sources", "", "What took the time, by source", false),
    own(&[ch('6')], "episodes", "", "The worst latencies, taken apart", false),
    own(&[ch('7')], "task", "", "Where the time of a chosen process goes, and what keeps it", false),
    own(
        &[ch('t')],
        "watch",
        "watch",
        "Watch a process: of the thread under the cursor, of an episode's blocker, or by its name or number",
        true,
    ),
    own(&[ch('o')], "osnoise", "osnoise", "Measure with a thread a CPU that spins; its load is told first", true),
    own(&[ch('i')], "timerlat", "timerlat", "Measure with a thread a CPU that sleeps; its load is told first", true),
    own(&[ch('v')], "passive", "", "Measure the timers of the system as it is, without any load", true),
    own(&[ch('x')], "stop", "stop", "Stop measuring", true),
    bind(Scope::Pane(KIND), &[ENTER], Action::Accept, "open", "Open what is under the cursor", false),
    own(&[BACKSPACE], "back", "back", "Go back to where this was opened from", false),
    bind(Scope::Pane(KIND), &[LEFT], Action::Go(Go::Left), "", "Maps: hold the views a column earlier", false),
    bind(Scope::Pane(KIND), &[RIGHT], Action::Go(Go::Right), "", "A column later", false),
    own(&[ch(']')], "raise", "threshold", "Raise the threshold over which an episode is kept", true),
    own(&[ch('[')], "lower", "", "Lower it", true),
    own(&[ch('n')], "next threshold", "", "Choose which threshold that is", true),
    own(&[ch('a')], "all", "", "Sources, histograms, latency by time: of all CPUs, or of the chosen one", false),
    own(&[ch('d')], "by source", "", "Heat map: colour by what took most time, or by the longest latency", false),
    own(&[ch('w')], "wider", "", "Maps: more time in a column", false),
    own(&[ch('W')], "narrower", "", "Less time in a column", false),
    own(&[ch('c')], "compare", "", "Histograms: kinds of latency, two CPUs, or now and the baseline", false),
    own(&[ch('b')], "baseline", "", "Keep what is measured now as the baseline", true),
    own(&[ch('u')], "tail", "", "Histograms: how many are longer", false),
    own(&[ch('s')], "sort", "", "Sort by the next column", false),
    own(&[ch('r')], "reverse", "", "Sort the other way round", false),
    own(
        &[ch('g')],
        "fold",
        "",
        "Table: a row a CPU, a NUMA node, a cache, a core, or for those that are isolated",
        true,
    ),
    own(&[ch('h')], "about", "", "What bears on these figures: the machine, the backend, the load", true),
    own(&[ch('y')], "copy", "", "Copy the table, or the report of the open episode", false),
];
