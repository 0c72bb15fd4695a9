//! Where a script comes from and how it is compiled: shared by run, check and compile.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::{OsStringValueParser, TypedValueParser};

use super::CliError;
use crate::kernel::{Kernel, Roots};
use crate::lang::front_end;
use crate::lang::source::SourceText;
use crate::model::bytes::{bytes_of, hold};
use crate::regular;
use crate::session::front::FrontSettings;
use crate::tracer::script::compilation::Given;

/// Largest script that is read, bytes.
pub(super) const LARGEST: u64 = 16 << 20;

/// The script's text and what it is given.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ScriptArgs {
    /// The program itself, instead of a file.
    #[arg(short = 'e', value_name = "PROGRAM", value_parser = program_text())]
    pub program: Option<String>,

    /// Script file (`-` for standard input) or the name of a bundled script, then the script's parameters $1, $2, ...
    #[arg(value_name = "FILE|PARAMETER", allow_negative_numbers = true, value_parser = any_bytes())]
    pub rest: Vec<String>,

    /// More parameters of the script; those that start with `--` are its named options (getopt), and so are `-x` and
    /// `-n VALUE` where the script has options of one letter. `-p PID` limits it to a process, `-h` lists its options.
    #[arg(value_name = "PARAMETER", last = true, value_parser = any_bytes())]
    pub after: Vec<String>,
}

/// Takes a program of any bytes.
fn program_text() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|text| spelled(text.into_vec()))
}

/// Takes words of any bytes; those that are not UTF-8 are held as [`hold`] does.
pub(super) fn any_bytes() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|word| held(&word))
}

/// A program's text. Today's are UTF-8; comments and constants of older ones may not be: such a byte becomes an escape,
/// which is the same byte in a constant of either language.
fn spelled(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let mut text = String::new();
        for chunk in error.as_bytes().utf8_chunks() {
            text.push_str(chunk.valid());
            chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\{byte:03o}")));
        }
        text
    })
}

/// A word of the command line as text.
pub(super) fn held(word: &OsStr) -> String {
    hold(word.as_bytes(), None)
}

/// The path that a text of [`held`] names.
pub(super) fn path_of(text: &str) -> PathBuf {
    OsString::from_vec(bytes_of(text).into_owned()).into()
}

/// A script and its parameters.
#[derive(Clone, Debug)]
pub struct Script {
    /// Its text.
    pub source: SourceText,
    /// `$1` and on.
    pub params: Vec<String>,
    /// Named options.
    pub named: Vec<(String, Option<String>)>,
    /// The process that it is limited to, told among its parameters.
    pub pid: Option<u32>,
}

impl ScriptArgs {
    /// Reads the script.
    pub fn read(&self) -> Result<Script, CliError> {
        let (source, rest) = match (&self.program, self.rest.split_first()) {
            (Some(text), _) => (SourceText::new("stdin", text), &self.rest[..]),
            (None, Some((name, rest))) => (bundled(name).map_or_else(|| read_file(name), Ok)?, rest),
            (None, None) => {
                return Err(CliError::Refused("name a script file, or give the program with -e".to_owned()));
            }
        };
        let Given { params, named, pid, .. } = self.given(rest, &source);
        Ok(Script { source, params, named, pid })
    }

    /// What the script is given: `rest` are parameters as they stand, what is behind `--` may be options.
    pub(super) fn given(&self, rest: &[String], source: &SourceText) -> Given {
        let after = Given::from_words(self.after.clone(), &front_end(source).wanted(source));
        let params = rest.iter().cloned().chain(after.params).collect();
        Given { params, ..after }
    }
}

/// The bundled script of a name that is no file's.
fn bundled(name: &str) -> Option<SourceText> {
    let script = super::workbench::bundled(std::path::Path::new(name))?;
    Some(SourceText::new(&format!("{name}.bt"), script.text))
}

/// Reads a script's file, `-` being standard input.
///
/// # Errors
/// When it can't be read.
pub(super) fn read_file(path: &str) -> Result<SourceText, CliError> {
    let failed = |source| CliError::Read { path: path.to_owned(), source };
    let read = || match path {
        "-" => regular::bounded(std::io::stdin(), LARGEST),
        _ => regular::bounded(std::fs::File::open(path_of(path))?, LARGEST),
    };
    let bytes = read().map_err(failed)?;
    let name = if path == "-" { "stdin" } else { path };
    Ok(SourceText::new(name, &spelled(bytes)))
}

/// The running kernel, for what looks for no programs; see [`super::kernel::running`].
#[must_use]
pub fn kernel() -> Arc<Kernel> {
    Arc::new(Kernel::new(Roots::running()).mounting_tracefs())
}

impl Script {
    /// A text of ours, given nothing.
    pub(super) fn of_text(name: &str, text: &str) -> Self {
        Self { source: SourceText::new(name, text), params: Vec::new(), named: Vec::new(), pid: None }
    }

    /// What the script says of itself at its head, and its options, where these are asked for and it has no option of
    /// this name.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        self.named.iter().find(|(name, value)| matches!(&**name, "h" | "help") && value.is_none())?;
        let wanted = front_end(&self.source).wanted(&self.source);
        if wanted.options.iter().any(|option| matches!(&*option.name, "h" | "help")) {
            return None;
        }
        let head = self.source.text.lines().take_while(|line| line.starts_with("//"));
        let mut help: String =
            head.map(|line| format!("{}\n", line.trim_start_matches("//").trim_start_matches(' '))).collect();
        help += "\nOptions:\n";
        for option in &wanted.options {
            let dashes = if option.name.chars().count() == 1 { "-" } else { "--" };
            let value = if option.takes_value { " VALUE" } else { "" };
            let about = option.about.as_deref().map_or_else(String::new, |about| format!(": {about}"));
            help += &format!("  {dashes}{}{value}{about}\n", option.name);
        }
        if wanted.takes_limit() {
            help += "  -p PID: only what is about this process\n";
        }
        Some(help)
    }

    /// How it is compiled for this kernel.
    #[must_use]
    pub fn settings(&self, kernel: Arc<Kernel>) -> FrontSettings {
        FrontSettings {
            params: self.params.clone(),
            named: self.named.clone(),
            pid: self.pid,
            ..FrontSettings::new(kernel)
        }
    }
}
