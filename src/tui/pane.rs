//! What a pane and a layer are to the desk: it shows them, gives them intents, and carries out what they ask for.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::base::action::{Action, App, Go, Pick};
use super::base::arrange::MinSize;
use super::base::input::Input;
use super::base::key::{Binding, Scope};
use super::base::kind::Kind;
use super::base::theme::Theme;
use super::base::tree::{Axis, PaneId};
use super::data::Data;
use super::data::document::Document;
use super::data::effect::Message;
use crate::model::flame::FlameTree;
use crate::output::export::table::Table;
use crate::session::update::ScriptId;
use crate::store::TraceId;

pub mod ask;

pub use ask::{Ask, Turn};

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
    pub make: fn(&Data) -> Box<dyn Pane>,
    /// What is done when panes of this kind are opened, seen, or seen no more; see [`Seen`].
    pub follow: Option<Follow>,
}

/// What is done by what is seen of a kind of pane, after every change.
pub type Follow = fn(&mut Turn<&mut Data>, Seen);

/// What the user sees of a kind of pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// One is open.
    pub is_open: bool,
    /// One is on the screen.
    pub is_shown: bool,
}

/// A view with its own state.
pub trait Pane: Any + Debug + Send {
    /// Which kind it is.
    fn kind(&self) -> Kind;

    /// What stands on its frame.
    fn title(&self, data: &Data) -> String;

    /// How many things it shows, for its title among others; 0 is left out.
    fn count(&self, _data: &Data) -> usize {
        0
    }

    /// The sizes below which it becomes a tab of its neighbour.
    fn min_size(&self) -> MinSize;

    /// What it would like of so many cells, where the program chooses the sizes; `None` takes the rest.
    fn wanted(&self, _data: &Data, _axis: Axis, _of: u16) -> Option<u16> {
        None
    }

    /// Whether it has something to show: where the program chooses the sizes, others get its room.
    fn is_filled(&self, _data: &Data) -> bool {
        true
    }

    /// Paints it, frame included. Nothing is changed here.
    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect);

    /// Paints what lies over other panes while it has the keys and no layer is open.
    fn draw_over(&self, _ctx: &Context<'_>, _buf: &mut Buffer, _area: Rect, _body: Rect) {}

    /// Applies an intent to itself, and asks `turn` for everything else; `area` is its frame.
    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, area: Rect);

    /// The scopes of the key table that hold in it, narrowest first.
    fn commands(&self, data: &Data) -> &'static [Scope];

    /// Whether characters are text here.
    fn takes_text(&self) -> bool {
        false
    }

    /// Whether a filter is typed in its frame.
    fn takes_filter(&self) -> bool {
        false
    }

    /// What it shows, as data for a file.
    fn shown(&self, _data: &Data) -> Shown {
        Shown::Picture
    }

    /// The stacks of a trace as it shows them, with the name of their map.
    fn stacks(&self, _trace: TraceId) -> Option<(Arc<str>, Arc<FlameTree>)> {
        None
    }

    /// What is at a place of the screen.
    fn hit(&self, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick>;

    /// Takes in what has changed in the history.
    fn hear(&mut self, _news: News, _data: &Data) {}

    /// Takes in an answer from outside. Every pane hears all of them.
    fn answered(&mut self, _message: &Message, _turn: &mut Turn<&Data>) {}

    /// Whether it goes on with something at [`News::GoOn`].
    fn is_busy(&self, _data: &Data) -> bool {
        false
    }

    /// Rows that have come since its view was held.
    fn waiting(&self, _data: &Data) -> u64 {
        0
    }

    /// The script that it stays with; without one it shows the script that is worked on.
    fn script(&self) -> Option<ScriptId> {
        None
    }

    /// The script whose text it is: with the keys there, that is the one that is worked on.
    fn edits(&self) -> Option<ScriptId> {
        None
    }

    /// Whether it shows figures of its script's trace: its frame says when they are of a part only.
    fn counts(&self) -> bool {
        false
    }

    /// Brings what must be in sight into sight, after every change and before anything is drawn.
    fn settle(&mut self, _data: &Data, _area: Rect) {}

    /// Rows and columns that the text of its script has: the cursor is brought into sight there.
    fn text_room(&self, _data: &Data, _area: Rect) -> Option<(usize, usize)> {
        None
    }
}

