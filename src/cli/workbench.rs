//! No subcommand: the workbench.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::CommandFactory as _;

use super::{Cli, CliError, World};
use crate::lang::diagnostic::Severity;
use crate::probe::suggest;
use crate::tui::catalogue::Catalogue;
use crate::tui::files::{Latest, keep, read, recovery};
use crate::tui::layout::file;
use crate::tui::layouts::{self, Folders};
use crate::tui::replay::{self, Opened};
use crate::tui::run::{Ending, Services, run as open};
use crate::tui::screen::restore;
use crate::tui::state::{File, Layer, Reader, State};
use crate::tui::terminal::{Colours, Terminal};
use crate::tui::theme::Theme;

/// Options of the workbench.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// The script to open; a new one when it does not exist.
    pub file: Option<PathBuf>,
    /// A theme by name (dark, light, high-contrast, nord, amber) or a file (.toml or .tmTheme).
    #[arg(long, value_name = "THEME")]
    pub theme: Option<String>,
    /// Leave the mouse to the terminal (F11 changes it later).
    #[arg(long)]
    pub no_mouse: bool,
}

/// Opens the workbench.
pub fn run(args: &Args, world: &World) -> Result<ExitCode, CliError> {
    if let Some(command) = args.file.as_deref().and_then(meant_command) {
        return Err(CliError::Refused(format!(
            "there is no file and no command of that name; did you mean `probescope {command}`? (A new script has an \
             ending: `{command}.bt`.)"
        )));
    }
    run_on(args, world, None)
}

/// Opens the workbench on a recording, or on a script.
pub(super) fn run_on(args: &Args, world: &World, opened: Option<Opened>) -> Result<ExitCode, CliError> {
    if !world.stdout_is_terminal || !std::io::stdin().is_terminal() {
        return Err(CliError::Refused(
            "the workbench needs a terminal; `probescope run FILE` traces without one".to_owned(),
        ));
    }
    if world.variable("TERM") == Some("dumb") {
        return Err(CliError::Refused(
            "the workbench needs a terminal that can place its cursor, and TERM=dumb says that this one can't; \
             `probescope run FILE` traces without it"
                .to_owned(),
        ));
    }
    let state_folder = state_folder(world);
    let (text, mut file) = script(args.file.as_deref(), state_folder.as_deref())?;
    let terminal = Terminal::of(|name| world.variable(name));
    let (themes, chosen) = themes(args, world, terminal.colours)?;
    let unsaved = state_folder.as_ref().map(|f| f.join("unsaved"));
    let recovery = unsaved.as_ref().map(|f| recovery(f, file.path.as_deref()));
    file.recovery.clone_from(&recovery);
    let mut state = State::new(&text, file, themes, (80, 24));
    state.mouse = !args.no_mouse;
    // Before any pane of the layout is there: one of latency would begin to measure.
    state.replayed = opened.as_ref().map(Opened::replayed);
    if let Some(path) = args.file.as_ref().filter(|p| !p.exists()) {
        state.tell(Severity::Info, format!("{} is a new script: Ctrl-S makes it", path.display()));
    }
    if let Some(chosen) = chosen {
        state.theme = chosen;
    }
    let layouts = layouts(&mut state, world, state_folder.as_deref());
    if opened.is_none() {
        offer_recovered(&mut state, recovery.as_deref(), &text);
    }
    let kernel = super::kernel::running(world);
    let session = super::tracing::session(&kernel);
    let session = match session {
        Ok(session) => Some(session),
        Err(reason) => {
            state.disabled = Some(reason);
            None
        }
    };
    if let Some(opened) = opened {
        replay::open(&mut state, opened);
    }
    let latest = Arc::new(Mutex::new(Latest { path: recovery, text: text.as_str().into() }));
    guard_panics(&latest);
    let finder =
        Catalogue::spawn(Arc::clone(&kernel)).map_err(|e| CliError::Refused(format!("cannot start a thread: {e}")))?;
    let faults = world.variable("PROBESCOPE_FAULTS").is_some();
    let services = Services { session, kernel, finder: Box::new(finder), unsaved, layouts, latest, terminal, faults };
    match open(state, services).map_err(|e| CliError::Refused(format!("the terminal failed: {e}")))? {
        Ending::Left => Ok(ExitCode::SUCCESS),
        Ending::Signal(number) => Ok(ExitCode::from(128_u8.saturating_add(u8::try_from(number).unwrap_or(0)))),
    }
}

