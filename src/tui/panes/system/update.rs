//! What keys do among the BPF programs and maps.

use super::keys::Intent;
use super::rows::{columns, count, rows};
use super::{SystemPane, View};
use crate::model::bpf::{BpfMap, BpfProgram, Holder};
use crate::tui::base::action::{Action, Pick, Picked, Table};
use crate::tui::base::text::{grouped, short_ns};
use crate::tui::data::Data;
use crate::tui::data::effect::Effect;
use crate::tui::data::inspect::Inspect;
use crate::tui::layers::reader::Reader;
use crate::tui::pane::{Seen, Turn};
use crate::tui::widgets::rows::{by, copy, page};
use ratatui::layout::Rect;

/// What is loaded is read while a pane is shown; once nobody looks any more the statistics are off again.
pub(super) fn follow(turn: &mut Turn<&mut Data>, seen: Seen) {
    if seen.is_shown && !turn.loaded.is_watched {
        turn.loaded.is_watched = true;
        turn.out(Effect::Inspect(Inspect::Watch));
    } else if !seen.is_shown && turn.loaded.is_watched {
        turn.loaded.forget();
        turn.out(Effect::Inspect(Inspect::Rest));
    }
}

/// Applies an intent.
pub fn act(pane: &mut SystemPane, action: &Action, turn: &mut Turn<&Data>, area: Rect) {
    match action {
        Action::Go(go) => {
            let by = by(*go, page(area) as isize);
            pane.selected = pane.selected.saturating_add_signed(by).min(count(pane, turn).saturating_sub(1));
        }
        Action::Pick(Pick::Row { row, .. }, picked) => {
            let again = *picked == Picked::Again && pane.selected == *row;
            pane.selected = *row;
            if again {
                accept(pane, turn);
            }
        }
        Action::Pick(Pick::Heading { column, .. }, _) => sort(pane, *column),
        Action::Table(Table::Sort) => sort(pane, (pane.sort[pane.order()] + 1) % columns(pane.view).len()),
        Action::Table(Table::Reverse) => pane.descending[pane.order()] ^= true,
        Action::Accept => accept(pane, turn),
        _ => {
            if let Some(intent) = Intent::of(action) {
                own(pane, turn, intent);
            }
        }
    }
}

fn own(pane: &mut SystemPane, turn: &mut Turn<&Data>, intent: Intent) {
    match intent {
        Intent::Programs => show(pane, View::Programs),
        Intent::Maps => show(pane, View::Maps),
        Intent::Back => back(pane),
        Intent::About => about(pane, turn),
        Intent::Copy => {
            let row = rows(pane, turn.data()).into_iter().nth(pane.selected);
            copy(turn, row.map(|row| row.cells.join("\t")));
        }
    }
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
fn accept(pane: &mut SystemPane, turn: &mut Turn<&Data>) {
    let Some(row) = rows(pane, turn.data()).into_iter().nth(pane.selected) else { return };
    let (view, question) = match pane.view {
        View::Programs => (View::Code(row.id), Inspect::Code(row.id)),
        View::Maps => (View::Entries(row.id), Inspect::Map(row.id)),
        View::Entries(_) => {
            entry(pane, turn);
            return;
        }
        View::Code(_) => return,
    };
    pane.came_from = Some((pane.view, pane.selected));
    (pane.view, pane.selected) = (view, 0);
    turn.out(Effect::Inspect(question));
}

/// An entry of a map, member by member.
fn entry(pane: &SystemPane, turn: &mut Turn<&Data>) {
    let Some((_, Ok(contents))) = &turn.data().loaded.contents else { return };
    let Some(entry) = contents.entries.get(pane.selected) else { return };
    let mut lines = vec![format!("key  {}", contents.key_text(entry)), String::new()];
    lines.extend(contents.value_lines(entry));
    turn.open(Reader { title: format!("Entry of map {}", contents.id), lines, top: 0, wrap: false });
}

/// Everything known of the object under the cursor.
fn about(pane: &SystemPane, turn: &mut Turn<&Data>) {
    let Some(now) = turn.loaded.now.clone() else { return };
    let under = rows(pane, turn.data()).get(pane.selected).map(|row| row.id);
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
    turn.open(Reader { title, lines, top: 0, wrap: true });
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
