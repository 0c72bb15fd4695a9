//! What panes and layers ask for, carried out: an arm each.

use std::collections::VecDeque;
use std::path::PathBuf;

use super::{app, give, library, mouse, save, themes, time, windows};
use crate::lang::diagnostic::Severity;
use crate::session::scopes::Scope;
use crate::session::update::ScriptId;
use crate::tui::base::action::Action;
use crate::tui::data::Data;
use crate::tui::data::effect::Effect;
use crate::tui::desk::state::State;
use crate::tui::desk::{documents, export};
use crate::tui::pane::ask::{Change, Listing};
use crate::tui::pane::{Ask, Layer};
use crate::tui::panes::{editor, latency, maps};

/// Asks that one intent may lead to: what asks for itself for ever is let go.
const MOST: usize = 10_000;

/// Gives an intent to whom it is for.
pub fn dispatch(state: &mut State, action: &Action) -> Vec<Effect> {
    match action {
        Action::App(app) => {
            state.document.assist.popup = None;
            if give::to_layer(state, *app) {
                return Vec::new();
            }
            return app::act(state, *app);
        }
        Action::Mouse(mouse, at) => return mouse::point(state, *mouse, *at),
        _ if state.layers.is_empty() => give::in_pane(state, state.panes.focus(), action),
        _ => give::in_layer(state, action),
    }
    Vec::new()
}

/// Carries out all that is asked for, and what that leads to; what is to be done outside comes back.
pub fn carry_out_all(state: &mut State) -> Vec<Effect> {
    let mut effects = Vec::new();
    let mut open = VecDeque::from(std::mem::take(&mut state.asks));
    for _ in 0..MOST {
        let Some(ask) = open.pop_front() else { break };
        effects.extend(carry_out(state, ask));
        // What it leads to comes before what was asked next.
        std::mem::take(&mut state.asks).into_iter().rev().for_each(|ask| open.push_front(ask));
    }
    effects
}

fn carry_out(state: &mut State, ask: Ask) -> Vec<Effect> {
    match ask {
        Ask::Out(effect) => return vec![effect],
        Ask::Act(action) => return dispatch(state, &action),
        Ask::Take(listing) => return take(state, listing),
        Ask::Search(query, generation) => {
            state.search = state.search.max(generation);
            return vec![Effect::Search { query, generation }];
        }
        Ask::Use(probes) => {
            probes.iter().for_each(|probe| state.used.take(probe));
            return remembered(state);
        }
        Ask::Favourite(probe) => {
            let text = if state.used.turn(&probe) { "The browser begins with" } else { "No favourite any more:" };
            state.tell(Severity::Info, format!("{text} {probe}"));
            return remembered(state);
        }
        Ask::Tell(severity, text) => state.tell(severity, text),
        Ask::Mention(severity, text) => state.mention(severity, text),
        Ask::Filtered(action) => {
            if let Some(pane) = state.filtered() {
                give::in_pane(state, pane, &action);
            }
        }
        Ask::InPane(action) => give::in_pane(state, state.panes.focus(), &action),
        Ask::Show(kind) => state.focus_on(kind),
        Ask::Open(layer) => state.layers.push(layer),
        Ask::Offer(layer) => offer(&mut state.layers, layer),
        Ask::Leave => drop(state.layers.pop()),
        Ask::LeaveAll => state.layers.clear(),
        Ask::Hold(entry) => {
            time::hold(state, entry);
        }
        Ask::WorkOn(script) => {
            state.bring(script);
        }
        Ask::Choose(entry) => time::choose(state, entry),
        Ask::Script(script, change) => script_changes(state, script, change),
        Ask::Maps(script, action, page) => {
            state.with(script, |state| state.turn(|turn| maps::update::act(turn, &action, page)));
        }
        Ask::Meter(metering) => state.turn(|turn| latency::meter::carry_out(turn, metering)),
        Ask::Limit(scope) => limit(&mut state.data, scope),
        Ask::MarkStruct(value) => state.marked_struct = Some(value),
        Ask::HideOwn(hides) => state.hides_own = hides,
        Ask::Theme(name, is_taken) => themes::take(state, &name, is_taken),
    }
    Vec::new()
}

fn offer(layers: &mut Vec<Box<dyn Layer>>, layer: Box<dyn Layer>) {
    if layers.is_empty() {
        layers.push(layer);
    }
}

/// An intent in a script's text makes it the one that is worked on.
fn script_changes(state: &mut State, script: Option<ScriptId>, change: Change) {
    match script {
        Some(script) if matches!(change, Change::Text(..)) => {
            state.bring(script);
            state.turn(|turn| editor::update::change(turn, change));
        }
        Some(script) => {
            state.with(script, |state| state.turn(|turn| editor::update::change(turn, change)));
        }
        None => state.turn(|turn| editor::update::change(turn, change)),
    }
}

fn limit(data: &mut Data, scope: Option<Scope>) {
    let text = match &scope {
        Some(scope) => format!("Clauses from the browser are limited to {}", scope.name()),
        None => "Clauses from the browser are for everything that runs".to_owned(),
    };
    data.scope = scope;
    data.tell(Severity::Info, text);
}

/// Keeps what is remembered of probes.
fn remembered(state: &State) -> Vec<Effect> {
    let keep =
        |path: &PathBuf| Effect::Remember { what: "Used probes are", path: path.clone(), text: state.used.text() };
    state.used.path.as_ref().map(keep).into_iter().collect()
}

fn take(state: &mut State, listing: Listing) -> Vec<Effect> {
    match listing {
        Listing::Path(path) => return documents::open_path(state, path),
        Listing::Typed(name) => return documents::open_typed(state, &name),
        Listing::Script(name, how) => return library::ask(state, name, how),
        Listing::Export(exported) => return export::ask(state, exported),
        Listing::SaveLayout(name) => return windows::save(state, name),
        Listing::SaveAs(name) => return save::save_as(state, &name),
        Listing::Preset(script, text, pane) => library::answer_preset(state, script, text, pane),
        Listing::Moment(moment) => time::go_to(state, moment),
        Listing::Parameters(words, then) => super::given::take(state, words, then),
        Listing::Vi(line) => state.turn(|turn| editor::update::vi_command(turn, &line)),
    }
    Vec::new()
}
