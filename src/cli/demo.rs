//! `probescope demo`.

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use rustix::fs::MemfdFlags;

use super::{CliError, World, workbench};
use crate::disk::{self, Readers};
use crate::stdio;
use crate::store::file::Recording;
use crate::tui::desk::replay::Opened;

/// Play a recorded trace of a real problem, without any rights and without tracing.
///
/// Each story is a script that ran on a real kernel, with everything that it reported. It opens in
/// the workbench and plays; Space holds it, `,` and `.` step, `<` and `>` go by seconds, `p` plays
/// on.
///
/// Examples:
///
///   probescope demo --list
///
///   probescope demo lock-contention
#[derive(Debug, clap::Args)]
#[command(about = "Play a recorded trace of a real problem", verbatim_doc_comment)]
pub struct Args {
    /// Which story; the first one when none is named.
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Name the stories.
    #[arg(short, long)]
    list: bool,

    /// Write the story's recording to a file, for `replay` and `record info`.
    #[arg(long, value_name = "FILE")]
    save: Option<std::path::PathBuf>,
}

/// A story: its name, a text to read first, and the recording.
struct Story {
    name: &'static str,
    about: &'static str,
    recording: &'static [u8],
}

macro_rules! story {
    ($name:literal) => {
        Story {
            name: $name,
            about: include_str!(concat!("../demo/", $name, "/about.txt")),
            recording: include_bytes!(concat!("../demo/", $name, "/recording.psrec")),
        }
    };
}

const STORIES: [Story; 5] = [
    story!("file-server"),
    story!("lock-contention"),
    story!("run-queue"),
    story!("memory-leak"),
    story!("tcp-retransmits"),
];

/// Runs the subcommand.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    let story = match &args.name {
        Some(name) => STORIES.iter().find(|story| story.name == *name).ok_or_else(|| unknown(name))?,
        None => &STORIES[0],
    };
    if let Some(path) = &args.save {
        return disk::write(path, story.recording, Readers::Everyone)
            .map(|()| ExitCode::SUCCESS)
            .map_err(|e| CliError::write(path, e));
    }
    if args.list || !world.stdout_is_terminal || !std::io::stdin().is_terminal() {
        return list();
    }
    let opened = Opened { recording: open(story)?.into(), damage: String::new(), about: Some(story.about), play: true };
    workbench::run_on(&workbench::Args::default(), world, Some(opened))
}

fn unknown(name: &str) -> CliError {
    let names: Vec<&str> = STORIES.iter().map(|story| story.name).collect();
    CliError::Refused(format!("there is no story `{name}`; there are {}", names.join(", ")))
}

fn list() -> Result<ExitCode, CliError> {
    let mut out = String::new();
    for story in &STORIES {
        out.push_str(&format!("{:<16} {}\n", story.name, story.about.lines().next().unwrap_or_default()));
    }
    stdio::out().write_all(out.as_bytes()).map_err(CliError::stdout)?;
    Ok(ExitCode::SUCCESS)
}

/// Opens a story's recording, which is read as a file: one in memory, for the file system may be read-only.
fn open(story: &Story) -> Result<Recording, CliError> {
    let refused = |what: &str, error: &dyn std::fmt::Display| CliError::Refused(format!("cannot {what}: {error}"));
    let memory =
        rustix::fs::memfd_create("recording", MemfdFlags::CLOEXEC).map_err(|e| refused("make a file in memory", &e))?;
    let mut file = File::from(memory);
    file.write_all(story.recording).map_err(|e| refused("write to memory", &e))?;
    Recording::read(file, story.name).map_err(|e| refused("open the story", &e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::History as _;
    use crate::store::file::Damage;

    #[test]
    fn every_story_is_whole_and_has_something_to_tell() {
        for story in &STORIES {
            let recording = open(story).unwrap();
            assert_eq!(recording.damage(), Damage::default(), "{}", story.name);
            let (first_ns, last_ns) = recording.span().unwrap();
            assert!(last_ns - first_ns > 5_000_000_000, "{} is too short to step through", story.name);
            assert!(recording.lines().count() > 15, "{} says next to nothing", story.name);
            let script = &recording.traces()[0];
            assert_eq!(&*script.script, script_of(story.name), "{} was recorded of another script", story.name);
            assert!(recording.maps_at(script.id, last_ns).is_some_and(|maps| !maps.is_empty()), "{}", story.name);
        }
        assert!(STORIES.iter().map(|s| s.recording.len()).sum::<usize>() < 4 << 20);
    }

    fn script_of(name: &str) -> String {
        std::fs::read_to_string(format!("{}/src/demo/{name}/script.bt", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }
}
