//! Scripts on the recording that is shown: "what if".

use std::sync::Arc;

use super::super::replay;
use super::super::state::State;
use super::{session, time};
use crate::lang::diagnostic::Severity;
use crate::session::rerun::{Answered, Asked, Reran};
use crate::session::update::{TraceId, Update};
use crate::store::{Cursor, History as _, Store};
use crate::tui::data::effect::Effect;
use crate::tui::pane::News;

/// A script that is as it was recorded shows the recording itself; another one is run on what was recorded.
pub fn ask(state: &mut State) -> Vec<Effect> {
    let Some(replayed) = &state.replayed else { return Vec::new() };
    let recording = Arc::clone(&replayed.recording);
    let own =
        replayed.scripts.iter().find(|(script, _)| *script == state.document.id).map(|(_, info)| Arc::clone(info));
    let text = state.document.editor.shared();
    if let Some(own) = own.as_ref().filter(|own| own.script == text) {
        if state.document.trace.id != own.id {
            restore(state);
        }
        return vec![Effect::StopRerun];
    }
    state.newest = TraceId(state.newest.0 + 1);
    let trace = state.newest;
    // What this script said so far gives way.
    let replaced = own.iter().map(|own| own.id).chain(state.document.traces.iter().copied()).collect();
    let document = &mut state.document;
    document.submitted_as = trace;
    document.submitted = Arc::clone(&text);
    document.traces.push(trace);
    let shown = state.store.takes_entries().then(|| {
        let chunks = state.store.chunks().map(Arc::clone).collect();
        (state.store.traces().to_vec(), chunks)
    });
    let name = state.name().into();
    state.mention(Severity::Info, "Running on the recording");
    vec![Effect::Rerun(Box::new(Asked { trace, name, text, recording, shown, replaced }))]
}

/// Shows the recording as it was opened; the texts stay.
fn restore(state: &mut State) {
    let Some(replayed) = &state.replayed else { return };
    let (recording, scripts) = (Arc::clone(&replayed.recording), replayed.scripts.clone());
    for (script, info) in scripts {
        if let Some(document) = state.documents_mut().find(|document| document.id == script) {
            document.submitted = Arc::clone(&info.script);
            replay::shows(document, &info);
        }
    }
    show(state, Store::of_recording(recording));
    state.tell(Severity::Info, "The recording as it was recorded");
}

/// Takes in what a script made of the recording.
pub fn answered(state: &mut State, answered: Answered) {
    let Answered { trace, diagnostics, result } = answered;
    let Some(script) = state.documents().find(|document| document.submitted_as == trace).map(|document| document.id)
    else {
        return;
    };
    state.with(script, |state| {
        session::receive(state, Update::Compiled { trace, diagnostics, figures: None });
        if let Some(result) = result {
            take(state, result);
        }
    });
}

fn take(state: &mut State, Reran { info, traces, chunks, firings }: Reran) {
    replay::shows(&mut state.document, &info);
    let mut store = Store::new(state.store.budget());
    traces.into_iter().for_each(|info| store.declare(info));
    chunks.into_iter().for_each(|chunk| store.append(chunk));
    show(state, store);
    state.mention(Severity::Info, format!("Run on {firings} recorded firings"));
}

/// Shows another history at the moment that was shown, or at its end where nothing had been said by then.
fn show(state: &mut State, store: Store) {
    let at_ns = state.moment.at_ns;
    state.moment.playing = false;
    for document in state.documents_mut() {
        if store.maps_at(document.trace.id, u64::MAX).is_none() {
            document.maps.show(&Arc::from([]));
        }
    }
    state.store = store;
    state.hear(News::Appended(state.store.lines().start));
    let trace = state.document.trace.id;
    let said = state.store.maps_at(trace, at_ns).is_some();
    let moment = state.store.last_at(at_ns).filter(|_| said);
    let last = || state.store.entry_at(Cursor::Live);
    if let Some(entry) = moment.or_else(last) {
        time::hold(state, entry);
    }
}
