//! The loop: input, signals, messages and frames; and the effects carried out.

pub mod catalogue;
mod effects;
pub mod finder;
pub mod inspector;
mod keyboard;
mod outside;
pub mod recording;
pub mod recovery;
pub mod rerun;
pub mod screen;
mod signals;
pub mod terminal;
mod watch;
mod watchdog;

use std::io;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossterm::event::Event;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::kernel::Kernel;
use crate::model::words::grouped;
use crate::session::SessionHandle;
use crate::session::update::Update;
use crate::thread::{self, Rights};
use crate::tui::base::mouse;
use crate::tui::data::effect::{Effect, Message};
use crate::tui::data::files::Latest;
use crate::tui::data::journal::LogFile;
use crate::tui::desk::draw::draw;
use crate::tui::desk::layouts::Folders;
use crate::tui::desk::state::State;
use crate::tui::desk::{keys, update};
use crate::tui::run::finder::{Finder, Question};
use crate::tui::run::inspector::{Answer, Inspector};
use crate::tui::run::keyboard::Input;
use crate::tui::run::recording::Recording;
use crate::tui::run::recovery::RecoveryFolder;
use crate::tui::run::rerun::Reruns;
use crate::tui::run::screen::Screen;
use crate::tui::run::terminal::{Terminal, painted};
use crate::tui::run::watch::Watched;
use outside::Outside;
pub use outside::UserEditor;
use signals::Signals;
use watchdog::Heard;

/// Least time between two frames of what streams in.
const FRAME: Duration = Duration::from_millis(16);
/// Least time between two frames when the last thing was a key, or the answer to one.
const QUICK: Duration = Duration::from_millis(3);
/// How long the session has to tell a recording its last.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How often a history that is played moves on.
const PLAYED: Duration = Duration::from_millis(33);
/// Unsaved text is kept safe, and checked, this long after the last change.
const QUIET: Duration = Duration::from_millis(300);
/// Messages that may wait for the screen.
const WAITING: usize = 64;
/// Messages taken in before the next look at the keyboard.
const BATCH: usize = 256;
/// How often the threads of the workbench are looked at.
const OWN_THREADS: Duration = Duration::from_secs(1);

/// What the workbench works with.
pub struct Services {
    /// Runs scripts; absent where that is impossible.
    pub session: Option<(SessionHandle, Receiver<Update>)>,
    /// The kernel whose types scripts on recordings name.
    pub kernel: Arc<Kernel>,
    /// Searches probes.
    pub finder: Box<dyn Finder>,
    /// Where unsaved text is kept, or why nowhere.
    pub recovery: Result<RecoveryFolder, String>,
    /// Where layouts are kept.
    pub layouts: Option<Folders>,
    /// Begun before the first trace.
    pub recording: Option<Recording>,
    /// Where messages are written.
    pub log: Option<LogFile>,
    /// The script as it is now, for the panic hook.
    pub latest: Arc<Mutex<Latest>>,
    /// What the terminal can show.
    pub terminal: Terminal,
    /// The user's own editor.
    pub editor: Option<UserEditor>,
    /// What SIGUSR2 does, so that tests see what a fault of the program leaves behind; debug builds only.
    pub faults: Faults,
}

/// A fault on demand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Faults {
    /// None.
    #[default]
    None,
    /// The loop panics.
    Panic,
    /// The loop never comes back.
    Busy,
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

/// How the workbench was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Why.
    pub ending: Ending,
    /// What is to be said now that the terminal is given back.
    pub farewell: Vec<String>,
}

/// Opens the workbench on the process's terminal and returns when it is left, the terminal restored
/// and everything detached.
pub fn run(state: State, services: Services) -> io::Result<Left> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let (mut left, session) = runtime.block_on(Workbench::open(state, services)?.serve())?;
    let detaching = session.map_or(0, SessionHandle::leave);
    if detaching > 0 {
        let points = grouped(detaching.into());
        left.farewell.push(format!("the kernel goes on detaching {points} probes; nothing runs at them any more"));
    }
    Ok(left)
}

