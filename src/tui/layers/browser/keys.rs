//! What the browser alone can be asked for; its keys stand in the table of the program.

use crate::tui::base::intents::intents;

intents! {
    /// What the browser alone can be asked for.
    in "browser";
    /// Take the chosen probe along with others, or leave it again.
    ChooseSeveral = "choose several",
    /// Make the chosen probe a favourite, or none any more.
    Favourite = "favourite",
    /// Only probes of the next kind.
    Kind = "kind",
    /// Choose what the inserted clauses are limited to.
    Scope = "scope",
    /// Count the hits of the probes in sight for a second.
    Hits = "hits",
    /// X-ray what is searched for.
    XRay = "x-ray",
    /// Open the lens on the arguments of the chosen probe.
    Lens = "lens",
    /// A question: how often, by command.
    Count = "count",
    /// A question: with which arguments.
    Arguments = "arguments",
    /// A question: how its numbers are distributed.
    Distribution = "distribution",
    /// A question: how long from entry to return.
    Latency = "latency",
    /// A question: which take longer than a millisecond.
    Slower = "slower",
    /// A question: from where.
    Stacks = "stacks",
}
