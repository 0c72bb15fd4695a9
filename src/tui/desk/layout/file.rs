//! Layouts as files: TOML, made by name by the user, and one of the last use.

use serde::{Deserialize, Serialize};

use super::super::state::State;
use crate::tui::base::kind::Kind;
use crate::tui::base::tree::{Axis, Leaf, Node, PaneId, Part, Split};
use crate::tui::desk::registry::registered;
use crate::tui::panes::editor;

/// Version of the form of these files.
const VERSION: u32 = 1;

/// Panes that a layout may have, and splits within one another.
const MOST_PANES: usize = 64;
const MOST_DEPTH: usize = 16;

/// Longest file that is read, in bytes.
pub const LONGEST: u64 = 64 << 10;

/// Why a layout can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// It is not what it should be.
    #[error("{0}")]
    Form(String),
    /// It is of another version of the program.
    #[error("its version is {0}; this program reads version {VERSION}")]
    Version(u32),
    /// There is no such pane.
    #[error("there is no pane `{0}`; there are {1}")]
    Pane(String, String),
    /// It has no room for the script.
    #[error("no pane shows the script")]
    NoScript,
    /// It is larger than a screen can be.
    #[error("it has more than {MOST_PANES} panes, or splits more than {MOST_DEPTH} deep")]
    TooLarge,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    layout: Saved,
}

/// A node: a split has an axis and parts, a frame has tabs.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    share: Option<u16>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tabs: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    axis: Option<SavedAxis>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Saved>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SavedAxis {
    Across,
    Down,
}

/// The layout as it is now, as a file.
#[must_use]
pub fn text(state: &State) -> String {
    let file = File { version: VERSION, layout: saved(state, &state.panes.tree, None) };
    let note = "# A layout of probescope's workbench: splits with parts, frames with tabs.\n";
    toml::to_string(&file).map_or_else(|_| String::new(), |text| format!("{note}{text}"))
}

fn saved(state: &State, node: &Node, share: Option<u16>) -> Saved {
    match node {
        Node::Leaf(leaf) => {
            let mut tabs: Vec<String> =
                leaf.tabs.iter().filter_map(|t| state.panes.kind(*t)).map(|k| k.0.to_owned()).collect();
            // Which scripts are open is not part of the layout.
            tabs.dedup_by(|a, b| a == b && *a == editor::KIND.0);
            Saved { share, tabs, ..Saved::default() }
        }
        Node::Split(split) => {
            let axis = if split.axis == Axis::Across { SavedAxis::Across } else { SavedAxis::Down };
            let parts = split.parts.iter().map(|p| saved(state, &p.node, p.share)).collect();
            Saved { share, axis: Some(axis), parts, ..Saved::default() }
        }
    }
}

/// A layout that was read and checked, ready to be restored.
#[derive(Debug)]
pub struct Plan(Saved);

/// Reads a layout.
///
/// # Errors
/// When the text is none, or one that can't be shown.
pub fn parse(text: &str) -> Result<Plan, LayoutError> {
    let form = |e: toml::de::Error| {
        let line = e.span().map_or(1, |s| text[..s.start.min(text.len())].matches('\n').count() + 1);
        LayoutError::Form(format!("line {line}: {}", e.message().lines().next().unwrap_or_default()))
    };
    let file: File = toml::from_str(text).map_err(form)?;
    if file.version != VERSION {
        return Err(LayoutError::Version(file.version));
    }
    let mut kinds = Vec::new();
    check(&file.layout, 0, &mut kinds)?;
    if kinds.contains(&editor::KIND) { Ok(Plan(file.layout)) } else { Err(LayoutError::NoScript) }
}

fn check(node: &Saved, depth: usize, kinds: &mut Vec<Kind>) -> Result<(), LayoutError> {
    if depth > MOST_DEPTH || kinds.len() + node.tabs.len() > MOST_PANES {
        return Err(LayoutError::TooLarge);
    }
    match (node.axis, node.parts.len(), node.tabs.len()) {
        (None, 0, 1..) => {}
        (Some(_), 2.., 0) => {}
        _ => return Err(LayoutError::Form("a frame has tabs, a split an axis and at least two parts".to_owned())),
    }
    for name in &node.tabs {
        let Some(kind) = registered(name) else {
            let known: Vec<&str> = crate::tui::desk::registry::KINDS.iter().map(|k| k.kind.0).collect();
            return Err(LayoutError::Pane(name.clone(), known.join(", ")));
        };
        kinds.push(kind.kind);
    }
    node.parts.iter().try_for_each(|part| check(part, depth + 1, kinds))
}

/// Restores a layout: the open scripts go to its places for scripts in their order, views that are
/// open already are kept as they are.
pub fn restore(state: &mut State, plan: &Plan) {
    let mut open: Vec<(PaneId, Kind)> =
        state.panes.tree.panes().into_iter().filter_map(|p| Some((p, state.panes.kind(p)?))).collect();
    let Some(mut tree) = build(state, &plan.0, &mut open) else { return };
    // Scripts for which there is no place of their own go where the last one is.
    for (pane, kind) in open {
        let mut scripts = tree.panes().into_iter().filter(|p| state.panes.kind(*p) == Some(editor::KIND));
        if let (true, Some(beside)) = (kind == editor::KIND, scripts.next_back()) {
            tree.add_tab(beside, pane);
        }
    }
    state.panes.hang(tree);
}

fn build(state: &mut State, node: &Saved, open: &mut Vec<(PaneId, Kind)>) -> Option<Node> {
    let Some(axis) = node.axis else {
        let mut tabs = Vec::new();
        for name in &node.tabs {
            let kind = registered(name)?.kind;
            let kept = open.iter().position(|(_, k)| *k == kind).map(|at| open.remove(at).0);
            // A place for a script that is not open stays empty.
            let pane = if kind == editor::KIND { kept } else { kept.or_else(|| super::open(state, kind)) };
            tabs.extend(pane);
        }
        return (!tabs.is_empty()).then_some(Node::Leaf(Leaf { tabs }));
    };
    let axis = match axis {
        SavedAxis::Across => Axis::Across,
        SavedAxis::Down => Axis::Down,
    };
    let mut parts = Vec::new();
    for part in &node.parts {
        if let Some(node) = build(state, part, open) {
            parts.push(Part { node, share: part.share });
        }
    }
    match parts.len() {
        0 => None,
        1 => Some(parts.remove(0).node),
        _ => Some(Node::Split(Split { axis, parts })),
    }
}
