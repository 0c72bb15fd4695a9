//! The themes of the program and of the user.

use std::path::Path;
use std::sync::Arc;

use super::Args;
use crate::cli::{CliError, World, config};
use crate::tui::base::theme::{Theme, ThemeError};
use crate::tui::run::terminal::Colours;

/// Files in the user's folder that are looked at.
const MOST: usize = 256;

/// Themes to choose from, and the one asked for.
#[derive(Debug)]
pub(super) struct Themes {
    pub(super) known: Vec<Arc<Theme>>,
    pub(super) chosen: Option<Arc<Theme>>,
    /// What is wrong with themes of the user's folder.
    pub(super) broken: Vec<String>,
}

/// Reads them, for a terminal with so many colours. A theme of the user's takes the place of the program's of its name.
pub(super) fn read(args: &Args, world: &World, colours: Colours) -> Result<Themes, CliError> {
    if colours == Colours::None {
        return Ok(Themes { known: vec![Arc::new(Theme::monochrome())], chosen: None, broken: Vec::new() });
    }
    let mut known = Theme::embedded();
    let mut broken = Vec::new();
    if let Some(folder) = config::folder(world) {
        for theme in of_folder(&folder.join("themes")) {
            match theme {
                Ok(theme) => {
                    known.retain(|other| other.name != theme.name);
                    known.push(Arc::new(theme));
                }
                Err(error) => broken.push(error.to_string()),
            }
        }
    }
    let asked = args.theme.as_deref().or_else(|| world.variable("PROBESCOPE_THEME"));
    let chosen = match asked.or(world.config.workbench.theme.as_deref()) {
        // A name in the configuration that has become wrong keeps nobody from the workbench.
        Some(name) if asked.is_none() => chosen(name, &mut known).map_err(|e| broken.push(e.to_string())).ok(),
        Some(name) => Some(chosen(name, &mut known)?),
        None => None,
    };
    let fewer: fn(&Theme) -> Theme = match colours {
        Colours::None | Colours::True => return Ok(Themes { known, chosen, broken }),
        Colours::Indexed => Theme::indexed,
        Colours::Sixteen => Theme::sixteen,
    };
    let known = known.iter().map(|t| Arc::new(fewer(t))).collect();
    Ok(Themes { known, chosen: chosen.map(|t| Arc::new(fewer(&t))), broken })
}

/// Whether there is a theme of a name, or in a file of it.
///
/// # Errors
/// What is wrong, and which name is nearest.
pub(in crate::cli) fn named(name: &str, world: &World) -> Result<(), String> {
    let args = Args { theme: Some(name.to_owned()), ..Args::default() };
    read(&args, world, Colours::True).map(drop).map_err(|e| e.to_string())
}

/// The name that is most like another, if one is like it at all.
fn nearest<'n>(name: &str, names: &[&'n str]) -> Option<&'n str> {
    let near = names.iter().map(|known| (strsim::osa_distance(name, known), *known));
    near.min().filter(|(distance, _)| *distance <= 1 + name.len() / 4).map(|(_, known)| known)
}

/// The theme of a name, or of a file, which is known from then on.
fn chosen(name: &str, known: &mut Vec<Arc<Theme>>) -> Result<Arc<Theme>, CliError> {
    if let Some(theme) = known.iter().find(|t| &*t.name == name) {
        return Ok(Arc::clone(theme));
    }
    if !name.contains(['/', '.']) {
        let names: Vec<&str> = known.iter().map(|t| &*t.name).collect();
        let meant = nearest(name, &names).map_or_else(String::new, |near| format!(": did you mean {near}?"));
        return Err(CliError::Refused(format!("there is no theme {name}{meant}; there are {}", names.join(", "))));
    }
    let theme = Arc::new(Theme::load(Path::new(name)).map_err(|e| CliError::Refused(e.to_string()))?);
    if !known.contains(&theme) {
        known.push(Arc::clone(&theme));
    }
    Ok(theme)
}

/// The themes in a folder, in the order of their files' names.
fn of_folder(folder: &Path) -> Vec<Result<Theme, ThemeError>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_theme = |path: &std::path::PathBuf| {
        path.extension().is_some_and(|end| end == "toml" || end.eq_ignore_ascii_case("tmTheme"))
    };
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).filter(is_theme).take(MOST).collect();
    paths.sort();
    paths.iter().map(|path| Theme::load(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_theme_that_is_not_there_names_those_that_are() {
        let world = World::default();
        let args = Args { theme: Some("drak".into()), ..Args::default() };
        let error = read(&args, &world, Colours::True).unwrap_err().to_string();
        assert!(
            error.contains("there is no theme drak: did you mean dark?") && error.contains("high-contrast"),
            "{error}"
        );
        assert_eq!(&*read(&Args::default(), &world, Colours::None).unwrap().known[0].name, "monochrome");
    }

    #[test]
    fn themes_of_the_user_stand_beside_the_program_s_and_broken_ones_are_told() {
        let home = std::env::temp_dir().join(format!("probescope-themes-{}", std::process::id()));
        let folder = home.join(".config/probescope/themes");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("mine.toml"), "name = \"mine\"\n[slots]\ntext = { fg = \"#ffffff\" }\n").unwrap();
        std::fs::write(folder.join("bad.toml"), "name = \"bad\"\n[slots]\nnonsense = { }\n").unwrap();
        let mut world = World { home: Some(home.clone()), ..World::default() };
        world.config.workbench.theme = Some("mine".into());
        let Themes { known, chosen, broken } = read(&Args::default(), &world, Colours::True).unwrap();
        assert_eq!(chosen.as_ref().map(|t| &*t.name), Some("mine"));
        assert_eq!(known.len(), Theme::embedded().len() + 1);
        assert!(broken.len() == 1 && broken[0].contains("nonsense"), "{broken:?}");
        world.config.workbench.theme = Some("gone".into());
        let Themes { chosen, broken, .. } = read(&Args::default(), &world, Colours::True).unwrap();
        assert!(chosen.is_none() && broken.iter().any(|b| b.contains("gone")), "{broken:?}");
        std::fs::remove_dir_all(home).unwrap();
    }
}
