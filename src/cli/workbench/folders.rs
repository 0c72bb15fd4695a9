//! Where the workbench keeps what outlives it.

use std::path::{Path, PathBuf};

use crate::cli::{World, config};
use crate::lang::diagnostic::Severity;
use crate::tui::desk::layout::file;
use crate::tui::desk::layouts;
use crate::tui::desk::layouts::Folders;
use crate::tui::desk::state::State;
use crate::tui::run::recovery::RecoveryFolder;

/// Where unsaved and unnamed scripts are kept.
pub(in crate::cli) fn state_folder(world: &World) -> Option<PathBuf> {
    let set = world.variable("XDG_STATE_HOME").filter(|v| v.starts_with('/')).map(PathBuf::from);
    set.or_else(|| world.home.as_ref().map(|h| h.join(".local/state"))).map(|f| f.join("probescope"))
}

/// Where unsaved text is kept while the workbench runs, or why nowhere. Root's goes to a system folder where the home
/// folder is another user's.
pub(super) fn recovery_folder(world: &World, state_folder: Option<&Path>) -> Result<RecoveryFolder, String> {
    let runtime = world.variable("XDG_RUNTIME_DIR").filter(|v| v.starts_with('/')).map(Path::new);
    let system = rustix::process::geteuid().is_root().then_some(Path::new("/var/lib"));
    let others = [system, runtime].into_iter().flatten().map(|folder| folder.join("probescope"));
    let mut why = "there is no folder for it: HOME is not set".to_owned();
    for (nth, folder) in state_folder.map(Path::to_owned).into_iter().chain(others).enumerate() {
        match RecoveryFolder::open(&folder.join("unsaved")) {
            Ok(folder) => return Ok(folder),
            // What is told is what can be mended.
            Err(e) if nth == 0 => why = format!("{}: {e}", folder.join("unsaved").display()),
            Err(_) => {}
        }
    }
    Err(why)
}

/// Where layouts are kept; the one of the last use is restored. One that can't be used is told of, and
/// stays where it is.
pub(super) fn layouts(state: &mut State, world: &World, state_folder: Option<&Path>) -> Option<Folders> {
    let config = config::folder(world)?;
    let last = state_folder?.join("layout.toml");
    let read = match layouts::read(&last) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        read => Some(read.map_err(|e| e.to_string()).and_then(|t| file::parse(&t).map_err(|e| e.to_string()))),
    };
    let broken = matches!(read, Some(Err(_)));
    match read {
        Some(Ok(plan)) => file::restore(state, &plan),
        Some(Err(why)) => {
            let text = format!("The default layout is used, {} can't be: {why}", last.display());
            state.tell(Severity::Warning, text);
        }
        None => {}
    }
    Some(Folders { named: config.join("layouts"), last, broken })
}
