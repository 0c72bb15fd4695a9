//! What happens outside of the state: requests of [`crate::tui::desk::update`], and the answers.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::files::Opened;
use crate::lang::service::Completion;
use crate::model::budget::Budget;
use crate::model::latency::Thresholds;
use crate::probe::lens::Arguments;
use crate::probe::xray::Xray;
use crate::session::rerun::{Answered, Asked};
use crate::session::update::{Revision, ScriptId, TraceId, Update};
use crate::store::{Chunk, TraceInfo};
use crate::tracer::latency::Options;
use crate::tui::data::inspect::{Inspect, Inspected};
use crate::tui::data::job::Job;

/// Something to do outside; carried out by [`crate::tui::run`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Compile the text and run it.
    Submit {
        /// Which script.
        script: ScriptId,
        /// Number of its next trace.
        trace: TraceId,
        /// Its text.
        text: Arc<str>,
        /// The file's name, which tells the language.
        name: Arc<str>,
    },
    /// Run a script on the recording that is shown.
    Rerun(Box<Asked>),
    /// End the one that runs.
    StopRerun,
    /// Compile the text and tell what is wrong with it; nothing else changes.
    Check {
        /// Which script.
        script: ScriptId,
        /// Number of the text.
        revision: Revision,
        /// Its text.
        text: Arc<str>,
        /// The file's name, which tells the language.
        name: Arc<str>,
    },
    /// Write the text to its file.
    Save {
        /// Where.
        path: PathBuf,
        /// What.
        text: Arc<str>,
        /// A file with other text under this name stays: a number is put behind the name.
        fresh: bool,
        /// What is expected in the file; other text there is not written over. `None` writes whatever
        /// is there.
        over: Option<Arc<str>>,
    },
    /// Keep unsaved text safe.
    Keep {
        /// Where; nowhere without a folder for it.
        path: Option<PathBuf>,
        /// What.
        text: Arc<str>,
        /// Why it is kept now, for a message with what became of it: a save failed. Otherwise only a failure is told.
        because: Option<String>,
    },
    /// The text is saved: the copy for emergencies can go.
    Discard(Option<PathBuf>),
    /// Complete the path of a file that is being typed.
    CompletePath(String),
    /// Read a script to open it in a tab.
    Open {
        /// Which; a new one without a name when absent.
        path: Option<PathBuf>,
        /// Tells those without a name apart.
        number: u32,
    },
    /// End a trace.
    Stop(TraceId),
    /// What traces may take of the CPUs' time: those that run, and those to come.
    SetBudget(Vec<TraceId>, Option<Budget>),
    /// What one script may take of it, whatever the others may.
    Limit {
        /// The script.
        script: ScriptId,
        /// Its traces that run.
        traces: Vec<TraceId>,
        /// How much.
        budget: Option<Budget>,
    },
    /// Start a latency meter.
    Measure {
        /// Number of its trace.
        trace: TraceId,
        /// How it measures.
        options: Box<Options>,
    },
    /// Watch where the time of a thread's process goes.
    Watch {
        /// Number of its trace.
        trace: TraceId,
        /// The thread.
        thread: u32,
    },
    /// From now on these latencies of a meter make an episode.
    SetThresholds(TraceId, Thresholds),
    /// Begin to record to a new file: what is kept so far, then what comes.
    StartRecording(Box<Recorded>),
    /// Complete the recording.
    EndRecording,
    /// Add entries that the session did not send to the recording, if there is one.
    Record(Marked),
    /// Empty a map of a trace.
    ClearMap(TraceId, Arc<str>),
    /// Search the probes.
    Search {
        /// What was typed.
        query: String,
        /// Its number.
        generation: u64,
    },
    /// Tell everything about a probe.
    Describe(Arc<str>),
    /// Write something for later sessions.
    Remember {
        /// The beginning of what is told if it fails: ... not remembered.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What stands in it.
        text: String,
    },
    /// Make the X-ray of a pattern.
    Xray(String),
    /// Tell the members of a probe's arguments.
    Lens(Arc<str>),
    /// Tell what could be typed at a place.
    Complete {
        /// The script.
        text: Arc<str>,
        /// The file's name, which tells the language.
        name: Arc<str>,
        /// Byte offset of the cursor.
        offset: u32,
        /// Number of the question.
        generation: u64,
    },
    /// Tell what is known of the word at a place.
    Hint {
        /// The script.
        text: Arc<str>,
        /// The file's name, which tells the language.
        name: Arc<str>,
        /// Byte offset of the cursor.
        offset: u32,
    },
    /// Look at what the kernel has loaded.
    Inspect(Inspect),
    /// Keep the layout for the next start.
    KeepLayout(String),
    /// Save the layout under a name.
    SaveLayout {
        /// Its name.
        name: String,
        /// As a file.
        text: String,
    },
    /// Tell which layouts are saved.
    ListLayouts,
    /// Read the layout of a name.
    ReadLayout(String),
    /// Write what is shown to a new file.
    Export(Arc<Job>),
    /// Read the file of a script again: something wrote it.
    Reread(PathBuf),
    /// Let the user's own editor change the text of the script.
    EditOutside {
        /// The text.
        text: Arc<str>,
        /// The file's name, which tells the language.
        name: Arc<str>,
    },
    /// Put text on the terminal's clipboard.
    Copy(String),
    /// Paint everything anew.
    Redraw,
    /// Let the mouse speak to the program, or give it back to the terminal.
    TakeMouse(bool),
    /// Leave.
    Quit,
}

