//! The states that the text was in, to choose from.

use crate::lang::diagnostic::Severity;
use crate::tui::base::action::Edit;
use crate::tui::base::text::fit;
use crate::tui::data::Data;
use crate::tui::data::text::Stage;
use crate::tui::layers::chooser::{Choice, Chooser, Taken};
use crate::tui::pane::Turn;
use crate::tui::pane::ask::Change;

/// States that are listed, the newest ones.
const MOST_LISTED: usize = 1000;
/// Characters of a change that are shown.
const SHOWN: usize = 60;

/// Lists the states, the newest first, with the one of now selected.
pub fn open(turn: &mut Turn<&mut Data>) {
    let stages = turn.document.editor.stages();
    if stages.len() == 1 {
        turn.tell(Severity::Info, "The script is as it was opened: there is nothing to undo");
        return;
    }
    let listed: Vec<&Stage> = stages.iter().rev().take(MOST_LISTED).collect();
    let selected = listed.iter().position(|stage| stage.is_now).unwrap_or(0);
    let choices = listed.into_iter().map(choice).collect();
    turn.open(Chooser { selected, ..Chooser::new("States of the text", choices) });
}

fn choice(stage: &Stage) -> Choice {
    let mark = match (stage.is_now, stage.is_past) {
        (true, _) => "now",
        (_, true) => "",
        _ => "undone",
    };
    let branch = stage.from.filter(|from| from + 1 != stage.number).map_or_else(String::new, |n| format!("from {n}: "));
    let part = |sign: &str, text: &str| match text.trim() {
        "" if text.is_empty() => String::new(),
        "" => format!("{sign} blanks  "),
        text => format!("{sign} {}  ", fit(&text.split_whitespace().collect::<Vec<_>>().join(" "), SHOWN).trim_end()),
    };
    let change = if stage.from.is_some() {
        format!("{branch}{}{}", part("+", &stage.put), part("-", &stage.taken))
    } else {
        "as it was opened".to_owned()
    };
    Choice {
        title: format!("{:>5} {mark}", stage.number),
        about: change.trim_end().to_owned(),
        taken: Taken::Change(Change::Stage(stage.number)),
    }
}

/// Goes to the chosen state.
pub fn take(turn: &mut Turn<&mut Data>, number: usize) {
    if turn.document.editor.go_to_stage(number) {
        super::completing::typed(turn, &Edit::Undo);
    }
}
