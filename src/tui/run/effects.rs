//! What the state wants done outside, done.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::outside::Outside;
use super::{Ending, Workbench};
use crate::lang::source::SourceText;
use crate::session::SessionHandle;
use crate::session::update::ScriptId;
use crate::tui::data::document::Document;
use crate::tui::data::effect::{Effect, Marked, Message};
use crate::tui::data::files;
use crate::tui::data::job::{self, Job};
use crate::tui::desk::state::State;
use crate::tui::desk::update;
use crate::tui::run::finder::Question;
use crate::tui::run::recording::Recording;
use crate::tui::run::recovery;

impl Workbench {
    pub(super) fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Submit { script, trace, text, name } => {
                if let Some(session) = &self.session {
                    give(session, &self.state, script);
                    session.submit(script, trace, SourceText::new(&name, &text));
                }
            }
            Effect::Rerun(asked) => {
                if let Err(reason) = self.reruns.begin(*asked) {
                    self.answer(Message::Notice(reason));
                }
            }
            Effect::StopRerun => self.reruns.stop(),
            Effect::Check { script, revision, text, name } => {
                if let Some(session) = &self.session {
                    give(session, &self.state, script);
                    session.check(script, revision, SourceText::new(&name, &text));
                }
            }
            Effect::Stop(trace) => {
                if let Some(session) = &self.session {
                    session.stop(trace);
                }
            }
            Effect::Measure { trace, options } => {
                if let Some(session) = &self.session {
                    session.measure(trace, *options);
                }
            }
            Effect::Watch { trace, thread } => {
                if let Some(session) = &self.session {
                    session.watch(trace, thread);
                }
            }
            Effect::SetThresholds(trace, thresholds) => {
                if let Some(session) = &self.session {
                    session.set_thresholds(trace, thresholds);
                }
            }
            Effect::SetBudget(traces, budget) => {
                if let Some(session) = &self.session {
                    session.set_budget(&traces, budget);
                }
            }
            Effect::Limit { script, traces, budget } => {
                if let Some(session) = &self.session {
                    session.limit(script, &traces, budget);
                }
            }
            Effect::ClearMap(trace, name) => {
                if let Some(session) = &self.session {
                    session.clear_map(trace, &name);
                }
            }
            Effect::StartRecording(recorded) => {
                let (recording, message) = Recording::start(*recorded);
                self.recording = recording;
                self.take(message);
            }
            Effect::EndRecording => self.end_recording(),
            Effect::Record(Marked(chunk)) => {
                if let Some(recording) = &self.recording {
                    recording.add(&chunk);
                }
            }
            Effect::Search { query, generation } => {
                let _ = self.questions.send(Question::Search(query, generation));
            }
            Effect::Describe(name) => {
                let _ = self.questions.send(Question::Describe(name));
            }
            Effect::Remember { what, path, text } => {
                if let Err(e) = files::remember(&path, &text) {
                    self.answer(Message::Notice(format!("{what} not remembered: {}: {e}", path.display())));
                }
            }
            Effect::Xray(pattern) => {
                let _ = self.questions.send(Question::Xray(pattern));
            }
            Effect::Lens(probe) => {
                let _ = self.questions.send(Question::Lens(probe));
            }
            Effect::Inspect(question) => {
                if let Err(e) = self.inspector.ask(question) {
                    self.answer(Message::Notice(format!("What is loaded can't be read: no thread: {e}")));
                }
            }
            Effect::Complete { text, name, offset, generation } => {
                let source = SourceText::new(&name, &text);
                let _ = self.questions.send(Question::Complete(source, offset, generation));
            }
            Effect::Hint { text, name, offset } => {
                let _ = self.questions.send(Question::Hint(SourceText::new(&name, &text), offset));
            }
            Effect::Save { path, text, fresh, over } => {
                let path = if fresh { files::free_name(path, &text) } else { path };
                let message = if over.is_some_and(|expected| files::in_the_way(&path, &expected, &text)) {
                    Message::InTheWay { path }
                } else {
                    let error = files::save(&path, &text, fresh).err();
                    let error = error.map(|e| format!("cannot save: {e}: {}", path.display()));
                    Message::Saved { path, text, error }
                };
                let effects = update::receive(&mut self.state, message);
                self.changed(effects);
            }
            Effect::KeepLayout(_) | Effect::SaveLayout { .. } | Effect::ListLayouts | Effect::ReadLayout(_) => {
                self.layout(effect);
            }
            Effect::Keep { path, text, because } => {
                let kept = self.keep(path.as_deref(), &text);
                self.answer(Message::Kept { because, kept });
            }
            Effect::CompletePath(typed) => {
                let (completed, names) = files::complete(&typed, self.state.home.as_deref());
                self.answer(Message::PathCompleted { typed, completed, names });
            }
            Effect::Open { path, number } => {
                let read = recovery::open(path, number, self.recovery.as_ref().ok());
                self.answer(Message::Opened(read));
            }
            Effect::Discard(path) => {
                if let Some(path) = path {
                    let _ = std::fs::remove_file(path);
                }
            }
            Effect::Reread(path) => {
                // One that is gone, or no text, is no news.
                if let Some((text, _)) = files::read(&path).ok().filter(|_| path.is_file()) {
                    self.answer(Message::Reread { path, text: text.into() });
                }
            }
            Effect::EditOutside { text, name } => {
                let name = Path::new(&*name).file_name().map_or_else(|| "untitled.bt".into(), |n| n.to_string_lossy());
                self.outside = Some(Outside { text: text.to_string(), name: name.into_owned() });
            }
            Effect::Export(job) => self.export(job),
            Effect::Copy(text) => {
                let _ = self.screen.copy(&text);
            }
            Effect::Redraw => {
                let _ = self.screen.forget();
            }
            Effect::TakeMouse(mouse) => {
                let _ = self.screen.take_mouse(mouse);
            }
            Effect::Quit => {
                self.keep_all();
                self.ending = Some(Ending::Left);
            }
        }
    }

    /// Writes a file, and tells what became of it.
    fn export(&mut self, job: Arc<Job>) {
        self.exports.retain(|export| !export.is_finished());
        let sender = self.sender.clone();
        match job::start(job, move |message| drop(sender.blocking_send(message))) {
            Ok(export) => self.exports.push(export),
            Err(e) => self.answer(Message::Notice(format!("Not written: {e}"))),
        }
    }

    /// Reads and writes layouts.
    fn layout(&mut self, effect: Effect) {
        let Some(folders) = &mut self.layouts else {
            return self.answer(Message::Notice("There is no folder for layouts: HOME is not set".into()));
        };
        let message = match effect {
            Effect::KeepLayout(text) => match folders.keep(&text) {
                Ok(()) => return,
                Err(e) => Message::Notice(format!("The layout is not kept: {}: {e}", folders.last.display())),
            },
            Effect::SaveLayout { name, text } => Message::Notice(match folders.save(&name, &text) {
                Ok(path) => format!("The layout is saved: {}", path.display()),
                Err(e) => format!("The layout {name} is not saved in {}: {e}", folders.named.display()),
            }),
            Effect::ReadLayout(name) => {
                let text = folders.read(&name).map_err(|e| e.to_string());
                Message::Layout { name, text }
            }
            _ => Message::Layouts(folders.names()),
        };
        self.answer(message);
    }

    /// Keeps the text of every script that is not saved, which is told at the end.
    pub(super) fn keep_all(&mut self) {
        let keep = |document: &Document| {
            let name = document.name();
            match self.keep(document.file.recovery.as_deref(), &document.editor.shared()) {
                Ok(_) => format!("the unsaved text of {name} is kept: the workbench offers it at its next start"),
                Err(why) => format!("the unsaved text of {name} is lost: {why}"),
            }
        };
        self.farewell = self.state.documents().filter(|d| d.is_unsaved()).map(keep).collect();
    }

    /// Keeps unsaved text; tells where, or why not.
    fn keep(&self, path: Option<&Path>, text: &str) -> Result<PathBuf, String> {
        if let Err(why) = &self.recovery {
            return Err(why.clone());
        }
        let path = path.ok_or("there is no file for it")?;
        recovery::keep(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path.to_owned())
    }
}

/// The session compiles a script with what it is given now.
fn give(session: &SessionHandle, state: &State, script: ScriptId) {
    if let Some(document) = state.document(script) {
        session.give(script, document.given.clone());
    }
}