/// The subcommand that a bare word was meant for: one that is no file, has no ending, and looks like a command.
fn meant_command(word: &Path) -> Option<String> {
    let text = word.to_str().filter(|t| !t.contains(['/', '.']) && !word.exists())?;
    let command = Cli::command();
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    suggest::nearest(text, names.into_iter(), 1).first().map(|name| (*name).to_owned())
}

/// Where unsaved and unnamed scripts are kept.
fn state_folder(world: &World) -> Option<PathBuf> {
    let set = world.variable("XDG_STATE_HOME").filter(|v| v.starts_with('/')).map(PathBuf::from);
    set.or_else(|| world.home.as_ref().map(|h| h.join(".local/state"))).map(|f| f.join("probescope"))
}

/// Where layouts are kept; the one of the last use is restored. One that can't be used is told of, and
/// stays where it is.
fn layouts(state: &mut State, world: &World, state_folder: Option<&Path>) -> Option<Folders> {
    let set = world.variable("XDG_CONFIG_HOME").filter(|v| v.starts_with('/')).map(PathBuf::from);
    let config = set.or_else(|| world.home.as_ref().map(|h| h.join(".config")))?.join("probescope");
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

/// The script's text and file.
fn script(path: Option<&Path>, state_folder: Option<&Path>) -> Result<(String, File), CliError> {
    let unnamed = state_folder.map(|f| f.join("untitled.bt"));
    let Some(path) = path else { return Ok((String::new(), File { unnamed, ..File::default() })) };
    let (text, read_only) = read(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::InvalidData => CliError::Refused(source.to_string()),
        _ => CliError::Read { path: path.display().to_string(), source },
    })?;
    let file = File { path: Some(path.to_owned()), unnamed, saved: text.as_str().into(), read_only, ..File::default() };
    Ok((text, file))
}

/// Themes to choose from, and the one asked for.
type Themes = (Vec<Arc<Theme>>, Option<Arc<Theme>>);

/// The themes to choose from and the one asked for.
fn themes(args: &Args, world: &World, colours: Colours) -> Result<Themes, CliError> {
    let refused = |e: crate::tui::theme::ThemeError| CliError::Refused(e.to_string());
    if colours == Colours::None {
        return Ok((vec![Arc::new(Theme::monochrome())], None));
    }
    let mut themes = Theme::embedded();
    let mut chosen = None;
    if let Some(name) = args.theme.as_deref().or_else(|| world.variable("PROBESCOPE_THEME")) {
        let known = themes.iter().find(|t| &*t.name == name).cloned();
        let theme = match known {
            Some(theme) => theme,
            None if name.contains(['/', '.']) => Arc::new(Theme::load(Path::new(name)).map_err(refused)?),
            None => {
                let names: Vec<&str> = themes.iter().map(|t| &*t.name).collect();
                return Err(CliError::Refused(format!("there is no theme {name}; there are {}", names.join(", "))));
            }
        };
        if !themes.contains(&theme) {
            themes.push(Arc::clone(&theme));
        }
        chosen = Some(theme);
    }
    let fewer: fn(&Theme) -> Theme = match colours {
        Colours::None | Colours::True => return Ok((themes, chosen)),
        Colours::Indexed => Theme::indexed,
        Colours::Sixteen => Theme::sixteen,
    };
    Ok((themes.iter().map(|t| Arc::new(fewer(t))).collect(), chosen.map(|t| Arc::new(fewer(&t)))))
}

