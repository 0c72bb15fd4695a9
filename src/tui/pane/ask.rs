//! What panes and layers ask for. The desk carries each out, in the order in which they were asked for, once the one that
//! asks has acted.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::Layer;
use crate::lang::diagnostic::Severity;
use crate::lang::source::Span;
use crate::model::latency::Mode;
use crate::model::value::Value;
use crate::session::scopes::Scope;
use crate::session::update::ScriptId;
use crate::tui::base::action::{Action, App, Go};
use crate::tui::base::kind::Kind;
use crate::tui::base::time::typed::Typed;
use crate::tui::data::Data;
use crate::tui::data::baseline::Baseline;
use crate::tui::data::effect::Effect;

/// One thing that is asked for.
#[derive(Debug)]
pub enum Ask {
    /// Do something outside.
    Out(Effect),
    /// Show a passing message.
    Tell(Severity, String),
    /// The same, unless a graver one is there.
    Mention(Severity, String),
    /// Do what the user could do by a key.
    Act(Action),
    /// Apply an intent in the pane whose filter is typed.
    Filtered(Action),
    /// Apply an intent in the pane with the keys, whatever is open in front.
    InPane(Action),
    /// Put the keys on a pane of a kind.
    Show(Kind),
    /// Open a layer in front of all.
    Open(Box<dyn Layer>),
    /// The same, unless another one is open.
    Offer(Box<dyn Layer>),
    /// Close the first layer.
    Leave,
    /// Close all of them.
    LeaveAll,
    /// Hold the views at an entry.
    Hold(u64),
    /// Hold the views at an entry that was chosen, where they are held already.
    Choose(u64),
    /// Make an open script the one that is worked on.
    WorkOn(ScriptId),
    /// Change a script: the one that is worked on, or another one.
    Script(Option<ScriptId>, Change),
    /// Apply an intent to the view of a script's maps, on so many rows.
    Maps(ScriptId, Action, usize),
    /// Measure, watch.
    Meter(Metering),
    /// Search the probes; the number tells the answer apart.
    Search(String, u64),
    /// These probes were used.
    Use(Vec<Arc<str>>),
    /// Turn the mark of a favourite.
    Favourite(Arc<str>),
    /// From now on clauses are limited to this.
    Limit(Option<Scope>),
    /// Captured structs are compared to this one.
    MarkStruct(Value),
    /// The events leave out what the workbench itself causes, or not any more.
    HideOwn(bool),
    /// A theme, by its name; it may be seen only.
    Theme(String, bool),
    /// Something that is listed in the palette.
    Take(Listing),
}

/// What the desk opens by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing {
    /// A file in a tab; a new script without one.
    Path(Option<std::path::PathBuf>),
    /// The same by the name that was typed.
    Typed(String),
    /// A bundled script.
    Script(&'static str, Opening),
    /// A script that answers a question: its name, its text, and the pane that shows what it finds.
    Preset(&'static str, &'static str, Kind),
    /// What is shown goes to a file.
    Export(crate::tui::data::job::Exported),
    /// Save the layout under a name.
    SaveLayout(String),
    /// Save the script under a name, as typed.
    SaveAs(String),
    /// Go to a moment.
    Moment(Typed),
    /// Parameters and options, as typed, and what is done then.
    Parameters(Vec<String>, Option<App>),
    /// Does what a line of vi's command line says.
    Vi(String),
}

/// How a bundled script is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// In place of the script that is worked on; first it is asked what becomes of unsaved text.
    Asked,
    /// Once that text is saved.
    Saved,
    /// Over it.
    Over,
    /// In a tab of its own.
    Tab,
}

/// A change of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// An intent in its text, on so many rows.
    Text(Action, usize),
    /// Another text in place of a part.
    Replace(Span, String),
    /// Text at the cursor.
    Paste(String),
    /// A clause where the cursor is in none.
    Insert(String),
    /// The text as it was in this state.
    Stage(usize),
    /// Another name for the thing under the cursor.
    Rename(String),
    /// Search a text, and go to a place of it.
    Find(String, Option<Go>),
}

/// What is asked of the latency meter.
#[derive(Clone, Debug, PartialEq)]
pub enum Metering {
    /// Measure, in place of what is measured.
    Start(Mode),
    /// Tell what that would cost, then measure.
    Ask(Mode),
    /// Measure no more.
    Stop,
    /// Watch the process of a thread.
    Watch(u32),
    /// Watch nobody.
    Leave,
    /// Raise a threshold, or lower it.
    Threshold(usize, bool),
    /// What histograms are compared with from now on.
    Baseline(Box<Baseline>),
}

/// A turn of a pane or a layer: what it may read, and what it asks for.
#[derive(Debug)]
pub struct Turn<D> {
    data: D,
    asks: Vec<Ask>,
}

impl<D: Deref<Target = Data>> Deref for Turn<D> {
    type Target = Data;

    fn deref(&self) -> &Data {
        &self.data
    }
}

impl<D: DerefMut<Target = Data>> DerefMut for Turn<D> {
    fn deref_mut(&mut self) -> &mut Data {
        &mut self.data
    }
}

impl<'a> Turn<&'a Data> {
    /// All that may be read, for as long as that lasts.
    #[must_use]
    pub const fn data(&self) -> &'a Data {
        self.data
    }
}

impl<D> Turn<D> {
    /// Nothing is asked yet.
    #[must_use]
    pub const fn new(data: D) -> Self {
        Self { data, asks: Vec::new() }
    }

    /// What was asked for.
    #[must_use]
    pub fn asks(self) -> Vec<Ask> {
        self.asks
    }

    /// Asks for something.
    pub fn ask(&mut self, ask: Ask) {
        self.asks.push(ask);
    }

    /// Asks for something outside.
    pub fn out(&mut self, effect: Effect) {
        self.ask(Ask::Out(effect));
    }

    /// Shows a passing message.
    pub fn tell(&mut self, severity: Severity, text: impl Into<String>) {
        self.ask(Ask::Tell(severity, text.into()));
    }

    /// Shows a passing message unless a graver one is there.
    pub fn mention(&mut self, severity: Severity, text: impl Into<String>) {
        self.ask(Ask::Mention(severity, text.into()));
    }

    /// Opens a layer.
    pub fn open(&mut self, layer: impl Layer) {
        self.ask(Ask::Open(Box::new(layer)));
    }

    /// Opens a layer unless another one is open.
    pub fn offer(&mut self, layer: impl Layer) {
        self.ask(Ask::Offer(Box::new(layer)));
    }

    /// Closes the layer that acts.
    pub fn leave(&mut self) {
        self.ask(Ask::Leave);
    }

    /// Puts the keys on a pane of a kind.
    pub fn focus_on(&mut self, kind: Kind) {
        self.ask(Ask::Show(kind));
    }

    /// Does what is an intent for the whole program.
    pub fn app(&mut self, app: App) {
        self.ask(Ask::Act(Action::App(app)));
    }

    /// Changes the script that is worked on.
    pub fn change(&mut self, change: Change) {
        self.ask(Ask::Script(None, change));
    }
}
