//! What keys do among the BPF programs and maps.

use super::keys::Intent;
use super::rows::{columns, count, rows};
use super::{KIND, SystemPane, View};
use crate::model::bpf::{BpfMap, BpfProgram, Holder};
use crate::tui::action::{Action, Pick, Picked, Table};
use crate::tui::effect::Effect;
use crate::tui::inspector::Inspect;
use crate::tui::panes::rows::{by, copy, page};
use crate::tui::state::{Layer, Reader, State};
use crate::tui::text::{grouped, short_ns};
use ratatui::layout::Rect;

/// What is loaded is read, and the kernel counts runs.
fn open(state: &mut State) {
    if !state.loaded.is_watched {
        state.loaded.is_watched = true;
        state.wanted.push(Effect::Inspect(Inspect::Watch));
    }
}

/// What is loaded is read while a pane is shown; once nobody looks any more the statistics are off again.
pub(crate) fn follow(state: &mut State) {
    let is_shown = |id| state.panes.kind(id) == Some(KIND);
    if crate::tui::layout::of(state).panes.placed.iter().any(|p| is_shown(p.shown)) {
        open(state);
    } else if state.loaded.is_watched {
        state.loaded.forget();
        state.wanted.push(Effect::Inspect(Inspect::Rest));
    }
}

/// Applies an intent.
pub fn act(pane: &mut SystemPane, action: &Action, state: &mut State, area: Rect) -> Vec<Effect> {
    match action {
        Action::Go(go) => {
            let by = by(*go, page(area) as isize);
            pane.selected = pane.selected.saturating_add_signed(by).min(count(pane, state).saturating_sub(1));
        }
        Action::Pick(Pick::Row { row, .. }, picked) => {
            let again = *picked == Picked::Again && pane.selected == *row;
            pane.selected = *row;
            if again {
                return accept(pane, state);
            }
        }
        Action::Pick(Pick::Heading { column, .. }, _) => sort(pane, *column),
        Action::Table(Table::Sort) => sort(pane, (pane.sort[pane.order()] + 1) % columns(pane.view).len()),
        Action::Table(Table::Reverse) => pane.descending[pane.order()] ^= true,
        Action::Accept => return accept(pane, state),
        _ => {
            if let Some(intent) = Intent::of(action) {
                return own(pane, state, intent);
            }
        }
    }
    Vec::new()
}

fn own(pane: &mut SystemPane, state: &mut State, intent: Intent) -> Vec<Effect> {
    match intent {
        Intent::Programs => show(pane, View::Programs),
        Intent::Maps => show(pane, View::Maps),
        Intent::Back => back(pane),
        Intent::About => about(pane, state),
        Intent::Copy => {
            let row = rows(pane, state).into_iter().nth(pane.selected);
            return copy(state, row.map(|row| row.cells.join("\t")));
        }
    }
    Vec::new()
}

fn show(pane: &mut SystemPane, view: View) {
    if pane.view != view {
        (pane.view, pane.selected, pane.came_from) = (view, 0, None);
    }
}

fn back(pane: &mut SystemPane) {
    let home = if matches!(pane.view, View::Entries(_)) { View::Maps } else { View::Programs };
    let (view, row) = pane.came_from.take().unwrap_or((home, 0));
    (pane.view, pane.selected) = (view, row);
}

fn sort(pane: &mut SystemPane, column: usize) {
    let order = pane.order();
    if matches!(pane.view, View::Programs | View::Maps) {
        pane.descending[order] = if pane.sort[order] == column { !pane.descending[order] } else { true };
        pane.sort[order] = column;
    }
}

/// Opens what is under the cursor.
fn accept(pane: &mut SystemPane, state: &mut State) -> Vec<Effect> {
    let Some(row) = rows(pane, state).into_iter().nth(pane.selected) else { return Vec::new() };
    let (view, question) = match pane.view {
        View::Programs => (View::Code(row.id), Inspect::Code(row.id)),
        View::Maps => (View::Entries(row.id), Inspect::Map(row.id)),
        View::Entries(_) => {
            entry(pane, state);
            return Vec::new();
        }
        View::Code(_) => return Vec::new(),
    };
    pane.came_from = Some((pane.view, pane.selected));
    (pane.view, pane.selected) = (view, 0);
    vec![Effect::Inspect(question)]
}

