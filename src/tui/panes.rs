//! What stands in the frames of the workbench: a folder for each kind of pane, with its state, what it
//! draws and what keys and the mouse do in it; and the overlays.
//!
//! A new kind of pane is a folder here and a row in [`KINDS`].

use std::any::Any;
use std::fmt::Debug;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::action::{Action, Pick};
use super::document::Document;
use super::effect::Effect;
use super::export::Shown;
use super::keys::{Binding, Scope};
pub use super::kind::Kind;
use super::layout::arrange::MinSize;
use super::layout::tree::{Axis, PaneId};
use super::state::State;
use super::theme::Theme;
use crate::session::update::ScriptId;

pub mod bars;
pub mod browser;
pub mod chooser;
pub mod command;
pub mod editor;
pub mod events;
pub mod flame;
pub mod heat;
pub mod help;
pub mod latency;
pub mod lens;
pub mod log;
pub mod maps;
pub mod palette;
pub mod probes;
pub mod reader;
pub(crate) mod rows;
pub mod system;
pub mod timeline;
pub mod window;
pub mod xray;

/// A kind of pane.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    /// Its name.
    pub kind: Kind,
    /// As people call it.
    pub title: &'static str,
    /// What it shows, in a sentence for the list of new panes.
    pub about: &'static str,
    /// Whether the default layout has one.
    pub by_default: bool,
    /// Its keys.
    pub commands: &'static [Binding],
    /// Makes one.
    pub make: fn(&State) -> Box<dyn Pane>,
}

/// Every kind of pane, in the order of the default layout.
pub static KINDS: &[Registered] = &[
    editor::PANE,
    events::PANE,
    maps::PANE,
    probes::PANE,
    flame::PANE,
    heat::PANE,
    latency::PANE,
    system::PANE,
    xray::PANE,
    command::PANE,
    log::PANE,
];

/// A kind of pane by its name.
#[must_use]
pub fn registered(name: &str) -> Option<&'static Registered> {
    KINDS.iter().find(|k| k.kind.0 == name)
}

/// A view with its own state.
pub trait Pane: Any + Debug + Send {
    /// Which kind it is.
    fn kind(&self) -> Kind;

    /// What stands on its frame.
    fn title(&self, state: &State) -> String;

    /// How many things it shows, for its title among others; 0 is left out.
    fn count(&self, _state: &State) -> usize {
        0
    }

    /// The sizes below which it becomes a tab of its neighbour.
    fn min_size(&self) -> MinSize;

    /// What it would like of so many cells, where the program chooses the sizes; `None` takes the rest.
    fn wanted(&self, _state: &State, _axis: Axis, _of: u16) -> Option<u16> {
        None
    }

    /// Whether it has something to show: where the program chooses the sizes, others get its room.
    fn is_filled(&self, _state: &State) -> bool {
        true
    }

    /// Paints it, frame included. Nothing is changed here.
    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect);

    /// Applies an intent; `area` is its frame.
    fn act(&mut self, action: &Action, state: &mut State, area: Rect) -> Vec<Effect>;

    /// The scopes of the key table that hold in it, narrowest first.
    fn commands(&self, state: &State) -> &'static [Scope];

    /// Whether characters are text here.
    fn takes_text(&self) -> bool {
        false
    }

    /// Whether a filter is typed in its frame.
    fn takes_filter(&self) -> bool {
        false
    }

    /// What it shows, as data for a file.
    fn shown(&self, _state: &State) -> Shown {
        Shown::Picture
    }

    /// What is at a place of the screen.
    fn hit(&self, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick>;

    /// Takes in what has changed in the history.
    fn hear(&mut self, _news: News, _state: &State) {}

    /// Whether it goes on with something at [`News::GoOn`].
    fn is_busy(&self, _state: &State) -> bool {
        false
    }

    /// The script that it stays with; without one it shows the script that is worked on.
    fn script(&self) -> Option<ScriptId> {
        None
    }

    /// Whether it shows figures of its script's trace: its frame says when they are of a part only.
    fn counts(&self) -> bool {
        false
    }

    /// Brings what must be in sight into sight, after every change and before anything is drawn.
    fn settle(&mut self, _state: &State, _area: Rect) {}
}

/// What has changed in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Rows from this one on have changed or are new.
    Appended(u64),
    /// Views are held.
    Paused,
    /// Views are held at this entry.
    Held(u64),
    /// They go on.
    Resumed,
    /// There is time to go on with what was begun.
    GoOn,
}

/// What a pane is drawn with.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Everything that is shown.
    pub state: &'a State,
    /// The script that the pane shows.
    pub document: &'a Document,
    /// The pane.
    pub pane: PaneId,
    /// It has the keys.
    pub focused: bool,
    /// It fills the screen because the user wants it so.
    pub zoomed: bool,
    /// The panes that share its frame, itself among them.
    pub tabs: &'a [PaneId],
}

impl<'a> Context<'a> {
    /// For a pane that is shown with these in one frame.
    #[must_use]
    pub fn new(state: &'a State, pane: PaneId, tabs: &'a [PaneId]) -> Self {
        let focused = state.panes.focus() == pane;
        let script = state.panes.get(pane).and_then(Pane::script);
        let document = script.and_then(|s| state.document(s)).unwrap_or(&state.document);
        Self { state, document, pane, focused, zoomed: state.panes.is_zoomed(), tabs }
    }

    /// The theme in use.
    #[must_use]
    pub fn theme(&self) -> &'a Theme {
        &self.state.theme
    }
}

/// The title of a pane that may stay with a script.
fn pinned_title(title: &str, pinned: Option<ScriptId>, state: &State) -> String {
    let of = pinned.and_then(|script| state.document(script));
    of.map_or_else(|| title.to_owned(), |document| format!("{title}: {}", document.name()))
}

/// What a pane stays with after it was asked to stay, or to follow again.
fn turned(pinned: Option<ScriptId>, state: &State) -> Option<ScriptId> {
    if pinned.is_some() { None } else { Some(state.document.id) }
}
