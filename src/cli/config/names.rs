//! What the values of a configuration name: each is looked for, and what is nearest is suggested.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Mistake, wrong};
use crate::cli::World;
use crate::cli::workbench::theme_named;

/// The values that name nothing.
pub(super) fn unknown(world: &World, path: &str, text: &str) -> Vec<Mistake> {
    let Ok(document) = DeTable::parse(text).map(Spanned::into_inner) else { return Vec::new() };
    let mut mistakes = Vec::new();
    if let Some(theme) = value(&document, "workbench", "theme")
        && let Some(name) = theme.get_ref().as_str()
        && let Err(why) = theme_named(name, world)
    {
        mistakes.push(wrong(path, text, theme.span(), &why));
    }
    if let Some(DeValue::Array(folders)) = value(&document, "trace", "debuginfo").map(Spanned::get_ref) {
        for folder in folders {
            if let Some(name) = folder.get_ref().as_str().filter(|name| !Path::new(name).is_dir()) {
                mistakes.push(wrong(path, text, folder.span(), &format!("there is no folder {name}")));
            }
        }
    }
    mistakes
}

fn value<'t, 'd>(document: &'t DeTable<'d>, table: &str, name: &str) -> Option<&'t Spanned<DeValue<'d>>> {
    let (_, found) = document.iter().find(|(known, _)| known.get_ref() == table)?;
    let DeValue::Table(options) = found.get_ref() else { return None };
    options.iter().find(|(known, _)| known.get_ref() == name).map(|(_, value)| value)
}