/// An entry of a map, member by member.
fn entry(pane: &SystemPane, state: &mut State) {
    let Some((_, Ok(contents))) = &state.loaded.contents else { return };
    let Some(entry) = contents.entries.get(pane.selected) else { return };
    let mut lines = vec![format!("key  {}", contents.key_text(entry)), String::new()];
    lines.extend(contents.value_lines(entry));
    state.layers.push(Layer::Reader(Reader {
        title: format!("Entry of map {}", contents.id),
        lines,
        top: 0,
        wrap: false,
    }));
}

/// Everything known of the object under the cursor.
fn about(pane: &SystemPane, state: &mut State) {
    let Some(now) = state.loaded.now.clone() else { return };
    let under = rows(pane, state).get(pane.selected).map(|row| row.id);
    let (title, lines) = match (pane.view, under) {
        (View::Programs | View::Code(_), Some(id)) => match now.programs.iter().find(|p| p.id == id) {
            Some(program) => (format!("Program {id}"), of_program(program, &now.maps)),
            None => return,
        },
        (View::Maps | View::Entries(_), Some(id)) => match now.maps.iter().find(|m| m.id == id) {
            Some(map) => (format!("Map {id}"), of_map(map, &now.programs)),
            None => return,
        },
        _ => return,
    };
    state.layers.push(Layer::Reader(Reader { title, lines, top: 0, wrap: true }));
}

fn holders(holders: &[Holder]) -> String {
    let each = |h: &Holder| format!("{} (process {})", h.comm, h.pid);
    let all = holders.iter().map(each).collect::<Vec<_>>().join(", ");
    if all.is_empty() { "no process: it is pinned, or attached without one".to_owned() } else { all }
}

fn of_program(program: &BpfProgram, maps: &[BpfMap]) -> Vec<String> {
    let named = |id: &u32| {
        let name = maps.iter().find(|m| m.id == *id).map_or("", |m| &*m.name);
        format!("{id} {name}")
    };
    let maps: Vec<String> = program.maps.iter().map(named).collect();
    let mean = (program.run_time_ns as f64) / (program.runs.max(1) as f64);
    let mut lines = vec![
        format!("name          {}", program.name),
        format!("type          {}", program.kind),
        format!("held by       {}", holders(&program.holders)),
        format!("loaded        {} after boot, by user {}", short_ns(program.loaded_boot_ns as f64), program.uid),
        format!("runs counted  {} of {} on average", grouped(program.runs), short_ns(mean)),
        format!("skipped       {} runs inside of itself", grouped(program.recursion_misses)),
        format!("instructions  {}, {} bytes of machine code", program.instructions, program.machine_bytes),
        format!("verified      {} instructions followed", grouped(program.verified_instructions.into())),
        format!("tag           {}", program.tag),
        format!("maps          {}", maps.join(", ")),
        String::new(),
    ];
    lines.push(if program.attached.is_empty() {
        "attached to nothing that tells".into()
    } else {
        "attached to".into()
    });
    lines.extend(program.attached.iter().map(|place| format!("  {place}")));
    lines
}

fn of_map(map: &BpfMap, programs: &[BpfProgram]) -> Vec<String> {
    let users = programs.iter().filter(|p| p.maps.contains(&map.id)).map(|p| format!("{} {}", p.id, p.name));
    vec![
        format!("name      {}", map.name),
        format!("type      {}", map.kind),
        format!("held by   {}", holders(&map.holders)),
        format!("key       {} bytes  {}", map.key_bytes, map.key_type.as_deref().unwrap_or("")),
        format!("value     {} bytes  {}", map.value_bytes, map.value_type.as_deref().unwrap_or("")),
        format!("entries   {} at most", grouped(map.max_entries.into())),
        format!("memory    {} bytes", map.memory_bytes.map_or_else(|| "?".to_owned(), grouped)),
        format!("programs  {}", users.collect::<Vec<_>>().join(", ")),
    ]
}