/// Something in front of the panes; the last one has the keys.
pub trait Layer: Any + Debug + Send {
    /// The scope of the key table that holds in it.
    fn scope(&self) -> Scope;

    /// Whether characters are text here.
    fn takes_text(&self) -> bool {
        false
    }

    /// Whether a key that means nothing here closes it.
    fn is_brief(&self) -> bool {
        false
    }

    /// Takes an intent for the whole program that means something here; false leaves it to the program.
    fn app(&mut self, _app: App, _turn: &mut Turn<&Data>) -> bool {
        false
    }

    /// Applies an intent; `body` is all that is between the bars.
    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, body: Rect);

    /// It is closed without an answer.
    fn cancel(&mut self, _turn: &mut Turn<&Data>) {}

    /// Takes in an answer from outside. Every open layer hears all of them; `is_first` is the one with the keys.
    fn answered(&mut self, _message: &Message, _turn: &mut Turn<&Data>, _is_first: bool) {}

    /// The mouse has taken a place of the screen; what it gives is done next.
    fn press(&mut self, _at: (u16, u16), _turn: &mut Turn<&Data>, _body: Rect) -> Option<Action> {
        None
    }

    /// What a step of the wheel does at a place.
    fn wheel(&self, go: Go, _at: (u16, u16), _body: Rect) -> Action {
        Action::Go(go)
    }

    /// Paints it. Nothing is changed here.
    fn draw(&self, data: &Data, buf: &mut Buffer, body: Rect);

    /// What is typed in a pane's frame rather than in front of the panes: the mouse reaches these.
    fn typed(&self) -> Option<Typed<'_>> {
        None
    }
}

/// A line that is typed in a pane's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Typed<'a> {
    /// A filter.
    Filter(&'a Input),
    /// What is searched in the script.
    Find(&'a Input),
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

/// What a pane shows, as data.
#[derive(Clone, Debug, Default)]
pub enum Shown {
    /// Nothing but its picture.
    #[default]
    Picture,
    /// A map of a trace.
    Map(TraceId, Arc<str>),
    /// Lines of the history: of these traces or of all, those that pass.
    Lines(Option<Vec<TraceId>>, String),
    /// A table.
    Table(Table),
}

/// A pane's name among those that share its frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tab {
    /// Which.
    pub pane: PaneId,
    /// What stands on its frame.
    pub title: String,
    /// How many things it shows.
    pub count: usize,
}

/// What a pane is drawn with.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Everything that is shown.
    pub data: &'a Data,
    /// The script that the pane shows.
    pub document: &'a Document,
    /// The pane.
    pub pane: PaneId,
    /// It has the keys.
    pub focused: bool,
    /// It fills the screen because the user wants it so.
    pub zoomed: bool,
    /// Its figures are of its script's trace ([`Pane::counts`]).
    pub counts: bool,
    /// The panes that share its frame, itself among them.
    pub tabs: &'a [Tab],
    /// What is typed in a pane's frame.
    pub typed: Option<Typed<'a>>,
    /// No layer is open.
    pub is_first: bool,
}

impl<'a> Context<'a> {
    /// The theme in use.
    #[must_use]
    pub fn theme(&self) -> &'a Theme {
        &self.data.theme
    }

    /// The filter that is being typed.
    #[must_use]
    pub const fn filter(&self) -> Option<&'a Input> {
        match self.typed {
            Some(Typed::Filter(input)) => Some(input),
            _ => None,
        }
    }
}

/// The title of a pane that may stay with a script.
pub(crate) fn pinned_title(title: &str, pinned: Option<ScriptId>, data: &Data) -> String {
    let of = pinned.and_then(|script| data.document(script));
    of.map_or_else(|| title.to_owned(), |document| format!("{title}: {}", document.name()))
}

/// What a pane stays with after it was asked to stay, or to follow again.
pub(crate) fn turned(pinned: Option<ScriptId>, data: &Data) -> Option<ScriptId> {
    if pinned.is_some() { None } else { Some(data.document.id) }
}
