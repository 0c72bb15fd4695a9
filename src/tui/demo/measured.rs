//! Pictures of the latency pane: a meter's recording, made on a real kernel beside a busy loop.

use std::fs::File;
use std::io::Write as _;

use rustix::fs::MemfdFlags;

use super::super::panes::latency;
use super::super::panes::latency::keys::Intent;
use super::{Scene, after, sized, start};
use crate::store::History as _;
use crate::store::file::Recording;
use crate::tui::base::action::{Action, App, Go};
use crate::tui::desk::replay;
use crate::tui::desk::replay::Opened;
use crate::tui::desk::state::State;
use crate::tui::desk::update::time;

/// `probescope latency timerlat -P o:0 -T 1000 -d 8s --on-threshold continue --record`, a busy loop on CPU 0 from the
/// fourth second on.
const RECORDING: &[u8] = include_bytes!("latency.psrec");

fn recording() -> Option<Recording> {
    let mut file = File::from(rustix::fs::memfd_create("recording", MemfdFlags::CLOEXEC).ok()?);
    file.write_all(RECORDING).ok()?;
    Recording::read(file, "latency").ok()
}

/// The pane alone, at the end of the recording.
fn opened(size: (u16, u16)) -> State {
    let mut state = sized(start(), size);
    if let Some(recording) = recording() {
        replay::open(
            &mut state,
            Opened { recording: recording.into(), damage: String::new(), about: None, play: false },
        );
    }
    let mut state = after(state, &[Action::App(App::Focus(latency::KIND)), Action::App(App::Zoom)]);
    if let Some(last) = state.store.entries().end.checked_sub(1) {
        time::hold(&mut state, last);
    }
    after(state, &[])
}

fn keys(state: State, intents: &[Intent]) -> State {
    after(state, &intents.iter().map(|intent| intent.action()).collect::<Vec<_>>())
}

/// All of them.
pub fn scenes() -> Vec<Scene> {
    let (usual, small, tiny) = ((138, 42), (80, 24), (60, 15));
    let episode = |size| after(keys(opened(size), &[Intent::Episodes]), &[Action::Accept]);
    let sources = |size| {
        let state = keys(opened(size), &[Intent::Sources, Intent::All]);
        after(state, &[Action::Go(Go::Down), Action::Accept])
    };
    vec![
        Scene::new("latency", "probescope: how late timers and threads are", opened(usual)),
        Scene::new(
            "latency-heat",
            "probescope: latency of each CPU by time",
            keys(opened(small), &[Intent::Heat, Intent::Narrower]),
        ),
        Scene::new(
            "latency-time",
            "probescope: latency by time",
            keys(opened(small), &[Intent::LengthsOverTime, Intent::Narrower]),
        ),
        Scene::new(
            "latency-histograms",
            "probescope: latencies over one another",
            keys(opened(small), &[Intent::Histograms]),
        ),
        Scene::new("latency-sources", "probescope: what took the time", sources(small)),
        Scene::new("latency-episodes", "probescope: the worst latencies", keys(opened(small), &[Intent::Episodes])),
        Scene::new("latency-episode", "probescope: a latency taken apart", episode(usual)),
        Scene::new("latency-tiny", "probescope: latency on 60x15", opened(tiny)),
        Scene::new("latency-episode-tiny", "probescope: a latency taken apart on 60x15", episode(tiny)),
    ]
}
