//! The user's own editor on the script's text: it gets the terminal while it runs.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use tokio::sync::oneshot;

use super::signals::Signals;
use super::{Input, Workbench};
use crate::disk;
use crate::thread::{self, Rights};
use crate::tui::data::effect::Message;
use crate::tui::data::files;
use crate::tui::run::screen;
use crate::tui::run::terminal::painted;

/// The editor that a user has chosen.
#[derive(Clone, Debug)]
pub struct UserEditor {
    /// A shell's command.
    pub command: String,
    /// Where the text lies while it is edited, in a folder of its own.
    pub temporary: PathBuf,
}

/// What the editor is given.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    pub text: String,
    /// The script's file name, by whose ending editors know the language.
    pub name: String,
}

/// A file of one's own, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(temporary: &Path, name: &str, text: &str) -> io::Result<Self> {
        let folder = temporary.join(format!("probescope-edit-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(&folder)?;
        let path = folder.join(name);
        let mut file = disk::exclusive(&path)?;
        file.write_all(text.as_bytes())?;
        Ok(Self(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = self.0.parent().map(std::fs::remove_dir_all);
    }
}

impl Workbench {
    /// Gives the terminal to the editor until it ends. Traces go on meanwhile, and what they tell is taken in.
    pub(super) async fn edit_outside(
        &mut self,
        outside: Outside,
        input: Input,
        signals: &mut Signals,
    ) -> io::Result<Input> {
        // What is typed now is for the editor.
        let resting = input.rest();
        screen::restore();
        let edited = self.edited(&outside, signals).await;
        self.screen.enter_again(self.state.mouse)?;
        self.dirty = true;
        if let Ok((width, height)) = crossterm::terminal::size().map(painted) {
            let _ = self.screen.resize((width, height));
            self.answer(Message::Resize(width, height));
        }
        self.answer(Message::Edited(edited));
        Ok(resting.again())
    }

    async fn edited(&mut self, outside: &Outside, signals: &mut Signals) -> Result<String, String> {
        let Some(UserEditor { command: editor, temporary }) = self.editor.clone() else {
            return Err("EDITOR and VISUAL name no editor".to_owned());
        };
        let scratch = Scratch::new(&temporary, &outside.name, &outside.text)
            .map_err(|e| format!("The text can't be given to {editor}: {e}"))?;
        // As other programs do: the words of EDITOR are the shell's (`code --wait`).
        let child =
            Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg(&editor).arg(scratch.path()).spawn();
        let mut child = child.map_err(|e| format!("{editor} can't be run: {e}"))?;
        let (sender, mut ended) = oneshot::channel();
        thread::spawn("psc-editor", Rights::Nothing, move || sender.send(child.wait()))
            .map_err(|e| format!("no thread to wait for {editor}: {e}"))?;
        let status = loop {
            tokio::select! {
                biased;
                status = &mut ended => break status,
                number = signals.next() => match number {
                    // The terminal sends these to everything that runs in it: they are the editor's.
                    libc::SIGINT | libc::SIGQUIT | libc::SIGTSTP | libc::SIGCONT => {}
                    number => {
                        self.end_by(number);
                        return Err(format!("{editor} was left"));
                    }
                },
                Some(message) = self.messages.recv() => self.take(message),
            }
        };
        match status {
            Ok(Ok(status)) if status.success() => files::read(scratch.path())
                .map(|(text, _)| text)
                .map_err(|e| format!("What {editor} wrote can't be read: {e}")),
            Ok(Ok(status)) => Err(format!("{editor} ended with {status}: the text stays as it was")),
            _ => Err(format!("{editor} can't be waited for: the text stays as it was")),
        }
    }
}
