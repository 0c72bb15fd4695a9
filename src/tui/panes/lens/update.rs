//! Intents in the lens, and what opens it.

use std::sync::Arc;

use super::keys::Intent;
use super::{Lens, Source};
use crate::lang::diagnostic::Severity;
use crate::model::value::Value;
use crate::probe::lens::Arguments;
use crate::tui::action::{Action, Edit, Go};
use crate::tui::effect::Effect;
use crate::tui::panes::editor;
use crate::tui::state::{Layer, State};

/// Asks for the members of the arguments of the probe that is chosen in the browser.
pub fn of_browser(state: &mut State) -> Vec<Effect> {
    let Some(Layer::Browser(browser)) = state.layers.last() else { return Vec::new() };
    browser.hit().map_or_else(Vec::new, |hit| vec![Effect::Lens(Arc::clone(&hit.name))])
}

/// Asks for those of the probe in whose clause the cursor is.
pub fn of_script(state: &mut State) -> Vec<Effect> {
    if !state.document.language().extensions().contains(&"bt") {
        state.tell(Severity::Info, "The struct lens knows scripts in bpftrace's language only");
        return Vec::new();
    }
    let text = state.document.editor.text();
    let before = text.get(..state.document.editor.offset() as usize).unwrap_or(&text);
    if let Some(probe) = clause_of(before) {
        return vec![Effect::Lens(probe.into())];
    }
    state.tell(Severity::Info, "Put the cursor between the braces of a clause: its probe's arguments are opened");
    Vec::new()
}

/// The first probe of the clause that is open at the end of a script's text.
fn clause_of(text: &str) -> Option<String> {
    let mut open = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '{' => open.push(at),
            '}' => drop(open.pop()),
            _ => {}
        }
    }
    let head = text.get(..*open.first()?)?;
    let head = head.rsplit('}').next()?;
    let line = head.lines().map(str::trim).find(|line| line.contains(':') && !line.starts_with("//"))?;
    let point = line.split([',', ' ']).find(|word| word.contains(':'))?;
    Some(point.to_owned())
}

/// Opens the lens on what was asked for.
pub fn opened(state: &mut State, probe: Arc<str>, arguments: Result<Arguments, String>) {
    let Arguments { roots, plain } = match arguments {
        Ok(arguments) => arguments,
        Err(why) => return state.tell(Severity::Warning, why),
    };
    let text = state.document.editor.text();
    let before = text.get(..state.document.editor.offset() as usize).unwrap_or("");
    let in_clause = clause_of(before).is_some_and(|own| own == *probe);
    let title = format!("Members: {probe}");
    state.layers.push(Layer::Lens(Box::new(Lens::new(title, Source::Types { roots, plain, probe, in_clause }))));
}

/// Opens a captured struct, beside the one that was marked.
pub fn captured(state: &mut State, title: String, now: Value) {
    let before = state.marked_struct.clone().filter(|before| *before != now);
    state.layers.push(Layer::Lens(Box::new(Lens::new(title, Source::Values { now, before }))));
}

/// Applies an intent.
pub fn act(state: &mut State, action: &Action) -> Vec<Effect> {
    let page = usize::from(state.size.1).saturating_sub(10).max(1);
    let Some(Layer::Lens(lens)) = state.layers.last_mut() else { return Vec::new() };
    let last = lens.rows.len().saturating_sub(1);
    match action {
        Action::Edit(edit) if lens.input.edit(edit) => lens.list(),
        Action::Go(Go::Up) => lens.selected = lens.selected.saturating_sub(1),
        Action::Go(Go::Down) => lens.selected = (lens.selected + 1).min(last),
        Action::Go(Go::PageUp) => lens.selected = lens.selected.saturating_sub(page),
        Action::Go(Go::PageDown) => lens.selected = (lens.selected + page).min(last),
        Action::Go(Go::Right) => lens.turn(true),
        Action::Go(Go::Left) => lens.turn(false),
        Action::Go(go) => {
            lens.input.go(*go);
        }
        Action::Accept => return accept(state),
        action if Intent::of(action) == Some(Intent::Differences) => differences(state),
        _ => {}
    }
    Vec::new()
}

fn differences(state: &mut State) {
    let Some(Layer::Lens(lens)) = state.layers.last_mut() else { return };
    if lens.compares() {
        lens.only_differences = !lens.only_differences;
        lens.list();
    } else {
        state.tell(Severity::Info, "Mark another captured struct in the events with M: this one is compared to it");
    }
}

/// A path goes into the script; a captured member opens.
fn accept(state: &mut State) -> Vec<Effect> {
    let Some(Layer::Lens(lens)) = state.layers.last_mut() else { return Vec::new() };
    let Some(row) = lens.rows.get(lens.selected) else { return Vec::new() };
    let Source::Types { probe, in_clause, .. } = &lens.source else {
        let open = row.opens != Some(true);
        lens.turn(open);
        return Vec::new();
    };
    let (path, probe, in_clause) = (row.key.clone(), Arc::clone(probe), *in_clause);
    state.layers.retain(|layer| !matches!(layer, Layer::Lens(_) | Layer::Browser(_)));
    state.focus_on(editor::KIND);
    if in_clause {
        state.document.editor.edit(&Edit::Paste(path));
    } else {
        state.document.editor.insert_clause(&format!("{probe}\n{{\n    print({path});\n}}\n"));
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::clause_of;

    #[test]
    fn the_clause_at_the_cursor_names_its_probe() {
        let text = "// a: b\nbegin { @x = 1; }\n\nfentry:vfs_read, kprobe:vfs_write\n/pid > 1/\n{\n  if (pid) { print(";
        assert_eq!(clause_of(text).as_deref(), Some("fentry:vfs_read"));
        assert_eq!(clause_of("tracepoint:sched:sched_switch { @ = 1; }\n"), None);
        assert_eq!(clause_of("begin {"), None);
        assert_eq!(clause_of(""), None);
    }
}
