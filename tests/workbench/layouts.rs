//! The panes as the user arranges them: by keys and by mouse, on every size of screen, and as files.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use probescope::tui::base::action::{Action, App, Mouse, Side, Window};
use probescope::tui::base::kind::Kind;
use probescope::tui::base::tree::Axis;
use probescope::tui::data::effect::{Effect, Message};
use probescope::tui::demo::scenes;
use probescope::tui::desk::draw::draw;
use probescope::tui::desk::layout;
use probescope::tui::desk::layout::file;
use probescope::tui::desk::state::State;
use probescope::tui::desk::{keys, update};
use probescope::tui::panes::{editor, events, maps, probes};
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

fn workbench(size: (u16, u16)) -> State {
    let mut state = scenes().into_iter().find(|s| s.name == "workbench").unwrap().state;
    update::receive(&mut state, Message::Resize(size.0, size.1));
    state
}

fn press(state: &mut State, code: KeyCode, modifiers: KeyModifiers) -> Vec<Effect> {
    let action = keys::action(state, KeyEvent::new(code, modifiers));
    action.map_or_else(Vec::new, |action| update::act(state, &action))
}

fn typed(state: &mut State, text: &str) -> Vec<Effect> {
    text.chars().flat_map(|c| press(state, KeyCode::Char(c), KeyModifiers::NONE)).collect()
}

/// Alt-W, then these characters.
fn window(state: &mut State, text: &str) -> Vec<Effect> {
    press(state, KeyCode::Char('w'), KeyModifiers::ALT);
    typed(state, text)
}

fn enter(state: &mut State) -> Vec<Effect> {
    press(state, KeyCode::Enter, KeyModifiers::NONE)
}

fn rows(state: &State) -> Vec<String> {
    let mut buffer = Buffer::empty(Rect::new(0, 0, state.size.0, state.size.1));
    draw(state, &mut buffer);
    let row = |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..buffer.area.height).map(|y| row(y).trim_end().to_owned()).collect()
}

fn held(state: &State) -> usize {
    state.panes.view::<events::EventsPane>().unwrap().log.held(&state.store)
}

fn focus(state: &State) -> Kind {
    state.panes.kind(state.panes.focus()).unwrap()
}

/// Kinds and areas of the panes on the screen.
fn shown(state: &State) -> Vec<(&'static str, Rect)> {
    let placed = layout::of(state).panes.placed;
    placed.into_iter().map(|p| (state.panes.kind(p.shown).unwrap().0, p.area)).collect()
}

fn area(state: &State, kind: Kind) -> Rect {
    layout::of(state).panes.area(state.panes.of_kind(kind).unwrap()).unwrap()
}

fn mouse(state: &mut State, mouse: Mouse, at: (u16, u16)) -> Vec<Effect> {
    update::act(state, &Action::Mouse(mouse, at))
}

fn drag(state: &mut State, from: (u16, u16), to: (u16, u16)) -> Vec<Effect> {
    mouse(state, Mouse::Press, from);
    mouse(state, Mouse::Drag, to);
    mouse(state, Mouse::Release, to)
}

#[test]
fn a_frame_is_split_by_keys_and_the_change_taken_back() {
    let mut state = workbench((138, 42));
    state.focus_on(events::KIND);
    let before = shown(&state);
    window(&mut state, "v");
    assert!(rows(&state).iter().any(|r| r.contains("New pane")));
    typed(&mut state, "j");
    let effects = enter(&mut state);
    assert!(matches!(&effects[..], [Effect::KeepLayout(text)] if text.contains("axis = \"across\"")), "{effects:?}");
    assert_eq!(focus(&state), maps::KIND);
    let now = shown(&state);
    assert_eq!(now.len(), before.len() + 1, "{now:?}");
    assert_eq!(now.iter().filter(|(kind, _)| *kind == "maps").count(), 2);
    window(&mut state, "u");
    assert_eq!(shown(&state), before);
    window(&mut state, "u");
    assert_eq!(shown(&state), now, "and made again");
}

#[test]
fn a_closed_pane_gives_its_room_to_others_and_comes_back() {
    let mut state = workbench((138, 42));
    state.focus_on(probes::KIND);
    window(&mut state, "c");
    assert!(shown(&state).iter().all(|(kind, _)| *kind != "probes"), "{:?}", shown(&state));
    press(&mut state, KeyCode::Char('4'), KeyModifiers::ALT);
    assert_eq!(focus(&state), probes::KIND, "its key opens it again");
    state.focus_on(editor::KIND);
    window(&mut state, "c");
    assert!(shown(&state).iter().any(|(kind, _)| *kind == "script"), "the script stays");
}

