//! The configuration file, and `probescope config`.
//!
//! What holds: a flag, else the environment, else the file, else the default.

mod names;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::{CliError, World};
use crate::disk::{self, Readers};
use crate::lang::bt::wrong_setting;
use crate::model::budget::Limit;
use crate::stdio;
use crate::tui::desk::keys;
use crate::tui::desk::keys::remap::{Remap, check, parse_key, remap, scope_names, written};

/// Largest file that is read, bytes.
const LARGEST: u64 = 1 << 20;
/// Mistakes that are told at once.
const MOST_MISTAKES: usize = 20;
/// What `config init` writes, but for the keys.
const TEMPLATE: &str = include_str!("config/default.toml");

/// Write, find or check the configuration file.
///
/// It is read from `config.toml` in the folder `probescope` of `XDG_CONFIG_HOME` (`~/.config`), which also has the
/// folders `themes` and `layouts`. Every option in it has a flag, too, and the flag wins.
#[derive(Debug, clap::Args)]
#[command(about = "Write, find or check the configuration file")]
pub struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, clap::Subcommand)]
enum Task {
    /// Write a file with every option, each commented out and with its default; one that is there stays.
    Init,
    /// Print where the file is read from.
    Path,
    /// Tell what is wrong in the file, by line.
    Check,
    /// Print all commands that keys are for, with their keys, as the file can have them.
    Keys,
}

/// The options of a configuration file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// The workbench.
    pub workbench: Workbench,
    /// Every trace, in the workbench and without.
    pub trace: Trace,
    /// Settings of scripts, where they say nothing else (`max_map_keys`).
    pub script: BTreeMap<String, toml::Value>,
    /// Read on its own, for the places of keys.
    keys: toml::Table,
}

/// Options of the workbench.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Workbench {
    /// The theme by name, or a file.
    pub theme: Option<String>,
    /// Whether the mouse is the workbench's.
    pub mouse: Option<bool>,
    /// Whether the script is edited by vi's keys.
    pub vi: Option<bool>,
}

/// Options of every trace.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Trace {
    /// Scripts may change the traced system.
    #[serde(rename = "unsafe")]
    pub allow_unsafe: Option<bool>,
    /// Programs whose loops take a CPU away turn themselves off.
    pub brake: Option<bool>,
    /// Part of the CPUs' time that probes may take.
    pub budget: Option<Limit>,
    /// Folders of separate debug files.
    pub debuginfo: Vec<PathBuf>,
}

/// Why a configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("cannot read the configuration {path}: {source}")]
    Read {
        /// Which file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Something in it is wrong.
    #[error("{}", told(mistakes))]
    Wrong {
        /// What, in the order of the file.
        mistakes: Vec<Mistake>,
    },
}

/// Something wrong in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Which file.
    path: String,
    /// Line, from 1.
    line: usize,
    /// Column, from 1.
    column: usize,
    /// What is wrong.
    message: String,
    /// The line itself, with its number.
    excerpt: String,
    /// Bytes of the text that it is about.
    at: Range<usize>,
}

fn told(mistakes: &[Mistake]) -> String {
    let one = |m: &Mistake| format!("{}:{}:{}: {}\n{}", m.path, m.line, m.column, m.message, m.excerpt);
    mistakes.iter().map(one).collect::<Vec<_>>().join("\n")
}

impl Config {
    /// Reads a file's text.
    ///
    /// # Errors
    /// All that is wrong, with its places: at most [`MOST_MISTAKES`].
    pub fn parse(path: &str, text: &str) -> Result<(Self, Vec<Remap>), ConfigError> {
        let mut mistakes = Vec::new();
        let mut config = Self::default();
        // What is wrong is taken out, and what is left read again.
        let mut rest = text.to_owned();
        while mistakes.len() < MOST_MISTAKES {
            let error = match toml::from_str(&rest) {
                Ok(read) => {
                    config = read;
                    break;
                }
                Err(error) => error,
            };
            let at = error.span().unwrap_or(0..0);
            mistakes.push(wrong(path, text, at.clone(), error.message().trim_end()));
            if !blank(&mut rest, &at) {
                break;
            }
        }
        let document = DeTable::parse(&rest).map(Spanned::into_inner).unwrap_or_default();
        mistakes.extend(wrong_settings(path, text, &document));
        let (mut places, mut choices): (Vec<_>, Vec<_>) =
            chosen_keys(path, text, &document, &mut mistakes).into_iter().unzip();
        while let Err((index, error)) = check(&choices) {
            mistakes.push(wrong(path, text, places.remove(index), &error.to_string()));
            choices.remove(index);
        }
        if mistakes.is_empty() {
            return Ok((config, choices));
        }
        mistakes.sort_by_key(|mistake| mistake.at.start);
        mistakes.dedup_by_key(|mistake| mistake.at.start);
        mistakes.truncate(MOST_MISTAKES);
        Err(ConfigError::Wrong { mistakes })
    }

