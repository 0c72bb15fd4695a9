//! Control lines: `#pragma D option` and its kin.

use super::checker::Checker;
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{ItemKind, Pragma, Script};
use crate::lang::source::Span;

/// Whether a word is `Name/Data/Class`: how much may be relied on a name, on its data, and where.
fn are_attributes(word: &str) -> bool {
    const STABILITIES: &[&str] =
        &["Internal", "Private", "Obsolete", "External", "Unstable", "Evolving", "Stable", "Standard"];
    const CLASSES: &[&str] = &["Unknown", "CPU", "Platform", "Group", "ISA", "Common"];
    let known = |list: &[&str], part: &str| list.iter().any(|known| known.eq_ignore_ascii_case(part));
    match word.split('/').collect::<Vec<_>>()[..] {
        [name, data, class] => known(STABILITIES, name) && known(STABILITIES, data) && known(CLASSES, class),
        _ => false,
    }
}

pub fn pragmas(c: &mut Checker<'_>, script: &Script) {
    for item in &script.items {
        if let ItemKind::Pragma(pragma) = &item.kind {
            check_one(c, pragma, item.span);
        }
    }
}

pub fn unused_arguments(c: &mut Checker<'_>, script: &Script) {
    if c.options.argref {
        return;
    }
    if let Some(number) = script.used_arguments.iter().skip(1).position(|used| !used) {
        let message = format!("extraneous argument '${}' is not referenced", number + 1);
        c.error(tags::D_MACRO_UNUSED, Span::default(), message);
    }
}

fn check_one(c: &mut Checker<'_>, pragma: &Pragma, at: Span) {
    match &*pragma.control.text {
        "pragma" => {}
        "line" | "ident" => return,
        "error" => {
            let words: Vec<&str> = pragma.words.iter().map(|w| &*w.text).collect();
            return c.error(tags::D_PRAGERR, at, format!("#error: {}", words.join(" ")));
        }
        text if text.parse::<u32>().is_ok() => return,
        text => {
            return c.error(tags::D_PRAGCTL_INVAL, at, format!("invalid control directive: #{text}"));
        }
    }
    if !pragma.of_d {
        return;
    }
    let Some(which) = pragma.words.first() else {
        return c.error(tags::D_PRAGMA_MALFORM, at, "malformed #pragma D");
    };
    match &*which.text {
        "option" => option(c, pragma, at),
        "attributes" | "binding" => {
            if pragma.words.len() < 3 {
                c.error(tags::D_PRAGMA_MALFORM, at, format!("malformed #pragma {}", which.text));
            } else if &*which.text == "attributes" && !are_attributes(&pragma.words[1].text) {
                c.error(tags::D_PRAGMA_INVAL, at, "invalid attributes specified by #pragma attributes");
            } else if &*which.text == "attributes" {
                c.error(tags::D_PRAGMA_UNUSED, at, "#pragma attributes has no effect here");
            }
        }
        "depends_on" => c.error(tags::D_PRAGMA_DEPEND, at, "#pragma depends_on belongs to library files"),
        "error" => {
            let words: Vec<&str> = pragma.words.iter().skip(1).map(|w| &*w.text).collect();
            c.error(tags::D_PRAGERR, at, format!("#error: {}", words.join(" ")));
        }
        "line" => {}
        other => c.error(tags::D_PRAGMA_INVAL, at, format!("invalid D pragma: {other}")),
    }
}

/// `#pragma D option name` and `name=value`.
fn option(c: &mut Checker<'_>, pragma: &Pragma, at: Span) {
    let Some(option) = pragma.words.get(1) else {
        return c.error(tags::D_PRAGMA_MALFORM, at, "superfluous or missing arguments for #pragma option");
    };
    if pragma.words.len() > 2 {
        return c.error(tags::D_PRAGMA_MALFORM, at, "superfluous arguments specified for #pragma option");
    }
    let (name, value) = match option.text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (&*option.text, None),
    };
    if name == "destructive" && c.options.by_flag_alone {
        // It says what the program would do, not that it may.
        return;
    }
    let of_the_text = matches!(name, "define" | "undef" | "incdir" | "stdc") || name.starts_with("cpp");
    if of_the_text {
        let why = format!("failed to set option '{name}': the text was read already; it is for the command line");
        c.error(tags::D_PRAGMA_OPTSET, at, why);
    } else if let Err(why) = c.options.set(name, value) {
        c.error(tags::D_PRAGMA_OPTSET, at, why);
    }
}