#[test]
fn keys_move_borders_and_panes() {
    let mut state = workbench((138, 42));
    state.focus_on(editor::KIND);
    let before = area(&state, editor::KIND).width;
    window(&mut state, ">>>");
    assert_eq!(area(&state, editor::KIND).width, before + 6, "the keys stay listed for the next press");
    press(&mut state, KeyCode::Esc, KeyModifiers::NONE);
    assert!(state.layers.is_empty());
    state.focus_on(maps::KIND);
    window(&mut state, "H");
    press(&mut state, KeyCode::Esc, KeyModifiers::NONE);
    assert!(area(&state, maps::KIND).x <= area(&state, editor::KIND).right(), "{:?}", shown(&state));
    assert!(area(&state, maps::KIND).right() <= area(&state, events::KIND).x, "{:?}", shown(&state));
    press(&mut state, KeyCode::Char('l'), KeyModifiers::ALT);
    assert_ne!(focus(&state), maps::KIND, "Alt-L goes to the right");
    press(&mut state, KeyCode::Char('h'), KeyModifiers::ALT);
    assert_eq!(focus(&state), maps::KIND);
    window(&mut state, "D");
    assert_eq!(area(&state, editor::KIND).x, 0);
}

#[test]
fn the_mouse_moves_borders_and_panes() {
    let mut state = workbench((138, 42));
    let script = area(&state, editor::KIND);
    let effects = drag(&mut state, (script.right() - 1, 9), (script.right() + 9, 9));
    assert!(matches!(&effects[..], [Effect::KeepLayout(_)]), "{effects:?}");
    assert_eq!(area(&state, editor::KIND).width, script.width + 10);
    let (events_at, maps_at) = (area(&state, events::KIND), area(&state, maps::KIND));
    drag(&mut state, (maps_at.x + 20, maps_at.y), (maps_at.x + 20, maps_at.y - 3));
    assert_eq!(area(&state, events::KIND).height, events_at.height - 3);
    // The title of one pane dropped into the middle of another makes it a tab there.
    let (probes_at, maps_at) = (area(&state, probes::KIND), area(&state, maps::KIND));
    let middle = (maps_at.x + maps_at.width / 2, maps_at.y + maps_at.height / 2);
    drag(&mut state, (probes_at.x + 3, probes_at.y), middle);
    let placed = layout::of(&state).panes;
    let frame = placed.at(Position::new(middle.0, middle.1)).unwrap();
    assert_eq!((frame.tabs.len(), focus(&state)), (2, probes::KIND));
    assert!(rows(&state).iter().any(|r| r.contains(" Maps 3  Probes 2 ")), "{:#?}", rows(&state));
    // A click on the title of what has the keys zooms it.
    let frame = area(&state, probes::KIND);
    let at = (frame.x + 12, frame.y);
    drag(&mut state, at, at);
    assert!(state.panes.is_zoomed());
}

#[test]
fn a_zoom_stays_with_its_pane() {
    let mut state = workbench((138, 42));
    state.focus_on(maps::KIND);
    typed(&mut state, "z");
    press(&mut state, KeyCode::Char('o'), KeyModifiers::CONTROL);
    typed(&mut state, "hello");
    enter(&mut state);
    assert!(state.panes.is_zoomed() && focus(&state) == maps::KIND, "who zoomed the maps looks at the maps");
    press(&mut state, KeyCode::Esc, KeyModifiers::NONE);
    assert!(focus(&state) == editor::KIND && !state.panes.is_zoomed() && shown(&state).len() > 1);
    state.focus_on(maps::KIND);
    assert!(state.panes.is_zoomed(), "it is as it was left");
}

#[test]
fn what_cannot_be_undone_is_asked_about() {
    let mut state = workbench((138, 42));
    state.focus_on(maps::KIND);
    assert!(typed(&mut state, "c").is_empty());
    assert!(rows(&state).iter().any(|r| r.contains("Empty @opens in the kernel?")), "{:#?}", rows(&state));
    assert!(enter(&mut state).is_empty(), "Enter is no answer");
    let effects = typed(&mut state, "y");
    assert!(matches!(&effects[..], [Effect::ClearMap(_, name)] if &**name == "@opens"), "{effects:?}");
    state.focus_on(events::KIND);
    let lines = held(&state);
    typed(&mut state, "cn");
    assert_eq!(held(&state), lines);
    typed(&mut state, "cy");
    assert_eq!(held(&state), 0);
}

