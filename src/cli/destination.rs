//! Where a subcommand's output goes: standard output, or the file of `-o`.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::CliError;
use crate::disk::{self, Output, Readers};
use crate::stdio::{self, Stream};

/// Shared by those who write; [`Destination::finish`] says in the end whether everything has arrived.
#[derive(Clone, Debug)]
pub struct Destination {
    shared: Arc<Mutex<Shared>>,
    name: String,
    terminal: bool,
}

#[derive(Debug)]
struct Shared {
    to: Option<To>,
    /// Why something did not arrive: told when it happened, or in the end.
    failure: Option<io::Error>,
}

#[derive(Debug)]
enum To {
    Stream(Stream),
    File(Output),
}

impl Destination {
    /// A file that grows, or standard output.
    ///
    /// # Errors
    /// When the file can't be made.
    pub fn open(path: Option<&Path>) -> Result<Self, CliError> {
        let Some(path) = path else {
            let stream = stdio::out_unbuffered().map_err(CliError::stdout)?;
            return Ok(Self::new(To::Stream(stream.styled()), "standard output", stdio::out_is_terminal()));
        };
        let output = Output::growing(path, Readers::Everyone).map_err(|e| CliError::write(path, e))?;
        let terminal = output.is_terminal();
        Ok(Self::new(To::File(output), &path.display().to_string(), terminal))
    }

    /// A file that is added to.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn append(path: &Path) -> Result<Self, CliError> {
        let stream = disk::append(path).map_err(|e| CliError::write(path, e))?;
        let terminal = stream.is_terminal();
        Ok(Self::new(To::Stream(stream), &path.display().to_string(), terminal))
    }

    fn new(to: To, name: &str, terminal: bool) -> Self {
        let shared = Arc::new(Mutex::new(Shared { to: Some(to), failure: None }));
        Self { shared, name: name.to_owned(), terminal }
    }

    /// Whether a terminal shows it.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Another hand that writes to the same.
    #[must_use]
    pub fn hand(&self) -> Box<dyn Write + Send> {
        Box::new(self.clone())
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes a file.
    ///
    /// # Errors
    /// When something could not be written: then the file is as it was.
    pub fn finish(self) -> Result<(), CliError> {
        let mut shared = self.shared();
        let failed = |source| Err(CliError::Write { path: self.name.clone(), source });
        if let Some(failure) = shared.failure.take() {
            return failed(failure);
        }
        match shared.to.take() {
            Some(To::File(output)) => output.commit().or_else(failed),
            Some(To::Stream(mut stream)) => stream.flush().or_else(failed),
            None => Ok(()),
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
        let mut shared = self.shared();
        let outcome = match &mut shared.to {
            Some(To::Stream(stream)) => act(stream),
            Some(To::File(output)) => act(output),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        outcome.inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                shared.failure.get_or_insert_with(|| again(error));
            }
        })
    }
}

/// The same error once more.
fn again(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|to| to.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(|to| to.flush())
    }
}
