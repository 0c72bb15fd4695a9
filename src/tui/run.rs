//! The loop: input, signals, messages and frames; and the effects carried out.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossterm::event::{Event, EventStream};
use futures_util::StreamExt as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::draw::draw;
use super::effect::{Effect, Message};
use super::finder::{Finder, Question};
use super::screen::Screen;
use super::state::State;
use super::{finder, keys, mouse, update};
use crate::session::SessionHandle;
use crate::session::update::Update;

/// Least time between two frames of what streams in.
const FRAME: Duration = Duration::from_millis(16);
/// Least time between two frames when the last thing was a key, or the answer to one.
const QUICK: Duration = Duration::from_millis(3);
/// Unsaved text is kept safe, and checked, this long after the last change.
const QUIET: Duration = Duration::from_millis(300);
/// Messages that may wait for the screen.
const WAITING: usize = 64;
/// Messages taken in before the next look at the keyboard.
const BATCH: usize = 256;

/// What the workbench works with.
pub struct Services {
    /// Runs scripts; absent where that is impossible.
    pub session: Option<(SessionHandle, Receiver<Update>)>,
    /// Searches probes.
    pub finder: Box<dyn Finder>,
    /// Where unsaved text is kept.
    pub recovery: Option<PathBuf>,
    /// The script as it is now, for the panic hook.
    pub latest: Arc<Mutex<Arc<str>>>,
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Services").field("recovery", &self.recovery).finish_non_exhaustive()
    }
}

/// Why the workbench ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The user left.
    Left,
    /// A signal ended it: its number.
    Signal(i32),
}

/// Opens the workbench on the process's terminal and returns when it is left, the terminal restored
/// and everything detached.
pub fn run(state: State, services: Services) -> io::Result<Ending> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let (ending, session) = runtime.block_on(Workbench::open(state, services)?.serve())?;
    drop(session);
    Ok(ending)
}

struct Workbench {
    state: State,
    screen: Screen,
    session: Option<SessionHandle>,
    messages: mpsc::Receiver<Message>,
    questions: Sender<Question>,
    recovery: Option<PathBuf>,
    latest: Arc<Mutex<Arc<str>>>,
    dirty: bool,
    /// The next frame answers the user.
    quick: bool,
    last_frame: Instant,
    /// When unsaved text is kept.
    tick: Option<Instant>,
    ending: Option<Ending>,
}

impl Workbench {
    fn open(mut state: State, services: Services) -> io::Result<Self> {
        let (sender, messages) = mpsc::channel(WAITING);
        let session = match services.session {
            Some((handle, updates)) => {
                forward(updates, sender.clone())?;
                Some(handle)
            }
            None => None,
        };
        let questions = finder::spawn(services.finder, move |message| sender.blocking_send(message).is_ok())?;
        state.size = crossterm::terminal::size()?;
        let screen = Screen::enter(state.size, state.mouse)?;
        let now = Instant::now();
        Ok(Self {
            state,
            screen,
            session,
            messages,
            questions,
            recovery: services.recovery,
            latest: services.latest,
            dirty: true,
            quick: true,
            last_frame: now.checked_sub(FRAME).unwrap_or(now),
            tick: None,
            ending: None,
        })
    }

    async fn serve(mut self) -> io::Result<(Ending, Option<SessionHandle>)> {
        let mut input = EventStream::new();
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        self.frame()?;
        while self.ending.is_none() {
            let frame = self.last_frame + if self.quick { QUICK } else { FRAME };
            let tick = self.tick;
            tokio::select! {
                biased;
                _ = terminate.recv() => self.end_by(15),
                _ = hangup.recv() => self.end_by(1),
                _ = interrupt.recv() => self.end_by(2),
                event = input.next() => match event {
                    Some(event) => self.input(event?),
                    None => self.end_by(1),
                },
                () = tokio::time::sleep_until(frame), if self.dirty => self.frame()?,
                () = tokio::time::sleep_until(tick.unwrap_or(frame)), if tick.is_some() => self.tick(),
                Some(message) = self.messages.recv() => self.take(message),
            }
        }
        // The terminal is given back now; detaching may take a moment more.
        Ok((self.ending.unwrap_or(Ending::Left), self.session.take()))
    }

    /// A signal asks to end: unsaved text is kept.
    fn end_by(&mut self, number: i32) {
        if self.state.dirty() {
            self.keep(&self.state.editor.shared());
        }
        self.ending = Some(Ending::Signal(number));
    }

    fn frame(&mut self) -> io::Result<()> {
        let state = &self.state;
        self.screen.paint(|buffer| draw(state, buffer))?;
        self.last_frame = Instant::now();
        self.dirty = false;
        self.quick = false;
        Ok(())
    }

