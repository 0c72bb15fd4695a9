//! What the command of the trace (`-c`) writes, and how it ends.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::output::export::table::Table as Rows;
use crate::session::update::{CommandLine, ScriptId};
use crate::tui::base::action::{Action, Pick};
use crate::tui::base::arrange::MinSize;
use crate::tui::base::intents::intents;
use crate::tui::base::key::{Binding, Scope, bind, ch};
use crate::tui::base::kind::{self, Kind};
use crate::tui::base::paint::{put, style_row};
use crate::tui::base::text::{fit, grouped, neutralise_line};
use crate::tui::base::theme::Slot;
use crate::tui::base::tree::Axis;
use crate::tui::data::Data;
use crate::tui::data::document::Document;
use crate::tui::pane::{Context, Pane, Registered, Shown, Turn};
use crate::tui::widgets::frame::pane_frame;
use crate::tui::widgets::rows::{by, copy, page};

/// The name of this kind.
pub const KIND: Kind = kind::COMMAND;

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
    follow: None,
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

impl CommandPane {
    fn document<'a>(&self, data: &'a Data) -> &'a Document {
        data.document_of(self.pinned)
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

    fn title(&self, data: &Data) -> String {
        crate::tui::pane::pinned_title(PANE.title, self.pinned, data)
    }

    fn count(&self, data: &Data) -> usize {
        self.document(data).command.lines().len()
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (24, 4), good: (54, 6) }
    }

    fn wanted(&self, data: &Data, axis: Axis, of: u16) -> Option<u16> {
        let lines = u16::try_from(self.count(data) + 3).unwrap_or(u16::MAX);
        (axis == Axis::Down).then(|| lines.clamp(4, (of / 3).max(4)))
    }

    fn is_filled(&self, data: &Data) -> bool {
        !self.document(data).command.is_empty()
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        let (inside, _) = pane_frame(ctx, buf, area);
        let theme = ctx.theme();
        let document = self.document(ctx.data);
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

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, area: Rect) {
        let last = self.count(turn).saturating_sub(1);
        match action {
            Action::Go(go) => {
                let by = by(*go, page(area) as isize);
                self.back = self.back.saturating_add_signed(by.saturating_neg()).min(last);
            }
            Action::Pick(Pick::Row { row, .. }, _) => self.back = last.saturating_sub(*row),
            Action::Pin => self.pinned = crate::tui::pane::turned(self.pinned, turn),
            action if Intent::of(action) == Some(Intent::CopyLine) => {
                let text = self.document(turn).command.lines().rev().nth(self.back).map(|line| line.text.clone());
                copy(turn, text);
            }
            _ => {}
        }
    }

    fn commands(&self, _data: &Data) -> &'static [Scope] {
        &[Scope::Pane(KIND), Scope::Output]
    }

    fn shown(&self, data: &Data) -> Shown {
        let stream = |line: &CommandLine| if line.is_error { "stderr" } else { "stdout" };
        let lines = self.document(data).command.lines();
        Shown::Table(Rows {
            columns: vec!["stream", "text"],
            rows: lines.map(|line| vec![stream(line).into(), line.text.as_str().into()]).collect(),
        })
    }

    fn hit(&self, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        let count = self.document(ctx.data).command.lines().len();
        let row = usize::from(at.y.checked_sub(area.y + 1)?);
        let number = self.first(count, rows(area)) + row;
        (row < rows(area) && number < count).then_some(Pick::Row { table: 0, row: number })
    }

    fn script(&self) -> Option<ScriptId> {
        self.pinned
    }
}
