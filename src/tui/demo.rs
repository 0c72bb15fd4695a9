//! Moments of tracing as pictures: what the session told on a real kernel was recorded
//! (`tests/tools/record-demo.rs`) and is replayed here, with no terminal and no kernel; the same bytes on
//! every run.

use std::sync::{Arc, OnceLock};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde::{Deserialize, Serialize};

use super::panes::{events, maps, probes};
use crate::session::update::Update;
use crate::tui::base::action::{Action, App, Edit, Events, Go};
use crate::tui::base::svg;
use crate::tui::base::theme::Theme;
use crate::tui::data::document::File;
use crate::tui::data::effect::{Detail, Effect, Found, Message};
use crate::tui::desk::draw::draw;
use crate::tui::desk::state::State;
use crate::tui::desk::update;
use crate::tui::layers::browser::Browser;

mod arranged;
mod graphs;
mod loaded;
mod measured;
pub mod told;

use told::Told;

const OPENAT: &str = include_str!("demo/openat.bt");
const STACKS: &str = include_str!("demo/stacks.bt");
const BURST: &str = include_str!("demo/burst.bt");
const REFUSED: &str = include_str!("demo/refused.bt");
const WRONG: &str = include_str!("demo/wrong.bt");
/// What was recorded, packed: see [`unpacked`].
const RECORDING: &[u8] = include_bytes!("demo/recording.jsonl.lz4");

/// Columns and rows of the usual picture.
const SIZE: (u16, u16) = (138, 42);

/// One line of the recording.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recorded {
    /// The script's name, or what was searched.
    pub session: Arc<str>,
    /// What the session told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Told>,
    /// What the probe browser was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browsed: Option<Browsed>,
}

/// A search and what was told of some of its hits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Browsed {
    /// The hits.
    pub found: Found,
    /// The first hit, then one that the kernel can't attach.
    pub details: Vec<Detail>,
}

/// Everything recorded, in order; a line that can't be read is left out, which a test rules out.
fn recording() -> &'static [Recorded] {
    static RECORDS: OnceLock<Vec<Recorded>> = OnceLock::new();
    RECORDS.get_or_init(|| unpacked(RECORDING).lines().filter_map(|l| serde_json::from_str(l).ok()).collect())
}

/// Packs a recording's text, an object of JSON a line ([`Recorded`]): a block of LZ4 behind its size as text.
#[must_use]
pub fn packed(text: &str) -> Vec<u8> {
    lz4_flex::compress_prepend_size(text.as_bytes())
}

/// The text of a packed recording; empty where it is none.
#[must_use]
pub fn unpacked(bytes: &[u8]) -> String {
    lz4_flex::decompress_size_prepended(bytes).ok().and_then(|text| String::from_utf8(text).ok()).unwrap_or_default()
}

/// What one session told.
fn told(session: &str) -> impl Iterator<Item = &'static Told> {
    recording().iter().filter(move |r| &*r.session == session).filter_map(|r| r.update.as_ref())
}

/// One picture.
#[derive(Debug)]
pub struct Scene {
    /// File name without its ending.
    pub name: String,
    /// What is to be seen, for people who can't.
    pub title: String,
    /// The moment.
    pub state: State,
}

impl Scene {
    fn new(name: &str, title: &str, state: State) -> Self {
        Self { name: name.to_owned(), title: title.to_owned(), state }
    }

    /// The screen.
    #[must_use]
    pub fn buffer(&self) -> Buffer {
        let (width, height) = self.state.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        draw(&self.state, &mut buffer);
        buffer
    }

    /// The picture.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::render(&self.buffer(), &self.state.theme, &self.title)
    }
}