    /// The settings of scripts, as flags have them.
    #[must_use]
    pub fn settings(&self) -> Vec<(String, String)> {
        self.script.iter().filter_map(|(name, value)| Some((name.clone(), text_of(value)?))).collect()
    }
}

/// Takes the lines of a mistake out, every other byte stays in its place; false where nothing would change.
fn blank(text: &mut String, at: &Range<usize>) -> bool {
    let from = text.get(..at.start).map_or(0, |before| before.rfind('\n').map_or(0, |n| n + 1));
    let to = text.get(at.end.max(at.start)..).map_or(text.len(), |rest| at.end + rest.find('\n').unwrap_or(rest.len()));
    let Some(lines) = text.get(from..to).filter(|lines| !lines.trim().is_empty()) else { return false };
    let blanks: String = lines.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
    text.replace_range(from..to, &blanks);
    true
}

/// What is wrong about the settings of scripts: their names and values.
fn wrong_settings(path: &str, text: &str, document: &DeTable<'_>) -> Vec<Mistake> {
    let script = document.iter().find(|(name, _)| name.get_ref() == "script");
    let Some((_, DeValue::Table(settings))) = script.map(|(name, value)| (name, value.get_ref())) else {
        return Vec::new();
    };
    let mistake = |(name, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        let said = match value.get_ref() {
            DeValue::String(said) => said.to_string(),
            DeValue::Integer(number) => {
                let read = i64::from_str_radix(number.as_str(), number.radix());
                read.map_or_else(|_| number.to_string(), |number| number.to_string())
            }
            DeValue::Boolean(truth) => truth.to_string(),
            other => {
                let name = name.get_ref();
                let message =
                    format!("{name} is a number, a text, true or false, and not of the type {}", other.type_str());
                return Some(wrong(path, text, value.span(), &message));
            }
        };
        let found = wrong_setting(&name.get_ref().to_ascii_lowercase(), &said)?;
        let at = if found.is_of_name { name.span() } else { value.span() };
        let help = found.help.map_or_else(String::new, |help| format!(": {help}"));
        Some(wrong(path, text, at, &format!("{}{help}", found.message)))
    };
    settings.iter().filter_map(mistake).collect()
}

/// The keys that a file chooses, each with the place of its command.
fn chosen_keys(
    path: &str,
    text: &str,
    document: &DeTable<'_>,
    mistakes: &mut Vec<Mistake>,
) -> Vec<(Range<usize>, Remap)> {
    let mut choices = Vec::new();
    for (name, value) in document.iter().filter(|(name, _)| name.get_ref() == "keys") {
        let DeValue::Table(keys) = value.get_ref() else {
            mistakes.push(wrong(path, text, name.span(), "keys are a table: `[keys]`"));
            continue;
        };
        for (name, value) in keys {
            match value.get_ref() {
                DeValue::Table(group) => {
                    for (command, value) in group {
                        choices.extend(choice(path, text, Some(name.get_ref()), command, value, mistakes));
                    }
                }
                _ => choices.extend(choice(path, text, None, name, value, mistakes)),
            }
        }
    }
    choices
}

fn choice(
    path: &str,
    text: &str,
    scope: Option<&str>,
    command: &Spanned<DeString<'_>>,
    value: &Spanned<DeValue<'_>>,
    mistakes: &mut Vec<Mistake>,
) -> Option<(Range<usize>, Remap)> {
    let several;
    let named: &[Spanned<DeValue<'_>>] = match value.get_ref() {
        DeValue::Array(keys) => {
            several = keys;
            several
        }
        _ => std::slice::from_ref(value),
    };
    let mut keys = Vec::new();
    for key in named {
        let name = key.get_ref().as_str().unwrap_or("");
        if let Some(key) = parse_key(name) {
            keys.push(key);
        } else {
            let message = format!("there is no key named `{name}`: write it as the help does (Ctrl-S, F5, Alt-Enter)");
            mistakes.push(wrong(path, text, key.span(), &message));
        }
    }
    let command_name = command.get_ref().as_ref().to_owned();
    // Without the keys that there are not, nothing would be known of the others.
    let is_whole = keys.len() == named.len();
    is_whole.then(|| (command.span(), Remap { scope: scope.map(str::to_owned), command: command_name, keys }))
}