/// Unsaved text of an earlier run: put into the editor, so that nothing is lost; undo is one key.
fn offer_recovered(state: &mut State, recovery: Option<&Path>, text: &str) {
    let Some(kept) =
        recovery.and_then(|p| std::fs::read_to_string(p).ok()).filter(|k| k != text && !k.trim().is_empty())
    else {
        return;
    };
    state.document.editor.edit(&crate::tui::action::Edit::SelectAll);
    state.document.editor.edit(&crate::tui::action::Edit::Paste(kept));
    let lines = [
        "An earlier run ended with unsaved text. It is in the editor again.",
        "",
        "Ctrl-S saves and runs it. Ctrl-Z goes back to what is in the file.",
    ];
    state.layers.push(Layer::Reader(Reader {
        title: "Unsaved text found".into(),
        lines: lines.map(str::to_owned).to_vec(),
        top: 0,
        wrap: true,
    }));
}

/// A panic gives the terminal back first and keeps the script, then reports as usual.
fn guard_panics(latest: &Arc<Mutex<Latest>>) {
    let report = std::panic::take_hook();
    let (latest, screen) = (Arc::clone(latest), std::thread::current().id());
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() != screen {
            return;
        }
        restore();
        let kept = rescue(&latest);
        report(info);
        // Last, below a backtrace of any length.
        if let Some(path) = kept {
            eprintln!("probescope: the script is kept in {}", path.display());
        }
    }));
}

/// Keeps the script as it was last; tells where.
fn rescue(latest: &Mutex<Latest>) -> Option<PathBuf> {
    let Latest { path, text } = latest.lock().unwrap_or_else(PoisonError::into_inner).clone();
    path.filter(|path| !text.is_empty() && keep(path, &text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_files_of_two_scripts_never_meet() {
        let folder = Path::new("/state");
        let a = recovery(folder, Some(Path::new("/a/b.bt")));
        let b = recovery(folder, Some(Path::new("/a_b.bt")));
        assert_ne!(a, b);
        assert_eq!(a.parent(), b.parent());
        assert_ne!(recovery(folder, None), a);
    }

    #[test]
    fn a_mistyped_command_is_no_new_script() {
        assert_eq!(meant_command(Path::new("lsit")).as_deref(), Some("list"));
        assert_eq!(meant_command(Path::new("chek")).as_deref(), Some("check"));
        for script in ["opensnoop", "list.bt", "./lsit", "/tmp/lsit"] {
            assert_eq!(meant_command(Path::new(script)), None, "{script}");
        }
    }

    #[test]
    fn a_panic_keeps_the_script_even_when_it_held_the_text() {
        let folder = std::env::temp_dir().join(format!("probescope-rescue-{}", std::process::id()));
        let path = folder.join("unsaved/a.bt");
        let latest = Arc::new(Mutex::new(Latest { path: Some(path.clone()), text: "BEGIN { }".into() }));
        let held = Arc::clone(&latest);
        let died = std::thread::spawn(move || {
            let _held = held.lock().unwrap();
            panic!("on purpose: the lock is poisoned");
        });
        assert!(died.join().is_err());
        assert_eq!(rescue(&latest).as_ref(), Some(&path));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "BEGIN { }");
        std::fs::remove_dir_all(folder).unwrap();
        assert_eq!(rescue(&Mutex::new(Latest { path: Some(path), ..Latest::default() })), None, "nothing to keep");
    }

    #[test]
    fn a_theme_that_is_not_there_names_those_that_are() {
        let world = World::default();
        let args = Args { theme: Some("drak".into()), ..Args::default() };
        let error = themes(&args, &world, Colours::True).unwrap_err().to_string();
        assert!(error.contains("drak") && error.contains("high-contrast"), "{error}");
        assert_eq!(&*themes(&Args::default(), &world, Colours::None).unwrap().0[0].name, "monochrome");
    }
}