/// All pictures.
#[must_use]
pub fn scenes() -> Vec<Scene> {
    let mut scenes = vec![
        Scene::new("start", "probescope: an empty script", start()),
        Scene::new("workbench", "probescope: a running trace", running()),
        Scene::new("browser", "probescope: the probe browser", browsing("openat")),
        Scene::new("histogram", "probescope: maps and a histogram, zoomed", histogram()),
        Scene::new("stacks", "probescope: stacks in a map, one open", stacks()),
        Scene::new("flame", "probescope: stacks as a flame graph", graphs::flame(stacks())),
        Scene::new("flame-search", "probescope: a flame graph searched, light", graphs::searched(stacks())),
        Scene::new("heat", "probescope: a histogram over time", graphs::heat(histogram(), "@latency_ns")),
        Scene::new("heat-lines", "probescope: a map's keys over time, as lines", graphs::lines(histogram())),
        Scene::new("programs", "probescope: BPF programs of the system", loaded::programs()),
        Scene::new("bpf-maps", "probescope: BPF maps of the system", loaded::maps()),
        Scene::new("filter", "probescope: filtered events while the views are paused", filtered()),
        Scene::new("errors", "probescope: errors where they are, while the last good trace goes on", errors()),
        Scene::new("losses", "probescope: what was lost, where and why", losses()),
        Scene::new("absent", "probescope: probes that this kernel does not offer", absent()),
        Scene::new("verifier", "probescope: what the kernel's verifier said", verifier()),
        Scene::new("help", "probescope: all keys", after(running(), &[Action::App(App::Help)])),
        Scene::new("palette", "probescope: commands by name", palette()),
        Scene::new("quit", "probescope: leaving with unsaved text", quitting()),
        Scene::new("small", "probescope on 80x24", sized(running(), (80, 24))),
        Scene::new(
            "tiny",
            "probescope on 60x15",
            sized(after(running(), &[Action::App(App::Focus(maps::KIND))]), (60, 15)),
        ),
        Scene::new("smallest", "probescope on 20x5", sized(running(), (20, 5))),
        Scene::new("tabs-40x12", "probescope on 40x12", sized(running(), (40, 12))),
        Scene::new("split", "probescope: panes as the user arranged them", arranged::split(running())),
        Scene::new("arranging", "probescope: the keys that arrange panes", arranged::keys(running())),
        Scene::new("scripts", "probescope: two scripts, each with a trace", arranged::scripts(running())),
    ];
    scenes.extend(measured::scenes());
    for theme in Theme::embedded() {
        let mut state = running();
        let title = format!("probescope: theme {}", theme.name);
        let name = format!("theme-{}", theme.name);
        state.data.theme = theme;
        scenes.push(Scene::new(&name, &title, state));
    }
    scenes
}

fn workbench(text: &str, name: &str) -> State {
    let file = File { path: Some(name.into()), saved: text.into(), ..File::default() };
    let mut state = State::new(text, file, Theme::embedded(), SIZE);
    state.document.kept = text.into();
    state
}

fn after(mut state: State, actions: &[Action]) -> State {
    for action in actions {
        update::act(&mut state, action);
    }
    state
}

fn sized(mut state: State, (width, height): (u16, u16)) -> State {
    update::receive(&mut state, Message::Resize(width, height));
    state
}

fn tell(state: &mut State, update: Update) {
    update::receive(state, Message::Session(update));
}

fn typed(text: &str) -> Vec<Action> {
    text.chars().map(|c| Action::Edit(Edit::Insert(c))).collect()
}

fn start() -> State {
    State::new("", File::default(), Theme::embedded(), SIZE)
}

/// Saves the script and lets its session tell what it told when it was recorded.
fn replay(state: &mut State, session: &str) {
    update::act(state, &Action::App(App::Run));
    let trace = state.document.submitted_as;
    for update in told(session).flat_map(|told| told.updates(trace)) {
        tell(state, update);
    }
}

fn recorded(text: &str, session: &str) -> State {
    let mut state = workbench(text, &format!("{session}.bt"));
    replay(&mut state, session);
    state
}

fn running() -> State {
    let mut state = recorded(OPENAT, "openat");
    select_map(&mut state, "@opens");
    after(state, &[Action::Go(Go::Down), Action::Go(Go::Down), Action::Go(Go::Down)])
}