fn text_of(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// An error at a place of the text.
fn wrong(path: &str, text: &str, at: Range<usize>, message: &str) -> Mistake {
    let start = (0..=at.start.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let before = &text[..start];
    let line = before.matches('\n').count() + 1;
    let begin = before.rfind('\n').map_or(0, |n| n + 1);
    let column = before[begin..].chars().count() + 1;
    let shown = text[begin..].lines().next().unwrap_or("");
    let marked = text.get(start..at.end.min(begin + shown.len())).map_or(1, |t| t.chars().count().max(1));
    let number = line.to_string();
    let gap = " ".repeat(number.len());
    let excerpt = format!("{number} | {shown}\n{gap} | {}{}", " ".repeat(column - 1), "^".repeat(marked));
    Mistake { path: path.to_owned(), line, column, message: message.to_owned(), excerpt, at }
}

/// The folder of configuration, themes and layouts.
#[must_use]
pub fn folder(world: &World) -> Option<PathBuf> {
    let set = world.variable("XDG_CONFIG_HOME").filter(|v| v.starts_with('/')).map(PathBuf::from);
    set.or_else(|| world.home.as_ref().map(|home| home.join(".config"))).map(|folder| folder.join("probescope"))
}

/// Where the file is: as asked for, or its usual place.
fn path(world: &World) -> Option<PathBuf> {
    world.config_file.clone().or_else(|| Some(folder(world)?.join("config.toml")))
}

/// Reads the configuration; none is as good as an empty one, unless it was asked for by name.
///
/// # Errors
/// When it can't be read, or something in it is wrong.
pub fn read(world: &World) -> Result<(Config, Vec<Remap>), ConfigError> {
    let Some(path) = path(world) else { return Ok(<_>::default()) };
    match crate::regular::text(&path, LARGEST) {
        Ok(text) => Config::parse(&path.display().to_string(), &text),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && world.config_file.is_none() => Ok(<_>::default()),
        Err(source) => Err(ConfigError::Read { path: path.display().to_string(), source }),
    }
}

/// Reads the configuration and lets its keys hold.
///
/// # Errors
/// As [`read`].
pub fn apply(world: &World) -> Result<Config, ConfigError> {
    let (config, choices) = read(world)?;
    if !choices.is_empty() {
        // They were checked when they were read.
        let _ = remap(&choices);
    }
    Ok(config)
}

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let path = path(world).ok_or_else(|| {
        CliError::Refused(
            "there is no place for a configuration: HOME is not set; name a file with --config-file".into(),
        )
    })?;
    let said = match args.task {
        Task::Init => init(&path)?,
        Task::Path => format!("{}\n", path.display()),
        Task::Keys => listed_keys(),
        Task::Check => {
            read(world).map_err(|e| CliError::Refused(e.to_string()))?;
            check_names(world, &path)?;
            let state = if path.exists() { "is fine" } else { "does not exist: the defaults hold" };
            format!("{} {state}\n", path.display())
        }
    };
    stdio::out().write_all(said.as_bytes()).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses a file whose values name what is not there.
fn check_names(world: &World, path: &Path) -> Result<(), CliError> {
    let text = crate::regular::text(path, LARGEST).unwrap_or_default();
    let mistakes = names::unknown(world, &path.display().to_string(), &text);
    if mistakes.is_empty() { Ok(()) } else { Err(CliError::Refused(told(&mistakes))) }
}

fn init(path: &Path) -> Result<String, CliError> {
    let failed = |source| CliError::Write { path: path.display().to_string(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    disk::write_new(path, default_text().as_bytes(), Readers::Everyone).map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => {
            CliError::Refused(format!("{} is there already; it stays as it is", path.display()))
        }
        _ => failed(e),
    })?;
    Ok(format!("{} has every option, commented out\n", path.display()))
}

/// The whole file that `config init` writes.
fn default_text() -> String {
    let keys = listed_keys();
    let commented = keys.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("# {line}\n") });
    format!("{TEMPLATE}{}", commented.collect::<String>())
}

/// All commands with their keys, in the form of the file.
fn listed_keys() -> String {
    let mut out = String::new();
    for scope in scope_names() {
        let mut bindings = keys::all().filter(|b| b.scope.name() == scope).peekable();
        let Some(title) = bindings.peek().map(|b| keys::title(b.scope)) else { continue };
        out.push_str(&format!("\n# {title}.\n[keys.{scope}]\n"));
        for binding in bindings {
            let keys: Vec<String> = binding.keys.iter().map(|key| toml_text(&written(*key))).collect();
            out.push_str(&format!("{} = [{}] # {}\n", toml_key(&binding.command()), keys.join(", "), binding.about));
        }
    }
    out
}

fn toml_text(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn toml_key(name: &str) -> String {
    let bare = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if bare { name.to_owned() } else { toml_text(name) }
}

#[cfg(test)]
mod tests;