struct Workbench {
    state: State,
    screen: Screen,
    session: Option<SessionHandle>,
    /// Hands on what the session tells; ends with it.
    forwarder: Option<JoinHandle<()>>,
    messages: mpsc::Receiver<Message>,
    questions: Sender<Question>,
    recovery: Result<RecoveryFolder, String>,
    layouts: Option<Folders>,
    log: Option<LogFile>,
    latest: Arc<Mutex<Latest>>,
    faults: Faults,
    dirty: bool,
    /// The next frame answers the user.
    quick: bool,
    last_frame: Instant,
    /// The history goes to a file, too.
    recording: Option<Recording>,
    /// What became of the last recording, if there was one.
    recorded: Option<String>,
    /// Files that are being written.
    exports: Vec<JoinHandle<()>>,
    sender: mpsc::Sender<Message>,
    /// Scripts are run on the recording that is shown.
    reruns: Reruns,
    inspector: Inspector,
    /// When the history was last played on.
    played: Instant,
    /// What is said once the terminal is given back.
    farewell: Vec<String>,
    /// When unsaved text is kept.
    tick: Option<Instant>,
    ending: Option<Ending>,
    /// When our own threads were last looked at.
    looked_at_own: Option<Instant>,
    /// The files of the open scripts.
    watched: Watched,
    /// The user's own editor.
    editor: Option<UserEditor>,
    /// The script goes to it.
    outside: Option<Outside>,
    /// Ends the process when the loop does not.
    watchdog: Heard,
}

impl Workbench {
    fn open(mut state: State, services: Services) -> io::Result<Self> {
        // What the kernel can do is found out once, by what this thread may: those behind it may less.
        let _ = services.kernel.features();
        let (sender, messages) = mpsc::channel(WAITING);
        let mut forwarder = None;
        let session = match services.session {
            Some((handle, updates)) => {
                forwarder = Some(forward(updates, sender.clone())?);
                Some(handle)
            }
            None => None,
        };
        let reruns = Reruns::new(Arc::clone(&services.kernel), sender.clone());
        let answers = sender.clone();
        let answer: Answer = Arc::new(move |message| answers.blocking_send(message).is_ok());
        let inspector = Inspector::new(services.kernel, answer);
        let found = sender.clone();
        let questions = finder::spawn(services.finder, move |message| found.blocking_send(message).is_ok())?;
        // From here on it shows, and others trace; what libraries start has no more rights than this thread.
        Rights::Interface.keep();
        let touched = sender.clone();
        let mut watched = Watched::new(move |path| drop(touched.blocking_send(Message::Touched(path))));
        watched.follow(state.documents());
        state.size = painted(crossterm::terminal::size()?);
        let watchdog = watchdog::start(Arc::clone(&services.latest))?;
        let screen = Screen::enter(state.size, state.mouse, services.terminal)?;
        let now = Instant::now();
        Ok(Self {
            state,
            screen,
            session,
            forwarder,
            messages,
            questions,
            recovery: services.recovery,
            farewell: Vec::new(),
            layouts: services.layouts,
            log: services.log,
            latest: services.latest,
            faults: if cfg!(debug_assertions) { services.faults } else { Faults::None },
            dirty: true,
            quick: true,
            last_frame: now.checked_sub(FRAME).unwrap_or(now),
            recording: services.recording,
            recorded: None,
            exports: Vec::new(),
            sender,
            reruns,
            inspector,
            played: now,
            tick: None,
            ending: None,
            looked_at_own: None,
            watched,
            editor: services.editor,
            outside: None,
            watchdog,
        })
    }

    async fn serve(mut self) -> io::Result<(Left, Option<SessionHandle>)> {
        let served = self.work().await;
        if served.is_err() {
            self.keep_all();
        }
        served?;
        if self.recording.is_some() {
            self.record_the_rest().await;
        }
        self.end_recording();
        self.messages.close();
        self.exports.drain(..).for_each(|export| drop(export.join()));
        // The terminal is given back now; detaching may take a moment more.
        self.farewell.extend(self.recorded.take());
        let left = Left { ending: self.ending.unwrap_or(Ending::Left), farewell: std::mem::take(&mut self.farewell) };
        Ok((left, self.session.take()))
    }

    async fn work(&mut self) -> io::Result<()> {
        let mut input = Input::new();
        let mut signals = Signals::new(self.faults != Faults::None)?;
        self.frame()?;
        while self.ending.is_none() {
            if let Some(outside) = self.outside.take() {
                input = self.edit_outside(outside, input, &mut signals).await?;
            }
            let frame = self.last_frame + if self.quick { QUICK } else { FRAME };
            let tick = self.tick;
            tokio::select! {
                biased;
                number = signals.next() => self.signalled(number)?,
                event = input.next() => match event {
                    Some(event) => self.input(event?),
                    None => self.end_by(libc::SIGHUP),
                },
                () = tokio::time::sleep_until(frame), if self.dirty => self.frame()?,
                () = tokio::time::sleep_until(tick.unwrap_or(frame)), if tick.is_some() => self.tick(),
                Some(message) = self.messages.recv() => self.take(message),
                () = tokio::time::sleep_until(self.played + PLAYED), if self.state.moment.playing => self.play(),
                () = std::future::ready(()), if update::is_busy(&self.state) => self.take(Message::GoOn),
            }
        }
        Ok(())
    }

