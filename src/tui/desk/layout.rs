//! Where everything is on the screen, by its size and by what there is to show.

use ratatui::layout::Rect;

use super::registry::KINDS;
use super::state::State;
use crate::tui::base::arrange::{Arranged, Measure, MinSize, Placed, arrange};
use crate::tui::base::kind::{Kind, SCRIPT};
use crate::tui::base::tree::{Axis, Leaf, Node, PaneId, Part, Split};
use crate::tui::pane::{Context, Pane, Tab, Typed};

pub mod file;

/// Areas of one frame; an absent one is not drawn.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    /// The top bar.
    pub bar: Option<Rect>,
    /// The status line.
    pub status: Option<Rect>,
    /// The line of keys.
    pub footer: Option<Rect>,
    /// The frames of the panes.
    pub panes: Arranged,
    /// All that is between the bars.
    pub body: Rect,
}

/// Least size on which anything can be shown.
pub const LEAST: (u16, u16) = (12, 3);

/// The areas for this state.
#[must_use]
pub fn of(state: &State) -> Layout {
    let (width, height) = state.size;
    let mut out = Layout { body: Rect::new(0, 0, width, height), ..Layout::default() };
    if width < LEAST.0 || height < LEAST.1 {
        return out;
    }
    let mut body = out.body;
    if height >= 12 {
        out.bar = Some(Rect { height: 1, ..body });
        body.y += 1;
        body.height -= 1;
    }
    if height >= 6 {
        body.height -= 1;
        out.footer = Some(Rect { y: body.bottom(), height: 1, ..body });
    }
    if height >= 5 {
        body.height -= 1;
        out.status = Some(Rect { y: body.bottom(), height: 1, ..body });
    }
    out.body = body;
    out.panes = panes(state, body);
    out
}

/// The frames in an area: one for the pane that fills it, or those of the tree.
#[must_use]
pub fn panes(state: &State, body: Rect) -> Arranged {
    let panes = &state.panes;
    if panes.is_zoomed() {
        let whole = Placed { area: body, tabs: panes.tree.panes(), shown: panes.focus() };
        return Arranged { placed: vec![whole], borders: Vec::new() };
    }
    arrange(&panes.tree, body, &Measured(state))
}

/// The panes of a state as the layout sees them.
pub struct Measured<'a>(pub &'a State);

impl Measure for Measured<'_> {
    fn min_size(&self, pane: PaneId) -> MinSize {
        let usual = MinSize { least: (24, 4), good: (54, 6) };
        self.0.panes.get(pane).map_or(usual, Pane::min_size)
    }

    fn wanted(&self, pane: PaneId, axis: Axis, of: u16) -> Option<u16> {
        self.0.panes.get(pane)?.wanted(self.0, axis, of)
    }

    fn is_filled(&self, pane: PaneId) -> bool {
        self.0.panes.get(pane).is_none_or(|p| p.is_filled(self.0))
    }

    fn foremost(&self, panes: &[PaneId]) -> PaneId {
        self.0.panes.foremost(panes)
    }

    fn focus(&self) -> PaneId {
        self.0.panes.focus()
    }
}

/// The default layout: the script at the left, at the right what it puts out, each as soon as it has
/// something to show.
pub fn set_default(state: &mut State) {
    let is_script = |id: &PaneId| state.panes.kind(*id) == Some(SCRIPT);
    let scripts: Vec<PaneId> = state.panes.tree.panes().into_iter().filter(is_script).collect();
    let output: Vec<Kind> = KINDS.iter().filter(|k| k.by_default && k.kind != SCRIPT).map(|k| k.kind).collect();
    let mut parts = Vec::new();
    for kind in output {
        if let Some(pane) = state.panes.of_kind(kind).or_else(|| open(state, kind)) {
            parts.push(Part::adaptive(Node::leaf(pane)));
        }
    }
    let left = Part::adaptive(Node::Leaf(Leaf { tabs: scripts }));
    let right = Part::adaptive(Node::Split(Split { axis: Axis::Down, parts }));
    let tree = Node::Split(Split { axis: Axis::Across, parts: vec![left, right] });
    state.panes.hang(tree);
}

/// The names of the panes that share a frame.
#[must_use]
pub fn tabs(state: &State, placed: &Placed) -> Vec<Tab> {
    let tab = |id: &PaneId| {
        let pane = state.panes.get(*id)?;
        Some(Tab { pane: *id, title: pane.title(state), count: pane.count(state) })
    };
    placed.tabs.iter().filter_map(tab).collect()
}

/// What the pane that is shown in a frame is drawn with.
#[must_use]
pub fn context<'a>(state: &'a State, placed: &Placed, tabs: &'a [Tab]) -> Context<'a> {
    let pane = state.panes.get(placed.shown);
    let typed = state.layers.iter().find_map(|layer| layer.typed());
    let is_filtered = || state.filtered() == Some(placed.shown);
    Context {
        data: &state.data,
        document: state.document_of(pane.and_then(Pane::script)),
        pane: placed.shown,
        focused: state.panes.focus() == placed.shown,
        zoomed: state.panes.is_zoomed(),
        counts: pane.is_some_and(Pane::counts),
        tabs,
        typed: typed.filter(|typed| !matches!(typed, Typed::Filter(_)) || is_filtered()),
        is_first: state.layers.is_empty(),
    }
}

/// Opens a pane of a kind below another one, unless there is one. The keys stay where they are.
pub fn appear(state: &mut State, kind: Kind, below: Kind) {
    if state.panes.of_kind(kind).is_some() {
        return;
    }
    let beside = state.panes.of_kind(below).unwrap_or_else(|| state.panes.focus());
    let Some(new) = open(state, kind) else { return };
    let focus = state.panes.focus();
    let tree = &mut state.panes.tree;
    if let Some(split) = tree.split_of(beside)
        && split.axis == Axis::Down
        && split.parts.iter().all(|part| part.share.is_none())
        && let Some(at) = split.parts.iter().position(|part| part.node.holds(beside))
    {
        split.parts.insert(at + 1, Part::adaptive(Node::leaf(new)));
    } else if !tree.split(beside, Axis::Down, new, false) {
        tree.add_tab(focus, new);
    }
}

/// Makes a pane of a kind; it hangs nowhere yet.
pub fn open(state: &mut State, kind: Kind) -> Option<PaneId> {
    let registered = KINDS.iter().find(|k| k.kind == kind)?;
    let pane = (registered.make)(&state.data);
    Some(state.panes.add(pane))
}