    fn input(&mut self, event: Event) {
        self.quick = true;
        let effects = match event {
            Event::Key(key) => match keys::action(&self.state, key) {
                Some(action) => update::act(&mut self.state, &action),
                None => return,
            },
            Event::Paste(text) => update::paste(&mut self.state, text),
            Event::Mouse(event) => match mouse::action(event) {
                Some(action) => update::act(&mut self.state, &action),
                None => return,
            },
            Event::Resize(width, height) => {
                let _ = self.screen.resize((width, height));
                update::receive(&mut self.state, Message::Resize(width, height))
            }
            _ => return,
        };
        self.changed(effects);
        if update::wants_tick(&self.state) {
            *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = self.state.editor.shared();
            self.tick = Some(Instant::now() + QUIET);
        }
    }

    fn take(&mut self, message: Message) {
        self.quick |= answers(&message);
        let effects = update::receive(&mut self.state, message);
        self.changed(effects);
        for _ in 0..BATCH {
            let Ok(message) = self.messages.try_recv() else { break };
            self.quick |= answers(&message);
            let effects = update::receive(&mut self.state, message);
            self.changed(effects);
        }
    }

    fn tick(&mut self) {
        self.tick = None;
        let effects = update::receive(&mut self.state, Message::Tick);
        self.changed(effects);
    }

    fn changed(&mut self, effects: Vec<Effect>) {
        self.dirty = true;
        for effect in effects {
            self.carry_out(effect);
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Submit { text, generation, .. } => {
                if let Some(session) = &self.session {
                    session.submit(text, generation);
                }
            }
            Effect::Check { text, generation } => {
                if let Some(session) = &self.session {
                    session.check(text, generation);
                }
            }
            Effect::Stop => {
                if let Some(session) = &self.session {
                    session.stop();
                }
            }
            Effect::ClearMap(name) => {
                if let Some(session) = &self.session {
                    session.clear_map(&name);
                }
            }
            Effect::Search { query, generation } => {
                let _ = self.questions.send(Question::Search(query, generation));
            }
            Effect::Describe(name) => {
                let _ = self.questions.send(Question::Describe(name));
            }
            Effect::Complete { text, offset, generation } => {
                let _ = self.questions.send(Question::Complete(text, offset, generation));
            }
            Effect::Hint { text, offset } => {
                let _ = self.questions.send(Question::Hint(text, offset));
            }
            Effect::Save { path, text, fresh } => {
                let path = if fresh { free_name(path, &text) } else { path };
                let error = save(&path, &text, fresh).err().map(|e| format!("cannot save: {e}: {}", path.display()));
                let effects = update::receive(&mut self.state, Message::Saved { path, text, error });
                self.changed(effects);
            }
            Effect::Keep { text } => self.keep(&text),
            Effect::Discard => {
                if let Some(path) = &self.recovery {
                    let _ = std::fs::remove_file(path);
                }
            }
            Effect::Copy(text) => {
                let _ = self.screen.copy(&text);
            }
            Effect::Redraw => {
                let _ = self.screen.forget();
            }
            Effect::TakeMouse(mouse) => {
                let _ = self.screen.take_mouse(mouse);
            }
            Effect::Quit => self.ending = Some(Ending::Left),
        }
    }

    fn keep(&self, text: &str) {
        if let Some(path) = &self.recovery {
            let _ = keep(path, text);
        }
    }
}

/// True for what the user waits for.
const fn answers(message: &Message) -> bool {
    matches!(
        message,
        Message::Found(_)
            | Message::Described(_)
            | Message::Completed { .. }
            | Message::Session(Update::Compiled { .. } | Update::Attached { .. } | Update::Failed { .. })
    )
}

/// Writes unsaved text where it will be found again; readable by its owner only.
pub fn keep(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// Writes a script; the folder of scripts without a name is made when it is missing.
fn save(path: &Path, text: &str, fresh: bool) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|_| fresh) {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text.as_bytes())
}

/// `path`, or `NAME-2.bt` and so on where other text is in the way: an earlier script is not lost.
fn free_name(path: PathBuf, text: &str) -> PathBuf {
    let free = |p: &PathBuf| match std::fs::read(p) {
        Ok(there) => there == text.as_bytes() || there.trim_ascii().is_empty(),
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    };
    let stem = path.file_stem().map_or_else(|| "untitled".into(), |s| s.to_string_lossy().into_owned());
    let numbered = (2..1000).map(|n| path.with_file_name(format!("{stem}-{n}.bt")));
    std::iter::once(path.clone()).chain(numbered).find(free).unwrap_or(path)
}

/// Hands the session's updates on; ends with either side.
fn forward(updates: Receiver<Update>, messages: mpsc::Sender<Message>) -> io::Result<()> {
    let work = move || {
        for update in updates {
            if messages.blocking_send(Message::Session(update)).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("updates".to_owned()).spawn(work).map(drop)
}