/// Entries, compared by being the same ones.
#[derive(Clone, Debug)]
pub struct Marked(pub Arc<Chunk>);

impl PartialEq for Marked {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Marked {}

/// What a recording begins with.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What the file's name begins with.
    pub name: String,
    /// The traces so far.
    pub traces: Vec<Arc<TraceInfo>>,
    /// What is kept of them, oldest first.
    pub history: Vec<Arc<Chunk>>,
}

impl PartialEq for Recorded {
    /// The same chunks, not equal ones.
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&Arc<Chunk>, &Arc<Chunk>)| Arc::ptr_eq(a, b);
        self.name == other.name
            && self.history.len() == other.history.len()
            && self.history.iter().zip(&other.history).all(same)
    }
}

impl Eq for Recorded {}

/// Something that happened outside.
#[derive(Clone, Debug)]
pub enum Message {
    /// From the session.
    Session(Update),
    /// Probes were found.
    Found(Found),
    /// A probe was described.
    Described(Detail),
    /// What a probe's arguments can be opened to.
    Lens {
        /// The probe.
        probe: Arc<str>,
        /// Its arguments that have members, or why there are none.
        roots: Result<Arguments, String>,
    },
    /// An X-ray, or why there is none.
    Xray {
        /// Its pattern.
        pattern: String,
        /// What runs.
        made: Result<Xray, String>,
    },
    /// What the kernel has loaded.
    Inspected(Inspected),
    /// What could be typed.
    Completed {
        /// Number of the question.
        generation: u64,
        /// Best first.
        items: Vec<Completion>,
    },
    /// What is known of the word at the cursor.
    Hinted {
        /// Where it was asked for.
        offset: u32,
        /// One line; empty when nothing is known.
        hint: String,
    },
    /// A file was written, or not: the reason in plain words.
    Saved {
        /// Which.
        path: PathBuf,
        /// What was written.
        text: Arc<str>,
        /// Why not.
        error: Option<String>,
    },
    /// Unsaved text is kept, or not.
    Kept {
        /// Why it was kept, where that is to be told.
        because: Option<String>,
        /// Where it is kept, or why it is not: in plain words.
        kept: Result<PathBuf, String>,
    },
    /// A file was not written: it holds text that nobody expected there.
    InTheWay {
        /// Which.
        path: PathBuf,
    },
    /// A file was written by some program: its path as its script names it.
    Touched(PathBuf),
    /// What is in the file of a script now.
    Reread {
        /// Which.
        path: PathBuf,
        /// Its text.
        text: Arc<str>,
    },
    /// What the user's own editor made of the script's text, or why nothing.
    Edited(Result<String, String>),
    /// A script was read, or not: the reason in plain words.
    Opened(Result<Opened, String>),
    /// What became of a script on the recording that is shown.
    Reran(Box<Answered>),
    /// How a path that is being typed goes on.
    PathCompleted {
        /// What was typed.
        typed: String,
        /// As far as there is no choice.
        completed: String,
        /// Where there is one, the names to choose from.
        names: Vec<String>,
    },
    /// The saved layouts.
    Layouts(Vec<String>),
    /// A saved layout.
    Layout {
        /// Its name.
        name: String,
        /// Its text, or why it can't be read.
        text: Result<String, String>,
    },
    /// The user has not typed for a moment.
    Tick,
    /// Whether a recording is being written now, and what happened.
    Recording {
        /// It is.
        on: bool,
        /// Plain words; not for good news when `failed`.
        told: String,
        /// Something went wrong.
        failed: bool,
    },
    /// So much time has passed while the history is played, ns.
    Elapsed(u64),
    /// There is time to go on with what was begun (see [`crate::tui::desk::update::is_busy`]).
    GoOn,
    /// The screen has a new size.
    Resize(u16, u16),
    /// Something to tell the user.
    Notice(String),
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Which search.
    pub generation: u64,
    /// The best ones, best first.
    pub hits: Vec<Hit>,
    /// How many match.
    pub matched: usize,
    /// How many of these can be attached here.
    #[serde(default)]
    pub usable: usize,
    /// How many there are.
    pub total: usize,
    /// False while the catalogue is still being built.
    pub complete: bool,
    /// Kinds of probes that this kernel does not offer, each with its reason.
    pub absent: Vec<Arc<str>>,
}

/// A probe in a list of results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// Full name.
    pub name: Arc<str>,
    /// Characters of the name that matched, ascending.
    pub matched: Vec<u32>,
    /// Why it can't be used here.
    pub absent: Option<Arc<str>>,
    /// It is no probe yet but a binary: choosing it lists its probes.
    #[serde(default)]
    pub leads: bool,
}

/// Everything about a probe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// Full name.
    pub name: Arc<str>,
    /// What it is, in a sentence or two.
    pub about: String,
    /// Its fields or parameters.
    pub fields: Vec<Field>,
    /// Type of the result, where there is one.
    pub result: Option<String>,
    /// Why it can't be used here, and what to do instead.
    pub absent: Option<String>,
    /// A clause that compiles.
    pub skeleton: String,
}

/// One field or parameter of a probe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// As the script writes it (`args.filename`).
    pub name: String,
    /// C type.
    pub ty: String,
}
