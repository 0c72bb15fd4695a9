//! What the command of the trace (`-c`) writes, and how it ends.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::bars::pane_frame;
use super::rows::{by, copy, page};
use super::{Context, Kind, Pane, Registered, events};
use crate::output::export::table::Table as Rows;
use crate::session::update::{CommandLine, ScriptId};
use crate::tui::action::{Action, Pick};
use crate::tui::document::Document;
use crate::tui::effect::Effect;
use crate::tui::export::Shown;
use crate::tui::intents::intents;
use crate::tui::keys::build::{bind, ch};
use crate::tui::keys::{Binding, Scope};
use crate::tui::layout;
use crate::tui::layout::arrange::MinSize;
use crate::tui::layout::tree::{Axis, Node, Part};
use crate::tui::paint::{put, style_row};
use crate::tui::state::State;
use crate::tui::text::{fit, grouped, neutralise_line};
use crate::tui::theme::Slot;

/// The name of this kind.
pub const KIND: Kind = Kind("command");

intents! {
    /// What this pane alone can be asked for.
    in "command";
    /// Copies the chosen line.
    CopyLine = "copy-line",
}

/// Its row in the registry.
pub const PANE: Registered = Registered {
    kind: KIND,
    title: "Command",
    about: "What the command of -c writes, and how it ends",
    by_default: false,
    commands: BINDINGS,
    make: |_| Box::new(CommandPane::default()),
};

static BINDINGS: &[Binding] =
    &[bind(Scope::Pane(KIND), &[ch('y')], Intent::CopyLine.action(), "copy", "Copy the line", false)];

/// A view of a command's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandPane {
    /// The chosen line, counted from the newest; 0 follows what comes.
    back: usize,
    /// Stays with this script.
    pinned: Option<ScriptId>,
}

/// Opens one below the events, once a command has something to say and no pane shows it. The keys stay where they are.
pub(crate) fn appear(state: &mut State) {
    if state.panes.of_kind(KIND).is_some() {
        return;
    }
    let beside = state.panes.of_kind(events::KIND).unwrap_or_else(|| state.panes.focus());
    let Some(new) = layout::open(state, KIND) else { return };
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

impl CommandPane {
    fn document<'a>(&self, state: &'a State) -> &'a Document {
        self.pinned.and_then(|script| state.document(script)).unwrap_or(&state.document)
    }

    /// The line in the first row, counted from the oldest that is kept.
    fn first(&self, count: usize, rows: usize) -> usize {
        count.saturating_sub(rows).min(count.saturating_sub(self.back + 1))
    }
}

/// Rows for lines; the last one tells how the command stands.
fn rows(area: Rect) -> usize {
    usize::from(area.height).saturating_sub(3)
}

/// How it stands.
fn standing(document: &Document) -> (Slot, String) {
    let output = &document.command;
    let dropped = match output.dropped {
        0 => String::new(),
        more => format!("; {} lines before these are not kept", grouped(more)),
    };
    match &output.ended {
        Some(how) if how == "exit code 0" => (Slot::Good, format!("{how}{dropped}")),
        Some(how) => (Slot::Warning, format!("{how}{dropped}")),
        None if output.is_empty() => (Slot::Dim, "No command runs: -c COMMAND starts one with each trace.".to_owned()),
        None => (Slot::Dim, format!("it runs{dropped}")),
    }
}

impl Pane for CommandPane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, state: &State) -> String {
        super::pinned_title(PANE.title, self.pinned, state)
    }

    fn count(&self, state: &State) -> usize {
        self.document(state).command.lines().len()
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (24, 4), good: (54, 6) }
    }

    fn wanted(&self, state: &State, axis: Axis, of: u16) -> Option<u16> {
        let lines = u16::try_from(self.count(state) + 3).unwrap_or(u16::MAX);
        (axis == Axis::Down).then(|| lines.clamp(4, (of / 3).max(4)))
    }

    fn is_filled(&self, state: &State) -> bool {
        !self.document(state).command.is_empty()
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        let (inside, _) = pane_frame(ctx, buf, area);
        let theme = ctx.theme();
        let document = self.document(ctx.state);
        let wide = usize::from(inside.width).saturating_sub(2);
        let (rows, lines) = (rows(area), document.command.lines());
        let (first, chosen) = (self.first(lines.len(), rows), lines.len().saturating_sub(self.back + 1));
        for (y, (number, line)) in lines.enumerate().skip(first).take(rows).enumerate() {
            let look = theme[if line.is_error { Slot::Warning } else { Slot::Text }];
            put(buf, inside, 1, y, &fit(&neutralise_line(line.text.trim_end_matches('\r')), wide), look);
            if number == chosen && ctx.focused {
                style_row(buf, inside, y, theme[Slot::Selected]);
            }
        }
        let (slot, text) = standing(document);
        put(buf, inside, 1, usize::from(inside.height).saturating_sub(1), &fit(&text, wide), theme[slot]);
    }

    fn act(&mut self, action: &Action, state: &mut State, area: Rect) -> Vec<Effect> {
        let last = self.count(state).saturating_sub(1);
        match action {
            Action::Go(go) => {
                let by = by(*go, page(area) as isize);
                self.back = self.back.saturating_add_signed(by.saturating_neg()).min(last);
            }
            Action::Pick(Pick::Row { row, .. }, _) => self.back = last.saturating_sub(*row),
            Action::Pin => self.pinned = super::turned(self.pinned, state),
            action if Intent::of(action) == Some(Intent::CopyLine) => {
                let text = self.document(state).command.lines().rev().nth(self.back).map(|line| line.text.clone());
                return copy(state, text);
            }
            _ => {}
        }
        Vec::new()
    }

    fn commands(&self, _state: &State) -> &'static [Scope] {
        &[Scope::Pane(KIND), Scope::Output]
    }

    fn shown(&self, state: &State) -> Shown {
        let stream = |line: &CommandLine| if line.is_error { "stderr" } else { "stdout" };
        let lines = self.document(state).command.lines();
        Shown::Table(Rows {
            columns: vec!["stream", "text"],
            rows: lines.map(|line| vec![stream(line).into(), line.text.as_str().into()]).collect(),
        })
    }

    fn hit(&self, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        let count = self.document(ctx.state).command.lines().len();
        let row = usize::from(at.y.checked_sub(area.y + 1)?);
        let number = self.first(count, rows(area)) + row;
        (row < rows(area) && number < count).then_some(Pick::Row { table: 0, row: number })
    }

    fn script(&self) -> Option<ScriptId> {
        self.pinned
    }
}
