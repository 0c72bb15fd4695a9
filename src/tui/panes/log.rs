//! What the workbench has said, newest last, and the file that has it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::lang::diagnostic::Severity;
use crate::output::export::table::Table as Rows;
use crate::tui::base::action::{Action, Pick};
use crate::tui::base::arrange::MinSize;
use crate::tui::base::intents::intents;
use crate::tui::base::key::{Binding, Scope, bind, ch};
use crate::tui::base::kind::Kind;
use crate::tui::base::paint::{put, style_row};
use crate::tui::base::text::{fit, neutralise_line, wrap};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::data::journal::{Said, word};
use crate::tui::pane::{Context, Pane, Registered, Shown, Turn};
use crate::tui::widgets::frame::pane_frame;
use crate::tui::widgets::rows::{by, copy, page};

/// The name of this kind.
pub const KIND: Kind = Kind("log");

intents! {
    /// What this pane alone can be asked for.
    in "log";
    /// Copies the chosen message.
    CopyMessage = "copy-message",
}

/// Its row in the registry.
pub const PANE: Registered = Registered {
    kind: KIND,
    title: "Log",
    about: "What the workbench has said, with the time; it stands in a file, too",
    by_default: false,
    commands: BINDINGS,
    make: |_| Box::new(LogPane::default()),
    follow: None,
};

static BINDINGS: &[Binding] =
    &[bind(Scope::Pane(KIND), &[ch('y')], Intent::CopyMessage.action(), "copy", "Copy the message", false)];

/// A view of the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPane {
    /// The chosen message, counted from the newest; 0 follows what comes.
    back: usize,
}

impl LogPane {
    fn chosen<'a>(&self, data: &'a Data) -> Option<&'a Said> {
        data.journal.iter().rev().nth(self.back)
    }

    /// The message in the first row, counted from the oldest.
    fn first(&self, data: &Data, rows: usize) -> usize {
        let count = data.journal.len();
        let newest = count.saturating_sub(rows);
        let chosen = count.saturating_sub(self.back + 1);
        newest.min(chosen)
    }
}

/// Rows for messages, below them those for the chosen one as a whole and for the file.
fn rows(inside: Rect) -> usize {
    usize::from(inside.height).saturating_sub(if inside.height >= 8 { 4 } else { 0 })
}

fn look(severity: Severity) -> Slot {
    match severity {
        Severity::Error => Slot::Error,
        Severity::Warning => Slot::Warning,
        Severity::Info => Slot::Text,
    }
}

fn shown(said: &Said) -> String {
    let again = if said.times > 1 { format!(" ({} times)", said.times) } else { String::new() };
    format!("{}{again}", neutralise_line(&said.text))
}

impl Pane for LogPane {
    fn kind(&self) -> Kind {
        KIND
    }

    fn title(&self, _data: &Data) -> String {
        PANE.title.to_owned()
    }

    fn count(&self, data: &Data) -> usize {
        data.journal.len()
    }

    fn min_size(&self) -> MinSize {
        MinSize { least: (24, 3), good: (60, 8) }
    }

    fn draw(&self, ctx: &Context<'_>, buf: &mut Buffer, area: Rect) {
        let (inside, _) = pane_frame(ctx, buf, area);
        let (theme, state) = (ctx.theme(), ctx.data);
        let (width, height) = (usize::from(inside.width), usize::from(inside.height));
        let rows = rows(inside);
        if state.journal.is_empty() {
            put(buf, inside, 1, 0, &fit("Nothing was said yet.", width), theme[Slot::Dim]);
        }
        let first = self.first(state, rows);
        let chosen = state.journal.len().saturating_sub(self.back + 1);
        for (y, (number, said)) in state.journal.iter().enumerate().skip(first).take(rows).enumerate() {
            let clock = said.clock();
            put(buf, inside, 1, y, &clock, theme[Slot::Dim]);
            put(buf, inside, 10, y, &fit(&shown(said), width.saturating_sub(11)), theme[look(said.severity)]);
            if number == chosen && ctx.focused {
                style_row(buf, inside, y, theme[Slot::Selected]);
            }
        }
        if rows == height {
            return;
        }
        if let Some(said) = self.chosen(state) {
            for (y, line) in wrap(&shown(said), width.saturating_sub(2)).iter().take(2).enumerate() {
                put(buf, inside, 1, rows + 1 + y, line, theme[Slot::Text]);
            }
        }
        let place = match &state.journal.file {
            Some(Ok(path)) => format!("also in {}", path.display()),
            Some(Err(why)) => format!("in no file: {why}"),
            None => String::new(),
        };
        put(buf, inside, 1, height - 1, &fit(&neutralise_line(&place), width.saturating_sub(2)), theme[Slot::Faint]);
    }

    fn act(&mut self, action: &Action, turn: &mut Turn<&Data>, area: Rect) {
        let last = turn.journal.len().saturating_sub(1);
        match action {
            Action::Go(go) => {
                let by = by(*go, page(area) as isize);
                self.back = self.back.saturating_add_signed(by.saturating_neg()).min(last);
            }
            Action::Pick(Pick::Row { row, .. }, _) => self.back = last.saturating_sub(*row),
            action if Intent::of(action) == Some(Intent::CopyMessage) => {
                let text = self.chosen(turn).map(|said| said.text.clone());
                copy(turn, text);
            }
            _ => {}
        }
    }

    fn commands(&self, _data: &Data) -> &'static [Scope] {
        &[Scope::Pane(KIND), Scope::Output]
    }

    fn shown(&self, data: &Data) -> Shown {
        let row = |said: &Said| {
            vec![said.clock().as_str().into(), word(said.severity).into(), said.text.as_str().into(), said.times.into()]
        };
        Shown::Table(Rows {
            columns: vec!["time", "severity", "message", "times"],
            rows: data.journal.iter().map(row).collect(),
        })
    }

    fn hit(&self, ctx: &Context<'_>, area: Rect, at: Position) -> Option<Pick> {
        let inside = Rect { height: area.height.saturating_sub(2), ..area };
        let row = usize::from(at.y.checked_sub(area.y + 1)?);
        let number = self.first(ctx.data, rows(inside)) + row;
        (row < rows(inside) && number < ctx.data.journal.len()).then_some(Pick::Row { table: 0, row: number })
    }
}