fn select_map(state: &mut State, name: &str) {
    state.document.maps.selected =
        state.document.maps.views.iter().position(|v| &*v.snapshot.name == name).unwrap_or(0);
}

/// Opens the browser, types, and answers what is asked.
fn browsing(query: &str) -> State {
    let mut actions = vec![Action::App(App::Browse)];
    actions.extend(typed(query));
    let mut state = after(running(), &actions);
    let generation = state.search;
    let Some(browsed) = recording().iter().filter(|r| &*r.session == query).find_map(|r| r.browsed.as_ref()) else {
        return state;
    };
    let asked = update::receive(&mut state, Message::Found(Found { generation, ..browsed.found.clone() }));
    describe(&mut state, &asked, &browsed.details);
    state
}

fn describe(state: &mut State, asked: &[Effect], known: &[Detail]) {
    for effect in asked {
        if let Effect::Describe(name) = effect
            && let Some(detail) = known.iter().find(|d| d.name == *name)
        {
            update::receive(state, Message::Described(detail.clone()));
        }
    }
}

/// A probe that this kernel can't attach is chosen all the same.
fn absent() -> State {
    let mut state = browsing("openat");
    let details: Vec<Detail> = recording().iter().filter_map(|r| r.browsed.clone()).flat_map(|b| b.details).collect();
    let to = |state: &State| {
        state.layer::<Browser>().is_none_or(|browser| browser.hit().is_some_and(|hit| hit.absent.is_some()))
    };
    for _ in 0..details.len().max(40) {
        if to(&state) {
            break;
        }
        let asked = update::act(&mut state, &Action::Go(Go::Down));
        describe(&mut state, &asked, &details);
    }
    after(state, &[Action::Accept])
}

fn histogram() -> State {
    let mut state = running();
    select_map(&mut state, "@latency_ns");
    after(state, &[Action::App(App::Focus(maps::KIND)), Action::App(App::Zoom)])
}

fn stacks() -> State {
    let mut state = recorded(STACKS, "stacks");
    select_map(&mut state, "@sleeps");
    after(state, &[Action::App(App::Focus(maps::KIND)), Action::Go(Go::Down), Action::Accept])
}

fn filtered() -> State {
    let mut state = running();
    update::act(&mut state, &Action::App(App::Focus(events::KIND)));
    update::act(&mut state, &Action::App(App::Pause));
    update::act(&mut state, &Action::Events(Events::Filter));
    after(state, &typed("python3 -cache json"))
}

fn errors() -> State {
    let mut state = running();
    update::act(&mut state, &Action::Edit(Edit::SelectAll));
    update::act(&mut state, &Action::Edit(Edit::Paste(WRONG.to_owned())));
    replay(&mut state, "wrong");
    state.document.editor.go(Go::Top, false, 1);
    for _ in 0..4 {
        state.document.editor.go(Go::Down, false, 1);
    }
    state
}

fn losses() -> State {
    let state = recorded(BURST, "burst");
    after(state, &[Action::App(App::Focus(probes::KIND))])
}

fn verifier() -> State {
    let state = recorded(REFUSED, "refused");
    after(state, &[Action::App(App::VerifierLog), Action::Go(Go::Bottom)])
}

fn palette() -> State {
    let mut actions = vec![Action::App(App::Palette)];
    actions.extend(typed("trace"));
    after(running(), &actions)
}

fn quitting() -> State {
    let mut state = after(running(), &typed("x"));
    update::act(&mut state, &Action::App(App::Quit));
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_recording_is_read() {
        let text = unpacked(RECORDING);
        assert_eq!(recording().len(), text.lines().count());
        assert_eq!(unpacked(&packed(&text)), text);
        for session in ["openat", "stacks", "burst", "refused", "wrong"] {
            assert!(told(session).next().is_some(), "{session}");
        }
    }

    #[test]
    fn pictures_are_the_same_every_time() {
        for (one, two) in scenes().iter().zip(scenes()) {
            assert_eq!(one.svg(), two.svg(), "{}", one.name);
        }
    }
}