    fn signalled(&mut self, number: i32) -> io::Result<()> {
        match number {
            libc::SIGTSTP => {
                screen::restore();
                // As the default action would do; the shell that continues it gets SIGCONT told of.
                let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
            }
            // Whatever stopped it, another program may have had the terminal since.
            libc::SIGCONT => {
                self.screen.enter_again(self.state.mouse)?;
                self.dirty = true;
            }
            #[cfg(debug_assertions)]
            libc::SIGUSR2 if self.faults == Faults::Busy => loop {
                std::hint::spin_loop();
            },
            #[cfg(debug_assertions)]
            libc::SIGUSR2 => panic!("on purpose, to see what becomes of the terminal"),
            number => self.end_by(number),
        }
        Ok(())
    }

    /// A signal asks to end: unsaved text is kept.
    fn end_by(&mut self, number: i32) {
        self.watchdog.tell();
        self.keep_all();
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
                let (width, height) = painted((width, height));
                let _ = self.screen.resize((width, height));
                update::receive(&mut self.state, Message::Resize(width, height))
            }
            _ => return,
        };
        self.changed(effects);
        if update::wants_tick(&self.state) {
            let document = &self.state.document;
            let latest = Latest { path: document.file.recovery.clone(), text: document.editor.shared() };
            *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = latest;
            self.tick = Some(Instant::now() + QUIET);
        }
    }

    /// Learns of new threads from time to time.
    fn look_at_own(&mut self) {
        if self.looked_at_own.is_none_or(|at| at.elapsed() > OWN_THREADS) {
            self.looked_at_own = Some(Instant::now());
            self.state.own.look();
        }
    }

    fn take(&mut self, message: Message) {
        self.look_at_own();
        self.quick |= answers(&message);
        self.record(&message);
        let effects = update::receive(&mut self.state, message);
        self.changed(effects);
        if self.recording.as_ref().is_some_and(Recording::has_failed) {
            self.end_recording();
        }
        for _ in 0..BATCH {
            let Ok(message) = self.messages.try_recv() else { break };
            self.quick |= answers(&message);
            self.record(&message);
            let effects = update::receive(&mut self.state, message);
            self.changed(effects);
        }
    }

    /// What the session tells goes to the recording as well.
    fn record(&mut self, message: &Message) {
        if let (Some(recording), Message::Session(update)) = (&self.recording, message) {
            recording.take(update);
        }
    }

    /// Ends the session, and records what it has still to tell: the maps as they are after the last event.
    async fn record_the_rest(&mut self) {
        let Some(session) = self.session.take() else { return };
        let until = Instant::now() + LAST_WORDS;
        // Where no thread can be had it ends here.
        let ends = thread::spawn("psc-leaving", Rights::Nothing, move || drop(session));
        let told = |forwarder: &Option<JoinHandle<()>>| forwarder.as_ref().is_none_or(JoinHandle::is_finished);
        while Instant::now() < until {
            let is_over = told(&self.forwarder);
            match tokio::time::timeout(QUICK, self.messages.recv()).await {
                Ok(Some(message)) => self.record(&message),
                Ok(None) => break,
                Err(_) if is_over => break,
                Err(_) => {}
            }
        }
        // It goes on by itself where the time is over.
        drop(ends);
    }

    /// Completes the recording, also where it has failed.
    fn end_recording(&mut self) {
        if let Some(recording) = self.recording.take() {
            let told = recording.finish();
            if let Message::Recording { told, .. } = &told {
                self.recorded = Some(told.clone());
            }
            let effects = update::receive(&mut self.state, told);
            self.changed(effects);
        }
    }

    /// The history is played.
    fn play(&mut self) {
        let now = Instant::now();
        // The first time after a rest begins with nothing.
        let passed = now.duration_since(self.played).min(2 * PLAYED);
        self.played = now;
        self.take(Message::Elapsed(passed.as_nanos() as u64));
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
        self.watched.follow(self.state.documents());
        self.write_log();
    }

    fn write_log(&mut self) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let now_ns = now.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec);
        let said = self.state.journal.write_down(now_ns);
        match &mut self.log {
            Some(log) => log.write(said),
            None => said.for_each(drop),
        }
    }

    fn answer(&mut self, message: Message) {
        let effects = update::receive(&mut self.state, message);
        self.changed(effects);
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

/// Hands the session's updates on; ends with either side.
fn forward(updates: Receiver<Update>, messages: mpsc::Sender<Message>) -> io::Result<JoinHandle<()>> {
    let work = move || {
        for update in updates {
            if messages.blocking_send(Message::Session(update)).is_err() {
                return;
            }
        }
    };
    thread::spawn("psc-updates", Rights::Nothing, work)
}
