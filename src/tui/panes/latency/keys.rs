//! The keys of the latency pane.

use super::KIND;
use crate::tui::base::action::{Action, Go};
use crate::tui::base::intents::intents;
use crate::tui::base::key::{BACKSPACE, Binding, ENTER, Key, LEFT, RIGHT, Scope, bind, ch};

intents! {
    /// What this pane alone can be asked for.
    in "latency";
    /// Table of CPUs; 2 to 7 are the other views.
    Cpus = "cpus",
    /// Heat map: CPU by time.
    Heat = "heat",
    /// Heat map: latency by time.
    LengthsOverTime = "lengths over time",
    /// Histograms, one over the other.
    Histograms = "histograms",
    /// What took the time, by source.
    Sources = "sources",
    /// The worst latencies, taken apart.
    Episodes = "episodes",
    /// Where the time of a chosen process goes, and what keeps it.
    Task = "task",
    /// Watch a process: of the thread under the cursor, of an episode's blocker, or by its name or number.
    Watch = "watch",
    /// Measure with a thread a CPU that spins; its load is told first.
    Osnoise = "osnoise",
    /// Yes, measure so.
    StartOsnoise = "start osnoise",
    /// Measure with a thread a CPU that sleeps; its load is told first.
    Timerlat = "timerlat",
    /// Yes, measure so.
    StartTimerlat = "start timerlat",
    /// Measure the timers of the system as it is, without any load.
    Passive = "passive",
    /// Stop measuring.
    Stop = "stop",
    /// Go back to where this was opened from.
    Back = "back",
    /// Raise the threshold over which an episode is kept.
    Raise = "raise",
    /// Lower it.
    Lower = "lower",
    /// Choose which threshold that is.
    NextThreshold = "next threshold",
    /// Sources, histograms, latency by time: of all CPUs, or of the chosen one.
    All = "all",
    /// Heat map: colour by what took most time, or by the longest latency.
    BySource = "by source",
    /// Maps: more time in a column.
    Wider = "wider",
    /// Less time in a column.
    Narrower = "narrower",
    /// Histograms: kinds of latency, two CPUs, or now and the baseline.
    Compare = "compare",
    /// Keep what is measured now as the baseline.
    Baseline = "baseline",
    /// Histograms: how many are longer.
    Tail = "tail",
    /// Sort by the next column.
    Sort = "sort",
    /// Sort the other way round.
    Reverse = "reverse",
    /// Table: a row a CPU, a NUMA node, a cache, a core, or for those that are isolated.
    Fold = "fold",
    /// What bears on these figures: the machine, the backend, the load.
    About = "about",
    /// Copy the table, or the report of the open episode.
    Copy = "copy",
}

/// A binding that only this pane has.
const fn own(keys: &'static [Key], intent: Intent, short: &'static str, about: &'static str, palette: bool) -> Binding {
    bind(Scope::Pane(KIND), keys, intent.action(), short, about, palette)
}

/// All of them.
pub static BINDINGS: &[Binding] = &[
    own(&[ch('1')], Intent::Cpus, "views", "Table of CPUs; 2 to 7 are the other views", false),
    own(&[ch('2')], Intent::Heat, "", "Heat map: CPU by time", false),
    own(&[ch('3')], Intent::LengthsOverTime, "", "Heat map: latency by time", false),
    own(&[ch('4')], Intent::Histograms, "", "Histograms, one over the other", false),
    own(&[ch('5')], Intent::Sources, "", "What took the time, by source", false),
    own(&[ch('6')], Intent::Episodes, "", "The worst latencies, taken apart", false),
    own(&[ch('7')], Intent::Task, "", "Where the time of a chosen process goes, and what keeps it", false),
    own(
        &[ch('t')],
        Intent::Watch,
        "watch",
        "Watch a process: of the thread under the cursor, of an episode's blocker, or by its name or number",
        true,
    ),
    own(&[ch('o')], Intent::Osnoise, "osnoise", "Measure with a thread a CPU that spins; its load is told first", true),
    own(
        &[ch('i')],
        Intent::Timerlat,
        "timerlat",
        "Measure with a thread a CPU that sleeps; its load is told first",
        true,
    ),
    own(&[ch('v')], Intent::Passive, "", "Measure the timers of the system as it is, without any load", true),
    own(&[ch('x')], Intent::Stop, "stop", "Stop measuring", true),
    bind(Scope::Pane(KIND), &[ENTER], Action::Accept, "open", "Open what is under the cursor", false),
    own(&[BACKSPACE], Intent::Back, "back", "Go back to where this was opened from", false),
    bind(Scope::Pane(KIND), &[LEFT], Action::Go(Go::Left), "", "Maps: hold the views a column earlier", false),
    bind(Scope::Pane(KIND), &[RIGHT], Action::Go(Go::Right), "", "A column later", false),
    own(&[ch(']')], Intent::Raise, "threshold", "Raise the threshold over which an episode is kept", true),
    own(&[ch('[')], Intent::Lower, "", "Lower it", true),
    own(&[ch('n')], Intent::NextThreshold, "", "Choose which threshold that is", true),
    own(&[ch('a')], Intent::All, "", "Sources, histograms, latency by time: of all CPUs, or of the chosen one", false),
    own(&[ch('d')], Intent::BySource, "", "Heat map: colour by what took most time, or by the longest latency", false),
    own(&[ch('w')], Intent::Wider, "", "Maps: more time in a column", false),
    own(&[ch('W')], Intent::Narrower, "", "Less time in a column", false),
    own(&[ch('c')], Intent::Compare, "", "Histograms: kinds of latency, two CPUs, or now and the baseline", false),
    own(&[ch('b')], Intent::Baseline, "", "Keep what is measured now as the baseline", true),
    own(&[ch('u')], Intent::Tail, "", "Histograms: how many are longer", false),
    own(&[ch('s')], Intent::Sort, "", "Sort by the next column", false),
    own(&[ch('r')], Intent::Reverse, "", "Sort the other way round", false),
    own(
        &[ch('g')],
        Intent::Fold,
        "",
        "Table: a row a CPU, a NUMA node, a cache, a core, or for those that are isolated",
        true,
    ),
    own(&[ch('h')], Intent::About, "", "What bears on these figures: the machine, the backend, the load", true),
    own(&[ch('y')], Intent::Copy, "", "Copy the table, or the report of the open episode", false),
];