#[test]
fn a_layout_is_saved_and_restored_as_it_was() {
    let mut state = workbench((138, 42));
    state.focus_on(events::KIND);
    window(&mut state, "s");
    enter(&mut state);
    window(&mut state, "+");
    press(&mut state, KeyCode::Esc, KeyModifiers::NONE);
    window(&mut state, "W");
    let effects = typed(&mut state, "../x");
    assert!(effects.is_empty() && enter(&mut state).is_empty(), "no name of a file elsewhere");
    press(&mut state, KeyCode::Char('u'), KeyModifiers::CONTROL);
    typed(&mut state, "mine");
    let effects = enter(&mut state);
    let [Effect::KeepLayout(_), Effect::SaveLayout { name, text }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(name, "mine");
    let wanted = shown(&state);
    window(&mut state, "D");
    assert_ne!(shown(&state), wanted);
    update::receive(&mut state, Message::Layout { name: name.clone(), text: Ok(text.clone()) });
    assert_eq!(shown(&state), wanted, "{text}");
    // In another workbench.
    let mut other = workbench((138, 42));
    file::restore(&mut other, &file::parse(text).unwrap());
    other.focus_on(events::KIND);
    state.focus_on(events::KIND);
    assert_eq!(shown(&other), shown(&state));
    assert_eq!(file::text(&other), *text);
}

#[test]
fn a_layout_that_cannot_be_used_says_why_and_changes_nothing() {
    let head = "version = 1\n[layout]\n";
    let deep = format!("{head}{}", (0..30).map(|_| "axis = \"down\"\n[[layout.parts]]\n").collect::<String>());
    for (text, why) in [
        ("", "missing field"),
        ("version = 1\nlayout = 3", "line 2"),
        ("version = 7\n[layout]\ntabs = [\"script\"]", "version is 7"),
        (&format!("{head}tabs = [\"script\", \"flamegraph\"]"), "no pane `flamegraph`; there are script, events"),
        (&format!("{head}tabs = [\"maps\"]"), "no pane shows the script"),
        (&format!("{head}axis = \"down\""), "at least two parts"),
        (&format!("{head}tabs = [{}]", "\"maps\",".repeat(99)), "more than 64 panes"),
        (&deep, ""),
        ("\u{0}\u{1b}[2J", "line 1"),
    ] {
        let mut state = workbench((138, 42));
        let before = shown(&state);
        update::receive(&mut state, Message::Layout { name: "mine".into(), text: Ok(text.to_owned()) });
        let told = state.toast.clone().unwrap().text;
        assert!(told.contains("can't be used") && told.contains(why), "{text}: {told}");
        assert_eq!(shown(&state), before);
    }
}

#[test]
fn small_screens_have_tabs_where_there_is_no_room() {
    let state = workbench((80, 24));
    assert_eq!(shown(&state).len(), 2, "the script above the rest");
    let all = rows(&state);
    assert!(all.iter().any(|r| r.contains(" Events 1.5k  Maps 3  Probes 2 ")), "{all:#?}");
    let mut state = workbench((40, 12));
    assert_eq!(shown(&state).len(), 1);
    assert!(rows(&state)[1].contains(" Script  Events  Maps  Probes "), "{:#?}", rows(&state));
    let (x, y) = (area(&state, editor::KIND).x + 20, area(&state, editor::KIND).y);
    mouse(&mut state, Mouse::Press, (x, y));
    assert_eq!(focus(&state), maps::KIND, "a tab can be clicked");
}

#[derive(Clone, Debug)]
enum Step {
    Window(Window),
    Open(Axis, usize),
    Focus(usize),
    Drag((u16, u16), (u16, u16)),
    Resize(u16, u16),
    Default,
}

fn side() -> impl Strategy<Value = Side> {
    prop::sample::select(vec![Side::Left, Side::Right, Side::Above, Side::Below])
}

fn step() -> impl Strategy<Value = Step> {
    let at = || (0_u16..520, 0_u16..210);
    prop_oneof![
        2 => side().prop_map(|s| Step::Window(Window::Move(s))),
        2 => side().prop_map(|s| Step::Window(Window::Resize(s))),
        1 => side().prop_map(|s| Step::Window(Window::Go(s))),
        1 => prop::sample::select(vec![Window::Close, Window::Join, Window::Even, Window::Undo, Window::NextTab]).prop_map(Step::Window),
        3 => (prop::bool::ANY, 0_usize..3).prop_map(|(down, n)| Step::Open(if down { Axis::Down } else { Axis::Across }, n)),
        2 => (0_usize..8).prop_map(Step::Focus),
        2 => (at(), at()).prop_map(|(a, b)| Step::Drag(a, b)),
        3 => (1_u16..=500, 1_u16..=200).prop_map(|(w, h)| Step::Resize(w, h)),
        1 => Just(Step::Default),
    ]
}

fn apply(state: &mut State, step: &Step) {
    match step {
        Step::Window(window) => {
            update::act(state, &Action::App(App::Window(*window)));
        }
        Step::Open(axis, nth) => {
            update::act(state, &Action::App(App::Window(Window::Split(*axis))));
            typed(state, &"j".repeat(*nth));
            enter(state);
        }
        Step::Focus(nth) => {
            let panes = state.panes.tree.panes();
            state.panes.focus_on(panes[nth % panes.len()]);
        }
        Step::Drag(from, to) => {
            let fit = |(x, y): (u16, u16)| (x % state.size.0, y % state.size.1);
            let (from, to) = (fit(*from), fit(*to));
            drag(state, from, to);
        }
        Step::Resize(width, height) => {
            update::receive(state, Message::Resize(*width, *height));
        }
        Step::Default => {
            update::act(state, &Action::App(App::Window(Window::Default)));
        }
    }
    state.layers.clear();
}

/// Every cell of the body belongs to one frame, and every pane of the tree to one frame at most.
fn check(state: &State) -> Result<(), TestCaseError> {
    let layout = layout::of(state);
    if state.size.0 < layout::LEAST.0 || state.size.1 < layout::LEAST.1 {
        return Ok(());
    }
    let body = layout.body;
    let mut owners = vec![0_u8; usize::from(body.width) * usize::from(body.height)];
    for placed in &layout.panes.placed {
        prop_assert_eq!(placed.area.intersection(body), placed.area, "inside of the body");
        prop_assert!(!placed.area.is_empty() && placed.tabs.contains(&placed.shown));
        for y in placed.area.top()..placed.area.bottom() {
            for x in placed.area.left()..placed.area.right() {
                owners[usize::from(y - body.y) * usize::from(body.width) + usize::from(x - body.x)] += 1;
            }
        }
    }
    prop_assert!(owners.iter().all(|n| *n == 1), "{:?} in {body:?}", shown(state));
    let mut panes: Vec<_> = layout.panes.placed.iter().flat_map(|p| p.tabs.clone()).collect();
    panes.sort_unstable();
    prop_assert!(panes.windows(2).all(|w| w[0] != w[1]), "no pane is in two frames");
    prop_assert!(panes.contains(&state.panes.focus()), "what has the keys can be reached");
    prop_assert!(layout.panes.area(state.panes.focus()).is_some(), "and is shown");
    for border in &layout.panes.borders {
        let touched = layout.panes.placed.iter().filter(|p| p.area.intersects(border.area)).count();
        prop_assert!(touched >= 2, "{border:?} lies between frames");
    }
    // A border drawn around each frame: its corners are where its area says.
    let mut buffer = Buffer::empty(Rect::new(0, 0, state.size.0, state.size.1));
    draw(state, &mut buffer);
    for placed in layout.panes.placed.iter().filter(|p| p.area.width > 1 && p.area.height > 1) {
        let Rect { x, y, .. } = placed.area;
        let (right, bottom) = (placed.area.right() - 1, placed.area.bottom() - 1);
        let corners = [(x, y), (right, y), (x, bottom), (right, bottom)].map(|at| buffer[at].symbol().to_owned());
        prop_assert_eq!(corners.concat(), "╭╮╰╯");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_arrangement_covers_every_screen(
        size in (1_u16..=500, 1_u16..=200),
        steps in prop::collection::vec(step(), 0..24),
    ) {
        let mut state = workbench(size);
        check(&state)?;
        for step in &steps {
            apply(&mut state, step);
            check(&state)?;
        }
        let text = file::text(&state);
        file::restore(&mut state, &file::parse(&text).unwrap());
        check(&state)?;
        prop_assert_eq!(file::text(&state), text);
    }
}
