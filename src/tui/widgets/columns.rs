//! The registry of columns: what tables of events, maps and probes can show and sort by.

/// A column of the table of probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Heading.
    pub title: &'static str,
    /// What it shows, for help.
    pub about: &'static str,
    /// Columns on the screen.
    pub width: u16,
}

/// The table of events, in order. A width is the least one.
pub const EVENTS: [Column; 4] = [
    Column { title: "time", about: "When it came: seconds since the start, or the time of the day", width: 8 },
    Column { title: "delta", about: "How long after the line before", width: 10 },
    Column { title: "probe", about: "The probe that printed it", width: 12 },
    Column { title: "output", about: "What was printed", width: 0 },
];

/// The table of probes, in order.
pub const PROBES: [Column; 6] = [
    Column { title: "probe", about: "Attach points as the script names them", width: 0 },
    Column { title: "at", about: "Places it is attached to", width: 5 },
    Column { title: "runs/s", about: "Runs a second, over the last two seconds", width: 8 },
    Column { title: "ns/run", about: "Mean kernel time of one run, ns, since the start", width: 7 },
    Column { title: "cpu %", about: "Share of one CPU, over the last two seconds", width: 7 },
    Column { title: "missed", about: "Firings that the kernel skipped", width: 7 },
];

/// Columns of the table of a map, after which its rows can be sorted.
pub const MAP: [Column; 3] = [
    Column { title: "key", about: "The map's key", width: 0 },
    Column { title: "value", about: "The map's value", width: 12 },
    Column { title: "/s", about: "Change a second since the reading before", width: 8 },
];
