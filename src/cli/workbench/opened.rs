//! What the words of the command line open: a file, a new one, or a copy of a bundled script.

use std::path::Path;

use clap::CommandFactory as _;

use crate::cli::{Cli, CliError};
use crate::library::{self, Script};
use crate::probe::suggest;
use crate::tui::data::document::File;
use crate::tui::data::files::read;

/// A word that is no file and has neither folder nor ending.
fn is_bare(word: &Path) -> bool {
    word.to_str().is_some_and(|text| !text.contains(['/', '.'])) && !word.exists()
}

/// The bundled script that a bare word names.
pub(in crate::cli) fn bundled(word: &Path) -> Option<Script> {
    word.to_str().filter(|_| is_bare(word)).and_then(library::script)
}

/// Why a bare word opens nothing, with the subcommand that it was meant for.
pub(super) fn not_a_script(word: &Path) -> Option<String> {
    let text = word.to_str().filter(|_| is_bare(word) && bundled(word).is_none())?;
    let command = Cli::command();
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let near = suggest::nearest(text, names.into_iter(), 1).first().map(|name| (*name).to_owned());
    let meant = near.map_or_else(String::new, |name| format!("; did you mean `probescope {name}`?"));
    Some(format!(
        "there is no file, no bundled script and no command named {text}{meant}{} A new script has an ending: `{text}.bt`",
        if meant.is_empty() { "." } else { "" }
    ))
}

/// The script's text and file.
pub(super) fn script(path: Option<&Path>, state_folder: Option<&Path>) -> Result<(String, File), CliError> {
    let unnamed = state_folder.map(|f| f.join("untitled.bt"));
    let Some(path) = path else { return Ok((String::new(), File { unnamed, ..File::default() })) };
    if let Some(script) = bundled(path) {
        let unnamed = state_folder.map(|f| f.join(format!("{}.bt", script.name)));
        return Ok((script.text.to_owned(), File { unnamed, ..File::default() }));
    }
    let (text, read_only) = read(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::InvalidData => CliError::Refused(source.to_string()),
        _ => CliError::Read { path: path.display().to_string(), source },
    })?;
    let file = File { path: Some(path.to_owned()), unnamed, saved: text.as_str().into(), read_only, ..File::default() };
    Ok((text, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_word_is_a_bundled_script_or_a_mistake() {
        let why = |word: &str| not_a_script(Path::new(word));
        assert!(why("lsit").is_some_and(|w| w.contains("did you mean `probescope list`?") && w.contains("`lsit.bt`")));
        assert!(why("workbench-of-mine").is_some_and(|w| w.contains("`workbench-of-mine.bt`")));
        for script in ["opensnoop", "list.bt", "./lsit", "/tmp/lsit", "new.d"] {
            assert_eq!(why(script), None, "{script}");
        }
        let (text, file) = script(Some(Path::new("opensnoop")), Some(Path::new("/state"))).expect("a text");
        assert!(text.contains("opensnoop") && file.path.is_none());
        assert_eq!(file.unnamed.as_deref(), Some(Path::new("/state/opensnoop.bt")));
    }
}
